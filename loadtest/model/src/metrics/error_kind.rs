//! The kinds of failures: a closed list, each with a stable name.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! error_kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// The kind of a failure. The names are stable; `local.*`, `generator.*` and `guard.*` are
        /// the generator's own and never blamed on the target.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl ErrorKind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The stable name: `connect.refused`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

error_kinds! {
    /// The answer has a status that the step does not expect.
    Status = "status",
    /// The name of the host does not exist, or has no address.
    DnsNxdomain = "dns.nxdomain",
    /// The system waited for an answer of the name servers, and gave up.
    DnsTimeout = "dns.timeout",
    /// The name servers cannot be reached, or refuse to answer.
    DnsUnreachable = "dns.unreachable",
    /// Nothing listens at the address.
    ConnectRefused = "connect.refused",
    /// The system waited for an answer of the address, and gave up.
    ConnectTimeout = "connect.timeout",
    /// There is no route to the address.
    ConnectUnreachable = "connect.unreachable",
    /// The system waited for an answer within the TLS handshake, and gave up.
    TlsTimeout = "tls.timeout",
    /// No trusted authority signed the certificate.
    TlsUntrusted = "tls.untrusted",
    /// The certificate is for another name.
    TlsName = "tls.name",
    /// The certificate is not valid at this time.
    TlsExpired = "tls.expired",
    /// The handshake failed otherwise.
    TlsProtocol = "tls.protocol",
    /// The request was reset before the head of the answer: its stream, or over HTTP/1.1 its connection.
    ResetBeforeHead = "reset.before_head",
    /// The request was reset within the body.
    ResetInBody = "reset.in_body",
    /// A new connection was closed before the head of the answer.
    ClosedFresh = "closed.fresh",
    /// A used connection that had rested ended as the request was sent, and the request could not be repeated.
    ClosedReused = "closed.reused",
    /// A used connection was closed before the head of the answer, while the target had the request.
    ClosedBeforeHead = "closed.before_head",
    /// The head is not HTTP.
    HeadMalformed = "head.malformed",
    /// The head is larger than the limit.
    HeadTooLarge = "head.too_large",
    /// The body ended early.
    BodyTruncated = "body.truncated",
    /// The chunked encoding of the body is broken.
    BodyBadChunk = "body.bad_chunk",
    /// The body is larger than the limit for decoded bodies.
    BodyTooLarge = "body.too_large",
    /// The body cannot be read into the type of the step.
    BodyDecode = "body.decode",
    /// The compressed body grows beyond the limit.
    BodyRatio = "body.ratio",
    /// Redirects without end.
    RedirectLoop = "redirect.loop",
    /// A redirect to where nothing may be sent.
    RedirectBlocked = "redirect.blocked",
    /// A redirect without a usable `Location`.
    RedirectBadLocation = "redirect.bad_location",
    /// No connection before the deadline: no address, no answer of it, or no end of the TLS handshake.
    TimeoutConnect = "timeout.connect",
    /// No head of an answer before the deadline.
    TimeoutHead = "timeout.head",
    /// The target stopped reading the request, and had not taken all of it at the deadline.
    TimeoutIdle = "timeout.idle",
    /// The answer began but was not complete before the deadline.
    TimeoutTotal = "timeout.total",
    /// Nothing came of a stream for as long as it may be silent.
    TimeoutEvent = "timeout.event",
    /// A stream ended, in order, without the event that is its end.
    StreamUnfinished = "stream.unfinished",
    /// An event of a stream says that the service failed.
    StreamError = "stream.error",
    /// A WebSocket was closed while something was waited for, or when a message was to be sent.
    WsClosed = "ws.closed",
    /// The target broke the rules of WebSockets.
    WsProtocol = "ws.protocol",
    /// A message of a WebSocket is larger than the limit, or grows beyond it.
    WsTooLarge = "ws.too_large",
    /// The target does not read what is sent over a WebSocket, and more waits for it than is kept.
    WsUnread = "ws.unread",
    /// A gRPC call ended with another status than `OK`.
    GrpcStatus = "grpc.status",
    /// The answer of a GraphQL server has errors.
    GraphqlErrors = "graphql.errors",
    /// What `vu.measure(..)` measured returned an error of no other kind.
    OpError = "op.error",
    /// The function of the step panicked.
    StepPanic = "step.panic",
    /// The function of the step made an invalid request, or an `async` step returned an error.
    StepError = "step.error",
    /// A check failed.
    StepAssert = "step.assert",
    /// The generator has no free port.
    LocalPorts = "local.ports",
    /// The generator has no free file descriptor.
    LocalFds = "local.fds",
    /// The generator has no memory.
    LocalMemory = "local.memory",
    /// The generator has no disk space.
    LocalDisk = "local.disk",
    /// Reserved: the card judges late starts, with the validity of the run.
    GeneratorLate = "generator.late",
    /// The generator could not start an iteration.
    GeneratorDropped = "generator.dropped",
    /// The address is not one that may be tested; nothing was sent.
    GuardBlocked = "guard.blocked",
}

impl ErrorKind {
    /// The kind of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Returns true for a fault of the generator itself.
    pub fn is_ours(self) -> bool {
        ["local.", "generator.", "guard."]
            .iter()
            .any(|prefix| self.name().starts_with(prefix))
    }

    /// Returns true if the request ended at its deadline.
    pub const fn is_timeout(self) -> bool {
        matches!(
            self,
            Self::TimeoutConnect
                | Self::TimeoutHead
                | Self::TimeoutIdle
                | Self::TimeoutTotal
                | Self::TimeoutEvent
        )
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
