//! Inputs that nobody wrote, made of those that somebody did: texts, bytes and JSON documents. The numbers are the same
//! at each run.
//!
//! `LOADTEST_FUZZ=100000` makes so many of each input instead of the few of every test run, and `LOADTEST_FUZZ=3600s` makes
//! them for an hour. An input that something panics at is kept in a file, whose name is printed.

use serde_json::Value;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// How many inputs are made of each one, unless `LOADTEST_FUZZ` says.
const ROUNDS: u64 = 20;
/// The largest input that is changed, in bytes: the time of a test run is for many small ones.
pub const LARGEST: usize = 16_000;
/// Texts that hurt where they are not expected.
const HOSTILE: [&str; 22] = [
    "",
    " ",
    "{{",
    "}}",
    "{{x.response.y}}",
    "{{secret.X}}",
    "*/",
    "\n#[test] fn x() {}\n//",
    "\"",
    "\\",
    "'",
    "\u{0}",
    "\u{202e}\u{feff}",
    "é\u{1f600}",
    "fn",
    "self",
    "../..",
    "http://[::1",
    "%zz%",
    "//",
    "#/paths/~1a/get",
    "9999999999999999999999",
];

/// Numbers that are the same at each run (xorshift64).
#[derive(Debug)]
pub struct Dice(u64);

impl Dice {
    /// Makes the dice of the input with this number.
    pub fn of_input(number: usize) -> Self {
        Self(0x9e37_79b9_7f4a_7c15 ^ number as u64)
    }

    /// Returns the next number.
    pub fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Below `sides`; zero where there are none.
    pub fn below(&mut self, sides: usize) -> usize {
        if sides == 0 {
            return 0;
        }
        (self.roll() % sides as u64) as usize
    }

    /// Returns one of `all`.
    pub fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    /// A place in a text where a character begins.
    fn place(&mut self, text: &str) -> usize {
        let at = self.below(text.len() + 1);
        (0..=at)
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or_default()
    }
}

/// Part of a text taken out, doubled, moved, or something put in its place.
pub fn changed_text(text: &str, dice: &mut Dice) -> String {
    let mut text = text.to_owned();
    for _ in 0..=dice.below(3) {
        let (one, other) = (dice.place(&text), dice.place(&text));
        let (from, to) = (one.min(other), one.max(other));
        // Mostly little is changed, so that the rest is still looked at.
        let near = from + (to - from).min(dice.below(40));
        let to = (from..=near)
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(from);
        match dice.below(7) {
            0 => text.truncate(one),
            1 => text.replace_range(from..to, ""),
            2 => {
                let part = text[from..to].repeat(1 + dice.below(4));
                text.insert_str(from, &part);
            }
            3 => text.replace_range(from..to, dice.of(&HOSTILE)),
            4 => text.insert_str(from, dice.of(&HOSTILE)),
            5 => text.insert_str(from, &dice.of(&["[", "{", "(", "$(", "- "]).repeat(300)),
            _ => {
                let sign = char::from(32 + dice.below(95) as u8);
                text.insert(from, sign);
            }
        }
    }
    text
}

/// A document in which values are others than they should be.
pub fn changed_document(document: &Value, dice: &mut Dice) -> Value {
    let mut document = document.clone();
    for _ in 0..=dice.below(4) {
        let mut values = 0;
        walk(&mut document, &mut |_| values += 1);
        let (chosen, source) = (dice.below(values), dice.below(values));
        let mut number = 0;
        let mut part = Value::Null;
        walk(&mut document, &mut |value| {
            if number == source {
                part = value.clone();
            }
            number += 1;
        });
        number = 0;
        walk(&mut document, &mut |value| {
            if number == chosen {
                change(value, &part, dice);
            }
            number += 1;
        });
    }
    document
}

fn change(value: &mut Value, part: &Value, dice: &mut Dice) {
    match (dice.below(9), &mut *value) {
        (0, _) => *value = Value::Null,
        (1, _) => *value = Value::from(dice.of(&HOSTILE)),
        (2, _) => {
            let odd = serde_json::json!([[], {}, -1, 1e300, true, u64::MAX, 1e-300, -0.5]);
            *value = odd[dice.below(8)].clone();
        }
        (3, _) => *value = part.clone(),
        (4 | 5, Value::Object(fields)) => {
            let names: Vec<String> = fields.keys().cloned().collect();
            if let Some(name) = names.get(dice.below(names.len())) {
                let taken = fields.remove(name).unwrap_or_default();
                if dice.below(2) == 0 {
                    fields.insert(dice.of(&HOSTILE).to_owned(), taken);
                }
            }
        }
        (4 | 5, Value::Array(items)) => {
            let at = dice.below(items.len());
            if let Some(item) = items.get(at).cloned() {
                items.extend(vec![item; dice.below(5)]);
                items.remove(at);
            }
        }
        (6, Value::String(text)) => *text = changed_text(text, dice),
        (7, Value::String(text)) => *text = text.repeat(200),
        (_, _) => *value = Value::from(dice.roll()),
    }
}

