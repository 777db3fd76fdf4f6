//! `form = { "user": "ada", "id": {{login.response.id}} }`, and what else is made of named texts.

use super::json::{parse_json_key, parse_placeholder};
use crate::template::{PlaceholderPath, Template, TemplatePart};
use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Lit, LitStr, Token, braced, parenthesized, token};

/// The kind of body that the fields form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldsOf {
    Query,
    Form,
    Multipart,
}

/// `"name": value`
pub(crate) struct Field {
    pub(crate) name: LitStr,
    pub(crate) value: FieldValue,
}

/// Text, however it comes about, or a file.
pub(crate) enum FieldValue {
    Text(Template),
    /// A placeholder outside of quotes.
    Value(PlaceholderPath),
    /// A lone word, which is no text.
    Word(Ident),
    /// `(expression)`
    Rust(TokenStream),
    /// `file("data/me.png")`
    File(LitStr),
}

impl FieldsOf {
    fn key(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Form => "form",
            Self::Multipart => "multipart",
        }
    }
}

/// `{ "name": value, .. }`, in order; a name may come again.
pub(super) fn fields(input: ParseStream<'_>, of: FieldsOf) -> syn::Result<Vec<Field>> {
    let option = of.key();
    if !input.peek(token::Brace) {
        return Err(input.error(format!(
            "the fields stand in braces: `{option} = {{ \"name\": \"value\" }}`"
        )));
    }
    let content;
    let braces = braced!(content in input);
    let mut fields = Vec::new();
    while !content.is_empty() {
        let name = parse_json_key(&content)?;
        content.parse::<Token![:]>()?;
        let value = value(&content, of)?;
        fields.push(Field { name, value });
        if !content.is_empty() {
            content.parse::<Token![,]>()?;
        }
    }
    if fields.is_empty() && of == FieldsOf::Multipart {
        return Err(syn::Error::new(
            braces.span.join(),
            "a form with parts has at least one: `multipart = { \"name\": \"value\" }`",
        ));
    }
    if !input.is_empty() {
        return Err(input.error(format!("expected the end of `{option} = {{ .. }}`")));
    }
    Ok(fields)
}

/// Parses `file("data/me.png")`, if that is next.
pub(super) fn file(input: ParseStream<'_>) -> syn::Result<Option<LitStr>> {
    let is_file = input.peek(Ident::peek_any)
        && input.peek2(token::Paren)
        && input.fork().call(Ident::parse_any)? == "file";
    if !is_file {
        return Ok(None);
    }
    input.call(Ident::parse_any)?;
    let content;
    parenthesized!(content in input);
    let path: LitStr = content.parse().map_err(|error| {
        syn::Error::new(
            error.span(),
            "a file is named by its path in the package: `file(\"data/me.png\")`",
        )
    })?;
    content.parse::<Option<Token![,]>>()?;
    if !content.is_empty() {
        return Err(content.error("a file has a path and nothing else"));
    }
    let text = path.value();
    if text.is_empty() || text.ends_with('/') {
        return Err(syn::Error::new(
            path.span(),
            "a file is named by its path in the package: `file(\"data/me.png\")`",
        ));
    }
    if text.contains("{{") {
        return Err(syn::Error::new(
            path.span(),
            "a file is read before the load, so its path is no template",
        ));
    }
    Ok(Some(path))
}

fn value(input: ParseStream<'_>, of: FieldsOf) -> syn::Result<FieldValue> {
    if let Some(path) = file(input)? {
        return match of {
            FieldsOf::Multipart => Ok(FieldValue::File(path)),
            FieldsOf::Form | FieldsOf::Query => Err(syn::Error::new(
                path.span(),
                "a file is sent as `body = file(\"..\")`, or as a part of `multipart = { .. }`",
            )),
        };
    }
    if input.peek(token::Brace)
        && let Some(path) = parse_placeholder(input)?
    {
        return Ok(FieldValue::Value(path));
    }
    if input.peek(token::Brace) || input.peek(token::Bracket) {
        let group: TokenTree = input.parse()?;
        return Err(syn::Error::new(
            group.span(),
            "a field is text, a number or a `bool`; for several values of one name write the name \
             again",
        ));
    }
    if input.peek(token::Paren) {
        let content;
        parenthesized!(content in input);
        return Ok(FieldValue::Rust(content.parse()?));
    }
    scalar(input)
}

fn scalar(input: ParseStream<'_>) -> syn::Result<FieldValue> {
    if input.peek(LitStr) {
        let literal: LitStr = input.parse()?;
        return Template::parse(&literal).map(FieldValue::Text);
    }
    let minus = input.parse::<Option<Token![-]>>()?;
    let sign = if minus.is_some() { "-" } else { "" };
    if input.peek(Lit) {
        let literal: Lit = input.parse()?;
        let text = match &literal {
            Lit::Int(int) if int.suffix().is_empty() => int.base10_digits().to_owned(),
            Lit::Float(float) if float.suffix().is_empty() => float.base10_digits().to_owned(),
            Lit::Bool(flag) if minus.is_none() => flag.value.to_string(),
            _ => {
                return Err(syn::Error::new(
                    literal.span(),
                    "a field is text, a number or a `bool`",
                ));
            }
        };
        return Ok(FieldValue::Text(Template {
            span: literal.span(),
            parts: vec![TemplatePart::Text(format!("{sign}{text}"))],
        }));
    }
    if input.peek(Ident::peek_any) {
        let word = input.call(Ident::parse_any)?;
        if word == "null" {
            return Err(syn::Error::new(
                word.span(),
                "a field is text, a number or a `bool`; one that has no value is left out",
            ));
        }
        while !input.is_empty() && !input.peek(Token![,]) {
            input.parse::<TokenTree>()?;
        }
        return Ok(FieldValue::Word(word));
    }
    Err(input.error("expected the value of the field"))
}
