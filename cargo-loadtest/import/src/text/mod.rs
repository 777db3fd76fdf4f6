//! Small functions on text that all readers and passes share: encodings, forms, English words.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

/// The media type of forms.
pub(super) const URL_ENCODED: &str = "application/x-www-form-urlencoded";

/// Decodes `%2F` and the like; where the result is not UTF-8, returns the text as it is.
pub(super) fn percent_decode(text: &str) -> String {
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
    decoded.unwrap_or(text.into()).into_owned()
}

/// Decodes a name or a value of a form or a query, where `+` is a blank.
pub(super) fn form_decode(text: &str) -> String {
    let spaced = text.replace('+', " ");
    let decoded = percent_encoding::percent_decode_str(&spaced);
    decoded.decode_utf8_lossy().into_owned()
}

/// Encodes a name or a value of a form.
pub(super) fn form_encode(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// Encodes what no URL can have as it is.
pub(super) fn encode_url(url: &str) -> String {
    percent_encode(url, "\"#<>`")
}

/// Encodes these letters and those that cannot stand in a URL; escapes in the text stay.
pub(super) fn percent_encode(text: &str, letters: &str) -> String {
    percent_encode_unless(text, |letter| {
        letter.is_ascii_graphic() && !letters.contains(letter)
    })
}

/// Encodes all but ASCII letters, digits and these letters.
pub(super) fn percent_encode_except(text: &str, letters: &str) -> String {
    percent_encode_unless(text, |letter| {
        letter.is_ascii_alphanumeric() || letters.contains(letter)
    })
}

fn percent_encode_unless(text: &str, is_plain: impl Fn(char) -> bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if is_plain(char::from(byte)) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Returns true for a token of HTTP, such as a method or the name of a header.
pub(super) fn is_token(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_letter)
}

/// Escapes text for the inside of a string of JSON.
pub(super) fn escape_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Returns the singular of an English noun: `box` of `boxes`.
pub(super) fn singular(word: &str) -> String {
    let stem = |end: &str| word.strip_suffix(end).filter(|stem| stem.len() > 1);
    if let Some(stem) = stem("ies") {
        return format!("{stem}y");
    }
    let is_singular = ["ss", "us", "is", "news", "series", "os"];
    if is_singular.iter().any(|end| word.ends_with(end)) {
        return word.to_owned();
    }
    let has_extra_syllable = ["sses", "xes", "ches", "shes", "zes"];
    if has_extra_syllable.iter().any(|end| stem(end).is_some()) {
        return word[..word.len() - 2].to_owned();
    }
    stem("s").unwrap_or(word).to_owned()
}

/// Returns the nearest place at or before `at` at which a character begins.
pub(super) fn floor_boundary(text: &str, at: usize) -> usize {
    let mut places = (0..=at.min(text.len())).rev();
    places.find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Truncates words to a number of characters.
pub(super) fn truncate(words: &str, most: usize) -> String {
    let Some((end, _)) = words.char_indices().nth(most) else {
        return words.to_owned();
    };
    let cut = &words[..end];
    let end = cut
        .rfind(' ')
        .filter(|space| space * 2 > end)
        .unwrap_or(end);
    format!("{} …", cut[..end].trim_end())
}

/// Puts a name in backticks, truncated.
pub(super) fn quote_name(name: &str) -> String {
    format!(
        "`{}`",
        truncate(
            &loadtest_console::console::clean(name).replace('`', "'"),
            60
        )
    )
}

/// Returns the value of a name in a list of pairs.
pub(super) fn find_pair<'p, V>(pairs: &'p [(impl AsRef<str>, V)], name: &str) -> Option<&'p V> {
    let (_, value) = pairs.iter().find(|(known, _)| known.as_ref() == name)?;
    Some(value)
}

/// Returns true where a list has the word.
pub(super) fn has_word(words: &[String], word: &str) -> bool {
    words.iter().any(|known| known == word)
}

/// Returns the place of a part of a text, which is a slice of it.
pub(super) fn place_of(part: &str, text: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    start..start + part.len()
}

/// Splits a name into words in lower case: `lineItems`, `line-items`, `LINE_ITEMS` alike.
pub(super) fn split_name(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars().take(200) {
        if letter.is_uppercase() && was_lower || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns the most frequent item. Of several, the one that reached that number first.
pub(super) fn most_frequent<T: Clone + Eq + std::hash::Hash>(
    items: impl Iterator<Item = T>,
) -> Option<T> {
    let mut counts: HashMap<T, usize> = HashMap::new();
    let mut most: Option<(usize, T)> = None;
    for item in items {
        let count = counts.entry(item.clone()).or_default();
        *count += 1;
        if most.as_ref().is_none_or(|(most, _)| *count > *most) {
            most = Some((*count, item));
        }
    }
    most.map(|(_, item)| item)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_have_a_singular() {
        for (many, one) in [
            ("boxes", "box"),
            ("categories", "category"),
            ("orders", "order"),
            ("status", "status"),
            ("addresses", "address"),
            ("s", "s"),
        ] {
            assert_eq!(singular(many), one);
        }
    }

    #[test]
    fn decoding_reverses_encoding() {
        for text in ["a b+c", "ü/%", "", "{x}"] {
            assert_eq!(form_decode(&form_encode(text)), text);
            assert_eq!(percent_decode(&encode_url("a b")), "a b");
        }
        assert_eq!(percent_decode("%ff%2F"), "%ff%2F");
        assert_eq!(escape_json("a\"\n"), "a\\\"\\n");
    }
}
