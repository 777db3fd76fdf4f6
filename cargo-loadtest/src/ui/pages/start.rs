//! The page of a run that is being built or waits.

use super::text::render_output;
use crate::ui::answer::Answer;
use crate::ui::dashboard::Dashboard;
use crate::ui::frame::{Content, Section};
use crate::ui::notices;
use crate::ui::request::Fields;
use crate::ui::route::Route;
use maud::{Markup, html};

/// The part of the page that changes.
pub(in crate::ui) const PROGRESS: &str = "progress";

/// How far a run is that a page started.
pub(in crate::ui) enum Progress {
    /// It has a folder, whose name this is: its own page shows it.
    Begun(String),
    Waiting(Markup),
}

/// Answers the page of a run without a folder yet; once it has one, leads to its own page.
pub(super) fn answer(dashboard: &Dashboard, query: &Fields) -> Answer {
    let number: u64 = query.parsed("number").unwrap_or_default();
    let progress = match render_progress(dashboard, number) {
        Progress::Begun(run) => {
            let page = Route::Run(run).path();
            let notice = query.get(notices::FIELD);
            return Answer::SeeOther(
                notice.map_or(page.clone(), |name| notices::address_with(&page, name)),
            );
        }
        Progress::Waiting(markup) => markup,
    };
    let content = Content {
        title: "Run".to_owned(),
        section: Section::Runs,
        stream: format!("start={number}"),
        body: html! { h1 { "Run" } (progress) noscript { p { a href="" { "Look again" } } } },
    };
    super::show(dashboard, query, &content)
}

/// Renders what is known of the run with this number.
pub(in crate::ui) fn render_progress(dashboard: &Dashboard, number: u64) -> Progress {
    let runs = &dashboard.runs;
    let current = runs.current().filter(|current| current.number == number);
    let last = runs
        .ended()
        .into_iter()
        .find(|ended| ended.number == number);
    let run = current.as_ref().and_then(|current| current.run.clone());
    if let Some(run) = run.or_else(|| last.as_ref()?.run.clone()) {
        return Progress::Begun(run);
    }
    let (state, output) = match (current, last) {
        (Some(current), _) => (
            "Building and starting the load test.".to_owned(),
            current.output,
        ),
        (None, Some(last)) => {
            let end = last.exit_code.map_or_else(String::new, |code| {
                format!(": it ended with exit code {code}")
            });
            (format!("{} did not run{end}.", last.title), last.output)
        }
        (None, None) if runs.queued().iter().any(|queued| queued.number == number) => (
            "It starts when the current run ends.".to_owned(),
            Vec::new(),
        ),
        (None, None) => ("There is no such run.".to_owned(), Vec::new()),
    };
    Progress::Waiting(html! {
        div id=(PROGRESS) {
            p { (state) }
            @if !output.is_empty() { (render_output("Output", &output.join("\n"))) }
        }
    })
}
