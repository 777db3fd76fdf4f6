//! Values in answers that are no JSON - pages, scripts, XML - and the texts around them, by which they are found
//! again in the next answer.

use super::kind::{ValueKind, kind};
use std::collections::HashSet;

/// How many values of one page are looked for.
const MOST: usize = 32;
/// The longest value.
const LONGEST: usize = 4096;
/// How far a tag reaches.
const TAG: usize = 2048;
/// The longest text before a value.
const LONGEST_BEFORE: usize = 400;
/// How many texts before a value are tried.
const MOST_TRIED: usize = 6;

/// The letters between which a text before a value begins.
const MARKS: [char; 8] = ['<', '>', '{', ',', ';', '\n', '&', '?'];

/// A value of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PageValue<'a> {
    pub(super) value: &'a str,
    /// What is before it, the first time.
    pub(super) before: &'a str,
    /// What ends it.
    pub(super) after: &'a str,
    /// What it is called.
    pub(super) name: &'a str,
}

/// The wanted values of a page, each the first time it is there.
pub(super) fn find_values<'a>(
    page: &'a str,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Vec<PageValue<'a>> {
    let mut starts: Vec<(usize, &str)> = Vec::new();
    let mut put = |at: usize, value: &'a str| {
        if is_wanted(value) {
            starts.push((at, value));
        }
    };
    for mark in ['"', '\'', '`', '<'] {
        // What is between two tags, and between two quotes: each gap once.
        let mut begin = None;
        for (at, letter) in
            page.match_indices(|letter| letter == mark || mark == '<' && letter == '>')
        {
            if let Some(begin) = begin.filter(|begin| at - begin <= LONGEST) {
                put(begin, &page[begin..at]);
            }
            begin = (mark != '<' || letter == ">").then_some(at + 1);
        }
    }
    let is_inner = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    for word in page.split(|letter| !is_inner(letter)) {
        let at = word.as_ptr() as usize - page.as_ptr() as usize;
        if word.len() >= 8 && word.len() <= LONGEST {
            put(at, word);
        }
    }
    starts.sort_by_key(|(at, _)| *at);
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for (at, value) in starts {
        if found.len() >= MOST || !seen.insert(value) {
            continue;
        }
        let end = at + value.len();
        let (name, is_field) = name(page, at, value.len());
        if kind(value) < ValueKind::Rare && !is_field {
            continue;
        }
        let after = page[end..].chars().next();
        // Next to an entity or an escape it is a part of a value.
        let near = page
            .get(floor(page, at.saturating_sub(8))..at)
            .unwrap_or_default();
        let follows_entity = near.ends_with(';') && near.contains("&#");
        let is_part = follows_entity || page[end..].starts_with("&#") || after == Some('\\');
        let Some(after) = after.filter(|letter| !value.contains(*letter) && !is_part) else {
            continue;
        };
        let after = &page[end..end + after.len_utf8()];
        let nearest = floor(page, at.saturating_sub(LONGEST_BEFORE));
        if let Some(before) = text_before(page, nearest, at, &MARKS) {
            found.push(PageValue {
                value,
                before,
                after,
                name,
            });
        }
    }
    found
}

/// Returns the shortest text between `from` and `at` that leads to `at` and to no earlier place. It begins at or after
/// a mark, and has nothing in it that changes with the value.
pub(super) fn text_before<'t>(
    text: &'t str,
    from: usize,
    at: usize,
    marks: &[char],
) -> Option<&'t str> {
    let starts = text[from..at].rmatch_indices(marks);
    let starts = starts.map(|(start, mark)| from + start + usize::from(!"</?&".contains(mark)));
    starts
        .map(|start| text[start..at].trim_start())
        .filter(|before| before.bytes().any(|byte| byte.is_ascii_alphanumeric()))
        .take(MOST_TRIED)
        .find(|before| text.find(before) == Some(at - before.len()))
        .filter(|before| {
            let mut words = before.split(|letter: char| !letter.is_alphanumeric() && letter != '-');
            words.all(|word| kind(word) < ValueKind::Rare)
        })
}

