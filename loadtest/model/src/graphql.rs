//! The structure of GraphQL documents: brackets, operations, variables.
//!
//! It is what a document says of itself, without a schema. The macros check queries by it, and rows of reports are
//! named by it. See <https://spec.graphql.org/October2021/#sec-Appendix-Grammar-Summary>.

/// The operations of a document, and the variables that it uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The operations in order; at least one.
    pub operations: Vec<Operation>,
    /// The names of the variables that operations and fragments use, in the order of first use.
    pub used: Vec<String>,
}

/// An operation: `query Cart($id: ID!) { .. }`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// `query`, `mutation` or `subscription`.
    pub kind: &'static str,
    /// The name, where it has one.
    pub name: Option<String>,
    /// The variables that it declares.
    pub variables: Vec<Variable>,
}

/// A variable that an operation declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// The name, without `$`.
    pub name: String,
    /// True for one with a default, `$first: Int = 10`.
    pub has_default: bool,
}

const KINDS: [&str; 3] = ["query", "mutation", "subscription"];

/// The most characters of a document that a message quotes.
const MAX_QUOTED: usize = 32;

impl Document {
    /// Reads a document.
    ///
    /// # Errors
    /// The first mistake in its structure.
    pub fn parse(text: &str) -> Result<Self, String> {
        let tokens = split_tokens(text)?;
        let closes = match_brackets(text, &tokens)?;
        let reader = DocumentReader {
            text,
            tokens: &tokens,
            closes: &closes,
        };
        reader.read()
    }
}

impl Operation {
    /// Returns kind and name: `query Cart`.
    pub fn label(&self) -> String {
        match &self.name {
            Some(name) => format!("{} {name}", self.kind),
            None => self.kind.to_owned(),
        }
    }
}

/// A token, and the byte where it begins.
struct Token<'a> {
    at: usize,
    kind: TokenKind<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenKind<'a> {
    Word(&'a str),
    /// The name after `$`.
    Variable(&'a str),
    Sign(char),
    /// A string or a number.
    Value,
}

fn split_tokens(text: &str) -> Result<Vec<Token<'_>>, String> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let (length, kind) = match first {
            '#' => (rest.find(['\n', '\r']).unwrap_or(rest.len()), None),
            '"' => (string_length(rest)?, Some(TokenKind::Value)),
            '$' => match word_length(&rest[1..]) {
                0 => {
                    let near = excerpt(rest);
                    return Err(format!("`$` starts the name of a variable, not `{near}`"));
                }
                length => (length + 1, Some(TokenKind::Variable(&rest[1..=length]))),
            },
            '-' | '0'..='9' => {
                let is_of_number = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
                let length = rest.find(|c| !is_of_number(c)).unwrap_or(rest.len());
                (length, Some(TokenKind::Value))
            }
            '!' | '&' | '(' | ')' | '.' | ':' | '=' | '@' | '[' | ']' | '{' | '|' | '}' => {
                (1, Some(TokenKind::Sign(first)))
            }
            ',' | '\u{feff}' => (first.len_utf8(), None),
            _ if first.is_whitespace() => (first.len_utf8(), None),
            _ => match word_length(rest) {
                0 => return Err(format!("`{first}` has no meaning in GraphQL")),
                length => (length, Some(TokenKind::Word(&rest[..length]))),
            },
        };
        tokens.extend(kind.map(|kind| Token { at, kind }));
        at += length;
    }
    Ok(tokens)
}

/// The length of the name at the start.
fn word_length(text: &str) -> usize {
    let is_of_word = |c: char| c == '_' || c.is_ascii_alphanumeric();
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return 0;
    }
    text.find(|c| !is_of_word(c)).unwrap_or(text.len())
}

/// The length of the string at the start: `".."` or `""".."""`.
fn string_length(text: &str) -> Result<usize, String> {
    const BLOCK: &str = "\"\"\"";
    let is_block = text.starts_with(BLOCK);
    let mut at = if is_block { BLOCK.len() } else { 1 };
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if is_block && rest.starts_with(BLOCK) {
            return Ok(at + BLOCK.len());
        }
        at += match first {
            '"' if !is_block => return Ok(at + 1),
            '\n' | '\r' if !is_block => break,
            '\\' if is_block && rest[1..].starts_with(BLOCK) => 1 + BLOCK.len(),
            '\\' if !is_block => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            first => first.len_utf8(),
        };
    }
    let near = excerpt(text);
    Err(format!("the string `{near}` is not closed"))
}

/// The start of `text`, on one line.
fn excerpt(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut quoted: String = words.chars().take(MAX_QUOTED).collect();
    if quoted.len() < words.len() {
        quoted.push('…');
    }
    quoted
}

