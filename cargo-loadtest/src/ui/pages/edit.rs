//! The form of a scenario: its steps and options as the source has them, what a change comes to, and the messages of
//! the compiler.

use super::super::answer::Answer;
use super::super::dashboard::{Dashboard, Journey, LastEdit};
use super::super::editor::{
    EditedFile, Finding, OptionField, SourceCheck, StepValues, add_option_edit, addable_options,
    collect_edits, collect_values, find_scenario, number_options,
};
use super::super::frame::{Content, Section, render_page};
use super::super::request::Fields;
use super::super::route::Route;
use crate::error::Error;
use crate::policy::Action;
use crate::source::{
    Diff, Edit, EditRefusal, FieldValue, LineKind, NewStep, OptionEdit, OptionValue, ParameterList,
    PartSource, RefusedEdit, Role, apply_edits, replace_source,
};
use maud::{Markup, html};
use std::sync::Arc;

const METHODS: [&str; 7] = ["get", "post", "put", "delete", "patch", "head", "options"];

/// Changes that are not saved, and what is in their way.
#[derive(Debug, Default)]
struct Draft {
    edits: Vec<Edit>,
    refused: Vec<RefusedEdit>,
}

/// Renders the form of a scenario as its file is now.
///
/// # Errors
/// When it has no file that can be edited here.
pub(super) fn render(dashboard: &Arc<Dashboard>, identity: &str) -> Result<Content, Error> {
    let file = find_scenario(dashboard, identity)?;
    Ok(render_form(dashboard, identity, &file, &Draft::default()))
}

/// Returns a word that changes with the check of the scenario's file.
pub(in crate::ui) fn check_state(dashboard: &Dashboard, identity: &str) -> &'static str {
    let file = find_scenario(dashboard, identity);
    match file.ok().and_then(|file| dashboard.checks.get(&file.path)) {
        Some(SourceCheck::Running) => "running",
        Some(_) => "ended",
        None => "none",
    }
}

/// Answers the difference that the sent form would make, or the form again with what is in its way.
///
/// # Errors
/// When the scenario has no file that can be edited here.
pub(super) fn preview(dashboard: &Arc<Dashboard>, form: &Fields) -> Result<Answer, Error> {
    let identity = form.get("scenario").unwrap_or_default();
    let file = find_scenario(dashboard, identity)?;
    let mut edits = collect_edits(form);
    let add = form.get("add").map(str::to_owned);
    if let Some((step, key)) = add.as_deref().and_then(|add| add.split_once(' ')) {
        let step = Some(step).filter(|step| !step.is_empty());
        let key = form.raw(&format!("key.{key}")).unwrap_or_default();
        let part = step.and_then(|step| file.scenario.parts.iter().find(|part| part.name == step));
        let present = part.map_or(&file.scenario.options, |part| &part.options);
        edits.push(add_option_edit(step, key, present));
        let draft = Draft {
            edits,
            refused: Vec::new(),
        };
        return Ok(show(
            dashboard,
            &render_form(dashboard, identity, &file, &draft),
        ));
    }
    match collect_action(form, &file) {
        Ok(action) => edits.extend(action),
        Err(error) => {
            dashboard.notify(false, error.to_string());
            let draft = Draft {
                edits,
                refused: Vec::new(),
            };
            return Ok(show(
                dashboard,
                &render_form(dashboard, identity, &file, &draft),
            ));
        }
    }
    if edits.is_empty() {
        dashboard.notify(true, "nothing is changed");
        return Ok(Answer::SeeOther(Route::Edit(identity.to_owned()).path()));
    }
    Ok(match apply_edits(&file.text, &file.scenario.path, &edits) {
        Err(refused) => {
            let draft = Draft { edits, refused };
            show(dashboard, &render_form(dashboard, identity, &file, &draft))
        }
        Ok(edited) => {
            let diff = Diff::new(&file.text, &edited.splices);
            let json = serde_json::to_string(&edits).map_err(Error::encode("the changes"))?;
            let content = Content {
                title: "Changes".to_owned(),
                section: Section::Scenarios,
                stream: String::new(),
                body: html! {
                    h1 { "Changes of " code { (file.shown) } }
                    (render_diff(&diff))
                    form.line method="post" action=(Route::SaveEdit.path()) {
                        input type="hidden" name="scenario" value=(identity);
                        input type="hidden" name="edits" value=(json);
                        button.primary { "Save" }
                        a.button href=(Route::Edit(identity.to_owned()).path()) { "Discard" }
                    }
                    p.sub { "Save writes exactly this. Comments and everything else stay as they are; the compiler checks it then." }
                },
            };
            show(dashboard, &content)
        }
    })
}

