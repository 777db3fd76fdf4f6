//! The things that paths are about: `/items/1` is about the item with the identifier `1`.

use std::fmt::Write as _;

/// A segment of a path that is the identifier of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment<'a> {
    /// What is before it in the target.
    pub(super) before: &'a str,
    pub(super) id: &'a str,
    /// What is after it.
    pub(super) after: &'a str,
    /// The segment before it: what the things are called.
    pub(super) word: &'a str,
}

/// The segments of a path that are identifiers of something, each with what it is called.
pub(super) fn segments(target: &str) -> Vec<Segment<'_>> {
    let path = target.split('?').next().unwrap_or_default();
    let mut found = Vec::new();
    let (mut start, mut word) = (0, "");
    for segment in path.split('/') {
        let end = start + segment.len();
        match identifier(segment) {
            Some(id) if !word.is_empty() => found.push(Segment {
                before: &target[..start],
                id,
                after: &target[start + id.len()..],
                word,
            }),
            Some(_) => {}
            None => word = segment,
        }
        start = end + 1;
    }
    found
}

/// What of a segment is an identifier: all of it, or what is before its ending.
fn identifier(segment: &str) -> Option<&str> {
    let id = match segment.rsplit_once('.') {
        Some((id, end)) if end.len() <= 5 && end.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
            id
        }
        _ => segment,
    };
    let is_sound = id
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let digits = id.bytes().filter(u8::is_ascii_digit).count();
    let is_version = id
        .strip_prefix(['v', 'V'])
        .is_some_and(|rest| rest.len() <= 3 && rest.len() == digits);
    if !is_sound || digits == 0 || is_version {
        return None;
    }
    let is_hexadecimal = id
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let is_identifier = digits == id.len()
        || id.len() >= 8 && is_hexadecimal
        || id.len() >= 3 && digits * 2 >= id.len()
        || id.len() >= 16 && digits * 8 >= id.len();
    is_identifier.then_some(id)
}

/// A target with names for its identifiers; nothing where it has none.
pub(super) fn pattern(target: &str) -> Option<String> {
    let segments = segments(target);
    let is_one = segments.len() == 1;
    let mut pattern = String::new();
    let mut end = 0;
    for segment in &segments {
        pattern.push_str(&target[end..segment.before.len()]);
        let name = if is_one {
            "id".to_owned()
        } else {
            format!("{}_id", singular(segment.word))
        };
        let _ = write!(pattern, "{{{name}}}");
        end = segment.before.len() + segment.id.len();
    }
    pattern.push_str(&target[end..]);
    (!segments.is_empty()).then_some(pattern)
}

/// A word for one of several, as a name: `items` are each an `item`.
pub(super) fn singular(word: &str) -> String {
    let mut name = String::new();
    for letter in word.chars().take(40) {
        if letter.is_ascii_alphanumeric() {
            name.push(letter.to_ascii_lowercase());
        } else if !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
    }
    let name = name.trim_end_matches('_');
    let one = if ["news", "series", "species"].contains(&name) {
        name.to_owned()
    } else if let Some(stem) = name.strip_suffix("ies").filter(|stem| stem.len() > 1) {
        format!("{stem}y")
    } else if let Some(stem) = name.strip_suffix("sses") {
        format!("{stem}ss")
    } else {
        let stem = name
            .strip_suffix('s')
            .filter(|stem| stem.len() > 1 && !stem.ends_with(['s', 'u', 'i']));
        stem.unwrap_or(name).to_owned()
    };
    match one.bytes().next() {
        Some(first) if first.is_ascii_alphabetic() => one,
        _ => "thing".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_is_told_from_a_word() {
        for (target, name) in [
            ("/items/1", Some("/items/{id}")),
            ("/items/1.json?a=2", Some("/items/{id}.json?a=2")),
            (
                "/users/7/orders/A-12",
                Some("/users/{user_id}/orders/{order_id}"),
            ),
            (
                "/a/3f2504e0-4f89-11d3-9a0c-0305e82c3301/b",
                Some("/a/{id}/b"),
            ),
            (
                "/categories/7/entries/8",
                Some("/categories/{category_id}/entries/{entry_id}"),
            ),
            (
                "/news/7/addresses/8",
                Some("/news/{news_id}/addresses/{address_id}"),
            ),
            ("/api/v2/products", None),
            ("/oauth2/token", None),
            ("/deadbeef", None),
            ("/1", None),
            ("/", None),
        ] {
            assert_eq!(pattern(target).as_deref(), name, "{target}");
        }
    }
}
