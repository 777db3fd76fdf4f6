//! Connections: how many the report says were opened.

use loadtest::Run;
use loadtest::prelude::*;
use loadtest_model::definition::Load;
use loadtest_tests::{Reply, Server};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

#[scenario]
fn page() {
    #[step]
    async fn parts(http: &mut Http) -> Result<(), Error> {
        let parts = ["/1", "/2", "/3", "/4", "/5", "/6", "/7"];
        for answer in http.batch(parts.map(|part| http.get(part))).await {
            answer?;
        }
        Ok(())
    }
}

#[test]
fn as_many_connections_are_said_to_be_opened_as_the_server_has_seen() {
    let seen: Arc<Mutex<BTreeSet<u64>>> = Arc::default();
    let log = Arc::clone(&seen);
    let server = Server::start(move |request| {
        log.lock().unwrap().insert(request.connection);
        Reply::text("fine")
    });
    // A step asks for all seven before it looks at an answer, so each has a connection of its own.
    let run = Run::new(page()).load(Load::iterations(3, 1));
    let run = run.base_url(server.url()).without_validity();
    let card = run.run_blocking().unwrap();
    let step = &card.steps[0];
    assert_eq!((step.requests, step.phases.connections), (21, 7));
    assert_eq!(seen.lock().unwrap().len(), 7);
}
