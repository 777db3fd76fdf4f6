//! Calls of k6, of JavaScript and of functions of the script.

use super::expressions::member;
use super::interpreter::Interpreter;
use super::syntax::{children_of, inner_of, span_of};
use super::value::{Data, DataKind, Js, Part, show_number};
use crate::import::migration::find_between;
use crate::import::naming::field_name;
use crate::import::recording::{
    Feed, FeedOrder, FeedSource, Piece, RunValue, Runs, Text, UserValue,
};
use crate::import::text::{form_encode, singular};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use loadtest_model::definition::Think;
use std::time::Duration;
use tree_sitter::Node;

/// The longest pause, in seconds.
const LONGEST_PAUSE: f64 = 3600.0;

impl<'t> Interpreter<'_, 't> {
    /// Evaluates a call.
    pub(super) fn eval_call(&mut self, node: Node<'t>) -> Js<'t> {
        let unknown = Js::Unknown(span_of(node));
        let function = node.child_by_field_name("function");
        let Some(function) = function.or_else(|| node.child_by_field_name("constructor")) else {
            return unknown;
        };
        let function = inner_of(function);
        let list = node.child_by_field_name("arguments");
        if let Some(template) = list.filter(|list| list.kind() == "template_string") {
            let text = self.eval_template(template);
            return match self.text(function) {
                "http.url" => Js::Text(text),
                _ => unknown,
            };
        }
        let nodes = list.map(children_of).unwrap_or_default();
        if function.kind() == "member_expression"
            && let (Some(object), Some(name)) = (
                function.child_by_field_name("object"),
                function.child_by_field_name("property"),
            )
        {
            let object = self.eval(object);
            let name = self.text(name);
            return if let callee @ (Js::Native(_) | Js::Function(..)) =
                member(&object, name, function)
            {
                self.call(&callee, &nodes, node)
            } else {
                let arguments = self.eval_all(&nodes);
                self.call_method(&object, name, &arguments, node)
            };
        }
        let callee = self.eval(function);
        self.call(&callee, &nodes, node)
    }

    fn eval_all(&mut self, nodes: &[Node<'t>]) -> Vec<Js<'t>> {
        nodes.iter().map(|node| self.eval(*node)).collect()
    }

    fn call(&mut self, callee: &Js<'t>, nodes: &[Node<'t>], node: Node<'t>) -> Js<'t> {
        match callee {
            Js::Function(function, scope) => {
                let arguments = self.eval_all(nodes);
                self.call_function(*function, *scope, &arguments)
            }
            Js::Native(path) if path == "check" => self.call_check(nodes, node),
            Js::Native(path) => {
                let arguments = self.eval_all(nodes);
                self.call_native(path, &arguments, node)
            }
            _ => {
                self.eval_all(nodes);
                Js::Unknown(span_of(node))
            }
        }
    }

    fn call_native(&mut self, path: &str, arguments: &[Js<'t>], node: Node<'t>) -> Js<'t> {
        let span = span_of(node);
        let unknown = Js::Unknown(span.clone());
        let first = arguments.first().cloned().unwrap_or(Js::Undefined);
        let second = arguments.get(1).cloned().unwrap_or(Js::Undefined);
        if let Some(method) = path.strip_prefix("http.") {
            return self.call_http(method, arguments, node);
        }
        match (path, &first, &second) {
            ("group", Js::Text(_), Js::Function(body, scope)) => {
                let name = first.as_str().unwrap_or("group").trim().to_owned();
                self.transactions.push(name);
                let value = self.call_function(*body, *scope, &[]);
                self.transactions.pop();
                value
            }
            ("sleep", value, _) => self.call_sleep(value, node),
            ("JSON.stringify", value, _) => {
                let mut text = Text::default();
                self.json_of_value(value, &mut text);
                Js::Text(text)
            }
            ("JSON.parse", Js::Part(at, Part::Body), _) => Js::Json(*at, Vec::new()),
            ("JSON.parse", Js::Data(data), _) if data.kind == DataKind::Text => Js::Data(Data {
                kind: DataKind::Json,
                ..data.clone()
            }),
            ("open", Js::Text(_), _) => match first.as_str() {
                Some(file) => Js::Data(Data {
                    file: file.strip_prefix("./").unwrap_or(file).to_owned(),
                    kind: DataKind::Text,
                }),
                None => unknown,
            },
            ("papaparse.parse" | "Papa.parse", Js::Data(data), _) => {
                if second.get("header").and_then(Js::truth) != Some(true) {
                    return unknown;
                }
                Js::Data(Data {
                    kind: DataKind::CsvParsed,
                    ..data.clone()
                })
            }
            ("SharedArray", _, Js::Function(body, scope)) => {
                match self.call_function(*body, *scope, &[]) {
                    value @ (Js::Data(_) | Js::List(_)) => value,
                    _ => unknown,
                }
            }
            ("uuidv4" | "crypto.randomUUID", ..) => {
                Js::Text(Text::from_iter([Piece::User(UserValue::Uuid)]))
            }
            ("randomString", ..) => {
                let words = "a random text is one of the journey here, of another length";
                self.migration.note_once(&span, words);
                Js::Text(Text::from_iter([Piece::User(UserValue::Unique)]))
            }
            ("randomIntBetween", Js::Number(low), Js::Number(high)) => Js::Random {
                low: *low,
                high: high + 1.0,
                is_whole: true,
            },
            ("randomItem", Js::List(items), _) => {
                self.any_item(&items.clone(), FeedOrder::Random, node)
            }
            ("randomItem", Js::Data(data), _) => self.row(&data.clone(), FeedOrder::Random, &span),
            ("findBetween", Js::Part(at, Part::Body), Js::Text(_)) => {
                let after = arguments.get(2).and_then(Js::as_str);
                let between = second.as_str().zip(after);
                let found = between.and_then(|(before, after)| find_between(*at, before, after));
                found.map_or(unknown, Js::Found)
            }
            ("encoding.b64encode" | "b64encode", Js::Text(_), _) => match first.as_str() {
                Some(text) => Js::text(BASE64_STANDARD.encode(text)),
                None => unknown,
            },
            (path, ..) if path.starts_with("console.") => Js::Undefined,
            _ => self.call_language(path, arguments, node),
        }
    }

    /// Calls a function of JavaScript itself.
    fn call_language(&mut self, path: &str, arguments: &[Js<'t>], node: Node<'t>) -> Js<'t> {
        let unknown = Js::Unknown(span_of(node));
        let first = arguments.first().cloned().unwrap_or(Js::Undefined);
        match (path, &first) {
            ("Math.random", ..) => Js::Random {
                low: 0.0,
                high: 1.0,
                is_whole: false,
            },
            ("Math.floor" | "parseInt" | "Math.trunc" | "Number", Js::Index(order)) => {
                Js::Index(*order)
            }
            ("Math.floor" | "Math.round" | "Math.trunc" | "parseInt", Js::Counter(_)) => first,
            ("Math.floor" | "Math.trunc" | "parseInt", Js::Random { low, high, .. }) => {
                Js::Random {
                    low: low.floor(),
                    high: high.ceil(),
                    is_whole: true,
                }
            }
            ("Math.ceil", Js::Random { low, high, .. }) => Js::Random {
                low: low.floor() + 1.0,
                high: high.ceil() + 1.0,
                is_whole: true,
            },
            ("Math.floor" | "Math.trunc" | "parseInt", value) => value
                .as_number()
                .map_or(unknown, |number| Js::Number(number.trunc())),
            ("Math.ceil", Js::Number(number)) => Js::Number(number.ceil()),
            ("Math.round", Js::Number(number)) => Js::Number(number.round()),
            ("Number" | "parseFloat", value) => value.as_number().map_or(unknown, Js::Number),
            ("String", value) => Js::Text(self.text_of_value(value)),
            ("encodeURIComponent" | "encodeURI", value) => {
                // Values of a run are encoded when they are sent.
                let encode = |text: &str| match path {
                    "encodeURI" => text.to_owned(),
                    _ => form_encode(text).replace('+', "%20"),
                };
                Js::Text(self.text_of_value(value).map_literals(encode))
            }
            ("Object.assign", ..) => {
                let mut fields: Vec<(String, Js<'t>)> = Vec::new();
                for argument in arguments {
                    if !matches!(argument, Js::Object(_)) {
                        return unknown;
                    }
                    for (name, value) in argument.fields() {
                        fields.retain(|(known, _)| known != name);
                        fields.push((name.clone(), value.clone()));
                    }
                }
                Js::object(fields)
            }
            ("Date.now" | "now.getTime" | "now.valueOf", ..) => Js::Counter(RunValue::UnixMillis),
            ("Date", Js::Undefined) => Js::Native("now".to_owned()),
            ("now.toISOString", ..) => Js::Counter(RunValue::Now),
            _ => unknown,
        }
    }

    /// Returns an item of a list of texts, or of rows of texts.
    pub(super) fn any_item(
        &mut self,
        items: &[Js<'t>],
        order: FeedOrder,
        node: Node<'t>,
    ) -> Js<'t> {
        let texts: Option<Vec<String>> = items.iter().map(scalar_text).collect();
        let rows = items.iter().map(|item| {
            let fields = item.fields().iter();
            let row = fields.map(|(name, value)| Some((name.clone(), scalar_text(value)?)));
            row.collect::<Option<Vec<_>>>()
                .filter(|row| !row.is_empty())
        });
        let source = match (texts, rows.collect::<Option<Vec<_>>>()) {
            _ if items.is_empty() => return Js::Unknown(span_of(node)),
            (Some(texts), _) => FeedSource::Texts(texts),
            (None, Some(rows)) => FeedSource::Rows(rows),
            (None, None) => return Js::Unknown(span_of(node)),
        };
        let feed = Feed {
            name: self.row_name(node),
            source,
            order,
            stops: false,
        };
        let number = self.migration.feed(format!("{:?}", span_of(node)), feed);
        Js::Row(number, None)
    }

    /// Returns a name for an item of the list that an expression takes it from: `user` of `users[0]`.
    fn row_name(&self, node: Node<'t>) -> String {
        let list = node.child_by_field_name("arguments");
        let list = list.and_then(|list| children_of(list).into_iter().next());
        let list = node.child_by_field_name("object").or(list);
        let name = list.map_or("", |list| self.text(inner_of(list)));
        let word = name.rsplit('.').next().unwrap_or_default();
        let is_name = word.starts_with(|first: char| first.is_ascii_alphabetic());
        if is_name {
            singular(&field_name(word))
        } else {
            "item".to_owned()
        }
    }

    fn call_sleep(&mut self, value: &Js<'t>, node: Node<'t>) -> Js<'t> {
        let seconds = |number: f64| Duration::from_secs_f64(number.clamp(0.0, LONGEST_PAUSE));
        let (low, high) = match value {
            Js::Number(number) if number.is_finite() => (*number, *number),
            Js::Random {
                low,
                high,
                is_whole,
            } => (*low, if *is_whole { high - 1.0 } else { *high }),
            _ => return Js::Unknown(span_of(node)),
        };
        let (low, high) = (low.min(high), low.max(high));
        let scenario = self.migration.scenario_mut();
        let Some(last) = scenario
            .last_mut()
            .filter(|last| last.settings.runs != Runs::Last)
        else {
            return Js::Unknown(span_of(node));
        };
        let (min, max) = match last.settings.think {
            Some(Think::Uniform { min, max }) => (min, max),
            _ => (Duration::ZERO, Duration::ZERO),
        };
        let (min, max) = (min + seconds(low), max + seconds(high));
        last.settings.think = (max > Duration::ZERO).then_some(Think::Uniform { min, max });
        Js::Undefined
    }
}

/// Returns the text of a value that is the same in every run.
fn scalar_text(value: &Js<'_>) -> Option<String> {
    match value {
        Js::Text(_) => value.as_str().map(str::to_owned),
        Js::Number(number) => Some(show_number(*number)),
        _ => None,
    }
}
