//! The types of answers, those with `#[response]`: their fields, and new ones.

use super::edit::EditRefusal;
use super::head::check_type;
use super::items::{Item, find_attributes, split_parameters};
use super::layout::ends_line;
use super::parts::{is_function_name, refuse};
use super::read::SourceText;
use super::splice::{Lines, Splice, apply_splices};
use super::tokens::{Token, Unreadable, range_of};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A type with `#[response]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct AnswerType {
    pub(crate) name: String,
    /// The line of that name.
    pub(crate) line: usize,
    /// The fields of a struct; none for what has no names for them.
    pub(crate) fields: Option<Vec<AnswerField>>,
    /// True if attributes of serde may give fields other names in an answer.
    pub(crate) has_serde: bool,
}

/// A field of a type with `#[response]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AnswerField {
    /// The name without `r#`.
    pub(crate) name: String,
    /// The type as it is written.
    pub(crate) field_type: String,
}

/// A field and its place.
struct FieldText {
    field: AnswerField,
    range: Range<usize>,
    comma: Option<usize>,
}

impl AnswerType {
    /// Reads the types of answers of a file.
    ///
    /// # Errors
    /// A text that is no Rust.
    pub(crate) fn read_all(text: &str) -> Result<Vec<Self>, Unreadable> {
        let source = SourceText::read(text)?;
        let answers = source.answers.iter().map(|item| Self {
            name: item.name.clone(),
            line: source.line_of(item.name_range.start),
            fields: fields_of(&source, item)
                .map(|fields| fields.into_iter().map(|text| text.field).collect()),
            has_serde: text[item.range.clone()].contains("serde"),
        });
        Ok(answers.collect())
    }
}

/// The fields of a struct.
fn fields_of(source: &SourceText, item: &Item) -> Option<Vec<FieldText>> {
    let text = &source.text;
    let is_struct = item
        .tokens
        .get(item.head..)?
        .iter()
        .any(|token| token.is_word(text, "struct"));
    let inside = item.body_tokens().filter(|_| is_struct)?;
    let mut fields = Vec::new();
    for tokens in split_parameters(inside).filter(|tokens| !tokens.is_empty()) {
        let (_, at) = find_attributes(text, tokens, 0);
        let colon = at + tokens[at..].iter().position(|token| token.is_punct(':'))?;
        let name = tokens[..colon].last()?.word(text)?;
        let range = range_of(tokens)?;
        let field_type = range_of(&tokens[colon + 1..])?;
        let is_comma = |token: &&Token| token.is_punct(',') && token.range.start >= range.end;
        let comma = inside.iter().find(is_comma).map(|comma| comma.range.start);
        fields.push(FieldText {
            field: AnswerField {
                name: name.strip_prefix("r#").unwrap_or(name).to_owned(),
                field_type: text[field_type].to_owned(),
            },
            range,
            comma,
        });
    }
    Some(fields)
}

/// Adds a field behind the last one, and proves that nothing else changed.
///
/// # Errors
/// A type that is not there or has no such fields, and a field that it cannot have.
pub(super) fn add_field(
    source: &SourceText,
    answer: &str,
    field: &AnswerField,
) -> Result<(SourceText, Vec<Splice>), EditRefusal> {
    let mut named = source.answers.iter().filter(|item| item.name == answer);
    let item = named
        .next()
        .ok_or_else(|| EditRefusal::Missing(answer.to_owned()))?;
    if named.next().is_some() {
        return refuse(format!("the file has several types `{answer}`"));
    }
    let Some(fields) = fields_of(source, item) else {
        return refuse(format!("`{answer}` is not a struct with named fields"));
    };
    if fields.iter().any(|other| other.field.name == field.name) {
        return refuse(format!("`{answer}` has a field `{}`", field.name));
    }
    let raw = format!("r#{}", field.name);
    let spellings = [&field.name, &raw];
    let Some(name) = spellings.into_iter().find(|name| is_function_name(name)) else {
        return refuse(format!("`{}` is not a valid name of a field", field.name));
    };
    let new = format!("{name}: {}", check_type(&field.field_type)?);
    let splices = place_field(source, item, &fields, &new);
    let after = SourceText::read(&apply_splices(&source.text, &splices));
    let after = after.map_err(|_| EditRefusal::Unproven)?;
    if is_proved(source, &after, item, &new) {
        Ok((after, splices))
    } else {
        Err(EditRefusal::Unproven)
    }
}

fn place_field(source: &SourceText, item: &Item, fields: &[FieldText], new: &str) -> Vec<Splice> {
    let lines = Lines(&source.text);
    let line_end = lines.line_end();
    let Some(last) = fields.last() else {
        let outer = lines.indent(item.range.start);
        let at = item.body.clone().unwrap_or_default().start;
        return vec![Splice::insert(
            at,
            format!("{line_end}{outer}    {new},{line_end}{outer}"),
        )];
    };
    let end = last.comma.map_or(last.range.end, |comma| comma + 1);
    let is_spread = lines.is_first(last.range.start) && ends_line(source, end);
    let comma = Splice::insert(last.range.end, ",");
    if is_spread {
        let indent = lines.indent(last.range.start);
        let field = Splice::insert(lines.end(end), format!("{line_end}{indent}{new},"));
        return match last.comma {
            Some(_) => vec![field],
            None if field.range == comma.range => {
                vec![Splice::insert(end, format!(",{}", field.text))]
            }
            None => vec![comma, field],
        };
    }
    vec![match last.comma {
        Some(_) => Splice::insert(end, format!(" {new},")),
        None => Splice::insert(end, format!(", {new}")),
    }]
}

/// Returns true if the type has the new field at its end, and nothing else changed.
fn is_proved(before: &SourceText, after: &SourceText, item: &Item, new: &str) -> bool {
    let is_changed = |answer: &&Item| answer.range.start == item.range.start;
    let Some(changed) = after.answers.iter().find(is_changed) else {
        return false;
    };
    let (Some(old), Some(fields)) = (fields_of(before, item), fields_of(after, changed)) else {
        return false;
    };
    let texts = |source: &SourceText, fields: &[FieldText]| -> Vec<String> {
        fields
            .iter()
            .map(|field| source.text[field.range.clone()].to_owned())
            .collect()
    };
    let mut expected = texts(before, &old);
    expected.push(new.to_owned());
    let comments = |source: &SourceText| -> Vec<String> {
        let comments = source.comments.iter();
        comments
            .map(|comment| source.text[comment.clone()].to_owned())
            .collect()
    };
    expected == texts(after, &fields)
        && before.answers.len() == after.answers.len()
        && comments(before) == comments(after)
        && after.text.starts_with(&before.text[..item.range.start])
        && after.text.ends_with(&before.text[item.range.end..])
}
