//! Proves an edit: the new text is the old model with the change, and nothing else.

use super::attribute::{Attribute, OptionText};
use super::create::NewScenario;
use super::edit::{Change, NewStep};
use super::items::Item;
use super::print::print_option;
use super::read::{Holder, Role, SourcePart, SourceText};
use super::tokens::{for_each_leaf, lex_text, spell_tokens, spell_value};
use super::value::OptionValue;
use std::ops::Range;

/// The change of the model that an edit stands for.
#[derive(Debug)]
pub(super) enum Expected {
    /// The option of this number, none for a new one, of a part, none for the scenario itself.
    Option {
        part: Option<usize>,
        option: Option<usize>,
        to: Option<String>,
    },
    Description {
        part: Option<usize>,
        to: String,
    },
    Returns {
        part: usize,
        to: Option<String>,
    },
    /// A part with this source at this number, in the group of that name.
    Added {
        at: usize,
        group: Option<String>,
        source: String,
    },
    /// So many parts from this number on.
    Removed(Range<usize>),
    /// The parts, and the number before which they come, counted before the move.
    Moved(Range<usize>, usize),
    /// The name of a part, and the texts of options as they are then.
    Renamed {
        part: usize,
        to: String,
    },
}

/// A scenario apart from its layout and its comments.
#[derive(Debug, Clone, PartialEq)]
struct HolderShape {
    path: String,
    description: String,
    options: Vec<String>,
    code: String,
    parts: Vec<PartShape>,
}

#[derive(Debug, Clone, PartialEq)]
struct PartShape {
    role: Role,
    name: String,
    group: Option<String>,
    description: String,
    options: Vec<String>,
    returns: Option<String>,
    code: String,
}

/// Returns true if `after` is `before` with the change of the scenario at `path`, and nothing else.
pub(super) fn prove_edit(
    before: &SourceText,
    after: &SourceText,
    path: &str,
    change: &Change,
) -> bool {
    let mut expected = shapes_of(before);
    let Some(holder) = expected.iter_mut().find(|holder| holder.path == path) else {
        return false;
    };
    holder.apply(&change.expected);
    is_untouched_outside(before, after, path)
        && expected == shapes_of(after)
        && expected_comments(before, change) == comments_of(after)
}

fn shapes_of(source: &SourceText) -> Vec<HolderShape> {
    let scenarios = source.scenarios.iter().chain(&source.groups);
    let all = scenarios.chain(&source.modules);
    all.map(|holder| HolderShape::new(source, holder)).collect()
}

/// Returns true if `after` is `before` with the new scenario, and nothing else.
pub(super) fn prove_new_scenario(
    before: &SourceText,
    after: &SourceText,
    new: &NewScenario,
) -> bool {
    let mut shapes = shapes_of(after);
    let Some(at) = shapes.iter().position(|shape| shape.path == new.name) else {
        return false;
    };
    let shape = shapes.remove(at);
    let spell = |options: &[(String, OptionValue)]| -> Vec<String> {
        let printed = options.iter().map(|(key, value)| print_option(key, value));
        printed.map(|text| spell_option(&text)).collect()
    };
    let is_step = |(part, step): (&PartShape, &NewStep)| {
        part.name == step.name && part.options == spell(&step.options)
    };
    shapes == shapes_of(before)
        && comments_of(before) == comments_of(after)
        && shape.options == spell(&new.options)
        && shape.parts.len() == new.steps.len()
        && shape.parts.iter().zip(&new.steps).all(is_step)
}

fn is_untouched_outside(before: &SourceText, after: &SourceText, path: &str) -> bool {
    let mut all = before.scenarios.iter().chain(&before.groups);
    let Some(holder) = all.find(|holder| holder.path == path) else {
        return false;
    };
    let (start, end) = (holder.item.range.start, holder.item.range.end);
    after.text.starts_with(&before.text[..start]) && after.text.ends_with(&before.text[end..])
}

fn comments_of(source: &SourceText) -> Vec<String> {
    let comments = source.comments.iter();
    let mut texts: Vec<String> = comments
        .map(|comment| source.text[comment.clone()].to_owned())
        .collect();
    texts.sort();
    texts
}

fn expected_comments(before: &SourceText, change: &Change) -> Vec<String> {
    let kept = before
        .comments
        .iter()
        .filter(|comment| !change.lost.contains(comment));
    let mut texts: Vec<String> = kept
        .map(|comment| before.text[comment.clone()].to_owned())
        .collect();
    if let Expected::Added { source, .. } = &change.expected
        && let Ok(added) = SourceText::read(source)
    {
        texts.extend(comments_of(&added));
    }
    texts.sort();
    texts
}

