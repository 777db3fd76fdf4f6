//! How much a value is like no other: a token is, a page number is not.

use std::collections::HashSet;

/// What a value looks like, from what anything could be to what nothing else is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ValueKind {
    /// A date, a boolean, a price, a text with blanks: never looked for.
    Plain,
    /// A short word.
    Word,
    /// Digits, so many.
    Number(usize),
    /// It is seldom the same by chance: an order number, a slug.
    Rare,
    /// It is never the same by chance: a UUID, a token.
    Unique,
}

/// What is so much as hardly to be guessed, in bits.
const UNIQUE: usize = 60;
/// What is more than a word.
const RARE: usize = 20;
/// The bits of a word, wherever it stands: there are not many.
const OF_WORD: usize = 5;
/// No word is longer.
const LONGEST_WORD: usize = 20;
/// The longest value that is looked for.
const LONGEST: usize = 1024 * 1024;

#[cfg(test)]
thread_local! {
    /// How often it was asked.
    pub(super) static ASKED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Says it of a value.
pub(super) fn kind(value: &str) -> ValueKind {
    #[cfg(test)]
    ASKED.set(ASKED.get() + 1);
    let is_known = matches!(value, "" | "true" | "false" | "null" | "undefined" | "NaN");
    let has_blank = value
        .chars()
        .any(|letter| letter.is_whitespace() || letter.is_control());
    if is_known || has_blank || value.len() > LONGEST {
        return ValueKind::Plain;
    }
    if value.bytes().all(|byte| byte.is_ascii_digit()) {
        return ValueKind::Number(value.len());
    }
    if is_measure(value) || has_few(value) {
        return ValueKind::Plain;
    }
    let bits: usize = value
        .split(|letter: char| !letter.is_alphanumeric())
        .map(bits)
        .sum();
    match bits {
        0 => ValueKind::Plain,
        UNIQUE.. => ValueKind::Unique,
        RARE.. if value.len() >= 6 => ValueKind::Rare,
        _ => ValueKind::Word,
    }
}

/// Whether digits may be a time: seconds or milliseconds since 1970, or a date without blanks.
pub(super) fn is_time(digits: &str) -> bool {
    let is_epoch = matches!(digits.len(), 10 | 13)
        && matches!(
            digits.as_bytes(),
            [b'1', b'0'..=b'9', ..] | [b'2', b'0', ..]
        );
    let is_day = digits.len() == 8 && (digits.starts_with("19") || digits.starts_with("20"));
    is_epoch || is_day
}

/// How much there is to guess in a part without punctuation.
fn bits(part: &str) -> usize {
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let letters = part.chars().count() - digits;
    if letters == 0 {
        return digits * 10 / 3;
    }
    let is_short = part.chars().count() <= 2;
    if digits == 0 && (is_short || is_words(part)) {
        return OF_WORD;
    }
    // A word with a number behind it: `shirt2`.
    let stem = part.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if digits > 0 && stem.chars().count() == letters && letters >= 4 && is_words(stem) {
        return OF_WORD + digits * 10 / 3;
    }
    let is_hexadecimal = part.bytes().all(|byte| byte.is_ascii_hexdigit());
    (digits + letters) * if is_hexadecimal { 4 } else { 5 }
}

/// Returns true if it is made of words: `shirt`, `OrderCreated`, `EUR`.
fn is_words(part: &str) -> bool {
    let length = part.chars().count();
    let is_capital = part.chars().all(char::is_uppercase);
    // `EUR`, `csrf`, `html`.
    if (is_capital || part.chars().all(char::is_lowercase)) && length <= 5 {
        return true;
    }
    let inner = part.chars().skip(1).filter(|letter| letter.is_uppercase());
    let words = 1 + if is_capital { 0 } else { inner.count() };
    let is_vowel = |letter: &char| "aeiouyAEIOUY".contains(*letter) || !letter.is_ascii();
    let vowels = part.chars().filter(is_vowel).count();
    length / words <= LONGEST_WORD && length >= words * 3 && vowels * 6 >= length
}

/// Returns true for a number with a fraction, a sign or a unit, and for a date or a time.
fn is_measure(value: &str) -> bool {
    let number =
        value.trim_end_matches(|letter: char| letter.is_ascii_alphabetic() || letter == '%');
    let is_digit = |byte: u8| byte.is_ascii_digit();
    let is_date = number.as_bytes().get(4) == Some(&b'-') && number[..4].bytes().all(is_digit);
    let inner = number.strip_prefix('-').unwrap_or(number);
    let is_part =
        |byte| is_digit(byte) || b".,:".contains(&byte) || is_date && b"-+TZ".contains(&byte);
    value.len() - number.len() <= 3
        && !inner.is_empty()
        && (is_date || inner.len() < 15)
        && inner.bytes().all(is_part)
}

/// Whether it repeats so few letters that it is nobody's: `00000000-0000-0000-0000-000000000000`.
fn has_few(value: &str) -> bool {
    let letters = value.bytes().filter(u8::is_ascii_alphanumeric);
    value.len() >= 6 && letters.collect::<HashSet<_>>().len() <= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_as_rare_as_it_looks() {
        for value in [
            "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
            "9b74c9897bac770ffc029102a2c5de",
            "dGhpc0lzQVRva2VuT2ZVcw==",
            "W/\"5f3a-9c81bd02e6a47710\"",
            "cs_test_a1b2c3d4e5f6g7h8i9",
        ] {
            assert_eq!(kind(value), ValueKind::Unique, "{value}");
        }
        for value in [
            "ORD-20231",
            "a8f3k2",
            "blue-cotton-shirt-1042",
            "summer-sale-2024",
            "kx81zz90",
        ] {
            assert_eq!(kind(value), ValueKind::Rare, "{value}");
        }
        for value in [
            "pending",
            "EUR",
            "ada",
            "OrderCreated",
            "A1",
            "dark-blue",
            "en-US",
            "ada@example.org",
            "v2",
        ] {
            assert_eq!(kind(value), ValueKind::Word, "{value}");
        }
        for value in [
            "",
            "true",
            "null",
            "2024-01-01",
            "2024-01-01T10:00:00Z",
            "10:30",
            "19.99",
            "-3",
            "500ms",
            "Red shirt",
            "00000000-0000-0000-0000-000000000000",
            "a\nb",
            "---",
        ] {
            assert_eq!(kind(value), ValueKind::Plain, "{value}");
        }
        assert_eq!(kind("42"), ValueKind::Number(2));
        assert!(is_time("1700000000") && is_time("1700000000123") && is_time("20240131"));
        assert!(!is_time("4711") && !is_time("98765432101"));
    }
}