/// What a value is called, and whether it is that of a field of a form, or of a `<meta>`.
fn name(page: &str, at: usize, length: usize) -> (&str, bool) {
    let from = floor(page, at.saturating_sub(TAG));
    let tag = page[from..at].rfind(['<', '>']).map(|start| from + start);
    if let Some(start) = tag.filter(|start| page[*start..].starts_with('<')) {
        let until = floor(page, (at + length + TAG).min(page.len()));
        let end = page[at + length..until]
            .find('>')
            .map_or(until, |end| at + length + end);
        let tag = &page[start..end];
        let is_field = ["<input", "<meta", "<button", "<option"]
            .iter()
            .any(|begin| {
                tag.get(..begin.len())
                    .is_some_and(|tag| tag.eq_ignore_ascii_case(begin))
            });
        let called = ["name", "property", "id"]
            .iter()
            .find_map(|name| attribute(tag, name));
        if let Some(called) = called.filter(|_| is_field) {
            return (called, true);
        }
    }
    // `csrfToken = "..`, `data-token="..`, `<token>..`.
    let before = page[from..at].trim_end_matches(|letter: char| !letter.is_alphanumeric());
    let word = before.rfind(|letter: char| !letter.is_alphanumeric() && !"_-".contains(letter));
    let word = word.map_or(before, |end| {
        before[end..].trim_start_matches(|letter: char| !letter.is_alphanumeric())
    });
    (word, false)
}

/// The value of an attribute of a tag.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    tag.match_indices(name).find_map(|(at, _)| {
        let is_start =
            tag[..at].ends_with(|letter: char| letter.is_whitespace() || "\"'".contains(letter));
        let value = tag[at + name.len()..]
            .trim_start()
            .strip_prefix('=')?
            .trim_start();
        let value = match value.chars().next()? {
            mark @ ('"' | '\'') => value[1..].split(mark).next()?,
            _ => value
                .split(|letter: char| letter.is_whitespace() || letter == '/')
                .next()?,
        };
        (is_start && !value.is_empty()).then_some(value)
    })
}

/// The nearest place at or before `at` at which a character begins.
fn floor(text: &str, at: usize) -> usize {
    (0..=at)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one<'a>(page: &'a str, value: &str) -> Option<(&'a str, &'a str, &'a str)> {
        let found = find_values(page, &|wanted| wanted == value);
        assert!(found.len() <= 1);
        for found in &found {
            let start = page.find(found.before).unwrap() + found.before.len();
            let end = start + page[start..].find(found.after).unwrap();
            assert_eq!(&page[start..end], value, "read again as it was found");
        }
        found
            .first()
            .map(|found| (found.before, found.after, found.name))
    }

    #[test]
    fn a_value_is_found_by_what_is_before_it() {
        const TOKEN: &str = "9b74c9897bac770ffc029102a2c5de";
        let page =
            format!("<html>\n<form><input type='hidden' name=\"_token\" value=\"{TOKEN}\"></form>");
        assert_eq!(
            one(&page, TOKEN),
            Some((
                "<input type='hidden' name=\"_token\" value=\"",
                "\"",
                "_token"
            ))
        );
        let page = format!("<meta content='{TOKEN}' name='csrf-token'>\n<meta content='{TOKEN}'>");
        assert_eq!(
            one(&page, TOKEN),
            Some(("<meta content='", "'", "csrf-token"))
        );
        let page = format!(
            "<input value=\"a\"><script>\nwindow.config = {{ a: 1, csrfToken: '{TOKEN}' }};"
        );
        assert_eq!(one(&page, TOKEN), Some(("csrfToken: '", "'", "csrfToken")));
        let page = format!("<?xml?><a>1</a><token>{TOKEN}</token>");
        assert_eq!(one(&page, TOKEN), Some(("<token>", "<", "token")));
        // The tag before it makes it the first one.
        let page = format!("<i><input value=\"other\"></i><b><input value=\"{TOKEN}\"></b>");
        assert_eq!(
            one(&page, TOKEN),
            Some(("<b><input value=\"", "\"", "value"))
        );
        // A number counts in a field alone.
        let page = "<input type=hidden name=order_id value='42'><a href='42'>42</a>";
        assert_eq!(
            one(page, "42"),
            Some(("<input type=hidden name=order_id value='", "'", "order_id"))
        );
        assert_eq!(one("<a href='42'>42</a>", "42"), None);
        // What is before it is as dynamic as the value.
        let page = format!("<a href=\"/x/0f8fad5b-d9cb-469f-a165-70867728950e/{TOKEN}\">");
        assert_eq!(one(&page, TOKEN), None);
    }
}
