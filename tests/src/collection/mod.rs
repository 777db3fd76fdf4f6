//! A service as a collection of Postman has it: requests as they are written there, with the answers that were saved
//! with them.
//!
//! What is a variable without a value may only be what an answer over the same connection gave, or a secret of the
//! test. Values of the list `_fresh` of a collection are other ones over each connection.

mod written;

use crate::replay::{Refusals, Replay, decoded, pairs};
use crate::{Reply, Request, Server};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use written::{
    Piece, fits, list, text_of, url_of, with_path_variables, without_blanks, without_fragment,
    without_origin,
};

/// The status of a request that is not in the collection.
const REFUSED: u16 = 409;
/// How often a variable may stand for text with another one in it.
const MOST_HOPS: usize = 20;
/// Headers of requests that are the sender's own.
const OWN: [&str; 8] = [
    "accept-encoding",
    "cache-control",
    "connection",
    "content-length",
    "content-type",
    "host",
    "postman-token",
    "user-agent",
];

/// A collection, and the variables of its environment.
#[derive(Debug, Clone)]
pub struct Collection {
    variables: HashMap<String, String>,
    secrets: Vec<String>,
    fresh: Replay,
    saved: Vec<Saved>,
}

/// The service under way.
#[derive(Debug)]
pub struct Serving {
    /// Where it is.
    pub server: Server,
    /// What is not in the collection, and why.
    pub refusals: Refusals,
    titles: Vec<String>,
    asked: Arc<Mutex<Vec<bool>>>,
}

/// A request with the answer that was saved.
#[derive(Debug, Clone)]
struct Saved {
    title: String,
    method: String,
    /// Path and query.
    target: Vec<Piece>,
    headers: Vec<(String, Vec<Piece>)>,
    body: Body,
    status: u16,
    answer_headers: Vec<(String, String)>,
    answer: String,
}

#[derive(Debug, Clone)]
enum Body {
    None,
    /// Whatever there is of a file.
    File,
    /// Without blanks.
    Text(Vec<Piece>),
    Fields(Vec<(String, Vec<Piece>)>),
    Parts(Vec<(String, Option<Vec<Piece>>)>),
    Json(Value),
}

impl Collection {
    /// Reads a collection and its environment; `secrets` are what a user has in the environment of the run.
    ///
    /// # Panics
    /// Where they are no JSON.
    #[must_use]
    pub fn new(text: &str, environment: Option<&str>, secrets: &[&str]) -> Self {
        let json = |text: &str| serde_json::from_str::<Value>(text).expect("a collection is JSON");
        let whole = json(text);
        let fresh = whole["_fresh"].as_array().into_iter().flatten();
        let fresh: Vec<_> = fresh.filter_map(Value::as_str).collect();
        let root = if whole["collection"].is_object() {
            &whole["collection"]
        } else {
            &whole
        };
        let mut collection = Self {
            variables: HashMap::new(),
            secrets: secrets.iter().map(|secret| (*secret).to_owned()).collect(),
            fresh: Replay::new("http://of.no.server", &fresh),
            saved: Vec::new(),
        };
        collection.variables(&root["variable"]);
        if let Some(environment) = environment {
            collection.variables(&json(environment)["values"]);
        }
        collection.folder(&root["item"], &root["auth"], "");
        collection
    }

    fn variables(&mut self, list: &Value) {
        for variable in list.as_array().into_iter().flatten() {
            let name = variable["key"].as_str().or(variable["id"].as_str());
            let value = text_of(&variable["value"]);
            let is_secret = variable["type"] == "secret";
            let is_set = variable["enabled"] != false && variable["disabled"] != true;
            if let Some(name) = name.filter(|_| is_set && !is_secret && !value.is_empty()) {
                self.variables.insert(name.to_owned(), value);
            }
        }
    }

    fn folder(&mut self, items: &Value, auth: &Value, within: &str) {
        for item in items.as_array().into_iter().flatten() {
            let title = format!("{within}/{}", text_of(&item["name"]));
            let own = [&item["auth"], &item["request"]["auth"]];
            let own = own.into_iter().find(|own| own.is_object()).unwrap_or(auth);
            if item["item"].is_array() {
                self.folder(&item["item"], own, &title);
            } else if item["request"].is_string() || item["request"].is_object() {
                let saved = self.saved(title, item, own);
                self.saved.extend(saved);
            }
        }
    }

