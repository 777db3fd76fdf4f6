//! Where a command that begins on a line ends, as far as its quotes tell.

use super::Dialect;

/// The end of the last line of the command that begins at `from`, without its line end; the end of the text
/// where a quote is never closed.
pub(super) fn end(text: &str, from: usize, dialect: Dialect) -> usize {
    let mut scanner = Scanner {
        text: text.as_bytes(),
        at: from,
    };
    match dialect {
        Dialect::Posix => scanner.posix(),
        Dialect::Cmd => scanner.cmd(),
        Dialect::PowerShell => scanner.powershell(),
    }
    let mut end = scanner.at.min(text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    end
}

/// The place behind the parenthesis that closes the one at `open`, as a POSIX shell reads what is between them.
pub(super) fn closing(text: &[u8], open: usize) -> Option<usize> {
    let mut scanner = Scanner { text, at: open };
    let mut depth = 0_usize;
    while let Some(byte) = scanner.peek(0) {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b'\\' | b'\'' | b'"' => {
                scanner.quoted(byte);
                continue;
            }
            _ => {}
        }
        scanner.at += 1;
        if depth == 0 {
            return Some(scanner.at);
        }
    }
    None
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    /// What an escape or a quote of a POSIX shell begins.
    fn quoted(&mut self, byte: u8) {
        let is_ansi = byte == b'\'' && self.at > 0 && self.text[self.at - 1] == b'$';
        self.at += 1;
        match byte {
            b'\\' => self.at += 1,
            b'\'' if !is_ansi => self.skip_past(b'\'', None),
            quote => self.skip_past(quote, Some(b'\\')),
        }
    }

    /// To behind `quote`, of which those after an escape are none.
    fn skip_past(&mut self, quote: u8, escape: Option<u8>) {
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            if byte == quote {
                return;
            }
            if Some(byte) == escape {
                self.at += 1;
            }
        }
    }

    fn posix(&mut self) {
        let mut heredocs: Vec<Vec<u8>> = Vec::new();
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\n' => {
                    for end in std::mem::take(&mut heredocs) {
                        self.heredoc(&end);
                    }
                    return;
                }
                b'\\' => {
                    // Also with blanks behind it, which web pages leave there.
                    let blanks = self.text[self.at + 1..]
                        .iter()
                        .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
                        .count();
                    let ends_line = self.peek(1 + blanks) == Some(b'\n');
                    self.at += if ends_line { blanks + 2 } else { 2 };
                }
                b'\'' | b'"' => self.quoted(byte),
                b'#' if self.begins_word() => {
                    while self.peek(0).is_some_and(|byte| byte != b'\n') {
                        self.at += 1;
                    }
                }
                b'<' if self.peek(1) == Some(b'<') && self.peek(2) != Some(b'<') => {
                    self.at += 2;
                    heredocs.extend(self.delimiter());
                }
                b'<' => {
                    while self.peek(0) == Some(b'<') {
                        self.at += 1;
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    fn begins_word(&self) -> bool {
        self.at == 0 || self.text[self.at - 1].is_ascii_whitespace()
    }

    /// The word that ends a here-document.
    fn delimiter(&mut self) -> Option<Vec<u8>> {
        while matches!(self.peek(0), Some(b'-' | b' ' | b'\t')) {
            self.at += 1;
        }
        let mut word = Vec::new();
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\'' | b'"' | b'\\' => {}
                byte if super::is_in_name(byte) => word.push(byte),
                _ => break,
            }
            self.at += 1;
        }
        (!word.is_empty()).then_some(word)
    }

    /// From the end of a line to that of the line that is `end`, or of the text where there is none.
    fn heredoc(&mut self, end: &[u8]) {
        let mut at = self.at + 1;
        while at <= self.text.len() {
            let rest = &self.text[at..];
            let length = rest.iter().position(|byte| *byte == b'\n');
            let line = &rest[..length.unwrap_or(rest.len())];
            let line = line.strip_prefix(b"> ").unwrap_or(line);
            if line.trim_ascii() == end {
                self.at = at + length.unwrap_or(rest.len());
                return;
            }
            at += length.unwrap_or(rest.len()) + 1;
        }
        self.at = self.text.len();
    }

    fn cmd(&mut self) {
        let mut is_quoted = false;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\n' => return,
                b'^' if !is_quoted => {
                    self.at += 1;
                    let is_return = self.peek(0) == Some(b'\r');
                    self.at += usize::from(is_return);
                    if self.peek(0) == Some(b'\n') {
                        // A line end that is kept comes as two.
                        self.at += 1;
                        while matches!(self.peek(0), Some(b'\r' | b'\n')) {
                            self.at += 1;
                        }
                        continue;
                    }
                }
                b'"' => is_quoted = !is_quoted,
                _ => {}
            }
            self.at += 1;
        }
    }

    fn powershell(&mut self) {
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            match byte {
                b'\n' => {
                    self.at -= 1;
                    return;
                }
                b'`' => {
                    self.at += usize::from(self.peek(0) == Some(b'\r'));
                    self.at += 1;
                }
                b'\'' => self.skip_past(b'\'', None),
                b'"' => self.skip_past(b'"', Some(b'`')),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_goes_on_while_its_quotes_are_open() {
        for (text, dialect) in [
            ("curl a", Dialect::Posix),
            ("curl a # it's", Dialect::Posix),
            ("curl a \\\n  -d 'b\nc' \\ \n d", Dialect::Posix),
            ("curl \"a\\\"\nb\" $'c\\'\nd'", Dialect::Posix),
            ("curl -d @- <<'EOF'\n$x\nEOF", Dialect::Posix),
            ("curl -d @- <<< 'a\nb'", Dialect::Posix),
            ("curl ^\"it's^\" ^\n  -H ^\"a^\"", Dialect::Cmd),
            ("curl ^\"a^\n\nb^\"", Dialect::Cmd),
            ("curl 'it''s\n' `\n \"a`\"\nb\"", Dialect::PowerShell),
        ] {
            for rest in ["", "\n", "\nit's {}\n"] {
                let whole = format!("{text}{rest}");
                assert_eq!(end(&whole, 0, dialect), text.len(), "{whole}");
            }
        }
        assert_eq!(end("curl 'a\nb", 0, Dialect::Posix), 9);
    }

    #[test]
    fn a_parenthesis_ends_where_a_shell_ends_it() {
        for (text, inside) in [
            ("$(a) b", "(a)"),
            ("$(a (b) ')' \")\" \\)) c", "(a (b) ')' \")\" \\))"),
        ] {
            assert_eq!(
                closing(text.as_bytes(), 1),
                Some(1 + inside.len()),
                "{text}"
            );
        }
        assert_eq!(closing(b"$(a ')'", 1), None);
    }
}
