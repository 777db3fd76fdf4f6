//! An attribute and its options, each with its place. What an option means is for `value` to say.

use super::tokens::{Token, TokenKind, range_of, split_at_commas};
use std::ops::Range;

/// An attribute with options.
#[derive(Debug, Clone)]
pub(super) struct Attribute {
    /// From `#` to `]`.
    pub(super) range: Range<usize>,
    /// Where parentheses would go.
    pub(super) name_end: usize,
    /// Between the parentheses.
    pub(super) inside: Option<Range<usize>>,
    pub(super) options: Vec<OptionText>,
    pub(super) has_trailing_comma: bool,
    /// True within `cfg_attr(..)`.
    pub(super) is_conditional: bool,
}

/// An option of an attribute.
#[derive(Debug, Clone)]
pub(super) struct OptionText {
    /// The word at its start; `limit` for another comparison.
    pub(super) key: String,
    /// Counts the options of the same key, from 1.
    pub(super) number: usize,
    pub(super) form: OptionForm,
    pub(super) tokens: Vec<Token>,
    pub(super) range: Range<usize>,
    /// Behind `=`, or the parentheses, or all of a comparison; empty at the end of a lone word.
    pub(super) value: Range<usize>,
    /// The place of the comma behind it.
    pub(super) comma: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionForm {
    Assigned,
    Call,
    Compared,
    Bare,
}

/// The key of all limits.
pub(super) const LIMIT: &str = "limit";
/// The option that may be followed by a limit: `good(response < 1s) > 95%`.
pub(super) const GOOD: &str = "good";

impl Attribute {
    /// Reads an attribute: the tokens between its brackets, or within `cfg_attr(..)`.
    pub(super) fn read(
        text: &str,
        range: Range<usize>,
        tokens: &[Token],
        is_conditional: bool,
    ) -> Self {
        let parentheses = tokens.last().filter(|token| token.group('(').is_some());
        let inside = parentheses.and_then(|token| token.group('('));
        let items = split_at_commas(text, inside.unwrap_or_default());
        let has_trailing_comma = items.last().is_some_and(|(_, comma)| comma.is_some());
        let mut options: Vec<OptionText> = Vec::new();
        for (tokens, comma) in items {
            let Some(mut option) = OptionText::read(text, tokens, comma) else {
                continue;
            };
            let is_same = |other: &&OptionText| other.key == option.key;
            option.number = 1 + options.iter().filter(is_same).count();
            options.push(option);
        }
        let name = match parentheses {
            Some(_) => &tokens[..tokens.len() - 1],
            None => tokens,
        };
        Self {
            name_end: range_of(name).map_or(range.end - 1, |name| name.end),
            range,
            inside: parentheses.map(Token::inside),
            options,
            has_trailing_comma,
            is_conditional,
        }
    }
}

impl OptionText {
    pub(super) fn read(text: &str, tokens: &[Token], comma: Option<usize>) -> Option<Self> {
        let range = range_of(tokens)?;
        let (first, rest) = tokens.split_first()?;
        let is_equals = |token: &Token| token.is_punct('=');
        // its parentheses are not all of it
        let is_good = first.word(text) == Some(GOOD);
        let (form, value) = match rest {
            [] => (OptionForm::Bare, range.end..range.end),
            [equals, value @ ..] if is_equals(equals) && !value.first().is_some_and(is_equals) => {
                let end = range.end..range.end;
                (OptionForm::Assigned, range_of(value).unwrap_or(end))
            }
            [group] if group.group('(').is_some() && !is_good => {
                (OptionForm::Call, group.range.clone())
            }
            _ => (OptionForm::Compared, range.clone()),
        };
        let key = match (form, &first.kind) {
            (OptionForm::Compared, _) if !is_good => LIMIT,
            (_, TokenKind::Word) => &text[first.range.clone()],
            _ => "",
        };
        Some(Self {
            key: key.to_owned(),
            number: 1,
            form,
            tokens: tokens.to_vec(),
            range,
            value,
            comma,
        })
    }

    /// The end, with its comma.
    pub(super) fn end(&self) -> usize {
        self.comma.map_or(self.range.end, |comma| comma + 1)
    }

    /// The tokens behind `=` or between the parentheses.
    pub(super) fn value_tokens(&self) -> &[Token] {
        match self.form {
            OptionForm::Assigned => self.tokens.get(2..).unwrap_or_default(),
            OptionForm::Call => self.tokens[1].group('(').unwrap_or_default(),
            OptionForm::Compared => &self.tokens,
            OptionForm::Bare => &[],
        }
    }
}
