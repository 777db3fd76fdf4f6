//! A target inside this process: there when it is said to be, gone with its owner, missed when it dies.
use loadtest::targets::{Target, TargetError};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Sends back what it gets, in capitals.
async fn shout(listener: TcpListener) -> std::io::Result<()> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            let mut buffer = [0; 64];
            while let Ok(length @ 1..) = stream.read(&mut buffer).await {
                let answer = buffer[..length].to_ascii_uppercase();
                if stream.write_all(&answer).await.is_err() {
                    return;
                }
            }
        });
    }
}

fn connect(target: &Target) -> std::io::Result<TcpStream> {
    TcpStream::connect(target.url().trim_start_matches("http://"))
}

fn ask(target: &Target) -> String {
    let mut stream = connect(target).unwrap();
    stream.write_all(b"hello").unwrap();
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn it_answers_and_goes_with_its_owner() {
    let target = Target::serve(shout).unwrap();
    assert_eq!(ask(&target), "HELLO");
    target.check().unwrap();
    let mut open = connect(&target).unwrap();
    let url = target.url().to_owned();
    drop(target);
    assert!(TcpStream::connect(url.trim_start_matches("http://")).is_err());
    assert_eq!(
        open.read(&mut [0]).unwrap_or(0),
        0,
        "open connections end too"
    );
}

#[test]
fn a_panic_of_its_owner_stops_it() {
    let mut url = String::new();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let target = Target::serve(shout).unwrap();
        url = target.url().to_owned();
        std::panic::resume_unwind(Box::new("a setup goes wrong"));
    }));
    assert!(panicked.is_err());
    assert!(TcpStream::connect(url.trim_start_matches("http://")).is_err());
}

#[test]
fn it_is_waited_for_until_it_takes_connections() {
    let is_up = Arc::new(AtomicBool::new(false));
    let comes_up = Arc::clone(&is_up);
    let target = Target::serve(|listener| async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        comes_up.store(true, Ordering::SeqCst);
        shout(listener).await
    })
    .unwrap();
    // The system takes connections for it before.
    assert!(is_up.load(Ordering::SeqCst), "it was waited for");
    assert_eq!(ask(&target), "HELLO");
}

#[test]
fn one_that_ends_at_once_is_told_in_its_words() {
    let error = Target::serve(|_| async { Err::<(), _>("no database at shop.db") }).unwrap_err();
    let words = "the server in this process died: no database at shop.db";
    assert_eq!(error.to_string(), words);
    let error = Target::serve(|_| async {}).unwrap_err();
    assert!(error.to_string().ends_with("its future ended"), "{error}");
    let error = Target::serve(|_| -> std::future::Ready<()> { panic!("out of wine") }).unwrap_err();
    assert!(matches!(error, TargetError::InsideDied { .. }));
    assert!(
        error.to_string().ends_with("it panicked: out of wine"),
        "{error}"
    );
}

#[test]
fn one_that_dies_later_is_missed() {
    let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
    let target = Target::serve(|listener| async move {
        tokio::select! {
            served = shout(listener) => served,
            _ = receiver => panic!("out of wine with {}", "token=abc123"),
        }
    })
    .unwrap();
    target.check().unwrap();
    sender.send(()).unwrap();
    let died = loop {
        if let Err(died) = target.check() {
            break died.to_string();
        }
        std::thread::yield_now();
    };
    assert!(died.contains("it panicked: out of wine"), "{died}");
    assert!(!died.contains("abc123"), "{died}");
}

#[tokio::test]
async fn it_can_be_started_within_a_runtime() {
    let target = Target::serve(shout).unwrap();
    assert_eq!(ask(&target), "HELLO");
}