impl HolderShape {
    fn new(source: &SourceText, holder: &Holder) -> Self {
        let parts = &holder.parts;
        let group_of = |part: &SourcePart| part.group.map(|group| parts[group].item.name.clone());
        Self {
            path: holder.path.clone(),
            description: spell_docs(source, &holder.item),
            options: spell_options(source, Some(&holder.attribute)),
            code: spell_code(source, &holder.item, Some(&holder.attribute), true),
            parts: parts
                .iter()
                .map(|part| PartShape::new(source, part, group_of(part)))
                .collect(),
        }
    }

    fn apply(&mut self, change: &Expected) {
        match change {
            Expected::Option { part, option, to } => {
                let options = match part {
                    Some(part) => &mut self.parts[*part].options,
                    None => &mut self.options,
                };
                let to = to.as_deref().map(spell_option);
                match (option, to) {
                    (Some(at), Some(to)) => options[*at] = to,
                    (Some(at), None) => drop(options.remove(*at)),
                    (None, Some(to)) => options.push(to),
                    (None, None) => {}
                }
            }
            Expected::Description { part, to } => {
                let description = match part {
                    Some(part) => &mut self.parts[*part].description,
                    None => &mut self.description,
                };
                to.clone_into(description);
            }
            Expected::Returns { part, to } => {
                self.parts[*part].returns = to.as_deref().map(spell_option);
            }
            Expected::Added { at, group, source } => {
                let added = SourceText::read(&format!("#[scenario] fn s() {{ {source}\n}}"));
                let added = added.ok().and_then(|added| {
                    let part = added.scenarios.first()?.parts.first()?;
                    Some(PartShape::new(&added, part, group.clone()))
                });
                self.parts.splice(at..at, added);
            }
            Expected::Removed(range) => drop(self.parts.drain(range.clone())),
            Expected::Moved(range, before) => {
                let moved: Vec<PartShape> = self.parts.drain(range.clone()).collect();
                let before = if *before > range.start {
                    before - range.len()
                } else {
                    *before
                };
                self.parts.splice(before..before, moved);
            }
            Expected::Renamed { part, to } => {
                let from = std::mem::replace(&mut self.parts[*part].name, to.clone());
                let options = self.parts.iter_mut().flat_map(|part| &mut part.options);
                for option in options.chain(&mut self.options) {
                    *option = super::mentions::rename_mentions(option, &from, to);
                }
            }
        }
    }
}

impl PartShape {
    fn new(source: &SourceText, part: &SourcePart, group: Option<String>) -> Self {
        let returns = part.item.returns.clone();
        Self {
            role: part.role,
            name: part.item.name.clone(),
            group,
            description: spell_docs(source, &part.item),
            options: spell_options(source, part.attribute.as_ref()),
            returns: returns.map(|range| spell_option(&source.text[range])),
            code: spell_code(
                source,
                &part.item,
                part.attribute.as_ref(),
                part.role == Role::Group,
            ),
        }
    }
}

/// The doc comments as they are written, a line for each.
fn spell_docs(source: &SourceText, item: &Item) -> String {
    let lines = item
        .docs
        .iter()
        .map(|doc| source.text[doc.clone()].trim_end());
    lines.collect::<Vec<_>>().join("\n")
}

fn spell_options(source: &SourceText, attribute: Option<&Attribute>) -> Vec<String> {
    let spell = |option: &OptionText| spell_value(&source.text, &option.tokens);
    attribute.map_or_else(Vec::new, |attribute| {
        attribute.options.iter().map(spell).collect()
    })
}

fn spell_option(text: &str) -> String {
    lex_text(text).map_or_else(|_| text.to_owned(), |tokens| spell_value(text, &tokens))
}

/// The tokens of an item without its name, its doc comments, its options and its result; those of a holder without
/// its body.
fn spell_code(
    source: &SourceText,
    item: &Item,
    attribute: Option<&Attribute>,
    is_holder: bool,
) -> String {
    let text = &source.text;
    let mut skipped = item.docs.clone();
    skipped.push(item.name_range.clone());
    skipped.extend(attribute.map(|attribute| attribute.name_end..attribute.range.end - 1));
    skipped.extend(
        item.returns
            .clone()
            .map(|returns| item.parameters_end..returns.end),
    );
    skipped.extend(item.body.clone().filter(|_| is_holder));
    let is_skipped = |place: &Range<usize>| {
        skipped
            .iter()
            .any(|skipped| skipped.start <= place.start && place.end <= skipped.end)
    };
    let mut spelled = String::new();
    for_each_leaf(&item.tokens, &mut |range| {
        if !is_skipped(&range) {
            spelled.push_str(&text[range]);
            spelled.push(' ');
        }
    });
    spelled
}

/// Returns true if both texts have the same tokens.
pub(super) fn has_same_tokens(one: &str, other: &str) -> bool {
    let spelled = |text: &str| lex_text(text).map(|tokens| spell_tokens(text, &tokens));
    spelled(one).is_ok() && spelled(one) == spelled(other)
}
