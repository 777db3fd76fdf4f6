//! A server that takes just the requests that a program was seen to send, one after the other.

use crate::replay::{Refusals, pairs};
use crate::{Reply, Request, Server};
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};

/// The status of a request that is another one.
const REFUSED: u16 = 409;
/// What stands in a table for the boundary of a form that the program made up.
const BOUNDARY: &str = "BOUNDARY";

/// A request, as far as it is not the sender's own: without host, length and the like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: String,
}

/// Requests that were seen.
#[derive(Debug, Clone, Default)]
pub struct Copied {
    wanted: Vec<Sent>,
    added: Vec<(usize, String)>,
}

/// The server under way.
#[derive(Debug)]
pub struct Taking {
    /// Where it is.
    pub server: Server,
    /// What was another request than that which was seen.
    pub refusals: Refusals,
    taken: Arc<Mutex<usize>>,
}

impl Sent {
    /// A request that arrived, with the boundary of its form as the table has it where `wanted` has it so.
    #[must_use]
    pub fn of(request: &Request, wanted: &Self) -> Self {
        let content_type = request.header("content-type").unwrap_or_default();
        let boundary = content_type.split_once("boundary=");
        let is_made_up = |(name, value): &(String, String)| {
            name == "content-type" && value.ends_with(&format!("boundary={BOUNDARY}"))
        };
        let boundary = boundary
            .map(|(_, boundary)| boundary.trim_matches('"'))
            .filter(|_| wanted.headers.iter().any(is_made_up));
        let plain = |text: &str| text.replace(boundary.unwrap_or(BOUNDARY), BOUNDARY);
        let is_own = |name: &str, value: &str| {
            matches!(
                name,
                "host" | "content-length" | "connection" | "loadtest-run"
            ) || name == "user-agent" && value.starts_with("loadtest/")
        };
        let headers = request.headers.iter();
        let headers = headers.filter(|(name, value)| !is_own(name, value));
        let headers = headers.map(|(name, value)| (name.clone(), plain(value)));
        Self::new(
            &request.method,
            &request.target,
            headers.collect(),
            &plain(&request.text()),
        )
    }

    /// A request of a table.
    fn recorded(request: &Value) -> Self {
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let pairs = request["headers"].as_array().expect("headers").iter();
        let headers = pairs
            .map(|pair| (text(&pair[0]), text(&pair[1])))
            .filter(|(name, value)| !(name == "user-agent" && value.starts_with("curl/")));
        Self::new(
            &text(&request["method"]),
            &text(&request["target"]),
            headers.collect(),
            &text(&request["body"]),
        )
    }

    fn new(method: &str, target: &str, mut headers: Vec<(String, String)>, body: &str) -> Self {
        headers.sort();
        Self {
            method: method.to_owned(),
            target: target.to_owned(),
            headers,
            body: body.to_owned(),
        }
    }

    /// The same in one spelling: JSON without blanks, fields of a form without escapes, headers of parts in small
    /// letters.
    fn spelt(mut self) -> Self {
        let content_type = self.headers.iter().find(|(name, _)| name == "content-type");
        let content_type = content_type.map_or("", |(_, value)| value.as_str());
        if content_type.ends_with("json")
            && let Ok(json) = serde_json::from_str::<Value>(&self.body)
        {
            self.body = json.to_string();
        } else if content_type.ends_with("form-urlencoded") {
            self.body = pairs(&self.body).join("\n");
        } else if content_type.starts_with("multipart/") {
            let lines = self
                .body
                .split("\r\n")
                .map(|line| match line.split_once(": ") {
                    Some((name, value)) if name.to_ascii_lowercase().starts_with("content-") => {
                        format!("{}: {value}", name.to_ascii_lowercase())
                    }
                    _ => line.to_owned(),
                });
            self.body = lines.collect::<Vec<_>>().join("\r\n");
        }
        self
    }
}

impl Copied {
    /// The requests of a table of commands, each with those that it sends.
    ///
    /// # Panics
    /// Where it is none.
    #[must_use]
    pub fn new(table: &Value) -> Self {
        let forms = table["forms"].as_array().expect("forms").iter();
        let requests = forms.flat_map(|form| form["requests"].as_array().expect("requests"));
        Self {
            wanted: requests.map(Sent::recorded).collect(),
            added: Vec::new(),
        }
    }

    /// How many they are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.wanted.len()
    }

    /// They as they were seen.
    #[must_use]
    pub fn wanted(&self) -> &[Sent] {
        &self.wanted
    }

    /// Takes the request with this number with a header more than it was seen with.
    #[must_use]
    pub fn with(mut self, number: usize, header: &str) -> Self {
        self.added.push((number, header.to_owned()));
        self
    }

    /// Starts a server that answers each of them with the status that belongs to its number, and takes them in
    /// their order, however they are spelt.
    #[must_use]
    pub fn start(self, status: impl Fn(usize) -> u16 + Send + Sync + 'static) -> Taking {
        let refusals = Refusals::default();
        let taken: Arc<Mutex<usize>> = Arc::default();
        let (told, next) = (refusals.clone(), Arc::clone(&taken));
        let server = Server::recording(move |request| {
            let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
            match self.difference(request, *next) {
                None => {
                    *next += 1;
                    Reply::status(status(*next - 1))
                }
                Some(why) => {
                    told.put(why.clone());
                    Reply::status(REFUSED).body(why)
                }
            }
        });
        Taking {
            server,
            refusals,
            taken,
        }
    }

    fn difference(&self, request: &Request, number: usize) -> Option<String> {
        let Some(wanted) = self.wanted.get(number) else {
            return Some(format!("{} {}: one more", request.method, request.target));
        };
        let mut sent = Sent::of(request, wanted);
        sent.headers.retain(|(name, _)| {
            let mut added = self.added.iter();
            !added.any(|(place, header)| *place == number && header == name)
        });
        let (wanted, sent) = (wanted.clone().spelt(), sent.spelt());
        (wanted != sent).then(|| format!("request {number} is {sent:?}, and was {wanted:?}"))
    }
}

impl Taking {
    /// How many of the requests have come.
    #[must_use]
    pub fn taken(&self) -> usize {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
