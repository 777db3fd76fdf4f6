//! Undoes the compression of a body, bounded in size and in growth.

use super::body::MAX_KEPT_BODY;
use super::{ErrorKind, Failure};
use bytes::Bytes;
use flate2::bufread::{DeflateDecoder, GzDecoder, MultiGzDecoder, ZlibDecoder};
use http::header::CONTENT_ENCODING;
use http::{HeaderMap, HeaderValue};
use std::io::{self, BufRead, Read};

/// The encodings that a request asks for if the body is read.
pub(super) const ACCEPTED_ENCODINGS: HeaderValue = HeaderValue::from_static("gzip, deflate");

/// The codings that change a body. Servers also name what is none, such as `none` and `utf-8`: such a body is read as it
/// is, as browsers do.
const CODINGS: [&str; 7] = [
    "gzip",
    "x-gzip",
    "deflate",
    "br",
    "zstd",
    "compress",
    "x-compress",
];

/// The largest growth of a body by decompression; DEFLATE can reach 1032.
const MAX_GROWTH: usize = 250;
/// The first bytes of `gzip` data.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Below this size the growth does not matter.
const UNCHECKED_SIZE: usize = 1024 * 1024;

/// The encodings of a body in the order of application; `None` for an unencoded one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Encoding(Option<String>);

impl Encoding {
    /// Not encoded.
    pub(super) const NONE: Self = Self(None);

    /// Reads the encoding from the headers of a response.
    pub(super) fn from_headers(headers: &HeaderMap) -> Self {
        if !headers.contains_key(CONTENT_ENCODING) {
            return Self(None);
        }
        let names: Vec<String> = headers
            .get_all(CONTENT_ENCODING)
            .iter()
            .flat_map(|value| {
                let text = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
                text.split(',')
                    .map(|name| name.trim().to_owned())
                    .collect::<Vec<_>>()
            })
            .filter(|name| CODINGS.contains(&&**name))
            .collect();
        Self((!names.is_empty()).then(|| names.join(", ")))
    }

    /// The body as it was before it was encoded, if it was.
    pub(super) fn decode(&self, body: &[u8]) -> Result<Option<Bytes>, Failure> {
        let Some(names) = &self.0 else {
            return Ok(None);
        };
        let mut plain: Option<Vec<u8>> = None;
        for name in names.rsplit(", ") {
            let body = plain.as_deref().unwrap_or(body);
            if body.is_empty() {
                break;
            }
            plain = Some(decode_step(name, body)?);
        }
        Ok(plain.map(Bytes::from))
    }

    /// The start of the body whose first bytes are `body`; `None` where it cannot be read.
    pub(super) fn excerpt(&self, body: Vec<u8>, length: usize) -> Option<Vec<u8>> {
        let Some(names) = &self.0 else {
            return Some(body);
        };
        let mut bytes = body;
        for name in names.rsplit(", ") {
            let mut start = Vec::new();
            let mut decoder = make_decoder(name, &bytes)?.take(length as u64);
            // It breaks off where only the start is there.
            let mut piece = [0; 256];
            while let Ok(count @ 1..) = decoder.read(&mut piece) {
                start.extend_from_slice(&piece[..count]);
            }
            bytes = start;
        }
        Some(bytes)
    }

    /// Returns whether the body is encoded.
    pub(super) fn is_compressed(&self) -> bool {
        self.0.is_some()
    }

    /// The names, for people.
    pub(super) fn names(&self) -> &str {
        self.0.as_deref().unwrap_or("identity")
    }
}

/// A decoder that knows how much of its input is left.
enum CountingDecoder<'a> {
    Gzip(MultiGzDecoder<&'a [u8]>),
    Zlib(ZlibDecoder<&'a [u8]>),
    Deflate(DeflateDecoder<&'a [u8]>),
}

impl CountingDecoder<'_> {
    fn bytes_left(&self) -> usize {
        match self {
            Self::Gzip(decoder) => decoder.get_ref().len(),
            Self::Zlib(decoder) => decoder.get_ref().len(),
            Self::Deflate(decoder) => decoder.get_ref().len(),
        }
    }
}

impl Read for CountingDecoder<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Gzip(decoder) => decoder.read(buf),
            Self::Zlib(decoder) => decoder.read(buf),
            Self::Deflate(decoder) => decoder.read(buf),
        }
    }
}

