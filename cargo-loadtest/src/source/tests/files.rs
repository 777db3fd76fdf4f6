//! Every file of this repository that has a scenario, with every edit of every step.

use super::*;
use crate::source::splice::Lines;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The files with scenarios or groups below the folders of the workspace, in order.
fn scenario_files() -> &'static [(PathBuf, String)] {
    static FOUND: LazyLock<Vec<(PathBuf, String)>> = LazyLock::new(find_scenario_files);
    &FOUND
}

fn find_scenario_files() -> Vec<(PathBuf, String)> {
    // The ends of attributes: most other files with these words only speak of them.
    let attributes = ["scenario", "scenarios", "group"];
    let attributes = attributes.map(|name| [format!("{name}]"), format!("{name}(")]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders: Vec<PathBuf> = [
        "loadtest",
        "loadtest-macros",
        "cargo-loadtest",
        "examples",
        "tests",
    ]
    .map(|folder| root.join(folder))
    .into();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                if attributes.iter().flatten().any(|end| text.contains(end)) {
                    files.push((path, text));
                }
            }
        }
    }
    files.sort();
    files
}

fn is_mistaken(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "cases")
}

/// All edits of a step, with whether each has to be made.
pub(super) fn edits_of(source: &SourceText, holder: &Holder, number: usize) -> Vec<(Edit, bool)> {
    let part = &holder.parts[number];
    let name = part.item.name.as_str();
    let mut edits = Vec::new();
    let values = [
        ("weight", source_value("0.25")),
        ("expect", source_value("200 | 204")),
        ("think", source_value("5ms..10ms")),
    ];
    for (option, value) in values {
        let was = value_of(source, part, option);
        let owner = Owner::Step;
        let found = part.options().iter().find(|found| found.key == option);
        let is_editable = found.is_none_or(|found| read_value(owner, &source.text, found).is_ok());
        let edit = option_edit(Some(name), option, was, Some(value));
        edits.push((Edit::Option(edit), is_editable));
    }
    if let Some(was @ OptionValue::Request { .. }) = value_of(source, part, "request") {
        for (method, url) in [("get", "/a/{{vu.id}}"), ("post", "/b\"\\")] {
            let to = OptionValue::Request {
                method: method.to_owned(),
                url: url.to_owned(),
            };
            let edit = option_edit(Some(name), "request", Some(was.clone()), Some(to));
            edits.push((Edit::Option(edit), true));
        }
    }
    let header = OptionValue::Pair("x-visit".to_owned(), "{{vu.id}}".repeat(12));
    let header = option_edit(Some(name), "header", None, Some(header));
    edits.push((Edit::Option(header), true));
    for option in part.options() {
        let value = read_value(Owner::Step, &source.text, option);
        let text = &source.text[option.range.clone()];
        let was = value.unwrap_or_else(|_| source_value(text));
        let mut edit = option_edit(
            Some(name),
            form_key(Owner::Step, &option.key),
            Some(was),
            None,
        );
        edit.number = option.number;
        edit.with_comments = true;
        edits.push((Edit::Option(edit), true));
    }
    edits.push((
        Edit::AddStep {
            after: Some(name.to_owned()),
            step: NewStep {
                name: "added_by_test".to_owned(),
                options: vec![(
                    "request".to_owned(),
                    OptionValue::Request {
                        method: "get".to_owned(),
                        url: "/added".to_owned(),
                    },
                )],
                returns: Some("Vec<Option<u8>>".to_owned()),
            },
        },
        false,
    ));
    edits.push((
        Edit::DuplicateStep {
            step: name.to_owned(),
            name: "added_by_test".to_owned(),
        },
        false,
    ));
    let others = holder.parts.iter().filter(|other| other.role != Role::Rust);
    let others = others
        .filter(|other| !other.item.name.is_empty())
        .map(|other| Some(other.item.name.clone()));
    edits.extend(others.chain([None]).map(|before| {
        let step = name.to_owned();
        (Edit::MoveStep { step, before }, false)
    }));
    edits
}

/// A small file with a scenario between two others, since every edit reads all of its file.
fn alone(source: &SourceText, holder: &Holder) -> SourceText {
    let range = Lines(&source.text).start(holder.item.range.start)..holder.item.range.end;
    let other = |name: &str| {
        format!("// {name}\n#[scenario] fn {name}() {{ #[step(get = \"/\")] fn it(); }}\n")
    };
    let text = &source.text[range];
    SourceText::read(&format!("{}{text}\n\n{}", other("before"), other("behind"))).unwrap()
}

/// Makes every edit of every step of these files; returns the number of those that were made.
fn edit_all(files: impl Iterator<Item = &'static (PathBuf, String)>, has_mistakes: bool) -> usize {
    let mut made = 0;
    for (path, text) in files {
        let Ok(source) = SourceText::read(text) else {
            assert!(has_mistakes, "{}", path.display());
            continue;
        };
        for holder in source.scenarios.iter().chain(&source.groups) {
            let source = alone(&source, holder);
            let mut holders = source.scenarios.iter().chain(&source.groups);
            let is_same = |other: &&Holder| other.item.name == holder.item.name;
            let holder = holders.find(is_same).unwrap();
            let parts = holder.parts.iter().enumerate();
            let steps = parts.filter(|(_, part)| part.role == Role::Step);
            let edits = steps.flat_map(|(number, _)| edits_of(&source, holder, number));
            for (edit, has_to_be_made) in edits {
                if has_mistakes && !matches!(&edit, Edit::Option(edit) if edit.to.is_none()) {
                    continue;
                }
                match apply_edit(&source, &holder.path, &edit) {
                    Ok(_) => made += 1,
                    Err(EditRefusal::Refused(_)) if !has_to_be_made => {}
                    Err(_) if has_mistakes => {}
                    Err(reason) => {
                        panic!("{} {}: {edit:?}\n{reason:?}", path.display(), holder.path)
                    }
                }
            }
        }
    }
    made
}

#[test]
fn every_edit_of_every_step_changes_nothing_else() {
    let files = scenario_files().iter();
    let made = edit_all(files.filter(|(path, _)| !is_mistaken(path)), false);
    assert!(made > 5_000, "{made}");
}

#[test]
fn options_are_removed_from_scenarios_with_mistakes() {
    let files = scenario_files().iter();
    let made = edit_all(files.filter(|(path, _)| is_mistaken(path)), true);
    assert!(made > 500, "{made}");
}

#[test]
fn every_file_is_shown_in_forms() {
    for (path, text) in scenario_files() {
        let Ok(file) = FileSource::read(text) else {
            assert!(is_mistaken(path), "{}", path.display());
            continue;
        };
        let scenarios = file.scenarios.iter().chain(&file.groups);
        let parts = scenarios.flat_map(|scenario| &scenario.parts);
        for option in parts.flat_map(|part| &part.options) {
            assert_ne!(
                option.value.is_some(),
                option.locked.is_some(),
                "{option:?}"
            );
            let lines = text.lines().skip(option.line - 1);
            let first = option.source.lines().next().unwrap_or_default();
            assert!(lines.take(1).any(|line| line.contains(first)), "{option:?}");
        }
    }
}
