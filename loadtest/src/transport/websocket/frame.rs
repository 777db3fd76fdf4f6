//! The frames of a WebSocket (RFC 6455), read and written without I/O.

use super::{MAX_MESSAGE, SocketError};
use bytes::Bytes;
use loadtest_model::metrics::ErrorKind;
use std::hash::{BuildHasher as _, RandomState};

/// The largest head of a frame that a server sends: two bytes and a length of eight.
const MAX_FRAME_HEAD: usize = 10;
/// The largest payload of a control frame.
pub(super) const MAX_CONTROL: usize = 125;
/// The length that stands for one of two bytes.
const MEDIUM: u8 = 126;
/// The length that stands for one of eight bytes.
const LONG: u8 = 127;
/// The most of a message that is reserved before any of it has come.
const MAX_RESERVED: usize = 64 * 1024;

/// The kinds of frames that a client writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opcode {
    Text = 1,
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

/// Something whole that the server sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Received {
    Message {
        is_text: bool,
        data: Bytes,
    },
    Ping(Bytes),
    Pong(Bytes),
    /// The code, if it says one, and the reason.
    Close(Option<u16>, String),
}

/// Reads frames as they come, in pieces of any size.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    /// The head of the next frame, as far as it is there.
    head: [u8; MAX_FRAME_HEAD],
    head_length: usize,
    /// The frame whose payload is read.
    frame: Option<OpenFrame>,
    /// The message whose fragments are read.
    message: Option<OpenMessage>,
    /// The payload of a control frame, which may come between fragments.
    control: Vec<u8>,
    /// Whether messages may be compressed.
    takes_compressed: bool,
}

#[derive(Debug)]
struct OpenFrame {
    kind: FrameKind,
    is_final: bool,
    /// What is left of the payload.
    left: usize,
}

#[derive(Debug, Clone, Copy)]
enum FrameKind {
    /// A message, or a fragment of one.
    Data,
    Control(Opcode),
}

#[derive(Debug)]
struct OpenMessage {
    is_text: bool,
    is_compressed: bool,
    data: Vec<u8>,
    /// The length of the part that is known to be UTF-8.
    checked: usize,
}

impl FrameReader {
    /// A reader of messages that may be compressed where that was agreed on.
    pub(super) fn new(takes_compressed: bool) -> Self {
        Self {
            takes_compressed,
            ..Self::default()
        }
    }

    /// Reads from `input`, of which the part that was read is cut off, up to the end of a message or of a control
    /// frame; `None` where there is no such end.
    ///
    /// # Errors
    /// What the server did wrong. Nothing more can be read then.
    pub(super) fn read(&mut self, input: &mut &[u8]) -> Result<Option<Received>, SocketError> {
        loop {
            let Some(frame) = &mut self.frame else {
                if !self.read_head(input)? {
                    return Ok(None);
                }
                continue;
            };
            let (payload, rest) = input.split_at(frame.left.min(input.len()));
            *input = rest;
            frame.left -= payload.len();
            let is_whole = frame.left == 0;
            let (kind, is_final) = (frame.kind, frame.is_final);
            if is_whole {
                self.frame = None;
            }
            match kind {
                FrameKind::Control(opcode) => {
                    self.control.extend_from_slice(payload);
                    if is_whole {
                        let payload = std::mem::take(&mut self.control);
                        return finish_control(opcode, payload).map(Some);
                    }
                }
                FrameKind::Data => {
                    if let Some(message) = &mut self.message {
                        message.append(payload)?;
                    }
                    if is_whole
                        && is_final
                        && let Some(message) = self.message.take()
                    {
                        return message.finish().map(Some);
                    }
                }
            }
            if !is_whole {
                return Ok(None);
            }
        }
    }

    /// Reads the head of a frame; whether it is there as a whole.
    fn read_head(&mut self, input: &mut &[u8]) -> Result<bool, SocketError> {
        loop {
            let wanted = match (self.head_length, self.head[1] & 0x7f) {
                (..2, _) => 2,
                (_, MEDIUM) => 4,
                (_, LONG) => MAX_FRAME_HEAD,
                _ => 2,
            };
            if self.head_length >= wanted {
                break;
            }
            let taken = (wanted - self.head_length).min(input.len());
            if taken == 0 {
                return Ok(false);
            }
            let (start, rest) = input.split_at(taken);
            *input = rest;
            self.head[self.head_length..][..taken].copy_from_slice(start);
            self.head_length += taken;
        }
        self.head_length = 0;
        let length = match self.head[1] & 0x7f {
            MEDIUM => u64::from(u16::from_be_bytes([self.head[2], self.head[3]])),
            LONG => {
                let mut length = [0; 8];
                length.copy_from_slice(&self.head[2..]);
                u64::from_be_bytes(length)
            }
            short => u64::from(short),
        };
        self.open_frame(length)?;
        Ok(true)
    }

