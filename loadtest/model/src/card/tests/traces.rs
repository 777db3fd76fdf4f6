//! The traces that a card names.

use super::*;
use crate::metrics::SlowJourney;
use crate::trace::{RunIds, TraceId, TracePoint, Tracing};

fn trace(iteration: u64) -> TraceId {
    RunIds::new("run", "shop::load::visit", 7).trace(iteration)
}

fn point(iteration: u64, begin_us: u64, time_us: u64) -> TracePoint {
    TracePoint {
        trace_id: trace(iteration),
        span_id: trace(iteration).step(0),
        begin_us,
        time_us,
    }
}

fn traced(sampled: u64) -> ScenarioRecord {
    let mut record = record(&["login"]);
    record.start.plan.tracing = Some(Tracing {
        sample: 0.01,
        at_most_per_second: None,
        link: Some("http://h/{trace_id}?from={start_ms}&to={end_ms}".to_owned()),
    });
    record.start.started_at = "1970-01-01T00:01:00Z".to_owned();
    record.windows.steady.journey.sampled = sampled;
    record
}

#[test]
fn slow_journeys_slow_steps_and_first_failures_lead_to_their_traces() {
    let mut record = traced(1);
    let steady = &mut record.windows.steady;
    for (iteration, trace_id) in [(3, Some(trace(3))), (4, None)] {
        steady.journey.slowest.add(SlowJourney {
            iteration,
            due_us: 2_000_000,
            time_us: 900_000,
            ok: true,
            trace_id,
            ..SlowJourney::default()
        });
    }
    steady.steps[0].traced = Some(point(5, 4_000_000, 30_000));
    let failed = |iteration, begin_us| ErrorTally {
        traced: Some(point(iteration, begin_us, 10_000)),
        ..error(ErrorKind::Status, 1)
    };
    steady.steps[0].count_error(failed(9, 8_000_000));
    record.windows.ramp.steps = vec![StepTally::default()];
    record.windows.ramp.steps[0].count_error(failed(6, 1_000_000));
    let card = Card::grade(&record, None);
    let told: Vec<_> = (card.traces.iter())
        .map(|row| {
            (
                &row.what,
                row.trace_id,
                row.link.as_deref().unwrap_or_default(),
            )
        })
        .collect();
    let link = |iteration, from, to| format!("http://h/{}?from={from}&to={to}", trace(iteration));
    let (first, second, third) = (
        link(3, 61_000, 64_900),
        link(5, 63_000, 66_030),
        link(6, 60_000, 63_010),
    );
    let step = || "login".to_owned();
    assert_eq!(
        told,
        [
            (
                &TraceSubject::SlowJourney {
                    number: "3".to_owned()
                },
                trace(3),
                &*first
            ),
            (&TraceSubject::SlowStep { step: step() }, trace(5), &*second),
            (
                &TraceSubject::FirstFailure {
                    step: step(),
                    kind: ErrorKind::Status,
                    status: None
                },
                trace(6),
                &*third
            ),
        ]
    );
    record.start.plan.tracing.as_mut().unwrap().link = Some("javascript:{trace_id}".to_owned());
    let card = Card::grade(&record, None);
    assert!(
        card.traces.iter().all(|row| row.link.is_none()),
        "no address of the web"
    );
}

#[test]
fn many_sampled_journeys_are_remarked_on() {
    let remarks = |sampled| {
        let card = Card::grade(&traced(sampled), None);
        let about = card.remarks.into_iter();
        about
            .filter(|remark| remark.starts_with("traced: "))
            .collect::<Vec<_>>()
    };
    assert_eq!(remarks(100), [""; 0]);
    assert!(
        remarks(150)[0].starts_with("traced: 15.0 % of journeys;"),
        "{:?}",
        remarks(150)
    );
}
