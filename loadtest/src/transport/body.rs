//! Reads the body of an answer: kept, counted, or drained.

use super::compression::Encoding;
use super::connection::{Connection, Error};
use super::hop;
use crate::{redact, secrets};
use bytes::Bytes;
use std::ops::ControlFlow;

/// The largest body that is kept to be decoded.
pub(super) const MAX_KEPT: u64 = 16 * 1024 * 1024;
/// How much of an unexpected answer is read before the connection is given up instead.
const MAX_DRAINED: u64 = 1024 * 1024;
/// How much of an unexpected answer is kept.
const SAMPLE: usize = 1024;

/// Why a body was not kept.
pub(super) enum Unread {
    /// It is larger than [`MAX_KEPT`].
    TooLarge,
    /// It broke off.
    Broken(Error),
}

/// How much memory a body gets before it is there.
const RESERVED: u64 = 1024 * 1024;

/// Keeps the body.
pub(super) async fn keep(connection: &mut Connection) -> Result<Bytes, Unread> {
    let announced = connection.announced();
    if announced > MAX_KEPT {
        return Err(Unread::TooLarge);
    }
    let mut whole = Vec::new();
    let read = connection.body(|data| {
        if (whole.len() + data.len()) as u64 > MAX_KEPT {
            return ControlFlow::Break(());
        }
        if whole.capacity() == 0 {
            whole.reserve_exact((announced.min(RESERVED) as usize).max(data.len()));
        }
        whole.extend_from_slice(data);
        ControlFlow::Continue(())
    });
    if read.await.map_err(Unread::Broken)? {
        Ok(whole.into())
    } else {
        Err(Unread::TooLarge)
    }
}

/// Reads the body to its end and keeps nothing.
pub(super) async fn discard(connection: &mut Connection) -> Result<(), Error> {
    let read = connection.body(|_| ControlFlow::Continue(()));
    read.await.map(drop)
}

/// Reads the body to its end and keeps what is shown of it.
pub(super) async fn start(connection: &mut Connection) -> Result<Bytes, Error> {
    let limit = hop::read();
    let mut kept = Vec::new();
    let read = connection.body(|data| {
        kept.extend_from_slice(&data[..data.len().min(limit - kept.len())]);
        ControlFlow::Continue(())
    });
    read.await?;
    Ok(kept.into())
}

/// Reads an unexpected answer for its first `limit` bytes, and says whether the end was reached.
pub(super) async fn sample(connection: &mut Connection, limit: usize) -> (Vec<u8>, bool) {
    let mut kept = Vec::new();
    let mut read = 0;
    let complete = connection.body(|data| {
        let wanted = data.len().min(limit - kept.len());
        kept.extend_from_slice(&data[..wanted]);
        read += data.len() as u64;
        if read > MAX_DRAINED {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    let complete = complete.await.unwrap_or(false);
    (kept, complete)
}

/// How much of an unexpected answer is read for a sample: where a secret lies across its end, all of that.
pub(super) fn sampled() -> usize {
    SAMPLE + secrets::slack()
}

/// The text of a sample: never longer than [`SAMPLE`], whatever redaction and repair add.
pub(super) fn text(mut kept: Vec<u8>, encoding: &Encoding) -> Option<String> {
    let most = sampled();
    kept.truncate(most);
    let is_cut = kept.len() == most;
    let Some(mut kept) = encoding.excerpt(kept, most) else {
        return Some(format!("(encoded as {})", encoding.names()));
    };
    kept.truncate(secrets::cut(&kept, SAMPLE, is_cut));
    if kept.is_empty() {
        return None;
    }
    let text = String::from_utf8_lossy(&kept);
    // A character cut in two by the limit is left out, not shown as a replacement.
    let text = match text.strip_suffix('\u{fffd}') {
        Some(whole) if kept.len() == SAMPLE => whole,
        _ => &text,
    };
    let mut text = redact::text(text).into_owned();
    let mut end = text.len().min(SAMPLE);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    Some(text)
}
