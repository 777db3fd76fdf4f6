//! Calls that change nothing: of k6, of JavaScript and of functions of the script.

use super::script::Script;
use super::value::{Data, DataKind, Js, Random, ResponsePart, show_number};
use crate::migration::find_between;
use crate::naming::field_name;
use crate::recording::{Feed, FeedOrder, FeedSource, Piece, RunValue};
use crate::source::Span;
use crate::syntax::{children_of, inner_of, part_of, span_of};
use crate::text::{form_encode, singular};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use std::rc::Rc;
use tree_sitter::Node;

/// What a call calls.
pub(super) enum Callee<'t, 's> {
    Value(Js<'t>),
    /// A method of a value.
    Method(Js<'t>, &'s str),
}

impl<'s, 't> Script<'s, 't> {
    /// Returns what a call calls.
    pub(super) fn callee(&mut self, node: Node<'t>, frame: usize) -> Option<Callee<'t, 's>> {
        let function = part_of(node, "function");
        let function = inner_of(function.or(part_of(node, "constructor"))?);
        let (Some(object), Some(name)) =
            (part_of(function, "object"), part_of(function, "property"))
        else {
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
        let list = part_of(node, "arguments");
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
                let frame = self.open_frame(function, at, this, &arguments, None);
                match self.returned(function, frame) {
                    Js::Unknown(_) => unknown,
                    value => value,
                }
            }
            Callee::Value(Js::Native(path)) => {
                let value = self.call_native(&path, &arguments, node);
                value.unwrap_or(unknown)
            }
            Callee::Value(_) => unknown,
            Callee::Method(object, name) => {
                let value = self.call_method(&object, name, &arguments);
                value.unwrap_or(unknown)
            }
        }
    }

