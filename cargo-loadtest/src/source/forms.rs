//! A file as forms show it: plain data, which holds no place in bytes.

use super::attribute::Attribute;
use super::head::description_of;
use super::items::Item;
use super::kinds::{Owner, form_key};
use super::mentions::{References, needs_of};
use super::parts::move_step;
use super::read::{Holder, Role, SourcePart, SourceText};
use super::tokens::Unreadable;
use super::value::{OptionValue, read_value};
use serde::Serialize;

/// A file with scenarios.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FileSource {
    pub(crate) scenarios: Vec<ScenarioSource>,
    /// The `#[group]` functions outside of scenarios, which edits know by their paths as well.
    pub(crate) groups: Vec<ScenarioSource>,
    /// The modules with `#[scenarios]`: options and functions that their scenarios share. No form edits them.
    pub(crate) modules: Vec<ScenarioSource>,
}

/// A scenario and its parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ScenarioSource {
    /// The modules of the file that it is in, and the function, joined by `::`. Edits name it so.
    pub(crate) path: String,
    /// The name of the function without `r#`.
    pub(crate) function: String,
    /// The line of that name.
    pub(crate) line: usize,
    pub(crate) first_line: usize,
    pub(crate) last_line: usize,
    pub(crate) description: Description,
    pub(crate) options: Vec<OptionSource>,
    /// In the order of the source; the members of a group follow it.
    pub(crate) parts: Vec<PartSource>,
    /// The path of the module with `#[scenarios]` that it is in.
    pub(crate) module: Option<String>,
    /// The reason why no form can edit any of it.
    pub(crate) locked: Option<&'static str>,
}

/// An item in the body of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct PartSource {
    pub(crate) role: Role,
    /// The name of the function without `r#`; empty for some items without a role.
    pub(crate) name: String,
    /// The line of that name.
    pub(crate) line: usize,
    pub(crate) first_line: usize,
    pub(crate) last_line: usize,
    /// The name of the group that it is in.
    pub(crate) group: Option<String>,
    pub(crate) description: Description,
    pub(crate) options: Vec<OptionSource>,
    /// The type behind `->`.
    pub(crate) returns: Option<String>,
    /// The names of other parts that it takes as parameters or in templates.
    pub(crate) needs: Vec<String>,
    /// True if Rust code makes the request.
    pub(crate) has_body: bool,
    pub(crate) is_async: bool,
    /// The text from its first attribute to its end.
    pub(crate) source: String,
    /// The way of a step past the one before it; none for the first of its body.
    pub(crate) up: Option<StepMove>,
    /// The way of a step past the one behind it; none for the last of its body.
    pub(crate) down: Option<StepMove>,
}

/// A move of a step past its neighbour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct StepMove {
    /// The part that it is moved before; none behind all.
    pub(crate) before: Option<String>,
    /// The reason why it has to stay.
    pub(crate) refusal: Option<String>,
}

/// A doc comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Description {
    /// The text without slashes; empty where there is none.
    pub(crate) text: String,
    /// The reason why no form can edit it.
    pub(crate) locked: Option<&'static str>,
}

/// An option of an attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct OptionSource {
    /// The key, `request` for method and URL, `limit` for a limit of a step.
    pub(crate) key: String,
    /// Counts the options of the same key, from 1.
    pub(crate) number: usize,
    pub(crate) line: usize,
    pub(crate) last_line: usize,
    /// The text of all of the option.
    pub(crate) source: String,
    /// The value, if a form can edit it.
    pub(crate) value: Option<OptionValue>,
    /// The reason why no form can edit it.
    pub(crate) locked: Option<&'static str>,
}

impl FileSource {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// A text that is no Rust.
    pub(crate) fn read(text: &str) -> Result<Self, Unreadable> {
        let source = SourceText::read(text)?;
        let module_of = |holder: &Holder| Some(source.modules[holder.module?].path.clone());
        let show = |holders: &[Holder], owner| {
            let shown = holders.iter().map(|holder| ScenarioSource {
                module: module_of(holder),
                ..ScenarioSource::new(&source, holder, owner)
            });
            shown.collect()
        };
        Ok(Self {
            scenarios: show(&source.scenarios, Owner::Scenario),
            groups: show(&source.groups, Owner::Group),
            modules: show(&source.modules, Owner::Scenario),
        })
    }
}

