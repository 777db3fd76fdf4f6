//! A server that answers as somebody recorded it, but with values of its own wherever the recording has those of a
//! service: whoever sends a recorded value again is refused.

use crate::{Reply, Request, Server};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Headers of requests that are compared; all whose names begin with `x-` are, too.
const COMPARED: [&str; 3] = ["authorization", "if-match", "if-none-match"];
/// Headers of answers that are not sent again.
const OWN: [&str; 6] = [
    "connection",
    "content-encoding",
    "content-length",
    "date",
    "keep-alive",
    "transfer-encoding",
];
/// The status of a request that is not as it was recorded.
const REFUSED: u16 = 409;

/// What was recorded, and which of its values are other ones in each journey.
///
/// A value is given as it stands in the recording. Where it stands between other letters and digits it is left, so
/// that `42` is not looked for in `4200`.
#[derive(Debug, Clone, Default)]
pub struct Replay {
    origin: String,
    fresh: Vec<String>,
    exchanges: Vec<Replayed>,
}

/// A request and its answer, as they were recorded.
#[derive(Debug, Clone, Default)]
pub struct Replayed {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The headers; those that matter are compared, and of `cookie` that each is there.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
    /// The status of the answer.
    pub status: u16,
    /// Its headers.
    pub answer_headers: Vec<(String, String)>,
    /// Its body.
    pub answer: String,
}

/// Requests that were not as they were recorded, and why.
#[derive(Debug, Clone, Default)]
pub struct Refusals(Arc<Mutex<Vec<String>>>);

/// The journey of a connection: the values that it was given, and what it has sent.
#[derive(Debug, Clone)]
struct Journey {
    number: u64,
    sent: Vec<bool>,
}

/// A request in one spelling, so that two of them can be compared.
#[derive(Debug, Clone, PartialEq)]
struct Plain {
    method: String,
    target: Vec<String>,
    headers: Vec<(String, String)>,
    body: Vec<String>,
}

impl Replay {
    /// Nothing yet, of a service at this origin (`http://host`), with these values other ones in each journey.
    #[must_use]
    pub fn new(origin: &str, fresh: &[&str]) -> Self {
        let mut fresh: Vec<_> = fresh.iter().map(|value| (*value).to_owned()).collect();
        // Longer ones first: a short one may be a part of them.
        fresh.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self {
            origin: origin.to_owned(),
            fresh,
            exchanges: Vec::new(),
        }
    }

    /// The exchanges of an archive of a browser (HAR). Its values that are other ones in each journey are in the list
    /// `log._fresh`.
    ///
    /// # Panics
    /// Where it is none.
    #[must_use]
    pub fn of_har(text: &str) -> Self {
        let har: Value = serde_json::from_str(text).expect("an archive is JSON");
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let string = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let fresh: Vec<_> = list(&har["log"]["_fresh"]).iter().map(string).collect();
        let fresh: Vec<_> = fresh.iter().map(String::as_str).collect();
        let entries = list(&har["log"]["entries"]);
        let first = string(&entries.first().expect("an entry")["request"]["url"]);
        let mut replay = Self::new(&origin(&first), &fresh);
        for entry in &entries {
            let (request, response) = (&entry["request"], &entry["response"]);
            let headers = |message: &Value| {
                let pairs = list(&message["headers"]);
                let pairs = pairs
                    .iter()
                    .map(|pair| (string(&pair["name"]), string(&pair["value"])));
                pairs.collect::<Vec<_>>()
            };
            let url = string(&request["url"]);
            let Some(target) = url.strip_prefix(&replay.origin) else {
                continue;
            };
            replay.exchanges.push(Replayed {
                method: string(&request["method"]),
                target: target.to_owned(),
                headers: headers(request),
                body: string(&request["postData"]["text"]),
                status: response["status"]
                    .as_u64()
                    .and_then(|status| status.try_into().ok())
                    .expect("a status"),
                answer_headers: headers(response),
                answer: string(&response["content"]["text"]),
            });
        }
        replay
    }

    /// Adds an exchange.
    #[must_use]
    pub fn exchange(mut self, exchange: Replayed) -> Self {
        self.exchanges.push(exchange);
        self
    }

