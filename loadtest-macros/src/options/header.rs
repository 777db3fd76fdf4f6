//! `header("x-client", "loadtest")`, `bearer = ".."` and `basic = ("ada", "lovelace")`.

use super::assigned;
use super::body::credentials;
use super::value::header_name;
use crate::template::{Part, Template};
use proc_macro2::Span;
use syn::parse::ParseStream;
use syn::{LitStr, Token, parenthesized};

/// The options that are each a header.
pub(super) const HEADER_KEYS: [&str; 3] = ["header", "bearer", "basic"];

const NAME_AND_VALUE: &str =
    "a header has a name and a value, both in quotes: `header(\"x-client\", \"loadtest\")`";

/// A header of a step, or of all steps of a scenario.
#[derive(Clone)]
pub(crate) struct Header {
    /// In lower case.
    pub(crate) name: String,
    /// The place of the name, or of the credentials that stand for it.
    pub(crate) span: Span,
    pub(crate) value: HeaderValue,
}

#[derive(Clone)]
pub(crate) enum HeaderValue {
    Text(Template),
    /// User name and password.
    Basic(Template, Template),
}

impl Header {
    /// What follows `key`.
    pub(super) fn parse(key: &str, input: ParseStream<'_>) -> syn::Result<Self> {
        match key {
            "header" => named(input),
            "bearer" => bearer(input),
            _ => {
                input.parse::<Token![=]>()?;
                let span = input.span();
                let (user, password) = credentials(input)?;
                Ok(authorization(span, HeaderValue::Basic(user, password)))
            }
        }
    }

    pub(super) fn is_authorization(&self) -> bool {
        self.name == "authorization"
    }
}

fn authorization(span: Span, value: HeaderValue) -> Header {
    Header {
        name: "authorization".to_owned(),
        span,
        value,
    }
}

fn named(input: ParseStream<'_>) -> syn::Result<Header> {
    let content;
    parenthesized!(content in input);
    let (name, value) =
        pair(&content).map_err(|error| syn::Error::new(error.span(), NAME_AND_VALUE))?;
    let span = name.span();
    header_name(&name.value(), span)?;
    let value = text(&value)?;
    let name = name.value().to_ascii_lowercase();
    if name == "content-length" {
        return Err(syn::Error::new(
            span,
            "the length of the body is counted, not declared",
        ));
    }
    Ok(Header {
        name,
        span,
        value: HeaderValue::Text(value),
    })
}

fn pair(input: ParseStream<'_>) -> syn::Result<(LitStr, LitStr)> {
    let name = input.parse()?;
    input.parse::<Token![,]>()?;
    let value = input.parse()?;
    input.parse::<Option<Token![,]>>()?;
    if input.is_empty() {
        Ok((name, value))
    } else {
        Err(input.error(NAME_AND_VALUE))
    }
}

fn bearer(input: ParseStream<'_>) -> syn::Result<Header> {
    let token: LitStr = assigned(input)?;
    let mut value = text(&token)?;
    value.parts.insert(0, Part::Text("Bearer ".to_owned()));
    if let [Part::Text(_), Part::Text(token)] = value.parts.as_slice() {
        value.parts = vec![Part::Text(format!("Bearer {token}"))];
    }
    Ok(authorization(token.span(), HeaderValue::Text(value)))
}

fn text(literal: &LitStr) -> syn::Result<Template> {
    let template = Template::parse(literal)?;
    for part in &template.parts {
        if let Part::Text(text) = part
            && let Some(bad) = text
                .chars()
                .find(|&c| c != '\t' && !(' '..='~').contains(&c))
        {
            return Err(syn::Error::new(
                literal.span(),
                format!("a header value cannot contain {bad:?}"),
            ));
        }
    }
    Ok(template)
}
