//! Words for names, from paths, titles and keys.

use super::LISTS;
use crate::import::text::{has_word, percent_decode};
use deunicode::deunicode;
use heck::ToSnakeCase as _;

/// Returns the word of a segment of a path, unless it is an identifier, a version or the like.
pub(super) fn path_word(segment: &str) -> Option<String> {
    let decoded = percent_decode(segment);
    let stem = match decoded.rsplit_once('.') {
        Some((stem, end)) if end.len() <= 5 && !stem.is_empty() => stem,
        _ => &decoded,
    };
    let word = clean_word(stem);
    let is_silent = has_word(&LISTS.silent, &word);
    (!word.is_empty() && !is_version(stem) && !is_identifier(stem) && !is_silent).then_some(word)
}

/// Returns true where a segment of a path differs from request to request.
pub(super) fn is_identifier(segment: &str) -> bool {
    let digits = segment.bytes().filter(u8::is_ascii_digit).count();
    let is_hexadecimal = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    let is_parameter = segment.starts_with(['{', ':', '<']);
    is_parameter
        || !is_version(segment)
            && (digits * 2 >= segment.len()
                || segment.len() > 24
                || segment.len() >= 12 && digits >= 3
                || segment.len() >= 8 && digits > 0 && segment.bytes().all(is_hexadecimal))
}

/// Returns true for a segment that names something where no other one does.
pub(super) fn is_short_word(segment: &str) -> bool {
    segment.len() < 8
        && segment.starts_with(|first: char| first.is_ascii_alphabetic())
        && segment.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Spells a text in lower case letters of ASCII and digits, with underscores between words.
pub(super) fn clean_word(text: &str) -> String {
    let letters = text.chars().filter(|letter| !matches!(letter, '\'' | '’'));
    let plain = deunicode(&letters.take(400).collect::<String>());
    let is_sign = |letter: char| !letter.is_ascii_alphanumeric();
    plain.replace(is_sign, " ").to_snake_case()
}
