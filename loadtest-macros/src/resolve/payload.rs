//! What a declared request carries: query, body, files.

use super::request::{Piece, Resolver, Sink, push_text};
use crate::options::{Body, Field, FieldValue};
use crate::template::Part;
use proc_macro2::Ident;
use std::fmt::Write as _;
use syn::LitStr;

/// The body of a declared request.
pub(crate) enum Payload {
    /// Text; the type is that of the body unless a header names another.
    Text {
        pieces: Vec<Piece>,
        content_type: &'static str,
    },
    /// The file with that number.
    File(usize),
    Multipart {
        boundary: String,
        pieces: Vec<Piece>,
    },
}

/// What all users read of a request's files.
#[derive(Default)]
pub(crate) struct Files(pub(crate) Vec<LitStr>);

impl Files {
    fn add(&mut self, path: &LitStr) -> usize {
        let same = |known: &LitStr| known.value() == path.value();
        self.0.iter().position(same).unwrap_or_else(|| {
            self.0.push(path.clone());
            self.0.len() - 1
        })
    }
}

impl Payload {
    pub(crate) fn pieces(&self) -> &[Piece] {
        match self {
            Self::Text { pieces, .. } | Self::Multipart { pieces, .. } => pieces,
            Self::File(_) => &[],
        }
    }

    /// Whether it is made of files and constant text, so that it is made once.
    pub(crate) fn is_made_once(&self) -> bool {
        let varies = |piece: &Piece| matches!(piece, Piece::Value(..) | Piece::Rust(..));
        let reads = |piece: &Piece| matches!(piece, Piece::File(_));
        matches!(self, Self::Multipart { pieces, .. }
            if pieces.iter().any(reads) && !pieces.iter().any(varies))
    }
}

impl Resolver<'_> {
    /// The fields behind the query that `url` has already.
    pub(super) fn query(&mut self, fields: &[Field], url: &mut Vec<Piece>) {
        if fields.is_empty() {
            return;
        }
        let is_in_text = |piece: &Piece| matches!(piece, Piece::Text(text) if text.contains('?'));
        if let Some(Piece::Value(..)) = url.first() {
            url.push(Piece::BeginQuery);
        } else if let Some(Piece::Text(last)) = url.last()
            && last.ends_with(['?', '&'])
        {
            // the next pair may follow at once
        } else if url.iter().any(is_in_text) {
            push_text(url, "&");
        } else {
            push_text(url, "?");
        }
        self.pairs(fields, Sink::Query, url);
    }

    pub(super) fn payload(&mut self, body: &Body, files: &mut Files, boundary: &str) -> Payload {
        let mut pieces = Vec::new();
        let content_type = match body {
            Body::Json(json) => {
                self.json(json, &mut pieces);
                "application/json"
            }
            Body::Form(fields) => {
                self.pairs(fields, Sink::Form, &mut pieces);
                "application/x-www-form-urlencoded"
            }
            Body::Text(template) => {
                pieces = self.pieces(template, Sink::Raw);
                "text/plain; charset=utf-8"
            }
            Body::File(path) => return Payload::File(files.add(path)),
            Body::Multipart(fields) => {
                for field in fields {
                    self.part(field, files, boundary, &mut pieces);
                }
                push_text(&mut pieces, &format!("--{boundary}--\r\n"));
                return Payload::Multipart {
                    boundary: boundary.to_owned(),
                    pieces,
                };
            }
        };
        Payload::Text {
            pieces,
            content_type,
        }
    }

    /// `a=1&b=2`
    fn pairs(&mut self, fields: &[Field], sink: Sink, pieces: &mut Vec<Piece>) {
        for (i, field) in fields.iter().enumerate() {
            push_text(pieces, if i > 0 { "&" } else { "" });
            push_text(pieces, &encoded(&field.name.value(), sink));
            push_text(pieces, "=");
            self.field(&field.value, sink, pieces);
        }
    }

    /// A part of a form as RFC 7578 has it.
    fn part(&mut self, field: &Field, files: &mut Files, boundary: &str, pieces: &mut Vec<Piece>) {
        let name = in_quotes(&field.name.value());
        let head = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"");
        push_text(pieces, &head);
        if let FieldValue::File(path) = &field.value {
            let file = files.add(path);
            let path = path.value();
            let name = in_quotes(path.rsplit('/').next().unwrap_or_default());
            push_text(pieces, &format!("; filename=\"{name}\"\r\nContent-Type: "));
            pieces.push(Piece::FileType(file));
            push_text(pieces, "\r\n\r\n");
            pieces.push(Piece::File(file));
        } else {
            push_text(pieces, "\r\n\r\n");
            self.field(&field.value, Sink::Raw, pieces);
        }
        push_text(pieces, "\r\n");
    }

    fn field(&mut self, value: &FieldValue, sink: Sink, pieces: &mut Vec<Piece>) {
        match value {
            FieldValue::Text(template) => {
                for part in &template.parts {
                    match part {
                        Part::Text(text) => push_text(pieces, &encoded(text, sink)),
                        Part::Value(path) => pieces.extend(self.value(path, sink)),
                    }
                }
            }
            FieldValue::Value(path) => pieces.extend(self.value(path, sink)),
            FieldValue::Word(word) => self.refuse_word(word, "the value of a field"),
            FieldValue::Rust(expression) => self.rust(expression, sink, pieces),
            // parts only, and written there
            FieldValue::File(_) => {}
        }
    }

    /// A word that stands where a value is expected.
    pub(super) fn refuse_word(&mut self, word: &Ident, wanted: &str) {
        let name = word.to_string();
        let is_feed = self.names.feed(&name).is_some();
        let whose = if is_feed { "feed" } else { "step" };
        let expression = if is_feed || self.names.is_step(&name) {
            String::new()
        } else {
            format!(" or `({word})` for a Rust expression")
        };
        self.errors.at(
            word.span(),
            format!(
                "`{word}` is not {wanted}; write `{{{{{word}...}}}}` for a {whose}'s \
                 value{expression}"
            ),
        );
    }
}

/// Text as it stands in a query or in a form, the same as values at run time.
pub(super) fn encoded(text: &str, sink: Sink) -> String {
    let kept: &[u8] = match sink {
        Sink::Query => b"-._~",
        Sink::Form => b"*-._",
        _ => return text.to_owned(),
    };
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || kept.contains(&byte) {
            encoded.push(char::from(byte));
        } else if byte == b' ' && sink == Sink::Form {
            encoded.push('+');
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// The name of a part or of its file
/// (<https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data>).
fn in_quotes(name: &str) -> String {
    name.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_encoded_as_its_place_asks() {
        let text = "a b&c=d+e#f%g/é~*";
        assert_eq!(
            encoded(text, Sink::Query),
            "a%20b%26c%3Dd%2Be%23f%25g%2F%C3%A9~%2A"
        );
        assert_eq!(
            encoded(text, Sink::Form),
            "a+b%26c%3Dd%2Be%23f%25g%2F%C3%A9%7E*"
        );
        assert_eq!(encoded(text, Sink::Raw), text);
        assert_eq!(in_quotes("a\"b\r\n"), "a%22b%0D%0A");
    }
}
