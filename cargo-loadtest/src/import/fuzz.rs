//! Inputs that nobody wrote, made of those that somebody did: no importer panics at one, and each refusal has a
//! place in it. `LOADTEST_FUZZ=100000` makes more of them than the few of every test run.

use super::*;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// How many inputs are made of each one, unless `LOADTEST_FUZZ` says.
const ROUNDS: u64 = 20;
/// The largest input that is changed, in bytes: the time of a test run is for many small ones.
const LARGEST: usize = 16_000;
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
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Below `sides`; zero where there are none.
    fn below(&mut self, sides: usize) -> usize {
        if sides == 0 {
            return 0;
        }
        usize::try_from(self.roll() % sides as u64).unwrap()
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    /// A place in a text where a character begins.
    fn place(&mut self, text: &str) -> usize {
        let at = self.below(text.len() + 1);
        (0..=at)
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap()
    }
}

/// Part of a text taken out, doubled, moved, or something put in its place.
fn changed_text(text: &str, dice: &mut Dice) -> String {
    let mut text = text.to_owned();
    for _ in 0..=dice.below(3) {
        let (one, other) = (dice.place(&text), dice.place(&text));
        let (from, to) = (one.min(other), one.max(other));
        // Mostly little is changed, so that the rest is still looked at.
        let near = from + (to - from).min(dice.below(40));
        let to = (from..=near)
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap();
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
                let sign = char::from(u8::try_from(32 + dice.below(95)).unwrap());
                text.insert(from, sign);
            }
        }
    }
    text
}

/// A document in which values are others than they should be.
fn changed_document(document: &Value, dice: &mut Dice) -> Value {
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
        (2, _) => *value = serde_json::json!([[], {}, -1, 1e300, true])[dice.below(5)].clone(),
        (3, _) => *value = part.clone(),
        (4 | 5, Value::Object(fields)) => {
            let names: Vec<String> = fields.keys().cloned().collect();
            if let Some(name) = names.get(dice.below(names.len())) {
                let taken = fields.remove(name).unwrap();
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

/// Reads an input to the end: a source that is Rust, or a refusal with a place.
fn check(text: &str, from: &str, read: &dyn Fn(&Input) -> Result<Recording, Mistake>) {
    /// Shows the input that something panicked at.
    struct Shown<'a>(&'a str);
    impl Drop for Shown<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                let path = std::env::temp_dir().join("loadtest-fuzz-input");
                let _ = fs::write(&path, self.0);
                eprintln!("the input is in {}", path.display());
            }
        }
    }
    let input = Input::new("input", text.to_owned());
    let _shown = Shown(text);
    match read(&input) {
        Ok(mut recording) => {
            for note in &recording.notes {
                assert!(note.span.start <= text.len(), "{note:?}");
                input.excerpt(&note.span);
                is_placed(&input, &note.span, from);
            }
            correlate(&mut recording);
            hide_secrets(&mut recording);
            let source = write_source(&recording, &input, from).source;
            if let Err(error) = syn::parse_file(&source) {
                panic!("{error}\n{source}");
            }
        }
        Err(mistake) => {
            assert!(!mistake.words.is_empty());
            assert!(mistake.span.start <= text.len(), "{mistake:?}");
            assert!(input.excerpt(&mistake.span).contains("input:"));
            is_placed(&input, &mistake.span, from);
        }
    }
}

/// Of a document that is one of its format, what is said has a place in it that is not where all of it begins: a
/// value within, or the name of one.
fn is_placed(input: &Input, span: &source::Span, from: &str) {
    if format(input) != Some(from) {
        return;
    }
    let root = document::read(input).unwrap();
    let is_name = root.fields().iter().any(|field| field.span == *span);
    let is_within = root.span.start < span.start && span.end <= root.span.end;
    assert!(is_name || is_within, "{span:?} {}", input.excerpt(span));
}

fn rounds() -> u64 {
    let rounds = std::env::var("LOADTEST_FUZZ").ok();
    rounds.map_or(ROUNDS, |rounds| rounds.parse().unwrap())
}

/// All files of a folder of fixtures, and of those in it.
fn fixtures(folder: &str) -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures");
    let mut folders = vec![all.join(folder)];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_none_or(|end| end != "md") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Changes all fixtures of a format, as text and as documents.
