//! The process of the target on this machine.

use super::LOAD;
use crate::site::{Sandbox, shop};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::Server;

pub(super) fn trials() -> Vec<Trial> {
    trials![
        the_process_of_a_target_is_read_without_any_configuration,
        the_process_of_a_target_may_have_limits,
    ]
}

/// The target is a server of this process.
fn the_process_of_a_target_is_read_without_any_configuration() {
    let server = Server::recording(shop);
    let sandbox = Sandbox::new();
    let line = "single --rate 20/s --duration 3s --export json --export csv";
    sandbox.run(line, &server).run().exits(0);
    let record = sandbox.record();
    let names: Vec<&str> = (record.observed.iter())
        .map(|series| &*series.name)
        .collect();
    let expected = [
        "target cpu",
        "target memory",
        "target threads",
        "target open files",
        "target context switches",
    ];
    assert_eq!(names, expected);
    for series in &record.observed {
        let process = format!("process {} (", std::process::id());
        assert!(series.source.starts_with(&process), "{}", series.source);
        // One may be read at the end, and one after it.
        let end = record.end.elapsed_us / 1_000_000 + 1;
        let is_within = |second: u32| u64::from(second) <= end;
        assert!(!series.points.is_empty(), "{}", series.name);
        assert!(
            series.points.iter().all(|point| is_within(point.second)),
            "{series:?}"
        );
    }
    let memory = &record.observed[1];
    assert!(memory.points.iter().all(|point| point.mean > 1e6));
    let report = sandbox.runs().pop().expect("a run");
    assert!(report.text("report.json").contains("\"target memory\""));
    assert!(
        report
            .text("report.csv")
            .contains(",observed,target memory,")
    );
    assert!(report.text("report.html").contains("target cpu"));
}

fn the_process_of_a_target_may_have_limits() {
    let target = Server::start(shop);
    let sandbox = Sandbox::with(
        "[[observe]]\nprocess = \"memory\"\nlimit = \"max < 1kB\"\n\
         [[observe]]\nprocess = \"cpu\"\nlimit = \"mean < 10000\"\n",
    );
    let output = sandbox.run(LOAD, &target).run();
    output
        .exits(99)
        .prints(&["max of `target memory`: ", "and must be < 1.0 kB"]);
    let report = sandbox.only_run();
    assert_eq!(report.scenario().observed.len(), 5);
    assert!(!report.text("report.html").contains("mean of `target cpu`"));
}
