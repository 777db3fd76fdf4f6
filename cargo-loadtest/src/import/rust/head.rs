//! What stands around the scenarios of a source: what it is, what it needs, what is not in it.

use super::super::marked::{Exchange, Recording};
use super::super::source::{Input, Note};
use super::built::{Uses, part_header};
use super::comment;
use super::secrets::Named;
use crate::import::marked::Body;
use crate::import::secrecy::without;
use std::fmt::Write as _;

const BETWEEN: &str = "\
/// What stands between two texts, the first time.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    let (value, _) = rest.split_once(after)?;
    Some(value)
}

";

const HEADER_PART: &str = "\
/// What stands between two texts in the first header of this name that has both; an empty
/// text is its end.
fn header_part<'a, T>(
    answer: &'a Response<T>,
    name: &str,
    before: &str,
    after: &str,
) -> Option<&'a str> {
    answer.headers().get_all(name).iter().find_map(|value| {
        let (_, rest) = value.to_str().ok()?.split_once(before)?;
        if after.is_empty() {
            return Some(rest);
        }
        rest.split_once(after).map(|(value, _)| value)
    })
}

";

const LINK: &str = "\
/// The target of the link with this relation, of the `link` headers of an answer.
fn link<'a, T>(answer: &'a Response<T>, rel: &str) -> Option<&'a str> {
    let links = answer.headers().get_all(\"link\").iter();
    links.flat_map(|links| links.to_str()).find_map(|links| {
        links.split('<').skip(1).find_map(|link| {
            let (target, parameters) = link.split_once('>')?;
            let is_wanted = parameters.split([';', ',']).any(|parameter| {
                let rels = parameter.trim().strip_prefix(\"rel=\");
                rels.is_some_and(|rels| rels.trim_matches('\"').split(' ').any(|one| one == rel))
            });
            is_wanted.then_some(target)
        })
    })
}

";

const DECODED: &str = "\
/// A value of a URL, as it is meant.
fn decoded(value: &str) -> String {
    let mut decoded = Vec::new();
    let mut bytes = value.as_bytes().iter();
    while let Some(byte) = bytes.next() {
        let code = bytes.as_slice().get(..2).filter(|_| *byte == b'%');
        let code = code.and_then(|code| str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(code) => {
                decoded.push(code);
                bytes.nth(1);
            }
            None => decoded.push(*byte),
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

";

const UNESCAPED: &str = "\
/// A text of HTML, as it is meant.
fn unescaped(text: &str) -> String {
    let mut parts = text.split('&');
    let mut unescaped = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(';').unwrap_or((\"\", part));
        let letter = match name {
            \"amp\" => Some('&'),
            \"lt\" => Some('<'),
            \"gt\" => Some('>'),
            \"quot\" => Some('\"'),
            \"apos\" => Some('\\''),
            name => {
                let code = match name.strip_prefix(\"#x\").or(name.strip_prefix(\"#X\")) {
                    Some(code) => u32::from_str_radix(code, 16).ok(),
                    None => name.strip_prefix('#').and_then(|code| code.parse().ok()),
                };
                code.and_then(char::from_u32)
            }
        };
        match letter {
            Some(letter) => {
                unescaped.push(letter);
                unescaped.push_str(rest);
            }
            None => {
                unescaped.push('&');
                unescaped.push_str(part);
            }
        }
    }
    unescaped
}

";

const ENCODED: &str = "\
/// A value as it stands in a URL.
fn encoded(value: &str) -> String {
    let mut encoded = String::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b\"-._~\".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!(\"%{byte:02X}\"));
        }
    }
    encoded
}

";

/// The notes about an exchange.
pub(super) fn notes_of<'a>(
    recording: &'a Recording,
    exchange: &'a Exchange,
) -> impl Iterator<Item = &'a Note> {
    let notes = recording.notes.iter();
    notes.filter(|note| note.span == exchange.span)
}

/// The head of the file.
pub(super) fn head(
    recording: &Recording,
    input: &Input,
    from: &str,
    scenarios: usize,
    secrets: &[Named],
) -> String {
    let (what, how) = match from {
        "openapi" => ("Operations that a service describes", "described"),
        "postman" => ("Requests of a collection", "in the collection"),
        _ => ("Requests that were recorded", "recorded"),
    };
    let mut head = format!("//! {what}, imported by `cargo loadtest import {from}`.\n");
    // Of one scenario, it stands there.
    if scenarios > 1 {
        let mut words = String::new();
        if let Some(name) = &recording.name {
            comment::write(&mut words, "//!", &comment::title(name));
        }
        if let Some(description) = &recording.description {
            if !words.is_empty() {
                words.push_str("//!\n");
            }
            comment::describe(&mut words, "//!", description);
        }
        if !words.is_empty() {
            head.push_str("//!\n");
            head.push_str(words.trim_end_matches("//!\n"));
        }
    }
    if !secrets.is_empty() {
        head.push_str("//!\n//! In the environment of its runs:\n");
        for secret in secrets {
            item(&mut head, &format!("`{}`: {}", secret.name, secret.what));
        }
    }
    let mut not_as_recorded: Vec<String> = recording
        .notes
        .iter()
        .filter(|note| {
            let mut exchanges = recording.exchanges.iter();
            !exchanges.any(|exchange| exchange.span == note.span)
        })
        .map(|note| {
            let (line, _) = input.place(note.span.start);
            format!(
                "line {line}: {}",
                loadtest::redact::redact_text(&note.words)
            )
        })
        .collect();
    not_as_recorded.extend(lost_headers(recording));
    not_as_recorded.extend(left_out(recording));
    if !not_as_recorded.is_empty() {
        let _ = writeln!(head, "//!\n//! Not as {how}:");
        for words in not_as_recorded {
            item(&mut head, &words);
        }
    }
    head.push('\n');
    head
}

fn item(head: &mut String, words: &str) {
    let mut lines = String::new();
    comment::write(&mut lines, "//!  ", words);
    if let Some(rest) = lines.strip_prefix("//!   ") {
        let _ = write!(head, "//! * {rest}");
    }
}

/// Headers of parts that the source cannot have.
fn lost_headers(recording: &Recording) -> Vec<String> {
    let parts = recording
        .exchanges
        .iter()
        .flat_map(|exchange| match &exchange.body {
            Body::Multipart(parts) => parts.as_slice(),
            _ => &[],
        });
    parts
        .flat_map(|part| &part.headers)
        .filter(|line| part_header(line).is_none())
        .map(|line| {
            let line = comment::quoted(&without(&String::from_utf8_lossy(line), &[]));
            format!("the header {line} of a part is left out")
        })
        .collect()
}

/// How many requests are left out, and why; which data, and which groups.
fn left_out(recording: &Recording) -> Vec<String> {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for dropped in &recording.dropped {
        match reasons.iter_mut().find(|(why, _)| *why == dropped.why) {
            Some((_, count)) => *count += 1,
            None => reasons.push((&dropped.why, 1)),
        }
    }
    let requests = reasons.into_iter().map(|(why, count)| {
        let requests = if count == 1 {
            "request is"
        } else {
            "requests are"
        };
        format!("{count} {requests} left out: {why}")
    });
    let groups = recording.groups.iter().filter(|group| {
        let mut exchanges = recording.exchanges.iter();
        !exchanges.any(|exchange| exchange.group.as_ref() == Some(&group.name))
    });
    let groups = groups.map(|group| format!("{} has no requests", comment::quoted(&group.name)));
    let data = recording.data.iter().enumerate().filter(|(at, _)| {
        let mut references = recording.references.iter();
        !references.any(|reference| {
            matches!(&reference.from, super::super::marked::Origin::Row { data, .. } if data == at)
        })
    });
    let data = data.map(|(_, data)| {
        let name = comment::quoted(&data.name);
        format!("no request uses the {} rows of {name}", data.rows.len())
    });
    requests.chain(groups).chain(data).collect()
}

/// What the file imports.
pub(super) fn imports(uses: &Uses) -> String {
    let mut imports = String::new();
    if uses.parts {
        imports.push_str("use loadtest::multipart::{Form, Part};\n");
    }
    imports.push_str("use loadtest::prelude::*;\n");
    if uses.headers {
        imports.push_str("use loadtest::reqwest::header::{HeaderMap, HeaderName, HeaderValue};\n");
    }
    imports.push('\n');
    imports
}

/// The functions that its steps call.
pub(super) fn functions(uses: &Uses) -> String {
    let mut functions = String::new();
    if uses.header_part {
        functions.push_str(HEADER_PART);
    }
    if uses.between {
        functions.push_str(BETWEEN);
    }
    if uses.link {
        functions.push_str(LINK);
    }
    if uses.encoded {
        functions.push_str(ENCODED);
    }
    if uses.decoded {
        functions.push_str(DECODED);
    }
    if uses.unescaped {
        functions.push_str(UNESCAPED);
    }
    functions
}