    /// Checks the head of a frame with `length` bytes of payload, and begins to read these.
    fn open_frame(&mut self, length: u64) -> Result<(), SocketError> {
        let [first, second, ..] = self.head;
        let (is_final, opcode) = (first & 0x80 > 0, first & 0x0f);
        let is_compressed = first & 0x40 > 0;
        if first & 0x30 > 0 || is_compressed && !self.takes_compressed {
            return Err(broken("a frame has a reserved bit set"));
        }
        if second & 0x80 > 0 {
            return Err(broken("a frame of the server is masked"));
        }
        let kind = match opcode {
            0..=2 => FrameKind::Data,
            8 => FrameKind::Control(Opcode::Close),
            9 => FrameKind::Control(Opcode::Ping),
            10 => FrameKind::Control(Opcode::Pong),
            _ => {
                return Err(SocketError::protocol(format!(
                    "a frame has the unknown opcode {opcode}"
                )));
            }
        };
        match (kind, &self.message) {
            (FrameKind::Control(_), _) => {
                if length > MAX_CONTROL as u64 {
                    return Err(broken("a control frame is longer than 125 bytes"));
                }
                if !is_final || is_compressed {
                    return Err(broken("a control frame is fragmented or compressed"));
                }
            }
            (FrameKind::Data, None) if opcode == 0 => {
                return Err(broken("a frame continues a message that was not started"));
            }
            (FrameKind::Data, Some(_)) if opcode > 0 => {
                return Err(broken("a message starts within another"));
            }
            (FrameKind::Data, Some(_)) if is_compressed => {
                return Err(broken("a frame has a reserved bit set"));
            }
            (FrameKind::Data, _) => {}
        }
        let kept = self.message.as_ref().map_or(0, |open| open.data.len());
        let left = usize::try_from(length).unwrap_or(usize::MAX);
        if left > MAX_MESSAGE.saturating_sub(kept) {
            return Err(SocketError::too_large());
        }
        if matches!(kind, FrameKind::Data) {
            let message = self.message.get_or_insert_with(|| OpenMessage {
                is_text: opcode == 1,
                is_compressed,
                data: Vec::new(),
                checked: 0,
            });
            message.data.reserve_exact(left.min(MAX_RESERVED));
        }
        self.frame = Some(OpenFrame {
            kind,
            is_final,
            left,
        });
        Ok(())
    }
}

impl OpenMessage {
    fn append(&mut self, payload: &[u8]) -> Result<(), SocketError> {
        self.data.extend_from_slice(payload);
        if self.is_text && !self.is_compressed {
            // A character may go on in the next piece.
            let unchecked = &self.data[self.checked..];
            self.checked += match std::str::from_utf8(unchecked) {
                Ok(text) => text.len(),
                Err(error) if error.error_len().is_none() => error.valid_up_to(),
                Err(_) => return Err(SocketError::invalid_text()),
            };
        }
        Ok(())
    }

    fn finish(self) -> Result<Received, SocketError> {
        let is_text = self.is_text;
        let data = if self.is_compressed {
            let data = super::deflate::decompress(&self.data)?;
            if is_text && std::str::from_utf8(&data).is_err() {
                return Err(SocketError::invalid_text());
            }
            data
        } else {
            if is_text && self.checked < self.data.len() {
                return Err(SocketError::invalid_text());
            }
            self.data
        };
        Ok(Received::Message {
            is_text,
            data: data.into(),
        })
    }
}

fn finish_control(opcode: Opcode, payload: Vec<u8>) -> Result<Received, SocketError> {
    match opcode {
        Opcode::Ping => Ok(Received::Ping(payload.into())),
        Opcode::Close => read_close(&payload),
        _ => Ok(Received::Pong(payload.into())),
    }
}

/// Reads the payload of a close frame.
fn read_close(payload: &[u8]) -> Result<Received, SocketError> {
    let (code, reason) = match payload {
        [] => (None, [].as_slice()),
        [_] => return Err(broken("a close frame has half a code")),
        [high, low, reason @ ..] => (Some(u16::from_be_bytes([*high, *low])), reason),
    };
    if let Some(code) = code
        && !is_sent_code(code)
    {
        return Err(SocketError::protocol(format!(
            "a close frame has the code {code}, which is never sent"
        )));
    }
    let reason = std::str::from_utf8(reason).map_err(|_| SocketError::invalid_text())?;
    Ok(Received::Close(code, reason.to_owned()))
}

