//! The parts of `-F`.

use super::super::source::{Mistake, Note, Span};
use super::data::Reads;

/// A part of a form.
#[derive(Clone, Default)]
pub(super) struct FormPart {
    pub(super) name: Vec<u8>,
    pub(super) file_name: Option<Vec<u8>>,
    pub(super) content_type: Option<String>,
    pub(super) headers: Vec<Vec<u8>>,
    pub(super) content: Vec<u8>,
}

/// Reads the parts of one `-F name=value`: several where it names several files.
pub(super) fn parts(
    value: &[u8],
    reads: &Reads<'_>,
    span: &Span,
    notes: &mut Vec<Note>,
) -> Result<Vec<FormPart>, Mistake> {
    let (name, content) = named(value, span)?;
    if content.starts_with(b"(") || name.is_empty() && content == b")" {
        return Err(Mistake::new(
            span.clone(),
            "forms within forms are not supported",
        ));
    }
    let (is_file, is_read, content) = match content {
        [b'@', rest @ ..] => (true, true, rest),
        [b'<', rest @ ..] => (false, true, rest),
        plain => (false, false, plain),
    };
    let mut parts = Vec::new();
    let mut rest = content;
    loop {
        let (fields, after) = fields(rest, is_file);
        let mut fields = fields.into_iter();
        let data = fields.next().unwrap_or_default();
        let mut part = FormPart {
            name: name.to_vec(),
            ..FormPart::default()
        };
        attributes(&mut part, fields, span, notes)?;
        if is_read {
            part.content = reads.read(&data, span)?;
        }
        if is_file {
            let own = data.rsplit(|byte| matches!(byte, b'/' | b'\\')).next();
            let own = own.unwrap_or_default().to_vec();
            let file_name = part.file_name.get_or_insert(own);
            let guessed = guessed(file_name).or_else(|| guessed(&data));
            let guessed = guessed.unwrap_or("application/octet-stream");
            part.content_type.get_or_insert_with(|| guessed.to_owned());
        }
        if !is_read {
            part.content = data;
        }
        parts.push(part);
        match after {
            Some(after) if is_file => {
                if parts.len() == 1 {
                    notes.push(Note::new(
                        span.clone(),
                        "several files of one field are sent as parts of the same name, as browsers do",
                    ));
                }
                rest = after;
            }
            _ => return Ok(parts),
        }
    }
}

/// The part of one `--form-string name=value`.
pub(super) fn literal(value: &[u8], span: &Span) -> Result<FormPart, Mistake> {
    let (name, content) = named(value, span)?;
    Ok(FormPart {
        name: name.to_vec(),
        content: content.to_vec(),
        ..FormPart::default()
    })
}

fn named<'a>(value: &'a [u8], span: &Span) -> Result<(&'a [u8], &'a [u8]), Mistake> {
    let at = value.iter().position(|byte| *byte == b'=');
    let at = at.ok_or_else(|| {
        Mistake::new(
            span.clone(),
            "a field of a form is `name=value`, and this has no `=`",
        )
    })?;
    Ok((&value[..at], &value[at + 1..]))
}

/// What stands between semicolons, up to a comma where there are several files; and what follows that.
fn fields(text: &[u8], until_comma: bool) -> (Vec<Vec<u8>>, Option<&[u8]>) {
    let is_end = |byte: u8| byte == b';' || until_comma && byte == b',';
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
        if let Some((word, end)) = quoted(&text[at..]) {
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
        match text.get(at) {
            Some(b';') => at += 1,
            Some(_) => return (fields, Some(&text[at + 1..])),
            None => return (fields, None),
        }
    }
}

/// What stands within double quotes, and how long it is with them.
fn quoted(text: &[u8]) -> Option<(Vec<u8>, usize)> {
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

fn attributes(
    part: &mut FormPart,
    fields: impl Iterator<Item = Vec<u8>>,
    span: &Span,
    notes: &mut Vec<Note>,
) -> Result<(), Mistake> {
    let mut is_type = false;
    for field in fields {
        let after = |prefix: &str| {
            let start = field.get(..prefix.len())?;
            start
                .eq_ignore_ascii_case(prefix.as_bytes())
                .then(|| field[prefix.len()..].to_vec())
        };
        if let Some(content_type) = after("type=") {
            part.content_type = Some(String::from_utf8_lossy(&content_type).into_owned());
            is_type = true;
            continue;
        }
        if let Some(name) = after("filename=") {
            part.file_name = Some(name);
        } else if let Some(header) = after("headers=") {
            if header.iter().any(|byte| matches!(byte, b'\r' | b'\n')) {
                return Err(Mistake::new(span.clone(), "a header is one line"));
            }
            if header.starts_with(b"@") || header.starts_with(b"<") {
                notes.push(Note::new(
                    span.clone(),
                    "the headers of a part are not read from a file",
                ));
            } else {
                part.headers.push(header);
            }
        } else if after("encoder=").is_some() {
            return Err(Mistake::new(
                span.clone(),
                "the content of a part is sent as it is, without an encoder",
            ));
        } else if let (true, Some(content_type)) = (is_type, &mut part.content_type) {
            // A parameter of the type: `type=text/plain;charset=utf-8`.
            content_type.push(';');
            content_type.push_str(&String::from_utf8_lossy(&field));
            continue;
        }
        is_type = false;
    }
    if let Some(content_type) = &part.content_type
        && content_type.contains(['\r', '\n'])
    {
        return Err(Mistake::new(span.clone(), "a type is one line"));
    }
    Ok(())
}

/// What curl takes a file for, by its name.
fn guessed(name: &[u8]) -> Option<&'static str> {
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
    let found = KNOWN.iter().find(|(end, _)| {
        name.len() >= end.len()
            && name[name.len() - end.len()..].eq_ignore_ascii_case(end.as_bytes())
    });
    found.map(|(_, content_type)| *content_type)
}
