//! Messages that several rows expect.

pub(crate) const BAD_CHUNK_SIZE: &str =
    "the chunked body is broken: the size of a chunk is not a hexadecimal number";
pub(crate) const CLOSED_EARLY: &str =
    "the server closed the new connection before the head of the answer";
pub(crate) const CONNECTION_ERROR: &str =
    "the answer is not HTTP/2: connection error detected: unspecific protocol error detected";
pub(crate) const CUT_BODY: &str = "the body ended early: the connection was closed before the end";
pub(crate) const INVALID_HEADER: &str = "the answer is not HTTP/1.1: invalid header";
pub(crate) const INVALID_LENGTH: &str = "the answer is not HTTP/1.1: invalid content-length";
pub(crate) const INVALID_STATUS: &str = "the answer is not HTTP/1.1: invalid status";
pub(crate) const LARGE_HEAD: &str =
    "the head of the answer has more than 64 KiB or more than 100 headers";
pub(crate) const MANY_REDIRECTS: &str = "another redirect after 2; `redirects = 2` allows no more";
pub(crate) const NOT_HTTP_1: &str = "the answer is not HTTP/1.1: invalid HTTP version; a target that only speaks HTTP/2 needs `http = 2`, a target with TLS `https://`";
pub(crate) const RESET_EARLY: &str = "the connection was reset before the head of the answer";
pub(crate) const STREAM_ERROR: &str =
    "the answer is not HTTP/2: stream error detected: unspecific protocol error detected";
