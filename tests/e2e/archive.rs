//! The archive (HAR) of what a browser did, as its own network tools would write it.

use crate::browser::Browser;
use serde_json::{Value, json};
use std::collections::HashMap;

/// The bodies of answers that were asked for in time: a browser forgets those of earlier pages.
#[derive(Debug, Default)]
pub(crate) struct Bodies(HashMap<String, Value>);

impl Bodies {
    /// Asks for the bodies of all that has arrived since the last time.
    pub(crate) fn collect(&mut self, browser: &mut Browser) {
        let finished = browser.events().iter();
        let finished = finished.filter(|event| event["method"] == "Network.loadingFinished");
        let names: Vec<String> = finished
            .map(|event| text(&event["params"]["requestId"]))
            .collect();
        for name in names {
            if self.0.contains_key(&name) {
                continue;
            }
            // Some are kept by nobody, such as that of a beacon.
            let body = browser.ask("Network.getResponseBody", json!({ "requestId": &name }));
            self.0.extend(body.map(|body| (name, body)));
        }
    }
}

/// One request: a redirect is the end of one and the begin of another.
#[derive(Debug, Default)]
struct Hop {
    sent: Value,
    sent_headers: Value,
    answer: Value,
    answer_headers: Value,
    ended: f64,
    is_last: bool,
}

/// Makes the archive of all that happened since a page was opened.
pub(crate) fn archive(browser: &Browser, bodies: &Bodies) -> Value {
    let mut order: Vec<(String, usize)> = Vec::new();
    let mut requests: HashMap<String, Vec<Hop>> = HashMap::new();
    // What is told beside an event may come before it or after it, so it is counted.
    let mut told: HashMap<(String, &str), usize> = HashMap::new();
    let is_sent = |event: &&Value| event["method"] == "Network.requestWillBeSent";
    for event in browser.events().iter().filter(is_sent) {
        let params = &event["params"];
        let name = text(&params["requestId"]);
        let hops = requests.entry(name.clone()).or_default();
        if let Some(before) = hops.last_mut()
            && params["redirectResponse"].is_object()
        {
            before.answer = params["redirectResponse"].clone();
            before.ended = number(&params["timestamp"]);
        }
        order.push((name, hops.len()));
        hops.push(Hop {
            sent: params.clone(),
            ..Hop::default()
        });
    }
    for event in browser.events() {
        let params = &event["params"];
        let name = text(&params["requestId"]);
        let Some(hops) = requests.get_mut(&name) else {
            continue;
        };
        let mut nth = |what: &'static str| {
            let count = told.entry((name.clone(), what)).or_default();
            *count += 1;
            *count - 1
        };
        match event["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSentExtraInfo" => {
                if let Some(hop) = hops.get_mut(nth("request")) {
                    hop.sent_headers = params["headers"].clone();
                }
            }
            "Network.responseReceivedExtraInfo" => {
                if let Some(hop) = hops.get_mut(nth("answer")) {
                    hop.answer_headers = params["headers"].clone();
                }
            }
            "Network.responseReceived" => {
                if let Some(hop) = hops.last_mut() {
                    hop.answer = params["response"].clone();
                    hop.is_last = true;
                }
            }
            "Network.loadingFinished" => {
                if let Some(hop) = hops.last_mut() {
                    hop.ended = number(&params["timestamp"]);
                }
            }
            _ => {}
        }
    }
    let start = order
        .first()
        .map(|(name, _)| number(&requests[name][0].sent["wallTime"]));
    let entries: Vec<Value> = order
        .iter()
        .map(|(name, hop)| {
            entry(
                &requests[name][*hop],
                start.unwrap_or_default(),
                bodies.0.get(name),
            )
        })
        .collect();
    json!({ "log": {
        "version": "1.2",
        "creator": { "name": "WebInspector", "version": "537.36" },
        "pages": [],
        "entries": entries,
    } })
}

fn entry(hop: &Hop, start: f64, body: Option<&Value>) -> Value {
    let request = &hop.sent["request"];
    let since = number(&hop.sent["wallTime"]) - start;
    let time = (hop.ended - number(&hop.sent["timestamp"])).max(0.0) * 1000.0;
    let kind = text(&hop.sent["type"]).to_lowercase();
    // The browser tells those of a request twice: before it adds its own, and after.
    let headers = match &hop.sent_headers {
        Value::Null => &request["headers"],
        told => told,
    };
    let mut content = json!({ "size": 0, "mimeType": hop.answer["mimeType"] });
    if let Some(body) = body.filter(|_| hop.is_last) {
        content["text"] = body["body"].clone();
        if body["base64Encoded"] == true {
            content["encoding"] = json!("base64");
        }
    }
    let answer_headers = match &hop.answer_headers {
        Value::Null => &hop.answer["headers"],
        told => told,
    };
    let mut entry = json!({
        "_resourceType": kind,
        "_initiator": { "type": "other" },
        // Within an hour.
        "startedDateTime": format!("2026-03-01T10:{:02.0}:{:06.3}Z", (since / 60.0).floor(), since % 60.0),
        "time": time,
        "request": {
            "method": request["method"],
            "url": request["url"],
            "httpVersion": "HTTP/1.1",
            "headers": pairs(headers),
            "queryString": [],
            "cookies": [],
            "headersSize": -1,
            "bodySize": 0,
        },
        "response": {
            "status": hop.answer["status"].as_u64().unwrap_or(0),
            "statusText": "",
            "httpVersion": "HTTP/1.1",
            "headers": pairs(answer_headers),
            "cookies": [],
            "content": content,
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": -1,
            "_error": null,
        },
        "cache": {},
        "timings": { "blocked": -1, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": time, "receive": 0 },
    });
    if let Some(sent) = request["postData"].as_str() {
        let headers = entry["request"]["headers"]
            .as_array()
            .expect("headers")
            .iter();
        let mut types =
            headers.filter(|header| text(&header["name"]).eq_ignore_ascii_case("content-type"));
        let mime = types
            .next()
            .map_or(Value::Null, |header| header["value"].clone());
        entry["request"]["postData"] = json!({ "mimeType": mime, "text": sent });
    }
    entry
}

/// Headers as an archive lists them.
fn pairs(headers: &Value) -> Vec<Value> {
    let headers = headers.as_object().into_iter().flatten();
    headers
        .map(|(name, value)| json!({ "name": name, "value": value }))
        .collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}
