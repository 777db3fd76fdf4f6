//! Reads the body of a response: keeps, counts or drains it.

use super::compression::Encoding;
use super::connection::{Connection, Error};
use super::{Failure, hop};
use crate::{redact, secrets};
use bytes::Bytes;
use loadtest_model::redacted::Redacted;
use std::ops::ControlFlow;

/// The largest body that is kept to be decoded.
pub(super) const MAX_KEPT_BODY: u64 = 16 * 1024 * 1024;
/// The most of an unexpected response that is read; beyond it the connection is closed instead.
pub(super) const MAX_DRAINED_BODY: u64 = 1024 * 1024;
/// The most of an unexpected response that is kept, and of any body that a test shows.
pub(crate) const MAX_SAMPLE: usize = 1024;

/// The reason why a body was not kept.
pub(super) enum UnreadBody {
    /// It is larger than [`MAX_KEPT_BODY`].
    TooLarge,
    /// It broke off.
    Broken(Error),
    /// It is no stream as the step wants it.
    Stream(Failure),
}

/// The most memory that is reserved for a body in advance.
const MAX_RESERVED: u64 = 1024 * 1024;

/// Keeps the body.
pub(super) async fn read_kept(connection: &mut Connection) -> Result<Bytes, UnreadBody> {
    let announced = connection.announced();
    if announced > MAX_KEPT_BODY {
        return Err(UnreadBody::TooLarge);
    }
    let mut whole = Vec::new();
    let read = connection.body(|data| {
        if (whole.len() + data.len()) as u64 > MAX_KEPT_BODY {
            return ControlFlow::Break(());
        }
        if whole.capacity() == 0 {
            whole.reserve_exact((announced.min(MAX_RESERVED) as usize).max(data.len()));
        }
        whole.extend_from_slice(data);
        ControlFlow::Continue(())
    });
    if read.await.map_err(UnreadBody::Broken)? {
        Ok(whole.into())
    } else {
        Err(UnreadBody::TooLarge)
    }
}

/// Reads the body to its end and keeps nothing.
pub(super) async fn drain_body(connection: &mut Connection) -> Result<(), Error> {
    let read = connection.body(|_| ControlFlow::Continue(()));
    read.await.map(drop)
}

/// Reads the body to its end and keeps what is shown of it.
pub(super) async fn read_excerpt(connection: &mut Connection) -> Result<Bytes, Error> {
    let limit = hop::hop_read_limit();
    let mut kept = Vec::new();
    let read = connection.body(|data| {
        kept.extend_from_slice(&data[..data.len().min(limit - kept.len())]);
        ControlFlow::Continue(())
    });
    read.await?;
    Ok(kept.into())
}

/// Reads an unexpected answer for its first `limit` bytes, and says whether the end was reached.
pub(super) async fn read_sample(connection: &mut Connection, limit: usize) -> (Vec<u8>, bool) {
    let mut kept = Vec::new();
    let mut read = 0;
    let complete = connection.body(|data| {
        let wanted = data.len().min(limit - kept.len());
        kept.extend_from_slice(&data[..wanted]);
        read += data.len() as u64;
        if read > MAX_DRAINED_BODY {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    let complete = complete.await.unwrap_or(false);
    (kept, complete)
}

/// Returns how much of an unexpected response is read for a sample. It is more if a secret may lie across its
/// end.
pub(super) fn sample_read_limit() -> usize {
    MAX_SAMPLE + secrets::lookahead_len()
}

/// Returns the start of a whole body, as it may be shown.
pub(crate) fn sample_of_body(body: &[u8]) -> Option<Redacted> {
    let start = &body[..body.len().min(sample_read_limit())];
    sample_text(start.to_vec(), &Encoding::NONE)
}

/// The text of a sample: never longer than [`MAX_SAMPLE`], whatever redaction and repair add.
pub(super) fn sample_text(mut kept: Vec<u8>, encoding: &Encoding) -> Option<Redacted> {
    let most = sample_read_limit();
    kept.truncate(most);
    let is_cut = kept.len() == most;
    let Some(mut kept) = encoding.excerpt(kept, most) else {
        return Some(Redacted::assume(format!(
            "(encoded as {})",
            encoding.names()
        )));
    };
    kept.truncate(secrets::safe_cut(&kept, MAX_SAMPLE, is_cut));
    if kept.is_empty() {
        return None;
    }
    let text = String::from_utf8_lossy(&kept);
    // A character cut in two by the limit is left out, not shown as a replacement.
    let text = match text.strip_suffix('\u{fffd}') {
        Some(whole) if kept.len() == MAX_SAMPLE => whole,
        _ => &text,
    };
    let text = redact::redact(text);
    let mut end = text.len().min(MAX_SAMPLE);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Some(Redacted::assume(&text[..end]))
}
