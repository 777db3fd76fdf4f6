//! A run under way: the line on every page, and the page of the run.

use super::dashboard::Dashboard;
use super::route::Route;
use super::runs::ShownRun;
use super::watch::{Watched, WatchedState};
use crate::course::{Course, LimitsSoFar, describe_phase};
use crate::export::html::sheet::{render_sections, render_tiles};
use crate::export::page::live::{
    build_sections, build_tiles, build_trials_so_far, describe_now, grade_so_far,
};
use maud::{Markup, html};
use std::time::Duration;

/// The parts of the page of a run that change.
pub(super) const HEAD: &str = "live-head";
pub(super) const FIGURES: &str = "live-figures";
pub(super) const LOG: &str = "live-log";

/// Renders the line of the run under way, with the runs that wait.
pub(super) fn render_bar(dashboard: &Dashboard) -> Markup {
    let own = dashboard.runs.current();
    let run = dashboard.run_under_way();
    let queued = dashboard.runs.queued();
    let now = run.as_deref().and_then(|run| describe_run(dashboard, run));
    html! {
        @if own.is_some() || run.is_some() {
            section.bar aria-label="Run in progress" {
                span.pulse aria-hidden="true" {}
                strong { (own.as_ref().map_or_else(|| "a run of another process".to_owned(), |own| own.title.clone())) }
                span { (now.unwrap_or_else(|| if run.is_some() { "begins" } else { "is built" }.to_owned())) }
                @if let Some(run) = &run { a.button href=(Route::Run(run.clone()).path()) { "Watch" } }
                @if let Some(own) = &own { (render_stop(own)) }
            }
        }
        @if !queued.is_empty() {
            section.bar aria-label="Queued runs" {
                @for one in &queued {
                    form.line method="post" action=(Route::Unqueue.path()) {
                        input type="hidden" name="number" value=(one.number);
                        span { "Queued: " (one.title) }
                        button.small { "Remove" }
                    }
                }
            }
        }
    }
}

fn describe_run(dashboard: &Dashboard, run: &str) -> Option<String> {
    let now = dashboard.watch(run, |watched| {
        watched.current().map(|course| {
            let elapsed = elapsed(course);
            format!("{} · {}", course.position(elapsed), describe_now(course))
        })
    });
    now.ok().flatten()
}

/// A second of the journal is the clock: it is the time of the load test, and not that of the reader.
fn elapsed(course: &Course) -> Duration {
    Duration::from_secs(u64::from(course.second()) + 1)
}

/// Renders the button that stops a run of this server, or the one that aborts it once it was asked to stop.
fn render_stop(own: &ShownRun) -> Markup {
    html! {
        @if own.stops == 0 {
            form.line method="post" action=(Route::StopRun.path()) { input type="hidden" name="number" value=(own.number); button.small data-key="." { "Stop" } }
        } @else {
            span { "stopping: waiting for requests in flight" }
            form.line method="post" action=(Route::AbortRun.path()) { input type="hidden" name="number" value=(own.number); button.small.danger { "Abort" } }
        }
    }
}

/// Renders the changing parts of the page of a run, with the figures of the scenario `chosen`, else of the newest;
/// `None` where the run is not under way any more.
pub(super) fn render_run(
    dashboard: &Dashboard,
    run: &str,
    chosen: Option<&str>,
) -> Option<Vec<(&'static str, Markup)>> {
    let folder = dashboard.store.find(run).ok()?;
    if !folder.is_under_way() {
        return None;
    }
    let render = |watched: &Watched| render_watched(watched, chosen);
    dashboard.watch(run, render).ok()
}

fn render_watched(watched: &Watched, chosen: Option<&str>) -> Vec<(&'static str, Markup)> {
    let course = watched.course(chosen);
    let head = html! {
        div id=(HEAD) {
            @if let Some(course) = course { (render_progress(course)) }
            @else if watched.search().is_some_and(|search| !search.trials.is_empty()) { p { "The next trial has not started: the target rests." } }
            @else { p { "The load has not started: the target is being set up or is not ready yet." } }
            @if watched.scenarios.len() > 1 { (render_scenarios(watched, chosen, course)) }
        }
    };
    let figures = html! {
        div id=(FIGURES) {
            @if let Some(trials) = watched.search().and_then(build_trials_so_far) {
                div.paper { (render_sections(&[trials], 2, "search")) }
            }
            @if let Some(course) = course { (render_figures(course)) }
        }
    };
    let log = html! {
        div id=(LOG) {
            @if !watched.log.is_empty() {
                section {
                    h2 { "Log" }
                    ul.log aria-label="Log" tabindex="0" { @for line in &watched.log { li { (line) } } }
                }
            }
        }
    };
    vec![(HEAD, head), (FIGURES, figures), (LOG, log)]
}

fn render_progress(course: &Course) -> Markup {
    let elapsed = elapsed(course);
    let limits = LimitsSoFar::of(course);
    let (position, phase) = (course.position(elapsed), describe_phase(course, elapsed));
    let trust = &course.validity;
    html! {
        p.progress {
            progress max="1000" value=((course.progress(elapsed) * 1000.0).round()) aria-label="Progress of the run" {}
            strong { (position) } " " (phase)
        }
        p.(if limits.broken.is_empty() { "sub" } else { "s-bad" }) { (limits.summary()) }
        p.(if trust.causes.is_empty() { "sub" } else { "s-fair" }) {
            "measurement " (trust.trust.name()) " so far"
            @for cause in &trust.causes { br; (cause.what) ": " (cause.remedy) }
        }
    }
}

/// Renders how far each scenario is, as links to its figures.
fn render_scenarios(watched: &Watched, chosen: Option<&str>, shown: Option<&Course>) -> Markup {
    let shown = shown.map(|course| course.record.start.definition.identity());
    let shown = chosen.or(shown.as_deref());
    let run = Route::Run(watched.run.clone()).path();
    let address = |identity: &str| {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        format!("{run}?{}", query.append_pair("scenario", identity).finish())
    };
    html! {
        nav aria-label="Scenarios of this run" { ul.phases {
            @for scenario in &watched.scenarios {
                @let state = match &scenario.state {
                    WatchedState::Waiting => "waits".to_owned(),
                    WatchedState::Running(course) => format!("{} · {}", course.position(elapsed(course)), describe_now(course)),
                    WatchedState::Ended(_) => "is over".to_owned(),
                    WatchedState::Failed(reason) => format!("did not run: {reason}"),
                };
                li {
                    a href=(address(&scenario.identity)) aria-current=[(shown == Some(&*scenario.identity)).then_some("true")] { (scenario.identity) }
                    " " span.sub { (state) }
                }
            }
            @if chosen.is_some() { li { a href=(run) { "the newest that runs" } } }
        } }
    }
}

fn render_figures(course: &Course) -> Markup {
    let card = grade_so_far(course);
    html! {
        div.paper {
            h2 { (card.name) }
            (render_tiles(&build_tiles(course, &card), ""))
            (render_sections(&build_sections(&card), 2, "live"))
        }
    }
}
