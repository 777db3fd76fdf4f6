//! What happened: runs, deliveries of webhooks, and what this dashboard did.

use super::text::{render_run_link, render_time, render_verdict};
use crate::archive::Entry;
use crate::notify::read_deliveries;
use crate::ui::dashboard::Dashboard;
use crate::ui::frame::{Content, Section};
use loadtest_console::error::Error;
use maud::{Markup, html};

/// The events that the page shows.
const SHOWN: usize = 200;

struct ListedEvent {
    at: String,
    kind: &'static str,
    what: Markup,
}

/// Renders the page.
///
/// # Errors
/// When the store cannot be read.
pub(super) fn render(dashboard: &Dashboard) -> Result<Content, Error> {
    let archive = dashboard.archive()?;
    let mut events: Vec<ListedEvent> = archive
        .entries
        .iter()
        .take(SHOWN)
        .map(describe_run)
        .collect();
    let mut runs: Vec<&str> = archive
        .entries
        .iter()
        .take(SHOWN)
        .map(|entry| &*entry.run)
        .collect();
    runs.dedup();
    for run in runs {
        let Ok(folder) = dashboard.store.find(run) else {
            continue;
        };
        events.extend(read_deliveries(folder.path()).into_iter().map(|delivery| ListedEvent {
            what: html! {
                @if delivery.is_delivered { span.chip.t-good { "✓ delivered" } } @else { span.chip.t-bad { "✗ not delivered" } }
                " " code { (delivery.event) } " to " (delivery.webhook)
                @if let Some(reason) = &delivery.reason { br; span.sub { (reason) } }
                br; (render_run_link(run))
            },
            at: delivery.at,
            kind: "webhook",
        }));
    }
    let ended = dashboard.runs.ended().into_iter();
    events.extend(ended.filter(|ended| ended.run.is_none()).map(|ended| ListedEvent {
        at: ended.at,
        kind: "run",
        what: html! {
            span.chip.t-bad { "✗ DID NOT RUN" } " " (ended.title)
            @if let Some(reason) = ended.output.iter().find(|line| line.starts_with("error")) { br; span.sub { (reason) } }
        },
    }));
    events.extend(dashboard.changes().into_iter().map(|change| ListedEvent {
        at: change.at,
        kind: "dashboard",
        what: html! { (change.text) @if let Some(by) = &change.by { br; span.sub { "by " (by) } } },
    }));
    events.sort_by(|one, other| other.at.cmp(&one.at));
    events.truncate(SHOWN);
    let has_webhooks = !dashboard.config()?.notify.is_empty();
    let body = html! {
        h1 { "Events" }
        p.sub { "Runs, webhooks and actions of this dashboard, newest first. These files can be edited, so this is not an audit log." }
        @if !has_webhooks { p.sub { "No webhook is configured: " code { "[[notify]]" } " in " code { "loadtest.toml" } " names one." } }
        @if events.is_empty() { p { "Nothing has happened yet." } } @else {
            div.scroll role="region" aria-label="Events" tabindex="0" {
                table.list {
                    thead { tr { th scope="col" { "When" } th scope="col" { "Kind" } th scope="col" { "What" } } }
                    tbody { @for event in &events { tr { td { (render_time(&event.at)) } td { (event.kind) } td { (event.what) } } } }
                }
            }
        }
    };
    Ok(super::plain(Section::Events, "Events", body))
}

fn describe_run(entry: &Entry) -> ListedEvent {
    ListedEvent {
        at: entry.started_at.clone(),
        kind: "run",
        what: html! { (render_verdict(entry)) " " (entry.scenario) br; (render_run_link(&entry.run)) },
    }
}
