//! Resolves the query, the body and the files of a declared request.

use super::request::{RequestPiece, RequestResolver, ValueEncoding, push_text};
use crate::options::{BodyOption, Field, TemplateValue};
use crate::template::TemplatePart;
use proc_macro2::Ident;
use std::fmt::Write as _;
use syn::LitStr;

/// The body of a declared request.
pub(crate) enum ResolvedBody {
    /// Text; the type is that of the body unless a header names another.
    Text {
        pieces: Vec<RequestPiece>,
        content_type: &'static str,
    },
    /// The file with that number.
    File(usize),
    Multipart {
        boundary: String,
        pieces: Vec<RequestPiece>,
    },
}

/// The files of a request, which all users share.
#[derive(Default)]
pub(crate) struct RequestFiles(pub(crate) Vec<LitStr>);

impl RequestFiles {
    fn add_file(&mut self, path: &LitStr) -> usize {
        let same = |known: &LitStr| known.value() == path.value();
        self.0.iter().position(same).unwrap_or_else(|| {
            self.0.push(path.clone());
            self.0.len() - 1
        })
    }
}

impl ResolvedBody {
    pub(crate) fn pieces(&self) -> &[RequestPiece] {
        match self {
            Self::Text { pieces, .. } | Self::Multipart { pieces, .. } => pieces,
            Self::File(_) => &[],
        }
    }

    /// Returns true if the body consists of files and constant text, so it is built once.
    pub(crate) fn is_made_once(&self) -> bool {
        let varies = |piece: &RequestPiece| {
            matches!(piece, RequestPiece::Value(..) | RequestPiece::Rust(..))
        };
        let reads = |piece: &RequestPiece| matches!(piece, RequestPiece::File(_));
        matches!(self, Self::Multipart { pieces, .. }
            if pieces.iter().any(reads) && !pieces.iter().any(varies))
    }
}

