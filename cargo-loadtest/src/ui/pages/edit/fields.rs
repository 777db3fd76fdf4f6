//! The fields of one option.

use super::draft::{Draft, loses_comments, option_anchor};
use crate::source::{FieldValue, OptionEdit, OptionValue, ParameterList};
use crate::ui::editor::{Finding, OptionField};
use loadtest_language::{METHODS, OPEN_OPTION};
use maud::{Markup, html};

/// How many lines a text has in a form.
const LINES: std::ops::RangeInclusive<usize> = 3..=20;

/// The fields of an option: their names begin with `prefix`.
#[derive(Debug, Clone, Copy)]
struct OptionForm<'a> {
    prefix: &'a str,
    key: &'a str,
    /// The `id` of what is wrong with the value.
    error: Option<&'a str>,
    /// True if the option is to be removed.
    is_gone: bool,
}

/// Renders the fields of an option, with its value in this page.
pub(in crate::ui) fn render_option_fields(
    field: &OptionField<'_>,
    draft: &Draft,
    findings: &[Finding],
) -> Markup {
    let OptionField {
        prefix,
        step,
        option,
    } = field;
    let (first, last) = (option.line, option.last_line);
    let findings = findings
        .iter()
        .filter(|finding| finding.is_within(first, last));
    let was = OptionEdit {
        step: step.map(str::to_owned),
        option: option.key.clone(),
        number: option.number,
        was: option.value.clone(),
        to: None,
        with_comments: false,
    };
    let edit = draft.option(*step, &option.key, option.number);
    let is_gone = edit.is_some_and(|edit| edit.to.is_none());
    let refused = draft.refusals_of_option(&was);
    let mut errors: Vec<String> = findings.map(|finding| finding.text.clone()).collect();
    errors.extend(refused.iter().map(|refused| draft.describe(refused)));
    let anchor = option_anchor(&was);
    let error = format!("{anchor}-error");
    let form = OptionForm {
        prefix,
        key: &option.key,
        error: (!errors.is_empty()).then_some(&error),
        is_gone,
    };
    let was = serde_json::to_string(&was).unwrap_or_default();
    html! {
        div.field.(if errors.is_empty() { "plain" } else { "has-error" }) id=(anchor) data-option=(option.key) {
            input type="hidden" name={ (prefix) ".was" } value=[option.value.is_some().then_some(&was)];
            @match &option.value {
                Some(value) => {
                    @let shown = edit.and_then(|edit| edit.to.as_ref()).unwrap_or(value);
                    (render_value(form, shown))
                    @if !matches!(value, OptionValue::Flag) {
                        label.gone { input type="checkbox" name={ (prefix) ".gone" } checked[is_gone]; "remove" }
                    }
                    @if loses_comments(&refused) { (render_confirmation(&format!("{prefix}.with_comments"), "on")) }
                }
                None => {
                    span.name { (option.key) }
                    code { (option.source) }
                    span.sub { (option.locked.unwrap_or_default()) }
                }
            }
            (render_errors(&error, &errors))
        }
    }
}

/// Renders the fields of an option that the file does not have yet.
pub(super) fn render_new_option(prefix: &str, edit: &OptionEdit, draft: &Draft) -> Markup {
    let was = serde_json::to_string(&edit).unwrap_or_default();
    let refused = draft.refusals_of_option(edit);
    let errors: Vec<String> = refused.iter().map(|one| draft.describe(one)).collect();
    let anchor = option_anchor(edit);
    let error = format!("{anchor}-error");
    let form = OptionForm {
        prefix,
        key: &edit.option,
        error: (!errors.is_empty()).then_some(&error),
        is_gone: false,
    };
    html! {
        div.field.new.(if errors.is_empty() { "plain" } else { "has-error" }) id=(anchor) data-option=(edit.option) {
            input type="hidden" name={ (prefix) ".was" } value=(was);
            @if let Some(value) = &edit.to { (render_value(form, value)) }
            label.gone { input type="checkbox" name={ (prefix) ".gone" }; "leave out" }
            (render_errors(&error, &errors))
        }
    }
}

/// Renders the box that confirms that comments go, too.
pub(super) fn render_confirmation(name: &str, value: &str) -> Markup {
    html! { label.gone { input type="checkbox" name=(name) value=(value); "remove these comments, too" } }
}

/// Renders what is wrong with a field; `id` leads to it.
pub(super) fn render_errors(id: &str, errors: &[String]) -> Markup {
    html! {
        @if !errors.is_empty() {
            div id=(id) { @for error in errors { p.s-bad { (error) } } }
        }
    }
}

