//! Inputs that nobody wrote, made of those that somebody did: no importer panics at one, and each refusal has a
//! place in it.

use super::*;
use loadtest_tests::fuzz::{LARGEST, fuzz_texts, show_panic};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Reads an input to the end: a source that is Rust, or a refusal with a place.
fn check(text: &str, from: &str, read: &dyn Fn(&Input) -> Result<Recording, Mistake>) {
    let input = &Input::new("input", text.to_owned());
    match read(input) {
        Ok(mut recording) => {
            for note in &recording.notes {
                assert!(note.span.start <= text.len(), "{note:?}");
                input.excerpt(&note.span);
                is_placed(input, &note.span, from);
            }
            correlate(&mut recording);
            hide_secrets(&mut recording);
            let source = write_source(&recording, input, from).source;
            if let Err(error) = syn::parse_file(&source) {
                panic!("{error}\n{source}");
            }
        }
        Err(mistake) => {
            assert!(!mistake.words.is_empty());
            assert!(mistake.span.start <= text.len(), "{mistake:?}");
            assert!(input.excerpt(&mistake.span).contains("input:"));
            is_placed(input, &mistake.span, from);
        }
    }
}

/// Of a document that is one of its format, what is said has a place in it that is not where all of it begins: a
/// value within, or the name of one.
fn is_placed(input: &Input, span: &Span, from: &str) {
    if format(input) != Some(from) || ["jmx", "k6"].contains(&from) {
        return;
    }
    let root = document::read(input).unwrap();
    let is_name = root.fields().iter().any(|field| field.span == *span);
    let is_within = root.span.start < span.start && span.end <= root.span.end;
    assert!(is_name || is_within, "{span:?} {}", input.excerpt(span));
}

/// All files of a folder of fixtures, and of those in it.
fn fixtures(folder: &str) -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
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
    let texts = fixtures
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok());
    let (small, large): (Vec<_>, Vec<_>) = texts.partition(|text| text.len() <= LARGEST);
    assert!(!small.is_empty(), "there are inputs to change");
    for text in large {
        check(&text, format, read);
    }
    fuzz_texts(small, |text| check(text, format, read));
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
            show_panic(text.as_bytes(), || {
                check(&text, format(&input).unwrap_or_default(), read);
            });
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
}

#[test]
#[ignore = "fuzzing takes time; CONTRIBUTING.md has the command"]
fn no_archive_is_too_strange_for_the_options() {
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
fn no_plan_is_too_strange() {
    fuzz("jmx", &|input| read_jmx(input));
}

#[test]
#[ignore = "fuzzing takes time; CONTRIBUTING.md has the command"]
fn no_script_is_too_strange() {
    fuzz("k6", &|input| read_k6(input));
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
    let read = |input: &Input| read_text(input, &files, None, None);
    let forms = table["forms"].as_array().unwrap();
    let commands = forms.iter().flat_map(|form| {
        let command = form["cmd"].as_str().unwrap().replace("PORT", "80");
        let cmd = command.replace('\'', "^\"").replace("\\\n", "^\n");
        let powershell = command.replace("\\\n", "`\n");
        [command, cmd, powershell]
    });
    fuzz_texts(commands, |text| check(text, "curl", &read));
}