/// Returns the change that a button of the form asks for, besides those of its fields.
fn collect_action(form: &Fields, file: &EditedFile) -> Result<Option<Edit>, Error> {
    let source = |name: &str| {
        let part = file.scenario.parts.iter().find(|part| part.name == name);
        part.map(|part| part.source.clone()).unwrap_or_default()
    };
    if let Some(step) = form.get("remove") {
        return Ok(Some(Edit::RemoveStep {
            step: step.to_owned(),
            was: source(step),
            with_comments: form.get("with_comments").is_some(),
        }));
    }
    if let Some(step) = form.get("duplicate") {
        let name = free_name(file, step);
        return Ok(Some(Edit::DuplicateStep {
            step: step.to_owned(),
            name,
        }));
    }
    if let Some(words) = form.get("move") {
        let (step, before) = words.split_once(' ').unwrap_or((words, ""));
        return Ok(Some(Edit::MoveStep {
            step: step.to_owned(),
            before: Some(before.to_owned()).filter(|before| !before.is_empty()),
        }));
    }
    if let Some(step) = form.get("rename") {
        let to = form.raw(&format!("name.{step}")).unwrap_or_default();
        return Ok(Some(Edit::RenameStep {
            step: step.to_owned(),
            to: to.trim().to_owned(),
        }));
    }
    if form.get("act") == Some("add_step") {
        let name = form
            .get("new.name")
            .ok_or_else(|| Error::usage("the new step has no name"))?;
        let url = form
            .get("new.url")
            .ok_or_else(|| Error::usage("the new step has no URL"))?;
        let request = OptionValue::Request {
            method: form.get("new.method").unwrap_or("get").to_owned(),
            url: url.to_owned(),
        };
        return Ok(Some(Edit::AddStep {
            after: form.get("new.after").map(str::to_owned),
            step: NewStep {
                name: name.to_owned(),
                options: vec![("request".to_owned(), request)],
                returns: None,
            },
        }));
    }
    Ok(None)
}

/// Returns a name that no part of the scenario has.
fn free_name(file: &EditedFile, name: &str) -> String {
    let is_taken = |name: &str| file.scenario.parts.iter().any(|part| part.name == name);
    let names = (2..=file.scenario.parts.len() + 2).map(|number| format!("{name}_{number}"));
    names
        .into_iter()
        .find(|name| !is_taken(name))
        .unwrap_or_default()
}

/// Writes the changes that a preview showed, if they can still be made.
///
/// # Errors
/// When the file cannot be read or written, or the form is none of ours.
pub(super) fn save(dashboard: &Arc<Dashboard>, form: &Fields) -> Result<Answer, Error> {
    let identity = form.get("scenario").unwrap_or_default();
    if let Some(refusal) = dashboard.refusal(Action::Edit) {
        return Err(Error::usage(refusal));
    }
    let file = find_scenario(dashboard, identity)?;
    let edits = form.raw("edits").unwrap_or_default();
    let edits: Vec<Edit> = serde_json::from_str(edits)
        .map_err(|error| Error::usage(format!("the changes cannot be read: {error}")))?;
    let edited = match apply_edits(&file.text, &file.scenario.path, &edits) {
        Ok(edited) => edited,
        Err(refused) => {
            let draft = Draft { edits, refused };
            return Ok(show(
                dashboard,
                &render_form(dashboard, identity, &file, &draft),
            ));
        }
    };
    replace_source(&file.path, &file.text, &edited.text)?;
    let diff = Diff::new(&file.text, &edited.splices);
    let count = |kind| {
        diff.hunks
            .iter()
            .flat_map(|hunk| &hunk.lines)
            .filter(|line| line.kind == kind)
            .count()
    };
    let (added, removed) = (count(LineKind::Added), count(LineKind::Removed));
    dashboard.notify(true, format!("saved {}: +{added} −{removed}", file.shown));
    dashboard.set_last_edit(Some(LastEdit {
        path: file.path.clone(),
        before: file.text.clone(),
        after: edited.text,
    }));
    start_check(dashboard, identity, &file);
    Ok(Answer::SeeOther(Route::Edit(identity.to_owned()).path()))
}

fn start_check(dashboard: &Arc<Dashboard>, identity: &str, file: &EditedFile) {
    if dashboard.run_under_way().is_some() {
        dashboard.notify(
            true,
            "the file is checked when you ask for it: the compiler would disturb the run under way",
        );
        return;
    }
    let package = identity.split("::").next().unwrap_or_default();
    dashboard.checks.start(dashboard, file, package);
}

