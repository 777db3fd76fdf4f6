//! Connections that the server ends between or within answers.

use super::{OK, scripted};
use crate::messages::RESET_EARLY;
use crate::row::{Outcome, Row, ends, fails, passes};
use loadtest_bad_server::Script;

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
            "Closed when the second request arrives",
            "plain",
            once_then().close(),
            passes().with("retries", 2),
        )
        .peers("k6, oha: no failures; Goose: 31 % failures"),
        scripted(
            "Reset when the second request arrives",
            "plain",
            once_then().reset(),
            passes().with("retries", 2),
        ),
        scripted(
            "Closed when the second request arrives, a POST",
            "posting",
            once_then().close(),
            once_fails(
                "closed.reused",
                "the server closed the kept connection before the head of the answer",
            ),
        ),
        scripted(
            "Reset when the second request arrives, a POST",
            "posting",
            once_then().reset(),
            once_fails("reset.before_head", RESET_EARLY),
        ),
        scripted(
            "Closed within the second answer",
            "plain",
            once_then().send("HTTP/1.1 200").close(),
            once_fails(
                "closed.reused",
                "the server closed the kept connection before the head of the answer",
            ),
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
