//! One connection to one origin: opened, driven by its own task, used for one request at a time.

use super::http2::SameThread;
use super::meter::{MAX_HEAD, Meter, Metered, Stream};
use super::network::{Addresses, Network};
use super::origin::Origin;
use super::progress::add;
use super::tls::H2;
use super::{ErrorKind, Failure, Phases, fault};
use crate::definition::HttpVersion;
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::TokioIo;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// A connection; when it is dropped, it is closed after what is still under way.
pub(super) struct Connection {
    pub(super) sender: Sender,
    pub(super) meter: Rc<Meter>,
    driver: JoinHandle<()>,
}

/// The end of a connection that takes requests.
pub(super) enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Connection {
    /// Opens a connection to the first of `addresses` that answers, from `preferred` on.
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
        add(&mut phases.connect, connected - begin);
        let tcp = tcp?;
        let mut is_http2 = network.http == HttpVersion::Http2;
        let stream = if origin.https {
            during_tls();
            let tls = network.tls.connect(&origin.host, tcp).await;
            add(&mut phases.tls, connected.elapsed());
            let tls = tls.map_err(|error| fault::in_handshake(&error))?;
            let chosen = tls.get_ref().1.alpn_protocol() == Some(H2);
            if is_http2 && !chosen {
                return Err(Failure::new(
                    ErrorKind::TlsProtocol,
                    "the target does not offer HTTP/2, which `http = 2` asks for",
                ));
            }
            is_http2 = chosen;
            Stream::Tls(Box::new(tls))
        } else {
            Stream::Plain(tcp)
        };
        let meter = Rc::new(Meter::default());
        let io = TokioIo::new(Metered::new(stream, Rc::clone(&meter)));
        // What goes wrong in a driver reaches the request that is under way; without one nobody minds.
        let failed = |error: hyper::Error| fault::before_head(&error, &meter, false);
        let (sender, driver) = if is_http2 {
            let (sender, connection) = http2::Builder::new(SameThread)
                .max_header_list_size(MAX_HEAD as u32)
                .handshake(io)
                .await
                .map_err(failed)?;
            let driver = async move { drop(connection.await) };
            (Sender::Http2(sender), tokio::task::spawn_local(driver))
        } else {
            let (sender, connection) = http1::Builder::new()
                .max_buf_size(MAX_HEAD)
                .handshake(io)
                .await
                .map_err(failed)?;
            let watched = Rc::clone(&meter);
            let driver = async move {
                if connection
                    .await
                    .is_err_and(|error| fault::is_unsolicited(&error))
                {
                    watched.spoil();
                }
            };
            (Sender::Http1(sender), tokio::task::spawn_local(driver))
        };
        Ok(Self {
            sender,
            meter,
            driver,
        })
    }

    /// Whether the connection can take another request at once.
    pub(super) async fn ready(&mut self) -> bool {
        // Nearly always, and then there is nothing to wait for.
        if matches!(&self.sender, Sender::Http1(sender) if sender.is_ready()) {
            return true;
        }
        for _ in 0..2 {
            match poll_fn(|cx| Poll::Ready(self.sender.poll_ready(cx))).await {
                Poll::Ready(ready) => return ready.is_ok(),
                // The driver may not have run since the last answer.
                Poll::Pending => tokio::task::yield_now().await,
            }
        }
        false
    }

    pub(super) fn is_http2(&self) -> bool {
        matches!(self.sender, Sender::Http2(_))
    }

    /// Closes the connection at once, whatever is under way.
    pub(super) fn abandon(self) {
        self.driver.abort();
    }
}

impl Sender {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<hyper::Result<()>> {
        match self {
            Self::Http1(sender) => sender.poll_ready(cx),
            Self::Http2(sender) => sender.poll_ready(cx),
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
                let failure = fault::connecting(address, &error);
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
    use crate::transport::ErrorKind;
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
