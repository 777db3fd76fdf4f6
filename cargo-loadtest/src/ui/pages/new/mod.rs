//! New tests: from requests, or an empty scenario.

mod import;
mod scenario;

use crate::policy::Action;
use crate::source::RefusedField;
use crate::ui::answer::Answer;
use crate::ui::dashboard::Dashboard;
use crate::ui::frame::{Content, Section, render_page};
use crate::ui::request::Fields;
use crate::ui::route::Route;
use crate::workspace::LoadTest;
use loadtest_console::error::Error;
use maud::{Markup, html};

pub(super) use import::{read, save};
pub(super) use scenario::{add, preview};

/// The longest text that is shown again where it cannot be read, in bytes.
const MOST_SHOWN: usize = 100_000;

/// What was entered and is refused.
struct Entered<'a> {
    /// The reason why pasted requests were not read.
    unread: Option<&'a str>,
    form: &'a Fields,
    refused: &'a [RefusedField],
}

/// Renders the page: the forms, and the import that was read last.
pub(super) fn render(dashboard: &Dashboard) -> Content {
    let entered = Entered {
        unread: None,
        form: &Fields::default(),
        refused: &[],
    };
    render_entered(dashboard, &entered)
}

/// Answers the page with what was entered.
fn show(dashboard: &Dashboard, entered: &Entered<'_>) -> Answer {
    Answer::page(render_page(
        dashboard,
        &render_entered(dashboard, entered),
        None,
    ))
}

fn render_entered(dashboard: &Dashboard, entered: &Entered<'_>) -> Content {
    let refusal = dashboard.refusal(Action::Edit);
    let find_tests = || dashboard.workspace().load_tests(&[]).unwrap_or_default();
    let mut tests = find_tests();
    if tests.is_empty() {
        dashboard.reload_workspace();
        tests = find_tests();
    }
    let draft = dashboard.import_draft();
    let pasted = entered.form.raw("text").unwrap_or_default();
    // A field that shows megabytes holds the tab up.
    let pasted = Some(pasted).filter(|text| text.len() <= MOST_SHOWN);
    let body = html! {
        h1 { "New test" }
        @if let Some(refusal) = &refusal { p.notice { "Nothing can be written here: " (refusal) } }
        @else if tests.is_empty() {
            p { "There is no load test in this workspace yet. " code { "cargo loadtest init" } " adds one with an example." }
        } @else {
            (import::render_form(pasted.unwrap_or_default(), entered.unread))
            @if let Some(draft) = &draft { (import::render_draft(dashboard, draft, &tests)) }
            (scenario::render_form(dashboard, &tests, entered))
        }
    };
    super::plain(Section::New, "New test", body)
}

fn render_places(dashboard: &Dashboard, tests: &[LoadTest], chosen: Option<&str>) -> Markup {
    html! {
        label { "In" select name="file" {
            @for test in tests {
                @let path = dashboard.shown_path(&test.path).to_string();
                option value=(path) selected[chosen == Some(&path)] { (path) }
            }
        } }
    }
}

/// Leads back to the page with what was refused.
pub(super) fn refuse(dashboard: &Dashboard, error: &Error) -> Answer {
    let help = error.help().map(|help| format!("\n→ {help}"));
    let text = format!("{error}{}", help.unwrap_or_default());
    Answer::SeeOther(dashboard.leave_notice(&Route::New.path(), false, text))
}

/// Finds the load test that a form names; a form names none by a path of its own.
fn find_load_test(dashboard: &Dashboard, form: &Fields) -> Result<LoadTest, Error> {
    let wanted = form.get("file").unwrap_or_default();
    let tests = dashboard.workspace().load_tests(&[])?;
    let found = tests
        .into_iter()
        .find(|test| dashboard.shown_path(&test.path).to_string() == wanted);
    found.ok_or_else(|| Error::usage(format!("`{wanted}` is not a load test of this workspace")))
}
