//! Items: where they end, their attributes, their signature.
//!
//! Bodies of functions are never parsed, so that half-written code in one leaves the rest readable.

use super::attribute::Attribute;
use super::tokens::{Token, TokenKind, range_of};
use std::ops::Range;

/// A function, or any other item.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// From the first attribute or doc comment to the end.
    pub(super) range: Range<usize>,
    /// All of its tokens.
    pub(super) tokens: Vec<Token>,
    /// The name without `r#`; empty for what has none.
    pub(super) name: String,
    pub(super) name_range: Range<usize>,
    /// The doc comments. `#[doc = ".."]` is none.
    pub(super) docs: Vec<Range<usize>>,
    pub(super) has_doc_attribute: bool,
    /// The first token behind the attributes.
    pub(super) head: usize,
    pub(super) is_function: bool,
    pub(super) is_async: bool,
    /// Each parameter of a function.
    pub(super) parameters: Vec<WrittenParameter>,
    /// Behind the parameters of a function, where `-> T` would go.
    pub(super) parameters_end: usize,
    /// The type behind `->`.
    pub(super) returns: Option<Range<usize>>,
    /// Between the braces at the end.
    pub(super) body: Option<Range<usize>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WrittenParameter {
    pub(super) range: Range<usize>,
    /// What it names: a step, a feed or another function of the scenario.
    pub(super) name: String,
}

/// An attribute before an item.
#[derive(Debug)]
pub(super) struct AttributeTokens<'a> {
    /// The last segment of its path; `doc` for a comment.
    pub(super) name: Option<&'a str>,
    range: Range<usize>,
    inside: &'a [Token],
    is_comment: bool,
}

/// The attributes from `start` on, and the number of the first token behind them.
pub(super) fn find_attributes<'a>(
    text: &'a str,
    tokens: &'a [Token],
    start: usize,
) -> (Vec<AttributeTokens<'a>>, usize) {
    let mut attributes = Vec::new();
    let mut at = start;
    while let Some((attribute, length)) = attribute_at(text, &tokens[at.min(tokens.len())..]) {
        attributes.push(attribute);
        at += length;
    }
    (attributes, at)
}

fn attribute_at<'a>(text: &'a str, tokens: &'a [Token]) -> Option<(AttributeTokens<'a>, usize)> {
    let first = tokens.first()?;
    if first.kind == TokenKind::Doc {
        let is_outer = !text[first.range.clone()].starts_with("//!")
            && !text[first.range.clone()].starts_with("/*!");
        let attribute = AttributeTokens {
            name: Some("doc"),
            range: first.range.clone(),
            inside: &[],
            is_comment: true,
        };
        return is_outer.then_some((attribute, 1));
    }
    let group = tokens.get(1)?;
    let inside = group.group('[').filter(|_| first.is_punct('#'))?;
    let name = match inside {
        [.., name, options]
            if name.word(text).is_some() && matches!(options.kind, TokenKind::Group(..)) =>
        {
            name.word(text)
        }
        [name, equals, ..] if equals.is_punct('=') => name.word(text),
        [.., name] => name.word(text),
        [] => None,
    };
    let attribute = AttributeTokens {
        name,
        range: first.range.start..group.range.end,
        inside,
        is_comment: false,
    };
    Some((attribute, 2))
}

impl AttributeTokens<'_> {
    /// Reads the attribute, if it has this name, also within `cfg_attr(..)`.
    pub(super) fn options_of(&self, text: &str, name: &str) -> Option<Attribute> {
        if self.is_comment {
            return None;
        }
        if self.name == Some(name) {
            return Some(Attribute::read(
                text,
                self.range.clone(),
                self.inside,
                false,
            ));
        }
        let conditional = self
            .inside
            .last()
            .filter(|_| self.name == Some("cfg_attr"))?;
        let inside = conditional.group('(')?;
        inside
            .split(|token| token.is_punct(','))
            .skip(1)
            .find_map(|tokens| {
                let mut words = tokens.iter().filter_map(|token| token.word(text));
                (words.next_back() == Some(name))
                    .then(|| Attribute::read(text, self.range.clone(), tokens, true))
            })
    }
}

/// Splits a body into its items; with each comes the number of its first token behind the attributes.
pub(super) fn split_items<'a>(text: &str, body: &'a [Token]) -> Vec<(&'a [Token], usize)> {
    let mut items = Vec::new();
    let mut start = 0;
    while start < body.len() {
        let (attributes, head) = find_attributes(text, body, start);
        let mut end = item_end(text, body, head).max(start + 1);
        let has_role = attributes.iter().any(|attribute| !attribute.is_comment);
        if has_role {
            // a function before another attribute lacks its end
            let next = (head + 1..end).find(|&at| attribute_at(text, &body[at..]).is_some());
            end = next.unwrap_or(end);
        }
        items.push((&body[start..end], head - start));
        start = end;
    }
    items
}

/// The number of the first token behind the item that begins at `start`.
pub(super) fn item_end(text: &str, tokens: &[Token], start: usize) -> usize {
    let word = |at: usize| tokens.get(at).and_then(|token| token.word(text));
    let braces_may_be_inside = match word(start) {
        Some("use" | "static" | "type") => true,
        Some("const") => !matches!(word(start + 1), Some("fn" | "async" | "unsafe" | "extern")),
        _ => false,
    };
    let ends =
        |token: &Token| token.is_punct(';') || token.group('{').is_some() && !braces_may_be_inside;
    let rest = tokens.get(start..).unwrap_or_default();
    let length = rest.iter().position(ends).map_or(rest.len(), |at| at + 1);
    start + length
}

