//! `form = { "user": "ada", "id": {{login.response.id}} }`, and what else is made of named texts.

use super::json::{TemplateValue, parse_json_key, parse_json_value};
use super::value::parse_error;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Ident, LitStr, Token, braced, parenthesized, token};

/// The kind of body that the fields form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldsOf {
    Query,
    Form,
    Multipart,
}

/// `"name": value`; the value is a single one, or a file.
pub(crate) struct Field {
    pub(crate) name: LitStr,
    pub(crate) value: TemplateValue,
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
            "the fields are in braces: `{option} = {{ \"name\": \"value\" }}`"
        )));
    }
    let content;
    let braces = braced!(content in input);
    let mut fields = Vec::new();
    while !content.is_empty() {
        let name = parse_json_key(&content)?;
        content.parse::<Token![:]>()?;
        let value = parse_field_value(&content, of)?;
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
    let wanted = "a file is named by its path in the package: `file(\"data/me.png\")`";
    let path: LitStr = content
        .parse()
        .map_err(|error| parse_error(&error, wanted))?;
    content.parse::<Option<Token![,]>>()?;
    let text = path.value();
    if !content.is_empty() || text.is_empty() || text.ends_with('/') {
        return Err(syn::Error::new(path.span(), wanted));
    }
    if text.contains("{{") {
        return Err(syn::Error::new(
            path.span(),
            "a file is read before the load, so its path cannot be a template",
        ));
    }
    Ok(Some(path))
}

fn parse_field_value(input: ParseStream<'_>, of: FieldsOf) -> syn::Result<TemplateValue> {
    let span = input.span();
    let refused = match file(input)? {
        Some(path) if of == FieldsOf::Multipart => return Ok(TemplateValue::File(path)),
        Some(_) => "a file is sent as `body = file(\"..\")`, or as a part of `multipart = { .. }`",
        None => match parse_json_value(input)? {
            TemplateValue::Array(_) | TemplateValue::Object(_) => {
                "a field is text, a number or a `bool`; for several values of one name write the name \
                 again"
            }
            TemplateValue::Constant(text) if text == "null" => {
                "a field is text, a number or a `bool`; one that has no value is left out"
            }
            value => return Ok(value),
        },
    };
    Err(syn::Error::new(span, refused))
}
