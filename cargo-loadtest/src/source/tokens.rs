//! The tokens of a text with their places in bytes, and the comments between them.
//!
//! A lexed text holds no span of `proc-macro2`, so that the spans of each text are dropped once it is read.

use proc_macro2::{Delimiter, TokenStream, TokenTree, extra};
use std::ops::Range;
use syn::parse::{ParseStream, Parser as _};

/// A token and its place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) range: Range<usize>,
    pub(super) kind: TokenKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenKind {
    Word,
    Punct(char),
    Literal,
    /// A doc comment, which is an attribute for the compiler.
    Doc,
    /// The opening delimiter, and the tokens inside.
    Group(char, Vec<Token>),
}

/// A text that is no Rust.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the file cannot be read as Rust: {message}, on line {line}")]
pub(crate) struct Unreadable {
    pub(crate) message: String,
    pub(crate) line: usize,
}

impl Token {
    pub(super) fn is_punct(&self, wanted: char) -> bool {
        self.kind == TokenKind::Punct(wanted)
    }

    pub(super) fn is_word(&self, text: &str, wanted: &str) -> bool {
        self.word(text) == Some(wanted)
    }

    /// The identifier or keyword, as it is written.
    pub(super) fn word<'a>(&self, text: &'a str) -> Option<&'a str> {
        (self.kind == TokenKind::Word).then(|| &text[self.range.clone()])
    }

    /// The tokens of a group with this opening delimiter.
    pub(super) fn group(&self, wanted: char) -> Option<&[Token]> {
        match &self.kind {
            TokenKind::Group(open, inside) if *open == wanted => Some(inside),
            _ => None,
        }
    }

    /// The place between the delimiters of a group.
    pub(super) fn inside(&self) -> Range<usize> {
        self.range.start + 1..self.range.end - 1
    }
}

/// Reads a text as tokens.
///
/// # Errors
/// A text that is no Rust, such as one with a brace that is never closed.
pub(super) fn lex_text(text: &str) -> Result<Vec<Token>, Unreadable> {
    let lexed = match text.parse::<TokenStream>() {
        Ok(stream) => Ok(convert_stream(stream)),
        Err(error) => Err(Unreadable {
            message: error.to_string(),
            line: error.span().start().line,
        }),
    };
    extra::invalidate_current_thread_spans();
    lexed
}

fn convert_stream(stream: TokenStream) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut doc_end = 0;
    for tree in stream {
        let range = tree.span().byte_range();
        if range.start < doc_end {
            // the other tokens of the attribute that a doc comment stands for
            continue;
        }
        let kind = match tree {
            TokenTree::Punct(punct) if punct.as_char() == '#' && range.len() > 1 => {
                doc_end = range.end;
                TokenKind::Doc
            }
            TokenTree::Punct(punct) => TokenKind::Punct(punct.as_char()),
            TokenTree::Ident(_) => TokenKind::Word,
            TokenTree::Literal(_) => TokenKind::Literal,
            TokenTree::Group(group) => {
                let open = match group.delimiter() {
                    Delimiter::Brace => '{',
                    Delimiter::Bracket => '[',
                    Delimiter::Parenthesis | Delimiter::None => '(',
                };
                TokenKind::Group(open, convert_stream(group.stream()))
            }
        };
        tokens.push(Token { range, kind });
    }
    tokens
}

/// The place of all of the tokens; `None` for none.
pub(super) fn range_of(tokens: &[Token]) -> Option<Range<usize>> {
    Some(tokens.first()?.range.start..tokens.last()?.range.end)
}

/// Calls `visit` with the place of every token; that of a group is split into its two delimiters.
pub(super) fn for_each_leaf(tokens: &[Token], visit: &mut impl FnMut(Range<usize>)) {
    for token in tokens {
        match &token.kind {
            TokenKind::Group(_, inside) => {
                visit(token.range.start..token.range.start + 1);
                for_each_leaf(inside, visit);
                visit(token.range.end - 1..token.range.end);
            }
            _ => visit(token.range.clone()),
        }
    }
}

/// The tokens as text with one space between any two, so that equal tokens have equal texts.
pub(super) fn spell_tokens(text: &str, tokens: &[Token]) -> String {
    let mut spelled = String::new();
    for_each_leaf(tokens, &mut |range| {
        if !spelled.is_empty() {
            spelled.push(' ');
        }
        spelled.push_str(&text[range]);
    });
    spelled
}

/// The same without the comma behind the last item of a list, which is a matter of layout in an option.
pub(super) fn spell_value(text: &str, tokens: &[Token]) -> String {
    let mut spelled = String::new();
    add_value(text, tokens, &mut spelled);
    spelled
}

fn add_value(text: &str, tokens: &[Token], spelled: &mut String) {
    for token in tokens {
        if let TokenKind::Group(_, inside) = &token.kind {
            let inside = match inside.split_last() {
                Some((last, items)) if last.is_punct(',') => items,
                _ => inside,
            };
            spelled.push_str(&text[token.range.start..=token.range.start]);
            add_value(text, inside, spelled);
            spelled.push_str(&text[token.range.end - 1..token.range.end]);
        } else {
            spelled.push(' ');
            spelled.push_str(&text[token.range.clone()]);
        }
    }
}

