//! The form: a scenario, its parts in their order, and what the compiler says of them.

use super::draft::{Draft, loses_comments};
use super::fields::{render_confirmation, render_errors, render_new_option, render_option_fields};
use crate::policy::Action;
use crate::source::{AnswerType, Description, Edit, OptionSource, PartSource, Role, StepMove};
use crate::ui::dashboard::{Dashboard, Journey};
use crate::ui::editor::{
    EditedFile, Finding, OptionField, SourceCheck, StepValues, addable_options, collect_values,
    number_options, text_version,
};
use crate::ui::frame::{Content, Section};
use crate::ui::pages::text::{render_line, render_output, render_place};
use crate::ui::route::Route;
use loadtest_language::METHODS;
use maud::{Markup, html};

pub(super) fn render_form(
    dashboard: &Dashboard,
    identity: &str,
    file: &EditedFile,
    draft: &Draft,
) -> Content {
    let scenario = &file.scenario;
    // First, so that what changes meanwhile loads the page again.
    let version = dashboard.checks.version(&file.path);
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
    let answers = AnswerType::read_all(&file.text).unwrap_or_default();
    let values = match dashboard.journey(identity) {
        Some(Journey::Ended(events)) => {
            let steps = scenario.parts.iter().filter(|part| part.role == Role::Step);
            let names: Vec<&str> = steps.map(|part| &*part.name).collect();
            collect_values(&events, &names)
        }
        _ => Vec::new(),
    };
    let encoded: String = url::form_urlencoded::byte_serialize(identity.as_bytes()).collect();
    Content {
        title: scenario.function.clone(),
        section: Section::Scenarios,
        stream: format!("edit={encoded}&check={version}"),
        body: html! {
            h1 { (scenario.function) }
            p.sub { a href=(Route::Scenario(identity.to_owned()).path()) { (identity) } " · " (render_place(dashboard, &file.path, scenario.line)) }
            nav.actions aria-label="Actions for this scenario" {
                a.button.small href=(Route::Try(identity.to_owned()).path()) data-key="Ctrl Enter" { "Try it once" }
                @if refusal.is_none() { form.line method="post" action=(Route::CheckSource.path()) {
                    input type="hidden" name="scenario" value=(identity);
                    button.small { "Check" }
                } }
                @if can_undo {
                    form.line method="post" action=(Route::UndoEdit.path()) {
                        input type="hidden" name="scenario" value=(identity);
                        input type="hidden" name="version" value=(text_version(&file.text));
                        button.small { "Undo the last save" }
                    }
                }
            }
            (render_check(dashboard, file, check.as_ref()))
            (render_refused(draft))
            @if let Some(refusal) = &refusal { p.notice { "This scenario cannot be edited here: " (refusal) } }
            form #edit method="post" action=(Route::PreviewEdit.path()) {
                input type="hidden" name="scenario" value=(identity);
                @for edit in draft.edits.iter().filter(|edit| matches!(edit, Edit::AddField { .. })) {
                    input type="hidden" name="field" value=[serde_json::to_string(edit).ok()];
                }
                // Enter in a field presses the first button.
                @if refusal.is_none() { button.primary data-key="Ctrl s" { "Show the changes" } }
                fieldset #scenario disabled[refusal.is_some()] {
                    legend { "Scenario" }
                    (render_description(0, None, &scenario.description, draft))
                    (render_options(&fields, None, draft, findings))
                    (render_add(None, 0, &scenario.options, draft))
                }
                @for (at, part) in scenario.parts.iter().enumerate() {
                    @let place = render_line(dashboard, &file.path, part.line);
                    // Only steps have fields, and their numbers have no gap.
                    @let steps = scenario.parts[..=at].iter().filter(|part| part.role == Role::Step);
                    (render_part(steps.count(), part, &place, &fields, draft, findings))
                }
                (render_new_step(&scenario.parts, draft, refusal.is_some()))
                @if refusal.is_none() { p.save { button.primary { "Show the changes" } } }
            }
            (render_values(&values, &scenario.parts, &answers))
        },
    }
}

