//! Which values look random: long, with little repetition, and of pairs of letters that no word has.
//!
//! A value is looked at as a whole, at its parts between slashes, and at its runs of letters and digits. One of them
//! is random if
//! 1. it has enough letters and digits ([`Place`]), and of both, or of both cases;
//! 2. its entropy is high: `H = -Σ p·log₂ p` over the shares `p` of its characters, in bits per character (C. E.
//!    Shannon, A Mathematical Theory of Communication, 1948, section 6). The limits are those that scanners for secrets
//!    have: 3.0 where all are hexadecimal digits (detect-secrets), else 3.5 (gitleaks); of short ones 2.6, since `n`
//!    characters cannot have more than `log₂ n`;
//! 3. it is not of many short parts: one sign between letters and digits for each 16 of them, and one more;
//! 4. its pairs of neighbours surprise: a letter beside a digit, a change of case, two letters that seldom follow
//!    each other in words. Of random letters and digits they are four of five, of hexadecimal digits half, of names
//!    one of five.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// The longest value that is looked at: a longer one is a document, and fits in no variable.
const LONGEST: usize = 2048;
/// As many bytes of a text in Base64 tell that it is one.
const SHORTEST_TEXT: usize = 8;
/// The letters that follow a letter in words, in nine of ten cases, as counted in manuals and programs.
const FOLLOWERS: [(u8, &[u8]); 26] = [
    (b'a', b"abcdgilmnprstuy"),
    (b'b', b"aeilorsu"),
    (b'c', b"acehiklorstu"),
    (b'd', b"adefilors"),
    (b'e', b"abcdefgilmnprstvwx"),
    (b'f', b"aefilortu"),
    (b'g', b"aehirsu"),
    (b'h', b"aeiot"),
    (b'i', b"abcdefglmnoprstvz"),
    (b'j', b"aeou"),
    (b'k', b"ei"),
    (b'l', b"adeilostuy"),
    (b'm', b"aeimops"),
    (b'n', b"acdefgiostuv"),
    (b'o', b"abcdfgilmnoprstuvw"),
    (b'p', b"aeiloprst"),
    (b'q', b"u"),
    (b'r', b"acdeilmnoprstuy"),
    (b's', b"acehilopstuy"),
    (b't', b"acdefhiloprstuy"),
    (b'u', b"abeilmnprst"),
    (b'v', b"aei"),
    (b'w', b"aei"),
    (b'x', b"t"),
    (b'y', b"p"),
    (b'z', b"e"),
];
/// How names of files end that have a hash in them.
const ENDS: [&str; 24] = [
    "avif", "bin", "css", "csv", "gif", "gz", "htm", "html", "ico", "jpeg", "jpg", "js", "json",
    "map", "mjs", "mp4", "pdf", "png", "svg", "ttf", "txt", "wasm", "webp", "woff2",
];

/// Where a value stands: how much of it has to be there before it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Under a name that means a secret as often as not: `key`, `code`.
    Doubtful,
    /// Under a name that says nothing.
    Any,
    /// Where identifiers of things stand, which are random, too: in a path, under a name that ends with `id`.
    Thing,
}

impl Place {
    /// Whether so many letters and digits are enough.
    fn is_enough(self, run: &Run) -> bool {
        match (self, run.is_hex) {
            (Self::Doubtful, true) => run.length >= 12,
            (Self::Doubtful, false) => run.length >= 10,
            // Twenty-four are an identifier of MongoDB.
            (Self::Any, true) => run.length >= 20 && run.length != 24,
            (Self::Any, false) => run.length >= 20,
            // Thirty-two are a UUID without its dashes.
            (Self::Thing, true) => run.length >= 40,
            // Identifiers of Firestore (20), nanoid (21), xid (20), cuid (25), ULID (26), KSUID (27) are shorter.
            (Self::Thing, false) if run.has_both_cases => run.length >= 24 && run.length != 27,
            (Self::Thing, false) => run.length >= 28,
        }
    }

    fn least_entropy(self, run: &Run) -> f64 {
        match (self, run.is_hex) {
            (Self::Doubtful, _) if run.length < 20 => 2.6,
            (_, true) => 3.0,
            (_, false) => 3.5,
        }
    }
}

/// Whether a value looks like nothing that somebody has thought of.
pub(super) fn is_random(value: &str, place: Place) -> bool {
    let value = value.trim();
    if value.len() > LONGEST || value.starts_with("data:") {
        return false;
    }
    words(value).any(|word| is_random_word(word, place))
}

/// The parts of a text that can be a value: between blanks, quotes, brackets and the like.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "+/=_.~-".contains(letter);
    text.split(move |letter: char| !is_part(letter))
        .filter(|word| !word.is_empty())
}

