//! The ends of connections, as a client sees them.

use loadtest_bad_server::{BadServer, FaultProxy, FullPort, NetworkFault, Script};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: shop\r\n\r\n";

/// Sends a request, and reads up to the end of the connection.
fn ask(address: SocketAddr, request: &[u8]) -> Result<Vec<u8>, ErrorKind> {
    let mut client = TcpStream::connect(address).expect("the server listens");
    let mut answer = Vec::new();
    let sent = client.write_all(request);
    let answered = sent.and_then(|()| client.read_to_end(&mut answer));
    answered.map(|_| answer).map_err(|error| error.kind())
}

#[test]
fn a_close_sends_a_fin_though_the_request_is_not_read() {
    let server = BadServer::start(Script::new().close());
    for _ in 0..50 {
        assert_eq!(ask(server.address(), &vec![b'x'; 100_000]), Ok(Vec::new()));
    }
}

#[test]
fn the_last_act_of_a_script_is_followed_by_a_fin() {
    let server = BadServer::start(Script::new().read(10).send("hi"));
    for _ in 0..50 {
        assert_eq!(ask(server.address(), REQUEST), Ok(b"hi".to_vec()));
    }
}

#[test]
fn a_reset_after_no_byte_comes_when_the_server_has_read_the_request() {
    let server = BadServer::start(Script::answer("HTTP/1.1 200 OK\r\n\r\n"));
    let proxy = FaultProxy::start(server.address(), NetworkFault::ResetAfter(0));
    for requests in 1..=50 {
        let answer = ask(proxy.address(), REQUEST);
        assert_eq!(answer, Err(ErrorKind::ConnectionReset));
        assert_eq!(server.heads(), requests);
    }
}

#[test]
fn a_fault_after_more_bytes_than_there_are_does_not_happen() {
    for fault in [NetworkFault::ResetAfter(9), NetworkFault::BlackHoleAfter(9)] {
        let server = BadServer::start(Script::answer_once("hello"));
        let proxy = FaultProxy::start(server.address(), fault);
        assert_eq!(
            ask(proxy.address(), REQUEST),
            Ok(b"hello".to_vec()),
            "{fault:?}"
        );
    }
}

#[test]
fn a_full_port_accepts_no_connection() {
    let port = FullPort::take();
    let error = TcpStream::connect_timeout(&port.address(), Duration::from_millis(200));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::TimedOut);
}
