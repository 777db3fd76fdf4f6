//! `$'..'` and its escapes, which are those of C.

use super::never_closed;
use super::reader::ShellReader;
use crate::import::source::Mistake;

impl ShellReader<'_, '_> {
    pub(super) fn read_ansi_quotes(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
        let open = self.at;
        self.at += 2;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            match byte {
                b'\'' => return Ok(()),
                b'\\' => self.read_escape(text)?,
                byte => text.push(byte),
            }
        }
        Err(never_closed(open..open + 2))
    }

    fn read_escape(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
        let start = self.at - 1;
        let kind = self.peek(0).unwrap_or_default();
        self.at += 1;
        let byte = match kind {
            b'a' => Some(0x07),
            b'b' => Some(0x08),
            b'e' | b'E' => Some(0x1b),
            b'f' => Some(0x0c),
            b'n' => Some(b'\n'),
            b'r' => Some(b'\r'),
            b't' => Some(b'\t'),
            b'v' => Some(0x0b),
            b'\\' | b'\'' | b'"' | b'?' => Some(kind),
            b'0'..=b'7' => {
                self.at -= 1;
                let number = self.read_digits(8, 3);
                number.and_then(|number| u8::try_from(number & 0xff).ok())
            }
            b'x' => {
                let number = self.read_digits(16, 2);
                number.and_then(|number| u8::try_from(number).ok())
            }
            b'u' => {
                let letter = self.read_letter();
                text.extend(
                    letter
                        .into_iter()
                        .flat_map(|letter| letter.to_string().into_bytes()),
                );
                if letter.is_some_and(|letter| letter != '\0') {
                    return Ok(());
                }
                None
            }
            _ => None,
        };
        // A shell keeps no NUL, and nothing that follows it.
        let byte = byte.filter(|byte| *byte > 0);
        let mistake = || {
            let end = self.at.min(self.text.len());
            Mistake::new(start..end, "this escape is not imported").help("write the letter itself")
        };
        text.push(byte.ok_or_else(mistake)?);
        Ok(())
    }

    /// Reads the digits of `\u`; browsers write a letter beyond the first 65,536 as two halves.
    fn read_letter(&mut self) -> Option<char> {
        let mut number = self.read_digits(16, 4)?;
        if (0xd800..0xdc00).contains(&number) && self.rest(0).starts_with(b"\\u") {
            self.at += 2;
            let low = self.read_digits(16, 4)?.checked_sub(0xdc00)?;
            number = 0x1_0000 + ((number - 0xd800) << 10) + low;
        }
        char::from_u32(number)
    }

    /// Reads a number of at most `most` digits.
    fn read_digits(&mut self, base: u32, most: usize) -> Option<u32> {
        let digits = self.rest(0).iter().take(most);
        let digits = digits.map_while(|byte| char::from(*byte).to_digit(base));
        let (count, number) = digits.fold((0, 0), |(count, number), digit| {
            (count + 1, number * base + digit)
        });
        self.at += count;
        (count > 0).then_some(number)
    }
}
