//! The fault matrix: a table of faults, each injected into a run of the real command, with what must happen.
//!
//! The same table makes `docs/faults.md`, so that the page says what is proved.

mod code;
mod files;
mod generator;
mod http2;
mod inject;
mod messages;
mod network;
mod page;
#[path = "../projects/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "the functional tests use the rest"
)]
mod projects;
mod row;
mod security;
mod server;
mod signals;
#[cfg(target_os = "linux")]
mod soak;
mod streams;
mod tls;

use libtest_mimic::{Arguments, Trial};
pub(crate) use projects::{call, guard, lonely, project, site, trial};
use row::Row;
use std::process::ExitCode;

/// Rows that run at once: most of them wait.
const AT_ONCE: usize = 8;

fn rows() -> Vec<Row> {
    let groups = [
        server::rows(),
        network::rows(),
        tls::rows(),
        http2::rows(),
        streams::rows(),
        generator::rows(),
        code::rows(),
        files::rows(),
        signals::rows(),
        security::rows(),
    ];
    groups.into_iter().flatten().collect()
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
    let mut trials: Vec<Trial> = rows().into_iter().map(Row::trial).collect();
    trials.push(page);
    // Last: each run looks at the sockets of the machine, which are 20,000 then and for a minute after.
    #[cfg(target_os = "linux")]
    trials.extend(soak::trials());
    libtest_mimic::run(&arguments, trials).exit_code()
}