/// Takes the last change back; returns the page to go to.
///
/// # Errors
/// When the file changed since.
pub(super) fn undo(dashboard: &Arc<Dashboard>, identity: &str) -> Result<String, Error> {
    if let Some(edit) = dashboard.last_edit() {
        replace_source(&edit.path, &edit.after, &edit.before)?;
        dashboard.set_last_edit(None);
        dashboard.notify(
            true,
            format!("{} is as it was", dashboard.shown_path(&edit.path)),
        );
        if let Ok(file) = find_scenario(dashboard, identity) {
            start_check(dashboard, identity, &file);
        }
    }
    Ok(Route::Edit(identity.to_owned()).path())
}

/// Checks the file of a scenario; returns the page to go to.
///
/// # Errors
/// When it has none that can be edited here.
pub(super) fn check(dashboard: &Arc<Dashboard>, identity: &str) -> Result<String, Error> {
    start_check(dashboard, identity, &find_scenario(dashboard, identity)?);
    Ok(Route::Edit(identity.to_owned()).path())
}

fn show(dashboard: &Dashboard, content: &Content) -> Answer {
    Answer::page(render_page(dashboard, content))
}

pub(super) fn render_diff(diff: &Diff) -> Markup {
    html! {
        @for hunk in &diff.hunks {
            pre.diff {
                @for line in &hunk.lines {
                    @let (class, sign) = match line.kind {
                        LineKind::Context => ("same", ' '),
                        LineKind::Removed => ("removed", '−'),
                        LineKind::Added => ("added", '+'),
                    };
                    span class=(class) { (sign) (line.text.trim_end_matches(['\r', '\n'])) } "\n"
                }
            }
        }
    }
}

fn render_form(dashboard: &Dashboard, identity: &str, file: &EditedFile, draft: &Draft) -> Content {
    let scenario = &file.scenario;
    let check = dashboard.checks.get(&file.path);
    let findings = match &check {
        Some(SourceCheck::Ended(findings)) => findings.as_slice(),
        _ => &[],
    };
    let refusal = dashboard
        .refusal(Action::Edit)
        .or_else(|| scenario.locked.map(str::to_owned));
    let fields = number_options(scenario);
    let can_undo = dashboard
        .last_edit()
        .is_some_and(|edit| edit.path == file.path);
    let values = match dashboard.journey(identity) {
        Some(Journey::Ended(events)) => {
            let steps = scenario.parts.iter().filter(|part| part.role == Role::Step);
            let names: Vec<&str> = steps.map(|part| &*part.name).collect();
            collect_values(&events, &names)
        }
        _ => Vec::new(),
    };
    let state = match check {
        Some(SourceCheck::Running) => "running",
        Some(_) => "ended",
        None => "none",
    };
    let encoded: String = url::form_urlencoded::byte_serialize(identity.as_bytes()).collect();
    Content {
        title: scenario.function.clone(),
        section: Section::Scenarios,
        stream: format!("edit={encoded}&check={state}"),
        body: html! {
            h1 { (scenario.function) }
            p.sub { a href=(Route::Scenario(identity.to_owned()).path()) { (identity) } " · " code { (file.shown) ":" (scenario.line) } }
            nav.actions aria-label="What to do with this scenario" {
                a.button.small href=(Route::Try(identity.to_owned()).path()) { "Try it once" }
                form.line method="post" action=(Route::CheckSource.path()) {
                    input type="hidden" name="scenario" value=(identity);
                    button.small { "Check" }
                }
                @if can_undo {
                    form.line method="post" action=(Route::UndoEdit.path()) {
                        input type="hidden" name="scenario" value=(identity);
                        button.small { "Undo the last save" }
                    }
                }
            }
            (render_check(check.as_ref()))
            (render_refused(draft))
            @if let Some(refusal) = &refusal { p.notice { "This scenario cannot be edited here: " (refusal) } }
            form #edit method="post" action=(Route::PreviewEdit.path()) {
                input type="hidden" name="scenario" value=(identity);
                // Enter in a field presses the first button.
                button.primary disabled[refusal.is_some()] { "Show the changes" }
                fieldset disabled[refusal.is_some()] {
                    legend { "Scenario" }
                    (render_description(0, None, &scenario.description.text, scenario.description.locked))
                    (render_options(&fields, None, draft, findings))
                    (render_add(None, 0, &scenario.options))
                }
                @for (number, part) in scenario.parts.iter().enumerate() {
                    (render_part(number + 1, part, &fields, draft, findings))
                }
                (render_new_step(&scenario.parts, refusal.is_some()))
                button.primary disabled[refusal.is_some()] { "Show the changes" }
            }
            (render_values(&values))
        },
    }
}

