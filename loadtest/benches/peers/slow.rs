//! `slow MILLISECONDS`: answers every request so long after it came, on a free port of 127.0.0.1, which it
//! prints. It keeps as little as it can of each connection, so that ten thousand are no burden.

use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 25\r\n\r\n\
    {\"id\":1,\"token\":\"abcdef\"}";

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let pause = std::env::args().nth(1).expect("slow MILLISECONDS");
    let pause = Duration::from_millis(pause.parse().expect("milliseconds"));
    let socket = TcpSocket::new_v4().expect("a socket");
    socket
        .bind("127.0.0.1:0".parse().expect("an address"))
        .expect("a port");
    let listener = socket.listen(4096).expect("a listener");
    println!("{}", listener.local_addr().expect("an address"));
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, pause));
        }
    }
}

async fn serve(mut stream: TcpStream, pause: Duration) {
    let mut head = Vec::new();
    while let Ok(1..) = stream.read_buf(&mut head).await {
        if head.ends_with(b"\r\n\r\n") {
            head.clear();
            tokio::time::sleep(pause).await;
            if stream.write_all(ANSWER).await.is_err() {
                return;
            }
        }
    }
}
