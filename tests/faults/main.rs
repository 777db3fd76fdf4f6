//! The fault matrix: a table of faults, each injected into a run of the real command, with what must happen.
//!
//! The same table makes `docs/faults.md`, so that the page says what is proved.

#[path = "../e2e/call.rs"]
#[expect(dead_code, reason = "the functional tests use the rest")]
mod call;
mod http2;
mod inject;
#[path = "../e2e/lonely.rs"]
#[expect(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "the functional tests use the rest"
)]
mod lonely;
mod network;
mod page;
#[path = "../e2e/project.rs"]
#[expect(dead_code, reason = "the functional tests use the rest")]
mod project;
mod row;
mod server;
#[path = "../e2e/site.rs"]
#[expect(dead_code, reason = "the functional tests use the rest")]
mod site;
mod tls;

use libtest_mimic::{Arguments, Trial};
use row::Row;
use std::process::ExitCode;

/// Rows that run at once: most of them wait.
const AT_ONCE: usize = 4;

fn rows() -> Vec<Row> {
    [server::rows(), network::rows(), tls::rows(), http2::rows()]
        .into_iter()
        .flatten()
        .collect()
}

fn trial(row: Row) -> Trial {
    Trial::test(row.name(), move || {
        assert_eq!((row.inject)(), row.expected, "{}", row.fault);
        Ok(())
    })
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let arguments = Arguments {
        test_threads: arguments.test_threads.or(Some(AT_ONCE)),
        ..arguments
    };
    let page = Trial::test("page", || {
        page::compare_page(&rows());
        Ok(())
    });
    let trials = rows().into_iter().map(trial);
    libtest_mimic::run(&arguments, trials.chain([page]).collect()).exit_code()
}
