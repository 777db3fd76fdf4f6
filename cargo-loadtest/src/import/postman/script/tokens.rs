//! The words and signs of JavaScript, as far as they have to be told apart.

/// A word, a sign, or a value that is written out.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A name or a keyword.
    Word(String),
    /// A string, its escapes resolved.
    Text(String),
    /// What is between backticks, as it is written.
    Template(String),
    /// As it is written.
    Number(String),
    /// A sign of the language.
    Sign(&'static str),
    /// A regular expression, or what is not understood.
    Other,
}

/// Longer ones first.
const SIGNS: [&str; 51] = [
    ">>>=", "...", "===", "!==", "**=", "<<=", ">>=", ">>>", "&&=", "||=", "??=", "=>", "==", "!=",
    "<=", ">=", "&&", "||", "??", "?.", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
    "**", "<<", ">>", "{", "}", "(", ")", "[", "]", ".", ";", ",", "<", ">", "+", "-", "*", "/",
    "%", "=", "?",
];
const SINGLE: [&str; 5] = [":", "!", "&", "|", "^"];

/// Reads a script; what is broken ends it early, and nothing fails.
pub(super) fn read(script: &str) -> Vec<Token> {
    let mut reader = Reader {
        rest: script,
        tokens: Vec::new(),
    };
    while reader.next() {}
    reader.tokens
}

struct Reader<'s> {
    rest: &'s str,
    tokens: Vec<Token>,
}

impl Reader<'_> {
    fn next(&mut self) -> bool {
        self.rest = self.rest.trim_start();
        let Some(first) = self.rest.chars().next() else {
            return false;
        };
        if self.rest.starts_with("//") {
            self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
        } else if let Some(rest) = self.rest.strip_prefix("/*") {
            self.rest = rest.split_once("*/").map_or("", |(_, rest)| rest);
        } else if matches!(first, '"' | '\'' | '`') {
            self.quoted(first);
        } else if first.is_ascii_digit() {
            let number = self.take(|letter| letter.is_ascii_alphanumeric() || letter == '.');
            self.tokens.push(Token::Number(number));
        } else if first.is_alphabetic() || matches!(first, '_' | '$' | '#' | '@') {
            let word = self.take(|letter| letter.is_alphanumeric() || "_$#@".contains(letter));
            self.tokens.push(Token::Word(word));
        } else if first == '/' && self.begins_value() {
            self.regular_expression();
        } else {
            self.sign(first);
        }
        true
    }

    fn take(&mut self, belongs: impl Fn(char) -> bool) -> String {
        let end = self.rest.find(|letter| !belongs(letter));
        let (taken, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        taken.to_owned()
    }

    /// Whether a value can begin here, so that a slash is no division.
    fn begins_value(&self) -> bool {
        match self.tokens.last() {
            None => true,
            Some(Token::Sign(sign)) => !matches!(*sign, ")" | "]" | "}"),
            Some(Token::Word(word)) => word == "return",
            Some(_) => false,
        }
    }

    fn quoted(&mut self, quote: char) {
        let mut text = String::new();
        let mut letters = self.rest.char_indices().skip(1).peekable();
        let mut end = self.rest.len();
        while let Some((at, letter)) = letters.next() {
            if letter == quote {
                end = at + 1;
                break;
            }
            if letter == '\n' && quote != '`' {
                end = at;
                break;
            }
            if letter != '\\' {
                text.push(letter);
                continue;
            }
            let Some((at, escaped)) = letters.next() else {
                break;
            };
            match escaped {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'r' => text.push('\r'),
                '\n' => {}
                'u' | 'x' => {
                    let digits = if escaped == 'u' { 4 } else { 2 };
                    let code = self.rest.get(at + 1..at + 1 + digits);
                    let letter = code
                        .and_then(|code| u32::from_str_radix(code, 16).ok())
                        .and_then(char::from_u32);
                    if let Some(letter) = letter {
                        text.push(letter);
                        letters.by_ref().take(digits).for_each(drop);
                    }
                }
                other => text.push(other),
            }
        }
        self.rest = &self.rest[end..];
        self.tokens.push(if quote == '`' {
            Token::Template(text)
        } else {
            Token::Text(text)
        });
    }

    fn regular_expression(&mut self) {
        let mut is_class = false;
        let mut is_escaped = false;
        let end = self.rest.char_indices().skip(1).find(|(_, letter)| {
            if std::mem::take(&mut is_escaped) {
                return *letter == '\n';
            }
            match letter {
                '\\' => is_escaped = true,
                '[' => is_class = true,
                ']' => is_class = false,
                '/' => return !is_class,
                '\n' => return true,
                _ => {}
            }
            false
        });
        self.rest = end.map_or("", |(at, _)| &self.rest[at + 1..]);
        self.take(|letter| letter.is_ascii_lowercase());
        self.tokens.push(Token::Other);
    }

    fn sign(&mut self, first: char) {
        let mut signs = SIGNS.iter().chain(&SINGLE);
        if let Some(sign) = signs.find(|sign| self.rest.starts_with(**sign)) {
            self.rest = &self.rest[sign.len()..];
            self.tokens.push(Token::Sign(sign));
        } else {
            self.rest = &self.rest[first.len_utf8()..];
            self.tokens.push(Token::Other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_read_word_by_word() {
        let tokens = read("a?.b = 'x\\'\\u0041' /* c */ + /[/]\\//g // d\n1.5>>>=`e${f}`;é ☃");
        let word = |word: &str| Token::Word(word.to_owned());
        assert_eq!(
            tokens,
            [
                word("a"),
                Token::Sign("?."),
                word("b"),
                Token::Sign("="),
                Token::Text("x'A".to_owned()),
                Token::Sign("+"),
                Token::Other,
                Token::Number("1.5".to_owned()),
                Token::Sign(">>>="),
                Token::Template("e${f}".to_owned()),
                Token::Sign(";"),
                word("é"),
                Token::Other,
            ]
        );
    }

    #[test]
    fn what_is_broken_ends() {
        for script in ["'", "\"\\", "`\\u12", "/*", "/[", "/\\", "'\\x", "\u{0}"] {
            read(script);
        }
    }
}