    /// Starts the server.
    #[must_use]
    pub fn start(self) -> (Server, Refusals) {
        let refusals = Refusals::default();
        let told = refusals.clone();
        let journeys: Mutex<(u64, HashMap<u64, Journey>)> = Mutex::default();
        let server = Server::recording(move |request| {
            let mut journeys = journeys.lock().unwrap_or_else(PoisonError::into_inner);
            let (number, of_connections) = &mut *journeys;
            let journey = of_connections.entry(request.connection);
            let journey = journey.or_insert_with(|| self.journey(number));
            match self.answered(request, journey, number) {
                Ok(reply) => reply,
                Err(why) => {
                    told.put(why.clone());
                    Reply::status(REFUSED).body(why)
                }
            }
        });
        (server, refusals)
    }

    fn journey(&self, number: &mut u64) -> Journey {
        *number += 1;
        Journey {
            number: *number,
            sent: vec![false; self.exchanges.len()],
        }
    }

    /// The answer to a request of a journey; why there is none.
    ///
    /// It is that of the first recorded request like it that was not sent yet. Where all were, another journey begins.
    fn answered(
        &self,
        request: &Request,
        journey: &mut Journey,
        number: &mut u64,
    ) -> Result<Reply, String> {
        let is = Plain::of(
            &request.method,
            &request.target,
            &request.headers,
            &request.text(),
        );
        let at = |journey: &Journey| {
            let wanted = self
                .exchanges
                .iter()
                .map(|exchange| self.wanted(exchange, journey.number, request));
            let fits: Vec<bool> = wanted
                .map(|wanted| wanted.difference(&is).is_none())
                .collect();
            let mut open = fits.iter().zip(&journey.sent);
            let first = open.position(|(fits, sent)| *fits && !sent);
            first.ok_or_else(|| fits.contains(&true))
        };
        let found = match at(journey) {
            Ok(found) => found,
            Err(true) => {
                let next = self.journey(number);
                let found = at(&next);
                *journey = next;
                found.map_err(|_| {
                    format!(
                        "{} {} belongs to a journey that is over",
                        is.method, request.target
                    )
                })?
            }
            Err(false) => return Err(self.refusal(request, &is, journey.number)),
        };
        journey.sent[found] = true;
        let exchange = &self.exchanges[found];
        let fresh = |text: &str| self.fresh(&self.at_home(text, request), journey.number);
        let mut reply = Reply::status(exchange.status).body(fresh(&exchange.answer));
        for (name, value) in &exchange.answer_headers {
            if !OWN.contains(&&*name.to_ascii_lowercase()) {
                reply = reply.header(name, fresh(value));
            }
        }
        Ok(reply)
    }

    /// What a recorded request has to be in a journey.
    fn wanted(&self, exchange: &Replayed, number: u64, request: &Request) -> Plain {
        let headers = exchange
            .headers
            .iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
        let headers: Vec<_> = headers.collect();
        let body = self.at_home(&exchange.body, request);
        let mut plain = Plain::of(&exchange.method, &exchange.target, &headers, &body);
        let texts = plain.target.iter_mut().chain(&mut plain.body);
        for text in texts.chain(plain.headers.iter_mut().map(|(_, value)| value)) {
            *text = self.fresh(text, number);
        }
        plain
    }

    /// Why a request is refused: how it differs from the recorded one that it is the most like.
    fn refusal(&self, request: &Request, is: &Plain, number: u64) -> String {
        let recorded = self
            .exchanges
            .iter()
            .map(|exchange| self.wanted(exchange, number, request));
        let differences = recorded.filter_map(|wanted| wanted.difference(is));
        let nearest = differences.min_by_key(|(rank, _)| *rank);
        let why = nearest.map_or_else(String::new, |(_, why)| why);
        format!("{} {}: {why}", request.method, request.target)
    }

    /// A text with the address of this server for that of the recorded one.
    fn at_home(&self, text: &str, request: &Request) -> String {
        let host = request.header("host").unwrap_or_default();
        text.replace(&self.origin, &format!("http://{host}"))
    }

