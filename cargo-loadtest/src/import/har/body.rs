//! The bodies of requests and answers, out of the texts and lists by which archives tell them.

use super::super::document::Node;
use super::super::marked::{BOUNDARY, Body, Part};
use super::super::source::Note;
use super::archive::Entry;
use super::multipart;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use flate2::read::MultiGzDecoder;
use std::io::Read as _;

const URL_ENCODED: &str = "application/x-www-form-urlencoded";
/// The most bytes that are kept of an answer.
const LARGEST_ANSWER: usize = 1024 * 1024;
/// The most bytes that are kept of all of them.
const ALL_ANSWERS: usize = 64 * 1024 * 1024;

/// The body of a request, and its type where the headers do not tell it or tell another one.
pub(super) fn of_request(entry: &Entry<'_>, notes: &mut Vec<Note>) -> (Body, Option<Vec<u8>>) {
    let mut note = |words: String| notes.push(Note::new(entry.span.clone(), words));
    let is_lost = entry.body_size() > 0.0;
    let Some(data) = entry.post_data() else {
        if is_lost {
            note("its body is not in the archive: none is sent".to_owned());
        }
        return (Body::None, None);
    };
    let own = entry.header("content-type").filter(|own| !own.is_empty());
    let mime = data.text_of("mimeType").map(str::trim);
    let mime = mime.filter(|mime| mime.contains('/') && !mime.contains(char::is_control));
    let content_type = own.or(mime).unwrap_or_default();
    let is = |known: &str| content_type.to_ascii_lowercase().starts_with(known);
    // Where a header has it already, it stays as it stands.
    let told = || match own {
        Some(_) => None,
        None => mime.map(|mime| mime.as_bytes().to_vec()),
    };
    let parts_of = |parts: Vec<Part>| {
        let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
        (Body::Multipart(parts), Some(content_type.into_bytes()))
    };
    let text = data.text_of("text").unwrap_or_default();
    if !text.is_empty() {
        let bytes = decoded(text, data);
        let is_base64 = data
            .text_of("encoding")
            .is_some_and(|encoding| encoding.eq_ignore_ascii_case("base64"));
        if is_base64 && bytes == text.as_bytes() {
            note(
                "its body is not the base64 that it is said to be: it is sent as it stands"
                    .to_owned(),
            );
        }
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        if is("multipart/form-data")
            && let Some(boundary) = multipart::boundary(content_type)
            && let Some(parts) = multipart::parts(text, boundary)
        {
            tell_of_files(&parts, &mut note);
            return parts_of(parts);
        }
        if text.contains('\u{fffd}') {
            note("its body is not text, and the archive has it damaged".to_owned());
        }
        let text = if is(URL_ENCODED) {
            without_head(text)
        } else {
            text
        };
        let bytes = if text.is_empty() {
            bytes
        } else {
            text.as_bytes().to_vec()
        };
        return (Body::Bytes(bytes), told());
    }
    let params: Vec<&Node<'_>> = data
        .get("params")
        .map(Node::items)
        .unwrap_or_default()
        .iter()
        .collect();
    if params.is_empty() {
        if is_lost {
            note("its body is not in the archive: none is sent".to_owned());
        }
        return (Body::None, None);
    }
    let has_files = params
        .iter()
        .any(|param| param.text_of("fileName").is_some());
    if is("multipart/") || has_files {
        let parts: Vec<Part> = params.into_iter().map(part).collect();
        tell_of_files(&parts, &mut note);
        return parts_of(parts);
    }
    let pairs: Vec<(String, String)> = params.into_iter().map(pair).collect();
    if let [(name, value)] = pairs.as_slice()
        && value.is_empty()
        && (!is(URL_ENCODED) || name.starts_with(['{', '[']))
    {
        // A proxy that takes any text for a form has all of it as the name of a field.
        return (Body::Bytes(name.clone().into_bytes()), told());
    }
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    let form = form.extend_pairs(&pairs).finish().into_bytes();
    let content_type = content_type
        .is_empty()
        .then(|| URL_ENCODED.as_bytes().to_vec());
    (Body::Bytes(form), content_type.or_else(told))
}

/// How much may be kept yet.
#[derive(Debug)]
pub(super) struct Budget(usize);

impl Default for Budget {
    fn default() -> Self {
        Self(ALL_ANSWERS)
    }
}

/// The body of an answer; nothing where it was not recorded, or is too large.
pub(super) fn of_answer(entry: &Entry<'_>, budget: &mut Budget) -> Vec<u8> {
    let Some(content) = entry.content() else {
        return Vec::new();
    };
    let text = content.text_of("text").unwrap_or_default();
    if text.is_empty() || text.len() > LARGEST_ANSWER * 2 {
        return Vec::new();
    }
    let bytes = unpacked(decoded(text, content));
    if bytes.len() > LARGEST_ANSWER || bytes.len() > budget.0 {
        return Vec::new();
    }
    budget.0 -= bytes.len();
    bytes
}

/// The bytes of a text, which may be encoded.
fn decoded(text: &str, node: &Node<'_>) -> Vec<u8> {
    let encoding = node.text_of("encoding").unwrap_or_default();
    if encoding.eq_ignore_ascii_case("base64") {
        let plain: String = text
            .chars()
            .filter(|letter| !letter.is_ascii_whitespace())
            .collect();
        if let Ok(bytes) = BASE64_STANDARD.decode(plain) {
            return bytes;
        }
    }
    text.as_bytes().to_vec()
}

/// A body as it was before it was compressed: some proxies keep it as it came.
fn unpacked(bytes: Vec<u8>) -> Vec<u8> {
    if !bytes.starts_with(&[0x1f, 0x8b, 8]) {
        return bytes;
    }
    let mut plain = Vec::new();
    let most = LARGEST_ANSWER as u64 + 1;
    match MultiGzDecoder::new(bytes.as_slice())
        .take(most)
        .read_to_end(&mut plain)
    {
        Ok(_) => plain,
        Err(_) => bytes,
    }
}

fn pair(param: &Node<'_>) -> (String, String) {
    let text = |name: &str| {
        param
            .get(name)
            .and_then(Node::scalar)
            .unwrap_or_default()
            .into_owned()
    };
    (text("name"), text("value"))
}

fn part(param: &Node<'_>) -> Part {
    let (name, value) = pair(param);
    let content_type = param.text_of("contentType").map(str::trim);
    let is_type = |text: &&str| text.contains('/') && !text.contains(char::is_control);
    Part {
        name: name.into_bytes(),
        file_name: param
            .text_of("fileName")
            .map(|name| name.as_bytes().to_vec()),
        content_type: content_type.filter(is_type).map(str::to_owned),
        headers: Vec::new(),
        content: value.into_bytes(),
    }
}

fn tell_of_files(parts: &[Part], note: &mut dyn FnMut(String)) {
    for part in parts {
        let Some(name) = part.file_name.as_ref().filter(|name| !name.is_empty()) else {
            continue;
        };
        if part.content.is_empty() {
            let name: String = String::from_utf8_lossy(name).chars().take(60).collect();
            note(format!(
                "the content of the file `{name}` is not in the archive: an empty one is sent"
            ));
        }
    }
}

/// A form without the headers that an older Firefox has before it.
fn without_head(text: &str) -> &str {
    let begin = text.get(.."content-".len()).unwrap_or_default();
    match text.split_once("\r\n\r\n") {
        Some((_, body)) if begin.eq_ignore_ascii_case("content-") => body,
        _ => text,
    }
}
