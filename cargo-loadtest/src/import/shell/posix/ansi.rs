//! `$'..'` and its escapes, which are those of C.

use crate::import::shell::never_closed;
use crate::import::shell::reader::ShellReader;
use crate::import::source::Mistake;

impl ShellReader<'_, '_> {
    pub(super) fn read_ansi_quotes(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
        let open = self.at;
        self.at += 2;
        let mut inside = Vec::new();
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            match byte {
                b'\'' => {
                    // A shell keeps no NUL, and nothing that follows it.
                    let kept = inside.split(|byte| *byte == 0).next();
                    text.extend_from_slice(kept.unwrap_or_default());
                    return Ok(());
                }
                b'\\' => self.read_escape(&mut inside),
                byte => inside.push(byte),
            }
        }
        Err(never_closed(open..open + 2))
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
                        let letter = char::from_u32(self.join_surrogates(number));
                        let letter = letter.unwrap_or(char::REPLACEMENT_CHARACTER);
                        text.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
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
