//! Prints options as source.

use super::attribute::{GOOD, LIMIT};
use super::value::{Field, FieldValue, OptionValue, ParameterList};

/// Prints an option on one line, or as its source is.
pub(super) fn print_option(key: &str, value: &OptionValue) -> String {
    print_with(key, value, &|open, items, close| {
        let blank = if open == "{" && !items.is_empty() {
            " "
        } else {
            ""
        };
        format!("{open}{blank}{}{blank}{close}", items.join(", "))
    })
}

/// Prints an option with a line for each of its items, where it has several.
pub(super) fn print_wide_option(key: &str, value: &OptionValue) -> String {
    print_with(key, value, &|open, items, close| {
        let lines: Vec<String> = items.iter().map(|item| format!("\n    {item},")).collect();
        format!("{open}{}\n{close}", lines.concat())
    })
}

type ListPrinter<'a> = &'a dyn Fn(&str, &[String], &str) -> String;

fn print_with(key: &str, value: &OptionValue, list: ListPrinter<'_>) -> String {
    let quoted = |texts: &[String]| {
        texts
            .iter()
            .map(|text| quote_text(text))
            .collect::<Vec<_>>()
    };
    match value {
        OptionValue::Flag => key.to_owned(),
        OptionValue::Source(source) if key == LIMIT || key == GOOD => source.clone(),
        OptionValue::Source(source) => format!("{key} = {source}"),
        OptionValue::Text(text) => format!("{key} = {}", quote_text(text)),
        OptionValue::Pair(first, second) => {
            let pair = format!("({}, {})", quote_text(first), quote_text(second));
            let equals = if key == "basic" { " = " } else { "" };
            format!("{key}{equals}{pair}")
        }
        OptionValue::Texts(texts) => format!("{key} = {}", list("[", &quoted(texts), "]")),
        OptionValue::Conditions(conditions) => format!("{key}{}", list("(", conditions, ")")),
        OptionValue::Request { method, url } => format!("{method} = {}", quote_text(url)),
        OptionValue::Fields(fields) => {
            let fields: Vec<String> = fields.iter().map(Field::print).collect();
            format!("{key} = {}", list("{", &fields, "}"))
        }
        OptionValue::File(path) => format!("{key} = file({})", quote_text(path)),
        OptionValue::Call(parameters) if parameters.word == key => parameters.print(),
        OptionValue::Call(parameters) => format!("{key} = {}", parameters.print()),
        OptionValue::Stages(stages) => {
            let stages: Vec<String> = stages.iter().map(ParameterList::print).collect();
            format!("{key} = {}", list("[", &stages, "]"))
        }
    }
}

impl Field {
    fn print(&self) -> String {
        let value = match &self.value {
            FieldValue::Text(text) => quote_text(text),
            FieldValue::Source(source) => source.clone(),
            FieldValue::File(path) => format!("file({})", quote_text(path)),
        };
        format!("{}: {value}", quote_text(&self.name))
    }
}

impl ParameterList {
    fn print(&self) -> String {
        let first = Some(self.first.clone()).filter(|first| !first.is_empty());
        let named = self
            .named
            .iter()
            .map(|(name, value)| format!("{name} = {value}"));
        let all: Vec<String> = first.into_iter().chain(named).collect();
        format!("{}({})", self.word, all.join(", "))
    }
}

fn quote_text(text: &str) -> String {
    format!("{text:?}")
}
