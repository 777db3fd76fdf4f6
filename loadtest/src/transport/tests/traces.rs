//! The trace that requests carry: redirects, repeats, both versions of HTTP.

use super::http2::{fine, http2, serve};
use super::user::{
    NOTHING, PATIENCE, get, ok, run, run_on_stopped_clock, user, user_of, with_header,
};
use crate::chain::RequestBuf;
use crate::transport::{
    Call, CallTrace, ErrorKind, Exchange, HttpTransport, Transport, UnfinishedCall,
};
use loadtest_model::definition::Expect;
use loadtest_model::trace::{RunIds, TraceId};
use loadtest_tests::{Reply, Request, Server};
use std::cell::Cell;
use std::time::Duration;

fn trace() -> TraceId {
    RunIds::new("run", "shop::buy", 7).trace(12)
}

/// Sends the request as the next one of step 2.
async fn send(
    user: &HttpTransport,
    request: &RequestBuf,
    requests: &Cell<u32>,
    is_sampled: bool,
) -> Exchange {
    let trace = CallTrace {
        trace: trace(),
        is_sampled,
        is_kept: is_sampled,
        step: 2,
        requests,
    };
    user.send(Call {
        request,
        expect: &Expect::SUCCESS,
        reads: NOTHING,
        timeout: PATIENCE,
        redirects: 3,
        new_connection: false,
        unfinished: &UnfinishedCall::default(),
        trace: Some(trace),
        stream: None,
        websocket: None,
        is_graphql: false,
    })
    .await
}

fn headers(recorded: &[Request]) -> Vec<&str> {
    let header = |request| Request::header(request, "traceparent").unwrap_or_default();
    recorded.iter().map(header).collect()
}

fn expected(number: u32, flag: &str) -> String {
    let trace = trace();
    format!("00-{trace}-{}-{flag}", trace.request(2, number))
}

#[test]
fn every_redirect_has_a_span_of_its_own_and_tells_its_times() {
    let server = Server::recording(|request| match &*request.path {
        "/a" => Reply::status(302).header("location", "/b"),
        _ => Reply::status(204),
    });
    let requests = Cell::default();
    let sent = run(async {
        let user = user(&server.url()).await;
        let mut kept = send(&user, &get("/a"), &requests, true).await;
        let unsampled = send(&user, &get("/b"), &requests, false).await;
        assert!(unsampled.requests.is_none(), "no span of it is kept");
        ok(unsampled);
        kept.take_requests()
    });
    let wanted = [expected(1, "01"), expected(2, "01"), expected(3, "00")];
    assert_eq!(headers(&server.recorded()), wanted);
    let told: Vec<_> = sent
        .iter()
        .map(|sent| {
            (
                sent.number,
                sent.status.map(|status| status.as_u16()),
                sent.is_redirect,
            )
        })
        .collect();
    assert_eq!(told, [(1, Some(302), false), (2, Some(204), true)]);
    assert!(sent[0].connect.is_some() && sent[0].connected_at.is_some());
    assert!(sent[1].connect.is_none(), "over the same connection");
    assert!(sent.windows(2).all(|pair| pair[0].ended <= pair[1].begun));
    let first_byte = sent[0].first_byte_at.unwrap();
    assert!(sent[0].begun <= first_byte && first_byte <= sent[0].ended);
}

#[test]
fn a_header_of_the_step_itself_wins() {
    let server = Server::recording(|_| Reply::status(204));
    let own = "00-11111111111111111111111111111111-2222222222222222-01";
    run(async {
        let user = user(&server.url()).await;
        let request = with_header(get("/"), "traceparent", own);
        ok(send(&user, &request, &Cell::default(), true).await);
    });
    assert_eq!(headers(&server.recorded()), [own]);
}

#[test]
fn what_is_sent_again_over_a_new_connection_is_another_span() {
    let server = Server::recording(|request| match request.sequence {
        1 => Reply::close_before_head(),
        _ => Reply::status(204),
    });
    let sent = run_on_stopped_clock(async {
        let (user, requests) = (user(&server.url()).await, Cell::default());
        ok(send(&user, &get("/"), &requests, true).await);
        // Long enough for an idle limit of the target.
        tokio::time::advance(Duration::from_millis(100)).await;
        let mut repeated = send(&user, &get("/"), &requests, true).await;
        let sent = repeated.take_requests();
        ok(repeated);
        sent
    });
    let wanted = [1, 2, 3].map(|number| expected(number, "01"));
    assert_eq!(headers(&server.recorded()), wanted);
    let told: Vec<_> = sent.iter().map(|sent| (sent.number, sent.error)).collect();
    assert_eq!(told, [(2, Some(ErrorKind::ClosedReused)), (3, None)]);
    assert_eq!(sent[1].begun, sent[0].ended);
}

#[test]
fn a_target_that_is_not_there_has_a_span_with_the_reason() {
    let address = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let sent = run(async {
        let user = user(&format!("http://{address}")).await;
        let mut exchange = send(&user, &get("/"), &Cell::default(), true).await;
        assert!(exchange.result.is_err());
        exchange.take_requests()
    });
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].error, Some(ErrorKind::ConnectRefused));
    assert_eq!(
        (&*sent[0].host, sent[0].port),
        ("127.0.0.1", address.port())
    );
}

#[test]
fn http2_carries_it_too() {
    run(async {
        let (address, log) = serve(fine).await;
        let user = user_of(&format!("http://{address}"), &http2()).await;
        ok(send(&user, &get("/"), &Cell::default(), true).await);
        let header = format!("traceparent: {}", expected(1, "01"));
        assert!(log.borrow()[0].headers.contains(&header), "{log:?}");
    });
}
