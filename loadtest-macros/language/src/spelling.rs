//! Tokens as the user wrote them, in one line.

use proc_macro2::{Delimiter, Group, LineColumn, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use std::ops::Range;

/// The text of `tokens`, every run of white space a single space.
pub(crate) fn source_text(tokens: impl ToTokens) -> String {
    SpelledTokens::new(tokens).text
}

/// A text, and the tokens that it was made of.
#[derive(Default)]
pub(crate) struct SpelledTokens {
    pub(crate) text: String,
    /// The place of each token in the text, in bytes, and in the source.
    places: Vec<(Range<usize>, Span)>,
    end: Option<LineColumn>,
}

impl SpelledTokens {
    pub(crate) fn new(tokens: impl ToTokens) -> Self {
        let mut spelled = Self::default();
        spelled.push_tokens(tokens.to_token_stream());
        spelled
    }

    /// A mistake at the tokens at `place` of the text, or at the last one where none is there.
    pub(crate) fn error_at(&self, place: &Range<usize>, message: &str) -> syn::Error {
        let is_inside = |token: &Range<usize>| {
            token.start < place.end.max(place.start + 1) && place.start < token.end
        };
        let mut found: Vec<Span> = self
            .places
            .iter()
            .filter(|(token, _)| is_inside(token))
            .map(|(_, span)| *span)
            .collect();
        if found.is_empty() {
            found.extend(self.places.last().map(|(_, span)| *span));
        }
        let tokens: TokenStream = found
            .into_iter()
            .map(|span| quote_spanned!(span=> token))
            .collect();
        syn::Error::new_spanned(tokens, message)
    }

    fn push_tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.push_group(&group),
                other => {
                    let span = other.span();
                    self.push(&other.to_string(), span, span.start(), span.end());
                    if matches!(&other, TokenTree::Punct(punct) if punct.as_char() == '\'') {
                        // the span of this half of a lifetime is that of the whole
                        self.end = None;
                    }
                }
            }
        }
    }

    fn push_group(&mut self, group: &Group) {
        let (open, close) = match group.delimiter() {
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::Brace => ("{", "}"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::None => return self.push_tokens(group.stream()),
        };
        // a group that was parsed before has one span for all of it
        let (start, end) = (group.span().start(), group.span().end());
        let after_open = LineColumn {
            column: start.column + 1,
            ..start
        };
        let before_close = LineColumn {
            column: end.column.saturating_sub(1),
            ..end
        };
        self.push(open, group.span_open(), start, after_open);
        self.push_tokens(group.stream());
        self.push(close, group.span_close(), before_close, end);
    }

    fn push(&mut self, token: &str, span: Span, start: LineColumn, stop: LineColumn) {
        if self.end.is_some_and(|end| end != start) {
            self.text.push(' ');
        }
        let begin = self.text.len();
        self.text.push_str(token);
        self.places.push((begin..self.text.len(), span));
        self.end = Some(stop);
    }
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

    #[test]
    fn a_type_that_was_parsed_keeps_its_spelling() {
        let ty: syn::Type = syn::parse_str("Result<(), (u8, [u16])>").unwrap();
        assert_eq!(source_text(ty), "Result<(), (u8, [u16])>");
    }

    #[test]
    fn a_mistake_is_at_the_tokens_of_its_place() {
        let tokens: TokenStream = "errors < 1% and abort".parse().unwrap();
        let spelled = SpelledTokens::new(tokens);
        let columns = |place| {
            let span = spelled.error_at(&place, "").span();
            span.start().column..span.end().column
        };
        assert_eq!(columns(0..6), 0..6);
        assert_eq!(columns(12..21), 12..21);
        assert_eq!(columns(10..10), 10..11, "nothing is expected of a place");
        assert_eq!(columns(21..21), 16..21, "the end");
    }
}
