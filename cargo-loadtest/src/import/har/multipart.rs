//! The body of a form with parts, as it was sent (RFC 7578), in its parts again.

use super::super::marked::Part;
use super::archive::is_token;

/// The most parts.
const MOST_PARTS: usize = 1000;

/// The boundary that a type names.
pub(super) fn boundary(content_type: &str) -> Option<&str> {
    let lower = content_type.to_ascii_lowercase();
    if !lower.starts_with("multipart/form-data") {
        return None;
    }
    let rest = content_type.get(lower.find("boundary=")? + "boundary=".len()..)?;
    let boundary = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => rest.split(';').next()?.trim(),
    };
    (!boundary.is_empty()).then_some(boundary)
}

/// The parts of a body; nothing where it is none of a form.
pub(super) fn parts(body: &str, boundary: &str) -> Option<Vec<Part>> {
    let delimiter = format!("--{boundary}");
    let start = body.find(&delimiter)?;
    let mut rest = body.get(start + delimiter.len()..)?;
    let separator = format!("\n{delimiter}");
    let mut parts = Vec::new();
    while !rest.starts_with("--") {
        (parts.len() < MOST_PARTS).then_some(())?;
        let line = rest.find('\n')?;
        rest = &rest[line + 1..];
        // The line break before a boundary is its own.
        let (section, after) = match rest.strip_prefix(&delimiter) {
            Some(after) => ("", after),
            None => rest.split_once(&separator)?,
        };
        parts.push(part(section.strip_suffix('\r').unwrap_or(section))?);
        rest = after;
    }
    (!parts.is_empty()).then_some(parts)
}

/// A part: its headers, an empty line, its content.
fn part(section: &str) -> Option<Part> {
    let (head, content) = match section.split_once("\r\n\r\n") {
        Some(both) => both,
        None => section.split_once("\n\n").unwrap_or((section, "")),
    };
    let mut part = Part {
        content: content.as_bytes().to_vec(),
        ..Part::default()
    };
    let mut has_name = false;
    for line in head.lines() {
        let (name, value) = line.split_once(':')?;
        let value = value.trim();
        let is_clean = is_token(name) && !value.contains(char::is_control);
        is_clean.then_some(())?;
        if name.eq_ignore_ascii_case("content-disposition") {
            part.name = parameter(value, "name")?.into_bytes();
            part.file_name = parameter(value, "filename").map(String::into_bytes);
            has_name = true;
        } else if name.eq_ignore_ascii_case("content-type") {
            part.content_type = Some(value.to_owned());
        } else {
            part.headers.push(format!("{name}: {value}").into_bytes());
        }
    }
    has_name.then_some(part)
}

/// A parameter of `content-disposition`.
fn parameter(value: &str, wanted: &str) -> Option<String> {
    let mut rest = value.split_once(';')?.1;
    loop {
        let (name, after) = rest.split_once('=')?;
        let (text, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_at(after.find(';').unwrap_or(after.len())),
        };
        if name.trim().eq_ignore_ascii_case(wanted) {
            // As a browser writes what would end the quotes.
            let text = text
                .replace("%22", "\"")
                .replace("%0D", "\r")
                .replace("%0A", "\n");
            return Some(text);
        }
        rest = next.split_once(';')?.1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_read_in_its_parts() {
        let body = "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n2\r\n\
            --b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x%22.csv\"\r\nContent-Type: text/csv\r\n\r\n\r\n--b--\r\n";
        let parts = parts(body, boundary("multipart/form-data; boundary=b").unwrap()).unwrap();
        let [first, second] = parts.as_slice() else {
            panic!("{parts:?}")
        };
        assert_eq!(
            (&first.name[..], &first.content[..]),
            (&b"a"[..], &b"1\r\n2"[..])
        );
        assert_eq!(second.file_name.as_deref(), Some(&b"x\".csv"[..]));
        assert_eq!(second.content_type.as_deref(), Some("text/csv"));
        assert!(second.content.is_empty());
    }

    #[test]
    fn what_is_no_form_is_none() {
        for body in [
            "",
            "--b",
            "--b\r\n",
            "--b--",
            "--b\r\nx\r\n--b--",
            "--b\r\nA: b\r\n\r\n--b--",
            "--b\r\n--b\r\n",
        ] {
            assert!(parts(body, "b").is_none(), "{body:?}");
        }
        assert!(
            boundary("multipart/form-data").is_none()
                && boundary("text/plain; boundary=x").is_none()
        );
        assert_eq!(
            boundary("Multipart/Form-Data; Boundary=\"a b\"; x=y"),
            Some("a b")
        );
    }
}
