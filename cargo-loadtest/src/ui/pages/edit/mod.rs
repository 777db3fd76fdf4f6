//! The form of a scenario: its steps and options as the source has them, what a change comes to, and the messages of
//! the compiler.

mod draft;
mod fields;
mod form;
#[cfg(test)]
mod tests;

use crate::source::{
    Diff, Edit, EditRefusal, LineKind, NewStep, OptionValue, RefusedEdit, apply_checked_edits,
    replace_source,
};
use crate::ui::answer::Answer;
use crate::ui::dashboard::{Dashboard, LastEdit};
use crate::ui::editor::{
    EditedFile, SourceCheck, add_option_edit, addable_options, collect_edits, find_scenario,
    text_version,
};
use crate::ui::frame::{Content, Section, render_page};
use crate::ui::request::Fields;
use crate::ui::route::Route;
pub(in crate::ui) use draft::Draft;
#[cfg(test)]
pub(in crate::ui) use fields::render_option_fields;
use form::render_form;
use http::StatusCode;
use loadtest_console::error::Error;
use maud::{Markup, html};
use std::path::Path;
use std::sync::Arc;

/// Renders the form of a scenario as its file is now.
///
/// # Errors
/// When it has no file that can be edited here.
pub(super) fn render(dashboard: &Arc<Dashboard>, identity: &str) -> Result<Content, Error> {
    let file = find_scenario(dashboard, identity)?;
    Ok(render_form(dashboard, identity, &file, &Draft::default()))
}

/// Returns a number that grows with each change of the check of the scenario's file.
pub(in crate::ui) fn check_version(dashboard: &Dashboard, identity: &str) -> u64 {
    let file = find_scenario(dashboard, identity);
    file.map_or(0, |file| dashboard.checks.version(&file.path))
}

/// Answers the difference that the sent form would make, or the form again with what is in its way.
///
/// # Errors
/// When the scenario has no file that can be edited here.
pub(super) fn preview(dashboard: &Arc<Dashboard>, form: &Fields) -> Result<Answer, Error> {
    let identity = form.get("scenario").unwrap_or_default();
    let file = match find_scenario(dashboard, identity) {
        Ok(file) => file,
        Err(error) => return Ok(keep_form(dashboard, form, &error)),
    };
    let show_again = |edits, refused| {
        let form = form.clone();
        let draft = Draft {
            edits,
            refused,
            form,
        };
        show(dashboard, &render_form(dashboard, identity, &file, &draft))
    };
    let mut edits = collect_edits(form);
    if form.get("act") == Some("back") {
        return Ok(show_again(edits, Vec::new()));
    }
    let add = form.get("add").map(str::to_owned);
    if let Some((step, key)) = add.as_deref().and_then(|add| add.split_once(' ')) {
        let step = Some(step).filter(|step| !step.is_empty());
        let key = form.raw(&format!("key.{key}")).unwrap_or_default();
        let part = step.and_then(|step| file.scenario.parts.iter().find(|part| part.name == step));
        let present = part.map_or(&file.scenario.options, |part| &part.options);
        let offered = addable_options(part, present, &edits);
        if let Some(option) = offered.into_iter().find(|option| option.key == key) {
            let edit = add_option_edit(step, option, present, &edits);
            edits.push(edit);
        }
        return Ok(show_again(edits, Vec::new()));
    }
    let new_step = collect_new_step(form);
    if let Some(Edit::AddStep { step, .. }) = &new_step
        && step.name.is_empty()
    {
        let refused = RefusedEdit {
            edit: edits.len(),
            reason: EditRefusal::Refused("the new step has no name".to_owned()),
        };
        edits.extend(new_step);
        return Ok(show_again(edits, vec![refused]));
    }
    edits.extend(new_step);
    let action = collect_action(form, &file);
    // Other changes have the names that the page had.
    let renames = collect_renames(form, action.as_ref());
    edits.extend(action);
    edits.extend(renames);
    if edits.is_empty() {
        let page = Route::Edit(identity.to_owned()).path();
        let address = dashboard.leave_notice(&page, true, "nothing is changed");
        return Ok(Answer::SeeOther(address));
    }
    Ok(
        match apply_checked_edits(&file.text, &file.scenario.path, &edits) {
            Err(refused) => show_again(edits, refused),
            Ok(edited) => {
                let diff = Diff::new(&file.text, &edited.splices);
                let content = render_changes(identity, &file, &edits, &diff, (form, false))?;
                show(dashboard, &content)
            }
        },
    )
}