impl ScenarioSource {
    fn new(source: &SourceText, holder: &Holder, owner: Owner) -> Self {
        let parts = 0..holder.parts.len();
        let references = References::new(source, holder);
        let part = |number| PartSource::new(source, holder, number, &references);
        Self {
            path: holder.path.clone(),
            function: holder.item.name.clone(),
            line: source.line_of(holder.item.name_range.start),
            first_line: source.line_of(holder.item.range.start),
            last_line: source.line_of(holder.item.range.end),
            description: Description::new(source, &holder.item),
            options: show_options(source, owner, Some(&holder.attribute)),
            parts: parts.map(part).collect(),
            module: None,
            locked: holder.locked(),
        }
    }
}

impl PartSource {
    fn new(source: &SourceText, holder: &Holder, number: usize, references: &References) -> Self {
        let part = &holder.parts[number];
        let SourcePart { role, item, .. } = part;
        let owner = Owner::of_role(*role);
        Self {
            role: *role,
            name: item.name.clone(),
            line: source.line_of(item.name_range.start),
            first_line: source.line_of(item.range.start),
            last_line: source.line_of(item.range.end),
            group: part
                .group
                .map(|group| holder.parts[group].item.name.clone()),
            description: Description::new(source, item),
            options: show_options(source, owner, part.attribute.as_ref()),
            returns: item
                .returns
                .clone()
                .map(|range| source.text[range].to_owned()),
            needs: needs_of(source, part),
            has_body: item.body.is_some(),
            is_async: item.is_async,
            source: source.text[item.range.clone()].to_owned(),
            up: find_move(source, holder, number, references, true),
            down: find_move(source, holder, number, references, false),
        }
    }
}

/// The move of a step past the step or the group before it, or behind it.
fn find_move(
    source: &SourceText,
    holder: &Holder,
    number: usize,
    references: &References,
    is_up: bool,
) -> Option<StepMove> {
    let part = &holder.parts[number];
    if part.role != Role::Step || holder.locked().is_some() {
        return None;
    }
    let is_named = |at: &usize| {
        let other = &holder.parts[*at];
        other.group == part.group && other.role != Role::Rust && !other.item.name.is_empty()
    };
    let is_passed =
        |at: &usize| is_named(at) && matches!(holder.parts[*at].role, Role::Step | Role::Group);
    let mut behind = number + 1..holder.parts.len();
    let before = if is_up {
        Some((0..number).rfind(is_passed)?)
    } else {
        behind.find(is_passed)?;
        behind.find(is_named)
    };
    let refusal = match move_step(source, holder, number, before, references) {
        Ok(_) => None,
        Err(refusal) => Some(refusal.to_string()),
    };
    Some(StepMove {
        before: before.map(|at| holder.parts[at].item.name.clone()),
        refusal,
    })
}

impl Description {
    fn new(source: &SourceText, item: &Item) -> Self {
        match description_of(source, item) {
            Ok(text) => Self { text, locked: None },
            Err(reason) => Self {
                text: item
                    .docs
                    .iter()
                    .map(|doc| &source.text[doc.clone()])
                    .collect::<Vec<_>>()
                    .join("\n"),
                locked: Some(reason),
            },
        }
    }
}

fn show_options(
    source: &SourceText,
    owner: Owner,
    attribute: Option<&Attribute>,
) -> Vec<OptionSource> {
    let mut shown: Vec<OptionSource> = Vec::new();
    for option in attribute.map_or(&[][..], |attribute| &attribute.options) {
        let key = form_key(owner, &option.key);
        let value = read_value(owner, &source.text, option);
        shown.push(OptionSource {
            key: key.to_owned(),
            number: 1 + shown.iter().filter(|other| other.key == key).count(),
            line: source.line_of(option.range.start),
            last_line: source.line_of(option.range.end),
            source: source.text[option.range.clone()].to_owned(),
            locked: value.as_ref().err().copied(),
            value: value.ok(),
        });
    }
    shown
}
