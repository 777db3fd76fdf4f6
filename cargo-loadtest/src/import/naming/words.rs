//! Words for names, from paths, titles and keys.

use super::LISTS;
use crate::import::text::{has_word, percent_decode};

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

fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Reduces a text to lower case, digits and single underscores.
pub(super) fn clean_word(text: &str) -> String {
    let letters: Vec<char> = text
        .chars()
        .filter(|letter| !matches!(letter, '\'' | '’'))
        .take(400)
        .collect();
    let mut word = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let latin = latin(*letter);
        if latin.is_empty() {
            if !word.is_empty() && !word.ends_with('_') {
                word.push('_');
            }
            continue;
        }
        let is_lower = |at: usize| letters.get(at).is_some_and(|letter| letter.is_lowercase());
        let is_upper = |at: usize| letters.get(at).is_some_and(|letter| letter.is_uppercase());
        let begins_word =
            at > 0 && is_upper(at) && (is_lower(at - 1) || is_upper(at - 1) && is_lower(at + 1));
        if begins_word && !word.is_empty() && !word.ends_with('_') {
            word.push('_');
        }
        word.push_str(&latin);
    }
    word.trim_matches('_').to_owned()
}

/// Transliterates a letter to ASCII in lower case; other characters give nothing.
fn latin(letter: char) -> String {
    let lower = letter.to_lowercase().next().unwrap_or(letter);
    if lower.is_ascii_alphanumeric() {
        return lower.to_string();
    }
    let mut rows = LISTS.latin.iter().filter_map(|row| row.split_once(' '));
    let row = rows.find(|(_, letters)| letters.contains(lower));
    row.map_or_else(String::new, |(plain, _)| plain.to_owned())
}
