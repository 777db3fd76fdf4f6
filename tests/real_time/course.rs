//! The course of a run: seconds that are reported when they are over, an end that is kept, and stalls.

use crate::machine::Needs;
use crate::trial::{Judge, trials};
use libtest_mimic::Trial;
use loadtest::Run;
use loadtest::card::Trust;
use loadtest::definition::Load;
use loadtest::prelude::*;
use loadtest::{Control, Progress};
use loadtest_tests::{Reply, Server};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

const MS: Duration = Duration::from_millis(1);
/// A fifth of a stall.
const AWAKE: Needs = Needs {
    latest: MS.saturating_mul(20),
};
/// The most that something may be late on a machine that is awake.
const SLACK: Duration = Duration::from_millis(200);

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        a_second_is_reported_when_it_is_over_and_a_load_ends_in_time needs AWAKE,
        a_stop_is_followed_at_once needs AWAKE,
        a_step_that_keeps_its_thread_is_named needs AWAKE,
    ]
}

#[scenario]
fn visit() {
    #[step(get = "/page", think = 10ms)]
    fn page();
}

#[scenario]
fn distant() {
    #[step(get = "/page", think = 10m)]
    fn page();
}

#[scenario]
fn blocking() {
    #[step(get = "/page")]
    fn page();

    #[step]
    fn ask() -> Request {
        std::thread::sleep(Duration::from_millis(400));
        Request::get("/page")
    }
}

fn a_second_is_reported_when_it_is_over_and_a_load_ends_in_time() -> Judge {
    let server = Server::start(|_| Reply::text("ok"));
    let reports: Arc<Mutex<Vec<(Progress, Instant)>>> = Arc::default();
    let seen = Arc::clone(&reports);
    let report = move |progress| {
        let mut seen = seen.lock().expect("no panic");
        seen.push((progress, Instant::now()));
    };
    let run = Run::new(visit()).load(Load::users(2, 2_500 * MS));
    let run = run.base_url(server.url()).on_progress(report);
    let card = run.run_blocking().expect("it runs");
    let end = Instant::now();
    Box::new(move || {
        let reports = reports.lock().expect("no panic");
        let seconds: Vec<Duration> = reports.iter().map(|(one, _)| one.elapsed).collect();
        assert_eq!(seconds, [1, 2, 3].map(Duration::from_secs));
        let (first, second) = (reports[0].1, reports[1].1);
        let gap = (second - first).abs_diff(1_000 * MS);
        assert!(gap <= SLACK, "{gap:?}");
        // Half a second of the load is left after the second report.
        let rest = end - second;
        assert!(rest <= 500 * MS + SLACK, "{rest:?}");
        assert!(rest + SLACK >= 500 * MS, "{rest:?}");
        assert_eq!(card.generator.stalled_seconds, 0, "{:?}", card.generator);
    })
}

fn a_stop_is_followed_at_once() -> Judge {
    let server = Server::start(|_| Reply::text("ok"));
    let control = Control::new();
    let stopped: Arc<Mutex<Option<Instant>>> = Arc::default();
    let (stop, at) = (control.clone(), Arc::clone(&stopped));
    let run = Run::new(distant())
        .load(Load::users(2, Duration::from_secs(600)))
        .base_url(server.url())
        .control(&control)
        .on_progress(move |_| {
            at.lock()
                .expect("no panic")
                .get_or_insert_with(Instant::now);
            stop.stop();
        });
    let _card = run.run_blocking().expect("it runs");
    let end = Instant::now();
    Box::new(move || {
        let stopped = stopped.lock().expect("no panic").expect("it was stopped");
        // The users think for ten minutes.
        assert!(end - stopped <= SLACK, "{:?}", end - stopped);
    })
}

fn a_step_that_keeps_its_thread_is_named() -> Judge {
    let server = Server::start(|_| Reply::text("ok"));
    let run = Run::new(blocking()).load(Load::users(1, 2_000 * MS));
    let card = run.base_url(server.url()).run_blocking().expect("it runs");
    Box::new(move || {
        let generator = &card.generator;
        assert_eq!(generator.kept_by.as_deref(), Some("ask"));
        // All of the two seconds, and the one after them in which the last stall may end.
        assert!(
            (2..=3).contains(&generator.stalled_seconds),
            "{generator:?}"
        );
        let longest = generator.longest_stall;
        assert!(
            (380 * MS..=400 * MS + SLACK).contains(&longest),
            "{longest:?}"
        );
        assert_eq!(card.validity.trust, Trust::Invalid);
        let what = &card.validity.causes[0].what;
        assert!(what.contains("; the code of `ask` blocked it"), "{what}");
    })
}
