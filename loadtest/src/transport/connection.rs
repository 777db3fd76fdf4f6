//! One connection to one origin: opened, and used for one request at a time.

use super::http1::{self, Http1};
use super::http2::LocalExecutor;
use super::meter::{MAX_BEFORE_HTTP2_HEAD, MAX_HEAD, Meter, MeteredStream, TransportStream};
use super::network::{Addresses, Network};
use super::progress::add_phase;
use super::tls::H2;
use super::{ErrorKind, Failure, Phases, error_mapping};
use crate::targets::Origin;
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, Version};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::TokioIo;
use loadtest_model::definition::HttpVersion;
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::task::Poll;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// A connection; when it is dropped, it is closed.
pub(super) struct Connection {
    pub(super) protocol: Protocol,
    pub(super) meter: Rc<Meter>,
}

/// The protocol of a connection.
pub(super) enum Protocol {
    Http1(Box<Http1>),
    Http2(Http2),
}

/// The end of a connection that takes requests; a task of its own drives it.
pub(super) struct Http2 {
    sender: http2::SendRequest<Full<Bytes>>,
    /// The body that is to be read.
    body: Option<Incoming>,
    driver: JoinHandle<()>,
}

/// The reason why a response is missing or incomplete.
pub(super) enum Error {
    Http1(http1::Error),
    Http2(hyper::Error),
}

impl Error {
    /// The error itself.
    pub(super) fn of(&self) -> &dyn std::error::Error {
        match self {
            Self::Http1(error) => error,
            Self::Http2(error) => error,
        }
    }
}

impl Http2 {
    /// Sends a request and waits for the head of its answer: status, version and `headers`.
    pub(super) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
        headers: &mut HeaderMap,
    ) -> Result<(StatusCode, Version), Error> {
        let answer = self.sender.send_request(request).await;
        let mut answer = answer.map_err(Error::Http2)?;
        std::mem::swap(headers, answer.headers_mut());
        let head = (answer.status(), answer.version());
        self.body = Some(answer.into_body());
        Ok(head)
    }
}

impl Drop for Http2 {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Connection {
    /// Opens a connection to the first of `addresses` that accepts, starting at `preferred`.
    ///
    /// `preferred` becomes the one that answered. `during_tls` is told when the handshake begins.
    pub(super) async fn open(
        network: &Network,
        origin: &Origin,
        addresses: &Addresses,
        preferred: &mut usize,
        phases: &mut Phases,
        mut during_tls: impl FnMut(),
    ) -> Result<Self, Failure> {
        let begin = Instant::now();
        let tcp = connect(addresses, preferred).await;
        let connected = Instant::now();
        add_phase(&mut phases.connect, connected - begin);
        let tcp = tcp?;
        let mut is_http2 = network.http == HttpVersion::Http2;
        let stream = if origin.https {
            during_tls();
            let tls = network.tls.connect(&origin.host, tcp).await;
            add_phase(&mut phases.tls, connected.elapsed());
            let tls = tls.map_err(|error| error_mapping::handshake_failure(&error))?;
            let chosen = tls.get_ref().1.alpn_protocol() == Some(H2);
            if is_http2 && !chosen {
                return Err(Failure::new(
                    ErrorKind::TlsProtocol,
                    "the target does not offer HTTP/2, which `http = 2` asks for",
                ));
            }
            is_http2 = chosen;
            TransportStream::Tls(Box::new(tls))
        } else {
            TransportStream::Plain(tcp)
        };
        let meter = Rc::new(Meter::new(if is_http2 {
            MAX_BEFORE_HTTP2_HEAD
        } else {
            MAX_HEAD
        }));
        let io = MeteredStream::new(stream, Rc::clone(&meter));
        let protocol = if is_http2 {
            let (sender, connection) = http2::Builder::new(LocalExecutor)
                .max_header_list_size(MAX_HEAD as u32)
                .handshake(TokioIo::new(io))
                .await
                .map_err(|error| {
                    error_mapping::head_failure(&Error::Http2(error), &meter, false)
                })?;
            // What goes wrong in a driver reaches the request that is under way; without one it has no effect.
            let driver = async move { drop(connection.await) };
            Protocol::Http2(Http2 {
                sender,
                body: None,
                driver: tokio::task::spawn_local(driver),
            })
        } else {
            Protocol::Http1(Box::new(Http1::new(io)))
        };
        Ok(Self { protocol, meter })
    }

