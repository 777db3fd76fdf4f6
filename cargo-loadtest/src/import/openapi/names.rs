//! Names of steps, after the identifiers of operations.

use super::operations::Operation;
use crate::import::naming::field_name;
use crate::import::text::singular;

/// Signs between a tag and the rest of an identifier.
const SIGNS: [char; 6] = ['/', '.', ':', '_', '-', '#'];

/// Returns the identifier without the words that its tag, its path and its method say anyway.
pub(super) fn step_name(operation: &Operation<'_>) -> Option<String> {
    let id = operation.id?;
    let id = id.strip_suffix(&generated_suffix(operation)).unwrap_or(id);
    let tags = operation.tags.iter().map(|tag| topic(tag));
    let tags: Vec<String> = tags.collect();
    let mut splits = id.match_indices(SIGNS).filter_map(|(at, sign)| {
        let rest = id[at + sign.len()..].trim_start_matches(SIGNS);
        let is_said = tags.contains(&topic(&id[..at]));
        (is_said && rest.contains(char::is_alphabetic)).then_some(rest)
    });
    let rest = splits.next_back().unwrap_or(id);
    let is_word = !rest.starts_with('/') && !rest.contains("://") && !rest.contains(' ');
    Some(if is_word {
        rest.replace('/', " ")
    } else {
        rest.to_owned()
    })
}

/// Returns what `FastAPI` appends to the name of a function: `_items__id__get`.
fn generated_suffix(operation: &Operation<'_>) -> String {
    let is_sign = |letter: char| !letter.is_alphanumeric() && letter != '_';
    let path = operation.path.replace(is_sign, "_");
    format!("{path}_{}", operation.method.to_lowercase())
}

/// Returns a tag in the form in which it may begin an identifier.
fn topic(tag: &str) -> String {
    let word = field_name(tag);
    let word = word.strip_suffix("_controller").unwrap_or(&word);
    singular(word)
}
