//! Bodies of `multipart/form-data` (RFC 7578), split so that secrets and correlated values are found by field name.
//!
//! Anything unusual is sent as the bytes that were recorded.

use crate::recording::{Part, Text};

/// Returns the boundary that a `content-type` names.
pub(super) fn find_boundary(content_type: &str) -> Option<&str> {
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

/// Splits a body into its parts.
pub(super) fn parse_parts(body: &str, boundary: &str) -> Option<Vec<Part>> {
    let sections = body.strip_prefix(&format!("--{boundary}"))?;
    let mut parts = Vec::new();
    for section in sections.split(&format!("\r\n--{boundary}")) {
        if section.starts_with("--") {
            return (!parts.is_empty()).then_some(parts);
        }
        let (head, content) = section.strip_prefix("\r\n")?.split_once("\r\n\r\n")?;
        parts.push(parse_part(head, content)?);
    }
    None
}

fn parse_part(head: &str, content: &str) -> Option<Part> {
    let mut part = Part {
        content: Text::literal(content),
        ..Part::default()
    };
    for line in head.split("\r\n") {
        let (name, value) = line.split_once(": ")?;
        if value.contains(char::is_control) {
            return None;
        }
        match name.to_ascii_lowercase().as_str() {
            "content-disposition" => {
                part.name = find_parameter(value, "name")?;
                part.file_name = find_parameter(value, "filename");
            }
            "content-type" => part.content_type = Some(value.to_owned()),
            _ => return None,
        }
    }
    (!part.name.is_empty()).then_some(part)
}

/// Returns a parameter of `content-disposition`, with the characters that browsers escape.
fn find_parameter(value: &str, name: &str) -> Option<Text> {
    let (_, rest) = value.split_once(&format!("; {name}=\""))?;
    let text = rest.split_once('"')?.0.replace("%22", "\"");
    Some(Text::literal(
        text.replace("%0D", "\r").replace("%0A", "\n"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_split_into_its_parts() {
        let body = "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n2\r\n\
            --b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x%22.csv\"\r\nContent-Type: text/csv\r\n\r\n\r\n--b--\r\n";
        let boundary = find_boundary("multipart/form-data; boundary=b").unwrap();
        let parts = parse_parts(body, boundary).unwrap();
        let [first, second] = parts.as_slice() else {
            panic!("{parts:?}")
        };
        assert_eq!(first.name, Text::literal("a"));
        assert_eq!(first.content, Text::literal("1\r\n2"));
        assert_eq!(second.file_name, Some(Text::literal("x\".csv")));
        assert_eq!(second.content_type.as_deref(), Some("text/csv"));
        assert!(second.content.is_empty());
    }

    #[test]
    fn other_bodies_are_left_alone() {
        for body in [
            "",
            "--b",
            "--b\r\n",
            "--b--",
            "--b\r\nx\r\n--b--",
            "--b\r\nA: b\r\n\r\n--b--",
            "--b\r\n--b\r\n",
        ] {
            assert!(parse_parts(body, "b").is_none(), "{body:?}");
        }
        assert!(find_boundary("multipart/form-data").is_none());
        assert!(find_boundary("text/plain; boundary=x").is_none());
        assert_eq!(
            find_boundary("Multipart/Form-Data; Boundary=\"a b\"; x=y"),
            Some("a b")
        );
    }
}
