//! Pauses that the target asks for.

use crate::paused::run_on_paused_clock;
use loadtest::Run;
use loadtest::prelude::*;
use loadtest_model::definition::Load;
use loadtest_tests::Reply;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::time::Instant;

#[scenario]
fn busy() {
    #[step(get = "/", retry(1, backoff = 100ms, on = 429))]
    fn visit();
}

#[test]
fn a_retry_waits_as_long_as_the_target_asks_and_not_for_longer_than_the_grace() {
    // The grace is 30 seconds.
    for (after, requests, failed) in [("2", 2, 0), ("30", 2, 0), ("31", 1, 1), ("soon", 2, 1)] {
        let first = OnceLock::new();
        let run = Run::new(busy()).load(Load::iterations(1, 1));
        let card = run_on_paused_clock(run, move |_| {
            let since = first.get_or_init(Instant::now).elapsed();
            let wanted = after.parse().unwrap_or(3600);
            if since >= Duration::from_secs(wanted) {
                return Reply::status(200);
            }
            Reply::status(429).header("retry-after", after)
        });
        let step = &card.steps[0];
        assert_eq!((step.requests, step.failed), (requests, failed), "{after}");
    }
}