fn walk(value: &mut Value, visit: &mut dyn FnMut(&mut Value)) {
    visit(value);
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, visit)),
        Value::Object(fields) => fields.values_mut().for_each(|field| walk(field, visit)),
        _ => {}
    }
}

/// Bytes of which some are others, are missing, or are there more often.
pub fn changed_bytes(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=dice.below(3) {
        let from = dice.below(bytes.len() + 1);
        let to = (from + dice.below(40)).min(bytes.len());
        match dice.below(6) {
            0 => bytes.truncate(from),
            1 => drop(bytes.drain(from..to)),
            2 => {
                let part = bytes[from..to].repeat(1 + dice.below(4));
                bytes.splice(from..from, part);
            }
            3 => drop(bytes.splice(from..to, dice.of(&HOSTILE).bytes())),
            4 if from < bytes.len() => bytes[from] ^= 1 << dice.below(8),
            _ => bytes.insert(from, dice.roll() as u8),
        }
    }
    bytes
}

/// Yields once for each input that is to be made of each seed.
///
/// # Panics
/// `LOADTEST_FUZZ` is neither a number nor a number of seconds.
fn rounds() -> impl Iterator<Item = u64> {
    let wanted = std::env::var("LOADTEST_FUZZ").ok();
    let wanted = wanted.unwrap_or_else(|| ROUNDS.to_string());
    let parse = |number: &str| {
        number
            .parse()
            .expect("`LOADTEST_FUZZ` is `2000` or `3600s`")
    };
    let (count, end) = match wanted.strip_suffix('s') {
        Some(seconds) => {
            let end = Instant::now() + Duration::from_secs(parse(seconds));
            (u64::MAX, Some(end))
        }
        None => (parse(&wanted), None),
    };
    (0..count).take_while(move |_| end.is_none_or(|end| Instant::now() < end))
}

/// Calls `check` with inputs, keeps one that it panics at, and counts them.
struct Checked<C> {
    check: C,
    inputs: Cell<u64>,
}

impl<C> Checked<C> {
    fn new(check: C) -> Self {
        let inputs = Cell::new(0);
        Self { check, inputs }
    }

    fn check<I: AsRef<[u8]> + ?Sized>(&self, input: &I)
    where
        C: Fn(&I),
    {
        self.inputs.set(self.inputs.get() + 1);
        show_panic(input.as_ref(), || (self.check)(input));
    }

    #[expect(
        clippy::print_stdout,
        reason = "shown to who asks for it by `--nocapture`"
    )]
    fn print_count(&self) {
        println!("{} inputs", self.inputs.get());
    }
}

/// Passes each of `seeds` to `check`, and texts that are made of it: documents too, where it is one in JSON.
pub fn fuzz_texts<S: AsRef<str>>(seeds: impl IntoIterator<Item = S>, check: impl Fn(&str)) {
    let checked = Checked::new(check);
    let mut seeds: Vec<_> = seeds
        .into_iter()
        .enumerate()
        .map(|(number, seed)| {
            checked.check(seed.as_ref());
            let document: Option<Value> = serde_json::from_str(seed.as_ref()).ok();
            (seed, document, Dice::of_input(number))
        })
        .collect();
    for _ in rounds() {
        for (seed, document, dice) in &mut seeds {
            checked.check(changed_text(seed.as_ref(), dice).as_str());
            if let Some(document) = document {
                checked.check(changed_document(document, dice).to_string().as_str());
            }
        }
    }
    checked.print_count();
}

/// Passes each of `seeds` to `check`, and bytes that are made of it.
pub fn fuzz_bytes<S: AsRef<[u8]>>(seeds: impl IntoIterator<Item = S>, check: impl Fn(&[u8])) {
    let checked = Checked::new(check);
    let mut seeds: Vec<_> = seeds
        .into_iter()
        .enumerate()
        .map(|(number, seed)| {
            checked.check(seed.as_ref());
            (seed, Dice::of_input(number))
        })
        .collect();
    for _ in rounds() {
        for (seed, dice) in &mut seeds {
            checked.check(changed_bytes(seed.as_ref(), dice).as_slice());
        }
    }
    checked.print_count();
}

/// Does `work`, and keeps the input if it panics.
///
/// # Panics
/// `work` panics.
pub fn show_panic(input: &[u8], work: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(work)).is_err() {
        let path = std::env::temp_dir().join("loadtest-fuzz-input");
        let written = std::fs::write(&path, input);
        panic!("the input is in {} ({written:?})", path.display());
    }
}

/// Returns the texts of all files in a folder.
///
/// # Panics
/// There are none, or they are no texts.
pub fn read_seeds(folder: impl AsRef<Path>) -> Vec<String> {
    let folder = folder.as_ref();
    let files = std::fs::read_dir(folder).expect("a folder of seeds");
    let mut files: Vec<_> = files
        .map(|file| file.expect("a file").path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    let texts = files.iter().map(std::fs::read_to_string);
    let texts: Vec<_> = texts.map(|text| text.expect("a text")).collect();
    assert!(!texts.is_empty(), "{}: no seeds", folder.display());
    texts
}
