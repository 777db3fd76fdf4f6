//! Where an option of an attribute is written: in the layout that is there.

use super::attribute::{Attribute, OptionForm, OptionText};
use super::blocks::comments_start;
use super::print::{print_option, print_wide_option};
use super::read::SourceText;
use super::splice::{Lines, Splice, apply_splices};
use super::value::OptionValue;
use std::ops::Range;

/// The widest line.
const WIDTH: usize = 100;

/// An option to write.
#[derive(Debug, Clone)]
pub(super) struct Printed {
    line: String,
    wide: String,
}

impl Printed {
    pub(super) fn new(key: &str, value: &OptionValue) -> Self {
        Self {
            line: print_option(key, value),
            wide: print_wide_option(key, value),
        }
    }

    /// The option on a line of its own.
    fn lay_out(&self, indent: &str, line_end: &str) -> String {
        let fits = indent.chars().count() + self.line.chars().count() < WIDTH;
        let text = if fits { &self.line } else { &self.wide };
        text.replace('\n', &format!("{line_end}{indent}"))
    }
}

/// Adds an option behind the last one.
pub(super) fn add_option(source: &SourceText, attribute: &Attribute, new: &Printed) -> Vec<Splice> {
    let lines = Lines(&source.text);
    let place = (attribute.inside.as_ref()).zip(attribute.options.last());
    let Some((inside, last)) = place else {
        let splice = match &attribute.inside {
            Some(inside) => Splice::insert(inside.start, &new.line),
            None => Splice::insert(attribute.name_end, format!("({})", new.line)),
        };
        return fit_or_spread(source, attribute, vec![splice], &[], new);
    };
    // a comment behind an option stays with it
    let behind = source.text[last.end()..inside.end].trim_end();
    let at = last.end() + behind.len();
    let comments = source.comments_within(&(last.end()..inside.end));
    let is_behind_line_comment = comments
        .last()
        .is_some_and(|comment| source.text[comment.clone()].starts_with("//"));
    let has_own_line = has_own_lines(source, attribute, last);
    let indent = if has_own_line {
        lines.indent(last.range.start).to_owned()
    } else {
        format!("{}    ", lines.indent(attribute.range.start))
    };
    let is_spread = has_own_line || is_behind_line_comment;
    let option = if is_spread {
        let option = new.lay_out(&indent, lines.line_end());
        format!("{}{indent}{option}", lines.line_end())
    } else {
        format!(" {}", new.line)
    };
    let splices = match (attribute.has_trailing_comma, behind.is_empty()) {
        (true, _) => vec![Splice::insert(at, format!("{option},"))],
        (false, true) => vec![Splice::insert(at, format!(",{option}"))],
        (false, false) => vec![
            Splice::insert(last.range.end, ","),
            Splice::insert(at, option),
        ],
    };
    if is_spread {
        return splices;
    }
    fit_or_spread(source, attribute, splices, &attribute.options, new)
}

/// Puts another value in the place of that of an option.
pub(super) fn set_option(
    source: &SourceText,
    attribute: &Attribute,
    number: usize,
    new: &Printed,
) -> Vec<Splice> {
    let lines = Lines(&source.text);
    let option = &attribute.options[number];
    let has_own_line = has_own_lines(source, attribute, option);
    let text = if has_own_line {
        new.lay_out(lines.indent(option.range.start), lines.line_end())
    } else {
        new.line.clone()
    };
    let head = match option.form {
        OptionForm::Assigned => format!("{} = ", option.key),
        OptionForm::Call => option.key.clone(),
        OptionForm::Compared | OptionForm::Bare => String::new(),
    };
    let behind = text.strip_prefix(&head);
    let is_call = behind.is_some_and(|value| value.starts_with('('));
    let is_of_same_form = option.form != OptionForm::Call || is_call;
    let splice = match behind.filter(|_| is_of_same_form) {
        Some(value) if !head.is_empty() => Splice::replace(option.value.clone(), value),
        _ => Splice::replace(option.range.clone(), text.as_str()),
    };
    if has_own_line {
        return vec![splice];
    }
    let others = &attribute.options;
    fit_or_spread_with(source, attribute, vec![splice], |indent| {
        let written = others.iter().enumerate().map(|(at, other)| match at {
            at if at == number => new.lay_out(indent, lines.line_end()),
            _ => source.text[other.range.clone()].to_owned(),
        });
        written.collect()
    })
}

/// Removes an option; returns the comments that go with it, too: those on its lines, right above these, and beside it
/// where nothing else has a claim to them.
pub(super) fn remove_option(
    source: &SourceText,
    attribute: &Attribute,
    number: usize,
) -> (Vec<Splice>, Vec<Range<usize>>) {
    let lines = Lines(&source.text);
    let option = &attribute.options[number];
    let inside = attribute.inside.clone().unwrap_or_default();
    let is_free = |place: Range<usize>| source.comments_within(&place).is_empty();
    let lost = |place: &Range<usize>| source.comments_within(place).to_vec();
    let own = place_with_comments(source, attribute, number);
    let remove = |range: Range<usize>| vec![Splice::remove(range)];
    if attribute.options.len() == 1 {
        let is_alone = is_free(attribute.name_end..own.start) && is_free(own.end..inside.end);
        let splices = remove(if is_alone {
            attribute.name_end..inside.end + 1
        } else {
            own.clone()
        });
        return (splices, lost(&own));
    }
    let previous = number.checked_sub(1).map(|at| &attribute.options[at]);
    let next = attribute.options.get(number + 1);
    // the comma of the one before goes where the last option has none
    let comma = previous
        .filter(|_| option.comma.is_none())
        .and_then(|previous| previous.comma);
    let without_comma = |splices: Vec<Splice>| {
        let comma = comma.map(|comma| Splice::remove(comma..comma + 1));
        comma.into_iter().chain(splices).collect()
    };
    if has_own_lines(source, attribute, option) && ends_line(source, option.end()) {
        let above = comments_start(source, option.range.start);
        let block = lines.start(above)..lines.next(option.end());
        let comments = lost(&block);
        return (without_comma(remove(block)), comments);
    }
    let splices = match (next, previous) {
        (Some(next), _) if is_free(own.end..next.range.start) => {
            remove(own.start..next.range.start)
        }
        (None, Some(previous)) if is_free(comma.unwrap_or(previous.end())..own.start) => {
            remove(comma.unwrap_or(previous.end())..own.end)
        }
        _ => without_comma(remove(own.clone())),
    };
    (splices, lost(&own))
}

