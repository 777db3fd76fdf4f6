//! `permessage-deflate` (RFC 7692) without context takeover: each message is compressed for itself, so that a
//! connection holds no window.

use super::{MAX_MESSAGE, SocketError};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use std::cell::RefCell;

/// The end of a message, which is not sent.
const END: [u8; 4] = [0, 0, 0xff, 0xff];
/// A message may grow to so many times its compressed size.
const MAX_RATIO: usize = 250;
/// A message may always grow to this size: of a few bytes, any ratio is harmless.
const ALWAYS_PERMITTED: usize = 64 * 1024;
/// The size of one step of decompression.
const STEP: usize = 16 * 1024;

thread_local! {
    /// What all connections of a thread compress with.
    static COMPRESS: RefCell<Compress> = RefCell::new(Compress::new(Compression::default(), false));
    /// What they decompress with.
    static DECOMPRESS: RefCell<Decompress> = RefCell::new(Decompress::new(false));
}

/// Compresses a message.
pub(super) fn compress(message: &[u8]) -> Vec<u8> {
    COMPRESS.with_borrow_mut(|compress| {
        compress.reset();
        let mut out = Vec::with_capacity(message.len() / 2 + 64);
        loop {
            let rest = &message[compress.total_in() as usize..];
            // It fails where there is nothing left to do, and yields all that there is.
            let done = compress.compress_vec(rest, &mut out, FlushCompress::Sync);
            if done.is_err() || out.len() < out.capacity() {
                break;
            }
            out.reserve(out.len().max(STEP));
        }
        if out.ends_with(&END) {
            out.truncate(out.len() - END.len());
        }
        out
    })
}

/// Decompresses a message.
///
/// # Errors
/// It is not compressed, or grows too large.
pub(super) fn decompress(message: &[u8]) -> Result<Vec<u8>, SocketError> {
    let limit = MAX_MESSAGE.min(ALWAYS_PERMITTED.max(message.len().saturating_mul(MAX_RATIO)));
    DECOMPRESS.with_borrow_mut(|decompress| {
        decompress.reset(false);
        let mut out = Vec::with_capacity((message.len() * 3).clamp(256, STEP));
        for mut input in [message, &END] {
            loop {
                let before = decompress.total_in();
                let status = decompress
                    .decompress_vec(input, &mut out, FlushDecompress::Sync)
                    .map_err(|_| SocketError::protocol("a compressed message is broken"))?;
                if out.len() > MAX_MESSAGE {
                    return Err(SocketError::too_large());
                }
                if out.len() > limit {
                    return Err(SocketError::grows_too_large());
                }
                let used = (decompress.total_in() - before) as usize;
                input = &input[used..];
                if status == Status::StreamEnd {
                    // A block that says it is the last one may be followed by others.
                    decompress.reset(false);
                    if input.is_empty() {
                        break;
                    }
                } else if out.len() < out.capacity() {
                    if used == 0 && !input.is_empty() {
                        return Err(SocketError::protocol("a compressed message is broken"));
                    }
                    if input.is_empty() {
                        break;
                    }
                } else {
                    out.reserve(out.len().clamp(STEP, limit));
                }
            }
        }
        Ok(out)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadtest_model::metrics::ErrorKind;
    use proptest::prelude::*;

    #[test]
    fn the_examples_of_the_standard_are_read() {
        for example in [
            b"\xf2\x48\xcd\xc9\xc9\x07\x00".as_slice(),
            // Not compressed.
            b"\x00\x05\x00\xfa\xffHello\x00",
            // The last block says so.
            b"\xf3\x48\xcd\xc9\xc9\x07\x00\x00",
            // Two blocks.
            b"\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00",
        ] {
            assert_eq!(decompress(example).unwrap(), b"Hello", "{example:x?}");
        }
        assert_eq!(decompress(&compress(b"")).unwrap(), b"");
        assert_eq!(compress(b""), [0]);
    }

    #[test]
    fn each_message_is_compressed_for_itself() {
        assert_eq!(compress(b"Hello"), compress(b"Hello"));
        assert!(compress(&[b'a'; 10_000]).len() < 100);
    }

    #[test]
    fn a_message_that_grows_without_measure_is_refused() {
        let zeros = compress(&vec![0; 4 << 20]);
        assert!(zeros.len() * 250 < 4 << 20, "{}", zeros.len());
        let error = decompress(&zeros).unwrap_err();
        assert_eq!(error.kind, ErrorKind::WsTooLarge);
        assert_eq!(error.code, 1009);
        assert_eq!(
            error.words,
            "a message grows to more than 250 times its compressed size"
        );
    }

    #[test]
    fn what_is_not_compressed_is_refused() {
        for input in [b"\x07".as_slice(), b"\xff\xff\xff"] {
            let error = decompress(input).unwrap_err();
            assert_eq!(error.kind, ErrorKind::WsProtocol, "{input:x?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_was_compressed_is_read_back(
            message in prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..40_000),
                ("[ab]{1,9}", 1..9_000_usize).prop_map(|(text, times)| text.repeat(times).into_bytes()),
            ],
        ) {
            let compressed = compress(&message);
            prop_assume!(message.len() <= ALWAYS_PERMITTED.max(compressed.len() * MAX_RATIO));
            prop_assert_eq!(decompress(&compressed).unwrap(), message);
        }
    }
}