/// Renders the difference that the edits of an `entered` form make. If `is_stale`, it was another one when Save was pressed.
fn render_changes(
    identity: &str,
    file: &EditedFile,
    edits: &[Edit],
    diff: &Diff,
    (entered, is_stale): (&Fields, bool),
) -> Result<Content, Error> {
    let json = serde_json::to_string(edits).map_err(Error::encode("the changes"))?;
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    let form = form.extend_pairs(entered.pairs()).finish();
    Ok(Content {
        title: "Changes".to_owned(),
        section: Section::Scenarios,
        stream: String::new(),
        body: html! {
            h1 { "Changes of " code { (file.shown) } }
            @if is_stale { (render_stale()) }
            (render_diff(diff))
            form.line method="post" action=(Route::SaveEdit.path()) {
                input type="hidden" name="scenario" value=(identity);
                input type="hidden" name="edits" value=(json);
                input type="hidden" name="version" value=(text_version(&file.text));
                input type="hidden" name="form" value=(form);
                button.primary data-key="Ctrl s" { "Save" }
            }
            (render_way_back(entered, "Back to the form"))
            a.button href=(Route::Edit(identity.to_owned()).path()) { "Discard" }
            p.sub { "Saving writes exactly this change and nothing else. The compiler then checks the file." }
        },
    })
}

/// Renders why a difference that was shown is not saved.
pub(super) fn render_stale() -> Markup {
    html! { p.notice.t-bad { "The file changed; nothing was saved. Save would now write this:" } }
}

/// The buttons of the form, each of which asks for a change.
const BUTTONS: [&str; 6] = ["act", "add", "duplicate", "move", "remove", "rename"];

/// Renders a button that leads back to the form with all that was entered.
fn render_way_back(form: &Fields, label: &str) -> Markup {
    let fields = form.pairs().iter();
    let fields = fields.filter(|(name, _)| !BUTTONS.contains(&name.as_str()));
    html! {
        form.line method="post" action=(Route::PreviewEdit.path()) {
            @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
            button name="act" value="back" { (label) }
        }
    }
}

/// Answers why the file cannot be changed, and keeps what was entered.
fn keep_form(dashboard: &Dashboard, form: &Fields, error: &Error) -> Answer {
    let content = Content {
        title: "Changes".to_owned(),
        section: Section::Scenarios,
        stream: String::new(),
        body: html! {
            h1 { "Changes" }
            div.notice.t-bad {
                p { "Nothing was written: " (error) }
                @if let Some(help) = error.help() { p { "→ " (help) } }
            }
            p { "Your input is kept here until the scenario is back in its file." }
            (render_way_back(form, "Try again"))
        },
    };
    let status = StatusCode::BAD_REQUEST;
    Answer::Page(status, render_page(dashboard, &content, None))
}

/// Returns the new step, if something of it was entered.
fn collect_new_step(form: &Fields) -> Option<Edit> {
    let name = form.get("new.name").unwrap_or_default();
    let url = form.get("new.url").unwrap_or_default();
    if name.is_empty() && url.is_empty() && form.get("act") != Some("add_step") {
        return None;
    }
    let request = OptionValue::Request {
        method: form.get("new.method").unwrap_or("get").to_owned(),
        url: url.to_owned(),
    };
    Some(Edit::AddStep {
        after: form.get("new.after").map(str::to_owned),
        step: NewStep {
            name: name.to_owned(),
            options: vec![("request".to_owned(), request)],
            returns: None,
        },
    })
}

/// Returns the new names of steps, but for that of a step that goes.
fn collect_renames(form: &Fields, action: Option<&Edit>) -> Vec<Edit> {
    let names = form.pairs().iter().filter_map(|(field, to)| {
        let step = field.strip_prefix("name.")?;
        let is_gone = matches!(action, Some(Edit::RemoveStep { step: gone, .. }) if gone == step);
        (to.trim() != step && !is_gone).then(|| Edit::RenameStep {
            step: step.to_owned(),
            to: to.trim().to_owned(),
        })
    });
    names.collect()
}