/// Returns whether a close frame may have the code (RFC 6455, section 7.4, and the registry of codes).
pub(crate) fn is_sent_code(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

fn broken(words: &'static str) -> SocketError {
    SocketError {
        kind: ErrorKind::WsProtocol,
        words: words.into(),
        code: 1002,
    }
}

/// Appends a frame with all of a message, or a control frame, masked with `mask`.
pub(super) fn write_frame(
    out: &mut Vec<u8>,
    opcode: Opcode,
    is_compressed: bool,
    payload: &[u8],
    mask: [u8; 4],
) {
    let compressed = if is_compressed { 0x40 } else { 0 };
    out.push(0x80 | compressed | opcode as u8);
    let length = payload.len();
    match length {
        0..=125 => out.push(0x80 | length as u8),
        126..=0xffff => {
            out.push(0x80 | MEDIUM);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            out.push(0x80 | LONG);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&mask);
    let begin = out.len();
    out.extend_from_slice(payload);
    apply_mask(&mut out[begin..], mask);
}

/// Appends a close frame.
pub(super) fn write_close(out: &mut Vec<u8>, code: u16, mask: [u8; 4]) {
    // 1005 stands for no code.
    let code = code.to_be_bytes();
    let payload = if code == 1005_u16.to_be_bytes() {
        &[]
    } else {
        code.as_slice()
    };
    write_frame(out, Opcode::Close, false, payload, mask);
}

fn apply_mask(payload: &mut [u8], mask: [u8; 4]) {
    let [a, b, c, d] = mask;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (words, rest) = payload.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
    }
    for (byte, mask) in rest.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
}

/// Random bits for masks and keys, which are no part of what a seed decides.
pub(super) fn random_bits() -> u64 {
    use std::cell::Cell;
    thread_local! {
        static STATE: Cell<u64> = Cell::new(RandomState::new().hash_one(0));
    }
    let next = STATE.get().wrapping_add(loadtest_model::random::GOLDEN);
    STATE.set(next);
    loadtest_model::random::mix_bits(next)
}

/// A new mask.
pub(super) fn random_mask() -> [u8; 4] {
    (random_bits() as u32).to_ne_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(reader: &mut FrameReader, mut input: &[u8]) -> Result<Vec<Received>, SocketError> {
        let mut all = Vec::new();
        while let Some(received) = reader.read(&mut input)? {
            all.push(received);
        }
        assert!(input.is_empty());
        Ok(all)
    }

    fn read(input: &[u8]) -> Result<Vec<Received>, SocketError> {
        read_all(&mut FrameReader::new(false), input)
    }

    fn text(text: &str) -> Received {
        Received::Message {
            is_text: true,
            data: Bytes::copy_from_slice(text.as_bytes()),
        }
    }

    fn refusal(input: &[u8]) -> (ErrorKind, String, u16) {
        let error = read(input).unwrap_err();
        (error.kind, error.words.into_owned(), error.code)
    }

    #[test]
    fn the_examples_of_the_standard_are_read_and_written() {
        assert_eq!(read(b"\x81\x05Hello").unwrap(), [text("Hello")]);
        assert_eq!(read(b"\x01\x03Hel\x80\x02lo").unwrap(), [text("Hello")]);
        assert_eq!(
            read(b"\x89\x05Hello").unwrap(),
            [Received::Ping("Hello".into())]
        );
        let mut out = Vec::new();
        let mask = [0x37, 0xfa, 0x21, 0x3d];
        write_frame(&mut out, Opcode::Text, false, b"Hello", mask);
        assert_eq!(out, b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
    }

    #[test]
    fn control_frames_come_between_the_fragments_of_a_message() {
        let input = b"\x01\x01a\x89\x02hi\x00\x01b\x8a\x00\x80\x01c\x88\x04\x03\xe8by";
        assert_eq!(
            read(input).unwrap(),
            [
                Received::Ping("hi".into()),
                Received::Pong(Bytes::new()),
                text("abc"),
                Received::Close(Some(1000), "by".to_owned()),
            ]
        );
    }

    #[test]
    fn lengths_have_three_forms() {
        for length in [0, 1, 125, 126, 127, 128, 0xffff, 0x1_0000, 0x1_0001] {
            let payload = vec![7; length];
            let mut out = Vec::new();
            write_frame(&mut out, Opcode::Binary, false, &payload, [0; 4]);
            // As a server would write it.
            let head = out.len() - 4 - length;
            out.drain(head..head + 4);
            out[1] &= 0x7f;
            let data = payload.into();
            let message = Received::Message {
                is_text: false,
                data,
            };
            assert_eq!(read(&out).unwrap(), [message], "{length}");
        }
    }

    #[test]
    fn each_mistake_of_a_server_has_its_words() {
        for (input, words) in [
            (b"\xc1\x00".as_slice(), "a frame has a reserved bit set"),
            (b"\xa1\x00", "a frame has a reserved bit set"),
            (b"\x91\x00", "a frame has a reserved bit set"),
            (b"\x81\x80", "a frame of the server is masked"),
            (b"\x83\x00", "a frame has the unknown opcode 3"),
            (b"\x8f\x00", "a frame has the unknown opcode 15"),
            (
                b"\x89\x7e\x00\x7e",
                "a control frame is longer than 125 bytes",
            ),
            (b"\x09\x00", "a control frame is fragmented or compressed"),
            (
                b"\x80\x00",
                "a frame continues a message that was not started",
            ),
            (b"\x01\x00\x81\x00", "a message starts within another"),
            (b"\x88\x01\x03", "a close frame has half a code"),
            (
                b"\x88\x02\x03\xed",
                "a close frame has the code 1005, which is never sent",
            ),
            (
                b"\x88\x02\x00\x00",
                "a close frame has the code 0, which is never sent",
            ),
        ] {
            let wanted = (ErrorKind::WsProtocol, words.to_owned(), 1002);
            assert_eq!(refusal(input), wanted, "{input:x?}");
        }
        let mut compressing = FrameReader::new(true);
        let error = read_all(&mut compressing, b"\x01\x00\xc0\x00").unwrap_err();
        assert_eq!(error.words, "a frame has a reserved bit set");
        let mut compressing = FrameReader::new(true);
        let error = read_all(&mut compressing, b"\xc9\x00").unwrap_err();
        assert_eq!(error.words, "a control frame is fragmented or compressed");
    }

    #[test]
    fn a_text_is_refused_at_its_first_byte_that_is_none() {
        let is_invalid = |input: &[u8]| {
            let (kind, words, code) = refusal(input);
            assert_eq!((kind, code), (ErrorKind::WsProtocol, 1007));
            assert_eq!(words, "a text is not UTF-8");
        };
        is_invalid(b"\x81\x01\xff");
        // The rest of the message has not come.
        is_invalid(b"\x01\x7e\x10\x00\xc3(");
        // It ends within a character.
        is_invalid(b"\x81\x02\xe2\x82");
        is_invalid(b"\x88\x03\x03\xe8\xff");
        assert_eq!(
            read(b"\x01\x01\xe2\x00\x01\x82\x80\x01\xac").unwrap(),
            [text("\u{20ac}")]
        );
    }

    #[test]
    fn a_message_has_at_most_16_mib_however_it_is_cut() {
        let (kind, words, code) = refusal(b"\x82\x7f\x00\x00\x00\x00\x40\x00\x00\x00");
        assert_eq!((kind, code), (ErrorKind::WsTooLarge, 1009));
        assert_eq!(words, "a message is larger than 16 MiB");
        let (kind, ..) = refusal(b"\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff");
        assert_eq!(kind, ErrorKind::WsTooLarge);
        let mut reader = FrameReader::new(false);
        let mut fragment = b"\x02\x7f\x00\x00\x00\x00\x01\x00\x00\x00".to_vec();
        fragment.resize(fragment.len() + MAX_MESSAGE, 0);
        assert_eq!(read_all(&mut reader, &fragment).unwrap(), []);
        assert_eq!(read_all(&mut reader, b"\x00\x00").unwrap(), []);
        let error = read_all(&mut reader, b"\x80\x01").unwrap_err();
        assert_eq!(error.kind, ErrorKind::WsTooLarge);
    }

    #[test]
    fn a_close_frame_may_be_empty() {
        assert_eq!(
            read(b"\x88\x00").unwrap(),
            [Received::Close(None, String::new())]
        );
    }

    #[test]
    fn a_resting_reader_is_small() {
        let size = size_of::<FrameReader>();
        assert!(size <= 160, "{size} bytes");
    }
}
