//! What the engine's parts cost: an arrival, a sample, and what is paid once a second.

use divan::{Bencher, black_box};
use loadtest_model::definition::{Load, Rate, Shape, Stage};
use loadtest_model::metrics::{Cells, Frame, Histogram, Tally};
use loadtest_model::schedule::Schedule;
use std::time::Duration;

fn main() {
    divan::main();
}

const STEPS: usize = 10;

/// A second in which each of [`STEPS`] steps answered 1,000 times.
fn second() -> Frame {
    let mut frame = Frame::default();
    let mut tally = Tally::new(STEPS);
    for i in 0..1_000 {
        let time = Duration::from_micros(500 + i % 800 * 7);
        for step in &mut tally.steps {
            step.executed += 1;
            step.ok += 1;
            step.response.record(time);
            step.service.record(time);
        }
        tally.journey.time.record(time * STEPS as u32);
    }
    frame.windows.steady = tally;
    frame
}

/// The instant of an arrival.
#[divan::bench(args = ["constant", "stages"])]
fn schedule(bencher: Bencher<'_, '_>, kind: &str) {
    let minute = Duration::from_secs(60);
    let load = if kind == "constant" {
        Load::rate(Rate::per_second(1_000.0), minute)
    } else {
        let stage = |from, to| Stage {
            from,
            to,
            duration: minute,
        };
        Load::new(Shape::RateStages {
            stages: vec![
                stage(0.0, 1_000.0),
                stage(1_000.0, 1_000.0),
                stage(1_000.0, 0.0),
            ]
            .into(),
        })
    };
    let schedule = Schedule::new(&load);
    let all = schedule.arrivals();
    let mut index = 0;
    bencher.bench_local(|| {
        index = (index + 7_919) % all;
        schedule.arrival(black_box(index))
    });
}

/// One sample into a histogram that is in use.
#[divan::bench]
fn record(bencher: Bencher<'_, '_>) {
    let mut histogram = Histogram::default();
    // The first one allocates.
    histogram.record(Duration::ZERO);
    let mut time = 0;
    bencher.bench_local(|| {
        time = (time + 7_919) % 5_000_000;
        histogram.record(black_box(Duration::from_nanos(time)));
    });
}

/// The second of a worker to that of another.
#[divan::bench]
fn merge(bencher: Bencher<'_, '_>) {
    let frame = second();
    bencher.with_inputs(second).bench_local_values(|mut sum| {
        sum.merge(&frame);
        sum
    });
}

/// A second into the cells of the record.
#[divan::bench]
fn cell(bencher: Bencher<'_, '_>) {
    let frame = second();
    bencher
        .with_inputs(Cells::default)
        .bench_local_values(|mut cells| {
            cells.absorb(&frame, true);
            cells
        });
}

/// A second as it is written to the journal.
#[divan::bench]
fn journal(bencher: Bencher<'_, '_>) {
    let frame = second();
    bencher.bench_local(|| serde_json::to_vec(&frame));
}
