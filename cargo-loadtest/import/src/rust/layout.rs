//! Literals and attributes of Rust, and the user's rustfmt for the layout of the rest.

use std::fmt::{Display, Write as _};
use std::io::Write as _;
use std::process::{Command, Stdio};

/// The widest line of an attribute.
const WIDTH: usize = 100;

/// Writes `#[name(..)]` on one line where it fits, else with a line for each option.
pub(super) fn write_attribute(source: &mut String, indent: &str, name: &str, options: &[String]) {
    let attribute = match options {
        [] => format!("#[{name}]"),
        _ => join_items(&format!("#[{name}("), options, ")]", 0),
    };
    let attribute = attribute.replace('\n', &format!("\n{indent}"));
    let _ = writeln!(source, "{indent}{attribute}");
}

/// Returns an option with its value, where it has one.
pub(super) fn write_option(name: &str, value: Option<impl Display>) -> Option<String> {
    value.map(|value| format!("{name} = {value}"))
}

/// Returns a word as an option, where it is set.
pub(super) fn write_flag(word: &str, is_set: bool) -> Option<String> {
    is_set.then(|| word.to_owned())
}

/// Joins items on one line where they fit, else with a line for each.
pub(super) fn join_items(open: &str, items: &[String], close: &str, indent: usize) -> String {
    if items.is_empty() {
        return format!("{open}{close}");
    }
    let blank = if open == "{" { " " } else { "" };
    let line = format!("{open}{blank}{}{blank}{close}", items.join(", "));
    if line.chars().count() + indent < WIDTH - 20 && !line.contains('\n') {
        return line;
    }
    let margin = " ".repeat(indent);
    let items = items.iter().map(|item| format!("{margin}    {item},\n"));
    format!("{open}\n{}{margin}{close}", items.collect::<String>())
}

/// Writes a string.
pub(super) fn quote_text(text: &str) -> String {
    format!("{text:?}")
}

/// Writes a string in the code of a function, where nothing may look like a template.
pub(super) fn quote_code(whole: &str) -> String {
    let literal = quote_text(whole);
    let mut parts = literal.split("{{");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |written, part| {
        let is_name = |name: &str| {
            name.trim()
                .chars()
                .all(|letter| letter.is_alphanumeric() || letter == '_')
        };
        let is_template = part.split_once('.').is_some_and(|(name, _)| is_name(name));
        written + if is_template { "{\\u{7b}" } else { "{{" } + part
    })
}

/// Writes a byte string.
pub(super) fn quote_bytes(bytes: &[u8]) -> String {
    format!("b\"{}\"", bytes.escape_ascii())
}

/// Formats a source with `rustfmt`; returns it as it is where there is no rustfmt.
pub fn format_source(source: String) -> String {
    run_rustfmt(&source).unwrap_or(source)
}

fn run_rustfmt(source: &str) -> Option<String> {
    let formatter = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout", "--quiet"])
        // No configuration of the project changes the result.
        .current_dir(std::env::temp_dir())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut formatter = formatter.ok()?;
    let mut input = formatter.stdin.take()?;
    let written = std::thread::scope(|scope| {
        let written = scope.spawn(move || input.write_all(source.as_bytes()));
        let output = formatter.wait_with_output();
        written.join().ok()?.ok()?;
        output.ok()
    })?;
    let text = String::from_utf8(written.stdout).ok()?;
    (written.status.success() && !text.is_empty()).then_some(text)
}
