//! `$'..'` and its escapes, which are those of C.

use super::never_closed;
use super::reader::ShellReader;
use crate::source::Mistake;

/// Letters behind a backslash, each with what it stands for.
const LETTERS: &[u8] = b"a\x07b\x08e\x1bE\x1bf\x0cn\nr\rt\tv\x0b";

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
                self.at -= 2;
                let letters = self
                    .read_letters()
                    .filter(|letters| !letters.contains('\0'));
                let mistake = || self.unknown_escape(start);
                text.extend(letters.ok_or_else(mistake)?.into_bytes());
                return Ok(());
            }
            _ => {
                let mut letters = LETTERS.chunks(2).filter(|pair| pair[0] == kind);
                letters.next().map(|pair| pair[1])
            }
        };
        // A shell keeps no NUL, and nothing that follows it.
        let byte = byte.filter(|byte| *byte > 0);
        text.push(byte.ok_or_else(|| self.unknown_escape(start))?);
        Ok(())
    }

    fn unknown_escape(&self, start: usize) -> Mistake {
        let span = start..self.text.len().min(start + 2);
        Mistake::new(span, "this escape is not imported").help("write the letter itself")
    }

    /// Reads all `\u` here; browsers write a letter beyond the first 65,536 as two.
    fn read_letters(&mut self) -> Option<String> {
        let mut units = Vec::new();
        while self.rest(0).starts_with(b"\\u") {
            self.at += 2;
            units.push(u16::try_from(self.read_digits(16, 4)?).ok()?);
        }
        String::from_utf16(&units).ok()
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