fn is_random_word(word: &str, place: Place) -> bool {
    if is_uuid(word) {
        return place == Place::Doubtful && Run::of(word).entropy >= 2.6;
    }
    if is_file(word) {
        return false;
    }
    if let Some(text) = text_in_base64(word) {
        return words(&text).any(|word| is_random_part(word, place));
    }
    is_random_part(word, place)
}

fn is_random_part(word: &str, place: Place) -> bool {
    let segments = word.split('/').filter(|segment| segment.len() < word.len());
    let runs = word.split(|letter: char| !letter.is_ascii_alphanumeric());
    let runs = runs.filter(|run| run.len() < word.len());
    let mut parts = std::iter::once(word).chain(segments).chain(runs);
    parts.any(|part| !is_file(part) && !is_uuid(part) && Run::of(part).is_random(place))
}

/// What is counted of a text.
struct Run {
    /// How many letters and digits it has.
    length: usize,
    /// How many other signs are between them.
    signs: usize,
    /// Whether these are hexadecimal digits, of which some are letters.
    is_hex: bool,
    has_both_cases: bool,
    /// Whether it has letters and digits, or letters of both cases.
    is_mixed: bool,
    /// In bits per character.
    entropy: f64,
    /// The share of the pairs that surprise.
    surprise: f64,
}

impl Run {
    #[expect(clippy::cast_precision_loss, reason = "counts of a short text")]
    fn of(text: &str) -> Self {
        let mut counts = [0_usize; 128];
        let mut length = 0_usize;
        for byte in text.bytes().filter(u8::is_ascii_alphanumeric) {
            counts[usize::from(byte)] += 1;
            length += 1;
        }
        let has = |from: u8, to: u8| {
            let range = usize::from(from)..=usize::from(to);
            counts[range].iter().any(|count| *count > 0)
        };
        let (has_upper, has_lower) = (has(b'A', b'Z'), has(b'a', b'z'));
        let has_others = has(b'G', b'Z') || has(b'g', b'z');
        let shares = counts.iter().filter(|count| **count > 0);
        let entropy = shares
            .map(|count| *count as f64 / length as f64)
            .map(|share| -share * share.log2())
            .sum();
        let (mut pairs, mut surprises) = (0_usize, 0_usize);
        for pair in text.as_bytes().windows(2) {
            if pair.iter().all(u8::is_ascii_alphanumeric) {
                pairs += 1;
                surprises += usize::from(is_surprise(pair[0], pair[1]));
            }
        }
        Self {
            length,
            signs: text.trim_end_matches('=').len() - length,
            is_hex: !has_others && has_upper != has_lower,
            has_both_cases: has_upper && has_lower,
            is_mixed: has_upper && has_lower || (has_upper || has_lower) && has(b'0', b'9'),
            entropy,
            surprise: surprises as f64 / pairs.max(1) as f64,
        }
    }

    fn is_random(&self, place: Place) -> bool {
        let least_surprise = if self.is_hex { 0.25 } else { 0.45 };
        // Of random ones in Base64, one of 32 is no letter and no digit.
        let is_joined = self.signs > self.length / 16 + 1;
        self.is_mixed
            && !is_joined
            && place.is_enough(self)
            && self.entropy >= place.least_entropy(self)
            && self.surprise >= least_surprise
    }
}

/// Whether two neighbours are seldom so in a name or a number.
fn is_surprise(one: u8, other: u8) -> bool {
    // `abc`, `xxx`, `123`
    if one.abs_diff(other) <= 1 {
        return false;
    }
    match (one.is_ascii_digit(), other.is_ascii_digit()) {
        (true, true) => return false,
        (true, false) | (false, true) => return true,
        (false, false) => {}
    }
    // A word may begin with a capital.
    if one.is_ascii_lowercase() && other.is_ascii_uppercase() {
        return true;
    }
    let (one, other) = (one.to_ascii_lowercase(), other.to_ascii_lowercase());
    FOLLOWERS
        .iter()
        .any(|(first, seconds)| *first == one && !seconds.contains(&other))
}

/// Whether it is a UUID, also in braces or upper case.
pub(super) fn is_uuid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12])
        && text
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Whether it is the name of a file.
fn is_file(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    let end = name.rsplit_once('.').map(|(_, end)| end.to_lowercase());
    end.is_some_and(|end| ENDS.contains(&end.as_str()))
}

/// What is written in Base64, where that is a text.
pub(super) fn text_in_base64(word: &str) -> Option<String> {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let bytes = [&STANDARD, &URL_SAFE]
        .into_iter()
        .find_map(|alphabet| GeneralPurpose::new(alphabet, config).decode(word).ok())?;
    let text = String::from_utf8(bytes).ok()?;
    let is_text = text.len() >= SHORTEST_TEXT
        && text
            .chars()
            .all(|letter| !letter.is_control() || "\t\r\n".contains(letter));
    is_text.then_some(text)
}
