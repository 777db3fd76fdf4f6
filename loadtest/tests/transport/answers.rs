//! Answers as they should be.

use crate::user::{BODY, get, ok, run, send, user};
use loadtest_tests::{Reply, Server};

#[test]
fn one_connection_carries_all_requests_of_a_user() {
    let server = Server::start(|request| Reply::text(format!("answer {}", request.sequence)));
    run(async {
        let mut user = user(&server.url()).await;
        for i in 0..50 {
            let received = ok(send(&mut user, &get("/a?b=1"), BODY).await);
            assert_eq!(received.body, format!("answer {i}"));
        }
    });
    assert_eq!((server.requests(), server.connections()), (50, 1));
}
