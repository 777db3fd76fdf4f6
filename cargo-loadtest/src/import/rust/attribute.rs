//! Attributes, laid out as rustfmt has them.
//!
//! It knows those whose options are plain: it has them on one line up to a width of its own, and without a comma
//! behind the last one. Others it leaves alone, and they are laid out for people.

use super::WIDTH;
use super::literal::text;
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr as _;

/// How wide the options may be that rustfmt has on one line.
const NARROW: usize = 70;

/// An option of an attribute.
#[derive(Debug, Clone)]
pub(super) enum Choice {
    /// `name = literal`.
    Plain(String),
    /// `name("literal", ..)`.
    Call(String, Vec<String>),
    /// What rustfmt does not know.
    Own(String),
}

impl Choice {
    /// `name = "text"`.
    pub(super) fn text(name: &str, value: &str) -> Self {
        Self::Plain(format!("{name} = {}", text(value)))
    }

    fn line(&self) -> String {
        match self {
            Self::Plain(option) | Self::Own(option) => option.clone(),
            Self::Call(name, values) => format!("{name}({})", values.join(", ")),
        }
    }

    /// On lines of its own.
    fn lines(&self, indent: &str, is_known: bool) -> String {
        match self {
            Self::Call(name, values) if is_known && !is_narrow(&values.join(", "), values) => {
                let inner = format!(",\n{indent}    ");
                format!(
                    "{name}(\n{indent}    {}\n{indent})",
                    values.join(inner.as_str())
                )
            }
            Self::Own(option) => option.replace('\n', &format!("\n{indent}")),
            _ => self.line(),
        }
    }
}

fn is_narrow(line: &str, values: &[String]) -> bool {
    line.width() <= NARROW || values.len() == 1
}

/// `#[name(..)]`, or `#[name]` without any option.
pub(super) fn write(source: &mut String, indent: &str, name: &str, options: &[Choice]) {
    if options.is_empty() {
        let _ = writeln!(source, "{indent}#[{name}]");
        return;
    }
    let is_known = !options
        .iter()
        .any(|option| matches!(option, Choice::Own(_)));
    let inside: Vec<_> = options.iter().map(Choice::line).collect();
    let inside = inside.join(", ");
    let line = format!("{indent}#[{name}({inside})]");
    let is_narrow = !is_known || options.len() == 1 || inside.width() <= NARROW;
    if line.width() <= WIDTH && is_narrow && !line.contains('\n') {
        source.push_str(&line);
        source.push('\n');
        return;
    }
    let _ = writeln!(source, "{indent}#[{name}(");
    let inner = format!("{indent}    ");
    for (at, option) in options.iter().enumerate() {
        let comma = if is_known && at + 1 == options.len() {
            ""
        } else {
            ","
        };
        let _ = writeln!(source, "{inner}{}{comma}", option.lines(&inner, is_known));
    }
    let _ = writeln!(source, "{indent})]");
}