    fn saved(&self, title: String, item: &Value, auth: &Value) -> Option<Saved> {
        let request = &item["request"];
        let url = match &request["url"] {
            Value::Null => without_fragment(&text_of(request)),
            Value::String(text) => without_fragment(text),
            url => url_of(url),
        };
        let of_path: HashMap<String, String> = request["url"]["variable"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|variable| {
                let name = variable["key"].as_str().or(variable["id"].as_str())?;
                Some((name.to_owned(), text_of(&variable["value"])))
            })
            .collect();
        let mut target = self.pieces(&with_path_variables(&url, &of_path));
        let is_http = without_origin(&mut target);
        let mut headers = Vec::new();
        for header in list(&request["header"]) {
            let name = text_of(&header["key"]).to_ascii_lowercase();
            let value = text_of(&header["value"]);
            let is_name = name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
            let can_be_sent = is_name && !value.contains(char::is_control);
            if can_be_sent && !name.is_empty() && !OWN.contains(&name.as_str()) {
                headers.push((name, self.pieces(&value)));
            }
        }
        self.credentials(auth, &mut headers, &mut target);
        let responses = item["response"].as_array().into_iter().flatten();
        let status = |response: &&Value| {
            let status = response["code"].as_u64()?;
            u16::try_from(status)
                .ok()
                .filter(|code| (200..400).contains(code))
        };
        let answer = responses.filter(|response| status(response).is_some());
        let answer = answer.min_by_key(status);
        let answer_headers = list(&answer.unwrap_or(&Value::Null)["header"]).into_iter();
        is_http.then(|| Saved {
            title,
            method: request["method"]
                .as_str()
                .unwrap_or("GET")
                .to_ascii_uppercase(),
            target,
            headers,
            body: self.body(&request["body"]),
            status: answer.as_ref().and_then(status).unwrap_or(200),
            answer_headers: answer_headers
                .map(|header| (text_of(&header["key"]), text_of(&header["value"])))
                .collect(),
            answer: text_of(&answer.unwrap_or(&Value::Null)["body"]),
        })
    }

    /// What is sent for credentials of the usual kinds.
    fn credentials(
        &self,
        auth: &Value,
        headers: &mut Vec<(String, Vec<Piece>)>,
        target: &mut Vec<Piece>,
    ) {
        let kind = auth["type"].as_str().unwrap_or_default();
        let of = |name: &str| {
            let mut list = auth[kind].as_array().into_iter().flatten();
            let found = list.find(|pair| pair["key"] == name);
            text_of(found.map_or(&auth[kind][name], |pair| &pair["value"]))
        };
        match kind {
            "bearer" => {
                let value = self.pieces(&format!("Bearer {}", of("token")));
                headers.push(("authorization".to_owned(), value));
            }
            "apikey" if of("in") == "query" => {
                let separator = if target
                    .iter()
                    .any(|piece| matches!(piece, Piece::Text(text) if text.contains('?')))
                {
                    '&'
                } else {
                    '?'
                };
                let key = format!("{separator}{}={}", of("key"), of("value"));
                target.extend(self.pieces(&key));
            }
            "apikey" => {
                let value = self.pieces(&of("value"));
                headers.push((of("key").to_ascii_lowercase(), value));
            }
            _ => {}
        }
    }

    fn body(&self, body: &Value) -> Body {
        let named = |list: &Value| {
            let list = list.as_array().into_iter().flatten();
            let list = list.filter(|field| field["disabled"] != true && field["key"].is_string());
            list.cloned().collect::<Vec<_>>()
        };
        match body["mode"].as_str().unwrap_or_default() {
            "raw" => {
                let text = text_of(&body["raw"]);
                let lines = text
                    .lines()
                    .filter(|line| !line.trim_start().starts_with("//"));
                let text: String = lines.collect::<Vec<_>>().join("\n");
                Body::Text(self.pieces(&without_blanks(&text)))
            }
            "urlencoded" => {
                let fields = named(&body["urlencoded"]).into_iter();
                let fields = fields.map(|field| {
                    (
                        text_of(&field["key"]),
                        self.pieces(&text_of(&field["value"])),
                    )
                });
                Body::Fields(fields.collect())
            }
            "formdata" => {
                let fields = named(&body["formdata"]).into_iter().map(|field| {
                    let is_file = field["type"] == "file";
                    let value = (!is_file).then(|| self.pieces(&text_of(&field["value"])));
                    (text_of(&field["key"]), value)
                });
                Body::Parts(fields.collect())
            }
            "graphql" => {
                let variables = text_of(&body["graphql"]["variables"]);
                Body::Json(serde_json::json!({
                    "query": text_of(&body["graphql"]["query"]),
                    "variables": serde_json::from_str::<Value>(&variables)
                        .unwrap_or(serde_json::json!({})),
                }))
            }
            "file" => Body::File,
            _ => Body::None,
        }
    }

