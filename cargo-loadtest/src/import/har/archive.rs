//! The entries of an archive, read leniently: whatever is missing, null or of another type than the format has it is
//! as if it was not there.

use super::super::document::{self, Node};
use super::super::marked::Dropped;
use super::super::source::{Mistake, Note, Span};
use super::times::{duration, moment};
use super::why;
use crate::shell::clean;
use url::Url;

/// The longest method.
const LONGEST_METHOD: usize = 32;
/// How much of a URL is shown.
const SHOWN: usize = 160;

/// A request, and what came of it.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    /// Where its URL stands.
    pub(super) span: Span,
    pub(super) method: String,
    pub(super) url: Url,
    /// When it was sent, in milliseconds.
    pub(super) started: Option<i64>,
    /// When its answer was there.
    pub(super) ended: Option<i64>,
    /// The status of the answer; none where nobody answered.
    pub(super) status: Option<u16>,
    /// What the browser takes it for, in lower case.
    pub(super) resource: Option<String>,
    /// Those of the request: names in lower case, without those of HTTP/2.
    pub(super) headers: Vec<(String, String)>,
    /// Those of the answer.
    pub(super) answered: Vec<(String, String)>,
    pub(super) node: &'a Node<'a>,
}

/// Why there is no request of an entry.
#[derive(Debug)]
pub(super) enum Left {
    /// It is none that is sent over HTTP.
    Dropped(Dropped),
    /// It cannot be read.
    Unreadable(Note),
}

/// The list of entries.
pub(super) fn entries<'a>(root: &'a Node<'a>) -> Result<&'a Node<'a>, Mistake> {
    let log = root.get("log").unwrap_or(root);
    match log.get("entries") {
        Some(entries) if entries.is_list() => Ok(entries),
        Some(other) => Err(Mistake::new(
            other.span.clone(),
            format!(
                "`log.entries` is a list of requests, and this is {}",
                other.kind()
            ),
        )),
        None => {
            let words = "this is no archive of requests (HAR): it has no `log.entries`";
            Err(Mistake::new(document::told_by(root), words).help(
                "export one with the network tools of a browser: \"Save all as HAR\", \"Export HAR\"",
            ))
        }
    }
}

/// Who recorded it, and when.
pub(super) fn description(root: &Node<'_>) -> Option<String> {
    let log = root.get("log").unwrap_or(root);
    let program = |name: &str| {
        let program = log.get(name)?;
        let name = program.text_of("name")?;
        if name == "WebInspector" {
            return Some("Chromium".to_owned());
        }
        let version = program.text_of("version").unwrap_or_default();
        let words = clean(format!("{name} {version}").trim());
        (!words.is_empty()).then(|| words.chars().take(60).collect::<String>())
    };
    let program = program("browser").or_else(|| program("creator"))?;
    let started = log
        .get("entries")?
        .items()
        .first()?
        .text_of("startedDateTime");
    let day = started.filter(|started| moment(started).is_some());
    let day = day.and_then(|started| started.get(..10));
    Some(match day {
        Some(day) => format!("Recorded by {program} on {day}."),
        None => format!("Recorded by {program}."),
    })
}

/// Says that nobody is logged in, where a browser of Chromium has left out what could tell.
pub(super) fn sanitised(root: &Node<'_>, entries: &[Entry<'_>]) -> Option<Note> {
    let creator = root.at(&["log", "creator"])?;
    let is_telling = |entry: &Entry<'_>| {
        entry.header("cookie").is_some()
            || entry.header("authorization").is_some()
            || entry.answer_header("set-cookie").is_some()
    };
    let is_sanitised =
        creator.text_of("name") == Some("WebInspector") && !entries.iter().any(is_telling);
    is_sanitised.then(|| {
        let words = "there are no cookies and no credentials in it, which Chrome leaves out unless the archive is exported \
                     \"with sensitive data\"";
        Note::new(creator.span.start..creator.span.start + 1, words)
    })
}

