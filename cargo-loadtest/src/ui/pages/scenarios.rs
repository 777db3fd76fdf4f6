//! The scenarios of the workspace: what each does, how its last runs went, and the form that runs them.

use super::load::{EnteredLoad, render_load};
use super::rows::{ListRow, collect_rows, sort_rows};
use super::text::{
    format_share, format_time, render_grade, render_output, render_run_link, render_sparkline,
    render_time, render_verdict,
};
use crate::archive::Entry;
use crate::policy::Action;
use crate::ui::dashboard::{Dashboard, Flags};
use crate::ui::editor::list_sources;
use crate::ui::frame::{Content, Section};
use crate::ui::listing::Listing;
use crate::ui::request::Fields;
use crate::ui::route::Route;
use loadtest_console::error::Error;
use loadtest_model::display;
use maud::{Markup, html};
use std::sync::Arc;

/// The part of the page that says how far the scenarios are listed.
pub(in crate::ui) const STATE: &str = "listing";

/// Renders the page; `query` may hold a filter and an order.
pub(super) fn render(
    dashboard: &Arc<Dashboard>,
    query: &Fields,
    entered: &EnteredLoad,
) -> Result<Content, Error> {
    if matches!(dashboard.listing(), Listing::Unknown) {
        dashboard.refresh_listing();
    }
    // What changes from here on loads the page again.
    let stream = format!("listing={}", describe_state(dashboard));
    let listing = dashboard.listing();
    let archive = dashboard.archive()?;
    let filter = query.get("filter").unwrap_or_default();
    let order = query.get("order").unwrap_or("name");
    let known = archive.scenarios();
    // While they are built, those of the last time are there.
    let declared = dashboard.known_scenarios();
    // Once they are built, only mistakes are to be seen in the sources.
    let sources = match (&listing, dashboard.checks.summarize()) {
        (Listing::Known, (false, 0)) => Vec::new(),
        _ => list_sources(dashboard),
    };
    let mut rows = collect_rows(dashboard, &declared, &sources, &archive, &known);
    let all = rows.len();
    rows.retain(|row| row.matches(filter));
    sort_rows(&mut rows, order);
    let refusal = dashboard.refusal(Action::Run);
    let body = html! {
        h1 { "Scenarios" }
        (render_state(&listing, all > 0))
        @if all > 0 {
            (render_filter(filter, rows.len(), all))
            form #run method="post" action=(Route::StartRun.path()) {
                @match &refusal {
                    Some(refusal) => { p.sub { "Running is not possible: " (refusal) } }
                    None => { (render_load(dashboard, entered, true)) }
                }
                div.scroll role="region" aria-label="Scenarios" tabindex="0" {
                    table.list {
                        (render_head(order, filter))
                        tbody { @for row in &rows { (render_row(row, refusal.as_deref(), entered)) } }
                    }
                }
            }
        }
    };
    Ok(Content {
        title: "Scenarios".to_owned(),
        section: Section::Scenarios,
        stream,
        body,
    })
}

/// Returns a text that changes with what is known of the scenarios: `known-0`, where it ends with the errors found.
pub(in crate::ui) fn describe_state(dashboard: &Dashboard) -> String {
    let state = match dashboard.listing() {
        Listing::Unknown => "unknown",
        Listing::Building { .. } => "building",
        Listing::Known => "known",
        Listing::Failed {
            is_checked: false, ..
        } => "failed",
        Listing::Failed { .. } => "checked",
    };
    let (is_checking, errors) = dashboard.checks.summarize();
    if is_checking {
        format!("{state}-checking")
    } else {
        format!("{state}-{errors}")
    }
}

/// Renders how far the scenarios are listed.
fn render_state(listing: &Listing, has_rows: bool) -> Markup {
    html! {
        div.line {
            a.button.small href=(Route::New.path()) data-key="n" { "New test" }
            @if *listing == Listing::Known {
                form.line method="post" action=(Route::Refresh.path()) { button.small { "Refresh" } }
            }
        }
        @match listing {
            Listing::Known => {}
            Listing::Unknown | Listing::Building { .. } => (render_progress(listing)),
            Listing::Failed { reason, .. } => {
                div.notice.t-bad {
                    p { "The scenarios cannot be listed:" @if has_rows { " the list below comes from the source." } }
                    (render_output("Reason", reason))
                    form method="post" action=(Route::Refresh.path()) { button { "Try again" } }
                }
                @if !has_rows {
                    p { "Without a load test, " code { "cargo loadtest init" } " adds one with an example." }
                }
            }
        }
    }
}

/// Renders how far the build is.
pub(in crate::ui) fn render_progress(listing: &Listing) -> Markup {
    let progress = match listing {
        Listing::Building { progress, .. } => progress.as_deref(),
        _ => None,
    };
    html! {
        div id=(STATE) { p.notice {
            "Building the load tests. Until that finishes, this list comes from the source."
            @if let Some(progress) = progress { br; span.sub { (progress) } }
        } }
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

fn render_row(row: &ListRow<'_>, refusal: Option<&str>, entered: &EnteredLoad) -> Markup {
    let ListRow { identity, name, .. } = row;
    let last = row.last();
    let figures = last.and_then(Entry::figures);
    html! {
        tr {
            td {
                input type="checkbox" name="scenario" value=(identity) aria-label={ "Choose " (name) } checked[entered.is_chosen(identity)] disabled[refusal.is_some()];
            }
            th scope="row" {
                a href=(Route::Scenario(identity.clone()).path()) { (name) }
                @for tag in &row.tags { " " span.tag { (tag) } }
                @if row.is_namesake || row.steps.is_empty() { br; span.sub { (identity) } }
                @if !row.steps.is_empty() { br; span.sub { (row.steps) } }
                @if row.errors > 0 {
                    br; a.s-bad href=(Route::Edit(identity.clone()).path()) { "⚠ " (display::format_counted(row.errors as u64, "error")) }
                }
            }
            td { @if let Some(load) = &row.load { (load) } @else { span.sub { "–" } } }
            td { @if let Some(last) = last { (render_grade(last)) } @else { "–" } }
            td.n { (render_sparkline(&row.times())) " " (format_time(figures.and_then(|figures| figures.p95))) }
            td.n { (format_share(figures.and_then(|figures| figures.error_rate))) }
            td {
                @if let Some(entry) = row.under_way() { "runs now: " (render_run_link(&entry.run)) br; }
                @match last {
                    Some(last) => {
                        (render_verdict(last)) " " span.sub { (render_time(&last.started_at)) }
                        br; (render_run_link(&last.run))
                        @if row.has_changed() { br; span.sub { "changed since" } }
                    }
                    None if row.under_way().is_some() => {}
                    None => span.sub { "never run" }
                }
            }
            td.actions {
                @if row.errors > 0 { a.button.small href=(Route::Edit(identity.clone()).path()) { "Edit" } }
                @else {
                    @if refusal.is_none() { button.small name="only" value=(identity) data-key="r" { "Run" } }
                    a.button.small href=(Route::Try(identity.clone()).path()) data-key="t" { "Try" }
                }
            }
        }
    }
}

/// Returns what `plan` says of a scenario.
pub(super) fn plan(dashboard: &Dashboard, identity: &str) -> Result<String, Error> {
    // It would wait for the build, and so would the page.
    if matches!(dashboard.listing(), Listing::Building { .. }) {
        return Ok("The load tests are being built: try again when that has finished.".to_owned());
    }
    let output = dashboard.run(&["plan", "--exact", identity], Flags::Project)?;
    Ok(if output.is_ok {
        output.stdout
    } else {
        output.explanation()
    })
}
