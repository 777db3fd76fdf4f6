//! Classifies requests by what the browser recorded, else by headers, answer and path.

use super::entry::HarEntry;

/// Purpose of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    /// A page.
    Document,
    /// A request of a script, or a form that was sent.
    Call,
    /// A part of a page that is the same for all users.
    Static,
    Preflight,
    Tracker,
    WebSocket,
    /// Another way of getting messages.
    OtherSocket,
}

impl EntryKind {
    /// Returns why this kind is always left out.
    pub(super) fn drop_reason(self) -> Option<&'static str> {
        match self {
            Self::Document | Self::Call | Self::Static | Self::WebSocket => None,
            Self::Preflight => Some("preflights, which browsers send automatically"),
            Self::Tracker => Some("trackers and beacons"),
            Self::OtherSocket => Some("Socket.IO and WebTransport"),
        }
    }
}

/// Classifies a request.
pub(super) fn classify_entry(entry: &HarEntry<'_>) -> EntryKind {
    let resource = entry.resource.as_deref().unwrap_or_default();
    let mime = entry.answer_type();
    let destination = entry.request_header("sec-fetch-dest").unwrap_or_default();
    if is_other_socket(entry, resource) {
        return EntryKind::OtherSocket;
    }
    if is_websocket(entry, resource) {
        return EntryKind::WebSocket;
    }
    if entry.is_event_stream() {
        return EntryKind::Call;
    }
    if is_preflight(entry, resource) {
        return EntryKind::Preflight;
    }
    if is_tracker(entry, resource) {
        return EntryKind::Tracker;
    }
    let is_document = matches!(resource, "document" | "subdocument")
        || matches!(destination, "document" | "iframe" | "frame");
    if is_document {
        return EntryKind::Document;
    }
    if !entry.is_read() {
        return EntryKind::Call;
    }
    match resource {
        "stylesheet" | "image" | "imageset" | "media" | "font" | "script" | "texttrack"
        | "manifest" | "signedexchange" => return EntryKind::Static,
        // Some calls are answered with a script.
        "xhr" | "fetch" | "xmlhttprequest" => {
            let mime = if is_script(&mime) { "" } else { &mime };
            return classify_by_content(entry, mime, EntryKind::Call);
        }
        _ => {}
    }
    if !matches!(destination, "" | "empty") {
        return EntryKind::Static;
    }
    if destination.is_empty() && entry.request_header("x-requested-with").is_some() {
        return EntryKind::Call;
    }
    let accept = entry.request_header("accept").unwrap_or_default();
    let is_page = destination.is_empty()
        && (accept.contains("text/html")
            || matches!(mime.as_str(), "text/html" | "application/xhtml+xml"));
    let usual = if is_page {
        EntryKind::Document
    } else {
        EntryKind::Call
    };
    classify_by_content(entry, &mime, usual)
}

/// Returns `Static` if the answer or the path is that of a static file, else `usual`.
fn classify_by_content(entry: &HarEntry<'_>, mime: &str, usual: EntryKind) -> EntryKind {
    if is_script(mime) || mime.contains("font") || is_listed("static types", mime) {
        return EntryKind::Static;
    }
    let file = entry.url.path().rsplit('/').next();
    let ending = file.and_then(|file| file.rsplit_once('.'));
    let ending = ending.map(|(_, ending)| ending.to_ascii_lowercase());
    // An error page may be in the place of the file.
    let is_data = mime.ends_with("json") || mime.ends_with("/xml");
    if !is_data && ending.is_some_and(|ending| is_listed("static endings", &ending)) {
        return EntryKind::Static;
    }
    usual
}

fn is_script(mime: &str) -> bool {
    mime.ends_with("javascript") || mime.ends_with("ecmascript")
}

fn is_websocket(entry: &HarEntry<'_>, resource: &str) -> bool {
    let upgrade = entry.request_header("upgrade").unwrap_or_default();
    entry.is_websocket
        || resource == "websocket"
        || entry.node.get("_webSocketMessages").is_some()
        || entry.status == Some(101)
        || upgrade.eq_ignore_ascii_case("websocket")
}

fn is_other_socket(entry: &HarEntry<'_>, resource: &str) -> bool {
    let has_transport = entry.url.query_pairs().any(|(name, _)| name == "transport");
    resource == "webtransport" || has_transport && entry.url.path().contains("/socket.io/")
}

fn is_preflight(entry: &HarEntry<'_>, resource: &str) -> bool {
    let asked = ["method", "headers"].map(|what| format!("access-control-request-{what}"));
    let asks_for_leave = asked
        .iter()
        .any(|name| entry.request_header(name).is_some());
    resource == "preflight" || entry.method == "OPTIONS" && asks_for_leave
}

fn is_tracker(entry: &HarEntry<'_>, resource: &str) -> bool {
    let sent = entry.request_header("content-type").unwrap_or_default();
    let sent = sent.split(';').next().unwrap_or_default().trim();
    matches!(
        resource,
        "ping" | "beacon" | "cspviolationreport" | "csp_report" | "csp-violation-report"
    ) || matches!(
        sent,
        "application/csp-report" | "application/reports+json" | "text/ping"
    ) || entry.request_header("sec-fetch-dest") == Some("report")
        || is_listed("tracker paths", entry.url.path())
}

/// Sections of names, one a line.
const LISTS: &str = include_str!("browser.txt");

/// Returns whether a name fits a pattern of this list.
pub(super) fn is_listed(list: &str, name: &str) -> bool {
    list_patterns(list).any(|pattern| {
        if let Some(beginning) = pattern.strip_suffix('*') {
            name.starts_with(beginning)
        } else if let Some(end) = pattern.strip_prefix('*') {
            name.ends_with(end)
        } else {
            name == pattern
        }
    })
}

/// Returns the patterns of a list.
pub(super) fn list_patterns(list: &str) -> impl Iterator<Item = &'static str> {
    let heading = format!("[{list}]");
    let lines = LISTS.lines().skip_while(move |line| *line != heading);
    lines
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.is_empty())
}