/// Puts entries in the order of time: those without one stay behind the one before them.
pub(super) fn sort(entries: &mut Vec<Entry<'_>>) {
    let mut last = i64::MIN;
    let mut timed: Vec<(i64, Entry<'_>)> = Vec::with_capacity(entries.len());
    for entry in entries.drain(..) {
        last = entry.started.unwrap_or(last);
        timed.push((last, entry));
    }
    timed.sort_by_key(|(started, _)| *started);
    entries.extend(timed.into_iter().map(|(_, entry)| entry));
}

impl<'a> Entry<'a> {
    /// Reads an entry, unless it is no request over HTTP.
    pub(super) fn read(node: &'a Node<'a>) -> Result<Self, Left> {
        let request = node.get("request").unwrap_or(node);
        let unreadable = |span: Span, words: String| {
            let words = format!("{words}: it is left out");
            Left::Unreadable(Note::new(span, words))
        };
        let Some(place) = request.get("url") else {
            let what = if node.is_object() {
                request.kind()
            } else {
                node.kind()
            };
            let words =
                format!("an entry has a request with a `url`, and this is {what} without one");
            return Err(unreadable(request.beginning(), words));
        };
        let Some(text) = place.text().map(str::trim) else {
            let words = format!("a URL is a string, and this is {}", place.kind());
            return Err(unreadable(place.beginning(), words));
        };
        let method = request.text_of("method").unwrap_or("GET").trim();
        let dropped = |why: &str| {
            Left::Dropped(Dropped {
                span: place.span.clone(),
                what: shown(method, text),
                why: why.to_owned(),
            })
        };
        if method.len() > LONGEST_METHOD || !is_token(method) {
            let span = request.get("method").map(Node::beginning);
            let words = "this is no method of HTTP".to_owned();
            return Err(unreadable(span.unwrap_or(place.span.clone()), words));
        }
        if method.eq_ignore_ascii_case("CONNECT") {
            return Err(dropped(why::TUNNEL));
        }
        let scheme = text.split_once(':').map(|(scheme, _)| scheme);
        let scheme = scheme.unwrap_or_default().to_ascii_lowercase();
        match scheme.as_str() {
            "http" | "https" => {}
            "ws" | "wss" => return Err(dropped(why::SOCKET)),
            _ if !is_scheme(&scheme) => {
                let words = "this URL does not begin with `http://` or `https://`".to_owned();
                return Err(unreadable(place.span.clone(), words));
            }
            scheme => {
                let what = format!("{method} {}:", clean(scheme));
                return Err(Left::Dropped(Dropped {
                    span: place.span.clone(),
                    what: what.chars().take(SHOWN).collect(),
                    why: why::NOT_SENT.to_owned(),
                }));
            }
        }
        let url = match Url::parse(text) {
            Ok(url) if url.has_host() => url,
            Ok(_) => {
                return Err(unreadable(
                    place.span.clone(),
                    "this URL has no host".to_owned(),
                ));
            }
            Err(error) => {
                let words = format!("this URL cannot be read ({error})");
                return Err(unreadable(place.span.clone(), words));
            }
        };
        let started = node.text_of("startedDateTime").and_then(moment);
        let response = node.get("response");
        let status = response
            .and_then(|response| response.get("status")?.number())
            .filter(|status| (100.0..600.0).contains(status));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "three digits"
        )]
        let status = status.map(|status| status as u16);
        Ok(Self {
            span: place.span.clone(),
            method: method.to_ascii_uppercase(),
            url,
            started,
            ended: started.map(|started| started.saturating_add(duration(node))),
            status,
            resource: node.text_of("_resourceType").map(str::to_ascii_lowercase),
            headers: pairs(Some(request)),
            answered: pairs(response),
            node,
        })
    }

    /// The first header of the request with a name, which is in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        first(&self.headers, name)
    }

    /// The same of the answer.
    pub(super) fn answer_header(&self, name: &str) -> Option<&str> {
        first(&self.answered, name)
    }

    /// What the body of the answer is, in lower case and without parameters.
    pub(super) fn mime(&self) -> String {
        let content = self
            .content()
            .and_then(|content| content.text_of("mimeType"));
        let mime = content.filter(|mime| !mime.is_empty() && *mime != "x-unknown");
        let mime = mime.or_else(|| self.answer_header("content-type"));
        let mime = mime
            .unwrap_or_default()
            .split(';')
            .next()
            .unwrap_or_default();
        mime.trim().to_ascii_lowercase()
    }

    /// The node of the body of the request.
    pub(super) fn post_data(&self) -> Option<&'a Node<'a>> {
        self.request()
            .get("postData")
            .filter(|data| data.is_object())
    }

    /// How many bytes the body of the request has, as the archive says.
    pub(super) fn body_size(&self) -> f64 {
        let size = self.request().get("bodySize").and_then(Node::number);
        size.unwrap_or(0.0)
    }

    /// The node of the body of the answer.
    pub(super) fn content(&self) -> Option<&'a Node<'a>> {
        self.node.get("response")?.get("content")
    }

    /// The cookies that a list of the request or of the answer has.
    pub(super) fn cookies(&self, of: &str) -> Vec<(&'a str, &'a str)> {
        let list = self.node.get(of).and_then(|part| part.get("cookies"));
        let items = list.map(Node::items).unwrap_or_default().iter();
        items
            .filter_map(|item| Some((item.text_of("name")?, item.text_of("value")?)))
            .collect()
    }

    /// Whether the messages of a socket are in it.
    pub(super) fn has_messages(&self) -> bool {
        self.node.get("_webSocketMessages").is_some()
    }

    /// Whether it came from a cache of the browser, or from a worker of the page.
    pub(super) fn is_internal(&self) -> bool {
        let response = self.node.get("response");
        let says = |part: Option<&Node<'_>>, name: &str| {
            let value = part.and_then(|part| part.get(name));
            value.is_some_and(|value| {
                value.boolean() == Some(true) || value.text().is_some_and(|text| !text.is_empty())
            })
        };
        says(Some(self.node), "_fromCache")
            || says(Some(self.node), "_fromServiceWorker")
            || says(response, "_fetchedViaServiceWorker")
            || self
                .node
                .at(&["cache", "afterRequest"])
                .is_some_and(|after| {
                    after.is_object() && self.status != Some(304) && self.is_unsent()
                })
    }

    /// Whether nothing came over the network, as Firefox says it.
    fn is_unsent(&self) -> bool {
        let size = self
            .node
            .at(&["response", "bodySize"])
            .and_then(Node::number);
        let wait = self.node.at(&["timings", "wait"]).and_then(Node::number);
        size == Some(0.0) && wait.is_none_or(|wait| wait <= 0.0)
    }

    /// Whether the browser, a test or a proxy made the answer up.
    pub(super) fn is_made_up(&self) -> bool {
        let is_hsts = self
            .answered
            .iter()
            .any(|(name, _)| name == "non-authoritative-reason");
        let is_fulfilled = self.node.get("_wasFulfilled").and_then(Node::boolean) == Some(true);
        is_hsts || is_fulfilled
    }

    /// As something that is left out.
    pub(super) fn dropped(&self, why: &str) -> Dropped {
        Dropped {
            span: self.span.clone(),
            what: shown(&self.method, self.url.as_str()),
            why: why.to_owned(),
        }
    }

    pub(super) fn request(&self) -> &'a Node<'a> {
        self.node.get("request").unwrap_or(self.node)
    }
}

