//! Calls that change nothing: of k6, of JavaScript and of functions of the script.

use super::script::Script;
use super::syntax::{children_of, inner_of, span_of};
use super::value::{Data, DataKind, Js, Part, show_number};
use crate::import::migration::find_between;
use crate::import::naming::field_name;
use crate::import::recording::{Feed, FeedOrder, FeedSource, Piece, RunValue, Text, UserValue};
use crate::import::source::Span;
use crate::import::text::{form_encode, singular};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use std::rc::Rc;
use tree_sitter::Node;

/// Most numbers that a feed has.
const MOST_NUMBERS: f64 = 1e6;

/// What a call calls.
pub(super) enum Callee<'t, 's> {
    Value(Js<'t>),
    /// A method of a value.
    Method(Js<'t>, &'s str),
}

impl<'s, 't> Script<'s, 't> {
    /// Returns what a call calls.
    pub(super) fn callee(&mut self, node: Node<'t>, frame: usize) -> Option<Callee<'t, 's>> {
        let function = node.child_by_field_name("function");
        let function = inner_of(function.or(node.child_by_field_name("constructor"))?);
        let field = |name: &str| function.child_by_field_name(name);
        let (Some(object), Some(name)) = (field("object"), field("property")) else {
            return Some(Callee::Value(self.value(function, frame)));
        };
        let object = self.value(object, frame);
        let name = self.text(name);
        Some(match self.member(&object, name, function) {
            Js::Function(method, at, None) if method.kind() != "arrow_function" => {
                Callee::Value(Js::Function(method, at, Some(Rc::new(object))))
            }
            value @ (Js::Function(..) | Js::Class(..) | Js::Native(_)) => Callee::Value(value),
            _ => Callee::Method(object, name),
        })
    }

    /// Returns the value of a call that changes nothing.
    pub(super) fn call_value(&mut self, node: Node<'t>, frame: usize) -> Js<'t> {
        let unknown = Js::Unknown(span_of(node));
        let Some(callee) = self.callee(node, frame) else {
            return unknown;
        };
        let list = node.child_by_field_name("arguments");
        if let Some(template) = list.filter(|list| list.kind() == "template_string") {
            return match callee {
                Callee::Value(Js::Native(path)) if path == "http.url" => {
                    Js::Text(self.template(template, frame))
                }
                _ => unknown,
            };
        }
        let arguments = self.arguments(node, frame);
        match callee {
            Callee::Value(Js::Function(function, at, this)) => {
                let this = this.map(|this| (*this).clone());
                let frame = self.open_frame(function, at, this, &arguments, None);
                match self.returned(function, frame) {
                    Js::Unknown(_) => unknown,
                    value => value,
                }
            }
            Callee::Value(Js::Native(path)) => self.call_native(&path, &arguments, node),
            Callee::Value(_) => unknown,
            Callee::Method(object, name) => self.call_method(&object, name, &arguments, node),
        }
    }

    pub(super) fn arguments(&mut self, node: Node<'t>, frame: usize) -> Vec<Js<'t>> {
        let nodes = node.child_by_field_name("arguments").map(children_of);
        let nodes = nodes.unwrap_or_default().into_iter();
        nodes.map(|node| self.value(node, frame)).collect()
    }

    pub(super) fn call_native(
        &mut self,
        path: &str,
        arguments: &[Js<'t>],
        node: Node<'t>,
    ) -> Js<'t> {
        let span = span_of(node);
        let unknown = Js::Unknown(span.clone());
        let first = arguments.first().cloned().unwrap_or(Js::Undefined);
        let second = arguments.get(1).cloned().unwrap_or(Js::Undefined);
        match (path, &first, &second) {
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
                    field: None,
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
            ("SharedArray", _, Js::Function(body, at, _)) => {
                let frame = self.open_frame(*body, *at, None, &[], None);
                self.returned(*body, frame)
            }
            ("metrics.Counter" | "metrics.Gauge" | "metrics.Rate" | "metrics.Trend", ..) => {
                let kind = path.trim_start_matches("metrics.").to_owned();
                first
                    .as_str()
                    .map_or(unknown, |name| Js::Metric(kind, name.to_owned()))
            }
            ("FormData", ..) => Js::object(Vec::new()),
            // What k6 needs of a request changes nothing.
            (path, ..) if path.starts_with("http.") => Self::call_http(path, arguments, node),
            ("uuidv4" | "crypto.randomUUID", ..) => {
                Js::Text(Text::from_iter([Piece::User(UserValue::Uuid)]))
            }
            ("randomString", ..) => {
                let words =
                    "a random text is the same within a journey here, and has another length";
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
            ("fail", ..) => Js::Undefined,
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
            ("Object.keys" | "Object.values" | "Object.entries", Js::Object(fields)) => {
                let items = fields.iter().map(|(name, value)| match path {
                    "Object.keys" => Js::text(name),
                    "Object.values" => value.clone(),
                    _ => Js::list(vec![Js::text(name), value.clone()]),
                });
                Js::list(items.collect())
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
        let list = node.child_by_field_name("object").or(list).unwrap_or(node);
        let name = self.text(inner_of(list));
        let word = name.rsplit('.').next().unwrap_or_default();
        let is_name = word.starts_with(|first: char| first.is_ascii_alphabetic());
        if is_name {
            singular(&field_name(word))
        } else {
            "item".to_owned()
        }
    }

    /// Returns any of several values in turn, such as those of a loop.
    pub(super) fn any_of(&mut self, list: &Js<'t>, node: Node<'t>) -> Js<'t> {
        match list {
            Js::List(items) => match self.any_item(&items.clone(), FeedOrder::Sequential, node) {
                Js::Unknown(span) => items.first().cloned().unwrap_or(Js::Unknown(span)),
                row => row,
            },
            Js::Data(data) => self.row(&data.clone(), FeedOrder::Sequential, &span_of(node)),
            json => self.item(json, &Js::Number(0.0), node),
        }
    }

    /// Returns the number of a feed of whole numbers, the last one not included.
    pub(super) fn number_feed(&mut self, low: f64, high: f64, order: FeedOrder) -> Option<usize> {
        let is_fit = low.abs() < 1e12 && high > low && high - low <= MOST_NUMBERS;
        is_fit.then_some(())?;
        let (low, high) = (low.floor() as i64, high.ceil() as i64 - 1);
        let feed = Feed {
            name: "number".to_owned(),
            source: FeedSource::Numbers(low, high),
            order,
            stops: false,
        };
        Some(
            self.migration
                .feed(format!("{low}..{high} {order:?}"), feed),
        )
    }

    /// Returns a row of a file, whose draw is at this place.
    pub(super) fn row(&mut self, data: &Data, order: FeedOrder, span: &Span) -> Js<'t> {
        let source = match data.kind {
            DataKind::Csv => FeedSource::Csv(data.file.clone()),
            DataKind::Json => match &data.field {
                None => FeedSource::Json(data.file.clone()),
                Some(field) => FeedSource::JsonField(data.file.clone(), field.clone()),
            },
            DataKind::Text | DataKind::CsvParsed => return Js::Unknown(span.clone()),
        };
        let file = data.file.rsplit(['/', '\\']).next().unwrap_or_default();
        let stem = file.split('.').next().unwrap_or_default();
        let stem = data.field.as_deref().unwrap_or(stem);
        let feed = Feed {
            name: singular(stem),
            source,
            order,
            stops: false,
        };
        Js::Row(self.migration.feed(format!("{span:?}"), feed), None)
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
