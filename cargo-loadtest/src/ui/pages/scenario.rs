//! One scenario: what it declares, its runs by version, and the buttons that run it.

use super::load::{EnteredLoad, render_load};
use super::scenarios::plan;
use super::text::{
    format_commit, format_share, format_time, render_grade, render_output, render_place,
    render_run_link, render_sparkline, render_time, render_verdict,
};
use crate::archive::{Entry, Row, ScenarioHistory, SettingHistory, VersionHistory};
use crate::commands::duplicate::find_source;
use crate::policy::Action;
use crate::ui::dashboard::Dashboard;
use crate::ui::editor::find_scenario;
use crate::ui::frame::{Content, Section};
use crate::ui::request::Fields;
use crate::ui::route::Route;
use loadtest_console::error::Error;
use loadtest_model::definition::ScenarioDef;
use loadtest_model::display;
use maud::{Markup, html};
use std::time::Duration;

/// The runs of a version that the page shows.
const SHOWN_RUNS: usize = 50;

/// Renders the page of a scenario.
pub(super) fn render(
    dashboard: &Dashboard,
    identity: &str,
    query: &Fields,
    entered: &EnteredLoad,
) -> Result<Content, Error> {
    let archive = dashboard.archive()?;
    let history = ScenarioHistory::from_entries(identity, &archive.entries);
    let definition = dashboard.definition(identity);
    if history.versions.is_empty() && definition.is_none() {
        // Before the load tests are built, its source is enough.
        find_scenario(dashboard, identity).map_err(|_| {
            Error::nothing_found(format!("`{identity}` has no run, and no source holds it"))
                .with_help("the page of all scenarios lists the existing ones")
        })?;
    }
    let name = definition.as_ref().map_or_else(
        || identity.to_owned(),
        |definition| definition.name.to_string(),
    );
    let refusal = dashboard.refusal(Action::Run);
    let plan = query
        .get("plan")
        .map(|_| plan(dashboard, identity))
        .transpose()?;
    let body = html! {
        h1 { (name) }
        p.sub { (identity) @if let Some(definition) = &definition { " · " (render_definition_place(dashboard, definition)) } }
        @if let Some(definition) = &definition { (render_definition(definition)) }
        section {
            h2 { "Run it" }
            @match &refusal {
                Some(refusal) => { p.sub { "Running is not possible: " (refusal) } }
                None => {
                    form method="post" action=(Route::StartRun.path()) {
                        input type="hidden" name="only" value=(identity);
                        input type="hidden" name="page" value="scenario";
                        (render_load(dashboard, entered, false))
                    }
                }
            }
            p {
                a.button href=(Route::Edit(identity.to_owned()).path()) data-key="e" { "Edit" } " "
                a.button href=(Route::Try(identity.to_owned()).path()) data-key="t" { "Try one journey" } " "
                a.button href="?plan=1#plan" { "Preview a run" }
            }
            @if dashboard.refusal(Action::Duplicate).is_none() {
                form.line method="post" action=(Route::Duplicate.path()) {
                    input type="hidden" name="scenario" value=(identity);
                    label { "Duplicate as " input name="name" required autocomplete="off" spellcheck="false" placeholder="visit_2"; }
                    button.small { "Duplicate" }
                    span.sub { "The copy is a separate scenario in the same file. Earlier runs stay with the original." }
                }
            }
            @if let Some(plan) = plan { div #plan { (render_output("Preview of a run", &plan)) } }
        }
        section {
            h2 { "Runs by version" }
            @if history.versions.is_empty() { p { "It has not run yet." } }
            form method="get" action=(Route::Compare.path()) {
                @for version in &history.versions { (render_version(version)) }
                @if history.versions.iter().map(|version| version.count).sum::<usize>() > 1 {
                    button data-key="c" { "Compare selected runs" }
                }
            }
        }
    };
    Ok(Content {
        title: name,
        section: Section::Scenarios,
        stream: String::new(),
        body,
    })
}

/// Renders where a scenario is declared.
fn render_definition_place(dashboard: &Dashboard, definition: &ScenarioDef) -> Markup {
    find_source(definition, &dashboard.workspace()).map_or_else(
        |_| html! { code { (definition.file) ":" (definition.line) } },
        |path| render_place(dashboard, &path, definition.line as usize),
    )
}

fn render_definition(definition: &ScenarioDef) -> Markup {
    html! {
        @if !definition.description.is_empty() { p.about { (definition.description) } }
        @if !definition.tags.is_empty() { ul.tags aria-label="Tags" { @for tag in definition.tags.iter() { li { (tag) } } } }
        dl.facts {
            @if let Some(load) = &definition.load { div { dt { "Load" } dd { (display::format_load(load)) } } }
            @if let Some(base) = &definition.base { div { dt { "Base URL" } dd { (base) } } }
            @for threshold in definition.thresholds.iter() { div { dt { "Must hold" } dd { (display::format_declared_threshold(threshold)) } } }
        }
        div.scroll role="region" aria-label="Steps" tabindex="0" {
            table.list {
                thead { tr { th scope="col" { "Step" } th scope="col" { "Request" } th scope="col" { "Weight" } th scope="col" { "Expected" } th scope="col" { "Line" } } }
                tbody {
                    @for step in definition.steps.iter() {
                        tr {
                            th scope="row" { (step.name) }
                            td {
                                @match (&step.method, &step.url) {
                                    (Some(method), Some(url)) => code { (method) " " (url) },
                                    _ => span.sub { "written in Rust" },
                                }
                            }
                            td.n { (display::format_whole_percent(step.weight)) }
                            td { (step.expect.to_string()) }
                            td.n { (step.line) }
                        }
                    }
                }
            }
        }
    }
}

fn render_version(version: &VersionHistory<'_>) -> Markup {
    let runs = display::format_counted(version.count as u64, "run");
    html! {
        section {
            h3 {
                @match version.version {
                    Some(known) => {
                        "Version " code { (known.short()) }
                        @if let Some(words) = &known.words { " “" (words) "”" }
                    }
                    None => "Unknown version"
                }
                " " span.sub { (runs) ", " (render_time(version.first_seen)) " to " (render_time(version.last_seen)) }
            }
            @for setting in &version.settings { (render_setting(setting)) }
        }
    }
}

fn render_setting(setting: &SettingHistory<'_>) -> Markup {
    let mut times: Vec<Duration> = setting
        .rows
        .iter()
        .filter_map(|row| row.entry.sound_p95())
        .collect();
    times.reverse();
    html! {
        @if let Some(known) = setting.setting {
            p { (known.load) @if let Some(target) = &known.target { ", " (target) } " " (render_sparkline(&times)) }
        }
        div.scroll role="region" aria-label="Runs" tabindex="0" {
            table.list {
                thead { tr {
                    th scope="col" { span.unseen { "Compare" } }
                    @for title in ["Run", "When", "Commit", "Grade", "p95", "Errors", "Trend", "Verdict"] { th scope="col" { (title) } }
                } }
                tbody { @for row in setting.rows.iter().take(SHOWN_RUNS) { (render_row(row)) } }
            }
        }
        @if setting.rows.len() > SHOWN_RUNS {
            p.sub { (display::format_counted((setting.rows.len() - SHOWN_RUNS) as u64, "older run")) " not shown; the page of runs lists all" }
        }
    }
}

fn render_row(row: &Row<'_>) -> Markup {
    let entry = row.entry;
    let figures = entry.figures();
    html! {
        tr {
            td { (render_choice(entry)) }
            th scope="row" { (render_run_link(&entry.run)) }
            td { (render_time(&entry.started_at)) }
            td { code { (format_commit(entry)) } }
            td { (render_grade(entry)) }
            td.n { (format_time(figures.and_then(|figures| figures.p95))) }
            td.n { (format_share(figures.and_then(|figures| figures.error_rate))) }
            td.n { @if let Some(trend) = row.trend { (format!("{:+.1} %", trend.change * 100.0)) } }
            td { (render_verdict(entry)) @if let Some(reason) = entry.reason() { br; span.sub { (reason) } } }
        }
    }
}

/// Renders the box that chooses a run for a comparison.
pub(super) fn render_choice(entry: &Entry) -> Markup {
    html! { input type="checkbox" name="run" value=(entry.run) aria-label={ "Compare " (entry.run) }; }
}
