//! Parses the body and the credentials of a declared request.

use super::fields::{Field, FieldsOf, fields, file};
use super::json::{TemplateValue, parse_json};
use super::value::parse_error;
use crate::template::{Template, TemplatePart};
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::{LitStr, Token, parenthesized, token};

/// The body of a declared request.
pub(crate) enum BodyOption {
    Json(TemplateValue),
    Form(Vec<Field>),
    Multipart(Vec<Field>),
    Text(Template),
    File(LitStr),
}

impl BodyOption {
    /// Parses the value after `key =`.
    pub(super) fn parse(key: &str, input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(match key {
            "json" => Self::Json(parse_json(key, input)?),
            "form" => Self::Form(fields(input, FieldsOf::Form)?),
            "multipart" => Self::Multipart(fields(input, FieldsOf::Multipart)?),
            _ => match file(input)? {
                Some(path) => Self::File(path),
                None => Self::Text(parse_body_text(input)?),
            },
        })
    }

    /// Returns true if the body implies its content type. Text and files do not.
    pub(super) fn is_typed(&self) -> bool {
        matches!(self, Self::Json(_) | Self::Form(_) | Self::Multipart(_))
    }

    /// The option that declares it.
    pub(super) fn option_name(&self) -> &'static str {
        match self {
            Self::Json(_) => "json",
            Self::Form(_) => "form",
            Self::Multipart(_) => "multipart",
            Self::Text(_) | Self::File(_) => "body",
        }
    }
}

fn parse_body_text(input: ParseStream<'_>) -> syn::Result<Template> {
    let wanted = "a body is text or a file: `body = \"...\"` or `body = file(\"data/blob.bin\")`; others \
                  are `json`, `form` and `multipart`, or are built in a function with a body";
    let text: LitStr = input.parse().map_err(|error| parse_error(&error, wanted))?;
    Template::parse(&text)
}

/// Parses two texts in parentheses.
pub(super) fn parse_two_texts(
    input: ParseStream<'_>,
    wanted: &str,
) -> syn::Result<(LitStr, LitStr)> {
    if !input.peek(token::Paren) {
        return Err(input.error(wanted));
    }
    let content;
    parenthesized!(content in input);
    let texts = content
        .call(Punctuated::<LitStr, Token![,]>::parse_terminated)
        .map_err(|error| parse_error(&error, wanted))?;
    match <[LitStr; 2]>::try_from(texts.into_iter().collect::<Vec<_>>()) {
        Ok([first, second]) => Ok((first, second)),
        Err(_) => Err(content.error(wanted)),
    }
}

/// `("ada", "lovelace")`
pub(super) fn parse_credentials(input: ParseStream<'_>) -> syn::Result<(Template, Template)> {
    let wanted = "`basic` takes a user name and a password: `basic = (\"ada\", \"lovelace\")`";
    let (user, password) = parse_two_texts(input, wanted)?;
    let name = Template::parse(&user)?;
    let has_colon =
        |part: &TemplatePart| matches!(part, TemplatePart::Text(text) if text.contains(':'));
    if name.parts.iter().any(has_colon) {
        return Err(syn::Error::new(
            user.span(),
            "the user name of a `basic` authorization cannot contain `:`",
        ));
    }
    Ok((name, Template::parse(&password)?))
}
