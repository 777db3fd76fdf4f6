//! Steps of which one runs at most.

use super::*;

/// A chain in which no step needs another, and which counts those of a choice that run in an iteration.
struct Free {
    /// The first so many steps are of the choice.
    members: usize,
    /// `None` before the first iteration.
    ran: Option<usize>,
    /// Exactly one runs each time.
    is_full: bool,
}

impl Chain for Free {
    fn begin(&mut self, _: &mut Vu) {
        if let Some(ran) = self.ran.replace(0) {
            assert!(
                ran == 1 || ran == 0 && !self.is_full,
                "{ran} of a choice ran"
            );
        }
    }

    fn skip(&mut self, _: usize, cause: Cause) {
        assert_eq!(cause.root, RootCause::NotDrawn);
    }

    fn build(&mut self, step: usize, _: &mut Vu, request: &mut RequestBuf) -> Result<(), Unmet> {
        *self.ran.get_or_insert(0) += usize::from(step < self.members);
        request.timeout = None;
        Ok(())
    }

    fn run<'a>(
        &'a mut self,
        _: usize,
        _: &'a mut Vu,
        _: &'a mut Http,
    ) -> Local<'a, Result<(), Halt>> {
        unreachable!("no step sends for itself")
    }

    fn arrived(&self, _: usize) -> bool {
        true
    }

    fn finish(&mut self, _: usize, _: RawResponse) -> Result<(), ReadError> {
        Ok(())
    }

    fn check(&mut self, _: usize, _: &mut Vu, _: &mut dyn FnMut(&'static str, Result<(), String>)) {
    }
}

const JOURNEYS: u64 = 4_000;

fn chosen(weight: f64, one_of: Option<&'static str>) -> StepDef {
    StepDef {
        weight,
        one_of: one_of.map(Into::into),
        ..step("a")
    }
}

macro_rules! run_with {
    ($steps:expr, $workers:expr, $members:literal, $is_full:literal) => {{
        let load = Load::iterations(JOURNEYS, $workers);
        let scenario = &*Box::leak(Box::new(Scenario {
            definition: sample::scenario(Some(load), $steps),
            root: "",
            prepare,
            chain: |_, _| {
                Box::new(Free {
                    members: $members,
                    ran: None,
                    is_full: $is_full,
                })
            },
            teardown: |_, _| Ok(()),
        }));
        let plan = plan_of(scenario);
        let all = run_plan(scenario, &plan, $workers, &Control::new(), None, quick).all();
        assert_eq!(all.journey.ok, JOURNEYS, "nothing failed or panicked");
        all
    }};
}

fn executed(all: &Tally) -> Vec<u64> {
    all.steps.iter().map(|step| step.executed).collect()
}

#[test]
fn exactly_one_of_a_choice_runs_when_its_weights_add_up_to_one() {
    let view = Some("view");
    let steps = || vec![chosen(0.7, view), chosen(0.2, view), chosen(0.1, view)];
    let all = run_with!(steps(), 1, 3, true);
    let ran = executed(&all);
    assert_eq!(ran.iter().sum::<u64>(), JOURNEYS);
    for (step, expected) in all.steps.iter().zip([2_800, 800, 400]) {
        assert!(step.executed.abs_diff(expected) < 100, "{ran:?}");
        assert_eq!(step.not_drawn, JOURNEYS - step.executed);
        assert_eq!(step.skipped + step.skipped_not_drawn, 0);
    }
    assert!(all.dependencies.is_empty());
    assert_eq!(
        executed(&run_with!(steps(), 3, 3, true)),
        ran,
        "by the seed alone"
    );
}

#[test]
fn sometimes_none_of_a_choice_runs_when_its_weights_add_up_to_less() {
    let view = Some("view");
    let all = run_with!(vec![chosen(0.25, view), chosen(0.25, view)], 1, 2, false);
    let none = JOURNEYS - executed(&all).iter().sum::<u64>();
    assert!((1_900..2_100).contains(&none), "{none}");
}

#[test]
fn a_choice_is_drawn_by_its_first_step_and_apart_from_others() {
    let view = Some("view");
    let apart = run_with!(
        vec![chosen(0.5, view), chosen(0.5, None), chosen(0.5, view)],
        1,
        1,
        false
    );
    let ran = executed(&apart);
    assert_eq!(ran[0] + ran[2], JOURNEYS, "members need not be adjacent");
    assert_ne!(ran[1], ran[2], "a draw of its own");
    let alone = run_with!(vec![chosen(0.5, None), chosen(0.5, None)], 1, 1, false);
    assert_eq!(
        executed(&alone),
        ran[..2],
        "the first is drawn as without a choice"
    );
}
