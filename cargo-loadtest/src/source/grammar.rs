//! The grammar of the values that are edited as text: `500ms..2s`, `201 | 202`, `{ "id": {{login.response.id}} }`.
//!
//! A value of this grammar holds no Rust expression, so that no form can put code into a file.

use super::tokens::{Token, TokenKind};

/// The tokens that are left to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rest<'a> {
    text: &'a str,
    tokens: &'a [Token],
}

impl<'a> Rest<'a> {
    pub(super) fn new(text: &'a str, tokens: &'a [Token]) -> Self {
        Self { text, tokens }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    fn next(&mut self) -> Option<&'a Token> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first)
    }

    /// Takes the punctuation, if it is next.
    pub(super) fn take(&mut self, punctuation: &str) -> Option<()> {
        let mut rest = *self;
        for wanted in punctuation.chars() {
            rest.next().filter(|token| token.is_punct(wanted))?;
        }
        *self = rest;
        Some(())
    }

    fn take_literal(&mut self) -> Option<&'a str> {
        let token = self.next()?;
        (token.kind == TokenKind::Literal).then(|| &self.text[token.range.clone()])
    }

    pub(super) fn take_word(&mut self) -> Option<&'a str> {
        self.next()?.word(self.text)
    }

    /// The tokens of a group.
    pub(super) fn take_group(&mut self, open: char) -> Option<Self> {
        let tokens = self.next()?.group(open)?;
        Some(Self {
            text: self.text,
            tokens,
        })
    }

    /// A string, decoded.
    pub(super) fn take_string(&mut self) -> Option<String> {
        read_string(self.take_literal()?)
    }

    /// The text up to the next comma or the end.
    pub(super) fn take_until_comma(&mut self) -> &'a str {
        let length = self.tokens.iter().position(|token| token.is_punct(','));
        let (taken, rest) = self.tokens.split_at(length.unwrap_or(self.tokens.len()));
        self.tokens = rest;
        match (taken.first(), taken.last()) {
            (Some(first), Some(last)) => &self.text[first.range.start..last.range.end],
            _ => "",
        }
    }

    fn number(&mut self) -> Option<()> {
        let digits = self.take_literal()?;
        is_number(digits, &[""]).then_some(())
    }

    fn time(&mut self) -> Option<()> {
        const UNITS: [&str; 8] = ["us", "µs", "μs", "ms", "s", "m", "min", "h"];
        is_number(self.take_literal()?, &UNITS).then_some(())
    }

    /// `<`, `<=`, `>` or `>=`
    fn compare(&mut self) -> Option<()> {
        self.take("<").or_else(|| self.take(">"))?;
        let _ = self.take("=");
        Some(())
    }

    fn status(&mut self) -> Option<()> {
        let literal = self.take_literal()?;
        is_number(literal, &["", "xx", "XX"]).then_some(())
    }

    fn statuses(&mut self) -> Option<()> {
        self.status()?;
        if self.take("..=").or_else(|| self.take("..")).is_some() {
            self.status()?;
        }
        Some(())
    }

    fn value(&mut self) -> Option<()> {
        match &self.tokens.first()?.kind {
            TokenKind::Group('{', inside) => {
                self.next();
                if let [placeholder] = inside.as_slice()
                    && let Some(path) = placeholder.group('{')
                {
                    return is_path(path).then_some(());
                }
                let mut fields = Rest::new(self.text, inside);
                while !fields.is_empty() {
                    fields.take_string()?;
                    fields.take(":")?;
                    fields.value()?;
                    if !fields.is_empty() {
                        fields.take(",")?;
                    }
                }
                Some(())
            }
            TokenKind::Group('[', inside) => {
                self.next();
                let mut values = Rest::new(self.text, inside);
                while !values.is_empty() {
                    values.value()?;
                    if !values.is_empty() {
                        values.take(",")?;
                    }
                }
                Some(())
            }
            TokenKind::Group(..) | TokenKind::Doc => None,
            TokenKind::Word => {
                let word = self.take_word()?;
                matches!(word, "true" | "false" | "null").then_some(())
            }
            TokenKind::Punct(_) => {
                self.take("-")?;
                self.number()
            }
            TokenKind::Literal => {
                let literal = self.take_literal()?;
                (is_number(literal, &[""]) || read_string(literal).is_some()).then_some(())
            }
        }
    }
}

/// The value of a plain string literal.
fn read_string(literal: &str) -> Option<String> {
    let parsed: syn::LitStr = syn::parse_str(literal).ok()?;
    let value = parsed.value();
    drop(parsed);
    proc_macro2::extra::invalidate_current_thread_spans();
    Some(value)
}

/// Returns true for digits with one of the suffixes.
fn is_number(literal: &str, suffixes: &[&str]) -> bool {
    let is_digit = |c: char| c.is_ascii_digit() || c == '_';
    let whole = literal.trim_start_matches(is_digit);
    let rest = match whole.strip_prefix('.') {
        Some(fraction) => fraction.trim_start_matches(is_digit),
        None => whole,
    };
    literal.starts_with(|c: char| c.is_ascii_digit()) && suffixes.contains(&rest)
}

