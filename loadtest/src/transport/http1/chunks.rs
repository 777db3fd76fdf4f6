//! Bodies in chunks (RFC 9112, section 7.1).

use super::Error;
use bytes::Bytes;
use std::io::Write as _;
use std::ops::ControlFlow;

/// The position in a chunked body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chunks {
    /// Before the size of a chunk.
    Start,
    /// Within it.
    Size(u64),
    /// Within the blanks after it.
    Blank(u64),
    /// Within the rest of its line.
    Extension(u64),
    /// Before the end of that line.
    SizeEnd(u64),
    /// So much of the chunk is to come.
    Data(u64),
    /// Before the two bytes that end it.
    DataCr,
    DataLf,
    /// At the start of a line after the last chunk, within it, and before its end.
    Trailer,
    InTrailer,
    TrailerEnd,
    /// Before the last byte.
    End,
    Over,
}

const BAD_CHUNK_SIZE: Error = Error::Chunk("the size of a chunk is not a hexadecimal number");
const BAD_CHUNK_END: Error = Error::Chunk("a chunk is longer than it says");

impl Chunks {
    pub(super) fn is_over(self) -> bool {
        self == Self::Over
    }

    /// Passes on the data in `input`. How much of it was looked at, and whether more is wanted.
    pub(super) fn decode(
        &mut self,
        input: &[u8],
        take: &mut impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(usize, ControlFlow<()>), Error> {
        let mut at = 0;
        while at < input.len() && !self.is_over() {
            if let Self::Data(left) = self {
                let rest = &input[at..];
                let length = rest.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= length as u64;
                at += length;
                if *left == 0 {
                    *self = Self::DataCr;
                }
                if take(&rest[..length]).is_break() {
                    return Ok((at, ControlFlow::Break(())));
                }
                continue;
            }
            *self = self.next_state(input[at])?;
            at += 1;
        }
        Ok((at, ControlFlow::Continue(())))
    }

    /// Returns the position after a byte that is not data.
    fn next_state(self, byte: u8) -> Result<Self, Error> {
        Ok(match (self, byte) {
            (Self::Start, _) => Self::Size(hex_digit(byte).ok_or(BAD_CHUNK_SIZE)?),
            (Self::Size(size) | Self::Blank(size), b' ' | b'\t') => Self::Blank(size),
            (Self::Size(size) | Self::Blank(size), b';') => Self::Extension(size),
            (Self::Size(size) | Self::Blank(size) | Self::Extension(size), b'\r') => {
                Self::SizeEnd(size)
            }
            (Self::Size(size), _) => {
                let digit = hex_digit(byte).ok_or(BAD_CHUNK_SIZE)?;
                Self::Size(size.checked_mul(16).ok_or(BAD_CHUNK_SIZE)? | digit)
            }
            (Self::Extension(size), byte) if byte != b'\n' => Self::Extension(size),
            (Self::SizeEnd(0) | Self::TrailerEnd, b'\n') => Self::Trailer,
            (Self::SizeEnd(size), b'\n') => Self::Data(size),
            (Self::DataCr, b'\r') => Self::DataLf,
            (Self::DataLf, b'\n') => Self::Start,
            (Self::Trailer, b'\r') => Self::End,
            (Self::InTrailer, b'\r') => Self::TrailerEnd,
            (Self::Trailer | Self::InTrailer, _) => Self::InTrailer,
            (Self::End, b'\n') => Self::Over,
            (Self::DataCr | Self::DataLf, _) => return Err(BAD_CHUNK_END),
            _ => return Err(BAD_CHUNK_SIZE),
        })
    }
}

fn hex_digit(byte: u8) -> Option<u64> {
    char::from(byte).to_digit(16).map(u64::from)
}

/// Writes a body as one chunk.
pub(super) fn encode_chunked(body: &Bytes, out: &mut Vec<u8>) {
    // A vector takes everything.
    let _ = write!(out, "{:x}\r\n", body.len());
    out.extend_from_slice(body);
    out.extend_from_slice(b"\r\n0\r\n\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is decoded where the text comes in pieces of `piece` bytes, how much of it that took, and
    /// whether that was all.
    fn decode(text: &str, piece: usize) -> Result<(String, usize, bool), Error> {
        let mut chunks = Chunks::Start;
        let (mut data, mut used) = (Vec::new(), 0);
        for piece in text.as_bytes().chunks(piece) {
            let (length, _) = chunks.decode(piece, &mut |piece| {
                data.extend_from_slice(piece);
                ControlFlow::Continue(())
            })?;
            used += length;
        }
        Ok((String::from_utf8(data).unwrap(), used, chunks.is_over()))
    }

    #[test]
    fn chunks_are_put_together_wherever_they_were_cut() {
        let text = "5\r\nhello\r\n00A ;x=\"y\"\r\n, my world\r\n0\r\nx: y\r\nz: 1\r\n\r\n";
        for piece in 1..text.len() {
            let (data, used, is_over) = decode(&format!("{text}HTTP"), piece).unwrap();
            assert_eq!(
                (&*data, used, is_over),
                ("hello, my world", text.len(), true)
            );
        }
        assert_eq!(decode("5\r\nhel", 3).unwrap(), ("hel".to_owned(), 6, false));
        let mut written = Vec::new();
        encode_chunked(&Bytes::from_static(b"hello world, hello"), &mut written);
        let written = String::from_utf8(written).unwrap();
        assert_eq!(decode(&written, 2).unwrap().0, "hello world, hello");
    }

    #[test]
    fn what_is_no_chunk_is_refused() {
        for text in [
            "\r\n",
            "x\r\n",
            "5x\r\n",
            "5\n",
            "5;a\n",
            "5\r\r",
            "-1\r\n",
            "1\r\nab\r\n",
            "1\r\na\rb",
            "11111111111111111\r\n",
            "0\r\n\r\r",
        ] {
            assert!(decode(text, 1).is_err(), "{text:?}");
        }
    }
}
