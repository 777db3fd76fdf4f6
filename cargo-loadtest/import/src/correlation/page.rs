//! Values in answers that are no JSON - pages, scripts, XML - and the texts around them, by which they are found
//! again in the next answer.

use super::kind::{ValueKind, kind};
use super::parts_by;
use crate::recording::naming_words;
use crate::text::floor_boundary;
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
    // The texts between quotes and tags, then words.
    let is_mark = |letter: char| "\"'`<>".contains(letter);
    let is_inner = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    let words = parts_by(page, |letter| !is_inner(letter)).filter(|word| word.len() >= 8);
    let parts = parts_by(page, is_mark).chain(words);
    let parts = parts.filter(|part| part.len() <= LONGEST && is_wanted(&page[part.clone()]));
    let mut starts: Vec<_> = parts.map(|part| (part.start, &page[part])).collect();
    starts.sort_by_key(|(at, _)| *at);
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for (at, value) in starts {
        if found.len() >= MOST || !seen.insert(value) {
            continue;
        }
        let end = at + value.len();
        let (name, is_field) = name_value(page, at, value.len());
        if kind(value) < ValueKind::Rare && !is_field {
            continue;
        }
        // Next to an entity or an escape it is a part of a value.
        let rest = &page[end..];
        let is_part = page[..at].ends_with(';') || rest.starts_with("&#") || rest.starts_with('\\');
        let after = rest
            .chars()
            .next()
            .filter(|letter| !value.contains(*letter));
        let Some(after) = after.filter(|_| !is_part) else {
            continue;
        };
        let after = &page[end..end + after.len_utf8()];
        let nearest = floor_boundary(page, at.saturating_sub(LONGEST_BEFORE));
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

/// Returns the name of a value, and true if it is that of a field of a form or of a `<meta>`.
fn name_value(page: &str, at: usize, length: usize) -> (&str, bool) {
    let from = floor_boundary(page, at.saturating_sub(TAG));
    let until = floor_boundary(page, at + length + TAG);
    let begin = page[from..at]
        .rfind(['<', '>'])
        .map_or(from, |start| from + start);
    let (before, after) = (&page[begin..at], &page[at + length..until]);
    let after = after.split('>').next().unwrap_or_default();
    let name = naming_words(before)
        .next_back()
        .or_else(|| naming_words(after).next());
    let element = before.split_whitespace().next().unwrap_or_default();
    let mut fields = ["<input", "<meta", "<button", "<option"].iter();
    let is_field = fields.any(|field| field.eq_ignore_ascii_case(element));
    (name.unwrap_or("value"), is_field && name.is_some())
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