impl RequestResolver<'_> {
    /// The fields behind the query that `url` has already.
    pub(super) fn resolve_query(&mut self, fields: &[Field], url: &mut Vec<RequestPiece>) {
        if fields.is_empty() {
            return;
        }
        let is_in_text =
            |piece: &RequestPiece| matches!(piece, RequestPiece::Text(text) if text.contains('?'));
        if let Some(RequestPiece::Value(..) | RequestPiece::Rust(..)) = url.first() {
            url.push(RequestPiece::BeginQuery);
        } else if let Some(RequestPiece::Text(last)) = url.last()
            && last.ends_with(['?', '&'])
        {
            // the next pair may follow at once
        } else if url.iter().any(is_in_text) {
            push_text(url, "&");
        } else {
            push_text(url, "?");
        }
        self.resolve_pairs(fields, ValueEncoding::Query, url);
    }

    pub(super) fn resolve_body(
        &mut self,
        body: &BodyOption,
        files: &mut RequestFiles,
        boundary: &str,
    ) -> ResolvedBody {
        let mut pieces = Vec::new();
        let content_type = match body {
            BodyOption::Json(json) => {
                self.resolve_json(json, &mut pieces);
                "application/json"
            }
            BodyOption::Form(fields) => {
                self.resolve_pairs(fields, ValueEncoding::Form, &mut pieces);
                "application/x-www-form-urlencoded"
            }
            BodyOption::Text(template) => {
                pieces = self.resolve_template(template, ValueEncoding::Raw);
                "text/plain; charset=utf-8"
            }
            BodyOption::File(path) => return ResolvedBody::File(files.add_file(path)),
            BodyOption::Multipart(fields) => {
                for field in fields {
                    self.resolve_part(field, files, boundary, &mut pieces);
                }
                push_text(&mut pieces, &format!("--{boundary}--\r\n"));
                return ResolvedBody::Multipart {
                    boundary: boundary.to_owned(),
                    pieces,
                };
            }
        };
        ResolvedBody::Text {
            pieces,
            content_type,
        }
    }

    /// `a=1&b=2`
    fn resolve_pairs(
        &mut self,
        fields: &[Field],
        sink: ValueEncoding,
        pieces: &mut Vec<RequestPiece>,
    ) {
        for (i, field) in fields.iter().enumerate() {
            push_text(pieces, if i > 0 { "&" } else { "" });
            push_text(pieces, &encode_text(&field.name.value(), sink));
            push_text(pieces, "=");
            self.resolve_field(&field.value, sink, pieces);
        }
    }

    /// A part of a form as RFC 7578 has it.
    fn resolve_part(
        &mut self,
        field: &Field,
        files: &mut RequestFiles,
        boundary: &str,
        pieces: &mut Vec<RequestPiece>,
    ) {
        let name = quote_part_name(&field.name.value());
        let head = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"");
        push_text(pieces, &head);
        if let TemplateValue::File(path) = &field.value {
            let file = files.add_file(path);
            let path = path.value();
            let name = quote_part_name(path.rsplit('/').next().unwrap_or_default());
            push_text(pieces, &format!("; filename=\"{name}\"\r\nContent-Type: "));
            pieces.push(RequestPiece::FileType(file));
            push_text(pieces, "\r\n\r\n");
            pieces.push(RequestPiece::File(file));
        } else {
            push_text(pieces, "\r\n\r\n");
            self.resolve_field(&field.value, ValueEncoding::Raw, pieces);
        }
        push_text(pieces, "\r\n");
    }

    fn resolve_field(
        &mut self,
        value: &TemplateValue,
        sink: ValueEncoding,
        pieces: &mut Vec<RequestPiece>,
    ) {
        match value {
            TemplateValue::Constant(text) => push_text(pieces, &encode_text(text, sink)),
            TemplateValue::Text(template) => {
                for part in &template.parts {
                    match part {
                        TemplatePart::Text(text) => push_text(pieces, &encode_text(text, sink)),
                        TemplatePart::Value(path) => pieces.extend(self.resolve_value(path, sink)),
                    }
                }
            }
            TemplateValue::Value(path) => pieces.extend(self.resolve_value(path, sink)),
            TemplateValue::Word(word) => self.refuse_word(word, "the value of a field"),
            TemplateValue::Rust(expression) => {
                pieces.push(RequestPiece::Rust(expression.clone(), sink));
            }
            // files are parts only, and written there; no field is one of the others
            TemplateValue::File(_) | TemplateValue::Array(_) | TemplateValue::Object(_) => {}
        }
    }

    /// Refuses a word in the place of a value.
    pub(super) fn refuse_word(&mut self, word: &Ident, wanted: &str) {
        self.errors.add_at(
            word.span(),
            format!(
                "`{word}` is not {wanted}; write `{{{{{word}...}}}}` for a value of a step, a feed, a state or a setup, or \
                 `({word})` for a Rust expression"
            ),
        );
    }
}

/// Encodes constant text for a query or a form, as values are encoded at run time.
pub(super) fn encode_text(text: &str, sink: ValueEncoding) -> String {
    let kept: &[u8] = match sink {
        ValueEncoding::Query => b"-._~",
        ValueEncoding::Form => b"*-._",
        _ => return text.to_owned(),
    };
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || kept.contains(&byte) {
            encoded.push(char::from(byte));
        } else if byte == b' ' && sink == ValueEncoding::Form {
            encoded.push('+');
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// The name of a part or of its file
/// (<https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data>).
fn quote_part_name(name: &str) -> String {
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
            encode_text(text, ValueEncoding::Query),
            "a%20b%26c%3Dd%2Be%23f%25g%2F%C3%A9~%2A"
        );
        assert_eq!(
            encode_text(text, ValueEncoding::Form),
            "a+b%26c%3Dd%2Be%23f%25g%2F%C3%A9%7E*"
        );
        assert_eq!(encode_text(text, ValueEncoding::Raw), text);
        assert_eq!(quote_part_name("a\"b\r\n"), "a%22b%0D%0A");
    }
}
