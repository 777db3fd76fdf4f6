//! `header("x-client", "loadtest")`, `bearer = ".."` and `basic = ("ada", "lovelace")`.

use super::body::parse_credentials;
use super::parse_assigned;
use super::value::check_header_name;
use crate::template::{Template, TemplatePart};
use proc_macro2::Span;
use syn::parse::ParseStream;
use syn::{LitStr, Token, parenthesized};

/// The options that are each a header.
pub(super) const HEADER_KEYS: [&str; 3] = ["header", "bearer", "basic"];

const NAME_AND_VALUE: &str =
    "a header has a name and a value, both in quotes: `header(\"x-client\", \"loadtest\")`";

/// A header of a step, or of all steps of a scenario.
#[derive(Clone)]
pub(crate) struct HeaderOption {
    /// Lower case.
    pub(crate) name: String,
    /// The place of the name, or of the credentials that stand for it.
    pub(crate) span: Span,
    pub(crate) value: HeaderOptionValue,
}

#[derive(Clone)]
pub(crate) enum HeaderOptionValue {
    Text(Template),
    /// User name and password.
    Basic(Template, Template),
}

impl HeaderOption {
    /// Parses the value after `key`.
    pub(super) fn parse(key: &str, input: ParseStream<'_>) -> syn::Result<Self> {
        match key {
            "header" => parse_named_header(input),
            "bearer" => parse_bearer(input),
            _ => {
                input.parse::<Token![=]>()?;
                let span = input.span();
                let (user, password) = parse_credentials(input)?;
                Ok(new_authorization(
                    span,
                    HeaderOptionValue::Basic(user, password),
                ))
            }
        }
    }

    pub(super) fn is_authorization(&self) -> bool {
        self.name == "authorization"
    }
}

fn new_authorization(span: Span, value: HeaderOptionValue) -> HeaderOption {
    HeaderOption {
        name: "authorization".to_owned(),
        span,
        value,
    }
}

fn parse_named_header(input: ParseStream<'_>) -> syn::Result<HeaderOption> {
    let content;
    parenthesized!(content in input);
    let (name, value) = parse_name_and_value(&content)
        .map_err(|error| syn::Error::new(error.span(), NAME_AND_VALUE))?;
    let span = name.span();
    check_header_name(&name.value(), span)?;
    let value = parse_header_text(&value)?;
    let name = name.value().to_ascii_lowercase();
    if name == "content-length" {
        return Err(syn::Error::new(
            span,
            "the length of the body is counted, not declared",
        ));
    }
    Ok(HeaderOption {
        name,
        span,
        value: HeaderOptionValue::Text(value),
    })
}

fn parse_name_and_value(input: ParseStream<'_>) -> syn::Result<(LitStr, LitStr)> {
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

fn parse_bearer(input: ParseStream<'_>) -> syn::Result<HeaderOption> {
    let token: LitStr = parse_assigned(input)?;
    let mut value = parse_header_text(&token)?;
    value
        .parts
        .insert(0, TemplatePart::Text("Bearer ".to_owned()));
    if let [TemplatePart::Text(_), TemplatePart::Text(token)] = value.parts.as_slice() {
        value.parts = vec![TemplatePart::Text(format!("Bearer {token}"))];
    }
    Ok(new_authorization(
        token.span(),
        HeaderOptionValue::Text(value),
    ))
}

fn parse_header_text(literal: &LitStr) -> syn::Result<Template> {
    let template = Template::parse(literal)?;
    for part in &template.parts {
        if let TemplatePart::Text(text) = part
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
