//! Server-sent events: parts of a page, as they change.

use super::answer::clean_html;
use super::dashboard::Dashboard;
use super::listing::Listing;
use super::request::Fields;
use super::server::wait_for_close;
use super::{frame, live, pages};
use bytes::Bytes;
use maud::Markup;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// The interval between two looks at a run.
const INTERVAL: Duration = Duration::from_secs(1);
/// A sign of life goes out so often, which finds out whether the page is still there.
const QUIET_ROUNDS: u32 = 10;

/// Parts of a page by the `id` of the element that each replaces, or what to do instead.
pub(super) enum Update {
    Parts(Vec<(&'static str, Markup)>),
    /// The page is about something else now: load it again.
    Reload,
}

/// Begins a stream; `query` says which page it is for.
pub(super) fn begin(
    dashboard: Arc<Dashboard>,
    query: Fields,
    closing: watch::Receiver<bool>,
) -> mpsc::Receiver<Bytes> {
    let (sender, receiver) = mpsc::channel(4);
    tokio::spawn(send_updates(dashboard, query, closing, sender));
    receiver
}

async fn send_updates(
    dashboard: Arc<Dashboard>,
    query: Fields,
    mut closing: watch::Receiver<bool>,
    sender: mpsc::Sender<Bytes>,
) {
    let mut sent: BTreeMap<&str, String> = BTreeMap::new();
    let mut quiet = 0;
    if sender
        .send(Bytes::from_static(b"retry: 2000\n\n"))
        .await
        .is_err()
    {
        return;
    }
    loop {
        let (dashboard, query) = (Arc::clone(&dashboard), query.clone());
        let Ok(update) = tokio::task::spawn_blocking(move || make_update(&dashboard, &query)).await
        else {
            return;
        };
        let mut events = String::new();
        match update {
            Update::Reload => {
                let _ = sender
                    .send(Bytes::from_static(b"event: reload\ndata:\n\n"))
                    .await;
                return;
            }
            Update::Parts(parts) => {
                for (id, markup) in parts {
                    let html = clean_html(&markup);
                    if sent.get(id) != Some(&html) {
                        let data = json!({ "id": id, "html": html });
                        let _ = write!(events, "event: part\ndata: {data}\n\n");
                        sent.insert(id, html);
                    }
                }
            }
        }
        quiet += 1;
        if events.is_empty() && quiet >= QUIET_ROUNDS {
            events.push_str(":\n\n");
        }
        if !events.is_empty() {
            quiet = 0;
            if sender.send(Bytes::from(events)).await.is_err() {
                return;
            }
        }
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            () = sender.closed() => return,
            () = wait_for_close(&mut closing) => {
                let _ = sender.send(Bytes::from_static(b"event: end\ndata:\n\n")).await;
                return;
            }
        }
    }
}

/// Makes the parts of the page that `query` names.
fn make_update(dashboard: &Arc<Dashboard>, query: &Fields) -> Update {
    let mut parts = vec![(frame::BAR, frame::render_bar(dashboard))];
    if let Some(run) = query.get("run") {
        match live::render_run(dashboard, run, query.get("scenario")) {
            Some(live) => parts.extend(live),
            None => return Update::Reload,
        }
    }
    if let Some(number) = query.parsed("start") {
        match pages::start::render_progress(dashboard, number) {
            pages::start::Progress::Begun(_) => return Update::Reload,
            pages::start::Progress::Waiting(markup) => parts.push((pages::start::PROGRESS, markup)),
        }
    }
    if let Some(state) = query.get("listing") {
        if pages::scenarios::describe_state(dashboard) != state {
            return Update::Reload;
        }
        let listing = dashboard.listing();
        if matches!(listing, Listing::Building { .. }) {
            let part = pages::scenarios::render_progress(&listing);
            parts.push((pages::scenarios::STATE, part));
        }
    }
    if let (Some(identity), Some(version)) = (query.get("edit"), query.parsed::<u64>("check"))
        && pages::edit::check_version(dashboard, identity) != version
    {
        return Update::Reload;
    }
    if let Some(identity) = query.get("try")
        && !matches!(
            dashboard.journey(identity),
            Some(super::dashboard::Journey::Running)
        )
    {
        return Update::Reload;
    }
    Update::Parts(parts)
}