fn render_check(check: Option<&SourceCheck>) -> Markup {
    html! {
        @match check {
            None => {}
            Some(SourceCheck::Running) => { p.notice role="status" { "The compiler checks the file." } }
            Some(SourceCheck::Failed(reason)) => { div.notice.t-bad { pre { (reason) } } }
            Some(SourceCheck::Ended(findings)) if findings.is_empty() => { p.notice.t-good { "The compiler accepts the file." } }
            Some(SourceCheck::Ended(findings)) => {
                section.notice.t-bad aria-label="Messages of the compiler" {
                    ul { @for finding in findings { li {
                        @if finding.is_error { "error" } @else { "warning" }
                        @if let Some((line, _)) = finding.lines { ", line " (line) }
                        ": " (finding.text)
                    } } }
                }
            }
        }
    }
}

fn render_refused(draft: &Draft) -> Markup {
    html! {
        @if !draft.refused.is_empty() {
            section.notice.t-bad aria-label="Changes that cannot be made" {
                p { "Nothing was written:" }
                ul { @for refused in &draft.refused { li { (describe_refusal(draft, refused)) } } }
            }
        }
    }
}

/// Describes what is in the way of a change.
fn describe_refusal(draft: &Draft, refused: &RefusedEdit) -> String {
    let edit = draft.edits.get(refused.edit);
    let what = match edit {
        Some(Edit::Option(option)) => {
            let step = option
                .step
                .as_deref()
                .map(|step| format!(" of `{step}`"))
                .unwrap_or_default();
            format!("`{}`{step}: ", option.option)
        }
        _ => String::new(),
    };
    let words = match (&refused.reason, edit) {
        (EditRefusal::Conflict { on_disk }, Some(Edit::Option(option))) => format!(
            "the file has {} now, this page has {}, and it was {} when the page was opened",
            describe_value(on_disk.as_ref()),
            describe_value(option.to.as_ref()),
            describe_value(option.was.as_ref())
        ),
        (EditRefusal::Comments(comments), _) => {
            format!("these comments would go: {}", comments.join(" "))
        }
        (reason, _) => reason.to_string(),
    };
    format!("{what}{words}")
}

fn describe_value(value: Option<&OptionValue>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(OptionValue::Source(text) | OptionValue::Text(text)) => format!("`{text}`"),
        Some(other) => format!("`{}`", serde_json::to_string(other).unwrap_or_default()),
    }
}

fn render_description(
    number: usize,
    step: Option<&str>,
    text: &str,
    locked: Option<&str>,
) -> Markup {
    let prefix = format!("p{number}");
    html! {
        input type="hidden" name={ (prefix) ".step" } value=(step.unwrap_or_default());
        @if let Some(reason) = locked {
            p.sub { (text) " (" (reason) ")" }
        } @else {
            input type="hidden" name={ (prefix) ".doc.was" } value=(text);
            label.wide { "Description" textarea name={ (prefix) ".doc" } rows=(text.lines().count().max(1)) { (text) } }
        }
    }
}

