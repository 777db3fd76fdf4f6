//! `header("x-client", "loadtest")`, `bearer = ".."` and `basic = ("ada", "lovelace")`.

use super::body::{parse_credentials, parse_two_texts};
use super::parse_assigned;
use super::value::check_header_name;
use crate::template::{Template, TemplatePart};
use proc_macro2::Span;
use syn::parse::ParseStream;
use syn::{LitStr, Token};

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
                Ok(Self::new(
                    "authorization",
                    span,
                    HeaderOptionValue::Basic(user, password),
                ))
            }
        }
    }

    fn new(name: &str, span: Span, value: HeaderOptionValue) -> Self {
        Self {
            name: name.to_ascii_lowercase(),
            span,
            value,
        }
    }

    pub(super) fn is_authorization(&self) -> bool {
        self.name == "authorization"
    }
}

fn parse_named_header(input: ParseStream<'_>) -> syn::Result<HeaderOption> {
    let (name, value) = parse_two_texts(input, NAME_AND_VALUE)?;
    let (name, span) = (name.value(), name.span());
    check_header_name(&name, span)?;
    let value = parse_header_text(&value)?;
    if name.eq_ignore_ascii_case("content-length") {
        return Err(syn::Error::new(
            span,
            "the length of the body is counted, not declared",
        ));
    }
    Ok(HeaderOption::new(
        &name,
        span,
        HeaderOptionValue::Text(value),
    ))
}

fn parse_bearer(input: ParseStream<'_>) -> syn::Result<HeaderOption> {
    let token: LitStr = parse_assigned(input)?;
    let text = LitStr::new(&format!("Bearer {}", token.value()), token.span());
    let value = HeaderOptionValue::Text(parse_header_text(&text)?);
    Ok(HeaderOption::new("authorization", token.span(), value))
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
