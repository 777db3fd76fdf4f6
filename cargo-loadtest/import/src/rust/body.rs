//! Kinds of bodies, which attributes and functions write alike.

use super::json::{JsonText, is_json_type};
use crate::hiding::is_usual_form;
use crate::recording::{BOUNDARY, Body, Exchange, Flat, Header, Part, Recording, Text};
use crate::text::{URL_ENCODED, form_decode};

/// The kind of a body.
pub(super) enum BodyKind<'a> {
    None,
    Json(JsonText),
    /// The decoded pairs of a form; values are the characters of the [`Flat`].
    Form(Flat, Vec<(String, String)>),
    Multipart(&'a [Part]),
    Text(&'a Text),
}

impl<'a> BodyKind<'a> {
    /// Returns the kind of the body of a request.
    pub(super) fn new(exchange: &'a Exchange, recording: &Recording) -> Self {
        let content_type = exchange.content_type().unwrap_or_default();
        let text = match &exchange.body {
            Body::None => return Self::None,
            Body::Multipart(parts) => return Self::Multipart(parts),
            Body::Text(text) => text,
        };
        let kind = if is_json_type(content_type) {
            JsonText::parse(text, recording).map(Self::Json)
        } else if content_type == URL_ENCODED {
            parse_form(text)
        } else {
            None
        };
        kind.unwrap_or(Self::Text(text))
    }

    /// Returns true for a header that the body sets by itself.
    pub(super) fn implies(&self, header: &Header) -> bool {
        let value = header.value.as_literal().unwrap_or_default();
        let is_implied = match self {
            Self::None | Self::Text(_) => false,
            Self::Json(_) => value == "application/json",
            Self::Form(..) => value == URL_ENCODED,
            Self::Multipart(_) => without_boundary(value) == "multipart/form-data",
        };
        is_implied && header.name.eq_ignore_ascii_case("content-type")
    }
}

/// Removes the boundary, which is set anew.
pub(super) fn without_boundary(content_type: &str) -> &str {
    let boundary = format!("; boundary={BOUNDARY}");
    content_type.strip_suffix(&boundary).unwrap_or(content_type)
}

/// Parses a form, where encoding its pairs gives the same text.
fn parse_form(text: &Text) -> Option<BodyKind<'_>> {
    let flat = text.flat();
    let is_fit = !text.is_empty() && !text.is_binary() && is_usual_form(&flat);
    let pairs = flat.text.split('&').filter_map(|pair| pair.split_once('='));
    let pairs = pairs.map(|(name, value)| (form_decode(name), form_decode(value)));
    let pairs = pairs.collect();
    is_fit.then_some(BodyKind::Form(flat, pairs))
}
