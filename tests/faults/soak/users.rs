//! Ten thousand users of a server that goes away with all their connections, and comes back.

use super::run::Soak;
use crate::call::wait_for;
use crate::site::{assert_balanced, total};
use libtest_mimic::{Completion, Trial};
use loadtest_model::metrics::ErrorKind;
use loadtest_model::record::EndReason;
use loadtest_tests::{Reply, Request, Server};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const USERS: u64 = 10_000;
/// The files that a process needs besides those of the connections.
const OTHER_FILES: u64 = 200;
/// How often the server goes away.
const FALLS: usize = 2;
/// The memory of a user, in KiB: twice the figure in docs/validity.md.
const USER: u64 = 2 * 6;

pub(crate) fn trial() -> Trial {
    let name = "soak::ten_thousand_users_of_a_server_that_flaps_are_all_accounted_for";
    Trial::ignorable_test(name, || {
        if let Some(limit) = raise_file_limit().filter(|limit| *limit < USERS + OTHER_FILES) {
            return Ok(Completion::ignored_with(format!(
                "a process may open {limit} files here, and {USERS} users need as many connections"
            )));
        }
        users_of_a_server_that_flaps();
        Ok(Completion::Completed)
    })
}

/// Raises the limit of open files of this process, and so of the load test, as far as it may. Returns the limit, if there
/// is one.
fn raise_file_limit() -> Option<u64> {
    let hard = getrlimit(Resource::Nofile).maximum;
    let all = Rlimit {
        current: hard,
        maximum: hard,
    };
    setrlimit(Resource::Nofile, all).expect("the soft limit may be as high as the hard one");
    hard
}

fn users_of_a_server_that_flaps() {
    let answered = Arc::new(AtomicU64::new(0));
    let start = |address| {
        let answered = answered.clone();
        let answer = move |_: &Request| {
            answered.fetch_add(1, Ordering::Relaxed);
            Reply::text("ok")
        };
        match address {
            Some(address) => Server::start_at(address, answer),
            None => Server::start(answer),
        }
    };
    let soak = Soak::new();
    let mut server = start(None);
    let running = soak
        .run(
            "patient",
            &format!("--users {USERS} --duration 1h"),
            &server,
        )
        .start();
    for fall in 0..=FALLS {
        wait_for("a connection of every user", || {
            (server.connections() - server.closed() == USERS).then_some(())
        });
        if fall == FALLS {
            break;
        }
        let (address, refused) = (server.address(), refused_seconds(soak.sandbox.root()));
        drop(server);
        wait_for("a refused connection", || {
            (refused_seconds(soak.sandbox.root()) > refused).then_some(())
        });
        server = start(Some(address));
    }
    running.signal(Signal::INT);
    let output = running.output().exits(105);
    drop(server);

    let record = soak.sandbox.record();
    assert_balanced(&record);
    assert_eq!(record.end.ending, EndReason::Interrupted, "{output}");
    let total = total(&record);
    let (journey, step) = (&total.journey, &total.steps[0]);
    assert_eq!(journey.dropped, 0);
    let mut lost = 0;
    for error in &step.errors {
        match error.kind {
            ErrorKind::ConnectRefused => {}
            ErrorKind::ClosedFresh
            | ErrorKind::ClosedReused
            | ErrorKind::ClosedBeforeHead
            | ErrorKind::ResetBeforeHead => {
                lost += error.count;
            }
            kind => panic!("{kind:?}: {error:?}"),
        }
    }
    let answered = answered.load(Ordering::Relaxed);
    let unread = lost + step.retries + journey.cancelled;
    assert!(
        step.ok <= answered && answered <= step.ok + unread,
        "{answered} answers: {total:?}"
    );
    assert!(soak.memory() < USERS * USER, "{} KiB", soak.memory());
}

/// Returns the number of seconds in the journal in which a connection was refused.
fn refused_seconds(sandbox: &Path) -> usize {
    let runs = std::fs::read_dir(sandbox.join("runs"));
    let runs = runs.into_iter().flatten().flatten();
    let journals = runs.filter_map(|run| {
        let journal: PathBuf = run.path().join("journal-1.jsonl");
        std::fs::read_to_string(journal).ok()
    });
    let seconds = journals.map(|journal| journal.matches("\"connect.refused\"").count());
    seconds.max().unwrap_or_default()
}