fn make_decoder<'a>(name: &str, mut body: &'a [u8]) -> Option<CountingDecoder<'a>> {
    match name {
        "gzip" | "x-gzip" => Some(CountingDecoder::Gzip(MultiGzDecoder::new(body))),
        // Meant is the zlib format (RFC 9110, section 8.4.1.2), but some servers send it bare.
        "deflate" => {
            let start = body.fill_buf().unwrap_or_default();
            let is_zlib = match start {
                [first, second, ..] => {
                    first & 0x0f == 8 && u16::from_be_bytes([*first, *second]) % 31 == 0
                }
                _ => true,
            };
            Some(if is_zlib {
                CountingDecoder::Zlib(ZlibDecoder::new(body))
            } else {
                CountingDecoder::Deflate(DeflateDecoder::new(body))
            })
        }
        _ => None,
    }
}

fn decode_step(name: &str, body: &[u8]) -> Result<Vec<u8>, Failure> {
    if name.ends_with("gzip") && !body.starts_with(&GZIP_MAGIC) {
        return Err(Failure::new(
            ErrorKind::BodyDecode,
            format!("the body is not `{name}` data, though its `content-encoding` says so"),
        ));
    }
    let mut decoder = make_decoder(name, body).ok_or_else(|| {
        Failure::new(
            ErrorKind::BodyDecode,
            format!(
                "the body is encoded as `{name}`, which was not requested and cannot be decoded"
            ),
        )
    })?;
    let mut plain = Vec::with_capacity(body.len().saturating_mul(4).min(UNCHECKED_SIZE));
    let mut piece = vec![0; 16 * 1024];
    loop {
        match decoder.read(&mut piece) {
            Ok(0) => return Ok(plain),
            Ok(count) => plain.extend_from_slice(&piece[..count]),
            Err(error) => {
                let message = match error.kind() {
                    _ if name.ends_with("gzip") && has_bytes_after_gzip(body) => {
                        format!("the body has other bytes after its `{name}` data")
                    }
                    io::ErrorKind::UnexpectedEof => {
                        format!("the `{name}` data of the body ends early")
                    }
                    _ => format!("the body is not valid `{name}` data: {error}"),
                };
                return Err(Failure::new(ErrorKind::BodyDecode, message));
            }
        }
        let read = body.len() - decoder.bytes_left();
        if plain.len() > UNCHECKED_SIZE && plain.len() / MAX_GROWTH > read {
            return Err(Failure::new(
                ErrorKind::BodyRatio,
                format!(
                    "the `{name}` data of the body grows to more than {MAX_GROWTH} times its size"
                ),
            ));
        }
        if plain.len() as u64 > MAX_KEPT_BODY {
            return Err(Failure::new(
                ErrorKind::BodyTooLarge,
                format!(
                    "the decoded body is larger than {} MiB",
                    MAX_KEPT_BODY >> 20
                ),
            ));
        }
    }
}

