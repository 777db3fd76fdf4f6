//! What the scenario's code counts and times by itself.

use super::*;
use loadtest_model::metrics::OwnTally;
use std::future::pending;

/// A chain that counts and times wherever its code has the virtual user.
struct Giving;

impl Chain for Giving {
    fn begin(&mut self, _: &mut Vu) {}

    fn skip(&mut self, _: usize, _: Cause) {}

    fn build(&mut self, step: usize, vu: &mut Vu, _: &mut RequestBuf) -> Result<(), Unmet> {
        vu.count("built", 1);
        if step == 1 && vu.iteration() % 2 == 1 {
            vu.count(format!("declined in {step}"), 1);
            panic!("told to panic");
        }
        Ok(())
    }

    fn run<'a>(
        &'a mut self,
        _: usize,
        vu: &'a mut Vu,
        http: &'a mut Http,
    ) -> Local<'a, Result<(), Halt>> {
        Box::pin(async move {
            let begun = Instant::now();
            http.pause(ms(30)).await;
            vu.time("paused", begun.elapsed());
            vu.gauge("iteration", vu.iteration() as f64);
            if vu.iteration() == 1 {
                pending::<()>().await;
            }
            vu.time("never, for one", ms(1));
            Ok(())
        })
    }

    fn arrived(&self, _: usize) -> bool {
        true
    }

    fn finish(&mut self, _: usize, _: RawResponse) -> Result<(), ReadError> {
        Ok(())
    }

    fn check(
        &mut self,
        step: usize,
        vu: &mut Vu,
        report: &mut dyn FnMut(&'static str, Result<(), String>),
    ) {
        let taken = ms(10 * (vu.iteration() + 1));
        vu.time("taken", taken);
        vu.time("taken", taken);
        report("taken", Err(String::new()));
        vu.count("token=hunter2", step as u64);
    }
}

fn giving(load: Load, steps: Vec<StepDef>) -> &'static Scenario {
    Box::leak(Box::new(Scenario {
        definition: sample::scenario(Some(load), steps),
        root: "",
        prepare,
        chain: |_, vu| {
            vu.count("users", 1);
            Box::new(Giving)
        },
        teardown: |_, _| Ok(()),
    }))
}

fn go(load: Load, steps: Vec<StepDef>, workers: u32) -> Ran {
    let scenario = giving(load, steps);
    let plan = plan_of(scenario);
    run_plan(scenario, &plan, workers, &Control::new(), None, quick)
}

fn itself(name: &'static str) -> StepDef {
    StepDef {
        sends_itself: true,
        ..step(name)
    }
}

fn counters(own: &OwnTally) -> Vec<(&str, u64)> {
    let counters = own.counters.iter();
    counters
        .map(|(name, count)| (name.as_str(), *count))
        .collect()
}

fn timings(own: &OwnTally) -> Vec<(&str, u64, Duration)> {
    let timings = own.timings.iter();
    timings
        .map(|(name, times)| (name.as_str(), times.count(), times.sum()))
        .collect()
}

#[test]
fn steps_checks_and_states_count_exactly_also_where_they_fail() {
    let work = Load::iterations(5, 1);
    let all = go(work, vec![step("a"), step("b")], 1).all();
    // Iterations 1 and 3 panic in the second step; every check fails its step.
    assert_eq!(
        counters(&all.own),
        [
            ("built", 10),
            ("declined in 1", 2),
            ("token=[redacted]", 3),
            ("users", 1),
        ]
    );
    let of_a = 10 + 20 + 30 + 40 + 50;
    let of_b = 10 + 30 + 50;
    assert_eq!(timings(&all.own), [("taken", 16, ms(2 * (of_a + of_b)))]);
    assert_eq!((all.steps[0].failed, all.steps[1].failed), (5, 5));
}

#[test]
fn what_is_given_after_the_load_counts_in_no_part_of_it() {
    let slow = |_| (ms(350), Ok(""));
    let scenario = giving(rate(10.0, Duration::ZERO, ms(1_000)), vec![step("a")]);
    let plan = plan_of(scenario);
    let all = run_plan(scenario, &plan, 1, &Control::new(), None, slow).all();
    // All ten begin in time, and the checks of the seven that began until 600 ms run in time.
    assert_eq!(all.own.counters["built"], 10);
    assert_eq!(all.own.timings["taken"].count(), 2 * 7);
}

#[test]
fn each_part_of_a_load_has_its_own_whatever_the_workers() {
    let mut load = rate(10.0, ms(1_000), ms(3_000));
    load.warm_up = ms(2_000);
    for workers in [1, 3] {
        let ran = go(load.clone(), vec![step("a")], workers);
        for window in ran.windows.all() {
            let started = window.journey.started;
            assert!(started > 0);
            assert_eq!(window.own.counters["built"], started, "{workers} workers");
            assert_eq!(window.own.timings["taken"].count(), 2 * started);
        }
        assert_eq!(ran.windows.steady.own.counters["built"], 20);
        assert_eq!(ran.frames[0].windows.steady.own, OwnTally::default());
    }
}

#[test]
fn what_a_step_gave_before_the_hard_end_cut_it_off_is_counted() {
    let load = users(1, Duration::ZERO, ms(1_000));
    let patient = StepDef {
        timeout: ms(60_000),
        ..itself("a")
    };
    let all = go(load, vec![patient], 1).all();
    assert_eq!((all.journey.started, all.journey.cancelled), (2, 1));
    assert_eq!(
        timings(&all.own),
        [
            ("never, for one", 1, ms(1)),
            ("paused", 2, ms(60)),
            ("taken", 2, ms(20)),
        ]
    );
    let gauge = &all.own.gauges["iteration"];
    assert_eq!(
        (gauge.count, gauge.sum, gauge.min, gauge.max),
        (2, 1.0, 0.0, 1.0)
    );
    // Set by the second journey after its pause; between the two are 10 ms, since the first one sent nothing.
    assert_eq!((gauge.last, gauge.last_us), (1.0, 70_000));
}

#[test]
fn a_step_that_gives_nothing_leaves_no_trace() {
    let ran = run(
        rate(10.0, Duration::ZERO, ms(1_000)),
        vec![step("a")],
        quick,
    );
    assert!(ran.all().own.is_empty());
}
