//! `one_of`, and steps that follow one another without a value going from one to the other.

use crate::script::{Event, User, ok};
use loadtest::__private::Unmet;
use loadtest::prelude::*;
use loadtest_model::metrics::{Cause, RootCause};

const HALF: f64 = 0.5;

#[response]
struct Grid {
    id: u64,
}

#[scenario]
fn tasks() {
    #[step(get = "/browse", weight = 3, one_of = task)]
    fn browse();

    #[step(get = "/buy", weight = 1, one_of = task)]
    fn buy();

    #[step(get = "/leave", weight = 1/3)]
    fn leave();
}

#[test]
fn whole_weights_of_a_choice_are_shares_of_their_sum() {
    let steps = tasks().definition.steps.iter();
    let weights: Vec<f64> = steps.map(|step| step.weight).collect();
    for (weight, expected) in weights.iter().zip([0.75, 0.25, 1.0 / 3.0]) {
        assert!((weight - expected).abs() < 1e-12, "{weights:?}");
    }
}

#[scenario]
fn visit() {
    #[step(get = "/grid", weight = 70%, one_of = view)]
    fn grid() -> Grid;

    #[step(get = "/pay", weight = HALF, one_of = r#type)]
    fn pay();

    #[step(get = "/rows", weight = 0.3, one_of = view)]
    fn rows();

    #[step(get = "/zoom")]
    fn zoom(grid: &Grid);

    #[step(get = "/zoom/{{grid.response.id}}")]
    fn deeper(_zoom: &Response);

    #[step(get = "/scroll", weight = 0.5, one_of = r#type)]
    fn scroll(#[from(rows)] _: &Response);

    #[step]
    fn open(grid: Option<&Grid>, rows: Option<&Response>) -> Request {
        Request::get(format!("/open/{}/{}", grid.is_some(), rows.is_some()))
    }
}

fn unmet(step: usize, variable: &'static str, root: usize) -> Unmet {
    Unmet::Upstream {
        step,
        variable,
        cause: Cause {
            root: RootCause::NotDrawn,
            step: root,
        },
    }
}

#[test]
fn a_choice_has_the_name_that_its_steps_give() {
    let steps = &visit().definition.steps;
    let choices: Vec<_> = steps.iter().map(|step| step.one_of.as_deref()).collect();
    let (view, kind) = (Some("view"), Some("type"));
    assert_eq!(choices, [view, kind, view, None, None, kind, None]);
    assert!((steps[1].weight - 0.5).abs() < f64::EPSILON);
}

#[test]
fn a_parameter_of_a_declared_step_is_a_step_that_it_needs() {
    let needs: Vec<Vec<_>> = visit()
        .definition
        .steps
        .iter()
        .map(|step| {
            let needed = step.dependencies.iter();
            needed.map(|one| (one.step, one.optional)).collect()
        })
        .collect();
    assert_eq!(needs[3], [(0, false)]);
    assert_eq!(needs[4], [(3, false), (0, false)]);
    assert_eq!(needs[5], [(2, false)]);
    assert_eq!(needs[6], [(0, true), (2, true)]);
}

#[test]
fn a_branch_follows_the_step_that_was_chosen() {
    let mut user = User::new(visit());
    let events = user.iterate(&["rows"], |_| ok(r#"{"id":7}"#));
    let runs = Event::Ok;
    assert_eq!(
        events,
        [
            runs("grid"),
            runs("pay"),
            Event::NotDrawn("rows"),
            runs("zoom"),
            runs("deeper"),
            Event::Unmet("scroll", unmet(2, "rows", 2)),
            runs("open"),
        ]
    );
    let sent: Vec<_> = user.sent.iter().map(|sent| sent.line.as_str()).collect();
    assert_eq!(
        sent[2..],
        ["GET /zoom", "GET /zoom/7", "GET /open/true/false"]
    );

    let events = user.iterate(&["grid"], |_| ok("{}"));
    assert_eq!(
        events[3..],
        [
            Event::Unmet("zoom", unmet(0, "grid", 0)),
            Event::Unmet("deeper", unmet(3, "zoom", 0)),
            runs("scroll"),
            runs("open"),
        ]
    );
}
