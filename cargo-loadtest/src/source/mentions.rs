//! The steps that templates and parameters name: `{{login.response.token}}`, `login: &Login`.

use super::read::{Holder, Role, SourcePart, SourceText};
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
pub(super) fn needs_of(source: &SourceText, part: &SourcePart) -> Vec<String> {
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
pub(super) fn step_names<'a>(parts: impl Iterator<Item = &'a SourcePart>) -> Vec<String> {
    let steps = parts.filter(|part| part.role == Role::Step);
    steps.map(|part| part.item.name.clone()).collect()
}

/// What the parts of a scenario need of each other.
#[derive(Debug)]
pub(super) struct References {
    /// The numbers of the parts that each part names.
    needs: Vec<Vec<usize>>,
    /// The numbers of steps that templates count, from 1: `{{step2.response.id}}`.
    counted: Vec<usize>,
}

impl References {
    pub(super) fn new(source: &SourceText, holder: &Holder) -> Self {
        let parts = holder.parts.iter();
        let named: Vec<Vec<String>> = parts.map(|part| needs_of(source, part)).collect();
        let numbers = |names: &Vec<String>| {
            let numbers = names.iter().filter_map(|name| holder.find_part(name));
            numbers.collect()
        };
        let attribute = &source.text[holder.attribute.range.clone()];
        let shared = find_mentions(attribute)
            .into_iter()
            .map(|place| &attribute[place]);
        let all = named.iter().flatten().map(String::as_str).chain(shared);
        let counted = all
            .filter(|name| holder.find_part(name).is_none())
            .filter_map(|name| name.strip_prefix("step")?.parse().ok());
        Self {
            needs: named.iter().map(numbers).collect(),
            counted: counted.collect(),
        }
    }

    /// Refuses a move of the parts at `range` before number `before` that puts a part before one that it needs.
    ///
    /// # Errors
    /// The reason.
    pub(super) fn check_move(
        &self,
        holder: &Holder,
        range: &Range<usize>,
        before: usize,
    ) -> Result<(), String> {
        let passed = if before < range.start {
            before..range.start
        } else {
            range.end..before
        };
        let (readers, read) = if before < range.start {
            (range, &passed)
        } else {
            (&passed, range)
        };
        for reader in readers.clone() {
            if let Some(need) = self.needs[reader].iter().find(|need| read.contains(need)) {
                let [reader, need] = [reader, *need].map(|number| &holder.parts[number].item.name);
                return Err(format!(
                    "`{reader}` needs `{need}`, which must stay before it"
                ));
            }
        }
        Ok(())
    }

    /// Refuses another order of steps where a template counts them.
    ///
    /// # Errors
    /// The reason.
    pub(super) fn check_numbers(
        &self,
        holder: &Holder,
        after: impl FnOnce() -> Vec<String>,
    ) -> Result<(), String> {
        if self.counted.is_empty() {
            return Ok(());
        }
        let after = after();
        let before = step_names(holder.parts.iter());
        let name_at = |names: &[String], number: usize| names.get(number.checked_sub(1)?).cloned();
        for &number in &self.counted {
            if let Some(step) = name_at(&before, number)
                && name_at(&after, number).as_ref() != Some(&step)
            {
                return Err(format!(
                    "a template counts the steps: write `{step}` for `step{number}` first"
                ));
            }
        }
        Ok(())
    }
}