    /// A text with the values of a journey.
    pub(crate) fn fresh(&self, text: &str, number: u64) -> String {
        let mut fresh = String::with_capacity(text.len());
        let mut rest = text;
        let mut before = None;
        while let Some(letter) = rest.chars().next() {
            let value = self.fresh.iter().enumerate().find(|(_, value)| {
                let is_part = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
                let after = rest
                    .strip_prefix(value.as_str())
                    .map(|rest| rest.chars().next());
                after.is_some_and(|after| !is_part(before) && !is_part(after))
            });
            let taken = if let Some((place, value)) = value {
                fresh.push_str(&another(value, number * 1000 + place as u64));
                value.len()
            } else {
                fresh.push(letter);
                letter.len_utf8()
            };
            before = rest[..taken].chars().next_back();
            rest = &rest[taken..];
        }
        fresh
    }
}

impl Refusals {
    pub(crate) fn put(&self, why: String) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(why);
    }

    /// What was refused so far.
    #[must_use]
    pub fn told(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Plain {
    fn of(method: &str, target: &str, headers: &[(String, String)], body: &str) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let segments = path.split('/').map(|segment| decoded(segment, false));
        let content_type = headers.iter().find(|(name, _)| name == "content-type");
        let content_type = content_type.map_or("", |(_, value)| value.as_str());
        let compared = headers.iter().filter(|(name, _)| {
            COMPARED.contains(&&**name) || name.starts_with("x-") || name == "cookie"
        });
        Self {
            method: method.to_owned(),
            target: segments.chain(pairs(query)).collect(),
            headers: compared.cloned().collect(),
            body: match serde_json::from_str::<Value>(body) {
                Ok(json) => vec![json.to_string()],
                Err(_) if content_type.starts_with("application/x-www-form-urlencoded") => {
                    pairs(body)
                }
                Err(_) => vec![body.to_owned()],
            },
        }
    }

    /// How another one differs, and how much alike they are: the less, the more.
    fn difference(&self, is: &Self) -> Option<(u8, String)> {
        if self.method != is.method || self.target.len() != is.target.len() {
            return Some((4, "nothing like it was recorded".to_owned()));
        }
        if self.target != is.target {
            return Some((
                3,
                format!("the target is {:?}, not {:?}", is.target, self.target),
            ));
        }
        if self.body != is.body {
            return Some((1, format!("the body is {:?}, not {:?}", is.body, self.body)));
        }
        let lacks = self.headers.iter().find(|(name, value)| {
            let mut values = is.headers.iter().filter(|(other, _)| other == name);
            !values.any(|(_, is)| {
                if name == "cookie" {
                    has_cookies(is, value)
                } else {
                    is == value
                }
            })
        });
        lacks.map(|(name, value)| {
            (
                2,
                format!("the header `{name}` is not {value:?} but {:?}", is.headers),
            )
        })
    }
}

fn has_cookies(is: &str, wanted: &str) -> bool {
    let mut wanted = wanted.split("; ");
    wanted.all(|wanted| is.split("; ").any(|is| is == wanted))
}

/// `http://host:port` of a URL.
pub(crate) fn origin(url: &str) -> String {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..].find('/').map_or(url.len(), |at| host + at);
    url[..end].to_owned()
}

/// The pairs of a form or a query, decoded.
pub(crate) fn pairs(text: &str) -> Vec<String> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| decoded(pair, true)).collect()
}

