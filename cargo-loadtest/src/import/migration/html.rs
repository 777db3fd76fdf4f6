//! Patterns that take a value out of text, where that is the text between two others.

use crate::import::recording::{Origin, PageFind};

/// Returns the source of a value that a regular expression has in its first group: the field of a page, or the text
/// between two others.
pub(crate) fn find_in_pattern(exchange: usize, pattern: &str) -> Option<Origin> {
    let (before, group, after) = split_pattern(pattern)?;
    let is_any = [
        ".*?",
        ".+?",
        ".*",
        ".+",
        "[^\"]*",
        "[^\"]+",
        "[^']*",
        "[^']+",
        "[^<]*",
        "[^<]+",
        "[^&]+",
        "[^&]*",
        "\\d+",
        "\\w+",
        "[0-9]+",
        "[a-z0-9]+",
        "[A-Za-z0-9]+",
        "[\\w-]+",
        "[^\"]+?",
        "[^\"]*?",
    ];
    is_any.contains(&group).then_some(())?;
    let (before, after) = (literal_of(before)?, literal_of(after)?);
    find_between(exchange, &before, &after)
}

/// Returns the source of a value between two texts.
pub(crate) fn find_between(exchange: usize, before: &str, after: &str) -> Option<Origin> {
    if before.is_empty() || after.is_empty() {
        return None;
    }
    if let Some(name) = field_of(before) {
        let find = PageFind::Field {
            name: name.to_owned(),
            number: 0,
        };
        return Some(Origin::Page {
            exchange,
            part: None,
            find,
        });
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

/// Splits a pattern around its only group.
fn split_pattern(pattern: &str) -> Option<(&str, &str, &str)> {
    let mut open = None;
    let mut escaped = false;
    for (at, letter) in pattern.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '(' if open.is_none() => open = Some(at),
            '(' => return None,
            ')' => {
                let open = open?;
                return Some((&pattern[..open], &pattern[open + 1..at], &pattern[at + 1..]));
            }
            _ => {}
        }
    }
    None
}

/// Returns the text that a pattern is, where it has no more than escapes.
fn literal_of(pattern: &str) -> Option<String> {
    let mut text = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next()? {
                escaped if escaped.is_ascii_alphanumeric() => return None,
                escaped => text.push(escaped),
            },
            '.' | '*' | '+' | '?' | '[' | ']' | '{' | '}' | '(' | ')' | '|' | '^' | '$' => {
                return None;
            }
            letter => text.push(letter),
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for other in [
            "a(b)c", "(.*)x", "x(.*)", "a.(.*)b", "a(x)(y)", "", "a((.*))b", "a(.*",
        ] {
            assert_eq!(found(other), None, "{other}");
        }
    }
}