    /// Returns whether the connection can take another request at once.
    pub(super) async fn ready(&mut self) -> bool {
        match &mut self.protocol {
            Protocol::Http1(http1) => poll_fn(|cx| Poll::Ready(http1.is_idle(cx))).await,
            Protocol::Http2(http2) => {
                for _ in 0..2 {
                    match poll_fn(|cx| Poll::Ready(http2.sender.poll_ready(cx))).await {
                        Poll::Ready(ready) => return ready.is_ok(),
                        // The driver may not have run since the last answer.
                        Poll::Pending => tokio::task::yield_now().await,
                    }
                }
                false
            }
        }
    }

    /// Returns whether another request may follow the response that was read.
    pub(super) fn is_kept(&self) -> bool {
        match &self.protocol {
            Protocol::Http1(http1) => http1.is_kept(),
            Protocol::Http2(_) => true,
        }
    }

    /// Returns whether the server sent more than was asked for.
    pub(super) fn is_spoilt(&self) -> bool {
        matches!(&self.protocol, Protocol::Http1(http1) if http1.is_spoilt())
    }

    /// Returns the number of body bytes that are announced.
    pub(super) fn announced(&self) -> u64 {
        match &self.protocol {
            Protocol::Http1(http1) => http1.announced(),
            Protocol::Http2(http2) => {
                let body = http2.body.as_ref();
                body.map_or(0, |body| body.size_hint().lower())
            }
        }
    }

    /// Reads the body of the answer, and hands it over piece by piece; whether it came to its end.
    pub(super) async fn body(
        &mut self,
        mut take: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<bool, Error> {
        match &mut self.protocol {
            Protocol::Http1(http1) => http1.body(take).await.map_err(Error::Http1),
            Protocol::Http2(http2) => {
                let Some(mut body) = http2.body.take() else {
                    return Ok(true);
                };
                while !body.is_end_stream() {
                    let Some(frame) = body.frame().await else {
                        break;
                    };
                    // Trailers are passed over.
                    if let Ok(data) = frame.map_err(Error::Http2)?.into_data()
                        && take(&data).is_break()
                    {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }
}

async fn connect(addresses: &Addresses, preferred: &mut usize) -> Result<TcpStream, Failure> {
    let count = addresses.all.len();
    let mut first_failure = None;
    for i in 0..count {
        let index = (*preferred + i) % count;
        let address = addresses.all[index];
        let connected = async {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(stream)
        };
        match connected.await {
            Ok(stream) => {
                *preferred = index;
                return Ok(stream);
            }
            Err(error) => {
                let failure = error_mapping::connect_failure(address, &error);
                if failure.kind.is_ours() {
                    return Err(failure);
                }
                first_failure.get_or_insert(failure);
            }
        }
    }
    Err(first_failure.unwrap_or_else(|| unreachable!("an origin has an address")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadtest_model::metrics::ErrorKind;
    use std::net::{Ipv4Addr, SocketAddr, TcpListener};

    #[tokio::test]
    async fn an_address_where_nobody_listens_is_passed_over_once() {
        let [closed, open] = [(); 2].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        let all = [&closed, &open].map(|listener| listener.local_addr().unwrap());
        drop(closed);
        let addresses = |all: &[SocketAddr]| Addresses {
            spread: all.len(),
            all: all.to_vec(),
        };
        let mut preferred = 0;
        let stream = connect(&addresses(&all), &mut preferred).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), all[1]);
        assert_eq!(preferred, 1);

        let failure = connect(&addresses(&all[..1]), &mut 0).await.unwrap_err();
        assert_eq!(failure.kind, ErrorKind::ConnectRefused);
    }
}
