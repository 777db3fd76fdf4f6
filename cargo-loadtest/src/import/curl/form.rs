//! The parts of `-F`.

use super::super::source::{Mistake, Note, Span};
use super::data::DataSource;

/// A part of a form.
#[derive(Clone, Default)]
pub(super) struct FormPart {
    pub(super) name: Vec<u8>,
    pub(super) file_name: Option<Vec<u8>>,
    pub(super) content_type: Option<String>,
    pub(super) content: Vec<u8>,
}

/// Reads the part of one `-F name=value`.
pub(super) fn read_part(
    value: &[u8],
    reads: &DataSource<'_>,
    span: &Span,
    notes: &mut Vec<Note>,
) -> Result<FormPart, Mistake> {
    let (name, content) = split_name(value, span)?;
    if content.starts_with(b"(") || name.is_empty() && content == b")" {
        let words = "forms within forms are not supported";
        return Err(Mistake::new(span.clone(), words));
    }
    let (is_file, is_read, content) = match content {
        [b'@', rest @ ..] => (true, true, rest),
        [b'<', rest @ ..] => (false, true, rest),
        plain => (false, false, plain),
    };
    let mut fields = split_fields(content).into_iter();
    let mut part = FormPart {
        name: name.to_vec(),
        content: fields.next().unwrap_or_default(),
        ..FormPart::default()
    };
    read_attributes(&mut part, fields, span, notes)?;
    let path = part.content.clone();
    if is_file && !content.starts_with(b"\"") && path.contains(&b',') {
        let mistake = Mistake::new(span.clone(), "several files of one field are not imported");
        return Err(mistake.help("write `-F` once for each file"));
    }
    if is_read {
        part.content = reads.read(&path, span)?;
    }
    if is_file {
        let own = path.rsplit(|byte| matches!(byte, b'/' | b'\\')).next();
        let own = own.unwrap_or_default().to_vec();
        let file_name = part.file_name.get_or_insert(own);
        let guessed = guess_type(file_name).or_else(|| guess_type(&path));
        let guessed = guessed.unwrap_or("application/octet-stream");
        part.content_type.get_or_insert_with(|| guessed.to_owned());
    }
    Ok(part)
}

/// Reads the part of one `--form-string name=value`.
pub(super) fn read_literal(value: &[u8], span: &Span) -> Result<FormPart, Mistake> {
    let (name, content) = split_name(value, span)?;
    Ok(FormPart {
        name: name.to_vec(),
        content: content.to_vec(),
        ..FormPart::default()
    })
}

fn split_name<'a>(value: &'a [u8], span: &Span) -> Result<(&'a [u8], &'a [u8]), Mistake> {
    let at = value.iter().position(|byte| *byte == b'=');
    let words = "a field of a form is `name=value`, and this has no `=`";
    let at = at.ok_or_else(|| Mistake::new(span.clone(), words))?;
    Ok((&value[..at], &value[at + 1..]))
}

/// Splits at semicolons, and removes double quotes.
fn split_fields(text: &[u8]) -> Vec<Vec<u8>> {
    let is_end = |byte: u8| byte == b';';
    let mut fields = Vec::new();
    let mut at = 0;
    loop {
        while text.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        // The name of an attribute stands before the quote of its value.
        let key = text[at..]
            .iter()
            .position(|byte| *byte == b'=' || is_end(*byte) || *byte == b'"')
            .filter(|length| !fields.is_empty() && text.get(at + length) == Some(&b'='))
            .map_or(0, |length| length + 1);
        let mut field = text[at..at + key].to_vec();
        at += key;
        if let Some((word, end)) = read_quoted(&text[at..]) {
            field.extend(word);
            at += end;
            while text.get(at).is_some_and(|byte| !is_end(*byte)) {
                at += 1;
            }
        } else {
            let length = text[at..].iter().position(|byte| is_end(*byte));
            let length = length.unwrap_or(text.len() - at);
            field.extend_from_slice(text[at..at + length].trim_ascii_end());
            at += length;
        }
        fields.push(field);
        if at == text.len() {
            return fields;
        }
        at += 1;
    }
}

/// Returns the text within double quotes, and its length with them.
fn read_quoted(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    if text.first() != Some(&b'"') {
        return None;
    }
    let mut word = Vec::new();
    let mut at = 1;
    while let Some(&byte) = text.get(at) {
        at += 1;
        match (byte, text.get(at)) {
            (b'\\', Some(next @ (b'\\' | b'"'))) => {
                word.push(*next);
                at += 1;
            }
            (b'"', _) => return Some((word, at)),
            (byte, _) => word.push(byte),
        }
    }
    None
}

fn read_attributes(
    part: &mut FormPart,
    fields: impl Iterator<Item = Vec<u8>>,
    span: &Span,
    notes: &mut Vec<Note>,
) -> Result<(), Mistake> {
    let mut is_type = false;
    for field in fields {
        let after = |prefix: &str| {
            let (start, rest) = field.split_at_checked(prefix.len())?;
            let is_prefix = start.eq_ignore_ascii_case(prefix.as_bytes());
            is_prefix.then(|| rest.to_vec())
        };
        if let Some(content_type) = after("type=") {
            part.content_type = Some(String::from_utf8_lossy(&content_type).into_owned());
            is_type = true;
            continue;
        }
        if let Some(name) = after("filename=") {
            part.file_name = Some(name);
        } else if after("headers=").is_some() {
            let words = "`headers=` is not honoured: the part has no headers of its own";
            notes.push(Note::new(span.clone(), words));
        } else if after("encoder=").is_some() {
            let words = "the content of a part is sent as it is, without an encoder";
            return Err(Mistake::new(span.clone(), words));
        } else if let (true, Some(content_type)) = (is_type, &mut part.content_type) {
            // A parameter of the type: `type=text/plain;charset=utf-8`.
            content_type.push(';');
            content_type.push_str(&String::from_utf8_lossy(&field));
            continue;
        }
        is_type = false;
    }
    let content_type = part.content_type.as_deref().unwrap_or_default();
    if content_type.contains(['\r', '\n']) {
        return Err(Mistake::new(span.clone(), "a type is one line"));
    }
    Ok(())
}

/// Returns the type that curl takes a file for, by its name.
fn guess_type(name: &[u8]) -> Option<&'static str> {
    const KNOWN: [(&str, &str); 10] = [
        (".gif", "image/gif"),
        (".jpg", "image/jpeg"),
        (".jpeg", "image/jpeg"),
        (".png", "image/png"),
        (".svg", "image/svg+xml"),
        (".txt", "text/plain"),
        (".htm", "text/html"),
        (".html", "text/html"),
        (".pdf", "application/pdf"),
        (".xml", "application/xml"),
    ];
    let name = name.to_ascii_lowercase();
    let mut known = KNOWN.iter();
    let known = known.find(|(end, _)| name.ends_with(end.as_bytes()));
    known.map(|(_, content_type)| *content_type)
}