fn render_options(
    fields: &[OptionField<'_>],
    step: Option<&str>,
    draft: &Draft,
    findings: &[Finding],
) -> Markup {
    let own: Vec<_> = fields.iter().filter(|field| field.step == step).collect();
    let edits = draft.edits.iter().filter_map(|edit| match edit {
        Edit::Option(edit) if edit.step.as_deref() == step => Some(edit),
        _ => None,
    });
    let edits: Vec<&OptionEdit> = edits.collect();
    // The fields of new options are numbered behind those of the file.
    let new = draft.edits.iter().filter_map(|edit| match edit {
        Edit::Option(edit) if edit.was.is_none() => Some(edit),
        _ => None,
    });
    let new = (fields.len()..).zip(new);
    let new = new.filter(|(_, edit)| edit.step.as_deref() == step);
    html! {
        div.fields {
            @for field in own {
                @let edit = edits.iter().find(|edit| edit.option == field.option.key && edit.number == field.option.number);
                (render_option_fields(field, edit.copied(), findings))
            }
            @for (number, edit) in new { (render_new_option(&format!("o{number}"), edit)) }
        }
    }
}

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
fn render_new_option(prefix: &str, edit: &OptionEdit) -> Markup {
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

fn render_add(
    step: Option<&str>,
    number: usize,
    present: &[crate::source::OptionSource],
) -> Markup {
    html! {
        p.line {
            label { span.unseen { "Option to add" }
                select name={ "key." (number) } { @for key in addable_options(step.is_some(), present) { option value=(key) { (key) } } }
            }
            button.small name="add" value={ (step.unwrap_or_default()) " " (number) } { "Add the option" }
        }
    }
}

fn render_part(
    number: usize,
    part: &PartSource,
    fields: &[OptionField<'_>],
    draft: &Draft,
    findings: &[Finding],
) -> Markup {
    let is_step = part.role == Role::Step;
    let title = if is_step {
        "Step"
    } else {
        role_name(part.role)
    };
    let is_own_error = |finding: &&Finding| {
        let on_option = part
            .options
            .iter()
            .any(|option| finding.is_within(option.line, option.last_line));
        finding.is_within(part.first_line, part.last_line) && !on_option
    };
    html! {
        fieldset.step id={ "step-" (part.name) } {
            legend { (title) " " strong { (part.name) } @if let Some(group) = &part.group { " in " (group) } " " span.sub { "line " (part.line) } }
            @for finding in findings.iter().filter(is_own_error) { p.s-bad { (finding.text) } }
            @if is_step {
                (render_description(number, Some(&part.name), &part.description.text, part.description.locked))
                (render_options(fields, Some(&part.name), draft, findings))
                @if !part.has_body {
                    @let returns = part.returns.as_deref().unwrap_or_default();
                    input type="hidden" name={ "p" (number) ".returns.was" } value=(returns);
                    label.wide { "Type of the answer" input name={ "p" (number) ".returns" } value=(returns) autocomplete="off" spellcheck="false"; }
                }
                (render_add(Some(&part.name), number, &part.options))
            }
            @if part.has_body || !is_step {
                details { summary { "Written in Rust" @if part.is_async { ", async" } } pre.output { (part.source) } }
            }
            @if is_step { (render_step_buttons(part)) }
        }
    }
}

fn render_step_buttons(part: &PartSource) -> Markup {
    let name = &part.name;
    html! {
        p.line {
            @for place in &part.moves {
                button.small name="move" value={ (name) " " (place.as_deref().unwrap_or_default()) } {
                    @match place { Some(before) => { "Move before " (before) } None => "Move to the end" }
                }
            }
            button.small name="duplicate" value=(name) { "Duplicate" }
            button.small.danger name="remove" value=(name) { "Remove" }
            label { span.unseen { "New name of " (name) } input name={ "name." (name) } value=(name) size="16" autocomplete="off" spellcheck="false"; }
            button.small name="rename" value=(name) { "Rename" }
        }
    }
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Step => "Step",
        Role::Setup => "Setup",
        Role::Feed => "Feed",
        Role::State => "State",
        Role::Check => "Check",
        Role::Teardown => "Teardown",
        Role::Group => "Group",
        Role::Rust => "Rust",
    }
}

fn render_new_step(parts: &[PartSource], is_locked: bool) -> Markup {
    let steps: Vec<_> = parts
        .iter()
        .filter(|part| part.role == Role::Step && part.group.is_none())
        .collect();
    let last = steps.last().map(|part| part.name.as_str());
    html! {
        fieldset disabled[is_locked] {
            legend { "New step" }
            div.fields { div.field {
                label { "Function" input name="new.name" placeholder="receipt" autocomplete="off" spellcheck="false"; }
                label { "Method" select name="new.method" { @for method in METHODS { option value=(method) { (method.to_uppercase()) } } } }
                label { "URL" input name="new.url" placeholder="/orders/{{buy.response.id}}" size="40" autocomplete="off" spellcheck="false" data-template; }
                label { "Behind" select name="new.after" { @for part in &steps { option value=(part.name) selected[last == Some(&part.name)] { (part.name) } } } }
                button.small name="act" value="add_step" { "Add the step" }
            } }
        }
    }
}

/// Renders the values that a template can hold, for the script that puts one into a field.
fn render_values(values: &[StepValues]) -> Markup {
    html! {
        dialog #values aria-labelledby="values-title" {
            h2 #values-title { "Insert a value" }
            @if values.is_empty() { p { "Try the scenario once: then the values of its answers are here." } }
            @for step in values {
                details open {
                    summary { strong { (step.step) } " " span.sub { (step.status) } }
                    ul.menu {
                        @for (template, value) in &step.values {
                            li { button.small type="button" data-insert=(template) { (template) } " " span.sub { (value) } }
                        }
                    }
                }
            }
            form method="dialog" { button { "Close" } }
        }
    }
}
