//! Changes of a scenario that carry what they replace.
//!
//! Each becomes splices of the text. The new text is read again, and has to be the old model with the change.

use super::answer::{AnswerField, add_field};
use super::attribute::{Attribute, LIMIT, OptionText};
use super::head::{describe_item, description_of, set_returns};
use super::kinds::{Owner, form_key};
use super::layout::{Printed, add_option, remove_option, set_option};
use super::mentions::References;
use super::parts::{add_step, duplicate_step, move_step, remove_step, rename_step};
use super::print::print_option;
use super::proof::{Expected, prove_edit};
use super::read::{Holder, SourceText};
use super::splice::{Pieces, Splice, apply_splices};
use super::tokens::{Unreadable, lex_text, spell_value};
use super::value::{OptionValue, check_and_print, read_value};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A change of one scenario, or of one shared group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Edit {
    /// Sets, adds or removes an option.
    Option(OptionEdit),
    /// Sets the doc comment of a step, or of the scenario without one.
    Describe {
        step: Option<String>,
        was: String,
        to: String,
    },
    /// Sets the type behind `->` of a step without a body.
    Returns {
        step: String,
        was: Option<String>,
        to: Option<String>,
    },
    /// Adds a step behind another one, or behind all.
    AddStep {
        after: Option<String>,
        step: NewStep,
    },
    /// Removes a step whose source was this.
    RemoveStep {
        step: String,
        was: String,
        #[serde(default)]
        with_comments: bool,
    },
    /// Adds a copy of a step behind it.
    DuplicateStep { step: String, name: String },
    /// Moves a step before another one, or behind all.
    MoveStep {
        step: String,
        before: Option<String>,
    },
    /// Renames the function of a step, and the templates that name it.
    RenameStep { step: String, to: String },
    /// Adds a field to a type with `#[response]` of the file.
    AddField { answer: String, field: AnswerField },
}

/// Another value of an option: `was` is none for a new option, `to` for one to remove.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OptionEdit {
    /// The step, feed or group; none for the scenario itself.
    #[serde(default)]
    pub(crate) step: Option<String>,
    /// The key of the option; `request` for method and URL, `limit` for a limit of a step.
    pub(crate) option: String,
    /// Counts the options of the same key, from 1.
    #[serde(default = "first")]
    pub(crate) number: usize,
    /// A value that no form can edit is [`OptionValue::Source`] of all of the option.
    pub(crate) was: Option<OptionValue>,
    pub(crate) to: Option<OptionValue>,
    /// True if the comments of a removed option may go with it.
    #[serde(default)]
    pub(crate) with_comments: bool,
}

/// A step without a body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NewStep {
    pub(crate) name: String,
    /// Keys and values, in the order of the source.
    pub(crate) options: Vec<(String, OptionValue)>,
    #[serde(default)]
    pub(crate) returns: Option<String>,
}

fn first() -> usize {
    1
}

/// A text with changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EditedSource {
    pub(crate) text: String,
    /// What changed in the text before: disjoint, in order.
    pub(crate) splices: Vec<Splice>,
}

/// The reason why an edit was not made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EditRefusal {
    #[error("{0}")]
    Unreadable(String),
    /// The value that the edit replaces is not there any more.
    #[error("the file has another value")]
    Conflict {
        /// The value in the file now; none where there is no such option.
        on_disk: Option<OptionValue>,
    },
    #[error("`{0}` is not in the file")]
    Missing(String),
    /// These comments would go, which has to be confirmed.
    #[error("comments would be removed")]
    Comments(Vec<String>),
    #[error("{0}")]
    Refused(String),
    /// The changed text is not what was meant: a mistake in this program.
    #[error("the changed text could not be verified, which is a bug in this program")]
    Unproven,
}

/// An edit that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct RefusedEdit {
    /// The number of the edit, from 0.
    pub(crate) edit: usize,
    pub(crate) reason: EditRefusal,
}

/// What an edit comes to.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) splices: Vec<Splice>,
    pub(super) expected: Expected,
    /// The comments that go.
    pub(super) lost: Vec<Range<usize>>,
}

