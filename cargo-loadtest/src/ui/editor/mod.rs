//! Scenarios in forms: from the source to fields, from fields to changes of the source.
//!
//! A form is a view of the file as it is now, and holds no state of its own. A change carries the value that it
//! replaces, so that nothing is overwritten that somebody else changed meanwhile.

mod check;
mod fields;
mod file;
mod sources;
mod values;

pub(super) use check::{Checks, Finding, SourceCheck};
pub(super) use fields::{
    OptionField, add_option_edit, addable_options, collect_edits, number_options,
};
pub(super) use file::{EditedFile, find_scenario, text_version};
pub(super) use sources::{SourceScenario, list_sources};
pub(super) use values::{StepValues, collect_values};
