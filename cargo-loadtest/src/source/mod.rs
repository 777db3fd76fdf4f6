//! Reads and changes the Rust source of scenarios: from text to text.
//!
//! Nothing here knows of pages or of HTTP; only `write` touches files. A change touches no byte that it does not name,
//! and is proved: the new text is read again. What the macros would find a mistake in is refused.
//!
//! ```ignore
//! let text = read_source(&path)?;
//! let file = FileSource::read(&text)?; // the data of a form
//! let edits = [Edit::Option(OptionEdit {
//!     step: Some("buy".to_owned()),
//!     option: "weight".to_owned(),
//!     number: 1,
//!     was: Some(OptionValue::Source("0.8".to_owned())),
//!     to: Some(OptionValue::Source("0.5".to_owned())),
//!     with_comments: false,
//! })];
//! let edited = apply_checked_edits(&text, "checkout", &edits)?; // or every conflict
//! let diff = Diff::new(&text, &edited.splices);
//! replace_source(&path, &text, &edited.text)?;
//! ```

mod answer;
mod attribute;
mod blocks;
mod copy;
mod create;
mod diff;
mod edit;
mod forms;
mod grammar;
mod head;
mod items;
mod kinds;
mod layout;
mod mentions;
mod mistakes;
mod modules;
mod offered;
mod parts;
mod print;
mod proof;
mod read;
mod splice;
#[cfg(test)]
mod tests;
mod tokens;
mod value;
mod write;

use loadtest_console::console;
use loadtest_console::error::Error;
use std::path::Path;

pub(crate) use copy::{CopyRefusal, Duplicated, Original, copy_scenario};
pub(crate) use write::{read_source, replace_source};

pub(crate) use {
    answer::{AnswerField, AnswerType},
    create::{NewScenario, add_module},
    diff::{Diff, LineKind},
    edit::{Edit, EditRefusal, EditedSource, NewStep, OptionEdit, RefusedEdit},
    forms::{Description, FileSource, OptionSource, PartSource, ScenarioSource, StepMove},
    mistakes::{RefusedField, add_checked_scenario, apply_checked_edits},
    modules::find_module_files,
    offered::{OfferedOption, is_repeated, offered_options},
    read::Role,
    value::{Field, FieldValue, OptionValue, ParameterList},
    write::create_source,
};

/// The hidden word that shows a file as [`FileSource`]: `cargo-loadtest __source tests/load.rs`. A test compares it
/// with what the compiled load test declares.
pub(crate) const SHOW: &str = "__source";

/// Prints the file as JSON.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn show_source(path: &Path) -> Result<(), Error> {
    let text = read_source(path)?;
    let file = FileSource::read(&text).map_err(|error| Error::failure(error.to_string()))?;
    let value = serde_json::to_value(&file).map_err(Error::encode("the source"))?;
    console::print_json(value)
}
