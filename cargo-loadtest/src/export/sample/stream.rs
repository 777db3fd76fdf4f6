//! A run whose second step reads streams of events, and whose users hold WebSockets.

use super::report;
use super::scenario::{Dice, below, count_journey, ok, scenario, start, step};
use loadtest_model::card::Report;
use loadtest_model::definition::{
    Bound, Comparator, EndMark, GoodCondition, Load, Metric, Part, Shape, Statistic, StepDef,
    StreamDef, StreamFormat, Threshold,
};
use loadtest_model::metrics::{Frame, Health, StepTally, StreamSample, Tally, WebSocketTally};
use loadtest_model::record::{EndReason, RunEnd};
use std::time::Duration;

const RATE: u64 = 20;
const SECONDS: u64 = 30;
/// The target T of the streams, by the limit on their first event.
const TARGET: Duration = Duration::from_millis(800);

/// A run with streams of which many events came together.
pub(in crate::export) fn streamed() -> Report {
    let mut steps = vec![
        step("models", "GET", "/v1/models"),
        ask("ask", "POST", "/v1/chat/completions"),
    ];
    for (step, line) in steps.iter_mut().zip((16..).step_by(9)) {
        step.line = line;
    }
    let mut definition = scenario("assistant", steps, None);
    definition.load = Some(Load::new(Shape::Rate {
        per_second: RATE as f64,
        ramp_up: Duration::ZERO,
        duration: Duration::from_secs(SECONDS),
    }));
    let mut record = start(definition);
    let mut dice = Dice(11);
    for second in 0..SECONDS {
        let mut tally = Tally::new(2);
        for _ in 0..RATE {
            let models = dice.time(6.0);
            ok(&mut tally.steps[0], models, &mut dice);
            let time = models + answer(&mut tally.steps[1], &mut dice);
            tally.journey.started += 1;
            tally.journey.lateness.record(Duration::from_micros(90));
            count_journey(&mut tally.journey, time, true);
        }
        let mut frame = Frame {
            second: second as u32,
            active_users: 21,
            health: Health {
                worker_cpu_us: 90_000,
                busiest_worker: 0.07,
                ..Health::default()
            },
            websockets: notices(second),
            ..Frame::default()
        };
        frame.windows.steady = tally;
        record.absorb(&frame);
    }
    record.finish(RunEnd {
        ending: EndReason::Completed,
        elapsed_us: SECONDS * 1_000_000,
        planned: SECONDS * RATE,
        steady_us: SECONDS * 1_000_000,
        complete: true,
        panics: Vec::new(),
        out_of_rows: false,
        target_death: None,
        samples: None,
    });
    report(vec![record])
}

/// The WebSockets that users hold beside, of which the target closes one in each second but the first ten.
fn notices(second: u64) -> WebSocketTally {
    let closed = u64::from(second >= 10);
    WebSocketTally {
        opened: if second == 0 { RATE } else { closed },
        reopened: closed,
        most_open: RATE,
        closed_by_target: (closed > 0)
            .then_some((if second == 20 { 1006 } else { 1001 }, 1))
            .into_iter()
            .collect(),
        closed_by_user: if second + 1 == SECONDS { RATE } else { 0 },
        sent_messages: RATE,
        sent_bytes: RATE * 40,
        received_messages: 3 * RATE,
        received_bytes: RATE * 700,
    }
}

fn ask(name: &'static str, method: &'static str, url: &'static str) -> StepDef {
    let at_least = |metric, share| Threshold::new(metric, Comparator::Greater, Bound::Ratio(share));
    let condition = |part, at_most| GoodCondition {
        part,
        at_most: Duration::from_millis(at_most),
    };
    StepDef {
        stream: Some(StreamDef {
            format: StreamFormat::Detected,
            first: Some("|chunk| chunk.output().is_some()".into()),
            end: Some(EndMark::Data("[DONE]".into())),
            units: Some("tokens".into()),
            events: None,
            lasts: None,
            idle: StreamDef::IDLE,
            idle_counts_bytes: false,
            graded_by_response: false,
        }),
        good: vec![
            condition(Part::FirstEvent, 800),
            condition(Part::PerUnit, 50),
        ]
        .into(),
        thresholds: vec![
            below(Metric::Time(Part::FirstEvent, Statistic::P95), 800),
            below(Metric::Time(Part::PerUnit, Statistic::P95), 50),
            at_least(Metric::Good, 0.95),
        ]
        .into(),
        timeout: StreamDef::TIMEOUT,
        ..step(name, method, url)
    }
}

/// Records a stream of about 40 events, and returns how long it took.
fn answer(step: &mut StepTally, dice: &mut Dice) -> Duration {
    let first = dice.time(310.0);
    let mut stream = StreamSample {
        first_event: Some(first),
        ..StreamSample::default()
    };
    for _ in 0..39 {
        let is_together = dice.chance(0.14);
        stream.together += u64::from(is_together);
        stream.gaps.push(if is_together {
            Duration::ZERO
        } else {
            dice.time(21.0)
        });
    }
    (stream.events, stream.units) = (40, 52);
    let gaps: Duration = stream.gaps.iter().sum();
    let time = first + gaps;
    let (satisfied, tolerating) = (step.satisfied, step.tolerating);
    ok(step, time, dice);
    // They are graded by their first events, and not by the whole time.
    step.satisfied = satisfied + u64::from(first <= TARGET);
    step.tolerating = tolerating + u64::from(first > TARGET && first <= TARGET * 4);
    step.stream.get_or_insert_default().record(&stream, true);
    let is_paced = stream
        .per_unit()
        .is_some_and(|time| time <= Duration::from_millis(50));
    step.good += u64::from(first <= TARGET && is_paced);
    time
}
