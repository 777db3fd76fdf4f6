//! The address of a trace in the program that shows it.

use super::{SpanId, TraceId};
use std::fmt::Write as _;

/// The placeholders of a link.
const PLACEHOLDERS: [&str; 4] = ["trace_id", "span_id", "start_ms", "end_ms"];

/// The values of a link.
#[derive(Debug, Clone, Copy)]
pub struct LinkValues {
    /// The trace.
    pub trace: TraceId,
    /// A span of it.
    pub span: SpanId,
    /// The start of the span, in milliseconds after 1970-01-01 in UTC.
    pub start_ms: u64,
    /// The end of the span.
    pub end_ms: u64,
}

/// The days from the first of March of the year 0 to 1970.
const DAYS_TO_1970: u64 = 719_468;

/// Returns the milliseconds after 1970 of a time in UTC as records hold it: `2026-11-21T14:30:05Z`.
pub fn read_unix_ms(time: &str) -> Option<u64> {
    let number = |from: usize, to: usize| time.get(from..to)?.parse::<u64>().ok();
    let signs = [
        (4, "-"),
        (7, "-"),
        (10, "T"),
        (13, ":"),
        (16, ":"),
        (19, "Z"),
    ];
    let is_time = time.len() == 20
        && signs
            .iter()
            .all(|(at, sign)| time.get(*at..at + 1) == Some(sign));
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if !is_time || year < 1970 || !(1..=12).contains(&month) || day == 0 {
        return None;
    }
    // Years begin in March, so that a leap day is the last one.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let days = days.checked_sub(DAYS_TO_1970)?;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000)
}

/// Checks the text of a link.
///
/// # Errors
/// The mistake, which continues a sentence about it.
pub fn check_link(link: &str) -> Result<(), String> {
    let example = "write for example `http://127.0.0.1:16686/trace/{trace_id}`";
    if !is_web_address(link) {
        return Err(format!(
            "starts with neither `http://` nor `https://`; {example}"
        ));
    }
    let mut names = split_link(link).filter_map(|(_, name)| name).peekable();
    if names.peek().is_none() {
        return Err(format!(
            "has no placeholder, so that every trace would have this one; {example}"
        ));
    }
    match names.find(|name| !PLACEHOLDERS.contains(name)) {
        Some(unknown) => Err(format!(
            "has the unknown placeholder `{{{unknown}}}`; available: `{{trace_id}}`, `{{span_id}}`, `{{start_ms}}` \
             and `{{end_ms}}`"
        )),
        None => Ok(()),
    }
}

/// Returns the address with the values in place of the placeholders; `None` if it is no address of the web. What no
/// address may hold is encoded.
pub fn fill_link(link: &str, values: &LinkValues) -> Option<String> {
    if !is_web_address(link) {
        return None;
    }
    let mut address = String::with_capacity(link.len() + 32);
    for (text, name) in split_link(link) {
        push_encoded(&mut address, text);
        match name {
            Some("trace_id") => address += &values.trace.to_string(),
            Some("span_id") => address += &values.span.to_string(),
            Some("start_ms") => address += &values.start_ms.to_string(),
            Some("end_ms") => address += &values.end_ms.to_string(),
            Some(unknown) => push_encoded(&mut address, &format!("{{{unknown}}}")),
            None => {}
        }
    }
    Some(address)
}

fn is_web_address(link: &str) -> bool {
    let host = ["http://", "https://"]
        .into_iter()
        .find_map(|scheme| link.strip_prefix(scheme));
    host.is_some_and(|host| host.starts_with(|first: char| first.is_alphanumeric() || first == '['))
}

/// Cuts a link into text and the placeholder that follows it. Braces of JSON, which hold more than a name, are text.
fn split_link(link: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let mut rest = Some(link);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let mut from = 0;
        while let Some(open) = text[from..].find('{').map(|at| from + at) {
            let name = &text[open + 1..];
            let length = name
                .find(|letter: char| !letter.is_ascii_lowercase() && letter != '_')
                .unwrap_or(name.len());
            if length > 0 && name[length..].starts_with('}') {
                rest = Some(&name[length + 1..]);
                return Some((&text[..open], Some(&name[..length])));
            }
            from = open + 1;
        }
        Some((text, None))
    })
}

/// Adds text of an address, of which the characters that none may hold are encoded.
fn push_encoded(address: &mut String, text: &str) {
    for byte in text.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte);
        if is_plain {
            address.push(char::from(byte));
        } else {
            let _ = write!(address, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::RunIds;

    fn filled(link: &str) -> Option<String> {
        let trace = RunIds::new("r", "s", 1).trace(2);
        let values = LinkValues {
            trace,
            span: trace.step(1),
            start_ms: 5,
            end_ms: 90,
        };
        let text = fill_link(link, &values)?;
        let text = text.replace(&trace.to_string(), "TRACE");
        Some(text.replace(&trace.step(1).to_string(), "SPAN"))
    }

    #[test]
    fn placeholders_are_filled_and_json_is_encoded() {
        for (link, address) in [
            (
                "http://h:16686/trace/{trace_id}",
                "http://h:16686/trace/TRACE",
            ),
            (
                "https://h/t/{trace_id}?s={span_id}&from={start_ms}&to={end_ms}",
                "https://h/t/TRACE?s=SPAN&from=5&to=90",
            ),
            (
                r#"https://h/explore?left={"q":"{trace_id}"}"#,
                "https://h/explore?left=%7B%22q%22:%22TRACE%22%7D",
            ),
            ("http://h/{{trace_id}}<é", "http://h/%7BTRACE%7D%3C%C3%A9"),
        ] {
            assert_eq!(check_link(link), Ok(()), "{link}");
            assert_eq!(filled(link).as_deref(), Some(address));
        }
        assert_eq!(filled("javascript:alert('{trace_id}')"), None);
    }

    #[test]
    fn the_start_of_a_record_is_read_to_the_second() {
        for (time, ms) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:30:05Z", Some(951_827_405_000)),
            ("2026-11-21T14:30:05Z", Some(1_795_271_405_000)),
            ("2026-11-21 14:30:05Z", None),
            ("1969-12-31T23:59:59Z", None),
            ("", None),
            ("2026-é1-21T14:30:0Z", None),
        ] {
            assert_eq!(read_unix_ms(time), ms, "{time}");
        }
    }

    #[test]
    fn what_is_no_link_is_refused_with_what_to_write_instead() {
        for (link, words) in [
            ("ftp://h/{trace_id}", "neither `http://` nor `https://`"),
            ("javascript:{trace_id}", "neither `http://` nor `https://`"),
            ("http://{trace_id}", "neither `http://` nor `https://`"),
            ("http://h/trace", "has no placeholder"),
            (
                "http://h/{traceid}",
                "unknown placeholder `{traceid}`; available: `{trace_id}`",
            ),
        ] {
            let mistake = check_link(link).unwrap_err();
            assert!(mistake.contains(words), "{link}: {mistake}");
        }
    }
}