pub(crate) fn decoded(text: &str, is_form: bool) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let code = code.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        rest = match (first, code) {
            (b'%', Some(code)) => {
                bytes.push(code);
                &after[2..]
            }
            (b'+', _) if is_form => {
                bytes.push(b' ');
                after
            }
            _ => {
                bytes.push(*first);
                after
            }
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Another value of the same shape: digits for digits, letters for letters, so that it is read as the first one was.
fn another(value: &str, seed: u64) -> String {
    let mut state = seed;
    let is_hexadecimal = value
        .chars()
        .all(|letter| !letter.is_alphanumeric() || letter.is_ascii_hexdigit());
    let letters = if is_hexadecimal { 6 } else { 26 };
    let is_short = value.len() <= 4 && value.bytes().all(|byte| byte.is_ascii_digit());
    let mut other = String::new();
    for letter in value.chars() {
        // https://prng.di.unimi.it/splitmix64.c
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let pick = |from: u8, many: u64| char::from(from + u8::try_from(mixed % many).unwrap_or(0));
        other.push(match letter {
            '0'..='9' if other.is_empty() => pick(b'1', 9),
            '0'..='9' => pick(b'0', 10),
            'a'..='z' => pick(b'a', letters),
            'A'..='Z' => pick(b'A', letters),
            other => other,
        });
    }
    // There are not many short numbers: a longer one is like no other.
    if is_short {
        return format!("{other}{:05}", seed % 100_000);
    }
    other
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    fn request(connection: u64, line: &str, headers: &[(&str, &str)], body: &str) -> Request {
        let (method, target) = line.split_once(' ').expect("a method and a target");
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Request {
            method: method.to_owned(),
            target: target.to_owned(),
            path: target.split('?').next().unwrap_or_default().to_owned(),
            headers: headers
                .chain([("host".to_owned(), "here".to_owned())])
                .collect(),
            body: body.as_bytes().to_vec(),
            arrived: Instant::now(),
            sequence: 0,
            connection,
        }
    }

    fn replayed(line: &str, headers: &[(&str, &str)], body: &str, answer: &str) -> Replayed {
        let (method, target) = line.split_once(' ').expect("a method and a target");
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Replayed {
            method: method.to_owned(),
            target: target.to_owned(),
            headers: headers.collect(),
            body: body.to_owned(),
            status: 200,
            answer: answer.to_owned(),
            ..Replayed::default()
        }
    }

    #[test]
    fn only_the_values_of_the_journey_are_accepted() {
        let replay = Replay::new("http://shop", &["tok-8s", "42"])
            .exchange(replayed(
                "POST /login",
                &[],
                "{\"u\":1}",
                "{\"token\":\"tok-8s\",\"id\":42,\"price\":4200,\"self\":\"http://shop/a\"}",
            ))
            .exchange(replayed(
                "GET /orders/42?t=tok-8s",
                &[("X-Token", "tok-8s")],
                "",
                "ok 42",
            ));
        let mut number = 0;
        let mut journey = replay.journey(&mut number);
        let mut send = |line: &str, headers: &[(&str, &str)], body: &str| {
            replay
                .answered(&request(0, line, headers, body), &mut journey, &mut number)
                .map(|reply| format!("{reply:?}"))
        };
        let login = send(
            "POST /login",
            &[("content-type", "application/json")],
            "{ \"u\" : 1 }",
        );
        assert!(login.is_ok());
        let (token, id) = (replay.fresh("tok-8s", 1), replay.fresh("42", 1));
        assert!(
            token != "tok-8s" && token.len() == 6 && id != "42",
            "{token} {id}"
        );
        assert_eq!(replay.fresh("4200 a42 42", 1), format!("4200 a42 {id}"));
        let own = format!("GET /orders/{id}?t={token}");
        let refused = send("GET /orders/42?t=tok-8s", &[("x-token", "tok-8s")], "")
            .expect_err("the recorded values");
        assert!(refused.contains("the target is"), "{refused}");
        assert!(send(&own, &[("x-token", "tok-8s")], "").is_err());
        assert!(send(&own, &[], "").is_err());
        assert!(send(&own, &[("x-token", &token)], "").is_ok());
        // Another journey has other values.
        assert!(send("POST /login", &[], "{\"u\":1}").is_ok());
        assert!(send(&own, &[("x-token", &token)], "").is_err());
        let (token, id) = (replay.fresh("tok-8s", 2), replay.fresh("42", 2));
        assert!(
            send(
                &format!("GET /orders/{id}?t={token}"),
                &[("x-token", &token)],
                ""
            )
            .is_ok()
        );
        assert!(send("POST /login", &[], "{\"u\":2}").is_err());
        assert!(send("POST /nowhere", &[], "").is_err());
    }
}
