//! Tokens of JavaScript, as far as the idioms of scripts need them.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'s> {
    /// A name or a keyword.
    Word(&'s str),
    /// A string without escapes and placeholders.
    Text(&'s str),
    Number(&'s str),
    Sign(char),
    /// A string with escapes or placeholders, a regular expression, or a sign that is not known.
    Other,
}

/// Splits a script into tokens; a broken one ends early.
pub(super) fn split_tokens(script: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = script.trim_start();
    while let Some(first) = rest.chars().next() {
        let (length, token) = if rest.starts_with("//") {
            (rest.find('\n').unwrap_or(rest.len()), None)
        } else if rest.starts_with("/*") {
            (rest.find("*/").map_or(rest.len(), |end| end + 2), None)
        } else if matches!(first, '"' | '\'' | '`') {
            let (length, token) = read_quoted(rest, first);
            (length, Some(token))
        } else if first == '/' && begins_value(tokens.last()) {
            (read_quoted(rest, '/').0, Some(Token::Other))
        } else if first.is_ascii_digit() {
            let is_end = |letter: char| !letter.is_ascii_alphanumeric() && letter != '.';
            let length = rest.find(is_end).unwrap_or(rest.len());
            (length, Some(Token::Number(&rest[..length])))
        } else if first.is_alphabetic() || matches!(first, '_' | '$') {
            let is_end = |letter: char| !letter.is_alphanumeric() && !matches!(letter, '_' | '$');
            let length = rest.find(is_end).unwrap_or(rest.len());
            (length, Some(Token::Word(&rest[..length])))
        } else if first.is_ascii_punctuation() {
            (1, Some(Token::Sign(first)))
        } else {
            (first.len_utf8(), Some(Token::Other))
        };
        tokens.extend(token);
        rest = rest[length..].trim_start();
    }
    tokens
}

/// Whether a value can begin behind a token, so that a slash is not a division.
fn begins_value(before: Option<&Token<'_>>) -> bool {
    match before {
        None | Some(Token::Word("return")) => true,
        Some(Token::Sign(sign)) => !matches!(sign, ')' | ']' | '}'),
        Some(_) => false,
    }
}

/// Reads a string or a regular expression, and returns its length with the quotes.
fn read_quoted(text: &str, quote: char) -> (usize, Token<'_>) {
    let mut is_escaped = false;
    let mut is_in_class = false;
    for (at, letter) in text.char_indices().skip(1) {
        if letter == '\n' && quote != '`' {
            return (at, Token::Other);
        }
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' | ']' if quote == '/' => is_in_class = letter == '[',
            letter if letter == quote && !is_in_class => {
                let inside = &text[1..at];
                let is_plain = !(inside.contains('\\') || quote == '`' && inside.contains("${"));
                let token = if is_plain {
                    Token::Text(inside)
                } else {
                    Token::Other
                };
                return (at + 1, token);
            }
            _ => {}
        }
    }
    (text.len(), Token::Other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_split_into_tokens() {
        let tokens =
            split_tokens("a?.b = 'x' /* c */ + /[/]\\//g // d\n1.5>=`e${f}`;é ☃ '\\'' `e`");
        assert_eq!(
            tokens,
            [
                Token::Word("a"),
                Token::Sign('?'),
                Token::Sign('.'),
                Token::Word("b"),
                Token::Sign('='),
                Token::Text("x"),
                Token::Sign('+'),
                Token::Other,
                Token::Word("g"),
                Token::Number("1.5"),
                Token::Sign('>'),
                Token::Sign('='),
                Token::Other,
                Token::Sign(';'),
                Token::Word("é"),
                Token::Other,
                Token::Other,
                Token::Text("e"),
            ]
        );
        for script in ["'", "\"\\", "`\\u12", "/*", "/[", "/\\", "'\\x", "\u{0}"] {
            split_tokens(script);
        }
    }
}