impl OptionForm<'_> {
    /// Renders a text of one line, or of several where it has them.
    fn text(self, name: &str, label: &str, text: &str) -> Markup {
        self.render(name, label, text, false, text.contains('\n'))
    }

    /// The same of a text that may hold templates.
    fn template(self, name: &str, label: &str, text: &str) -> Markup {
        self.render(name, label, text, true, text.contains('\n'))
    }

    fn render(
        self,
        name: &str,
        label: &str,
        text: &str,
        is_template: bool,
        is_long: bool,
    ) -> Markup {
        let (name, error) = (format!("{}.{name}", self.prefix), self.error);
        let is_invalid = error.map(|_| "true");
        let lines = text.lines().count().clamp(*LINES.start(), *LINES.end());
        html! {
            label { (label)
                @if is_long {
                    textarea name=(name) rows=(lines) spellcheck="false" data-template[is_template] aria-invalid=[is_invalid] aria-describedby=[error] { (text) }
                } @else {
                    input name=(name) value=(text) size=(text.chars().count().clamp(8, 60)) autocomplete="off" spellcheck="false" data-template[is_template] aria-invalid=[is_invalid] aria-describedby=[error];
                }
            }
        }
    }

    /// Renders a list, a line for each of its items.
    fn lines(self, all: &[String]) -> Markup {
        let (is_invalid, error) = (self.error.map(|_| "true"), self.error);
        html! {
            label { (self.key)
                textarea name={ (self.prefix) ".a" } rows=(all.len().max(1)) spellcheck="false" aria-invalid=[is_invalid] aria-describedby=[error] { (all.join("\n")) }
            }
        }
    }

    fn parameters(self, list: &ParameterList) -> Markup {
        let is_load = self.key != "retry" && self.key != "rendezvous";
        html! {
            @if is_load { (self.text("word", self.key, &list.word)) }
            @else { input type="hidden" name={ (self.prefix) ".word" } value=(list.word); }
            (self.text("a", if is_load { "value" } else { self.key }, &list.first))
            @for (number, (name, value)) in list.named.iter().enumerate() {
                input type="hidden" name={ (self.prefix) ".n" (number) } value=(name);
                (self.text(&format!("v{number}"), name, value))
            }
            (self.text(&format!("n{}", list.named.len()), "another", ""))
            (self.text(&format!("v{}", list.named.len()), "value", ""))
        }
    }
}

fn render_value(form: OptionForm<'_>, value: &OptionValue) -> Markup {
    let OptionForm { prefix, key, .. } = form;
    html! {
        @match value {
            OptionValue::Flag => label.flag { input type="checkbox" name={ (prefix) ".a" } checked[!form.is_gone]; (key) },
            OptionValue::Source(text) if key == "json" => (form.render("a", key, text, true, true)),
            OptionValue::Text(text) if matches!(key, "bearer" | "body") => (form.template("a", key, text)),
            OptionValue::Source(text) | OptionValue::Text(text) => (form.text("a", key, text)),
            OptionValue::File(path) => (form.text("a", &format!("{key}: file"), path)),
            OptionValue::Pair(name, text) if key == "basic" => { (form.template("a", key, name)) (form.template("b", "password", text)) }
            OptionValue::Pair(name, text) => { (form.text("a", key, name)) (form.template("b", "value", text)) }
            OptionValue::Texts(all) | OptionValue::Conditions(all) => (form.lines(all)),
            OptionValue::Request { method, url } => {
                label { "Method" select name={ (prefix) ".a" } { @for known in METHODS.into_iter().chain([OPEN_OPTION]) { option value=(known) selected[known == method] { (known.to_uppercase()) } } } }
                (form.template("b", "URL", url))
            }
            OptionValue::Fields(fields) => {
                span.name { (key) }
                @for (number, field) in fields.iter().enumerate() {
                    @let name = format!("v{number}");
                    @let (kind, value) = match &field.value {
                        FieldValue::Text(text) => ("text", form.template(&name, "text", text)),
                        FieldValue::Source(text) => ("source", form.template(&name, "source", text)),
                        FieldValue::File(path) => ("file", form.text(&name, "file", path)),
                    };
                    input type="hidden" name={ (prefix) ".k" (number) } value=(kind);
                    (form.text(&format!("n{number}"), "name", &field.name))
                    (value)
                }
                (form.text(&format!("n{}", fields.len()), "another name", ""))
                (form.template(&format!("v{}", fields.len()), "text", ""))
            }
            OptionValue::Call(list) => (form.parameters(list)),
            OptionValue::Stages(stages) => {
                span.name { (key) }
                @for (number, stage) in stages.iter().enumerate() {
                    @let prefix = format!("{prefix}.s{number}");
                    (OptionForm { prefix: &prefix, key: "stage", ..form }.parameters(stage))
                }
            }
        }
    }
}
