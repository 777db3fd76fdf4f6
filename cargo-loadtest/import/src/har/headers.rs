//! Selects the request headers that belong to the application, not to the browser or the connection.

use super::entry::HarEntry;
use super::kinds::is_listed;
use crate::recording::{Credentials, Header, Text};
use crate::text::percent_decode;

/// Types of forms that a page of any site can send; servers then compare `origin`.
const FORM_TYPES: [&str; 3] = [
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "text/plain",
];

/// Headers to send.
#[derive(Debug, Default)]
pub(super) struct RequestHeaders {
    pub(super) headers: Vec<Header>,
    pub(super) credentials: Option<Credentials>,
    /// Name of a header with control characters, which is left out.
    pub(super) refused: Option<String>,
}

/// Returns the headers of a request without its cookies. `content_type` replaces the recorded one.
pub(super) fn select_headers(entry: &HarEntry<'_>, content_type: Option<&str>) -> RequestHeaders {
    let mut selected = RequestHeaders::default();
    let mut has_authorization = false;
    for (name, value) in &entry.request_headers {
        if is_noise(entry, name, value) || name == "content-type" && content_type.is_some() {
            continue;
        }
        if value.contains(|letter: char| letter.is_ascii_control() && letter != '\t') {
            selected.refused = Some(name.clone());
            continue;
        }
        has_authorization |= name == "authorization";
        selected.headers.push(Header::new(name, value.as_str()));
    }
    let content_type = content_type.map(|value| Header::new("content-type", value));
    selected.headers.extend(content_type);
    if !has_authorization {
        selected.credentials = read_url_credentials(entry);
    }
    selected
}

fn is_noise(entry: &HarEntry<'_>, name: &str, value: &str) -> bool {
    is_listed("headers", name) && name != "sec-websocket-protocol"
        || entry.is_read() && is_listed("cache conditions", name)
        // It is sent in any case.
        || name == "accept" && value == "*/*"
        || name == "origin" && !is_origin_checked(entry)
}

/// Returns whether a server may check `origin`: it echoed the one it got, or the request is a form.
fn is_origin_checked(entry: &HarEntry<'_>) -> bool {
    let allowed = entry.answer_header("access-control-allow-origin");
    let sent = entry.request_header("content-type").unwrap_or_default();
    let sent = sent.to_ascii_lowercase();
    let is_form = FORM_TYPES.iter().any(|form| sent.starts_with(form));
    !entry.is_read() && (is_form || allowed.is_some_and(|allowed| allowed != "*"))
}

fn read_url_credentials(entry: &HarEntry<'_>) -> Option<Credentials> {
    let (user, password) = (entry.url.username(), entry.url.password());
    let decode = |text: &str| Text::literal(percent_decode(text));
    (!user.is_empty() || password.is_some()).then(|| Credentials {
        user: decode(user),
        password: decode(password.unwrap_or_default()),
    })
}