/// Whether it can be a method, or the name of a header.
pub(super) fn is_token(text: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_sign)
}

/// Whether a URL can begin with it (RFC 3986, section 3.1).
fn is_scheme(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.bytes().all(is_letter)
}

fn first<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let mut headers = headers.iter();
    headers
        .find(|(known, _)| known == name)
        .map(|(_, value)| value.as_str())
}

/// The headers of a request or of an answer; several in one value, as browsers write cookies, are several.
fn pairs(part: Option<&Node<'_>>) -> Vec<(String, String)> {
    let list = part.and_then(|part| part.get("headers"));
    let mut pairs = Vec::new();
    for item in list.map(Node::items).unwrap_or_default() {
        let (Some(name), Some(value)) = (item.text_of("name"), item.get("value")) else {
            continue;
        };
        let name = name.trim().to_ascii_lowercase();
        if !is_token(&name) {
            continue;
        }
        let value = value.scalar().unwrap_or_default();
        let lines = value.lines().map(str::trim);
        pairs.extend(lines.map(|line| (name.clone(), line.to_owned())));
    }
    pairs
}

/// A request in a few words, without its query.
fn shown(method: &str, url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    // What stands before an `@` is somebody's name and password.
    let url = match url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = authority.rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}{path}")
        }
        None => url.to_owned(),
    };
    let words = clean(&format!("{method} {url}"));
    match words.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}
