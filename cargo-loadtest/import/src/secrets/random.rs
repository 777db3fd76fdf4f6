//! Random values: long, with many different characters, and with letters and digits that alternate.

use super::rules::{NameKind, RULES};
use crate::text::has_word;
use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use std::collections::HashSet;

/// The longest value that is secret for its look alone.
const LONGEST: usize = 128;
/// The longest such value of a header.
const LONGEST_HEADER: usize = 512;
/// The shortest text in Base64.
const SHORTEST_TEXT: usize = 8;

/// Returns true where one of the words of a value with such a name is random.
pub(super) fn is_random(value: &str, kind: NameKind) -> bool {
    is_random_up_to(LONGEST, value, kind)
}

/// Returns true where one of the words of a header is random.
pub(crate) fn is_random_header(value: &str, kind: NameKind) -> bool {
    is_random_up_to(LONGEST_HEADER, value, kind)
}

fn is_random_up_to(longest: usize, value: &str, kind: NameKind) -> bool {
    let value = value.trim();
    let is_value = value.len() <= longest && !value.starts_with("data:");
    is_value
        && split_words(value).any(|word| match decode_base64_text(word) {
            _ if is_uuid(word) => kind == NameKind::Doubtful,
            _ if is_file(word) => false,
            Some(text) => split_words(&text).any(|word| is_random_word(word, kind)),
            None => is_random_word(word, kind),
        })
}

/// The parts of a text that can be a value: between blanks, quotes, brackets and the like.
pub(super) fn split_words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "+/=_.~-".contains(letter);
    text.split(move |letter: char| !is_part(letter))
        .filter(|word| !word.is_empty())
}

/// Returns true where a word, a part between slashes or a run of letters and digits is random.
fn is_random_word(word: &str, kind: NameKind) -> bool {
    let runs = word.split(|letter: char| !letter.is_ascii_alphanumeric());
    let parts = word.split('/').chain(runs).chain([word]);
    let mut parts = parts.filter(|part| !is_file(part) && !is_uuid(part));
    parts.any(|part| is_random_part(part, kind))
}

fn is_random_part(part: &str, kind: NameKind) -> bool {
    let bytes: Vec<u8> = part.bytes().filter(u8::is_ascii_alphanumeric).collect();
    let length = bytes.len();
    let has_upper = bytes.iter().any(u8::is_ascii_uppercase);
    let has_lower = bytes.iter().any(u8::is_ascii_lowercase);
    let is_hex = bytes.iter().all(u8::is_ascii_hexdigit) && has_upper != has_lower;
    let is_long = match kind {
        NameKind::Secret | NameKind::Doubtful => length >= if is_hex { 12 } else { 10 },
        // MongoDB identifies documents by 24 digits.
        NameKind::Plain => length >= 20 && !(is_hex && length == 24),
        // A UUID without dashes has 32 digits.
        NameKind::Identifier if is_hex => length >= 40,
        // Firestore, nanoid, xid, cuid, ULID and KSUID are shorter, or 27 characters long.
        NameKind::Identifier if has_upper && has_lower => length >= 24 && length != 27,
        NameKind::Identifier => length >= 28,
        NameKind::Content | NameKind::Harmless => false,
    };
    let least_different = match length {
        ..20 => 7,
        _ if is_hex => 9,
        _ => 12,
    };
    let different: HashSet<&u8> = bytes.iter().collect();
    let changes = bytes.windows(2);
    let changes = changes.filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit());
    let letters = part.trim_end_matches('=').chars().count();
    let signs = letters.saturating_sub(length);
    is_long
        && different.len() >= least_different
        && changes.count() >= (length / 10).max(2)
        // Of random Base64, one character of 32 is a sign.
        && signs <= length / 16 + 1
}

fn is_uuid(text: &str) -> bool {
    text.split('-').map(str::len).eq([8, 4, 4, 4, 12])
        && text
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Returns true for the name of a file.
fn is_file(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map(|(_, end)| end.to_lowercase());
    extension.is_some_and(|end| has_word(&RULES.extensions, &end))
}

/// Decodes Base64, where the result is text.
pub(super) fn decode_base64_text(word: &str) -> Option<String> {
    const CONFIG: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    // Made once: every word of a text is tried, and to fill the tables takes longer than to decode it.
    static ALPHABETS: [GeneralPurpose; 2] = [
        GeneralPurpose::new(&STANDARD, CONFIG),
        GeneralPurpose::new(&URL_SAFE, CONFIG),
    ];
    let bytes = ALPHABETS
        .iter()
        .find_map(|alphabet| alphabet.decode(word).ok())?;
    let text = String::from_utf8(bytes).ok()?;
    let is_text = text.len() >= SHORTEST_TEXT
        && !text.contains(|letter: char| letter.is_control() && !"\t\r\n".contains(letter));
    is_text.then_some(text)
}