impl Change {
    pub(super) fn new(splices: Vec<Splice>, expected: Expected) -> Self {
        Self {
            splices,
            expected,
            lost: Vec::new(),
        }
    }

    /// Notes the comments that go.
    ///
    /// # Errors
    /// Comments that nobody confirmed.
    pub(super) fn losing(
        mut self,
        source: &SourceText,
        lost: Vec<Range<usize>>,
        is_confirmed: bool,
    ) -> Result<Self, EditRefusal> {
        if !lost.is_empty() && !is_confirmed {
            let texts = lost
                .iter()
                .map(|comment| source.text[comment.clone()].to_owned());
            return Err(EditRefusal::Comments(texts.collect()));
        }
        self.lost = lost;
        Ok(self)
    }
}

/// Applies the edits to the scenario with this path, one after another.
///
/// # Errors
/// Every edit that is refused; the text is then as it was.
pub(crate) fn apply_edits(
    text: &str,
    scenario: &str,
    edits: &[Edit],
) -> Result<EditedSource, Vec<RefusedEdit>> {
    let unreadable = |error: Unreadable| {
        vec![RefusedEdit {
            edit: 0,
            reason: EditRefusal::Unreadable(error.to_string()),
        }]
    };
    let mut source = SourceText::read(text).map_err(unreadable)?;
    let mut pieces = Pieces::new(text.len());
    let mut refused = Vec::new();
    for (number, edit) in edits.iter().enumerate() {
        match apply_edit(&source, scenario, edit) {
            Ok((after, splices)) => {
                pieces.apply(&splices);
                source = after;
            }
            Err(reason) => refused.push(RefusedEdit {
                edit: number,
                reason,
            }),
        }
    }
    if refused.is_empty() {
        return Ok(EditedSource {
            text: source.text,
            splices: pieces.into_splices(),
        });
    }
    Err(refused)
}

/// Applies an edit, and proves that nothing else changed.
pub(super) fn apply_edit(
    source: &SourceText,
    path: &str,
    edit: &Edit,
) -> Result<(SourceText, Vec<Splice>), EditRefusal> {
    if let Edit::AddField { answer, field } = edit {
        return add_field(source, answer, field);
    }
    let (owner, holder) = source.find_holder(path)?;
    let mut change = change_of(source, owner, holder, edit)?;
    change.splices.sort_by_key(|splice| splice.range.start);
    let text = apply_splices(&source.text, &change.splices);
    let after = SourceText::read(&text).map_err(|_| EditRefusal::Unproven)?;
    if !prove_edit(source, &after, path, &change) {
        return Err(EditRefusal::Unproven);
    }
    Ok((after, change.splices))
}

fn change_of(
    source: &SourceText,
    owner: Owner,
    holder: &Holder,
    edit: &Edit,
) -> Result<Change, EditRefusal> {
    let number = |name: &str| {
        let missing = || EditRefusal::Missing(name.to_owned());
        holder.find_part(name).ok_or_else(missing)
    };
    let optional = |name: &Option<String>| name.as_deref().map(number).transpose();
    match edit {
        Edit::Option(edit) => match optional(&edit.step)? {
            Some(at) => {
                let part = &holder.parts[at];
                let owner = Owner::of_role(part.role);
                let attribute = part.attribute.as_ref();
                let missing = || EditRefusal::Missing(part.item.name.clone());
                change_option(
                    source,
                    owner,
                    attribute.ok_or_else(missing)?,
                    Some(at),
                    edit,
                )
            }
            None => change_option(source, owner, &holder.attribute, None, edit),
        },
        Edit::Describe { step, was, to } => {
            let at = optional(step)?;
            let item = at.map_or(&holder.item, |at| &holder.parts[at].item);
            let on_disk = description_of(source, item);
            let on_disk = on_disk.map_err(|reason| EditRefusal::Refused(reason.to_owned()))?;
            if on_disk != *was {
                let on_disk = Some(OptionValue::Text(on_disk));
                return Err(EditRefusal::Conflict { on_disk });
            }
            describe_item(source, item, at, &to.replace("\r\n", "\n"))
        }
        Edit::Returns { step, was, to } => {
            set_returns(source, holder, number(step)?, was.as_deref(), to.as_deref())
        }
        Edit::AddStep { after, step } => add_step(source, holder, optional(after)?, step),
        Edit::RemoveStep {
            step,
            was,
            with_comments,
        } => remove_step(source, holder, number(step)?, was, *with_comments),
        Edit::DuplicateStep { step, name } => duplicate_step(source, holder, number(step)?, name),
        Edit::MoveStep { step, before } => {
            let references = References::new(source, holder);
            let (step, before) = (number(step)?, optional(before)?);
            move_step(source, holder, step, before, &references)
        }
        Edit::RenameStep { step, to } => rename_step(source, holder, number(step)?, to),
        Edit::AddField { answer, .. } => Err(EditRefusal::Missing(answer.clone())),
    }
}

