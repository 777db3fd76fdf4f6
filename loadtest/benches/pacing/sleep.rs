//! `sleep tokio URL RATE SECONDS`: the runtime's `sleep_until`, and a hyper connection for each user.
//! `sleep thread - RATE SECONDS`: a thread that sleeps until each arrival is due, and does nothing then.
//! `sleep timer|spin|answer URL RATE SECONDS`: a thread with one socket that waits for a timer of the kernel,
//! or sleeps not at all, and then sends; what is answered it reads before it waits for the next.
//!
//! Prints arrivals, and how late they were: p50, p99 and max in microseconds; `answer` instead prints how
//! long answers took from when the request was sent.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::Request;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::cell::RefCell;
use std::io::{Read as _, Write as _};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::task::{LocalSet, spawn_local};

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [kind, url, rate, seconds] = &given[..] else {
        panic!("sleep tokio|thread|timer|spin|answer URL RATE SECONDS");
    };
    let rate: f64 = rate.parse().expect("a rate");
    let count = (rate * seconds.parse::<f64>().expect("seconds")) as u32;
    let due = move |index: u32| Duration::from_secs_f64(f64::from(index) / rate);
    let address = url.strip_prefix("http://").unwrap_or_default();
    let mut late = if kind == "thread" {
        thread(count, due)
    } else if kind != "tokio" {
        socket(kind, address, count, due)
    } else {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        LocalSet::new().block_on(&runtime, tokio(address.to_owned(), count, due))
    };
    late.sort_unstable();
    let place = |share: f64| (share * f64::from(count)).ceil() as usize - 1;
    let [p50, p99, max] = [0.5, 0.99, 1.0].map(|share| late[place(share)].as_micros());
    println!("{count} {p50} {p99} {max}");
}

fn thread(count: u32, due: impl Fn(u32) -> Duration) -> Vec<Duration> {
    let start = Instant::now();
    let wake = |index| {
        let due = start + due(index);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        due.elapsed()
    };
    (0..count).map(wake).collect()
}

/// Of each request how late it was sent, or how long its answer took.
fn socket(kind: &str, address: &str, count: u32, due: impl Fn(u32) -> Duration) -> Vec<Duration> {
    let mut socket = std::net::TcpStream::connect(address).expect("a connection");
    socket.set_nodelay(true).expect("an option of a socket");
    let request = format!("GET / HTTP/1.1\r\nhost: {address}\r\n\r\n");
    let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::empty()).expect("a timer");
    let start = Instant::now();
    let mut answer = [0; 4096];
    let send = |index| {
        let due = start + due(index);
        let left = due.saturating_duration_since(Instant::now());
        if kind == "spin" {
            while Instant::now() < due {}
        } else if !left.is_zero() {
            let once = Expiration::OneShot(TimeSpec::from_duration(left));
            timer.set(once, TimerSetTimeFlags::empty()).expect("a timer");
            timer.wait().expect("a timer");
        }
        let sent = Instant::now();
        socket.write_all(request.as_bytes()).expect("a connection that lasts");
        let read = socket.read(&mut answer).expect("an answer");
        assert!(answer[..read].ends_with(b"\r\n\r\n"), "an answer in one piece");
        if kind == "answer" { sent.elapsed() } else { sent - due }
    };
    (0..count).map(send).collect()
}

type Free = Rc<RefCell<Vec<SendRequest<Empty<Bytes>>>>>;

async fn tokio(address: String, count: u32, due: impl Fn(u32) -> Duration) -> Vec<Duration> {
    let (free, late) = (Free::default(), Rc::new(RefCell::new(Vec::new())));
    let start = Instant::now();
    let mut users = Vec::new();
    for index in 0..count {
        let due = start + due(index);
        tokio::time::sleep_until(due.into()).await;
        let (address, free, late) = (address.clone(), Rc::clone(&free), Rc::clone(&late));
        users.push(spawn_local(async move {
            late.borrow_mut().push(due.elapsed());
            let idle = free.borrow_mut().pop();
            let mut user = match idle {
                Some(user) => user,
                None => connect(&address).await,
            };
            let request = Request::get("/").header("host", &address);
            let request = request.body(Empty::new()).expect("a request");
            user.ready().await.expect("a connection that lasts");
            let answer = user.send_request(request).await.expect("an answer");
            answer.into_body().collect().await.expect("a body");
            free.borrow_mut().push(user);
        }));
    }
    for user in users {
        user.await.expect("a user");
    }
    late.take()
}

async fn connect(address: &str) -> SendRequest<Empty<Bytes>> {
    let stream = TcpStream::connect(address).await.expect("a connection");
    stream.set_nodelay(true).expect("an option of a socket");
    let (user, connection) = handshake(TokioIo::new(stream)).await.expect("a handshake");
    spawn_local(async { connection.await.expect("a connection that lasts") });
    user
}
