//! Edits of every load test in this repository, of odd layouts, and of random ones.

mod edits;
mod files;
mod layouts;
mod random;
mod values;

use super::edit::{Edit, EditRefusal, NewStep, OptionEdit, apply_edit, apply_edits};
use super::forms::{FileSource, PartSource};
use super::kinds::{Owner, form_key};
use super::read::{Holder, Role, SourcePart, SourceText};
use super::value::{OptionValue, read_value};

/// An edit of an option of a step.
fn option_edit(
    step: Option<&str>,
    option: &str,
    was: Option<OptionValue>,
    to: Option<OptionValue>,
) -> OptionEdit {
    OptionEdit {
        step: step.map(str::to_owned),
        option: option.to_owned(),
        number: 1,
        was,
        to,
        with_comments: false,
    }
}

fn source_value(text: &str) -> OptionValue {
    OptionValue::Source(text.to_owned())
}

fn request(method: &str, url: &str) -> OptionValue {
    OptionValue::Request {
        method: method.to_owned(),
        url: url.to_owned(),
    }
}

fn pair(first: &str, second: &str) -> OptionValue {
    OptionValue::Pair(first.to_owned(), second.to_owned())
}

fn new_step(name: &str, url: &str) -> NewStep {
    NewStep {
        name: name.to_owned(),
        options: vec![("request".to_owned(), request("get", url))],
        returns: None,
    }
}

fn move_step(step: &str, before: Option<&str>) -> Edit {
    Edit::MoveStep {
        step: step.to_owned(),
        before: before.map(str::to_owned),
    }
}

/// The value of an option as edits carry it.
fn value_of(source: &SourceText, part: &SourcePart, option: &str) -> Option<OptionValue> {
    let owner = Owner::of_role(part.role);
    let mut options = part.options().iter();
    let found = options.find(|found| form_key(owner, &found.key) == option)?;
    let text = &source.text[found.range.clone()];
    Some(read_value(owner, &source.text, found).unwrap_or_else(|_| source_value(text)))
}

/// The text after edits of the scenario `visit`.
#[track_caller]
fn edited(text: &str, edits: &[Edit]) -> String {
    match apply_edits(text, "visit", edits) {
        Ok(edited) => edited.text,
        Err(refused) => panic!("{refused:?}"),
    }
}

/// The reason why one edit of the scenario `visit` is refused.
#[track_caller]
fn refusal(text: &str, edit: Edit) -> EditRefusal {
    match apply_edits(text, "visit", &[edit]) {
        Ok(edited) => panic!("{}", edited.text),
        Err(mut refused) => refused.remove(0).reason,
    }
}

fn part_of(text: &str, name: &str) -> PartSource {
    let file = FileSource::read(text).unwrap();
    let mut parts = file
        .scenarios
        .into_iter()
        .flat_map(|scenario| scenario.parts);
    parts.find(|part| part.name == name).unwrap()
}