/// The place of an option with its comma and the comments beside it that are not about another one.
fn place_with_comments(source: &SourceText, attribute: &Attribute, number: usize) -> Range<usize> {
    let text = &source.text;
    let lines = Lines(text);
    let option = &attribute.options[number];
    let inside = attribute.inside.clone().unwrap_or_default();
    let previous = number.checked_sub(1).map(|at| attribute.options[at].end());
    let is_gap = |gap: &str| gap.trim().is_empty() && !gap.contains('\n');
    let mut start = option.range.start;
    let before = source.comments_within(&(previous.unwrap_or(inside.start)..start));
    for comment in before.iter().rev() {
        if !is_gap(&text[comment.end..start]) {
            break;
        }
        start = comment.start;
    }
    let mut end = option.end();
    let has_line = previous.is_none_or(|previous| previous < lines.start(option.range.start));
    let is_last = number + 1 == attribute.options.len();
    if is_last || has_line && ends_line(source, end) {
        for comment in source.comments_within(&(end..inside.end)) {
            if !is_gap(&text[end..comment.start]) {
                break;
            }
            end = comment.end;
        }
    }
    start..end
}

/// Returns true if the option begins a line behind that of the attribute.
fn has_own_lines(source: &SourceText, attribute: &Attribute, option: &OptionText) -> bool {
    let lines = Lines(&source.text);
    let start = option.range.start;
    lines.is_first(start) && lines.start(start) > attribute.range.start
}

/// Returns true if nothing but comments stands between this place and the end of its line.
pub(super) fn ends_line(source: &SourceText, at: usize) -> bool {
    let end = Lines(&source.text).end(at);
    let mut at = at;
    for comment in source.comments_within(&(at..end)) {
        if comment.end > end || !source.text[at..comment.start].trim().is_empty() {
            return false;
        }
        at = comment.end;
    }
    source.text[at..end].trim().is_empty()
}

/// Writes an attribute on one line where it fits, else with a line for each option.
pub(super) fn write_attribute(
    name: &str,
    options: &[Printed],
    indent: &str,
    line_end: &str,
) -> String {
    if options.is_empty() {
        return format!("#[{name}]");
    }
    let line: Vec<&str> = options.iter().map(|option| option.line.as_str()).collect();
    let line = format!("#[{name}({})]", line.join(", "));
    if !line.contains('\n') && indent.chars().count() + line.chars().count() <= WIDTH {
        return line;
    }
    let inner = format!("{indent}    ");
    let options = options
        .iter()
        .map(|option| option.lay_out(&inner, line_end));
    let options = spread_options(options, indent, line_end);
    format!("#[{name}({options})]")
}

/// The options with a line for each.
fn spread_options(options: impl Iterator<Item = String>, indent: &str, line_end: &str) -> String {
    let options = options.map(|option| format!("{line_end}{indent}    {option},"));
    format!("{}{line_end}{indent}", options.collect::<String>())
}

fn fit_or_spread(
    source: &SourceText,
    attribute: &Attribute,
    splices: Vec<Splice>,
    others: &[OptionText],
    new: &Printed,
) -> Vec<Splice> {
    fit_or_spread_with(source, attribute, splices, |indent| {
        let others = others
            .iter()
            .map(|other| source.text[other.range.clone()].to_owned());
        let new = new.lay_out(indent, Lines(&source.text).line_end());
        others.chain([new]).collect()
    })
}

/// The splices, if the attribute fits on its line then; else one that gives each option a line, unless a comment
/// stands among them.
fn fit_or_spread_with(
    source: &SourceText,
    attribute: &Attribute,
    splices: Vec<Splice>,
    options: impl FnOnce(&str) -> Vec<String>,
) -> Vec<Splice> {
    let lines = Lines(&source.text);
    let inside = attribute.inside.clone();
    let place = inside
        .clone()
        .unwrap_or(attribute.name_end..attribute.name_end);
    let changed = apply_splices(&source.text, &splices);
    let at = splices.first().map_or(0, |splice| splice.range.start);
    let is_one_line = !splices.iter().any(|splice| splice.text.contains('\n'));
    let fits = is_one_line && Lines(&changed).width(at) <= WIDTH;
    if fits || !source.comments_within(&place).is_empty() {
        return splices;
    }
    let indent = lines.indent(attribute.range.start);
    let options = options(&format!("{indent}    ")).into_iter();
    let options = spread_options(options, indent, lines.line_end());
    let options = match inside {
        Some(_) => options,
        None => format!("({options})"),
    };
    vec![Splice::replace(place, options)]
}
