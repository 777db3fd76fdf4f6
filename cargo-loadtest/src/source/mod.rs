//! Reads and changes the Rust source of scenarios: from text to text.
//!
//! Nothing here knows of pages or of HTTP; only `write` touches files. A change touches no byte that it does not name,
//! and is proved: the new text is read again.
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
//! let edited = apply_edits(&text, "checkout", &edits)?; // or every conflict
//! let diff = Diff::new(&text, &edited.splices);
//! replace_source(&path, &text, &edited.text)?;
//! ```

mod blocks;
mod copy;
mod diff;
mod edit;
mod forms;
mod grammar;
mod head;
mod items;
mod layout;
mod mentions;
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

pub(crate) use copy::{CopyRefusal, Duplicated, Original, copy_scenario};
pub(crate) use write::{read_source, replace_source};

#[expect(unused_imports, reason = "the dashboard is to use it")]
pub(crate) use {
    diff::{Diff, DiffLine, Hunk, LineKind},
    edit::{Edit, EditRefusal, EditedSource, NewStep, OptionEdit, RefusedEdit, apply_edits},
    forms::{Description, FileSource, OptionSource, PartSource, ScenarioSource},
    read::Role,
    splice::Splice,
    tokens::Unreadable,
    value::{Field, FieldValue, OptionValue, ParameterList},
    write::create_source,
};
