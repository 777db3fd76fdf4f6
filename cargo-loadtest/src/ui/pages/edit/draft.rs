//! Changes that are not saved: what was entered, and what is in the way, each at its field.

use crate::source::{Edit, EditRefusal, OptionEdit, OptionValue, RefusedEdit};
use crate::ui::request::Fields;

/// Changes that are not saved, and what is in their way.
#[derive(Debug, Default)]
pub(in crate::ui) struct Draft {
    pub(in crate::ui) edits: Vec<Edit>,
    pub(in crate::ui) refused: Vec<RefusedEdit>,
    /// The form as it was sent.
    pub(in crate::ui) form: Fields,
}

impl Draft {
    /// Returns the change of an option.
    pub(super) fn option<'a>(
        &'a self,
        step: Option<&'a str>,
        key: &str,
        number: usize,
    ) -> Option<&'a OptionEdit> {
        self.options(step)
            .find(|edit| edit.option == key && edit.number == number)
    }

    /// Returns the changes of the options of a step, or of the scenario.
    pub(super) fn options<'a>(
        &'a self,
        step: Option<&'a str>,
    ) -> impl Iterator<Item = &'a OptionEdit> {
        self.edits.iter().filter_map(move |edit| match edit {
            Edit::Option(edit) if edit.step.as_deref() == step => Some(edit),
            _ => None,
        })
    }

    /// Returns the description that was entered.
    pub(super) fn description(&self, of: Option<&str>) -> Option<&str> {
        self.edits.iter().find_map(|edit| match edit {
            Edit::Describe { step, to, .. } if step.as_deref() == of => Some(to.as_str()),
            _ => None,
        })
    }

    /// Returns the type of a step's answer that was entered.
    pub(super) fn returns(&self, of: &str) -> Option<&str> {
        self.edits.iter().find_map(|edit| match edit {
            Edit::Returns { step, to, .. } if step == of => Some(to.as_deref().unwrap_or_default()),
            _ => None,
        })
    }

    /// Returns what was entered in a field that is about no change by itself.
    pub(super) fn entered(&self, name: &str) -> &str {
        self.form.raw(name).unwrap_or_default()
    }

    /// Returns the reasons why changes of a kind are refused.
    pub(super) fn refusals(&self, is_about: impl Fn(&Edit) -> bool) -> Vec<&RefusedEdit> {
        let refused = self.refused.iter();
        refused
            .filter(|refused| self.edits.get(refused.edit).is_some_and(&is_about))
            .collect()
    }

    /// Returns the reasons why the change of an option is refused.
    pub(super) fn refusals_of_option(&self, wanted: &OptionEdit) -> Vec<&RefusedEdit> {
        self.refusals(|edit| match edit {
            Edit::Option(edit) => {
                (&edit.step, &edit.option, edit.number)
                    == (&wanted.step, &wanted.option, wanted.number)
            }
            _ => false,
        })
    }

    /// Returns the `id` of the part of the form that a refused change is about.
    pub(super) fn anchor(&self, refused: &RefusedEdit) -> String {
        match self.edits.get(refused.edit) {
            Some(Edit::Option(edit)) => option_anchor(edit),
            Some(Edit::AddStep { .. }) | None => "new-step".to_owned(),
            Some(Edit::AddField { .. }) => "edit".to_owned(),
            Some(Edit::Describe { step, .. }) => step
                .as_deref()
                .map_or_else(|| "scenario".to_owned(), |step| format!("step-{step}")),
            Some(
                Edit::Returns { step, .. }
                | Edit::RemoveStep { step, .. }
                | Edit::DuplicateStep { step, .. }
                | Edit::MoveStep { step, .. }
                | Edit::RenameStep { step, .. },
            ) => format!("step-{step}"),
        }
    }

    /// Names what a refused change is about.
    pub(super) fn name(&self, refused: &RefusedEdit) -> String {
        let of_step = |step: Option<&str>, what: &str| match step {
            Some(step) => format!("{what} of {step}"),
            None => format!("{what} of the scenario"),
        };
        match self.edits.get(refused.edit) {
            Some(Edit::Option(edit)) => of_step(edit.step.as_deref(), &edit.option),
            Some(Edit::Describe { step, .. }) => of_step(step.as_deref(), "description"),
            Some(Edit::Returns { step, .. }) => of_step(Some(step), "answer"),
            Some(Edit::AddStep { .. }) | None => "new step".to_owned(),
            Some(Edit::AddField { answer, .. }) => answer.clone(),
            Some(
                Edit::RemoveStep { step, .. }
                | Edit::DuplicateStep { step, .. }
                | Edit::MoveStep { step, .. }
                | Edit::RenameStep { step, .. },
            ) => step.clone(),
        }
    }

    /// Describes what is in the way of a change.
    pub(super) fn describe(&self, refused: &RefusedEdit) -> String {
        match (&refused.reason, self.edits.get(refused.edit)) {
            (EditRefusal::Conflict { on_disk }, Some(Edit::Option(option))) => format!(
                "the file has {} now, this page has {}, and it was {} when the page was opened",
                describe_value(on_disk.as_ref()),
                describe_value(option.to.as_ref()),
                describe_value(option.was.as_ref())
            ),
            (EditRefusal::Comments(comments), _) => {
                format!(
                    "its comments would be removed with it:\n{}",
                    comments.join("\n")
                )
            }
            (reason, _) => reason.to_string(),
        }
    }
}

/// Returns true if comments are in the way, which go only when that is confirmed.
pub(super) fn loses_comments(refused: &[&RefusedEdit]) -> bool {
    let mut refused = refused.iter();
    refused.any(|refused| matches!(refused.reason, EditRefusal::Comments(_)))
}

/// Returns the `id` of the fields of an option.
pub(super) fn option_anchor(edit: &OptionEdit) -> String {
    let step = edit.step.as_deref().unwrap_or_default();
    format!("option-{step}-{}-{}", edit.option, edit.number)
}

fn describe_value(value: Option<&OptionValue>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(OptionValue::Source(text) | OptionValue::Text(text)) => format!("`{text}`"),
        Some(other) => format!("`{}`", serde_json::to_string(other).unwrap_or_default()),
    }
}
