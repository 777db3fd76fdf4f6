//! `$'..'` and its escapes, which are those of C.

use super::Reader;
use crate::import::shell::unclosed;
use crate::import::source::Mistake;

impl Reader<'_, '_> {
    pub(super) fn read_ansi_quotes(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
        let open = self.at;
        self.at += 2;
        let mut ended_by_nul = false;
        let mut inside = Vec::new();
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            match byte {
                b'\'' => {
                    text.extend(inside);
                    return Ok(());
                }
                b'\\' => {
                    let from = inside.len();
                    self.read_escape(&mut inside);
                    // A shell keeps no NUL, and nothing that follows it.
                    if inside[from..].contains(&0) {
                        inside.truncate(from);
                        ended_by_nul = true;
                    } else if ended_by_nul {
                        inside.truncate(from);
                    }
                }
                _ if ended_by_nul => {}
                byte => inside.push(byte),
            }
        }
        Err(unclosed(open..open + 2))
    }

    fn read_escape(&mut self, text: &mut Vec<u8>) {
        let Some(byte) = self.peek(0) else { return };
        self.at += 1;
        let plain = match byte {
            b'a' => 0x07,
            b'b' => 0x08,
            b'e' | b'E' => 0x1b,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0b,
            b'\\' | b'\'' | b'"' | b'?' => byte,
            b'0'..=b'7' => {
                self.at -= 1;
                let (number, _) = self.read_digits(8, 3);
                text.push((number & 0xff) as u8);
                return;
            }
            b'x' => {
                match self.read_digits(16, 2) {
                    (_, 0) => text.extend_from_slice(b"\\x"),
                    (number, _) => text.push(number as u8),
                }
                return;
            }
            b'u' | b'U' => {
                let most = if byte == b'u' { 4 } else { 8 };
                match self.read_digits(16, most) {
                    (_, 0) => text.extend_from_slice(&[b'\\', byte]),
                    (number, _) => {
                        let number = self.join_surrogates(number);
                        text.extend(encode_utf8(number));
                    }
                }
                return;
            }
            b'c' => match self.peek(0) {
                Some(next) => {
                    self.at += 1;
                    next.to_ascii_uppercase() & 0x1f
                }
                None => b'c',
            },
            other => {
                text.extend_from_slice(&[b'\\', other]);
                return;
            }
        };
        text.push(plain);
    }

    /// Joins the two halves of a letter beyond the first 65,536, as browsers write it.
    fn join_surrogates(&mut self, high: u32) -> u32 {
        if !(0xd800..0xdc00).contains(&high) || !self.text[self.at..].starts_with(b"\\u") {
            return high;
        }
        let before = self.at;
        self.at += 2;
        if let (low @ 0xdc00..=0xdfff, 4) = self.read_digits(16, 4) {
            return 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        }
        self.at = before;
        high
    }

    /// Reads a number of at most `most` digits; also returns the count of them.
    fn read_digits(&mut self, base: u32, most: usize) -> (u32, usize) {
        let mut number: u32 = 0;
        let mut count = 0;
        while count < most
            && let Some(digit) = self
                .peek(0)
                .and_then(|byte| char::from(byte).to_digit(base))
        {
            number = number.wrapping_mul(base).wrapping_add(digit);
            self.at += 1;
            count += 1;
        }
        (number, count)
    }
}

/// Encodes a number as UTF-8, also one that is no character.
fn encode_utf8(number: u32) -> Vec<u8> {
    if let Some(letter) = char::from_u32(number) {
        return letter.to_string().into_bytes();
    }
    let tail = |shift: u32| 0x80 | (number >> shift & 0x3f) as u8;
    match number {
        0..=0xffff => vec![0xe0 | (number >> 12) as u8, tail(6), tail(0)],
        _ => char::REPLACEMENT_CHARACTER.to_string().into_bytes(),
    }
}
