//! `server PER_SECOND`: a WebSocket server on a free port. It sends each text message back, and so many messages a
//! second to all who are there. It prints its address, and each second how many messages it has sent.

use futures_util::{SinkExt, StreamExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let per_second: u32 = std::env::args()
        .nth(1)
        .and_then(|given| given.parse().ok())
        .expect("server PER_SECOND");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    println!("{}", listener.local_addr().expect("an address"));
    let (news, _) = broadcast::channel(1024);
    let sent = Arc::new(AtomicU64::new(0));
    tokio::spawn(publish(per_second, news.clone(), Arc::clone(&sent)));
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        tokio::spawn(serve(stream, news.subscribe(), Arc::clone(&sent)));
    }
}

async fn publish(per_second: u32, news: broadcast::Sender<u64>, sent: Arc<AtomicU64>) {
    let mut tick = tokio::time::interval(Duration::from_secs(1) / per_second);
    for number in 0_u64.. {
        tick.tick().await;
        let _nobody_there = news.send(number);
        if number % u64::from(per_second) == 0 {
            println!("{}", sent.load(Relaxed));
        }
    }
}

async fn serve(stream: TcpStream, mut news: broadcast::Receiver<u64>, sent: Arc<AtomicU64>) {
    stream.set_nodelay(true).expect("an open connection");
    let config = WebSocketConfig::default().read_buffer_size(4096);
    let Ok(socket) = tokio_tungstenite::accept_async_with_config(stream, Some(config)).await else {
        return;
    };
    let (mut to, mut from) = socket.split();
    loop {
        let messages = tokio::select! {
            asked = from.next() => match asked {
                Some(Ok(Message::Text(text))) => vec![Message::Text(text)],
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => Vec::new(),
                // The answer to a close frame is written.
                _ => return drop(to.flush().await),
            },
            first = news.recv() => {
                let mut numbers: Vec<u64> = first.into_iter().collect();
                numbers.extend(std::iter::from_fn(|| news.try_recv().ok()));
                let words = |number| Message::text(format!("{{\"news\":{number}}}"));
                numbers.into_iter().map(words).collect()
            }
        };
        for message in messages {
            if to.feed(message).await.is_err() {
                return;
            }
            sent.fetch_add(1, Relaxed);
        }
        if to.flush().await.is_err() {
            return;
        }
    }
}
