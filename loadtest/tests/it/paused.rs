//! Runs on a paused clock, which goes on only while everything on its thread waits: what happens before what is decided
//! by the test, and waiting takes no time.

use loadtest::Run;
use loadtest::card::Card;
use loadtest_tests::{Reply, Request, Server};
use tokio::runtime::Builder;
use tokio::task::LocalSet;

/// Runs `test`, and whatever it spawns, on this thread and on a paused clock.
pub(crate) fn on_paused_clock<R>(test: impl Future<Output = R>) -> R {
    let runtime = Builder::new_current_thread();
    let runtime = { runtime }.enable_all().start_paused(true).build().unwrap();
    LocalSet::new().block_on(&runtime, test)
}

/// The card of `run` against a server that answers by `reply`, both on one paused clock.
pub(crate) fn run_on_paused_clock(
    run: Run,
    reply: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> Card {
    on_paused_clock(async {
        let server = Server::start_here(reply);
        let run = run.base_url(server.url()).without_validity();
        run.run_on_this_thread().await.unwrap()
    })
}
