//! `server [ANSWER_US [STALL_AT_MS STALL_MS]]`: answers after a time, logs when each request came, and
//! stalls once: what comes meanwhile is read, and answered as though it had come when the stall ends. It never
//! sleeps, so that no wake-up of its own is in what it logs: it takes a whole core.
//!
//! Prints its port. `GET /figures` ends a measurement and tells of it: requests, their rate in the middle
//! of it, and the 50th and 99th percentile and the longest of the gaps between them there, in microseconds.

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::socket::{Backlog, listen};
use std::collections::{HashMap, VecDeque};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::time::{Duration, Instant};

/// What is left out at the beginning and at the end of a measurement.
const EDGE: Duration = Duration::from_secs(1);
const END: &[u8] = b"\r\n\r\n";
const LISTENER: u64 = 0;

struct Connection {
    stream: TcpStream,
    /// How much of the end of a request has come.
    ending: usize,
}

fn main() {
    let mut given = std::env::args()
        .skip(1)
        .map(|number| number.parse::<u64>().expect("a number"));
    let answer = Duration::from_micros(given.next().unwrap_or(0));
    let stall = given
        .next()
        .zip(given.next())
        .map(|(at, time)| (Duration::from_millis(at), Duration::from_millis(time)));

    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket");
    listen(&listener, Backlog::MAXCONN).expect("a queue for all who connect while it stalls");
    println!("{}", listener.local_addr().expect("a port").port());
    let epoll = Epoll::new(EpollCreateFlags::empty()).expect("epoll");
    let watch = |key| EpollEvent::new(EpollFlags::EPOLLIN, key);
    epoll.add(&listener, watch(LISTENER)).expect("epoll");

    let mut connections: HashMap<u64, Connection> = HashMap::new();
    let mut answers: VecDeque<(Instant, u64)> = VecDeque::new();
    let mut arrivals: Vec<Instant> = Vec::new();
    let mut events = [EpollEvent::empty(); 256];
    loop {
        while let Some((due, key)) = answers.front()
            && *due <= Instant::now()
        {
            if let Some(connection) = connections.get_mut(key) {
                reply(connection, "");
            }
            answers.pop_front();
        }
        let ready = epoll.wait(&mut events, EpollTimeout::ZERO).unwrap_or(0);
        for event in &events[..ready] {
            let key = event.data();
            if key == LISTENER {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true).expect("a socket");
                    stream.set_nodelay(true).expect("a socket");
                    let key = stream.as_raw_fd() as u64;
                    epoll.add(&stream, watch(key)).expect("epoll");
                    connections.insert(key, Connection { stream, ending: 0 });
                }
                continue;
            }
            let Some(connection) = connections.get_mut(&key) else {
                continue;
            };
            let mut bytes = [0; 4096];
            let Ok(count @ 1..) = connection.stream.read(&mut bytes) else {
                connections.remove(&key);
                continue;
            };
            let bytes = &bytes[..count];
            if bytes.starts_with(b"GET /figures") {
                reply(connection, &figures(&arrivals));
                arrivals.clear();
                continue;
            }
            let now = Instant::now();
            for byte in bytes {
                connection.ending = match *byte {
                    byte if byte == END[connection.ending] => connection.ending + 1,
                    b'\r' => 1,
                    _ => 0,
                };
                if connection.ending == END.len() {
                    connection.ending = 0;
                    arrivals.push(now);
                    let stalled = stall.map(|(at, time)| (arrivals[0] + at, arrivals[0] + at + time));
                    let taken = match stalled {
                        Some((from, to)) if (from..to).contains(&now) => to,
                        _ => now,
                    };
                    answers.push_back((taken + answer, key));
                }
            }
        }
    }
}

fn reply(connection: &mut Connection, body: &str) {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length:";
    let whole = format!("{head} {}\r\n\r\n{body}", body.len());
    // Who has gone away needs no answer.
    let _gone = connection.stream.write_all(whole.as_bytes());
}

fn figures(arrivals: &[Instant]) -> String {
    let (Some(first), Some(last)) = (arrivals.first(), arrivals.last()) else {
        return "0 0 0 0 0".to_owned();
    };
    let (from, to) = (*first + EDGE, *last - EDGE);
    let middle: Vec<Instant> = arrivals
        .iter()
        .copied()
        .filter(|at| (from..to).contains(at))
        .collect();
    let mut gaps: Vec<Duration> = middle.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let total: Duration = gaps.iter().sum();
    let rate = gaps.len() as f64 / total.as_secs_f64();
    gaps.sort_unstable();
    let gap = |share: f64| {
        let place = (share * gaps.len() as f64).ceil() as usize;
        gaps.get(place.max(1) - 1).map_or(0, Duration::as_micros)
    };
    format!(
        "{} {rate:.2} {} {} {}",
        arrivals.len(),
        gap(0.5),
        gap(0.99),
        gap(1.0)
    )
}
