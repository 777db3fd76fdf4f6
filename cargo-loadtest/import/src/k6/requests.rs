//! Calls of `http`: requests.

use super::conditions::ranges_of;
use super::script::Script;
use super::value::{Js, Test};
use crate::recording::{Body, Exchange, Header, PLACEHOLDER, Part, Text};
use crate::source::Span;
use crate::syntax::{part_of, span_of};
use crate::text::{form_encode, is_token};
use std::collections::BTreeSet;
use std::time::Duration;
use tree_sitter::Node;

/// Parameters of a request that change nothing that is sent.
const SILENT: [&str; 3] = ["responseType", "tags", "responseCallback"];

/// A file of a form.
const FILE: &str = "\u{1}file";

impl<'t> Script<'_, 't> {
    /// Adds the requests of a call, and returns their answers.
    pub(super) fn send_call(
        &mut self,
        method: &str,
        arguments: &[Js<'t>],
        node: Node<'t>,
        site: &Span,
    ) -> Js<'t> {
        self.seen.insert(node.id());
        let mut arguments = arguments.iter().cloned();
        let mut next = || arguments.next().unwrap_or(Js::Undefined);
        let (method, url, body) = match method {
            "batch" => return self.send_batch(&next(), node, site),
            "request" | "asyncRequest" => (next(), next(), next()),
            "get" | "head" => (Js::text(method), next(), Js::Undefined),
            "del" => (Js::text("delete"), next(), next()),
            method => (Js::text(method), next(), next()),
        };
        if let Some(method) = method.as_str().filter(|method| is_token(method)) {
            let method = method.to_ascii_uppercase();
            return self.send(&method, &url, &body, &next(), node, site);
        }
        self.leave_code(node, "this request (its method is not known)");
        Js::Unknown(span_of(node))
    }

    /// Makes what a request needs.
    pub(super) fn call_http(path: &str, arguments: &[Js<'t>]) -> Option<Js<'t>> {
        let argument = |at: usize| arguments.get(at).cloned().unwrap_or(Js::Undefined);
        Some(match path {
            "http.expectedStatuses" => {
                Js::Tests(vec![(0, Test::Status(read_statuses(arguments)?))])
            }
            "http.file" => Js::object(vec![
                (FILE.to_owned(), argument(0)),
                ("name".to_owned(), argument(1)),
                ("type".to_owned(), argument(2)),
            ]),
            _ => return None,
        })
    }

    fn send_batch(&mut self, requests: &Js<'t>, node: Node<'t>, site: &Span) -> Js<'t> {
        let words = "the requests of a batch are sent one after another here";
        let (is_object, entries) = match requests {
            Js::Object(fields) => (true, fields.iter().cloned().collect::<Vec<_>>()),
            Js::List(items) => {
                let items = items.iter().cloned();
                (false, items.map(|item| (String::new(), item)).collect())
            }
            _ => {
                self.leave_code(node, "this batch");
                return Js::Unknown(span_of(node));
            }
        };
        self.migration.note_once(site, words);
        let answers = entries.into_iter().map(|(name, entry)| {
            let part = |name: &str, at: usize| match &entry {
                Js::Object(_) => entry.get(name).cloned(),
                _ => entry.items().get(at).cloned(),
            };
            let (url, method) = match &entry {
                Js::List(_) | Js::Object(_) => (part("url", 1), part("method", 0)),
                url => (Some(url.clone()), None),
            };
            let method = match method {
                Some(method) => method.as_str().unwrap_or_default().to_ascii_uppercase(),
                None => "GET".to_owned(),
            };
            let (body, params) = (part("body", 2), part("params", 3));
            let [url, body, params] = [url, body, params].map(|part| part.unwrap_or(Js::Undefined));
            let answer = if is_token(&method) {
                self.send(&method, &url, &body, &params, node, site)
            } else {
                Js::Unknown(span_of(node))
            };
            (name, answer)
        });
        let answers: Vec<_> = answers.collect();
        if is_object {
            return Js::object(answers);
        }
        Js::list(answers.into_iter().map(|(_, answer)| answer).collect())
    }

    /// Adds a request, and returns its answer.
    fn send(
        &mut self,
        method: &str,
        url: &Js<'t>,
        body: &Js<'t>,
        params: &Js<'t>,
        node: Node<'t>,
        site: &Span,
    ) -> Js<'t> {
        let mut exchange = Exchange {
            span: site.clone(),
            method: method.to_owned(),
            redirects: self.redirects,
            ..Exchange::default()
        };
        let text = self.text_of_value(url);
        if let Err(reason) = self.migration.set_url(&mut exchange, &text) {
            self.leave_code(node, &format!("this request ({reason})"));
            return Js::Unknown(span_of(node));
        }
        exchange.settings.runs = self.runs;
        exchange.settings.after = self.after;
        let transaction = self.transactions.join(" / ");
        exchange.settings.transaction = Some(transaction).filter(|name| !name.is_empty());
        self.set_params(&mut exchange, params);
        self.set_body(&mut exchange, body);
        let agent = self.user_agent.as_deref();
        let agent = agent.filter(|_| exchange.header("user-agent").is_none());
        let agent = agent.map(|agent| Header::new("User-Agent", agent));
        exchange.headers.extend(agent);
        Js::Response(self.migration.push(exchange))
    }

    fn set_params(&mut self, exchange: &mut Exchange, params: &Js<'t>) {
        let fields = match params {
            Js::Object(fields) => fields.clone(),
            Js::Undefined | Js::Null => return,
            _ => {
                let words = "its parameters are computed by code: headers and similar are left out";
                self.migration.note(&exchange.span, words);
                return;
            }
        };
        for (name, value) in fields.iter() {
            match (name.as_str(), value) {
                ("headers", Js::Object(headers)) => {
                    for (name, value) in headers.iter() {
                        let value = self.text_of_value(value);
                        exchange.headers.push(Header::new(name.clone(), value));
                    }
                }
                ("cookies", Js::Object(cookies)) => {
                    let mut text = Text::default();
                    for (name, value) in cookies.iter() {
                        let value = value.get("value").unwrap_or(value);
                        text.push_pair("; ", name, self.text_of_value(value));
                    }
                    exchange.headers.push(Header::new("Cookie", text));
                }
                ("timeout", value) => exchange.timeout = read_duration(value),
                ("redirects", Js::Number(number)) => {
                    exchange.redirects = number.clamp(0.0, 50.0) as u32;
                }
                ("responseCallback", Js::Tests(tests)) => {
                    if let Some((_, Test::Status(statuses))) = tests.first() {
                        exchange.settings.statuses = ranges_of(statuses);
                    }
                }
                ("tags", Js::Object(tags)) => {
                    for (name, value) in tags.iter() {
                        let value = self.text_of_value(value);
                        match (name.as_str(), value.as_literal()) {
                            ("name", Some(value)) => exchange.name = Some(value.to_owned()),
                            (name, Some(value)) => {
                                exchange.settings.tags.push(format!("{name}:{value}"));
                            }
                            _ => {}
                        }
                    }
                }
                (name, _) if SILENT.contains(&name) => {}
                (name, value) => {
                    if !matches!(value, Js::Undefined | Js::Null) {
                        let words = format!("`{name}` of its parameters is not imported");
                        self.migration.note(&exchange.span, words);
                    }
                }
            }
        }
        exchange.settings.tags.sort();
        exchange.settings.tags.dedup();
    }

    fn set_body(&mut self, exchange: &mut Exchange, body: &Js<'t>) {
        match body {
            Js::Undefined | Js::Null => {}
            Js::Object(fields) if fields.iter().any(|(_, value)| value.get(FILE).is_some()) => {
                let parts = fields
                    .iter()
                    .map(|(name, value)| self.form_part(name, value));
                exchange.body = Body::Multipart(parts.collect());
                let words = "the script does not have the files, so placeholders are sent";
                self.migration.note(&exchange.span, words);
            }
            Js::Object(fields) => {
                let mut text = Text::default();
                for (name, value) in fields.iter() {
                    let values = match value {
                        Js::List(items) => items.to_vec(),
                        value => vec![value.clone()],
                    };
                    for value in values {
                        let value = self.text_of_value(&value).map_literals(form_encode);
                        text.push_pair("&", &form_encode(name), value);
                    }
                }
                exchange.imply_form();
                exchange.body = Body::Text(text);
            }
            Js::Data(data) => {
                let words = format!(
                    "the body is the file `{}`: a placeholder is sent",
                    data.file
                );
                self.migration.note(&exchange.span, words);
                exchange.body = Body::Text(Text::literal(PLACEHOLDER));
            }
            body => {
                exchange.body = Body::Text(self.text_of_value(body));
            }
        }
    }

    fn form_part(&mut self, name: &str, value: &Js<'t>) -> Part {
        let text = |value: Option<&Js<'t>>| value.and_then(Js::as_str).map(str::to_owned);
        match value.get(FILE) {
            None => Part {
                name: Text::literal(name),
                content: self.text_of_value(value),
                ..Part::default()
            },
            Some(content) => {
                let file_name = text(value.get("name")).unwrap_or_else(|| "file".to_owned());
                let mut part = Part::placeholder(name, file_name);
                part.content_type = text(value.get("type"));
                if let Js::Text(text) = content {
                    part.content = text.clone();
                }
                part
            }
        }
    }
}