    /// A text with the values of the variables that have one.
    fn pieces(&self, text: &str) -> Vec<Piece> {
        let mut text = text.to_owned();
        for _ in 0..MOST_HOPS {
            let mut next = text.clone();
            for (name, value) in &self.variables {
                next = next.replace(&format!("{{{{{name}}}}}"), value);
            }
            // One that is put together of itself has no end.
            if next == text || next.len() > 100_000 {
                break;
            }
            text = next;
        }
        let mut pieces = Vec::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once("{{")
            && let Some((name, after)) = after.split_once("}}")
        {
            pieces.push(Piece::Text(before.to_owned()));
            pieces.push(Piece::Variable(name.to_owned()));
            rest = after;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        pieces
    }

    /// Starts the service.
    #[must_use]
    pub fn start(self) -> Serving {
        let refusals = Refusals::default();
        let asked = Arc::new(Mutex::new(vec![false; self.saved.len()]));
        let titles = self.saved.iter().map(|saved| saved.title.clone()).collect();
        let (told, known) = (refusals.clone(), Arc::clone(&asked));
        let given: Mutex<HashMap<u64, String>> = Mutex::default();
        let server = Server::recording(move |request| {
            let mut given = given.lock().unwrap_or_else(PoisonError::into_inner);
            let given = given.entry(request.connection).or_default();
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            let differences = self
                .saved
                .iter()
                .map(|saved| self.difference(saved, request, given));
            let differences: Vec<_> = differences.collect();
            // Of several, that which says the most is meant.
            let fits = (0..self.saved.len()).filter(|number| differences[*number].is_none());
            let fits = fits.min_by_key(|number| self.saved[*number].variables());
            let Some(found) = fits else {
                let nearest = differences
                    .into_iter()
                    .flatten()
                    .min_by_key(|(rank, _)| *rank);
                let why = nearest.map_or_else(String::new, |(_, why)| why);
                let why = format!("{} {}: {why}", request.method, request.target);
                told.put(why.clone());
                return Reply::status(REFUSED).body(why);
            };
            known[found] = true;
            let saved = &self.saved[found];
            let number = request.connection + 1;
            let answer = self.fresh.fresh(&saved.answer, number);
            given.push_str(&answer);
            let mut reply = Reply::status(saved.status).body(answer);
            for (name, value) in &saved.answer_headers {
                let value = self.fresh.fresh(value, number);
                given.push(' ');
                given.push_str(&value);
                reply = reply.header(name, value);
            }
            reply
        });
        Serving {
            server,
            refusals,
            titles,
            asked,
        }
    }

    /// How a request differs from one of the collection, and how little they are alike.
    fn difference(&self, saved: &Saved, request: &Request, given: &str) -> Option<(u8, String)> {
        let may_be = |name: &str, value: &str| {
            // In JSON, a secret is always a string.
            let plain = value.trim_matches('"');
            let is_secret = self.secrets.iter().any(|secret| secret == plain);
            // What cannot be the name of a variable is sent as it is written.
            let is_literal = name.contains(['#', ' ']) && value == format!("{{{{{name}}}}}");
            let is_given = name.starts_with('$') || is_secret || given.contains(value);
            !value.is_empty() && (is_literal || is_given)
        };
        if request.method != saved.method {
            return Some((4, "no request is like it".to_owned()));
        }
        let wanted = saved.target.iter().map(|piece| match piece {
            Piece::Text(text) => Piece::Text(decoded(text, true)),
            variable @ Piece::Variable(_) => variable.clone(),
        });
        let wanted: Vec<_> = wanted.collect();
        if !fits(&decoded(&request.target, true), &wanted, &may_be) {
            return Some((3, format!("the target is not {wanted:?}")));
        }
        for (name, wanted) in &saved.headers {
            if !request.all(name).any(|value| fits(value, wanted, &may_be)) {
                let all = &request.headers;
                return Some((2, format!("`{name}` is not {wanted:?} in {all:?}")));
            }
        }
        let text = request.text();
        let is_same = match &saved.body {
            Body::None => text.is_empty(),
            Body::File => !text.is_empty(),
            Body::Text(wanted) => fits(&without_blanks(&text), wanted, &may_be),
            Body::Json(wanted) => {
                serde_json::from_str::<Value>(&text).is_ok_and(|json| json == *wanted)
            }
            Body::Fields(fields) => {
                let sent = pairs(&text);
                sent.len() == fields.len()
                    && fields.iter().zip(&sent).all(|((name, wanted), sent)| {
                        let value = sent.strip_prefix(&format!("{name}="));
                        value.is_some_and(|value| fits(value, wanted, &may_be))
                    })
            }
            Body::Parts(fields) => fields.iter().all(|(name, wanted)| {
                let Some((_, part)) = text.split_once(&format!("name=\"{name}\"")) else {
                    return false;
                };
                let (_, value) = part.split_once("\r\n\r\n").unwrap_or_default();
                let (value, _) = value.split_once("\r\n--").unwrap_or_default();
                wanted
                    .as_ref()
                    .is_none_or(|wanted| fits(value, wanted, &may_be))
            }),
        };
        (!is_same).then(|| (1, format!("the body is {text:?}, not {:?}", saved.body)))
    }
}

impl Saved {
    /// How many variables its target has.
    fn variables(&self) -> usize {
        let variables = self.target.iter();
        variables
            .filter(|piece| matches!(piece, Piece::Variable(_)))
            .count()
    }
}

impl Serving {
    /// The requests of the collection that nobody has sent.
    #[must_use]
    pub fn unasked(&self) -> Vec<&str> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let all = self.titles.iter().zip(asked.iter());
        all.filter(|(_, asked)| !**asked)
            .map(|(title, _)| title.as_str())
            .collect()
    }
}
