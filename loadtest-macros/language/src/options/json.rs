//! `json = { "id": {{login.response.id}}, "note": "for {{login.response.name}}" }`.

use super::value::parse_error;
use crate::template::{PlaceholderPath, Template};
use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use std::fmt::Write as _;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Lit, LitStr, Token, braced, bracketed, parenthesized, token};

/// A value of JSON, or of a field, with places to fill.
pub(crate) enum TemplateValue {
    /// A number, a `bool` or `null`.
    Constant(String),
    /// A string, with placeholders or without.
    Text(Template),
    /// `file("data/me.png")`, in a field.
    File(LitStr),
    /// A placeholder outside of quotes: the value itself.
    Value(PlaceholderPath),
    /// A lone word, which is no JSON.
    Word(Ident),
    /// `(expression)`
    Rust(TokenStream),
    Array(Vec<TemplateValue>),
    Object(Vec<(LitStr, TemplateValue)>),
}

/// Parses the value of the option `key`, such as `json = ..`, behind its `=`.
pub(super) fn parse_json(key: &str, input: ParseStream<'_>) -> syn::Result<TemplateValue> {
    if let Ok(text) = input.fork().parse::<LitStr>() {
        let value = text.value();
        let value = value.trim();
        let is_object = value.starts_with('{') && value.ends_with('}') && !value.starts_with("{{");
        if is_object || (value.starts_with('[') && value.ends_with(']')) {
            return Err(input.error(format!(
                "this would send a JSON string; write the value without quotes: `{key} = {value}`"
            )));
        }
    }
    let value = parse_json_value(input)?;
    if input.is_empty() {
        Ok(value)
    } else {
        Err(input.error("expected the end of the JSON value"))
    }
}

pub(super) fn parse_json_value(input: ParseStream<'_>) -> syn::Result<TemplateValue> {
    if input.peek(token::Brace) {
        if let Some(path) = parse_placeholder(input)? {
            return Ok(TemplateValue::Value(path));
        }
        let content;
        braced!(content in input);
        let field = |input: ParseStream<'_>| {
            let key = parse_json_key(input)?;
            input.parse::<Token![:]>()?;
            Ok((key, parse_json_value(input)?))
        };
        let fields = content.parse_terminated(field, Token![,])?;
        return Ok(TemplateValue::Object(fields.into_iter().collect()));
    }
    if input.peek(token::Bracket) {
        let content;
        bracketed!(content in input);
        let values = content.parse_terminated(parse_json_value, Token![,])?;
        return Ok(TemplateValue::Array(values.into_iter().collect()));
    }
    if input.peek(token::Paren) {
        let content;
        parenthesized!(content in input);
        return Ok(TemplateValue::Rust(content.parse()?));
    }
    parse_scalar(input)
}

pub(super) fn parse_json_key(input: ParseStream<'_>) -> syn::Result<LitStr> {
    let word = input.fork().call(Ident::parse_any);
    let word = word.map_or_else(|_| "id".to_owned(), |word| word.to_string());
    let wanted = format!(
        "write a key in double quotes, like `\"{word}\"`; a placeholder has two braces at each end"
    );
    let key: LitStr = input
        .parse()
        .map_err(|error| parse_error(&error, &wanted))?;
    if !input.peek(Token![:]) {
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

fn parse_scalar(input: ParseStream<'_>) -> syn::Result<TemplateValue> {
    let minus = input.parse::<Option<Token![-]>>()?.map_or("", |_| "-");
    if minus.is_empty() && input.peek(LitStr) {
        return Template::parse(&input.parse()?).map(TemplateValue::Text);
    }
    if input.peek(Lit) {
        let literal: Lit = input.parse()?;
        let text = match &literal {
            Lit::Int(int) if int.suffix().is_empty() => int.base10_digits().to_owned(),
            // `1.` is a number of Rust, and none of JSON
            Lit::Float(float) if float.suffix().is_empty() => {
                float.base10_digits().trim_end_matches('.').to_owned()
            }
            Lit::Bool(flag) if minus.is_empty() => flag.value.to_string(),
            _ => return Err(syn::Error::new(literal.span(), "not a JSON value")),
        };
        return Ok(TemplateValue::Constant(format!("{minus}{text}")));
    }
    if input.peek(Ident::peek_any) {
        let word = input.call(Ident::parse_any)?;
        if word == "null" {
            return Ok(TemplateValue::Constant("null".to_owned()));
        }
        if input.peek(Token![!]) {
            let message = format!("this is JSON already: leave `{word}!(` and `)` out");
            return Err(syn::Error::new(word.span(), message));
        }
        while !input.is_empty() && !input.peek(Token![,]) {
            input.parse::<TokenTree>()?;
        }
        return Ok(TemplateValue::Word(word));
    }
    Err(input.error("expected a JSON value, or a Rust expression in parentheses: `(value)`"))
}

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