fn change_option(
    source: &SourceText,
    owner: Owner,
    attribute: &Attribute,
    part: Option<usize>,
    edit: &OptionEdit,
) -> Result<Change, EditRefusal> {
    let found = find_option(source, owner, attribute, edit);
    let on_disk = found.map(|at| shown_value(source, owner, &attribute.options[at]));
    if !is_same_value(&edit.option, on_disk.as_ref(), edit.was.as_ref()) {
        return Err(EditRefusal::Conflict { on_disk });
    }
    let printed = match edit.to.clone().map(OptionValue::normalised) {
        Some(value) => {
            let text =
                check_and_print(owner, &edit.option, &value).map_err(EditRefusal::Refused)?;
            Some((text, Printed::new(&edit.option, &value)))
        }
        None => None,
    };
    let expected = Expected::Option {
        part,
        option: found,
        to: printed.as_ref().map(|(text, _)| text.clone()),
    };
    match (found, printed) {
        (Some(at), Some((_, new))) => {
            if read_value(owner, &source.text, &attribute.options[at]).is_err() {
                let reason = format!("`{}` is edited in Rust", edit.option);
                return Err(EditRefusal::Refused(reason));
            }
            Ok(Change::new(
                set_option(source, attribute, at, &new),
                expected,
            ))
        }
        (None, Some((_, new))) => Ok(Change::new(add_option(source, attribute, &new), expected)),
        (Some(at), None) => {
            let (splices, lost) = remove_option(source, attribute, at);
            Change::new(splices, expected).losing(source, lost, edit.with_comments)
        }
        (None, None) => Err(EditRefusal::Missing(edit.option.clone())),
    }
}

/// The option that an edit is about: the one of its number, else one that still has the value it replaces, since
/// another one may have come before it.
fn find_option(
    source: &SourceText,
    owner: Owner,
    attribute: &Attribute,
    edit: &OptionEdit,
) -> Option<usize> {
    if edit.was.is_none() && matches!(edit.option.as_str(), "header" | LIMIT) {
        return None;
    }
    let all = attribute.options.iter().enumerate();
    let same = all.filter(|(_, option)| form_key(owner, &option.key) == edit.option);
    let same: Vec<usize> = same.map(|(at, _)| at).collect();
    let numbered = same.get(edit.number.saturating_sub(1)).copied();
    let has_value = |at: &usize| {
        let value = shown_value(source, owner, &attribute.options[*at]);
        is_same_value(&edit.option, Some(&value), edit.was.as_ref())
    };
    let found = numbered.filter(has_value);
    found
        .or_else(|| same.iter().copied().find(has_value))
        .or(numbered)
}

/// The value as edits carry it.
fn shown_value(source: &SourceText, owner: Owner, option: &OptionText) -> OptionValue {
    let text = || OptionValue::Source(source.text[option.range.clone()].to_owned());
    read_value(owner, &source.text, option).unwrap_or_else(|_| text())
}

/// Compares values as tokens, so that spaces do not matter.
fn is_same_value(key: &str, one: Option<&OptionValue>, other: Option<&OptionValue>) -> bool {
    let spelled = |value: &OptionValue| {
        let text = print_option(key, value);
        lex_text(&text).map(|tokens| spell_value(&text, &tokens))
    };
    match (one, other) {
        (Some(one), Some(other)) => one == other || spelled(one) == spelled(other),
        (one, other) => one.is_none() && other.is_none(),
    }
}
