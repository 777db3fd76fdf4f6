//! The fields of one option.

use super::METHODS;
use crate::source::{FieldValue, OptionEdit, OptionValue, ParameterList};
use crate::ui::editor::{Finding, OptionField};
use maud::{Markup, html};

/// Renders the fields of an option; `edit` holds its value in this page, where that is not the file's.
pub(in crate::ui) fn render_option_fields(
    field: &OptionField<'_>,
    edit: Option<&OptionEdit>,
    findings: &[Finding],
) -> Markup {
    let OptionField {
        prefix,
        step,
        option,
    } = field;
    let (first, last) = (option.line, option.last_line);
    let own: Vec<_> = findings
        .iter()
        .filter(|finding| finding.is_within(first, last))
        .collect();
    let was = OptionEdit {
        step: step.map(str::to_owned),
        option: option.key.clone(),
        number: option.number,
        was: option.value.clone(),
        to: None,
        with_comments: false,
    };
    let was = serde_json::to_string(&was).unwrap_or_default();
    html! {
        div.field.(if own.is_empty() { "plain" } else { "has-error" }) data-option=(option.key) {
            input type="hidden" name={ (prefix) ".was" } value=[option.value.is_some().then_some(&was)];
            @match &option.value {
                Some(value) => {
                    @let shown = edit.and_then(|edit| edit.to.as_ref()).unwrap_or(value);
                    (render_value(prefix, &option.key, shown))
                    @if !matches!(value, OptionValue::Flag) {
                        label.gone { input type="checkbox" name={ (prefix) ".gone" } checked[edit.is_some_and(|edit| edit.to.is_none())]; "remove" }
                    }
                }
                None => {
                    span.name { (option.key) }
                    code { (option.source) }
                    span.sub { (option.locked.unwrap_or_default()) }
                }
            }
            @for finding in own { p.s-bad { (finding.text) } }
        }
    }
}

/// Renders the fields of an option that the file does not have yet.
pub(super) fn render_new_option(prefix: &str, edit: &OptionEdit) -> Markup {
    let was = serde_json::to_string(&edit).unwrap_or_default();
    html! {
        div.field.new data-option=(edit.option) {
            input type="hidden" name={ (prefix) ".was" } value=(was);
            @if let Some(value) = &edit.to { (render_value(prefix, &edit.option, value)) }
            label.gone { input type="checkbox" name={ (prefix) ".gone" }; "leave out" }
        }
    }
}

fn render_value(prefix: &str, key: &str, value: &OptionValue) -> Markup {
    let input = |name: &str, label: &str, text: &str| {
        html! {
            label { (label)
                @if text.contains('\n') {
                    textarea name={ (prefix) "." (name) } rows=(text.lines().count()) spellcheck="false" data-template { (text) }
                } @else {
                    input name={ (prefix) "." (name) } value=(text) size=(text.chars().count().clamp(8, 60)) autocomplete="off" spellcheck="false" data-template;
                }
            }
        }
    };
    let lines = |all: &[String]| {
        html! { label { (key) textarea name={ (prefix) ".a" } rows=(all.len().max(1)) spellcheck="false" { (all.join("\n")) } } }
    };
    html! {
        @match value {
            OptionValue::Flag => label.flag { input type="checkbox" name={ (prefix) ".a" } checked; (key) },
            OptionValue::Source(text) | OptionValue::Text(text) => (input("a", key, text)),
            OptionValue::File(path) => (input("a", &format!("{key}: file"), path)),
            OptionValue::Pair(name, text) => { (input("a", key, name)) (input("b", "value", text)) }
            OptionValue::Texts(all) | OptionValue::Conditions(all) => (lines(all)),
            OptionValue::Request { method, url } => {
                label { "Method" select name={ (prefix) ".a" } { @for known in METHODS { option value=(known) selected[known == method] { (known.to_uppercase()) } } } }
                (input("b", "URL", url))
            }
            OptionValue::Fields(fields) => {
                span.name { (key) }
                @for (number, field) in fields.iter().enumerate() {
                    @let (kind, text) = match &field.value {
                        FieldValue::Text(text) => ("text", text),
                        FieldValue::Source(text) => ("source", text),
                        FieldValue::File(path) => ("file", path),
                    };
                    input type="hidden" name={ (prefix) ".k" (number) } value=(kind);
                    (input(&format!("n{number}"), "name", &field.name))
                    (input(&format!("v{number}"), kind, text))
                }
                (input(&format!("n{}", fields.len()), "another name", ""))
                (input(&format!("v{}", fields.len()), "text", ""))
            }
            OptionValue::Call(list) => (render_parameters(prefix, key, list)),
            OptionValue::Stages(stages) => {
                span.name { (key) }
                @for (number, stage) in stages.iter().enumerate() { (render_parameters(&format!("{prefix}.s{number}"), "stage", stage)) }
            }
        }
    }
}

fn render_parameters(prefix: &str, key: &str, list: &ParameterList) -> Markup {
    let input = |name: &str, label: &str, text: &str| {
        html! { label { (label) input name={ (prefix) "." (name) } value=(text) size=(text.chars().count().clamp(6, 30)) autocomplete="off" spellcheck="false"; } }
    };
    html! {
        @if key == "retry" {
            input type="hidden" name={ (prefix) ".word" } value=(list.word);
        } @else {
            (input("word", key, &list.word))
        }
        (input("a", if key == "retry" { "retry" } else { "value" }, &list.first))
        @for (number, (name, value)) in list.named.iter().enumerate() {
            input type="hidden" name={ (prefix) ".n" (number) } value=(name);
            (input(&format!("v{number}"), name, value))
        }
        (input(&format!("n{}", list.named.len()), "another", ""))
        (input(&format!("v{}", list.named.len()), "value", ""))
    }
}
