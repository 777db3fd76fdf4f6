//! Reads the bodies of requests and answers.

use super::entry::HarEntry;
use super::multipart::{find_boundary, parse_parts};
use crate::document::Node;
use crate::recording::{BOUNDARY, Body, Part, Text};
use crate::source::Note;
use crate::text::URL_ENCODED;
use base64::prelude::{BASE64_STANDARD, Engine as _};

/// Largest body of an answer that is kept, in bytes.
const LARGEST_ANSWER: usize = 1024 * 1024;

/// Body of a request, and the `content-type` to send instead of the recorded one.
type TypedBody = (Body, Option<String>);

/// Reads the body of a request.
pub(super) fn read_request_body(entry: &HarEntry<'_>, notes: &mut Vec<Note>) -> TypedBody {
    let mut warn = |words: String| notes.push(Note::new(entry.span.clone(), words));
    if let Some(data) = entry.post_data() {
        let recorded = entry
            .request_header("content-type")
            .filter(|own| !own.is_empty());
        let mime = data
            .text_of("mimeType")
            .map(str::trim)
            .filter(|mime| is_media_type(mime));
        let content_type = recorded.or(mime).unwrap_or_default();
        // A header of the request stays as it is.
        let missing_type = mime.filter(|_| recorded.is_none()).map(str::to_owned);
        let text = data.text_of("text").unwrap_or_default();
        if !text.is_empty() {
            return read_text(data, text, content_type, missing_type, &mut warn);
        }
        let params = data.get("params").map(Node::items).unwrap_or_default();
        if !params.is_empty() {
            return read_params(params, content_type, missing_type, &mut warn);
        }
    }
    if entry.body_size() > 0.0 {
        warn("its body is not in the archive: none is sent".to_owned());
    }
    (Body::None, None)
}

fn read_text(
    data: &Node<'_>,
    text: &str,
    content_type: &str,
    missing_type: Option<String>,
    warn: &mut dyn FnMut(String),
) -> TypedBody {
    let bytes = decode_text(text, data);
    let Ok(text) = std::str::from_utf8(&bytes) else {
        return (Body::Text(Text::from_bytes(bytes)), missing_type);
    };
    let parts = find_boundary(content_type).and_then(|boundary| parse_parts(text, boundary));
    if let Some(parts) = parts {
        return to_form(parts, warn);
    }
    if text.contains('\u{fffd}') {
        warn("its body is not text, and the archive has it damaged".to_owned());
    }
    (Body::Text(Text::literal(text)), missing_type)
}

fn read_params(
    params: &[Node<'_>],
    content_type: &str,
    missing_type: Option<String>,
    warn: &mut dyn FnMut(String),
) -> TypedBody {
    let has_files = params
        .iter()
        .any(|param| param.text_of("fileName").is_some());
    if has_files || is_type(content_type, "multipart/") {
        return to_form(params.iter().map(read_part).collect(), warn);
    }
    let pairs: Vec<(String, String)> = params.iter().map(read_pair).collect();
    if let [(name, value)] = pairs.as_slice()
        && value.is_empty()
        && !is_type(content_type, URL_ENCODED)
    {
        // A proxy that takes any text for a form has all of it as the name of a field.
        return (Body::Text(Text::literal(name)), missing_type);
    }
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    let form = form.extend_pairs(&pairs).finish();
    let usual_type = content_type.is_empty().then(|| URL_ENCODED.to_owned());
    (Body::Text(Text::literal(form)), usual_type.or(missing_type))
}

/// Returns a form with our own boundary, and warns of files without content.
fn to_form(parts: Vec<Part>, warn: &mut dyn FnMut(String)) -> TypedBody {
    for part in parts.iter().filter(|part| part.content.is_empty()) {
        let name = part.file_name.as_ref().and_then(Text::as_literal);
        let name: String = name.unwrap_or_default().chars().take(60).collect();
        if !name.is_empty() {
            warn(format!(
                "the content of the file `{name}` is not in the archive: an empty one is sent"
            ));
        }
    }
    let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
    (Body::Multipart(parts), Some(content_type))
}

fn read_pair(param: &Node<'_>) -> (String, String) {
    let text = |name: &str| {
        let value = param.get(name).and_then(Node::scalar);
        value.unwrap_or_default().into_owned()
    };
    (text("name"), text("value"))
}

fn read_part(param: &Node<'_>) -> Part {
    let (name, value) = read_pair(param);
    let content_type = param.text_of("contentType").map(str::trim);
    Part {
        name: Text::literal(name),
        file_name: param.text_of("fileName").map(Text::from),
        content_type: content_type
            .filter(|text| is_media_type(text))
            .map(str::to_owned),
        content: Text::literal(value),
    }
}

/// Reads the body of an answer. It is empty if it was not recorded, or is too large.
pub(super) fn read_answer_body(entry: &HarEntry<'_>) -> Vec<u8> {
    let Some(content) = entry.content() else {
        return Vec::new();
    };
    let text = content.text_of("text").unwrap_or_default();
    let bytes = decode_text(text, content);
    if bytes.len() > LARGEST_ANSWER {
        return Vec::new();
    }
    bytes
}

fn is_media_type(text: &str) -> bool {
    text.contains('/') && !text.contains(char::is_control)
}

fn is_type(content_type: &str, known: &str) -> bool {
    content_type.to_ascii_lowercase().starts_with(known)
}

/// Returns the bytes of a text that may be encoded.
fn decode_text(text: &str, node: &Node<'_>) -> Vec<u8> {
    let decode = || {
        let plain = text.split_ascii_whitespace().collect::<String>();
        BASE64_STANDARD.decode(plain).ok()
    };
    let encoding = node.text_of("encoding").unwrap_or_default();
    let is_base64 = encoding.eq_ignore_ascii_case("base64");
    let decoded = is_base64.then(decode).flatten();
    decoded.unwrap_or_else(|| text.as_bytes().to_vec())
}
