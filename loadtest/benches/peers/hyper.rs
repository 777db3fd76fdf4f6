//! `bare URL SECONDS [USERS]`: a hyper connection for each of 64 users, one thread, and nothing else: no
//! checks, no deadline, one histogram.

use bytes::Bytes;
use hdrhistogram::Histogram;
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::task::{LocalSet, spawn_local};

fn main() {
    let mut given = std::env::args().skip(1);
    let mut next = || given.next().expect("bare URL SECONDS [USERS]");
    let url = next();
    let address = url
        .strip_prefix("http://")
        .expect("http://HOST:PORT")
        .to_owned();
    let seconds = Duration::from_secs(next().parse().expect("seconds"));
    let users: u32 = given.next().map_or(64, |users| users.parse().expect("users"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    LocalSet::new().block_on(&runtime, async {
        let end = Instant::now() + seconds;
        let times = Rc::new(RefCell::new(
            Histogram::<u64>::new_with_bounds(1, 60_000_000_000, 3).expect("bounds"),
        ));
        let users: Vec<_> = (0..users)
            .map(|_| spawn_local(user(address.clone(), end, Rc::clone(&times))))
            .collect();
        for user in users {
            user.await.expect("a user");
        }
        let times = times.borrow();
        println!(
            "{} requests, p99 {} us",
            times.len(),
            times.value_at_quantile(0.99) / 1_000
        );
    });
}

async fn user(address: String, end: Instant, times: Rc<RefCell<Histogram<u64>>>) {
    let stream = TcpStream::connect(&address).await.expect("a connection");
    stream.set_nodelay(true).expect("an option of a socket");
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .expect("a handshake");
    spawn_local(async { connection.await.expect("a connection that lasts") });
    loop {
        let start = Instant::now();
        if start >= end {
            break;
        }
        let request = Request::get("/")
            .header("host", &address)
            .header("accept", "*/*");
        let request = request.body(Empty::<Bytes>::new()).expect("a request");
        sender.ready().await.expect("a connection that lasts");
        let answer = sender.send_request(request).await.expect("an answer");
        answer.into_body().collect().await.expect("a body");
        times
            .borrow_mut()
            .saturating_record(start.elapsed().as_nanos() as u64);
    }
}