/// The comments of a text that is made of `tokens`, apart from doc comments.
pub(super) fn find_comments(text: &str, tokens: &[Token]) -> Vec<Range<usize>> {
    let mut comments = Vec::new();
    let mut end = 0;
    for_each_leaf(tokens, &mut |range| {
        if range.start > end {
            add_comments(text, end..range.start, &mut comments);
        }
        // the quote of a lifetime has the place of all of it
        end = end.max(range.end);
    });
    add_comments(text, end..text.len(), &mut comments);
    comments
}

fn add_comments(text: &str, gap: Range<usize>, comments: &mut Vec<Range<usize>>) {
    let mut at = gap.start;
    while let Some(found) = text[at..gap.end].find('/') {
        let start = at + found;
        let rest = &text[start..gap.end];
        let length = if rest.starts_with("/*") {
            block_comment_length(rest)
        } else {
            rest.find('\n').unwrap_or(rest.len())
        };
        let end = start + rest[..length].trim_end().len();
        comments.push(start..end);
        at = start + length;
    }
}

/// The length of the block comment at the start; such comments nest.
fn block_comment_length(text: &str) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(pair) = text.as_bytes().get(at..at + 2) {
        match pair {
            b"/*" => depth += 1,
            b"*/" => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Splits at commas, but not within a closure, as the macros do. Returns each item with the place of its comma.
pub(super) fn split_at_commas<'a>(
    text: &str,
    tokens: &'a [Token],
) -> Vec<(&'a [Token], Option<usize>)> {
    let mut items = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(token) = tokens.get(at) {
        if token.is_punct(',') {
            items.push((&tokens[start..at], Some(token.range.start)));
            at += 1;
            start = at;
            continue;
        }
        let is_behind_equals = at > start && tokens[at - 1].is_punct('=');
        let closure = is_behind_equals.then(|| closure_length(text, &tokens[at..]));
        at += closure.flatten().unwrap_or(1);
    }
    items.push((&tokens[start..], None));
    items.retain(|(item, _)| !item.is_empty());
    items
}

/// The number of tokens of the closure at the start, if there is one, and it ends where an option may.
fn closure_length(text: &str, tokens: &[Token]) -> Option<usize> {
    let first = tokens.first()?;
    if !first.is_punct('|') && !first.is_word(text, "move") {
        return None;
    }
    let range = range_of(tokens)?;
    let rest = |input: ParseStream<'_>| {
        input.parse::<syn::ExprClosure>()?;
        let rest = input.parse::<TokenStream>()?;
        Ok(rest
            .into_iter()
            .next()
            .map(|next| (next.to_string(), next.span().byte_range().start)))
    };
    let rest = rest.parse_str(&text[range.clone()]).ok();
    extra::invalidate_current_thread_spans();
    match rest? {
        None => Some(tokens.len()),
        Some((next, at)) if next == "," => {
            let end = range.start + at;
            tokens.iter().position(|token| token.range.start >= end)
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comments(text: &str) -> Vec<&str> {
        let found = find_comments(text, &lex_text(text).unwrap());
        found.into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn comments_are_what_stands_between_tokens() {
        assert_eq!(
            comments("// ä\n/// doc\nfn a<'a>() { /* x /* y */ */ \"// no\" } //// four\r\n/**/"),
            ["// ä", "/* x /* y */ */", "//// four", "/**/"]
        );
        assert!(comments("/** doc */ fn a() -> u8 { 1 / 2 } //! inner").is_empty());
    }

    #[test]
    fn places_are_bytes_of_the_text() {
        let text = "\u{feff}/// ü\nfn größe() {}";
        let tokens = lex_text(text).unwrap();
        assert_eq!(tokens[0].kind, TokenKind::Doc);
        assert_eq!(&text[tokens[0].range.clone()], "/// ü");
        assert_eq!(tokens[2].word(text), Some("größe"));
    }

    #[test]
    fn commas_in_closures_and_groups_do_not_split() {
        let items = |text: &str| split_at_commas(text, &lex_text(text).unwrap()).len();
        assert_eq!(items("check = |a, b| a, weight = 1"), 2);
        assert_eq!(items("expect = 201 | 202, p99 < 1s, expect = 1"), 3);
        assert_eq!(
            items("check = || true, check = move |r, s| r || s, name = \"a\""),
            3
        );
        let closures = [
            "check = |a| -> Result<(), String> { a.ok() }",
            "check = |a| a.x.iter().collect::<Result<Vec<_>, _>>().is_ok()",
            "check = move |a: &Response<Map<A, B>>| a.n < 5 && a.m > f::<A, B>(a, a)",
        ];
        for closure in closures {
            assert_eq!(items(closure), 1, "{closure}");
            assert_eq!(items(&format!("{closure}, p95 < 1s, check = || a")), 3);
        }
        assert_eq!(items("check = |a| a., weight = 1"), 2, "half written");
        assert_eq!(items("json = { \"a\": 1, \"b\": 2 },"), 1);
        assert_eq!(items(""), 0);
    }

    #[test]
    fn a_text_that_is_no_rust_is_refused_with_its_line() {
        let refused = lex_text("fn a() {\n\"open\n").unwrap_err();
        assert!(refused.line >= 1, "{refused}");
    }
}
