//! `ours open URL RATE SECONDS`, `ours closed URL USERS SECONDS`: loadtest, as a program of its own.
//!
//! Prints requests, response time p50, p90, p99 and max, start lateness p50, p99 and max: microseconds.

use loadtest_model::definition::{Load, Rate};
use loadtest::prelude::*;
use std::time::Duration;

#[scenario]
fn one() {
    #[step(get = "/")]
    fn ask();
}

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [model, url, level, seconds] = &given[..] else {
        panic!("ours open|closed URL LEVEL SECONDS");
    };
    let time = Duration::from_secs(seconds.parse().expect("seconds"));
    let load = if model == "open" {
        Load::rate(Rate::per_second(level.parse().expect("a rate")), time)
    } else {
        Load::users(level.parse().expect("users"), time)
    };
    let card = loadtest::Run::new(one())
        .load(load)
        .base_url(url)
        .run_blocking()
        .expect("a run");
    eprintln!("{card}");
    let micros = |time: Option<Duration>| time.map_or(0, |time| time.as_micros());
    let (step, late) = (&card.steps[0], &card.generator);
    let times = [
        step.response.p50,
        step.response.p90,
        step.response.p99,
        step.response.max,
        late.late_p50,
        late.late_p99,
        late.latest,
    ];
    let times = times.map(|time| micros(time).to_string());
    println!("{} {}", step.requests, times.join(" "));
}