fn fuzz(format: &str, read: &dyn Fn(&Input) -> Result<Recording, Mistake>) {
    let fixtures = fixtures(&format!("import/{format}"));
    assert!(!fixtures.is_empty(), "there are inputs to change");
    for (number, path) in fixtures.iter().enumerate() {
        let Ok(text) = fs::read_to_string(path) else {
            continue;
        };
        check(&text, format, read);
        if text.len() > LARGEST {
            continue;
        }
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ number as u64);
        let document: Option<Value> = serde_json::from_str(&text).ok();
        for _ in 0..rounds() {
            check(&changed_text(&text, &mut dice), format, read);
            if let Some(document) = &document {
                let changed = changed_document(document, &mut dice).to_string();
                check(&changed, format, read);
            }
        }
    }
}

/// Reads documents that others published, each as what it is: those of packages, or of a folder of one's own.
#[test]
#[ignore = "fuzzing takes time; CONTRIBUTING.md has the command"]
fn documents_of_others_are_imported() {
    let mut folders = match std::env::var_os("LOADTEST_CORPUS") {
        Some(folder) => vec![PathBuf::from(folder)],
        None => published(),
    };
    let mut figures = [0; 2];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let Ok(text) = fs::read_to_string(&path) else {
                continue;
            };
            let input = Input::new(path.display().to_string(), text.as_str());
            let read: &dyn Fn(&Input) -> Result<Recording, Mistake> = match format(&input) {
                Some("har") => &|input| read_har(input, &HarOptions::default()),
                Some("openapi") => &|input| read_openapi(input, &OpenApiOptions::default()),
                Some("postman") => &|input| read_postman(input, &PostmanOptions::default()),
                _ => continue,
            };
            match read(&input) {
                Ok(recording) => {
                    figures[0] += 1;
                    let requests = recording.exchanges.len();
                    println!("{}: {requests} requests", path.display());
                }
                Err(mistake) => {
                    figures[1] += 1;
                    println!("{}: {}", path.display(), mistake.words);
                }
            }
            check(&text, format(&input).unwrap_or_default(), read);
        }
    }
    println!("{} imported, {} refused", figures[0], figures[1]);
    assert!(figures[0] > 0, "{figures:?}");
}

/// Where packages of others hold documents that public services have published.
fn published() -> Vec<PathBuf> {
    // Of other systems nothing is downloaded.
    let rustc = std::process::Command::new("rustc").arg("-vV").output();
    let rustc = String::from_utf8(rustc.unwrap().stdout).unwrap();
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: "));
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .other_options(["--filter-platform".to_owned(), host.unwrap().to_owned()])
        .exec()
        .unwrap();
    let packages = metadata.packages.iter();
    let held = packages.filter_map(|package| {
        let folder = match package.name.as_str() {
            "openapiv3" => "fixtures",
            "postman_collection" => "tests/fixtures/collection",
            _ => return None,
        };
        Some(package.manifest_path.parent()?.join(folder).into())
    });
    held.collect()
}

#[test]
#[ignore = "fuzzing takes time; CONTRIBUTING.md has the command"]
fn no_archive_is_too_strange() {
    fuzz("har", &|input| read_har(input, &HarOptions::default()));
    let options = HarOptions {
        keeps_static: true,
        drops_pauses: true,
        hosts: vec!["127.0.0.1".to_owned()],
    };
    fuzz("har", &|input| read_har(input, &options));
}

#[test]
#[ignore = "fuzzing takes time; CONTRIBUTING.md has the command"]
fn no_description_is_too_strange() {
    fuzz("openapi", &|input| {
        read_openapi(input, &OpenApiOptions::default())
    });
}

#[test]
#[ignore = "fuzzing takes time; CONTRIBUTING.md has the command"]
fn no_collection_is_too_strange() {
    fuzz("postman", &|input| {
        read_postman(input, &PostmanOptions::default())
    });
}

#[test]
#[ignore = "fuzzing takes time; CONTRIBUTING.md has the command"]
fn no_command_is_too_strange() {
    let table = include_str!("../../../tests/fixtures/curl/forms.json");
    let table: Value = serde_json::from_str(table).unwrap();
    let files = PermittedFiles {
        folder: PathBuf::new(),
        are_permitted: false,
    };
    let read = |input: &Input| read_text(input, &files, None);
    let forms = table["forms"].as_array().unwrap();
    for (number, form) in forms.iter().enumerate() {
        let command = form["cmd"].as_str().unwrap().replace("PORT", "80");
        let cmd = command.replace('\'', "^\"").replace("\\\n", "^\n");
        let powershell = command.replace("\\\n", "`\n");
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ number as u64);
        for text in [command, cmd, powershell] {
            for _ in 0..rounds().div_ceil(2) {
                check(&changed_text(&text, &mut dice), "curl", &read);
            }
        }
    }
}