/// Returns for each token that opens a bracket the place of the one that closes it.
fn match_brackets(text: &str, tokens: &[Token<'_>]) -> Result<Vec<usize>, String> {
    let mut closes = vec![0; tokens.len()];
    let mut open: Vec<(usize, char)> = Vec::new();
    for (place, token) in tokens.iter().enumerate() {
        let TokenKind::Sign(sign) = token.kind else {
            continue;
        };
        match sign {
            '(' => open.push((place, ')')),
            '[' => open.push((place, ']')),
            '{' => open.push((place, '}')),
            ')' | ']' | '}' => match open.pop() {
                Some((opener, wanted)) if wanted == sign => closes[opener] = place,
                Some((opener, wanted)) => {
                    let near = excerpt(&text[tokens[opener].at..]);
                    return Err(format!(
                        "`{near}` is closed by `{sign}` where a `{wanted}` belongs"
                    ));
                }
                None => return Err(format!("a `{sign}` closes nothing")),
            },
            _ => {}
        }
    }
    match open.pop() {
        None => Ok(closes),
        Some((opener, wanted)) => {
            let near = excerpt(&text[tokens[opener].at..]);
            Err(format!("`{near}` is not closed: a `{wanted}` is missing"))
        }
    }
}

struct DocumentReader<'a> {
    text: &'a str,
    tokens: &'a [Token<'a>],
    closes: &'a [usize],
}

impl<'a> DocumentReader<'a> {
    fn read(&self) -> Result<Document, String> {
        let mut document = Document {
            operations: Vec::new(),
            used: Vec::new(),
        };
        let mut place = 0;
        while let Some(token) = self.tokens.get(place) {
            let mut head = place + 1;
            match token.kind {
                TokenKind::Word("fragment") => {}
                TokenKind::Word(word) => {
                    let kind = KINDS.into_iter().find(|kind| *kind == word);
                    let kind = kind.ok_or_else(|| {
                        format!("`{word}` does not start an operation: write `query`, `mutation` or `{{`")
                    })?;
                    let operation;
                    (operation, head) = self.read_head(kind, head);
                    document.operations.push(operation);
                }
                TokenKind::Sign('{') => {
                    head = place;
                    document.operations.push(Operation {
                        kind: "query",
                        name: None,
                        variables: Vec::new(),
                    });
                }
                _ => {
                    let near = excerpt(&self.text[token.at..]);
                    return Err(format!("`{near}` does not start an operation"));
                }
            }
            let end = self.end_of_definition(head).ok_or_else(|| {
                let near = excerpt(&self.text[token.at..]);
                format!("`{near}` selects nothing: `{{ .. }}` is missing")
            })?;
            note_used(&self.tokens[head..end], &mut document.used);
            place = end + 1;
        }
        if document.operations.is_empty() {
            return Err("there is no operation: write `query Name { .. }`".to_owned());
        }
        Ok(document)
    }

    fn kind(&self, place: usize) -> Option<TokenKind<'a>> {
        self.tokens.get(place).map(|token| token.kind)
    }

    /// Reads name and variables of an operation, and returns the place after them.
    fn read_head(&self, kind: &'static str, mut place: usize) -> (Operation, usize) {
        let mut operation = Operation {
            kind,
            name: None,
            variables: Vec::new(),
        };
        if let Some(TokenKind::Word(name)) = self.kind(place) {
            operation.name = Some(name.to_owned());
            place += 1;
        }
        if self.kind(place) != Some(TokenKind::Sign('(')) {
            return (operation, place);
        }
        let end = self.closes[place];
        place += 1;
        while place < end {
            match self.tokens[place].kind {
                TokenKind::Variable(name) => operation.variables.push(Variable {
                    name: name.to_owned(),
                    has_default: false,
                }),
                TokenKind::Sign('=') => {
                    if let Some(last) = operation.variables.last_mut() {
                        last.has_default = true;
                    }
                }
                _ => {}
            }
            place += 1;
        }
        (operation, end + 1)
    }

    /// Returns the place of the `}` that ends the definition whose head goes on at `place`.
    fn end_of_definition(&self, mut place: usize) -> Option<usize> {
        loop {
            match self.kind(place)? {
                TokenKind::Sign('{') => return Some(self.closes[place]),
                TokenKind::Sign('(' | '[') => place = self.closes[place] + 1,
                // the next definition has begun
                TokenKind::Word(word) if KINDS.contains(&word) => return None,
                _ => place += 1,
            }
        }
    }
}