/// Returns true if whole `gzip` data begins `body`, and what follows is none.
fn has_bytes_after_gzip(body: &[u8]) -> bool {
    let mut rest = body;
    while rest.starts_with(&GZIP_MAGIC) {
        let mut decoder = GzDecoder::new(rest);
        if io::copy(&mut decoder, &mut io::sink()).is_err() {
            return false;
        }
        rest = decoder.into_inner();
    }
    rest.len() < body.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use http::HeaderValue;
    use proptest::prelude::*;
    use std::io::Write as _;

    fn encoded(name: &str, body: &[u8]) -> Vec<u8> {
        let level = Compression::default();
        match name {
            "gzip" => {
                let mut encoder = GzEncoder::new(Vec::new(), level);
                encoder.write_all(body).unwrap();
                encoder.finish().unwrap()
            }
            "zlib" => {
                let mut encoder = ZlibEncoder::new(Vec::new(), level);
                encoder.write_all(body).unwrap();
                encoder.finish().unwrap()
            }
            _ => {
                let mut encoder = DeflateEncoder::new(Vec::new(), level);
                encoder.write_all(body).unwrap();
                encoder.finish().unwrap()
            }
        }
    }

    fn encoding(names: &[&'static str]) -> Encoding {
        let mut headers = HeaderMap::new();
        for name in names {
            headers.append(CONTENT_ENCODING, HeaderValue::from_static(name));
        }
        Encoding::from_headers(&headers)
    }

    fn decode(names: &[&'static str], body: Vec<u8>) -> Result<Bytes, ErrorKind> {
        match encoding(names).decode(&body) {
            Ok(plain) => Ok(plain.unwrap_or(body.into())),
            Err(failure) => Err(failure.kind),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_encoding_is_undone(body in proptest::collection::vec(any::<u8>(), 1..2000)) {
            for (names, bytes) in [
                (&["gzip"], encoded("gzip", &body)),
                (&["X-GZip"], encoded("gzip", &body)),
                (&["deflate"], encoded("zlib", &body)),
                (&["deflate"], encoded("deflate", &body)),
                (&["identity"], body.clone()),
                (&["none"], body.clone()),
                (&["UTF-8, gzip"], encoded("gzip", &body)),
                (&["deflate, gzip"], encoded("gzip", &encoded("zlib", &body))),
            ] {
                prop_assert_eq!(decode(names, bytes).unwrap(), &body);
            }
            let twice = encoded("gzip", &encoded("zlib", &body));
            prop_assert_eq!(decode(&["deflate", "gzip"], twice).unwrap(), &body);
        }

        #[test]
        fn a_cut_body_is_never_taken_for_a_whole_one(
            body in proptest::collection::vec(any::<u8>(), 1..500),
            cut in 1_usize..1000,
        ) {
            let whole = encoded("gzip", &body);
            let cut = cut.min(whole.len() - 1);
            prop_assert_eq!(decode(&["gzip"], whole[..whole.len() - cut].to_vec()), Err(ErrorKind::BodyDecode));
        }
    }

    #[test]
    fn a_body_may_neither_explode_nor_be_unknown() {
        let bomb = encoded("gzip", &vec![0; 4 * UNCHECKED_SIZE]);
        assert_eq!(decode(&["gzip"], bomb), Err(ErrorKind::BodyRatio));
        let small = vec![0; UNCHECKED_SIZE];
        assert_eq!(decode(&["gzip"], encoded("gzip", &small)).unwrap(), small);
        // Noise that repeats: it is large without growing to more than a hundred times its size.
        let noise: Vec<u8> = (0..1024_u32)
            .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
            .collect();
        let noise = noise.repeat(17 << 10);
        assert_eq!(
            decode(&["gzip"], encoded("gzip", &noise)),
            Err(ErrorKind::BodyTooLarge)
        );
        let failure = encoding(&["br"]).decode(b"x").unwrap_err();
        assert_eq!(failure.kind, ErrorKind::BodyDecode);
        assert!(failure.message.contains("`br`"), "{}", failure.message);
        assert_eq!(
            decode(&["br"], Vec::new()).unwrap(),
            "",
            "no body, no encoding"
        );
        let failure = encoding(&["gzip"]).decode(b"plain").unwrap_err();
        assert_eq!(failure.kind, ErrorKind::BodyDecode);
        assert!(
            failure.message.contains("not `gzip` data"),
            "{}",
            failure.message
        );
    }

    #[test]
    fn the_start_of_a_cut_body_is_readable() {
        let text: Vec<u8> = (0..5000_u32)
            .flat_map(|i| i.to_string().into_bytes())
            .collect();
        let cut = encoded("gzip", &text)[..1024].to_vec();
        let start = encoding(&["gzip"]).excerpt(cut, 1024).unwrap();
        assert_eq!(start, text[..1024]);
        assert_eq!(encoding(&["br"]).excerpt(vec![1], 1024), None);
    }
}
