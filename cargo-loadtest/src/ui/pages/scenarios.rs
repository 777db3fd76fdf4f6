//! The scenarios of the workspace: what each does, how its last runs went, and the form that runs them.

use super::super::dashboard::{Dashboard, Flags, Listing};
use super::super::frame::{Content, Section};
use super::super::request::Fields;
use super::super::route::Route;
use super::start::render_options;
use super::text::{
    format_share, format_time, render_grade, render_output, render_run_link, render_sparkline,
    render_time, render_verdict,
};
use crate::archive::{Archive, Entry, ScenarioHistory};
use crate::error::Error;
use crate::policy::Action;
use loadtest_model::definition::ScenarioDef;
use loadtest_model::display;
use maud::{Markup, html};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// The runs that a sparkline shows.
const SPARKLINE_RUNS: usize = 20;

/// A scenario as the list shows it.
struct Row<'a> {
    identity: &'a str,
    definition: Option<&'a ScenarioDef>,
    history: ScenarioHistory<'a>,
}

/// Renders the page; `query` may hold a filter and an order.
pub(super) fn render(dashboard: &Arc<Dashboard>, query: &Fields) -> Result<Content, Error> {
    if matches!(dashboard.listing(), Listing::Unknown) {
        dashboard.refresh_listing();
    }
    let listing = dashboard.listing();
    let archive = dashboard.archive()?;
    let filter = query.get("filter").unwrap_or_default();
    let order = query.get("order").unwrap_or("name");
    let known = archive.scenarios();
    // While they are built, those of the last time are there.
    let declared = dashboard.known_scenarios();
    let mut rows = collect_rows(&declared, &archive, &known);
    let all = rows.len();
    rows.retain(|row| row.matches(filter));
    sort_rows(&mut rows, order);
    let refusal = dashboard.refusal(Action::Run);
    let body = html! {
        h1 { "Scenarios" }
        (render_state(&listing, &known))
        @if all > 0 {
            (render_filter(filter, rows.len(), all))
            form #run method="post" action=(Route::StartRun.path()) {
                div.scroll role="region" aria-label="Scenarios" tabindex="0" {
                    table.list {
                        (render_head(order, filter))
                        tbody { @for row in &rows { (render_row(row, refusal.as_deref())) } }
                    }
                }
                @match &refusal {
                    Some(refusal) => { p.sub { "Running is not possible: " (refusal) } }
                    None => { (render_options(dashboard, true)) }
                }
            }
        }
    };
    Ok(Content {
        title: "Scenarios".to_owned(),
        section: Section::Scenarios,
        stream: format!("listing={}", listing_state(dashboard)),
        body,
    })
}

/// Returns a word that changes with what is known of the scenarios.
pub(in crate::ui) fn listing_state(dashboard: &Dashboard) -> &'static str {
    match dashboard.listing() {
        Listing::Unknown => "unknown",
        Listing::Building { .. } => "building",
        Listing::Known => "known",
        Listing::Failed(_) => "failed",
    }
}

fn collect_rows<'a>(
    declared: &'a [ScenarioDef],
    archive: &'a Archive,
    known: &'a [String],
) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = known
        .iter()
        .map(|identity| Row {
            identity,
            definition: declared.iter().find(|one| one.identity() == *identity),
            history: ScenarioHistory::from_entries(identity, &archive.entries),
        })
        .collect();
    if !declared.is_empty() {
        // What ran once and is not in the source any more has its history on the page of runs.
        rows.retain(|row| row.definition.is_some());
    }
    let seen: BTreeSet<_> = known.iter().map(String::as_str).collect();
    let new = declared
        .iter()
        .filter(|one| !seen.contains(&*one.identity()));
    rows.extend(new.map(|definition| Row {
        // A name of the listing lives as long as it does.
        identity: "",
        definition: Some(definition),
        history: ScenarioHistory::from_entries("", &[]),
    }));
    rows
}

impl Row<'_> {
    fn identity(&self) -> String {
        self.definition
            .map_or_else(|| self.identity.to_owned(), ScenarioDef::identity)
    }

    fn matches(&self, filter: &str) -> bool {
        let filter = filter.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&filter);
        let definition = self.definition.iter();
        let mut texts = definition.flat_map(|definition| {
            let tags = definition.tags.iter().map(|tag| &**tag);
            let steps = definition.steps.iter();
            let steps =
                steps.flat_map(|step| [&*step.name, step.url.as_deref().unwrap_or_default()]);
            tags.chain(steps).chain([&*definition.name])
        });
        has(&self.identity()) || texts.any(has)
    }

    fn last(&self) -> Option<&Entry> {
        let entries = self.history.versions.iter();
        let rows = entries
            .flat_map(|version| &version.settings)
            .flat_map(|setting| &setting.rows);
        rows.min_by_key(|row| row.place).map(|row| row.entry)
    }

    /// Returns p95 of the sound runs with the version, load and target of the newest, the oldest first.
    fn times(&self) -> Vec<Duration> {
        let Some(last) = self.last() else {
            return Vec::new();
        };
        let settings = self
            .history
            .versions
            .iter()
            .flat_map(|version| &version.settings);
        let mut same =
            settings.filter(|setting| setting.rows.iter().any(|row| std::ptr::eq(row.entry, last)));
        let rows = same.next().map_or(&[][..], |setting| &setting.rows);
        let mut times: Vec<_> = rows
            .iter()
            .filter_map(|row| row.entry.sound_p95())
            .take(SPARKLINE_RUNS)
            .collect();
        times.reverse();
        times
    }

    /// Returns true if the source is another than that of the last run.
    fn has_changed(&self) -> bool {
        let ran = self.last().and_then(|last| last.version.as_ref());
        match (self.definition, ran) {
            (Some(definition), Some(version)) => version.fingerprint != definition.fingerprint,
            _ => false,
        }
    }
}

