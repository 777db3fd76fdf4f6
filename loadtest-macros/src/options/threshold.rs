//! Thresholds in attributes: `p95 < 300ms`, `tls.p95 < 1s or abort after 30s`.
//!
//! `loadtest_model::threshold` has the grammar, also for the command line. This file hands it the text
//! of the tokens and moves its errors to their spans.

use loadtest_model::threshold::{
    Scope, Threshold, is_custom_word, is_metric_word, is_part_word, parse_threshold, quote_text,
};
use proc_macro2::{Delimiter, Spacing, Span, TokenStream, TokenTree};
use std::ops::Range;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Ident, LitStr, Token, token};

/// A threshold of a step or a scenario.
pub(crate) struct ThresholdOption {
    pub(crate) threshold: Threshold,
    /// The span of the metric.
    pub(crate) span: Span,
}

/// Returns true if a threshold begins with `name`, which was just parsed.
pub(super) fn begins_threshold(name: &str, input: ParseStream<'_>) -> bool {
    is_metric_word(name)
        || is_part_word(name) && (input.peek(Token![.]) || is_compared(input))
        || (is_custom_word(name) || name == "p") && input.peek(token::Paren)
}

/// Returns true if a comparison follows.
pub(super) fn is_compared(input: ParseStream<'_>) -> bool {
    input.peek(Token![<]) || input.peek(Token![>])
}

/// Parses a threshold that begins with `first`.
pub(super) fn parse_threshold_option(
    first: &Ident,
    scope: Scope,
    input: ParseStream<'_>,
) -> syn::Result<ThresholdOption> {
    let mut text = TokenText::default();
    text.push(&first.unraw().to_string(), first.span());
    text.push_tokens(input.parse::<TokenStream>()?);
    match parse_threshold(&text.text, scope) {
        Ok(condition) => Ok(ThresholdOption {
            threshold: condition.threshold,
            span: first.span(),
        }),
        Err(mistake) => Err(syn::Error::new(
            text.span_at(&mistake.place),
            mistake.message,
        )),
    }
}

/// The text of tokens, with the span of each part.
#[derive(Default)]
struct TokenText {
    text: String,
    spans: Vec<(Range<usize>, Span)>,
    /// The next token follows without a space.
    is_joined: bool,
}

impl TokenText {
    fn push(&mut self, text: &str, span: Span) {
        if !self.text.is_empty() && !self.is_joined {
            self.text.push(' ');
        }
        self.is_joined = false;
        let start = self.text.len();
        self.text.push_str(text);
        self.spans.push((start..self.text.len(), span));
    }

    fn push_tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => {
                    let (open, close) = match group.delimiter() {
                        Delimiter::Parenthesis => ("(", ")"),
                        Delimiter::Brace => ("{", "}"),
                        Delimiter::Bracket => ("[", "]"),
                        Delimiter::None => ("", ""),
                    };
                    if !open.is_empty() {
                        self.is_joined = true;
                        self.push(open, group.span_open());
                        self.is_joined = true;
                    }
                    self.push_tokens(group.stream());
                    if !close.is_empty() {
                        self.is_joined = true;
                        self.push(close, group.span_close());
                    }
                }
                TokenTree::Punct(punct) => {
                    let sign = punct.as_char();
                    let is_tight = matches!(sign, '.' | '/');
                    self.is_joined |= is_tight || sign == '%';
                    self.push(&sign.to_string(), punct.span());
                    self.is_joined = is_tight || punct.spacing() == Spacing::Joint;
                }
                TokenTree::Ident(ident) => self.push(&ident.unraw().to_string(), ident.span()),
                TokenTree::Literal(literal) => {
                    let span = literal.span();
                    let written = literal.to_string();
                    match syn::parse_str::<LitStr>(&written) {
                        Ok(text) => self.push(&quote_text(&text.value()), span),
                        Err(_) => self.push(&written, span),
                    }
                }
            }
        }
    }

    /// Returns the span of the tokens at `place`; that of the last token for the end of the text.
    fn span_at(&self, place: &Range<usize>) -> Span {
        let mut spans = self
            .spans
            .iter()
            .filter(|(range, _)| range.start < place.end && place.start < range.end)
            .map(|(_, span)| *span);
        match spans.next() {
            Some(first) => spans
                .next_back()
                .and_then(|last| first.join(last))
                .unwrap_or(first),
            None => (self.spans.last()).map_or_else(Span::call_site, |(_, span)| *span),
        }
    }
}
