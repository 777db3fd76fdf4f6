//! Words and pipes of a POSIX shell that hold any bytes, and can be pasted.
//!
//! What a terminal would act on - control characters, also those that turn the direction of writing -
//! is written as octal digits.

use std::fmt::Write as _;

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ShellPiece {
    /// These bytes.
    Plain(Vec<u8>),
    /// The value of this variable.
    Variable(String),
}

/// Returns bytes as a word of a POSIX shell, without a NUL, which no argument can hold.
pub fn quote_for_shell(bytes: &[u8]) -> String {
    shell_word(&[ShellPiece::Plain(bytes.to_vec())])
}

/// Returns a word for a POSIX shell. The pieces hold no NUL, which no argument can hold.
pub(super) fn shell_word(pieces: &[ShellPiece]) -> String {
    let mut word = ShellWord::default();
    for piece in pieces {
        match piece {
            ShellPiece::Plain(bytes) => word.add_bytes(bytes),
            ShellPiece::Variable(name) => {
                word.close_quote();
                let _ = write!(word.text, "\"${name}\"");
            }
        }
    }
    word.close_quote();
    if word.text.is_empty() {
        word.text.push_str("''");
    }
    word.text
}

/// A command that prints the bytes, whatever they are.
pub(super) fn printf_command(pieces: &[ShellPiece]) -> String {
    let commands: Vec<String> = pieces
        .iter()
        .map(|piece| match piece {
            ShellPiece::Plain(bytes) => {
                format!("printf '{}'", printf_format(bytes))
            }
            ShellPiece::Variable(name) => format!("printf %s \"${name}\""),
        })
        .collect();
    match commands.as_slice() {
        [one] => one.clone(),
        several => format!("{{ {}; }}", several.join("; ")),
    }
}

/// Returns whether a terminal shows all of the bytes, so that they can be part of a line.
pub(super) fn is_printable(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| text.chars().all(is_printable_char))
}

/// The bytes as a format of `printf`, between single quotes.
fn printf_format(bytes: &[u8]) -> String {
    let mut format = String::with_capacity(bytes.len());
    let add_octal = |format: &mut String, bytes: &[u8]| {
        for byte in bytes {
            format.push_str(&push_octal(*byte));
        }
    };
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\n' => format.push_str("\\n"),
                '\r' => format.push_str("\\r"),
                '\t' => format.push_str("\\t"),
                '\\' => format.push_str("\\\\"),
                '%' => format.push_str("%%"),
                // At the beginning it would be an option.
                '-' if format.is_empty() => add_octal(&mut format, b"-"),
                letter if is_printable_char(letter) && letter != '\'' => format.push(letter),
                letter => add_octal(&mut format, letter.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        add_octal(&mut format, chunk.invalid());
    }
    format
}

fn push_octal(byte: u8) -> String {
    format!("\\{byte:03o}")
}

/// A word that is being written.
#[derive(Default)]
struct ShellWord {
    text: String,
    inside: OpenQuote,
}

/// The quote that is open at its end.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum OpenQuote {
    #[default]
    Nothing,
    Quotes,
    Printf,
}

impl ShellWord {
    fn add_bytes(&mut self, bytes: &[u8]) {
        for chunk in bytes.utf8_chunks() {
            for letter in chunk.valid().chars() {
                let mut buffer = [0; 4];
                let letter_bytes = letter.encode_utf8(&mut buffer).as_bytes();
                match letter {
                    '\'' => {
                        self.close_quote();
                        self.text.push_str("\\'");
                    }
                    _ if is_printable_char(letter) => {
                        self.open_quote(OpenQuote::Quotes);
                        self.text.push(letter);
                    }
                    _ => self.add_octal(letter_bytes),
                }
            }
            self.add_octal(chunk.invalid());
        }
    }

    fn add_octal(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.open_quote(OpenQuote::Printf);
            self.text.push_str(&push_octal(*byte));
        }
    }

    fn open_quote(&mut self, inside: OpenQuote) {
        if self.inside != inside {
            self.close_quote();
            self.text.push_str(match inside {
                OpenQuote::Nothing => "",
                OpenQuote::Quotes => "'",
                OpenQuote::Printf => "\"$(printf '",
            });
            self.inside = inside;
        }
    }

    fn close_quote(&mut self) {
        self.text.push_str(match self.inside {
            OpenQuote::Nothing => "",
            OpenQuote::Quotes => "'",
            OpenQuote::Printf => "')\"",
        });
        self.inside = OpenQuote::Nothing;
    }
}

/// Returns whether a terminal just shows a letter. A line end counts as shown.
fn is_printable_char(letter: char) -> bool {
    let turns = matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    letter == '\n' || !(letter.is_control() || turns)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    /// What a shell makes of `line`, which gets `secret` as `$SECRET`.
    fn shell(line: &str, secret: &str) -> Vec<u8> {
        let output = Command::new("sh")
            .args(["-c", line])
            .env("SECRET", secret)
            .output()
            .expect("a shell");
        assert!(output.status.success(), "{line}: {output:?}");
        output.stdout
    }

    fn pieces(before: &[u8], after: &[u8]) -> [ShellPiece; 3] {
        [
            ShellPiece::Plain(before.to_vec()),
            ShellPiece::Variable("SECRET".to_owned()),
            ShellPiece::Plain(after.to_vec()),
        ]
    }

    #[test]
    fn words_are_quoted_as_people_do() {
        let plain = |text: &str| shell_word(&[ShellPiece::Plain(text.into())]);
        assert_eq!(plain("a b"), "'a b'");
        assert_eq!(plain("it's"), r"'it'\''s'");
        assert_eq!(plain(""), "''");
        assert_eq!(
            plain("a\tb\r\n"),
            "'a'\"$(printf '\\011')\"'b'\"$(printf '\\015')\"'\n'"
        );
        assert_eq!(
            shell_word(&pieces(b"Bearer ", b"")),
            r#"'Bearer '"$SECRET""#
        );
        assert!(plain("a\u{202e}b").is_ascii());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn a_shell_reads_a_word_as_it_was(
            before in proptest::collection::vec(1_u8.., 0..24),
            text in "[ -~\\n\\t\\r\u{202e}é'\"$`!\\\\]{0,12}",
            secret in "[ -~]{0,8}",
        ) {
            let line = format!("printf %s {}", shell_word(&pieces(&before, text.as_bytes())));
            let whole = [&before, secret.as_bytes(), text.as_bytes()].concat();
            prop_assert_eq!(shell(&line, &secret), whole);
        }

        #[test]
        fn a_shell_prints_any_bytes(
            before in proptest::collection::vec(any::<u8>(), 0..48),
            secret in "[ -~]{0,8}",
        ) {
            let whole = [&before, secret.as_bytes(), &before].concat();
            prop_assert_eq!(shell(&printf_command(&pieces(&before, &before)), &secret), whole);
        }
    }
}