fn sort_rows(rows: &mut [Row<'_>], order: &str) {
    let p95 = |row: &Row<'_>| row.last().and_then(|last| last.figures()?.p95);
    let errors = |row: &Row<'_>| {
        row.last()
            .and_then(|last| last.figures()?.error_rate)
            .unwrap_or(-1.0)
    };
    let grade = |row: &Row<'_>| row.last().and_then(|last| last.figures()?.grade);
    let when = |row: &Row<'_>| row.last().map(|last| last.started_at.clone());
    rows.sort_by(|one, other| match order {
        "grade" => grade(one).cmp(&grade(other)),
        "p95" => p95(other).cmp(&p95(one)),
        "errors" => errors(other).total_cmp(&errors(one)),
        "last" => when(other).cmp(&when(one)),
        _ => std::cmp::Ordering::Equal,
    });
}

fn render_state(listing: &Listing, known: &[String]) -> Markup {
    html! {
        @match listing {
            Listing::Unknown | Listing::Building { .. } => {
                p.notice role="status" { "The load tests are built to list their scenarios." @if !known.is_empty() { " Those below have runs." } }
            }
            Listing::Failed(reason) => {
                div.notice.t-bad {
                    p { "The scenarios cannot be listed:" }
                    (render_output("Reason", reason))
                    form method="post" action=(Route::Refresh.path()) { button { "Try again" } }
                }
                @if known.is_empty() {
                    p { "Without a load test, " code { "cargo loadtest init" } " adds one with an example." }
                }
            }
            Listing::Known => {
                p.line {
                    a.button.small href=(Route::New.path()) data-key="n" { "New test" }
                    form.line method="post" action=(Route::Refresh.path()) { button.small { "Read the source again" } }
                }
            }
        }
    }
}

fn render_filter(filter: &str, shown: usize, all: usize) -> Markup {
    html! {
        form.filter method="get" action="/" role="search" {
            label for="filter" { "Filter" }
            input #filter name="filter" type="search" value=(filter) data-filter="tbody tr" placeholder="name, tag, step, URL";
            span.sub data-filtered role="status" { (shown) " of " (all) }
        }
    }
}

fn render_head(order: &str, filter: &str) -> Markup {
    let sortable = [
        ("grade", "Grade"),
        ("p95", "p95"),
        ("errors", "Errors"),
        ("last", "Last run"),
    ];
    let query = |order: &str| {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("order", order);
        if !filter.is_empty() {
            query.append_pair("filter", filter);
        }
        format!("/?{}", query.finish())
    };
    html! {
        thead {
            tr {
                th scope="col" { span.unseen { "Choose" } }
                th scope="col" aria-sort=[(order == "name").then_some("ascending")] { a href=(query("name")) { "Scenario" } }
                th scope="col" { "Load" }
                @for (name, title) in sortable {
                    th scope="col" aria-sort=[(order == name).then_some("descending")] { a href=(query(name)) { (title) } }
                }
                th scope="col" { span.unseen { "Actions" } }
            }
        }
    }
}

fn render_row(row: &Row<'_>, refusal: Option<&str>) -> Markup {
    let identity = row.identity();
    let page = Route::Scenario(identity.clone()).path();
    let last = row.last();
    let figures = last.and_then(Entry::figures);
    let name = row.definition.map_or_else(
        || identity.clone(),
        |definition| definition.name.to_string(),
    );
    html! {
        tr {
            td {
                input type="checkbox" name="scenario" value=(identity) aria-label={ "Choose " (name) } disabled[refusal.is_some()];
            }
            th scope="row" {
                a href=(page) { (name) }
                @if let Some(definition) = row.definition {
                    @for tag in definition.tags.iter() { " " span.tag { (tag) } }
                    br; span.sub { (format_steps(definition)) }
                } @else { br; span.sub { (identity) } }
            }
            td { @if let Some(load) = row.definition.and_then(|definition| definition.load.as_ref()) { (display::format_load(load)) } @else { span.sub { "–" } } }
            td { @if let Some(last) = last { (render_grade(last)) } @else { "–" } }
            td.n { (render_sparkline(&row.times())) " " (format_time(figures.and_then(|figures| figures.p95))) }
            td.n { (format_share(figures.and_then(|figures| figures.error_rate))) }
            td {
                @match last {
                    Some(last) => {
                        (render_verdict(last)) " " span.sub { (render_time(&last.started_at)) }
                        br; (render_run_link(&last.run))
                        @if row.has_changed() { br; span.sub { "changed since" } }
                    }
                    None => span.sub { "never run" }
                }
            }
            td.actions {
                @if refusal.is_none() { button.small name="only" value=(identity) data-key="r" { "Run" } }
                a.button.small href=(Route::Try(identity).path()) data-key="t" { "Try" }
            }
        }
    }
}

/// `login → browse → buy 80 % → order`.
fn format_steps(definition: &ScenarioDef) -> String {
    let steps = definition.steps.iter().map(|step| {
        if step.weight < 1.0 {
            format!(
                "{} {}",
                step.name,
                display::format_whole_percent(step.weight)
            )
        } else {
            step.name.to_string()
        }
    });
    steps.collect::<Vec<_>>().join(" → ")
}

/// Returns what `plan` says of a scenario.
pub(super) fn plan(dashboard: &Dashboard, identity: &str) -> Result<String, Error> {
    let output = dashboard.run(&["plan", "--exact", identity], Flags::Project)?;
    Ok(if output.is_ok {
        output.stdout
    } else {
        output.explanation()
    })
}
