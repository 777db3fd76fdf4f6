//! Changes of the parts of a scenario: added, removed, moved, renamed, described.

use super::blocks::{block_of, cut_block};
use super::edit::{Change, EditRefusal, NewStep};
use super::head::check_type;
use super::items::Item;
use super::kinds::Owner;
use super::layout::{Printed, ends_line, write_attribute};
use super::mentions::{References, is_named_in_code, mentions_of, needs_of, step_names};
use super::proof::{Expected, has_same_tokens};
use super::read::{Holder, Role, SourcePart, SourceText};
use super::splice::{Lines, Splice};
use super::value::{OptionValue, check_and_print};
use std::ops::Range;

pub(super) fn refuse<T>(reason: impl Into<String>) -> Result<T, EditRefusal> {
    Err(EditRefusal::Refused(reason.into()))
}

impl Holder {
    /// The part and, of a group, its members.
    fn with_members(&self, part: usize) -> Range<usize> {
        let members = self.parts[part + 1..].iter();
        part..part
            + 1
            + members
                .take_while(|other| other.group == Some(part))
                .count()
    }

    /// The names of the steps with the parts at `range` moved before number `before`.
    fn reordered(&self, range: &Range<usize>, before: usize) -> Vec<String> {
        let (start, end) = (before.min(range.start), before.max(range.end));
        let (first, second) = if before < range.start {
            (range.clone(), start..range.start)
        } else {
            (range.end..end, range.clone())
        };
        let numbers = (0..start)
            .chain(first)
            .chain(second)
            .chain(end..self.parts.len());
        step_names(numbers.map(|number| &self.parts[number]))
    }
}

/// Moves a part before another one of the same body, or behind all.
pub(super) fn move_step(
    source: &SourceText,
    holder: &Holder,
    number: usize,
    before: Option<usize>,
    references: &References,
) -> Result<Change, EditRefusal> {
    let part = &holder.parts[number];
    let siblings = |at: &usize| holder.parts[*at].group == part.group;
    let range = holder.with_members(number);
    let last = (0..holder.parts.len()).rfind(siblings).unwrap_or(number);
    let target = before.unwrap_or_else(|| holder.with_members(last).end);
    let expected = Expected::Moved(range.clone(), target);
    if before.is_some_and(|before| !siblings(&before)) {
        return refuse("a step is moved within its group, or outside of groups");
    }
    if range.contains(&target) || range.end == target {
        return Ok(Change::new(Vec::new(), expected));
    }
    references
        .check_move(holder, &range, target)
        .and_then(|()| references.check_numbers(holder, || holder.reordered(&range, target)))
        .map_err(EditRefusal::Refused)?;
    let neighbour = before.unwrap_or(last);
    let place = match block_of(source, &holder.parts[neighbour]) {
        Some(block) if before.is_some() => block.start,
        Some(block) => block.end,
        None => return refuse(shared_line(&holder.parts[neighbour])),
    };
    let Some(block) = block_of(source, part) else {
        return refuse(shared_line(part));
    };
    let (cut, has_blank) = cut_block(source, holder, &block);
    if cut.range.contains(&place) {
        return refuse("nothing but blank lines would change places");
    }
    let blank = if has_blank {
        Lines(&source.text).line_end()
    } else {
        ""
    };
    let lines = &source.text[block];
    let inserted = match before {
        Some(_) => format!("{lines}{blank}"),
        None => format!("{blank}{lines}"),
    };
    Ok(Change::new(
        vec![cut, Splice::insert(place, inserted)],
        expected,
    ))
}

fn shared_line(part: &SourcePart) -> String {
    let name = &part.item.name;
    format!("there is something else on a line of `{name}`: move it in Rust")
}

/// Adds a step without a body.
pub(super) fn add_step(
    source: &SourceText,
    holder: &Holder,
    after: Option<usize>,
    step: &NewStep,
) -> Result<Change, EditRefusal> {
    check_name(source, holder, &step.name)?;
    let lines = Lines(&source.text);
    let indent = match after.or(holder.parts.len().checked_sub(1)) {
        Some(part) => lines.indent(holder.parts[part].item.range.start).to_owned(),
        None => format!("{}    ", lines.indent(holder.item.range.start)),
    };
    let text = print_step(step, &indent, lines.line_end())?;
    insert_step(source, holder, after, &indent, text)
}

/// Writes a step without a body; its first line has no indentation yet.
pub(super) fn print_step(
    step: &NewStep,
    indent: &str,
    line_end: &str,
) -> Result<String, EditRefusal> {
    let options = print_options(Owner::Step, &step.options)?;
    let attribute = write_attribute("step", &options, indent, line_end);
    let returns = match &step.returns {
        Some(returns) => format!(" -> {}", check_type(returns)?),
        None => String::new(),
    };
    Ok(format!(
        "{attribute}{line_end}{indent}fn {}(){returns};",
        step.name
    ))
}

/// Prints the options of a new attribute.
pub(super) fn print_options(
    owner: Owner,
    options: &[(String, OptionValue)],
) -> Result<Vec<Printed>, EditRefusal> {
    let print = |(key, value): &(String, OptionValue)| {
        check_and_print(owner, key, value).map_err(EditRefusal::Refused)?;
        Ok(Printed::new(key, value))
    };
    options.iter().map(print).collect()
}