    pub(super) fn arguments(&mut self, node: Node<'t>, frame: usize) -> Vec<Js<'t>> {
        let nodes = part_of(node, "arguments").map(children_of);
        let nodes = nodes.unwrap_or_default().into_iter();
        nodes.map(|node| self.value(node, frame)).collect()
    }

    /// Returns the value of a call of k6 or a library, as far as it is known.
    fn call_native(&mut self, path: &str, arguments: &[Js<'t>], node: Node<'t>) -> Option<Js<'t>> {
        let span = span_of(node);
        let first = arguments.first().cloned().unwrap_or(Js::Undefined);
        let second = arguments.get(1).cloned().unwrap_or(Js::Undefined);
        let with_kind = |data: &Data, kind: DataKind| {
            let data = data.clone();
            Js::Data(Data { kind, ..data })
        };
        Some(match (path, &first, &second) {
            ("JSON.stringify", value, _) => Js::Text(self.json_of_value(value)),
            ("JSON.parse", Js::Part(at, ResponsePart::Body), _) => Js::Json(*at, Vec::new()),
            ("JSON.parse", Js::Data(data), _) if data.kind == DataKind::Text => {
                with_kind(data, DataKind::Json)
            }
            ("open", Js::Text(_), _) => {
                let file = first.as_str()?;
                Js::Data(Data {
                    file: file.strip_prefix("./").unwrap_or(file).to_owned(),
                    kind: DataKind::Text,
                    field: None,
                })
            }
            ("papaparse.parse" | "Papa.parse", Js::Data(data), _) => {
                second
                    .get("header")
                    .and_then(Js::truth)
                    .filter(|has| *has)?;
                with_kind(data, DataKind::CsvParsed)
            }
            ("SharedArray", _, Js::Function(body, at, _)) => {
                let frame = self.open_frame(*body, *at, None, &[], None);
                self.returned(*body, frame)
            }
            ("metrics.Counter" | "metrics.Gauge" | "metrics.Rate" | "metrics.Trend", ..) => {
                let kind = path.trim_start_matches("metrics.").to_owned();
                Js::Metric(kind, first.as_str()?.to_owned())
            }
            ("FormData", ..) => Js::object(Vec::new()),
            // What k6 needs of a request changes nothing.
            (path, ..) if path.starts_with("http.") => Self::call_http(path, arguments)?,
            ("uuidv4" | "crypto.randomUUID", ..) => Js::Text(Piece::Run(RunValue::Uuid).into()),
            ("randomString", ..) => {
                let words =
                    "a random text is the same within a journey here, and has another length";
                self.migration.note_once(&span, words);
                Js::Text(Piece::Run(RunValue::Unique).into())
            }
            ("randomIntBetween", Js::Number(low), Js::Number(high)) => {
                Js::Random(Random::whole(*low, high + 1.0))
            }
            ("randomItem", Js::List(items), _) => {
                self.any_item(&items.clone(), FeedOrder::Random, node)
            }
            ("randomItem", Js::Data(data), _) => self.row(&data.clone(), FeedOrder::Random, &span),
            ("findBetween", Js::Part(at, ResponsePart::Body), Js::Text(_)) => {
                let after = arguments.get(2).and_then(Js::as_str)?;
                Js::Found(find_between(*at, second.as_str()?, after)?)
            }
            ("encoding.b64encode" | "b64encode", Js::Text(_), _) => {
                Js::text(BASE64_STANDARD.encode(first.as_str()?))
            }
            ("fail", ..) => Js::Undefined,
            (path, ..) if path.starts_with("console.") => Js::Undefined,
            _ => return self.call_language(path, arguments),
        })
    }

    /// Calls a function of JavaScript itself.
    fn call_language(&mut self, path: &str, arguments: &[Js<'t>]) -> Option<Js<'t>> {
        let first = arguments.first().cloned().unwrap_or(Js::Undefined);
        Some(match (path, &first) {
            ("Math.random", ..) => Js::Random(Random {
                low: 0.0,
                high: 1.0,
                is_whole: false,
            }),
            ("Math.floor" | "parseInt" | "Math.trunc" | "Number", Js::Index(_))
            | ("Math.floor" | "Math.round" | "Math.trunc" | "parseInt", Js::Counter(_)) => first,
            ("Math.floor" | "Math.trunc" | "parseInt", Js::Random(drawn)) => {
                Js::Random(Random::whole(drawn.low, drawn.high))
            }
            ("Math.ceil", Js::Random(drawn)) => {
                Js::Random(Random::whole(drawn.low + 1.0, drawn.high + 1.0))
            }
            ("Math.floor" | "Math.trunc" | "parseInt", value) => {
                Js::Number(value.as_number()?.trunc())
            }
            ("Number" | "parseFloat", value) => Js::Number(value.as_number()?),
            // Values of a run are encoded when they are sent.
            ("String" | "encodeURI", value) => Js::Text(self.text_of_value(value)),
            ("encodeURIComponent", value) => {
                let encode = |text: &str| form_encode(text).replace('+', "%20");
                Js::Text(self.text_of_value(value).map_literals(encode))
            }
            ("Object.assign", ..) => {
                let mut fields: Vec<(String, Js<'t>)> = Vec::new();
                for argument in arguments {
                    let Js::Object(more) = argument else {
                        return None;
                    };
                    for (name, value) in more.iter() {
                        fields.retain(|(known, _)| known != name);
                        fields.push((name.clone(), value.clone()));
                    }
                }
                Js::object(fields)
            }
            ("Date.now" | "now.getTime" | "now.valueOf", ..) => Js::Counter(RunValue::UnixMillis),
            ("Date", Js::Undefined) => Js::Native("now".to_owned()),
            ("now.toISOString", ..) => Js::Counter(RunValue::Now),
            _ => return None,
        })
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
        let feed = Feed::new(self.row_name(node), source, order);
        let number = self.migration.feed(format!("{:?}", span_of(node)), feed);
        Js::Row(number, None)
    }

    /// Returns a name for an item of the list that an expression takes it from: `user` of `users[0]`.
    fn row_name(&self, node: Node<'t>) -> String {
        let list = part_of(node, "arguments");
        let list = list.and_then(|list| children_of(list).into_iter().next());
        let list = part_of(node, "object").or(list).unwrap_or(node);
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
        let (low, high) = (low.floor() as i64, high.ceil() as i64 - 1);
        self.migration.number_feed("number", (low, high), order)
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
        let feed = Feed::new(singular(stem), source, order);
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
