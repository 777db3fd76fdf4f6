//! Many users that start at once do not fill the backlog of a target: on a quiet machine no request takes a second.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and fails by panicking"
)]

use loadtest::prelude::*;
use loadtest_model::definition::Load;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

const USERS: u32 = 1_500;
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

#[scenario]
fn many() {
    #[step(get = "/")]
    fn ask();
}

/// A server with a backlog of 128, which looks for new connections only now and then.
fn lazy() -> SocketAddr {
    let (sender, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().unwrap();
        runtime.block_on(async {
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
            let listener = socket.listen(128).unwrap();
            sender.send(listener.local_addr().unwrap()).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(answer(stream));
                let mut waiting = Box::pin(listener.accept());
                while let Ok(Ok((stream, _))) =
                    tokio::time::timeout(Duration::ZERO, &mut waiting).await
                {
                    tokio::spawn(answer(stream));
                    waiting = Box::pin(listener.accept());
                }
                drop(waiting);
                tokio::time::sleep(Duration::from_millis(40)).await;
            }
        });
    });
    address.recv().unwrap()
}

async fn answer(mut stream: TcpStream) {
    let mut head = [0; 1024];
    while let Ok(1..) = stream.read(&mut head).await {
        tokio::time::sleep(Duration::from_millis(500)).await;
        if stream.write_all(ANSWER).await.is_err() {
            return;
        }
    }
}

/// The system tries a dropped connection again after a second, and the answer takes half of one.
const LIMIT: Duration = Duration::from_millis(1_400);

fn main() {
    let card = loadtest::Run::new(many())
        .load(Load::iterations(u64::from(USERS), USERS))
        .base_url(format!("http://{}", lazy()))
        .run_blocking()
        .unwrap();
    let step = &card.steps[0];
    assert_eq!(step.ok, u64::from(USERS), "{card}");
    let longest = step.service.max.unwrap();
    println!("{USERS} users at once: the longest request took {longest:?}");
    assert!(longest < LIMIT, "a connection was dropped and tried again");
}
