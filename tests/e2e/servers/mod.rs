//! Servers of other authors, a file per protocol: the reports of loads have what the log of the server has.

mod graphql;
mod grpc;
mod peer;
mod sse;
mod websocket;

use libtest_mimic::Trial;

pub(crate) fn trials() -> Vec<Trial> {
    [
        graphql::trials(),
        grpc::trials(),
        sse::trials(),
        websocket::trials(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
