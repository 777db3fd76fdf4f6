//! Random values: long, with many different characters, and with letters and digits that alternate.
//!
//! The entropy of a value is `H = -Σ p·log₂ p` over the shares `p` of its characters, in bits per character (C. E.
//! Shannon, A Mathematical Theory of Communication, 1948, section 6). The limits are those of scanners for secrets: 3.0
//! for hexadecimal digits (detect-secrets), else 3.5 (gitleaks).

use super::rules::{RULES, has_word};
use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Longer values are documents.
const LONGEST: usize = 2048;
/// The shortest text in Base64.
const SHORTEST_TEXT: usize = 8;

/// The length that a random value has at least, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strictness {
    /// For names that mean a secret as often as not: `key`, `code`.
    Low,
    /// For names that say nothing.
    Normal,
    /// For places of identifiers, which are random, too: a path, a name that ends with `id`.
    High,
}

/// Returns true where one of the words of a value is random.
pub(super) fn is_random(value: &str, strictness: Strictness) -> bool {
    let value = value.trim();
    let is_value = value.len() <= LONGEST && !value.starts_with("data:");
    is_value && split_words(value).any(|word| is_random_word(word, strictness))
}

/// The parts of a text that can be a value: between blanks, quotes, brackets and the like.
pub(super) fn split_words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "+/=_.~-".contains(letter);
    text.split(move |letter: char| !is_part(letter))
        .filter(|word| !word.is_empty())
}

fn is_random_word(word: &str, strictness: Strictness) -> bool {
    if is_uuid(word) {
        return strictness == Strictness::Low;
    }
    if is_file(word) {
        return false;
    }
    match decode_base64_text(word) {
        Some(text) => split_words(&text).any(|word| is_random_part(word, strictness)),
        None => is_random_part(word, strictness),
    }
}

fn is_random_part(word: &str, strictness: Strictness) -> bool {
    let segments = word.split('/');
    let runs = word.split(|letter: char| !letter.is_ascii_alphanumeric());
    let parts = segments.chain(runs).filter(|part| part.len() < word.len());
    std::iter::once(word).chain(parts).any(|part| {
        !is_file(part)
            && !is_uuid(part)
            && Counts::new(part).is_some_and(|counts| counts.are_random(strictness))
    })
}

/// The characters of a text, counted.
struct Counts {
    /// Letters and digits.
    length: usize,
    /// Other characters.
    signs: usize,
    /// Neighbours of which one is a letter and the other a digit.
    changes: usize,
    is_hex: bool,
    has_both_cases: bool,
    /// Bits per character.
    entropy: f64,
}

impl Counts {
    #[expect(clippy::cast_precision_loss, reason = "counts of a short text")]
    fn new(text: &str) -> Option<Self> {
        let bytes: Vec<u8> = text.bytes().filter(u8::is_ascii_alphanumeric).collect();
        let length = bytes.len();
        let mut counts = [0_usize; 128];
        for &byte in &bytes {
            counts[usize::from(byte)] += 1;
        }
        let has_upper = bytes.iter().any(u8::is_ascii_uppercase);
        let has_lower = bytes.iter().any(u8::is_ascii_lowercase);
        let shares = counts.iter().filter(|count| **count > 0);
        let shares = shares.map(|count| *count as f64 / length as f64);
        let changes = bytes.windows(2);
        let changes = changes.filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit());
        (length > 0).then(|| Self {
            length,
            signs: text
                .trim_end_matches('=')
                .chars()
                .count()
                .saturating_sub(length),
            changes: changes.count(),
            is_hex: bytes.iter().all(u8::is_ascii_hexdigit) && has_upper != has_lower,
            has_both_cases: has_upper && has_lower,
            entropy: shares.map(|share| -share * share.log2()).sum(),
        })
    }

    fn are_random(&self, strictness: Strictness) -> bool {
        let is_short = strictness == Strictness::Low && self.length < 20;
        let least_entropy = match self.is_hex {
            _ if is_short => 2.6,
            true => 3.0,
            false => 3.5,
        };
        self.is_long_enough(strictness)
            && self.entropy >= least_entropy
            && self.changes >= (self.length / 10).max(2)
            // Of random Base64, one character of 32 is a sign.
            && self.signs <= self.length / 16 + 1
    }

    fn is_long_enough(&self, strictness: Strictness) -> bool {
        match (strictness, self.is_hex) {
            (Strictness::Low, true) => self.length >= 12,
            (Strictness::Low, false) => self.length >= 10,
            // MongoDB identifies documents by 24 digits.
            (Strictness::Normal, true) => self.length >= 20 && self.length != 24,
            (Strictness::Normal, false) => self.length >= 20,
            // A UUID without dashes has 32 digits.
            (Strictness::High, true) => self.length >= 40,
            // Firestore, nanoid, xid, cuid, ULID and KSUID are shorter, or 27 characters long.
            (Strictness::High, false) if self.has_both_cases => {
                self.length >= 24 && self.length != 27
            }
            (Strictness::High, false) => self.length >= 28,
        }
    }
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
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let bytes = [&STANDARD, &URL_SAFE]
        .into_iter()
        .find_map(|alphabet| GeneralPurpose::new(alphabet, config).decode(word).ok())?;
    let text = String::from_utf8(bytes).ok()?;
    let is_text = text.len() >= SHORTEST_TEXT
        && !text.contains(|letter: char| letter.is_control() && !"\t\r\n".contains(letter));
    is_text.then_some(text)
}
