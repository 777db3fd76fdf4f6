//! Tokens as the user wrote them, in one line.

use proc_macro2::{Delimiter, LineColumn, TokenStream, TokenTree};
use quote::ToTokens;

/// The text of `tokens`, every run of white space a single space.
pub(crate) fn source_text(tokens: impl ToTokens) -> String {
    let mut text = String::new();
    write_tokens(tokens.to_token_stream(), &mut text, &mut None);
    text
}

fn write_tokens(tokens: TokenStream, text: &mut String, end: &mut Option<LineColumn>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                // not those of the delimiters alone, which a group that was made anew has not
                let (first, last) = (group.span().start(), group.span().end());
                if !open.is_empty() {
                    let column = first.column + 1;
                    push_token(open, first, LineColumn { column, ..first }, text, end);
                }
                write_tokens(group.stream(), text, end);
                if !close.is_empty() {
                    let column = last.column.saturating_sub(1);
                    push_token(close, LineColumn { column, ..last }, last, text, end);
                }
            }
            other => {
                let span = other.span();
                push_token(&other.to_string(), span.start(), span.end(), text, end);
                if matches!(&other, TokenTree::Punct(punct) if punct.as_char() == '\'') {
                    // the span of this half of a lifetime is that of the whole
                    *end = None;
                }
            }
        }
    }
}

fn push_token(
    token: &str,
    start: LineColumn,
    stop: LineColumn,
    text: &mut String,
    end: &mut Option<LineColumn>,
) {
    if end.is_some_and(|end| end != start) {
        text.push(' ');
    }
    text.push_str(token);
    *end = Some(stop);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_is_that_of_the_source() {
        for (source, expected) in [
            ("Option<&Response<Login>>", "Option<&Response<Login>>"),
            ("&mut  Vec<u64>", "&mut Vec<u64>"),
            (
                "|r| r[\"id\"]\n    .is_number()",
                "|r| r[\"id\"] .is_number()",
            ),
            ("{ a(b, c) }", "{ a(b, c) }"),
            ("&'static T", "&'static T"),
        ] {
            let tokens: TokenStream = source.parse().unwrap();
            assert_eq!(source_text(tokens), expected);
        }
    }
}
