//! All runs, the newest first.

use super::removal::render_removal;
use super::scenario::render_choice;
use super::text::{
    format_commit, format_share, format_time, render_grade, render_run_link, render_time,
    render_verdict,
};
use crate::archive::Entry;
use crate::policy::Action;
use crate::ui::dashboard::Dashboard;
use crate::ui::frame::{Content, Section};
use crate::ui::request::Fields;
use crate::ui::route::Route;
use loadtest_console::error::Error;
use loadtest_model::display;
use maud::{Markup, html};

/// The runs of a page.
const PAGE: usize = 50;
/// The verdicts to choose from.
const VERDICTS: [&str; 6] = [
    "PASSED",
    "FAILED",
    "INVALID",
    "INTERRUPTED",
    "DID NOT RUN",
    "IN PROGRESS",
];

/// Renders the page; `query` may hold filters and the number of a page, from 1.
pub(super) fn render(dashboard: &Dashboard, query: &Fields) -> Result<Content, Error> {
    let archive = dashboard.archive()?;
    let scenario = query.get("scenario");
    let verdict = query.get("verdict");
    let words: Vec<String> = query
        .get("text")
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_lowercase)
        .collect();
    let matches = |entry: &&Entry| {
        let text = || describe_entry(entry).to_lowercase();
        (words.is_empty() || words.iter().all(|word| text().contains(word)))
            && scenario.is_none_or(|scenario| entry.scenario == scenario)
            && verdict.is_none_or(|verdict| entry.verdict() == verdict)
    };
    let mut runs: Vec<Vec<&Entry>> = Vec::new();
    for entry in archive.entries.iter().filter(matches) {
        match runs.last_mut() {
            Some(run) if run[0].run == entry.run => run.push(entry),
            _ => runs.push(vec![entry]),
        }
    }
    let pages = runs.len().div_ceil(PAGE).max(1);
    let page = query.parsed("page").unwrap_or(1).clamp(1, pages);
    let shown = runs.iter().skip((page - 1) * PAGE).take(PAGE);
    let can_remove = dashboard.refusal(Action::Run).is_none();
    let body = html! {
        h1 { "Runs " span.sub { (display::format_count(runs.len() as u64)) } }
        @if archive.entries.is_empty() && archive.unreadable.is_empty() {
            p { "Nothing has run yet. " a href="/" { "Select a scenario" } ", or use " code { "cargo loadtest run" } "." }
        } @else {
            (render_filter(&archive.scenarios(), query))
            @if runs.is_empty() && !archive.entries.is_empty() { p { "No run matches. " a href=(Route::Runs.path()) { "Show all runs" } } }
            @else { form method="get" action=(Route::Compare.path()) {
                div.scroll role="region" aria-label="Runs" tabindex="0" {
                    table.list {
                        thead { tr {
                            th scope="col" { span.unseen { "Compare" } }
                            @for title in ["Run", "When", "Scenario", "Verdict", "Grade", "p95", "Errors", "Commit"] { th scope="col" { (title) } }
                        } }
                        @for run in shown { tbody { @for (at, entry) in run.iter().enumerate() { (render_row(entry, at == 0)) } } }
                    }
                }
                p.line {
                    button data-key="c" { "Compare selected runs" }
                    @if can_remove { button.danger formmethod="post" formaction=(Route::RemoveRuns.path()) { "Delete selected runs" } }
                }
            } }
            (render_pages(query, page, pages))
        }
        @if !archive.unreadable.is_empty() {
            section {
                h2 { "Nothing is known of" }
                dl.facts { @for run in &archive.unreadable { div { dt { (run.run) } dd { (run.reason) @if can_remove { " " (render_removal(&run.run)) } } } } }
            }
        }
    };
    Ok(Content {
        title: "Runs".to_owned(),
        section: Section::Runs,
        stream: String::new(),
        body,
    })
}

/// The text that a filter looks in.
fn describe_entry(entry: &Entry) -> String {
    let commit = entry.commit.as_deref().unwrap_or_default();
    let (verdict, reason) = (entry.verdict(), entry.reason().unwrap_or_default());
    let Entry { run, scenario, .. } = entry;
    format!("{run} {scenario} {verdict} {reason} {commit}")
}

fn render_filter(scenarios: &[String], query: &Fields) -> Markup {
    let (scenario, verdict) = (query.get("scenario"), query.get("verdict"));
    html! {
        form.filter method="get" action=(Route::Runs.path()) role="search" {
            label { "Text"
                input name="text" type="search" value=[query.get("text")] placeholder="run, scenario, reason, commit" data-search;
            }
            label { "Scenario"
                select name="scenario" {
                    option value="" { "all" }
                    @for name in scenarios { option value=(name) selected[scenario == Some(name)] { (name) } }
                }
            }
            label { "Verdict"
                select name="verdict" {
                    option value="" { "all" }
                    @for name in VERDICTS { option value=(name) selected[verdict == Some(name)] { (name.to_lowercase()) } }
                }
            }
            button.small { "Show" }
        }
    }
}

fn render_row(entry: &Entry, is_first: bool) -> Markup {
    let figures = entry.figures();
    html! {
        tr.inner[!is_first] {
            td { @if is_first { (render_choice(entry)) } }
            th scope="row" { @if is_first { (render_run_link(&entry.run)) } @else { span.unseen { (entry.run) } } }
            td { @if is_first { (render_time(&entry.started_at)) } }
            td { a href=(Route::Scenario(entry.scenario.clone()).path()) { (entry.scenario) } }
            td { (render_verdict(entry)) @if let Some(reason) = entry.reason() { br; span.sub { (reason) } } }
            td { (render_grade(entry)) }
            td.n { (format_time(figures.and_then(|figures| figures.p95))) }
            td.n { (format_share(figures.and_then(|figures| figures.error_rate))) }
            td { code { (format_commit(entry)) } }
        }
    }
}

fn render_pages(query: &Fields, page: usize, pages: usize) -> Markup {
    let link = |page: usize| {
        let mut text = url::form_urlencoded::Serializer::new(String::new());
        for name in ["text", "scenario", "verdict"] {
            if let Some(value) = query.get(name) {
                text.append_pair(name, value);
            }
        }
        text.append_pair("page", &page.to_string());
        format!("{}?{}", Route::Runs.path(), text.finish())
    };
    html! {
        @if pages > 1 {
            nav.pages aria-label="Pages of runs" {
                @if page > 1 { a href=(link(page - 1)) rel="prev" { "Newer" } }
                span { "page " (page) " of " (pages) }
                @if page < pages { a href=(link(page + 1)) rel="next" { "Older" } }
            }
        }
    }
}
