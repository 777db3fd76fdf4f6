//! A hundred megabytes of error texts.

use super::run::Soak;
use crate::project::all_files;
use crate::site::{assert_balanced, total};
use libtest_mimic::Trial;
use loadtest_model::metrics::ErrorKind;
use loadtest_tests::{Reply, Server};

/// Journeys, each with two errors of [`LENGTH`] bytes.
const JOURNEYS: u64 = 500;
const LENGTH: usize = 100_000;
/// What the run may leave on disk, and what it may print, in bytes. An example of an error has 4 KiB at most, and
/// each second of the journal has one of each kind.
const LEFT: u64 = 400_000;
const PRINTED: usize = 20_000;
/// The memory for texts on their way, in KiB: some of each user.
const MEMORY: u64 = 32 << 10;

pub(crate) fn trial() -> Trial {
    Trial::test(
        "soak::a_hundred_megabytes_of_errors_leave_a_few_kilobytes",
        || {
            errors_leave_little();
            Ok(())
        },
    )
}

fn errors_leave_little() {
    let server = Server::start(|request| {
        let text = format!("{:09}", request.sequence).repeat(LENGTH / 9);
        let status = if request.path == "/page" { 500 } else { 200 };
        Reply::status(status).body(text)
    });
    let soak = Soak::new();
    let line = format!("--iterations {JOURNEYS} --users 4");
    let output = soak.run("shouting", &line, &server).run().exits(99);
    assert_eq!(server.requests_to("/text"), JOURNEYS);

    let run = soak.sandbox.only_run();
    let record = run.scenario();
    assert_balanced(&record);
    let total = total(&record);
    for (step, kind) in [(0, ErrorKind::Status), (1, ErrorKind::StepError)] {
        let [error] = &total.steps[step].errors[..] else {
            panic!("{:?}", total.steps[step].errors);
        };
        assert_eq!((error.kind, error.count), (kind, JOURNEYS));
        assert!(error.example.len() <= 4096, "{}", error.example.len());
        let sample = error.sample.as_ref().map_or(0, |sample| sample.len());
        assert!(sample <= 1100, "{sample}");
    }
    let sizes = all_files(&run.0).into_iter().map(|file| {
        let size = std::fs::metadata(run.0.join(&file)).expect("a file").len();
        (file, size)
    });
    let sizes: Vec<_> = sizes.collect();
    let left: u64 = sizes.iter().map(|(_, size)| size).sum();
    assert!(left < LEFT, "{left} bytes: {sizes:?}");
    let printed = output.stdout.len() + output.stderr.len();
    assert!(printed < PRINTED, "{printed} bytes\n{output}");
    assert!(soak.memory() < MEMORY, "{} KiB", soak.memory());
}
