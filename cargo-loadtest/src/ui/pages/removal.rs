//! Runs that are deleted: first shown with what goes, then gone.

use super::text::render_run_link;
use crate::baselines::Baselines;
use crate::store::RunFolder;
use crate::ui::answer::Answer;
use crate::ui::dashboard::Dashboard;
use crate::ui::frame::Section;
use crate::ui::request::Fields;
use crate::ui::route::Route;
use loadtest_console::error::Error;
use loadtest_model::display;
use maud::{Markup, html};

/// Shows what would be deleted, or deletes it once that is confirmed.
///
/// # Errors
/// When a run is not there.
pub(super) fn remove(dashboard: &Dashboard, form: &Fields) -> Result<Answer, Error> {
    let runs: Vec<&str> = form.all("run").collect();
    let page = Route::Runs.path();
    if runs.is_empty() {
        let page = dashboard.leave_notice(&page, false, "select the runs to delete");
        return Ok(Answer::SeeOther(page));
    }
    if form.get("confirmed").is_none() {
        return confirm(dashboard, &runs);
    }
    let (mut removed, mut failed) = (Vec::new(), Vec::new());
    for run in runs {
        let found = find_run(dashboard, run);
        match found.and_then(|folder| dashboard.store.remove(&folder)) {
            Ok(()) => removed.push(run),
            Err(error) => failed.push(error.to_string()),
        }
    }
    if !removed.is_empty() {
        failed.insert(0, format!("deleted {}", removed.join(", ")));
    }
    let is_good = failed.len() == usize::from(!removed.is_empty());
    let page = dashboard.leave_notice(&page, is_good, failed.join("\n"));
    Ok(Answer::SeeOther(page))
}

/// Finds a run by its whole name.
fn find_run(dashboard: &Dashboard, run: &str) -> Result<RunFolder, Error> {
    let folder = dashboard.store.find(run)?;
    if folder.identifier() == run {
        return Ok(folder);
    }
    Err(Error::nothing_found(format!("there is no run `{run}`")))
}

/// Renders the button that asks for the removal of a run.
pub(super) fn render_removal(run: &str) -> Markup {
    html! {
        form.line method="post" action=(Route::RemoveRuns.path()) {
            input type="hidden" name="run" value=(run);
            button.small.danger { "Delete" }
        }
    }
}

fn confirm(dashboard: &Dashboard, runs: &[&str]) -> Result<Answer, Error> {
    let archive = dashboard.archive()?;
    let scenarios = |run: &str| {
        let own = archive.entries.iter().filter(|entry| entry.run == run);
        own.map(|entry| entry.scenario.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    for run in runs {
        find_run(dashboard, run)?;
    }
    let kept = runs_of_baselines(dashboard);
    let kept = kept.iter().filter(|(_, run)| runs.contains(&run.as_str()));
    let count = display::format_counted(runs.len() as u64, "run");
    let body = html! {
        h1 { "Delete " (count) "?" }
        p { "Their records, reports and requests are deleted too, and cannot be restored." }
        ul { @for run in runs { li { (render_run_link(run)) " " span.sub { (scenarios(run)) } } } }
        @for (baseline, run) in kept { p.notice { "The baseline " (baseline) " keeps its own copy of " (run) "." } }
        form.line method="post" action=(Route::RemoveRuns.path()) {
            @for run in runs { input type="hidden" name="run" value=(run); }
            input type="hidden" name="confirmed" value="yes";
            button.danger { "Delete" }
            a.button href=(Route::Runs.path()) { "Keep" }
        }
    };
    let content = super::plain(Section::Runs, "Delete runs", body);
    Ok(super::show(dashboard, &Fields::default(), &content))
}

/// The runs in baselines, by the names of these. What cannot be read is told on its page.
fn runs_of_baselines(dashboard: &Dashboard) -> Vec<(String, String)> {
    let Ok(config) = dashboard.config() else {
        return Vec::new();
    };
    let baselines = Baselines::from_config(&config);
    let names = baselines.names().unwrap_or_default().into_iter();
    let runs = names.flat_map(|name| {
        let contents = baselines
            .open(&name)
            .and_then(|baseline| baseline.contents());
        let runs = contents.map(|contents| contents.scenarios);
        let runs = runs.unwrap_or_default().into_iter().flatten();
        let runs: Vec<String> = runs.map(|run| run.record.run_id).collect();
        runs.into_iter().map(move |run| (name.clone(), run))
    });
    let mut runs: Vec<_> = runs.collect();
    runs.dedup();
    runs
}
