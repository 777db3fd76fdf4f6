//! Patterns that take a value out of text, where that is the text between two others.

use crate::recording::Origin;
use regex_syntax::hir::{Hir, HirKind};

/// Returns the source of a value that a regular expression has in its only group: the field of a page, or the text
/// between two others.
pub(crate) fn find_in_pattern(exchange: usize, pattern: &str) -> Option<Origin> {
    let parsed = regex_syntax::parse(pattern).ok()?;
    let HirKind::Concat(parts) = parsed.kind() else {
        return None;
    };
    let [before, group, after] = parts.as_slice() else {
        return None;
    };
    // Text of any length, which ends where the text after it begins.
    let HirKind::Capture(group) = group.kind() else {
        return None;
    };
    let HirKind::Repetition(repeated) = group.sub.kind() else {
        return None;
    };
    if !matches!(repeated.sub.kind(), HirKind::Class(_)) {
        return None;
    }
    find_between(exchange, literal_of(before)?, literal_of(after)?)
}

/// Returns the source of a value between two texts.
pub(crate) fn find_between(exchange: usize, before: &str, after: &str) -> Option<Origin> {
    if before.is_empty() || after.is_empty() {
        return None;
    }
    if let Some(name) = field_of(before) {
        return Some(Origin::field(exchange, name));
    }
    Some(Origin::Between {
        exchange,
        before: before.to_owned(),
        after: after.to_owned(),
    })
}

/// Returns the name of a field whose value begins after a text: `name="csrf" value="`.
fn field_of(before: &str) -> Option<&str> {
    let before = before
        .trim_end_matches(['"', '\''])
        .strip_suffix("value=")?;
    let (_, rest) = before.rsplit_once("name=")?;
    let quote = rest.chars().next().filter(|quote| "\"'".contains(*quote))?;
    let (name, rest) = rest[1..].split_once(quote)?;
    (!name.is_empty() && !rest.contains('>')).then_some(name)
}

/// Returns the text that a pattern is, where it is no more than that.
fn literal_of(pattern: &Hir) -> Option<&str> {
    match pattern.kind() {
        HirKind::Literal(literal) => str::from_utf8(&literal.0).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::PageFind;

    #[test]
    fn a_pattern_with_one_group_is_a_text_between_others() {
        let found = |pattern: &str| find_in_pattern(0, pattern);
        assert!(matches!(
            found(r#"name="csrf" type="hidden" value="(.*?)""#),
            Some(Origin::Page { find: PageFind::Field { name, .. }, .. }) if name == "csrf"
        ));
        assert!(matches!(
            found(r"id\.(\d+)&"),
            Some(Origin::Between { before, after, .. }) if before == "id." && after == "&"
        ));
        assert!(matches!(
            found(r#""etag":"([a-f0-9-]{8,36})""#),
            Some(Origin::Between { before, after, .. }) if before == r#""etag":""# && after == "\""
        ));
        for other in [
            "a(b)c",
            "a([0-9]|x)c",
            "a((?:bc)+)d",
            "(.*)x",
            "x(.*)",
            "a.(.*)b",
            "a(x)(y)",
            "",
            "a((.*))b",
            "a(.*",
        ] {
            assert_eq!(found(other), None, "{other}");
        }
    }
}