/// Returns the change that a button of the form asks for, besides those of its fields.
fn collect_action(form: &Fields, file: &EditedFile) -> Option<Edit> {
    let source = |name: &str| {
        let part = file.scenario.parts.iter().find(|part| part.name == name);
        part.map(|part| part.source.clone()).unwrap_or_default()
    };
    if let Some(step) = form.get("remove") {
        return Some(Edit::RemoveStep {
            step: step.to_owned(),
            was: source(step),
            with_comments: form.all("with_comments").any(|confirmed| confirmed == step),
        });
    }
    if let Some(step) = form.get("duplicate") {
        let name = free_name(file, step);
        return Some(Edit::DuplicateStep {
            step: step.to_owned(),
            name,
        });
    }
    if let Some(words) = form.get("move") {
        let (step, before) = words.split_once(' ').unwrap_or((words, ""));
        return Some(Edit::MoveStep {
            step: step.to_owned(),
            before: Some(before.to_owned()).filter(|before| !before.is_empty()),
        });
    }
    None
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

/// Writes the changes that a preview showed. If the file changed since, shows what they would do to it now.
///
/// # Errors
/// When the file cannot be read or written, or the form is none of ours.
pub(super) fn save(dashboard: &Arc<Dashboard>, form: &Fields) -> Result<Answer, Error> {
    let identity = form.get("scenario").unwrap_or_default();
    let entered = Fields::parse(form.raw("form").unwrap_or_default().as_bytes());
    let file = match find_scenario(dashboard, identity) {
        Ok(file) => file,
        Err(error) => return Ok(keep_form(dashboard, &entered, &error)),
    };
    let edits = form.raw("edits").unwrap_or_default();
    let edits: Vec<Edit> = serde_json::from_str(edits)
        .map_err(|error| Error::usage(format!("the changes cannot be read: {error}")))?;
    let edited = match apply_checked_edits(&file.text, &file.scenario.path, &edits) {
        Ok(edited) => edited,
        Err(refused) => {
            let draft = Draft {
                edits,
                refused,
                form: entered,
            };
            let page = render_form(dashboard, identity, &file, &draft);
            return Ok(show(dashboard, &page));
        }
    };
    let diff = Diff::new(&file.text, &edited.splices);
    if form.get("version") != Some(&text_version(&file.text)) {
        let content = render_changes(identity, &file, &edits, &diff, (&entered, true))?;
        let page = render_page(dashboard, &content, None);
        return Ok(Answer::Page(StatusCode::CONFLICT, page));
    }
    replace_source(&file.path, &file.text, &edited.text)?;
    let count = |kind| {
        diff.hunks
            .iter()
            .flat_map(|hunk| &hunk.lines)
            .filter(|line| line.kind == kind)
            .count()
    };
    let (added, removed) = (count(LineKind::Added), count(LineKind::Removed));
    dashboard.set_last_edit(Some(LastEdit {
        path: file.path.clone(),
        before: file.text.clone(),
        after: edited.text,
    }));
    let done = format!("saved {}: +{added} −{removed}", file.shown);
    let next = check_written(dashboard, identity, &file.path, done);
    Ok(Answer::SeeOther(next))
}

/// Checks a file that was just written, unless the compiler would disturb a run. Returns the page to go to.
pub(super) fn check_written(
    dashboard: &Arc<Dashboard>,
    identity: &str,
    path: &Path,
    done: String,
) -> String {
    let text = if dashboard.run_under_way().is_some() {
        format!("{done}; a run is in progress, so press “Check” to check it")
    } else {
        start_check(dashboard, identity, path);
        done
    };
    let page = Route::Edit(identity.to_owned()).path();
    dashboard.leave_notice(&page, true, text)
}

fn start_check(dashboard: &Arc<Dashboard>, identity: &str, path: &Path) {
    let package = identity.split("::").next().unwrap_or_default();
    dashboard.checks.start(dashboard, path, package);
}

/// Takes the last change back, if it is the one that the page showed; returns the page to go to.
///
/// # Errors
/// When the file changed since, or the caller may not edit.
pub(super) fn undo(
    dashboard: &Arc<Dashboard>,
    identity: &str,
    version: Option<&str>,
) -> Result<String, Error> {
    let page = Route::Edit(identity.to_owned()).path();
    if let Some(edit) = dashboard.last_edit() {
        if version != Some(&text_version(&edit.after)) {
            let text = "the file changed; nothing was taken back";
            return Ok(dashboard.leave_notice(&page, false, text));
        }
        replace_source(&edit.path, &edit.after, &edit.before)?;
        dashboard.set_last_edit(None);
        let done = format!("Restored {}", dashboard.shown_path(&edit.path));
        let file = find_scenario(dashboard, identity)?;
        return Ok(check_written(dashboard, identity, &file.path, done));
    }
    Ok(page)
}

/// Checks the file of a scenario; returns the page to go to.
///
/// # Errors
/// When it has none that can be edited here.
pub(super) fn check(dashboard: &Arc<Dashboard>, identity: &str) -> Result<String, Error> {
    let path = find_scenario(dashboard, identity)?.path;
    if dashboard.checks.get(&path) != Some(SourceCheck::Running) {
        start_check(dashboard, identity, &path);
    }
    Ok(Route::Edit(identity.to_owned()).path())
}

fn show(dashboard: &Dashboard, content: &Content) -> Answer {
    Answer::page(render_page(dashboard, content, None))
}

pub(super) fn render_diff(diff: &Diff) -> Markup {
    html! {
        @for hunk in &diff.hunks {
            pre.diff role="group" aria-label="Difference" tabindex="0" {
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
