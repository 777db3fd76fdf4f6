//! What a request is for: by what the browser says of it, else by its headers, the answer and the path.

use super::archive::Entry;
use super::why;

/// What static files end in.
const ENDS: [&str; 31] = [
    "avif",
    "bmp",
    "css",
    "cur",
    "eot",
    "gif",
    "ico",
    "jpeg",
    "jpg",
    "js",
    "m4a",
    "m4v",
    "map",
    "mjs",
    "mov",
    "mp3",
    "mp4",
    "ogg",
    "otf",
    "png",
    "svg",
    "ttf",
    "wasm",
    "wav",
    "webm",
    "webmanifest",
    "webp",
    "woff",
    "woff2",
    "flac",
    "jxl",
];
/// What the answers are that static files have.
const TYPES: [&str; 6] = [
    "image/",
    "font/",
    "audio/",
    "video/",
    "text/css",
    "application/wasm",
];
/// The ends of paths to which nothing but measurements is sent.
const MEASURED: [&str; 8] = [
    "/g/collect",
    "/j/collect",
    "/r/collect",
    "/cdn-cgi/rum",
    "/matomo.php",
    "/piwik.php",
    "/_vercel/insights/event",
    "/_vercel/insights/view",
];

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A page.
    Document,
    /// What a page asks for by its scripts, and what its forms send.
    Call,
    /// A part of a page that is the same for everybody.
    Static,
    Preflight,
    Tracker,
    Socket,
}

impl Kind {
    /// Why it is left out whatever is asked for.
    pub(super) fn why(self) -> Option<&'static str> {
        match self {
            Self::Document | Self::Call | Self::Static => None,
            Self::Preflight => Some(why::PREFLIGHT),
            Self::Tracker => Some(why::TRACKER),
            Self::Socket => Some(why::SOCKET),
        }
    }
}

/// Tells what a request is for.
pub(super) fn kind(entry: &Entry<'_>) -> Kind {
    let resource = entry.resource.as_deref().unwrap_or_default();
    let mime = entry.mime();
    if is_socket(entry, resource, &mime) {
        return Kind::Socket;
    }
    let asks_for_leave = entry.header("access-control-request-method").is_some()
        || entry.header("access-control-request-headers").is_some();
    if resource == "preflight" || entry.method == "OPTIONS" && asks_for_leave {
        return Kind::Preflight;
    }
    if is_tracker(entry, resource) {
        return Kind::Tracker;
    }
    let is_form = matches!(resource, "document" | "subdocument")
        || matches!(
            entry.header("sec-fetch-dest"),
            Some("document" | "iframe" | "frame")
        );
    if !matches!(entry.method.as_str(), "GET" | "HEAD") {
        return if is_form { Kind::Document } else { Kind::Call };
    }
    if is_form {
        return Kind::Document;
    }
    match resource {
        "stylesheet" | "image" | "imageset" | "media" | "font" | "script" | "texttrack"
        | "manifest" | "signedexchange" => return Kind::Static,
        // Some calls are answered with a script.
        "xhr" | "fetch" | "xmlhttprequest" if is_script(&mime) => {
            return by_content(entry, "", Kind::Call);
        }
        "xhr" | "fetch" | "xmlhttprequest" => return by_content(entry, &mime, Kind::Call),
        _ => {}
    }
    match entry.header("sec-fetch-dest") {
        Some("empty") => by_content(entry, &mime, Kind::Call),
        Some(dest) if !dest.is_empty() => Kind::Static,
        _ if entry.header("x-requested-with").is_some() => Kind::Call,
        _ => {
            let accept = entry.header("accept").unwrap_or_default();
            let is_page = accept.contains("text/html")
                || matches!(mime.as_str(), "text/html" | "application/xhtml+xml");
            by_content(
                entry,
                &mime,
                if is_page { Kind::Document } else { Kind::Call },
            )
        }
    }
}

/// A static file where the answer or the path says so, else what it seems to be.
fn by_content(entry: &Entry<'_>, mime: &str, otherwise: Kind) -> Kind {
    let is_font = mime.contains("font");
    if is_script(mime) || is_font || TYPES.iter().any(|known| mime.starts_with(known)) {
        return Kind::Static;
    }
    let path = entry.url.path();
    let end = path
        .rsplit('/')
        .next()
        .and_then(|last| last.rsplit_once('.'));
    let end = end
        .map(|(_, end)| end.to_ascii_lowercase())
        .unwrap_or_default();
    // A page of an error is in the place of the file.
    let is_content = mime.ends_with("json") || mime.ends_with("/xml");
    if ENDS.contains(&end.as_str()) && !is_content {
        return Kind::Static;
    }
    otherwise
}

fn is_script(mime: &str) -> bool {
    mime.ends_with("javascript") || mime.ends_with("ecmascript")
}

fn is_socket(entry: &Entry<'_>, resource: &str, mime: &str) -> bool {
    let upgrade = entry.header("upgrade").unwrap_or_default();
    let has_transport = entry.url.query_pairs().any(|(name, _)| name == "transport");
    matches!(resource, "websocket" | "eventsource" | "webtransport")
        || entry.has_messages()
        || entry.status == Some(101)
        || upgrade.eq_ignore_ascii_case("websocket")
        || mime == "text/event-stream"
        || entry
            .header("accept")
            .is_some_and(|accept| accept.trim() == "text/event-stream")
        || has_transport && entry.url.path().contains("/socket.io/")
}

fn is_tracker(entry: &Entry<'_>, resource: &str) -> bool {
    let sent = entry.header("content-type").unwrap_or_default();
    let sent = sent.split(';').next().unwrap_or_default().trim();
    let path = entry.url.path();
    matches!(
        resource,
        "ping" | "beacon" | "cspviolationreport" | "csp_report" | "csp-violation-report"
    ) || matches!(
        sent,
        "application/csp-report" | "application/reports+json" | "text/ping"
    ) || entry.header("sec-fetch-dest") == Some("report")
        || MEASURED.iter().any(|end| path.ends_with(end))
}