/// Adds the variables in `tokens` that are not in `used`.
fn note_used(tokens: &[Token<'_>], used: &mut Vec<String>) {
    for token in tokens {
        if let TokenKind::Variable(name) = token.kind
            && !used.iter().any(|known| known == name)
        {
            used.push(name.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistake(text: &str) -> String {
        Document::parse(text).unwrap_err()
    }

    fn labels(text: &str) -> Vec<String> {
        let document = Document::parse(text).unwrap();
        document.operations.iter().map(Operation::label).collect()
    }

    #[test]
    fn operations_are_named_by_kind_and_name() {
        for (text, expected) in [
            ("{ cart { id } }", vec!["query"]),
            ("query { cart }", vec!["query"]),
            ("query Cart { cart }", vec!["query Cart"]),
            (
                "mutation Add($id: ID!) { add(id: $id) }",
                vec!["mutation Add"],
            ),
            (
                "subscription Ticks @live { tick }",
                vec!["subscription Ticks"],
            ),
            (
                "fragment Whole on Cart { id }\nquery A { a { ...Whole } } query B { b }",
                vec!["query A", "query B"],
            ),
        ] {
            assert_eq!(labels(text), expected, "{text}");
        }
    }

    #[test]
    fn variables_are_those_declared_and_those_used_wherever_they_stand() {
        let document = Document::parse(
            "query Shop($id: ID!, $first: Int = 10, $in: Filter = {tags: [\"a\"]}, $on: Boolean! @x(a: 1)) @cached(by: $key) {
                cart(id: $id) { items(first: $first, filter: {is: [$in, $id]}) @include(if: $on) { ...Part } }
            }
            fragment Part on Item { price(currency: $currency) }",
        );
        let document = document.unwrap();
        let declared: Vec<_> = document.operations[0]
            .variables
            .iter()
            .map(|variable| (&*variable.name, variable.has_default))
            .collect();
        assert_eq!(
            declared,
            [("id", false), ("first", true), ("in", true), ("on", false)]
        );
        assert_eq!(
            document.used,
            ["key", "id", "first", "in", "on", "currency"]
        );
    }

    #[test]
    fn strings_and_comments_hold_nothing() {
        for text in [
            "{ a(b: \"} \\\" $x {\") }",
            "{ a(b: \"\"\"} \\\"\"\" $x \"quoted\" {\"\"\") }",
            "{ a # } $x \"\n }",
            "# query Old { a(b: $x) }\r{ a }",
            "{ a(b: \"\", c: \"\"\"\"\"\", d: -1.5e+3) }",
            "\u{feff}{ a, b }",
        ] {
            let document = Document::parse(text).unwrap();
            assert_eq!(
                (document.operations.len(), document.used.len()),
                (1, 0),
                "{text}"
            );
        }
    }

    #[test]
    fn mistakes_say_what_is_wrong_and_where() {
        for (text, expected) in [
            (
                "query Cart { cart { id }",
                "`{ cart { id }` is not closed: a `}` is missing",
            ),
            ("{ a } }", "a `}` closes nothing"),
            (
                "{ a(b: [1, 2) }",
                "`[1, 2) }` is closed by `)` where a `]` belongs",
            ),
            ("{ a(b: \"x) }", "the string `\"x) }` is not closed"),
            ("{ a(b: \"x\n\") }", "the string `\"x \") }` is not closed"),
            (
                "{ a(b: \"\"\"x\") }",
                "the string `\"\"\"x\") }` is not closed",
            ),
            (
                "{ a(b: $) }",
                "`$` starts the name of a variable, not `$) }`",
            ),
            ("{ a % }", "`%` has no meaning in GraphQL"),
            ("", "there is no operation: write `query Name { .. }`"),
            (
                "fragment Part on Item { a }",
                "there is no operation: write `query Name { .. }`",
            ),
            (
                "qurey Cart { a }",
                "`qurey` does not start an operation: write `query`, `mutation` or `{`",
            ),
            ("(a: 1) { b }", "`(a: 1) { b }` does not start an operation"),
            (
                "query Cart",
                "`query Cart` selects nothing: `{ .. }` is missing",
            ),
            (
                "query Cart($id: ID!) query Other { a }",
                "`query Cart($id: ID!) query Other…` selects nothing: `{ .. }` is missing",
            ),
        ] {
            assert_eq!(mistake(text), expected, "{text}");
        }
    }

    #[test]
    fn any_start_of_a_document_is_read_or_refused() {
        let whole = "query A($a: [Int!] = [1]) @b(c: \"d\\\"\") { e(f: \"\"\"g\"\"\") # h\n { ...I } } fragment I on J { é }";
        for end in (0..=whole.len()).filter(|end| whole.is_char_boundary(*end)) {
            let _ = Document::parse(&whole[..end]);
        }
        assert_eq!(mistake(whole), "`é` has no meaning in GraphQL");
    }
}
