//! Reads the body of an answer: kept, counted, or drained.

use super::compression::Encoding;
use super::hop;
use crate::redact;
use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;

/// The largest body that is kept to be decoded.
pub(super) const MAX_KEPT: u64 = 16 * 1024 * 1024;
/// How much of an unexpected answer is read before the connection is given up instead.
const MAX_DRAINED: u64 = 1024 * 1024;
/// How much of an unexpected answer is kept.
pub(super) const SAMPLE: usize = 1024;

/// Why a body was not kept.
pub(super) enum Unread {
    /// It is larger than [`MAX_KEPT`].
    TooLarge,
    /// It broke off.
    Broken(hyper::Error),
}

/// Keeps the body. One that arrived in one piece is not copied.
pub(super) async fn keep(mut body: Incoming) -> Result<Bytes, Unread> {
    let announced = body.size_hint().lower();
    if announced > MAX_KEPT {
        return Err(Unread::TooLarge);
    }
    let mut first = Bytes::new();
    while first.is_empty() {
        match next(&mut body).await.map_err(Unread::Broken)? {
            Some(data) => first = data,
            None => return Ok(first),
        }
    }
    let mut whole = BytesMut::new();
    while let Some(data) = next(&mut body).await.map_err(Unread::Broken)? {
        if (first.len() + whole.len() + data.len()) as u64 > MAX_KEPT {
            return Err(Unread::TooLarge);
        }
        if whole.is_empty() {
            whole.reserve((announced as usize).max(2 * first.len()));
            whole.extend_from_slice(&std::mem::take(&mut first));
        }
        whole.extend_from_slice(&data);
    }
    Ok(if whole.is_empty() {
        first
    } else {
        whole.freeze()
    })
}

/// Reads the body to its end and keeps nothing.
pub(super) async fn discard(mut body: Incoming) -> Result<(), hyper::Error> {
    while next(&mut body).await?.is_some() {}
    Ok(())
}

/// Reads the body to its end and keeps what is shown of it.
pub(super) async fn start(mut body: Incoming) -> Result<Bytes, hyper::Error> {
    let limit = hop::SHOWN + 1;
    let mut kept = BytesMut::new();
    while let Some(data) = next(&mut body).await? {
        kept.extend_from_slice(&data[..data.len().min(limit - kept.len())]);
    }
    Ok(kept.freeze())
}

/// Reads an unexpected answer for its first `limit` bytes, and says whether the end was reached.
pub(super) async fn sample(mut body: Incoming, limit: usize) -> (Vec<u8>, bool) {
    let mut kept = Vec::new();
    let mut read = 0;
    let complete = loop {
        match next(&mut body).await {
            Ok(None) => break true,
            Ok(Some(data)) => {
                let wanted = data.len().min(limit - kept.len());
                kept.extend_from_slice(&data[..wanted]);
                read += data.len() as u64;
                if read > MAX_DRAINED {
                    break false;
                }
            }
            Err(_) => break false,
        }
    };
    (kept, complete)
}

/// The text of a sample: never longer than [`SAMPLE`], whatever redaction and repair add.
pub(super) fn text(mut kept: Vec<u8>, encoding: &Encoding) -> Option<String> {
    kept.truncate(SAMPLE);
    let Some(kept) = encoding.excerpt(kept, SAMPLE) else {
        return Some(format!("(encoded as {})", encoding.names()));
    };
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

/// The next data of the body; trailers are passed over.
async fn next(body: &mut Incoming) -> Result<Option<Bytes>, hyper::Error> {
    while !body.is_end_stream() {
        match body.frame().await {
            None => return Ok(None),
            Some(frame) => {
                if let Ok(data) = frame?.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
    Ok(None)
}