/// Adds a copy of a step behind it; plain comments above stay with the original.
pub(super) fn duplicate_step(
    source: &SourceText,
    holder: &Holder,
    number: usize,
    name: &str,
) -> Result<Change, EditRefusal> {
    let part = &holder.parts[number];
    if part.role != Role::Step {
        return refuse("only steps are duplicated");
    }
    check_name(source, holder, name)?;
    let label = part.options().iter().find(|option| option.key == "name");
    let label = label.map(|label| (label.value.clone(), format!("{name:?}")));
    let mut changes = vec![(part.item.name_range.clone(), name.to_owned())];
    changes.extend(label);
    changes.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
    let start = part.item.range.start;
    let mut text = source.text[part.item.range.clone()].to_owned();
    for (place, new) in changes {
        text.replace_range(place.start - start..place.end - start, &new);
    }
    let indent = Lines(&source.text).indent(start).to_owned();
    insert_step(source, holder, Some(number), &indent, text)
}

/// Inserts a part behind another one with a blank line between them.
fn insert_step(
    source: &SourceText,
    holder: &Holder,
    after: Option<usize>,
    indent: &str,
    text: String,
) -> Result<Change, EditRefusal> {
    let lines = Lines(&source.text);
    let line_end = lines.line_end();
    let body = holder.body();
    let last = (0..holder.parts.len()).rfind(|at| holder.parts[*at].group.is_none());
    let part = after.or(last);
    let at = part.map_or(0, |part| holder.with_members(part).end);
    let group = part.and_then(|part| holder.parts[part].group);
    let names = || {
        let mut names = step_names(holder.parts[..at].iter());
        names.push(String::new());
        names.extend(step_names(holder.parts[at..].iter()));
        names
    };
    let references = References::new(source, holder);
    let numbers = references.check_numbers(holder, names);
    numbers.map_err(EditRefusal::Refused)?;
    let splice = match part.map(|part| &holder.parts[part].item.range) {
        Some(range) if ends_line(source, range.end) => {
            let place = lines.next(range.end);
            let next = source.text[place..].trim_start_matches(' ');
            let is_apart = next.starts_with(['}', '\n', '\r']);
            let blank = if is_apart { "" } else { line_end };
            Splice::insert(place, format!("{line_end}{indent}{text}{line_end}{blank}"))
        }
        Some(range) => {
            let text = format!("{line_end}{line_end}{indent}{text}");
            Splice::insert(range.end, text)
        }
        None if lines.is_first(body.end) && lines.start(body.end) > body.start => {
            let place = lines.start(body.end);
            Splice::insert(place, format!("{indent}{text}{line_end}"))
        }
        None => {
            let outer = lines.indent(holder.item.range.start);
            let text = format!("{line_end}{indent}{text}{line_end}{outer}");
            Splice::insert(body.start, text)
        }
    };
    let group = group.map(|group| holder.parts[group].item.name.clone());
    let expected = Expected::Added {
        at,
        group,
        source: text,
    };
    Ok(Change::new(vec![splice], expected))
}

/// Removes a part that no other one needs.
pub(super) fn remove_step(
    source: &SourceText,
    holder: &Holder,
    number: usize,
    was: &str,
    with_comments: bool,
) -> Result<Change, EditRefusal> {
    let part = &holder.parts[number];
    let name = &part.item.name;
    let on_disk = &source.text[part.item.range.clone()];
    if !has_same_tokens(on_disk, was) {
        let on_disk = Some(OptionValue::Source(on_disk.to_owned()));
        return Err(EditRefusal::Conflict { on_disk });
    }
    if part.role == Role::Group {
        return refuse("a group is removed in Rust");
    }
    let mut others = holder.parts.iter();
    if let Some(other) = others.find(|other| needs_of(source, other).contains(name)) {
        return refuse(format!("`{}` needs `{name}`", other.item.name));
    }
    if !mentions_of(source, holder, name).is_empty() {
        return refuse(format!("the scenario needs `{name}`"));
    }
    let others = || step_names(holder.parts.iter().filter(|other| other.item.name != *name));
    let references = References::new(source, holder);
    let numbers = references.check_numbers(holder, others);
    numbers.map_err(EditRefusal::Refused)?;
    let Some(block) = block_of(source, part) else {
        return refuse(shared_line(part));
    };
    let (cut, _) = cut_block(source, holder, &block);
    let lost = source.comments_within(&block).to_vec();
    let expected = Expected::Removed(number..number + 1);
    Change::new(vec![cut], expected).losing(source, lost, with_comments)
}

/// Renames a step that no Rust code names.
pub(super) fn rename_step(
    source: &SourceText,
    holder: &Holder,
    number: usize,
    to: &str,
) -> Result<Change, EditRefusal> {
    let part = &holder.parts[number];
    let from = &part.item.name;
    check_name(source, holder, to)?;
    if is_named_in_code(source, holder, from) {
        let reason = format!("Rust code names `{from}`: rename it in your editor");
        return refuse(reason);
    }
    let templates = mentions_of(source, holder, from);
    let splices = templates.into_iter().chain([part.item.name_range.clone()]);
    let splices = splices.map(|place| Splice::replace(place, to));
    let expected = Expected::Renamed {
        part: number,
        to: to.to_owned(),
    };
    Ok(Change::new(splices.collect(), expected))
}

/// Returns true for a name that a function or a field may have in every edition.
pub(super) fn is_function_name(name: &str) -> bool {
    syn::parse_str::<syn::Ident>(name).is_ok_and(|ident| ident == name && name != "gen")
}

/// Refuses what is no name of a function, or is taken.
fn check_name(source: &SourceText, holder: &Holder, name: &str) -> Result<(), EditRefusal> {
    if !is_function_name(name) || name.starts_with("r#") {
        return refuse(format!(
            "`{name}` is not a valid name of a function; use letters, digits and `_`"
        ));
    }
    let has_name = |item: &Item| item.name == name;
    match holder.parts.iter().find(|part| has_name(&part.item)) {
        Some(part) => {
            let line = source.line_of(part.item.name_range.start);
            refuse(format!("the name `{name}` is taken on line {line}"))
        }
        None => Ok(()),
    }
}
