//! Connections that the server ends between or within answers.

use super::{OK, scripted};
use crate::messages::RESET_EARLY;
use crate::row::{Outcome, Row, ends, fails};
use loadtest_bad_server::Script;
use std::time::Duration;

const CLOSED_KEPT: &str = "the server closed the kept connection before the head of the answer";
/// Longer than the end of a connection and a request may meet, however long connecting took.
const LONG_AFTER: Duration = Duration::from_millis(400);

pub(crate) fn rows() -> Vec<Row> {
    vec![
        scripted(
            "Reset as soon as the request is read",
            "plain",
            Script::new().read_head().reset(),
            fails("reset.before_head", RESET_EARLY),
        )
        .peers("k6: error 1220; oha: connection error; Goose: failures"),
        scripted(
            "Reset after the head",
            "plain",
            Script::new()
                .read_head()
                .send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n")
                .reset(),
            fails("reset.in_body", "the connection was reset within the body"),
        ),
        scripted(
            "Closed 0.4 s after the second request arrives",
            "plain",
            once_then().pause(LONG_AFTER).close(),
            once_fails("closed.before_head", CLOSED_KEPT),
        ),
        scripted(
            "Reset 0.4 s after the second request arrives",
            "plain",
            once_then().pause(LONG_AFTER).reset(),
            once_fails("reset.before_head", RESET_EARLY),
        ),
        scripted(
            "Closed 0.4 s after the second request arrives, a POST",
            "posting",
            once_then().pause(LONG_AFTER).close(),
            once_fails("closed.before_head", CLOSED_KEPT),
        ),
        scripted(
            "Reset 0.4 s after the second request arrives, a POST",
            "posting",
            once_then().pause(LONG_AFTER).reset(),
            once_fails("reset.before_head", RESET_EARLY),
        ),
        scripted(
            "Closed within the second answer",
            "plain",
            once_then().send("HTTP/1.1 200").close(),
            once_fails("closed.before_head", CLOSED_KEPT),
        ),
    ]
}

/// A good answer, and what becomes of the second request.
fn once_then() -> Script {
    Script::new().read_head().send(OK).read_head()
}

/// The second iteration fails, on the connection of the first; the third has a connection of its own.
fn once_fails(kind: &'static str, message: &str) -> Outcome {
    ends(99, message).ok(2).error(kind, 1)
}