fn render_check(dashboard: &Dashboard, file: &EditedFile, check: Option<&SourceCheck>) -> Markup {
    html! {
        @match check {
            None => {}
            Some(SourceCheck::Running) => { p.notice role="status" { "Checking with `cargo check`…" } }
            Some(SourceCheck::Failed(reason)) => { div.notice.t-bad { (render_output("Reason", reason)) } }
            Some(SourceCheck::Ended(findings)) if findings.is_empty() => { p.notice.t-good { "The compiler accepts the file." } }
            Some(SourceCheck::Ended(findings)) => {
                section.notice.t-bad aria-label="Compiler messages" {
                    ul { @for finding in findings { li {
                        @if finding.is_error { "error" } @else { "warning" }
                        @if let Some((line, _)) = finding.lines { ", " (render_line(dashboard, &file.path, line)) }
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
            section.notice.t-bad aria-label="Impossible changes" {
                p { "Nothing was written:" }
                ul { @for refused in &draft.refused {
                    li { a href={ "#" (draft.anchor(refused)) } { (draft.name(refused)) } ": " (draft.describe(refused)) }
                } }
            }
        }
    }
}

/// Renders the reasons why a change that no option has is refused.
fn render_refusals(draft: &Draft, id: &str, is_about: impl Fn(&Edit) -> bool) -> Markup {
    let refused = draft.refusals(is_about);
    let errors: Vec<String> = refused.iter().map(|one| draft.describe(one)).collect();
    render_errors(id, &errors)
}

fn render_description(
    number: usize,
    step: Option<&str>,
    description: &Description,
    draft: &Draft,
) -> Markup {
    let prefix = format!("p{number}");
    let Description { text, locked } = description;
    let shown = draft.description(step).unwrap_or(text);
    let is_about = |edit: &Edit| matches!(edit, Edit::Describe { step: other, .. } if other.as_deref() == step);
    html! {
        input type="hidden" name={ (prefix) ".step" } value=(step.unwrap_or_default());
        @if let Some(reason) = locked {
            p.sub { (text) " (" (reason) ")" }
        } @else {
            input type="hidden" name={ (prefix) ".doc.was" } value=(text);
            label.wide { "Description" textarea name={ (prefix) ".doc" } rows=(shown.lines().count().max(1)) { (shown) } }
            (render_refusals(draft, &format!("{prefix}-doc-error"), is_about))
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
                (render_option_fields(field, draft, findings))
            }
            @for (number, edit) in new { (render_new_option(&format!("o{number}"), edit, draft)) }
        }
    }
}

fn render_add(
    step: Option<&PartSource>,
    number: usize,
    present: &[OptionSource],
    draft: &Draft,
) -> Markup {
    let offered = addable_options(step, present, &draft.edits);
    let groups = offered.chunk_by(|one, other| one.place == other.place);
    let name = step.map(|step| &*step.name).unwrap_or_default();
    html! {
        p.line {
            label { span.unseen { "Option to add" }
                select name={ "key." (number) } {
                    @for group in groups {
                        optgroup label=(group[0].place.replace('`', "")) {
                            @for option in group { option value=(option.key) { (option.key) } }
                        }
                    }
                }
            }
            button.small name="add" value={ (name) " " (number) } { "Add the option" }
        }
    }
}

fn render_part(
    number: usize,
    part: &PartSource,
    place: &Markup,
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
        let is_own = finding.is_within(part.first_line, part.last_line);
        is_own && !on_option && !(finding.is_error && is_about_type(finding, part))
    };
    html! {
        fieldset.step id={ "step-" (part.name) } {
            legend { (title) " " strong { (part.name) } @if let Some(group) = &part.group { " in " (group) } " " (place) }
            @for finding in findings.iter().filter(is_own_error) { p.s-bad { (finding.text) } }
            @if is_step {
                (render_description(number, Some(&part.name), &part.description, draft))
                (render_options(fields, Some(&part.name), draft, findings))
                @if !part.has_body { (render_type(number, part, draft, findings)) }
                (render_add(Some(part), number, &part.options, draft))
            }
            @if part.has_body || !is_step {
                details { summary { "Written in Rust" @if part.is_async { ", async" } } (render_output(&part.name, &part.source)) }
            }
            @if is_step { (render_step_buttons(part, draft)) }
        }
    }
}

/// Returns true if the compiler speaks of the type of the answer of a declarative step.
fn is_about_type(finding: &Finding, part: &PartSource) -> bool {
    let is_signature = !part.has_body && finding.is_within(part.line, part.last_line);
    let returns = part.returns.as_deref().unwrap_or_default();
    let mut words = returns.split(|c: char| !c.is_alphanumeric() && c != '_');
    is_signature && words.any(|word| !word.is_empty() && finding.text.contains(word))
}

/// Renders the type of the answer, with what is wrong with it.
fn render_type(number: usize, part: &PartSource, draft: &Draft, findings: &[Finding]) -> Markup {
    let returns = part.returns.as_deref().unwrap_or_default();
    let id = format!("p{number}-returns-error");
    let is_about = |edit: &Edit| matches!(edit, Edit::Returns { step, .. } if *step == part.name);
    let refused = draft.refusals(is_about);
    let refused = refused.iter().map(|one| draft.describe(one));
    let found = findings
        .iter()
        .filter(|finding| finding.is_error && is_about_type(finding, part));
    let errors: Vec<String> = refused
        .chain(found.map(|finding| finding.text.clone()))
        .collect();
    let is_wrong = !errors.is_empty();
    html! {
        input type="hidden" name={ "p" (number) ".returns.was" } value=(returns);
        label.wide { "Response type"
            input placeholder="empty: ignore the body; Value: any JSON" name={ "p" (number) ".returns" } value=(draft.returns(&part.name).unwrap_or(returns)) autocomplete="off" spellcheck="false"
                aria-invalid=[is_wrong.then_some("true")] aria-describedby=[is_wrong.then_some(&id)];
        }
        (render_errors(&id, &errors))
    }
}

fn render_step_buttons(part: &PartSource, draft: &Draft) -> Markup {
    let name = &part.name;
    let is_about = |edit: &Edit| match edit {
        Edit::RemoveStep { step, .. }
        | Edit::DuplicateStep { step, .. }
        | Edit::MoveStep { step, .. }
        | Edit::RenameStep { step, .. } => step == name,
        _ => false,
    };
    let new_name = format!("name.{name}");
    let entered = draft.entered(&new_name);
    let shown = if entered.is_empty() { name } else { entered };
    html! {
        p.line {
            (render_move(name, part.up.as_ref(), "up", "↑"))
            (render_move(name, part.down.as_ref(), "down", "↓"))
            button.small name="duplicate" value=(name) { "Duplicate" }
            button.small.danger name="remove" value=(name) { "Remove" }
            label { span.unseen { "New name of " (name) } input name=(new_name) value=(shown) size="16" autocomplete="off" spellcheck="false"; }
            button.small name="rename" value=(name) { "Rename" }
        }
        (render_refusals(draft, &format!("step-{name}-error"), is_about))
        @if loses_comments(&draft.refusals(is_about)) { (render_confirmation("with_comments", name)) }
    }
}

/// Renders the button that moves a step past its neighbour, or why it cannot.
fn render_move(step: &str, way: Option<&StepMove>, direction: &str, sign: &str) -> Markup {
    html! {
        @if let Some(StepMove { before, refusal }) = way {
            @let title = refusal.clone().unwrap_or_else(|| format!("Move {step} {direction}"));
            button.small name="move" value={ (step) " " (before.as_deref().unwrap_or_default()) } data-move=(direction) title=(title)
                aria-label={ "Move " (step) " " (direction) } disabled[refusal.is_some()] { (sign) }
            @if let Some(refusal) = refusal { span.sub { (sign) " " (refusal) } }
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

fn render_new_step(parts: &[PartSource], draft: &Draft, is_locked: bool) -> Markup {
    let steps: Vec<_> = parts
        .iter()
        .filter(|part| part.role == Role::Step && part.group.is_none())
        .collect();
    let last = steps.last().map_or("", |part| &part.name);
    let entered = |name: &str| draft.entered(name);
    let after = Some(entered("new.after")).filter(|after| !after.is_empty());
    let after = after.unwrap_or(last);
    let is_about = |edit: &Edit| matches!(edit, Edit::AddStep { .. });
    html! {
        fieldset #new-step disabled[is_locked] {
            legend { "New step" }
            div.fields { div.field {
                label { "Function" input name="new.name" value=(entered("new.name")) placeholder="receipt" autocomplete="off" spellcheck="false"; }
                label { "Method" select name="new.method" { @for method in METHODS { option value=(method) selected[entered("new.method") == method] { (method.to_uppercase()) } } } }
                label { "URL" input name="new.url" value=(entered("new.url")) placeholder="/orders/{{buy.response.id}}" size="40" autocomplete="off" spellcheck="false" data-template; }
                label { "Insert after" select name="new.after" { @for part in &steps { option value=(part.name) selected[after == part.name] { (part.name) } } } }
                button.small name="act" value="add_step" { "Add the step" }
                (render_refusals(draft, "new-step-error", is_about))
            } }
        }
    }
}

/// Renders the values that a template can hold, for the script that puts one into a field.
fn render_values(values: &[StepValues], parts: &[PartSource], answers: &[AnswerType]) -> Markup {
    let returns = |step: &str| {
        let part = parts.iter().find(|part| part.name == step);
        part.and_then(|part| part.returns.as_deref())
    };
    html! {
        dialog #values aria-labelledby="values-title" {
            h2 #values-title { "Insert a value" }
            @if values.is_empty() { p { "Try the scenario once to see the values of its answers here." } }
            p data-none hidden { "No step above this one has an answer." }
            @for step in values {
                details open data-step=(step.step) {
                    summary { strong { (step.step) } " " span.sub { (step.status) } }
                    ul.menu {
                        @for one in &step.values {
                            @let missing = one.missing_field(returns(&step.step), answers);
                            @let untyped = returns(&step.step).is_none().then_some(&step.step);
                            @let field = missing.as_ref().and_then(|edit| serde_json::to_string(edit).ok());
                            li {
                                button.small type="button" data-insert=(one.template) data-field=[field] data-untyped=[untyped] { (one.template) }
                                " " span.sub { (one.value) @if let Some(Edit::AddField { answer, .. }) = &missing { ", a new field of " (answer) } }
                            }
                        }
                    }
                }
            }
            form method="dialog" { button { "Close" } }
        }
    }
}
