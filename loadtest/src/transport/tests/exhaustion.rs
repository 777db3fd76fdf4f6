//! What this machine runs out of is not blamed on the target.

use super::user::{BODY, alone, failed, get, ok, run, send, user};
use loadtest_model::metrics::ErrorKind;
use loadtest_tests::{Reply, Server};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;

#[test]
fn no_free_file_descriptor() {
    alone(
        "transport::tests::exhaustion::no_free_file_descriptor",
        &[],
        || {
            let server = Server::start(|_| Reply::text("fine"));
            run(async {
                let mut user = user(&server.url()).await;
                let limit = Rlimit {
                    current: Some(64),
                    ..getrlimit(Resource::Nofile)
                };
                setrlimit(Resource::Nofile, limit).unwrap();
                let files: Vec<File> = (0..64)
                    .map_while(|_| File::open("/dev/null").ok())
                    .collect();
                assert!(files.len() < 64, "the limit does not hold");
                let exchange = send(&mut user, &get("/"), BODY).await;
                assert_eq!(
                    (exchange.traffic.requests, exchange.traffic.connections),
                    (0, 0)
                );
                let failure = failed(exchange, ErrorKind::LocalFds);
                assert!(failure.kind.is_ours());
                assert!(failure.message.contains("ulimit"), "{}", failure.message);
                // The user is not lost: it goes on as soon as it can.
                drop(files);
                ok(send(&mut user, &get("/"), BODY).await);
            });
        },
    );
}
