//! Expressions: their values, as far as the text says them.

#![expect(
    clippy::float_cmp,
    reason = "numbers of the input are compared as they are written"
)]

use super::conditions::tests_of;
use super::script::Script;
use super::value::{Data, DataKind, Js, Random, ResponsePart, show_number};
use crate::recording::{FeedOrder, Key, Origin, RunValue, Text};
use crate::syntax::{children_of, is_function, part_of, span_of, string_value, unescape};
use crate::text::find_pair;
use std::rc::Rc;
use tree_sitter::Node;

impl<'t> Script<'_, 't> {
    /// Returns the value of an expression, as far as the text says it.
    pub(super) fn expression(&mut self, node: Node<'t>, frame: usize) -> Js<'t> {
        let unknown = || Js::Unknown(span_of(node));
        let field = |name: &str| part_of(node, name);
        match node.kind() {
            "string" => Js::text(string_value(node, self.source)),
            "template_string" => Js::Text(self.template(node, frame)),
            "number" => {
                let number = self.text(node).replace('_', "");
                number.parse().map_or_else(|_| unknown(), Js::Number)
            }
            "true" => Js::Bool(true),
            "false" => Js::Bool(false),
            "null" => Js::Null,
            "undefined" => Js::Undefined,
            "identifier" | "shorthand_property_identifier" => self.identifier(node, frame),
            "this" => self
                .this(frame)
                .map_or_else(unknown, |this| (*this).clone()),
            "object" => self.object(node, frame),
            "array" => self.list(node, frame),
            "class" => Js::Class(node, frame),
            _ if is_function(node) => Js::Function(node, frame, None),
            "member_expression" => {
                let (Some(object), Some(property)) = (field("object"), field("property")) else {
                    return unknown();
                };
                let object = self.value(object, frame);
                self.member(&object, self.text(property), node)
            }
            "subscript_expression" => {
                let (Some(object), Some(index)) = (field("object"), field("index")) else {
                    return unknown();
                };
                let (object, index) = (self.value(object, frame), self.value(index, frame));
                self.item(&object, &index, node)
            }
            "call_expression" | "new_expression" => self.call_value(node, frame),
            "binary_expression" => self.binary(node, frame).unwrap_or_else(unknown),
            "unary_expression" => {
                let value = field("argument").map(|argument| self.value(argument, frame));
                let sign = field("operator").map_or("", |sign| self.text(sign));
                match (sign, value.unwrap_or(Js::Undefined)) {
                    ("-", Js::Number(number)) => Js::Number(-number),
                    ("+", value) => value.as_number().map_or_else(unknown, Js::Number),
                    ("!", Js::Fails(tests)) => Js::Tests(tests),
                    ("!", value) => match (value.truth(), tests_of(&value)) {
                        (Some(truth), _) => Js::Bool(!truth),
                        (None, Some(tests)) if !tests.is_empty() => Js::Fails(tests),
                        _ => unknown(),
                    },
                    _ => unknown(),
                }
            }
            "ternary_expression" => {
                let sides = ["condition", "consequence", "alternative"].map(field);
                let [Some(condition), Some(consequence), Some(alternative)] = sides else {
                    return unknown();
                };
                match self.value(condition, frame) {
                    // `__ENV.HOST ? __ENV.HOST : 'a default'`
                    Js::Variable(..) => {
                        let value = self.value(consequence, frame);
                        self.or(value, alternative, frame).unwrap_or_else(unknown)
                    }
                    condition => match condition.truth() {
                        Some(true) => self.value(consequence, frame),
                        Some(false) => self.value(alternative, frame),
                        None => unknown(),
                    },
                }
            }
            "assignment_expression" => {
                field("right").map_or_else(unknown, |right| self.value(right, frame))
            }
            "regex" => {
                let pattern = field("pattern").map(|pattern| self.text(pattern));
                Js::Pattern(pattern.unwrap_or_default().to_owned())
            }
            _ => unknown(),
        }
    }

    fn identifier(&mut self, node: Node<'t>, frame: usize) -> Js<'t> {
        if let Some(value) = self.name_value(node, frame) {
            return value;
        }
        match self.text(node) {
            "undefined" => Js::Undefined,
            "__VU" => Js::Counter(RunValue::User),
            "__ITER" => Js::Counter(RunValue::Iteration),
            // What scripts have without importing it.
            name @ ("Array" | "Boolean" | "Date" | "FormData" | "Infinity" | "JSON" | "Math"
            | "NaN" | "Number" | "Object" | "SharedArray" | "String" | "__ENV"
            | "console" | "encodeURI" | "encodeURIComponent" | "open" | "parseFloat"
            | "parseInt") => Js::Native(name.to_owned()),
            _ => Js::Unknown(span_of(node)),
        }
    }

    /// Returns the text between backticks.
    pub(super) fn template(&mut self, node: Node<'t>, frame: usize) -> Text {
        let mut text = Text::default();
        for part in children_of(node) {
            match part.kind() {
                "template_substitution" => {
                    for inner in children_of(part) {
                        let value = self.value(inner, frame);
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

    fn object(&mut self, node: Node<'t>, frame: usize) -> Js<'t> {
        let mut fields: Vec<(String, Js<'t>)> = Vec::new();
        for child in children_of(node) {
            let mut set = |name: String, value: Js<'t>| {
                fields.retain(|(known, _)| *known != name);
                fields.push((name, value));
            };
            match child.kind() {
                "pair" | "method_definition" => {
                    let is_pair = child.kind() == "pair";
                    let key = part_of(child, if is_pair { "key" } else { "name" });
                    let value = match part_of(child, "value") {
                        Some(value) if is_pair => self.value(value, frame),
                        _ => Js::Function(child, frame, None),
                    };
                    let Some(name) = key.and_then(|key| self.key_name(key, frame)) else {
                        return Js::Unknown(span_of(node));
                    };
                    set(name, value);
                }
                "shorthand_property_identifier" => {
                    let value = self.value(child, frame);
                    set(self.text(child).to_owned(), value);
                }
                "spread_element" => {
                    let inner = children_of(child).into_iter().next();
                    match inner.map(|inner| self.value(inner, frame)) {
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
    pub(super) fn key_name(&mut self, key: Node<'t>, frame: usize) -> Option<String> {
        Some(match key.kind() {
            "string" => string_value(key, self.source),
            "computed_property_name" => {
                let inner = children_of(key).into_iter().next()?;
                let value = self.value(inner, frame);
                let text = self.text_of_value(&value);
                text.as_literal()?.to_owned()
            }
            _ => self.text(key).to_owned(),
        })
    }

    fn list(&mut self, node: Node<'t>, frame: usize) -> Js<'t> {
        let mut items = Vec::new();
        for child in children_of(node) {
            if child.kind() != "spread_element" {
                items.push(self.value(child, frame));
                continue;
            }
            match children_of(child)
                .first()
                .map(|inner| self.value(*inner, frame))
            {
                Some(Js::List(more)) => items.extend(more.iter().cloned()),
                _ => return Js::Unknown(span_of(node)),
            }
        }
        Js::list(items)
    }

    /// Returns a field of a value.
    pub(super) fn member(&mut self, object: &Js<'t>, name: &str, node: Node<'t>) -> Js<'t> {
        match (object, name) {
            (Js::Native(path), _) if path == "__ENV" => {
                let given = find_pair(&self.environment, name).cloned();
                Js::Variable(name.to_owned(), given.map(Rc::new))
            }
            (Js::Variable(_, Some(value)), _) => self.member(value, name, node),
            (Js::Class(class, frame) | Js::Instance(class, frame), _) => {
                self.class_member(object, (*class, *frame), name, node)
            }
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
            (Js::Response(at), "status") => Js::Part(*at, ResponsePart::Status),
            (Js::Response(at), "body") => Js::Part(*at, ResponsePart::Body),
            (Js::Response(at), "headers") => Js::Part(*at, ResponsePart::Headers),
            (Js::Response(at), "cookies") => Js::Part(*at, ResponsePart::Cookies),
            (Js::Part(exchange, ResponsePart::Cookies), _) => Js::Found(Origin::Part {
                exchange: *exchange,
                name: "set-cookie".to_owned(),
                before: format!("{name}="),
                after: ";".to_owned(),
            }),
            (Js::Found(Origin::Part { .. }), "value") => object.clone(),
            (Js::Response(at), "timings") => Js::Part(*at, ResponsePart::Timings),
            (Js::Part(at, ResponsePart::Timings), "duration") => {
                Js::Part(*at, ResponsePart::Duration)
            }
            (Js::Part(at, ResponsePart::Headers), _) => Js::Found(Origin::header(*at, name)),
            (Js::Part(_, ResponsePart::Body) | Js::Json(..) | Js::Data(_), "length") => {
                Js::Length(Box::new(object.clone()))
            }
            (Js::Data(data), "data") if data.kind == DataKind::CsvParsed => Js::Data(Data {
                kind: DataKind::Csv,
                ..data.clone()
            }),
            (Js::Data(data), _) if data.kind == DataKind::Json && data.field.is_none() => {
                Js::Data(Data {
                    field: Some(name.to_owned()),
                    ..data.clone()
                })
            }
            (Js::Json(at, path), _) => {
                let mut path = path.clone();
                path.push(Key::Field(name.to_owned()));
                Js::Json(*at, path)
            }
            (Js::Row(feed, None), _) => Js::Row(*feed, Some(name.to_owned())),
            _ => Js::Unknown(span_of(node)),
        }
    }

    /// Returns an item of a value.
    pub(super) fn item(&mut self, object: &Js<'t>, index: &Js<'t>, node: Node<'t>) -> Js<'t> {
        let span = span_of(node);
        match (object, index) {
            (_, Js::Text(_) | Js::Variable(..)) => match index.as_str() {
                Some(name) => self.member(object, name, node),
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
            (Js::List(items), Js::Random(drawn))
                if *drawn == Random::whole(0.0, items.len() as f64) =>
            {
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
            (Js::Found(Origin::Part { .. }), Js::Number(number)) if *number == 0.0 => {
                object.clone()
            }
            _ => Js::Unknown(span),
        }
    }
}

/// Returns a number as the place of an item.
fn whole(number: f64) -> Option<usize> {
    let is_fit = number >= 0.0 && number.fract() == 0.0 && number < 1e6;
    is_fit.then_some(number as usize)
}
