//! `json = { "id": {{login.response.id}}, "note": "for {{login.response.name}}" }`.

use crate::spelling::source_text;
use crate::template::{PlaceholderPath, Template};
use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use std::fmt::Write as _;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Lit, LitStr, Token, braced, bracketed, parenthesized, token};

/// A JSON value with places to fill.
pub(crate) enum JsonTemplate {
    /// Written already.
    Constant(String),
    /// A string with placeholders.
    Text(Template),
    /// A placeholder outside of quotes: the value itself.
    Value(PlaceholderPath),
    /// A lone word, which is no JSON.
    Word(Ident),
    /// `(expression)`
    Rust(TokenStream),
    Array(Vec<JsonTemplate>),
    Object(Vec<(LitStr, JsonTemplate)>),
}

pub(super) fn parse_json(input: ParseStream<'_>) -> syn::Result<JsonTemplate> {
    let value = parse_json_value(input)?;
    if input.is_empty() {
        Ok(value)
    } else {
        Err(input.error("expected the end of the JSON value"))
    }
}

fn parse_json_value(input: ParseStream<'_>) -> syn::Result<JsonTemplate> {
    if input.peek(token::Brace) {
        if let Some(path) = parse_placeholder(input)? {
            return Ok(JsonTemplate::Value(path));
        }
        let content;
        braced!(content in input);
        let field = |input: ParseStream<'_>| {
            let key = parse_json_key(input)?;
            input.parse::<Token![:]>()?;
            Ok((key, parse_json_value(input)?))
        };
        let fields = content.parse_terminated(field, Token![,])?;
        return Ok(JsonTemplate::Object(fields.into_iter().collect()));
    }
    if input.peek(token::Bracket) {
        let content;
        bracketed!(content in input);
        let values = content.parse_terminated(parse_json_value, Token![,])?;
        return Ok(JsonTemplate::Array(values.into_iter().collect()));
    }
    if input.peek(token::Paren) {
        let content;
        parenthesized!(content in input);
        return Ok(JsonTemplate::Rust(content.parse()?));
    }
    parse_scalar(input)
}

pub(super) fn parse_json_key(input: ParseStream<'_>) -> syn::Result<LitStr> {
    if input.peek(Ident::peek_any) {
        let all: TokenStream = input.fork().parse()?;
        let word = input.call(Ident::parse_any)?;
        return Err(if input.peek(Token![.]) {
            let path = source_text(&all);
            syn::Error::new_spanned(
                all,
                format!("a placeholder has two braces at each end: `{{{{{path}}}}}`"),
            )
        } else {
            syn::Error::new(
                word.span(),
                format!("a key is a string: write `\"{word}\": ...`"),
            )
        });
    }
    if (input.peek(Lit) && !input.peek(LitStr)) || input.peek(syn::Lifetime) {
        return Err(input.error("write a key in double quotes, like `\"id\"`"));
    }
    let key: LitStr = input.parse()?;
    if input.peek(Token![=]) {
        let text = key.value();
        return Err(input.error(format!("a key is followed by `:`, as in `\"{text}\": ...`")));
    }
    if key.value().contains("{{") {
        return Err(syn::Error::new(
            key.span(),
            "templates are values, not keys: for a key of its own write the object as \
             `(rust expression)`",
        ));
    }
    Ok(key)
}

/// `{{path}}`: a brace group whose only content is a brace group, which no JSON is.
pub(super) fn parse_placeholder(input: ParseStream<'_>) -> syn::Result<Option<PlaceholderPath>> {
    let ahead = input.fork();
    if let TokenTree::Group(outer) = ahead.parse()?
        && let mut inside = outer.stream().into_iter()
        && let Some(TokenTree::Group(inner)) = inside.next()
        && inside.next().is_none()
        && inner.delimiter() == Delimiter::Brace
    {
        input.parse::<TokenTree>()?;
        return PlaceholderPath::from_tokens(inner.stream(), inner.span()).map(Some);
    }
    Ok(None)
}

fn parse_scalar(input: ParseStream<'_>) -> syn::Result<JsonTemplate> {
    let minus = if input.parse::<Option<Token![-]>>()?.is_some() {
        "-"
    } else {
        ""
    };
    if minus.is_empty() && input.peek(LitStr) {
        let literal: LitStr = input.parse()?;
        let template = Template::parse(&literal)?;
        return Ok(match template.constant_text() {
            Some(text) => JsonTemplate::Constant(json_string(text)),
            None => JsonTemplate::Text(template),
        });
    }
    if input.peek(Lit) {
        let literal: Lit = input.parse()?;
        let text = match &literal {
            Lit::Int(int) if int.suffix().is_empty() => int.base10_digits().to_owned(),
            Lit::Float(float) if float.suffix().is_empty() => json_float(float.base10_digits()),
            Lit::Bool(flag) if minus.is_empty() => flag.value.to_string(),
            _ => return Err(syn::Error::new(literal.span(), "not a JSON value")),
        };
        return Ok(JsonTemplate::Constant(format!("{minus}{text}")));
    }
    if input.peek(Ident::peek_any) {
        let word = input.call(Ident::parse_any)?;
        if word == "null" {
            return Ok(JsonTemplate::Constant("null".to_owned()));
        }
        if ["None", "nil", "undefined"]
            .iter()
            .any(|other| word == other)
        {
            return Err(syn::Error::new(
                word.span(),
                format!("`{word}` is not a JSON value; nothing is `null`"),
            ));
        }
        while !input.is_empty() && !input.peek(Token![,]) {
            input.parse::<TokenTree>()?;
        }
        return Ok(JsonTemplate::Word(word));
    }
    Err(input.error("expected a JSON value"))
}

/// `1.` is a number in Rust alone.
fn json_float(digits: &str) -> String {
    if digits.ends_with('.') {
        format!("{digits}0")
    } else {
        digits.to_owned()
    }
}

/// `text` as a JSON string.
pub(crate) fn json_string(text: &str) -> String {
    format!("\"{}\"", escape_json(text))
}

/// `text` as the inside of a JSON string.
pub(crate) fn escape_json(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            c if c < ' ' => {
                let _ = write!(escaped, "\\u{:04x}", u32::from(c));
            }
            c => escaped.push(c),
        }
    }
    escaped
}
