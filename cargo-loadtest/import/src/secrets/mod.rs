//! Secrets: finds them by name, by the form of a key or a token, and by entropy, and takes them out of recordings.
//!
//! Stricter than the redaction of reports: sources are kept in repositories, and a variable costs little.

mod forms;
mod pass;
mod random;
mod rules;
mod search;
#[cfg(test)]
mod tests;

pub(super) use forms::{is_usual_form, quote_bare};
pub use pass::hide_secrets;
pub(super) use rules::{
    is_callback, is_secret_name, is_secret_number, is_secret_value, looks_secret, variable,
};
use search::{FindSecrets, find_secret_literals, has_found, is_in_name, is_recognised};
pub(super) use search::{HiddenValues, find_evident_secrets, find_secrets, has_secret};