/// Returns the place of a call without its arguments.
pub(super) fn head_of(node: Node<'_>) -> Span {
    let arguments = part_of(node, "arguments");
    let end = arguments.map_or(node.end_byte(), |list| list.start_byte());
    node.start_byte()..end
}

/// Reads statuses: `200`, or `{ min: 200, max: 299 }`.
pub(super) fn read_statuses(values: &[Js<'_>]) -> Option<BTreeSet<u16>> {
    let mut statuses = BTreeSet::new();
    for value in values {
        let read = |value: &Js<'_>| {
            let status = value.as_number()?;
            (100.0..600.0).contains(&status).then_some(status as u16)
        };
        let (min, max) = match value {
            Js::Object(_) => (value.get("min")?, value.get("max")?),
            value => (value, value),
        };
        statuses.extend(read(min)?..=read(max)?);
    }
    Some(statuses)
}

/// Reads a time such as `1m30s`, or a number of milliseconds.
pub(super) fn read_duration(value: &Js<'_>) -> Option<Duration> {
    let seconds = if let Js::Number(millis) = value {
        millis / 1e3
    } else {
        let time: jiff::Span = value.as_str()?.trim().parse().ok()?;
        let time = time
            .to_duration(jiff::SpanRelativeTo::days_are_24_hours())
            .ok()?;
        time.as_secs_f64()
    };
    (0.0..1e8)
        .contains(&seconds)
        .then(|| Duration::from_secs_f64(seconds))
}