/// Returns true for what may stand between two braces: words, numbers and keys, and no call.
fn is_path(tokens: &[Token]) -> bool {
    let is_part = |token: &Token| match &token.kind {
        TokenKind::Word | TokenKind::Literal => true,
        TokenKind::Punct(punct) => matches!(punct, '.' | '-' | '$'),
        TokenKind::Group('[', inside) => {
            matches!(inside.as_slice(), [key] if key.kind == TokenKind::Literal)
        }
        _ => false,
    };
    !tokens.is_empty() && tokens.iter().all(is_part)
}

/// A rule for a whole value.
pub(super) type Rule = fn(&mut Rest<'_>) -> Option<()>;

/// `0.8`, `80%` or `4/5`
pub(super) fn weight(rest: &mut Rest<'_>) -> Option<()> {
    rest.number()?;
    if rest.take("%").is_none() && rest.take("/").is_some() {
        rest.number()?;
    }
    Some(())
}

/// `500ms`
pub(super) fn time(rest: &mut Rest<'_>) -> Option<()> {
    rest.time()
}

/// `500ms`, `500ms..2s` or `normal(2s, 500ms)`
pub(super) fn think(rest: &mut Rest<'_>) -> Option<()> {
    if let Some(law) = rest.tokens.first()?.word(rest.text) {
        rest.next();
        let mut inside = rest.take_group('(')?;
        inside.time()?;
        if law != "exponential" {
            inside.take(",")?;
            inside.time()?;
        }
        let is_law = matches!(law, "exponential" | "normal" | "lognormal");
        return (is_law && inside.is_empty()).then_some(());
    }
    rest.time()?;
    if rest.take("..").is_some() {
        rest.time()?;
    }
    Some(())
}

/// `200`, `2xx`, `200..300` or `201 | 202`
pub(super) fn statuses(rest: &mut Rest<'_>) -> Option<()> {
    rest.statuses()?;
    while rest.take("|").is_some() {
        rest.statuses()?;
    }
    Some(())
}

/// `503 | timeout`
pub(super) fn triggers(rest: &mut Rest<'_>) -> Option<()> {
    loop {
        match rest.tokens.first()?.word(rest.text) {
            Some("timeout" | "connect" | "reset") => rest.take_word().map(drop)?,
            _ => rest.statuses()?,
        }
        if rest.take("|").is_none() {
            return Some(());
        }
    }
}

/// `5`
pub(super) fn number(rest: &mut Rest<'_>) -> Option<()> {
    rest.number()
}

/// `8` or `new`
pub(super) fn number_or_word(rest: &mut Rest<'_>) -> Option<()> {
    match rest.tokens.first()?.kind {
        TokenKind::Word => word(rest),
        _ => rest.number(),
    }
}

/// `good(first_event < 800ms, gap < 1s) > 95%`
pub(super) fn good(rest: &mut Rest<'_>) -> Option<()> {
    word(rest)?;
    let mut conditions = rest.take_group('(')?;
    while !conditions.is_empty() {
        word(&mut conditions)?;
        conditions.compare()?;
        conditions.time()?;
        if !conditions.is_empty() {
            conditions.take(",")?;
        }
    }
    if rest.is_empty() {
        return Some(());
    }
    rest.compare()?;
    share(rest)
}

/// `0.5%`
pub(super) fn share(rest: &mut Rest<'_>) -> Option<()> {
    rest.number()?;
    rest.take("%")
}

/// `"pong"`
pub(super) fn text(rest: &mut Rest<'_>) -> Option<()> {
    rest.take_string().map(drop)
}

/// A word of the language or of the scenario.
pub(super) fn word(rest: &mut Rest<'_>) -> Option<()> {
    rest.take_word().map(drop)
}

/// `1` or `"2.0"` without quotes
pub(super) fn http(rest: &mut Rest<'_>) -> Option<()> {
    rest.number()
}

/// JSON with placeholders
pub(super) fn json(rest: &mut Rest<'_>) -> Option<()> {
    rest.value()
}

/// A text, a number or another value of a field.
pub(super) fn field(rest: &mut Rest<'_>) -> Option<()> {
    match rest.tokens.first()?.kind {
        TokenKind::Group('[', _) => None,
        _ => rest.value(),
    }
}

/// `50/s`, `0/s -> 200/s`, `50`, or `20/user`
pub(super) fn amount(rest: &mut Rest<'_>) -> Option<()> {
    let amount = |rest: &mut Rest<'_>| {
        rest.number()?;
        match rest.take("/") {
            Some(()) => matches!(rest.take_word()?, "s" | "m" | "user").then_some(()),
            None => Some(()),
        }
    };
    amount(rest)?;
    match rest.take("->") {
        Some(()) => amount(rest),
        None => Some(()),
    }
}
