//! Secrets: finds them by name, by the form of a key or a token, and by entropy.
//!
//! Stricter than the redaction of reports: sources are kept in repositories, and a variable costs little.

mod random;
mod rules;
mod search;
#[cfg(test)]
mod tests;

pub(super) use random::is_random_header;
pub(super) use rules::{
    NameKind, is_callback, is_secret_name, is_secret_number, is_secret_segment, is_secret_user,
    is_secret_value, looks_secret, variable,
};
pub(super) use search::{
    FindSecrets, HiddenValues, find_evident_secrets, find_secret_literals, find_secrets, has_found,
    has_secret, is_in_name, is_recognised,
};
