//! Expressions: their values, as far as they are known.

#![expect(
    clippy::float_cmp,
    reason = "numbers of the input are compared as they are written"
)]

use super::conditions::tests_of;
use super::interpreter::Interpreter;
use super::syntax::{children_of, inner_of, span_of, string_value, unescape};
use super::value::{Data, DataKind, Js, Part, show_number};
use crate::import::recording::{FeedOrder, Key, Origin, RunValue, Text};
use tree_sitter::Node;

/// The longest text, in bytes.
const LONGEST: usize = 256 * 1024;
/// Most items and fields of a value.
const MOST_ITEMS: usize = 10_000;
/// What scripts have without importing it.
const GLOBALS: [&str; 21] = [
    "Array",
    "Date",
    "JSON",
    "Math",
    "Number",
    "Object",
    "String",
    "__ENV",
    "__ITER",
    "__VU",
    "console",
    "encodeURI",
    "encodeURIComponent",
    "open",
    "parseFloat",
    "parseInt",
    "SharedArray",
    "FormData",
    "Boolean",
    "Infinity",
    "NaN",
];

impl<'t> Interpreter<'_, 't> {
    /// Evaluates an expression.
    pub(super) fn eval(&mut self, node: Node<'t>) -> Js<'t> {
        if !self.may_go_on() {
            return Js::Unknown(span_of(node));
        }
        self.depth += 1;
        let node = inner_of(node);
        let value = self.eval_node(node);
        self.depth -= 1;
        let is_too_large = match &value {
            Js::Text(text) => text.pieces().len() > MOST_ITEMS || text.start().len() > LONGEST,
            Js::List(items) => items.len() > MOST_ITEMS,
            Js::Object(fields) => fields.len() > MOST_ITEMS,
            _ => false,
        };
        if is_too_large {
            return Js::Unknown(span_of(node));
        }
        value
    }

    fn eval_node(&mut self, node: Node<'t>) -> Js<'t> {
        let unknown = || Js::Unknown(span_of(node));
        let field = |name: &str| node.child_by_field_name(name);
        match node.kind() {
            "string" => Js::text(string_value(node, self.source)),
            "template_string" => Js::Text(self.eval_template(node)),
            "number" => read_number(self.text(node)).map_or_else(unknown, Js::Number),
            "true" => Js::Bool(true),
            "false" => Js::Bool(false),
            "null" => Js::Null,
            "undefined" => Js::Undefined,
            "identifier" => self.eval_name(node),
            "object" => self.eval_object(node),
            "array" => self.eval_list(node),
            "arrow_function"
            | "function_expression"
            | "function_declaration"
            | "method_definition" => Js::Function(node, self.scope),
            "member_expression" => {
                let (Some(object), Some(property)) = (field("object"), field("property")) else {
                    return unknown();
                };
                let object = self.eval(object);
                member(&object, self.text(property), node)
            }
            "subscript_expression" => {
                let (Some(object), Some(index)) = (field("object"), field("index")) else {
                    return unknown();
                };
                let (object, index) = (self.eval(object), self.eval(index));
                self.item(&object, &index, node)
            }
            "call_expression" | "new_expression" => self.eval_call(node),
            "binary_expression" => self.eval_binary(node),
            "unary_expression" => {
                let Some(argument) = field("argument") else {
                    return unknown();
                };
                let value = self.eval(argument);
                match (field("operator").map(|sign| self.text(sign)), value) {
                    (Some("-"), Js::Number(number)) => Js::Number(-number),
                    (Some("+"), value) => value.as_number().map_or_else(unknown, Js::Number),
                    (Some("!"), Js::Fails(_)) => unknown(),
                    (Some("!"), value) => match (value.truth(), tests_of(&value)) {
                        (Some(truth), _) => Js::Bool(!truth),
                        (None, Some(tests)) => match tests.first() {
                            Some((exchange, _)) => Js::Fails(*exchange),
                            None => unknown(),
                        },
                        _ => unknown(),
                    },
                    _ => unknown(),
                }
            }
            "ternary_expression" => {
                let Some(condition) = field("condition") else {
                    return unknown();
                };
                let branch = match self.eval(condition).truth() {
                    Some(true) => field("consequence"),
                    Some(false) => field("alternative"),
                    None => None,
                };
                branch.map_or_else(unknown, |branch| self.eval(branch))
            }
            "assignment_expression" => {
                let (Some(left), Some(right)) = (field("left"), field("right")) else {
                    return unknown();
                };
                let value = self.eval(right);
                self.bind(left, value.clone(), false);
                value
            }
            "regex" => {
                let pattern = field("pattern").map(|pattern| self.text(pattern));
                Js::Pattern(pattern.unwrap_or_default().to_owned())
            }
            _ => {
                self.bind_unknown(node);
                unknown()
            }
        }
    }

    /// Makes a variable unknown that an expression changes.
    fn bind_unknown(&mut self, node: Node<'t>) {
        let fields = ["left", "argument"].map(|name| node.child_by_field_name(name));
        for target in fields.into_iter().flatten() {
            self.bind(target, Js::Unknown(span_of(node)), false);
        }
    }

    fn eval_name(&mut self, node: Node<'t>) -> Js<'t> {
        let name = self.text(node);
        match self.find(name) {
            Some(Js::Unknown(_)) => Js::Unknown(span_of(node)),
            Some(value) => value.clone(),
            None => match name {
                "undefined" => Js::Undefined,
                "__VU" => Js::Counter(RunValue::User),
                "__ITER" => Js::Counter(RunValue::Iteration),
                _ if GLOBALS.contains(&name) => Js::Native(name.to_owned()),
                _ => Js::Unknown(span_of(node)),
            },
        }
    }

    /// Evaluates the text between backticks.
    pub(super) fn eval_template(&mut self, node: Node<'t>) -> Text {
        let mut text = Text::default();
        for part in children_of(node) {
            match part.kind() {
                "template_substitution" => {
                    for inner in children_of(part) {
                        let value = self.eval(inner);
                        text.append(self.text_of_value(&value));
                    }
                }
                "escape_sequence" => {
                    let mut letter = String::new();
                    unescape(self.text(part), &mut letter);
                    text.push_str(&letter);
                }
                _ => text.push_str(self.text(part)),
            }
        }
        text
    }

    fn eval_object(&mut self, node: Node<'t>) -> Js<'t> {
        let mut fields: Vec<(String, Js<'t>)> = Vec::new();
        for child in children_of(node) {
            let mut set = |name: String, value: Js<'t>| {
                fields.retain(|(known, _)| *known != name);
                fields.push((name, value));
            };
            match child.kind() {
                "pair" | "method_definition" => {
                    let is_pair = child.kind() == "pair";
                    let key = child.child_by_field_name(if is_pair { "key" } else { "name" });
                    let value = match child.child_by_field_name("value") {
                        Some(value) if is_pair => self.eval(value),
                        _ => self.eval(child),
                    };
                    let Some(name) = key.and_then(|key| self.key_name(key)) else {
                        return Js::Unknown(span_of(node));
                    };
                    set(name, value);
                }
                "shorthand_property_identifier" => {
                    let value = self.eval_name(child);
                    set(self.text(child).to_owned(), value);
                }
                "spread_element" => {
                    let inner = children_of(child).into_iter().next();
                    match inner.map(|inner| self.eval(inner)) {
                        Some(Js::Object(more)) => {
                            for (name, value) in more.iter() {
                                set(name.clone(), value.clone());
                            }
                        }
                        Some(Js::Undefined | Js::Null) => {}
                        _ => return Js::Unknown(span_of(node)),
                    }
                }
                _ => {}
            }
        }
        Js::object(fields)
    }

    /// Returns the name that a key of an object has.
    pub(super) fn key_name(&mut self, key: Node<'t>) -> Option<String> {
        Some(match key.kind() {
            "string" => string_value(key, self.source),
            "computed_property_name" => {
                let inner = children_of(key).into_iter().next()?;
                let value = self.eval(inner);
                let text = self.text_of_value(&value);
                text.as_literal()?.to_owned()
            }
            _ => self.text(key).to_owned(),
        })
    }

    fn eval_list(&mut self, node: Node<'t>) -> Js<'t> {
        let mut items = Vec::new();
        for child in children_of(node) {
            if child.kind() != "spread_element" {
                items.push(self.eval(child));
                continue;
            }
            match children_of(child).first().map(|inner| self.eval(*inner)) {
                Some(Js::List(more)) => items.extend(more.iter().cloned()),
                _ => return Js::Unknown(span_of(node)),
            }
        }
        Js::list(items)
    }

    /// Returns an item of a value.
    pub(super) fn item(&mut self, object: &Js<'t>, index: &Js<'t>, node: Node<'t>) -> Js<'t> {
        let span = span_of(node);
        match (object, index) {
            (_, Js::Text(name)) => match name.as_literal() {
                Some(name) => member(object, name, node),
                None => Js::Unknown(span),
            },
            (Js::Object(_), Js::Number(number)) => object
                .get(&show_number(*number))
                .cloned()
                .unwrap_or(Js::Undefined),
            (Js::List(items), Js::Number(number)) => {
                let at = whole(*number).and_then(|at| items.get(at));
                at.cloned().unwrap_or(Js::Undefined)
            }
            (
                Js::List(items),
                Js::Random {
                    low,
                    high,
                    is_whole: true,
                },
            ) if *low == 0.0 && *high == items.len() as f64 => {
                self.any_item(&items.clone(), FeedOrder::Random, node)
            }
            (Js::List(items), Js::Index(order)) => self.any_item(&items.clone(), *order, node),
            (Js::List(items), Js::Counter(RunValue::User)) => {
                self.any_item(&items.clone(), FeedOrder::PerUser, node)
            }
            (Js::Json(at, path), Js::Number(number)) => match whole(*number) {
                Some(item) => {
                    let mut path = path.clone();
                    path.push(Key::Item(item));
                    Js::Json(*at, path)
                }
                None => Js::Unknown(span),
            },
            (Js::Data(data), Js::Index(order)) => self.row(&data.clone(), *order, &span),
            (Js::Data(data), Js::Counter(RunValue::User)) => {
                self.row(&data.clone(), FeedOrder::PerUser, &span)
            }
            (Js::Data(data), Js::Counter(_)) => {
                self.row(&data.clone(), FeedOrder::Sequential, &span)
            }
            (
                Js::Found(origin @ (Origin::Between { .. } | Origin::Page { .. })),
                Js::Number(number),
            ) if *number == 1.0 => Js::Found(origin.clone()),
            _ => Js::Unknown(span),
        }
    }
}

/// Returns a field of a value.
pub(super) fn member<'t>(object: &Js<'t>, name: &str, node: Node<'t>) -> Js<'t> {
    match (object, name) {
        (Js::Native(path), _) if path == "__ENV" => Js::Variable(name.to_owned()),
        (Js::Native(path), _) => match format!("{path}.{name}").as_str() {
            "exec.vu.idInTest" | "exec.vu.idInInstance" => Js::Counter(RunValue::User),
            "exec.vu.iterationInScenario" | "exec.vu.iterationInInstance" => {
                Js::Counter(RunValue::Iteration)
            }
            "exec.scenario.iterationInTest" | "exec.scenario.iterationInInstance" => {
                Js::Index(FeedOrder::Sequential)
            }
            path => Js::Native(path.to_owned()),
        },
        (Js::Object(_), _) => object.get(name).cloned().unwrap_or(Js::Undefined),
        (Js::List(items), "length") => Js::Number(items.len() as f64),
        (Js::Text(text), "length") if text.as_literal().is_some() => {
            let letters = text.start().encode_utf16().count();
            Js::Number(letters as f64)
        }
        (Js::Response(at), "status") => Js::Part(*at, Part::Status),
        (Js::Response(at), "body") => Js::Part(*at, Part::Body),
        (Js::Response(at), "headers") => Js::Part(*at, Part::Headers),
        (Js::Response(at), "timings") => Js::Part(*at, Part::Timings),
        (Js::Part(at, Part::Timings), "duration") => Js::Part(*at, Part::Duration),
        (Js::Part(at, Part::Headers), _) => Js::Found(Origin::Header {
            exchange: *at,
            name: name.to_owned(),
        }),
        (Js::Part(_, Part::Body) | Js::Json(..) | Js::Data(_), "length") => {
            Js::Length(Box::new(object.clone()))
        }
        (Js::Data(data), "data") if data.kind == DataKind::CsvParsed => Js::Data(Data {
            kind: DataKind::Csv,
            ..data.clone()
        }),
        (Js::Json(at, path), _) => {
            let mut path = path.clone();
            path.push(Key::Field(name.to_owned()));
            Js::Json(*at, path)
        }
        (Js::Row(feed, None), _) => Js::Row(*feed, Some(name.to_owned())),
        _ => Js::Unknown(span_of(node)),
    }
}

/// Returns a number as the place of an item.
fn whole(number: f64) -> Option<usize> {
    let is_fit = number >= 0.0 && number.fract() == 0.0 && number < 1e6;
    is_fit.then_some(number as usize)
}

/// Reads the literal of a number.
fn read_number(text: &str) -> Option<f64> {
    let text = text.replace('_', "");
    let radix = |prefix: &str, radix: u32| {
        let digits = text.strip_prefix(prefix)?;
        u64::from_str_radix(digits, radix)
            .ok()
            .map(|number| number as f64)
    };
    radix("0x", 16)
        .or_else(|| radix("0b", 2))
        .or_else(|| radix("0o", 8))
        .or_else(|| text.parse().ok())
}
