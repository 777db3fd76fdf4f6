//! The UDP socket of a connection, which notes what the system says of the target.
//!
//! QUIC takes no notice of a port where nothing listens, or of a target that never answers.

use quinn::udp::{RecvMeta, Transmit, UdpSocketState};
use quinn::{AsyncUdpSocket, UdpPoller};
use std::future::pending;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UdpSocket;
use tokio::sync::Notify;
use tokio::time::sleep;

/// The socket of a connection.
#[derive(Debug)]
pub(super) struct QuicSocket {
    io: UdpSocket,
    state: UdpSocketState,
    /// Something came from the target.
    is_answered: AtomicBool,
    is_refused: AtomicBool,
    /// Notified when the target is known to refuse.
    refusal: Notify,
}

impl QuicSocket {
    /// Opens a socket that reaches `address`.
    pub(super) fn open(address: SocketAddr) -> io::Result<Arc<Self>> {
        let any: SocketAddr = if address.is_ipv4() {
            (Ipv4Addr::UNSPECIFIED, 0).into()
        } else {
            (Ipv6Addr::UNSPECIFIED, 0).into()
        };
        let socket = std::net::UdpSocket::bind(any)?;
        // Elsewhere no address can be given with a datagram then, as quinn does.
        if cfg!(target_os = "linux") {
            socket.connect(address)?;
        }
        Ok(Arc::new(Self {
            state: UdpSocketState::new((&socket).into())?,
            io: UdpSocket::from_std(socket)?,
            is_answered: AtomicBool::default(),
            is_refused: AtomicBool::default(),
            refusal: Notify::new(),
        }))
    }

    /// Waits until no connection can be expected any more: the target refused, said nothing for as long as `patience`, or
    /// needed as long again for the rest of the handshake.
    pub(super) async fn unanswered(&self, patience: Duration) -> io::Error {
        tokio::select! {
            biased;
            () = self.refused() => io::Error::new(
                io::ErrorKind::ConnectionRefused,
                "nothing listens at this UDP port; is HTTP/3 enabled there?",
            ),
            words = self.unfinished(patience) => io::Error::new(io::ErrorKind::TimedOut, words),
        }
    }

    /// Returns whether the system has said that nothing listens at the address.
    pub(super) fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }

    /// Waits for the system to say so.
    pub(super) async fn refused(&self) {
        while !self.is_refused() {
            tokio::select! {
                () = self.refusal.notified() => {}
                ready = self.io.ready(Interest::ERROR) => match ready.and_then(|_| self.io.take_error()) {
                    Ok(Some(error)) => self.note_error(&error),
                    Ok(None) => {
                        // It waits for the next one.
                        let unready = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
                        let _ = self.io.try_io(Interest::ERROR, unready);
                    }
                    Err(_) => pending().await,
                },
            }
        }
    }

    /// Waits for the time that a handshake may take, and returns what did not come by then.
    async fn unfinished(&self, patience: Duration) -> String {
        sleep(patience).await;
        if self.is_answered.load(Ordering::Relaxed) {
            sleep(patience).await;
            return format!(
                "the target answered, but the QUIC handshake did not end within {:?}",
                patience * 2
            );
        }
        format!(
            "no answer to the QUIC handshake over UDP within {patience:?}; is HTTP/3 enabled there, and does the \
             network let UDP pass?"
        )
    }

    fn note_error(&self, error: &io::Error) {
        if error.kind() == io::ErrorKind::ConnectionRefused {
            self.is_refused.store(true, Ordering::Relaxed);
            self.refusal.notify_one();
        }
    }
}

impl AsyncUdpSocket for QuicSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(SendReadiness(self))
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.io.try_io(Interest::WRITABLE, || {
            match self.state.try_send((&self.io).into(), transmit) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(error),
                // What is lost is sent again.
                Err(error) => {
                    self.note_error(&error);
                    Ok(())
                }
                Ok(()) => Ok(()),
            }
        })
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [io::IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.io.poll_recv_ready(cx))?;
            let received = self.io.try_io(Interest::READABLE, || {
                self.state.recv((&self.io).into(), buffers, metas)
            });
            match received {
                Ok(count) => {
                    self.is_answered.store(true, Ordering::Relaxed);
                    return Poll::Ready(Ok(count));
                }
                Err(error) => self.note_error(&error),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }

    fn max_transmit_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.state.gro_segments()
    }
}

/// Waits for room to send. A socket has one connection, which waits for it.
#[derive(Debug)]
struct SendReadiness(Arc<QuicSocket>);

impl UdpPoller for SendReadiness {
    fn poll_writable(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.io.poll_send_ready(cx)
    }
}