impl Item {
    /// Reads an item whose attributes end at the token `head`.
    pub(super) fn read(text: &str, tokens: &[Token], head: usize) -> Self {
        let range = range_of(tokens).unwrap_or_default();
        let (attributes, _) = find_attributes(text, tokens, 0);
        let is_doc = |attribute: &&AttributeTokens<'_>| attribute.name == Some("doc");
        let docs = attributes.iter().filter(|attribute| attribute.is_comment);
        let mut item = Self {
            docs: docs.map(|attribute| attribute.range.clone()).collect(),
            has_doc_attribute: attributes.iter().filter(is_doc).any(|doc| !doc.is_comment),
            name: String::new(),
            name_range: range.start..range.start,
            head,
            is_function: false,
            is_async: false,
            parameters: Vec::new(),
            parameters_end: range.end,
            returns: None,
            body: tokens
                .last()
                .filter(|last| last.group('{').is_some())
                .map(Token::inside),
            tokens: tokens.to_vec(),
            range,
        };
        item.read_signature(text, &tokens[head.min(tokens.len())..]);
        item
    }

    fn read_signature(&mut self, text: &str, tokens: &[Token]) {
        const KINDS: [&str; 6] = ["fn", "struct", "enum", "mod", "const", "static"];
        let is_kind = |token: &Token| token.word(text).is_some_and(|word| KINDS.contains(&word));
        // `const fn` and `unsafe fn` are functions
        let function = tokens
            .windows(2)
            .position(|pair| pair[0].is_word(text, "fn") && pair[1].kind == TokenKind::Word);
        let Some(at) = function.or_else(|| tokens.iter().position(is_kind)) else {
            return;
        };
        let Some(name) = tokens
            .get(at + 1)
            .filter(|name| name.kind == TokenKind::Word)
        else {
            return;
        };
        self.name_range = name.range.clone();
        let word = &text[name.range.clone()];
        word.strip_prefix("r#")
            .unwrap_or(word)
            .clone_into(&mut self.name);
        self.is_function = function.is_some();
        if !self.is_function {
            return;
        }
        self.is_async = tokens[..at]
            .iter()
            .any(|token| token.is_word(text, "async"));
        let rest = &tokens[at + 2..];
        let Some((at, inside)) = rest
            .iter()
            .enumerate()
            .find_map(|(at, token)| Some((at, token.group('(')?)))
        else {
            return;
        };
        self.parameters_end = rest[at].range.end;
        self.parameters = split_parameters(inside)
            .filter_map(|tokens| WrittenParameter::read(text, tokens))
            .collect();
        if let [minus, greater, result @ ..] = &rest[at + 1..]
            && minus.is_punct('-')
            && greater.is_punct('>')
        {
            let is_end = |token: &Token| {
                token.is_punct(';') || token.group('{').is_some() || token.is_word(text, "where")
            };
            let length = result.iter().position(is_end).unwrap_or(result.len());
            self.returns = range_of(&result[..length]);
        }
    }

    /// Returns true for a type with `#[response]`.
    pub(super) fn is_answer(&self, text: &str) -> bool {
        let (attributes, _) = find_attributes(text, &self.tokens, 0);
        attributes
            .iter()
            .any(|attribute| attribute.options_of(text, "response").is_some())
    }

    /// The tokens between the braces at the end.
    pub(super) fn body_tokens(&self) -> Option<&[Token]> {
        self.tokens.last()?.group('{')
    }
}

/// Splits at commas, but not between the angle brackets of a type.
pub(super) fn split_parameters(tokens: &[Token]) -> impl Iterator<Item = &[Token]> {
    let mut depth = 0usize;
    let mut before = None;
    tokens.split(move |token| {
        match token.kind {
            TokenKind::Punct('<') => depth += 1,
            // the end of an arrow closes nothing
            TokenKind::Punct('>') if before != Some('-') => depth = depth.saturating_sub(1),
            _ => {}
        }
        before = match token.kind {
            TokenKind::Punct(punct) => Some(punct),
            _ => None,
        };
        depth == 0 && token.is_punct(',')
    })
}

impl WrittenParameter {
    /// Reads `login: &Login`, `_login: &Login` or `#[from(login)] Login { token }: &Login`.
    fn read(text: &str, tokens: &[Token]) -> Option<Self> {
        let range = range_of(tokens)?;
        let (attributes, at) = find_attributes(text, tokens, 0);
        let from = attributes
            .iter()
            .find(|attribute| attribute.name == Some("from"));
        let source = from.and_then(|from| from.inside.last()?.group('(')?.first());
        let is_name = |token: &&Token| {
            token
                .word(text)
                .is_some_and(|word| !matches!(word, "mut" | "ref"))
        };
        let name = source.or_else(|| tokens[at..].iter().find(is_name))?;
        let word = name.word(text)?;
        let word = word.strip_prefix("r#").unwrap_or(word);
        Some(Self {
            range,
            name: word.strip_prefix('_').unwrap_or(word).to_owned(),
        })
    }
}
