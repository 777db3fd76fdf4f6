//! Changes of the doc comment and of the result of an item.

use super::edit::{Change, EditRefusal};
use super::items::Item;
use super::parts::refuse;
use super::proof::{Expected, has_same_tokens};
use super::read::{Holder, Role, SourceText};
use super::splice::{Lines, Splice};
use super::tokens::lex_text;
use super::value::OptionValue;
use std::ops::Range;

/// Checks a type that is made of names, references and type arguments.
pub(super) fn check_type(text: &str) -> Result<&str, EditRefusal> {
    let is_simple = |c: char| c.is_alphanumeric() || "_:<>,()&' []#".contains(c);
    let is_type = text.chars().all(is_simple) && syn::parse_str::<syn::Type>(text).is_ok();
    let has_ends = lex_text(text).is_ok() && text.trim() == text;
    if is_type && has_ends {
        return Ok(text);
    }
    refuse(format!("`{text}` is not a type that a form can write"))
}

/// Sets the type behind `->` of a step without a body.
pub(super) fn set_returns(
    source: &SourceText,
    holder: &Holder,
    number: usize,
    was: Option<&str>,
    to: Option<&str>,
) -> Result<Change, EditRefusal> {
    let part = &holder.parts[number];
    let item = &part.item;
    let on_disk = item.returns.clone().map(|range| &source.text[range]);
    let is_same = match (on_disk, was) {
        (Some(on_disk), Some(was)) => has_same_tokens(on_disk, was),
        (on_disk, was) => on_disk.is_none() && was.is_none(),
    };
    if !is_same {
        let on_disk = on_disk.map(|text| OptionValue::Source(text.to_owned()));
        return Err(EditRefusal::Conflict { on_disk });
    }
    if part.role != Role::Step || item.body.is_some() {
        return refuse("the result of a step with a body is edited in Rust");
    }
    let splice = match (&item.returns, to.map(check_type).transpose()?) {
        (Some(range), Some(to)) => Splice::replace(range.clone(), to),
        (None, Some(to)) => Splice::insert(item.parameters_end, format!(" -> {to}")),
        (Some(range), None) => {
            let range = item.parameters_end..range.end;
            let comments = source.comments_within(&range);
            if !comments.is_empty() {
                return refuse("there is a comment at the result: edit it in Rust");
            }
            Splice::remove(range)
        }
        (None, None) => Splice::insert(item.parameters_end, ""),
    };
    let expected = Expected::Returns {
        part: number,
        to: to.map(str::to_owned),
    };
    Ok(Change::new(vec![splice], expected))
}

/// The doc comment without its slashes.
///
/// # Errors
/// The reason why no form can edit it.
pub(super) fn description_of(source: &SourceText, item: &Item) -> Result<String, &'static str> {
    let lines = Lines(&source.text);
    let text = |doc: &Range<usize>| source.text[doc.clone()].trim_end();
    let is_line = |doc: &Range<usize>| text(doc).starts_with("///") && lines.is_first(doc.start);
    let is_next =
        |pair: &[Range<usize>]| source.line_of(pair[1].start) == source.line_of(pair[0].start) + 1;
    if item.has_doc_attribute {
        return Err("it is written as `#[doc = ..]`");
    }
    if !item.docs.iter().all(is_line) || !item.docs.windows(2).all(is_next) {
        return Err("it is not written as lines with `///`");
    }
    let description = item.docs.iter().map(|doc| {
        let line = &text(doc)[3..];
        line.strip_prefix(' ').unwrap_or(line)
    });
    Ok(description.collect::<Vec<_>>().join("\n"))
}

/// Sets the doc comment of an item.
pub(super) fn describe_item(
    source: &SourceText,
    item: &Item,
    part: Option<usize>,
    to: &str,
) -> Result<Change, EditRefusal> {
    let lines = Lines(&source.text);
    let start = item.range.start;
    if !lines.is_first(start) {
        return refuse("there is something else before it on its line: describe it in Rust");
    }
    let docs = print_docs(to)?;
    let separator = format!("{}{}", lines.line_end(), lines.indent(start));
    let text = docs.join(&separator);
    let splice = match (item.docs.first(), item.docs.last()) {
        (Some(first), Some(last)) if docs.is_empty() => {
            Splice::remove(lines.start(first.start)..lines.next(last.start))
        }
        (Some(first), Some(last)) => {
            let end = first.start + source.text[first.start..last.end].trim_end().len();
            Splice::replace(first.start..end, text)
        }
        _ if docs.is_empty() => Splice::insert(start, ""),
        _ => Splice::insert(start, format!("{text}{separator}")),
    };
    let to = docs.join("\n");
    Ok(Change::new(
        vec![splice],
        Expected::Description { part, to },
    ))
}

/// The lines of a doc comment.
///
/// # Errors
/// Characters that no comment can hold.
pub(super) fn print_docs(description: &str) -> Result<Vec<String>, EditRefusal> {
    if description.contains(['\r', '\0']) {
        return refuse("a description consists of lines of text");
    }
    let lines = description.lines();
    Ok(lines
        .map(|line| format!("/// {line}").trim_end().to_owned())
        .collect())
}
