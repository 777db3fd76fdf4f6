//! The steps that templates and parameters name: `{{login.response.token}}`, `login: &Login`.

use super::read::{Holder, Part, Role, SourceText};
use super::tokens::{Token, TokenKind};
use std::ops::Range;

/// The places of the names in the templates of a text.
fn find_mentions(text: &str) -> Vec<Range<usize>> {
    let mut mentions = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find('{') {
        at += found + 1;
        let Some(behind) = text[at..].trim_start().strip_prefix('{') else {
            continue;
        };
        let behind = behind.trim_start();
        let behind = behind.strip_prefix("r#").unwrap_or(behind);
        let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = behind.find(|c| !is_of_word(c)).unwrap_or(behind.len());
        let start = text.len() - behind.len();
        if length > 0 {
            mentions.push(start..start + length);
        }
    }
    mentions
}

/// The text with another name in its templates.
pub(super) fn rename_mentions(text: &str, from: &str, to: &str) -> String {
    let mut renamed = text.to_owned();
    for place in find_mentions(text).into_iter().rev() {
        if text[place.clone()] == *from {
            renamed.replace_range(place, to);
        }
    }
    renamed
}

/// The places in the attributes of a scenario whose templates name this step.
pub(super) fn mentions_of(source: &SourceText, holder: &Holder, name: &str) -> Vec<Range<usize>> {
    let attributes = holder
        .parts
        .iter()
        .filter_map(|part| part.attribute.as_ref());
    attributes
        .chain([&holder.attribute])
        .flat_map(|attribute| {
            let start = attribute.range.start;
            let mentions = find_mentions(&source.text[attribute.range.clone()]);
            mentions
                .into_iter()
                .map(move |place| place.start + start..place.end + start)
        })
        .filter(|place| source.text[place.clone()] == *name)
        .collect()
}

/// The names that a part takes from other parts.
pub(super) fn needs_of(source: &SourceText, part: &Part) -> Vec<String> {
    let attribute = part
        .attribute
        .as_ref()
        .map(|attribute| &source.text[attribute.range.clone()]);
    let attribute = attribute.unwrap_or_default();
    let named = find_mentions(attribute)
        .into_iter()
        .map(|place| attribute[place].to_owned());
    let parameters = part
        .item
        .parameters
        .iter()
        .map(|parameter| parameter.name.clone());
    let mut needs: Vec<String> = parameters.chain(named).collect();
    needs.sort();
    needs.dedup();
    needs
}

/// Finds out that Rust code names this step: a parameter, or a word in a body.
pub(super) fn is_named_in_code(source: &SourceText, holder: &Holder, name: &str) -> bool {
    holder.parts.iter().any(|part| {
        let own = part
            .attribute
            .as_ref()
            .map(|attribute| attribute.range.clone());
        let skipped = [own.unwrap_or_default(), part.item.name_range.clone()];
        let is_parameter = part
            .item
            .parameters
            .iter()
            .any(|parameter| parameter.name == name);
        is_parameter || has_word(&source.text, &part.item.tokens, name, &skipped)
    })
}

fn has_word(text: &str, tokens: &[Token], name: &str, skipped: &[Range<usize>]) -> bool {
    tokens.iter().any(|token| match &token.kind {
        _ if skipped
            .iter()
            .any(|place| place.contains(&token.range.start)) =>
        {
            false
        }
        TokenKind::Group(_, inside) => has_word(text, inside, name, skipped),
        _ => token
            .word(text)
            .is_some_and(|word| word.strip_prefix("r#").unwrap_or(word) == name),
    })
}

/// The names of the steps, in order.
pub(super) fn step_names(parts: &[&Part]) -> Vec<String> {
    let steps = parts.iter().filter(|part| part.role == Role::Step);
    steps.map(|part| part.item.name.clone()).collect()
}

/// Refuses another order of steps where a template counts them: `{{step2.response.id}}`.
///
/// # Errors
/// The reason.
pub(super) fn check_numbers(
    source: &SourceText,
    holder: &Holder,
    after: &[String],
) -> Result<(), String> {
    let before = step_names(&holder.parts.iter().collect::<Vec<_>>());
    for number in 1..=before.len() {
        let name = format!("step{number}");
        if before.get(number - 1) != after.get(number - 1)
            && !before.contains(&name)
            && !mentions_of(source, holder, &name).is_empty()
        {
            let step = &before[number - 1];
            return Err(format!(
                "a template counts the steps: write `{step}` for `{name}` first"
            ));
        }
    }
    Ok(())
}
