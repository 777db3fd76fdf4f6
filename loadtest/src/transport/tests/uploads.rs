//! Uploads: how long a request takes to be written, apart from the work of the target.

use super::http2::{fine, http2, serve};
use super::user::{
    BODY, PATIENCE, get, ok, request, run, run_on_stopped_clock, send, until, user, user_of,
};
use crate::transport::{
    Call, Exchange, HttpTransport, Network, RequestBuf, Transport, UnfinishedCall,
};
use http::{Method, Response};
use loadtest_model::definition::{Client, Expect};
use std::cell::{Cell, RefCell};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::spawn_local;

/// More than the buffers of two sockets and the windows of HTTP/2 hold.
const LARGE: usize = 32 << 20;
const READING: Duration = Duration::from_secs(3);
const WORK: Duration = Duration::from_secs(2);

fn upload(length: usize) -> RequestBuf {
    let mut upload = request(Method::POST, "/");
    upload.body = vec![b'x'; length].into();
    upload
}

/// Asserts that the target read for [`READING`] and then worked for [`WORK`].
fn assert_phases(exchange: Exchange) {
    let phases = exchange.phases;
    assert_eq!(
        (phases.upload, phases.first_byte),
        (Some(READING), Some(WORK))
    );
    assert_eq!(exchange.service_time, READING + WORK);
    assert!(exchange.traffic.sent_bytes > LARGE as u64);
    ok(exchange);
}

#[test]
fn a_slow_reader_of_an_upload_is_told_from_work_on_the_answer() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (stage, steps) = (Arc::new(AtomicUsize::new(0)), mpsc::channel());
    let (seen, (step, go)) = (Arc::clone(&stage), steps);
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        seen.store(1, Ordering::SeqCst);
        go.recv().unwrap();
        stream.read_exact(&mut vec![0; LARGE]).unwrap();
        seen.store(2, Ordering::SeqCst);
        go.recv().unwrap();
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).unwrap();
        // Open until the client is done.
        let _ = stream.read(&mut [0]);
    });
    run_on_stopped_clock(async {
        let mut user = user(&url).await;
        let upload = upload(LARGE);
        let clock = async {
            for (at, time) in [(1, READING), (2, WORK)] {
                until(|| stage.load(Ordering::SeqCst) == at).await;
                tokio::time::advance(time).await;
                step.send(()).unwrap();
            }
        };
        let (exchange, ()) = tokio::join!(send(&mut user, &upload, BODY), clock);
        assert_phases(exchange);
    });
    server.join().unwrap();
}

/// A server of HTTP/2 for one request, which it reads and answers when it is told to; how far it is.
async fn slow_reader() -> (String, Rc<Cell<usize>>, mpsc::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (stage, (step, go)) = (Rc::new(Cell::new(0)), mpsc::channel());
    let seen = Rc::clone(&stage);
    let go = Rc::new(RefCell::new(go));
    spawn_local(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut connection = h2::server::handshake(stream).await.unwrap();
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            let (seen, go) = (Rc::clone(&seen), Rc::clone(&go));
            spawn_local(async move {
                let told = async || until(|| go.borrow().try_recv().is_ok()).await;
                seen.set(1);
                told().await;
                let (mut body, mut read) = (request.into_body(), 0);
                while let Some(Ok(data)) = body.data().await {
                    read += data.len();
                    body.flow_control().release_capacity(data.len()).unwrap();
                }
                assert_eq!(read, LARGE);
                seen.set(2);
                told().await;
                respond.send_response(Response::new(()), true).unwrap();
            });
        }
    });
    (url, stage, step)
}

#[test]
fn uploads_over_http2_are_a_phase_whether_the_connection_is_shared_or_not() {
    for connections in [None, Some(1)] {
        run_on_stopped_clock(async {
            let (url, stage, step) = slow_reader().await;
            let client = Client {
                connections,
                ..http2()
            };
            let mut network = Network::prepare(Some(&url), "run-7").await.unwrap();
            network.configure(&client, Path::new("")).unwrap();
            let mut user = HttpTransport::new(Arc::new(network), 0);
            user.share_connections(&|count| (0..count).collect());
            let upload = upload(LARGE);
            let unfinished = UnfinishedCall::default();
            let call = Call {
                request: &upload,
                expect: &Expect::SUCCESS,
                reads: BODY,
                timeout: PATIENCE,
                redirects: 0,
                new_connection: false,
                unfinished: &unfinished,
                trace: None,
                stream: None,
                websocket: None,
                is_graphql: false,
            };
            let clock = async {
                for (at, time) in [(1, READING), (2, WORK)] {
                    until(|| stage.get() == at).await;
                    tokio::time::advance(time).await;
                    step.send(()).unwrap();
                }
            };
            let (exchange, ()) = tokio::join!(user.send(call), clock);
            assert_phases(exchange);
        });
    }
}

#[test]
fn small_requests_have_no_phase_of_their_own() {
    run(async {
        let (address, _) = serve(fine).await;
        let mut user = user_of(&format!("http://{address}"), &http2()).await;
        for (request, has_phase) in [
            (get("/"), false),
            (upload(16 << 10), false),
            (upload((16 << 10) + 1), true),
            (get("/"), false),
        ] {
            let exchange = send(&mut user, &request, BODY).await;
            assert_eq!(exchange.phases.upload.is_some(), has_phase);
            ok(exchange);
        }
    });
}
