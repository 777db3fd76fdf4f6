//! Methods of answers, texts and lists.

use super::script::Script;
use super::syntax::span_of;
use super::value::{Js, Part, Test};
use crate::import::migration::find_in_pattern;
use crate::import::recording::{AnswerCheck, Key, Origin, Text};
use tree_sitter::Node;

impl<'t> Script<'_, 't> {
    /// Calls a method of a value.
    pub(super) fn call_method(
        &mut self,
        object: &Js<'t>,
        name: &str,
        arguments: &[Js<'t>],
        node: Node<'t>,
    ) -> Js<'t> {
        let unknown = Js::Unknown(span_of(node));
        let first = arguments.first().cloned().unwrap_or(Js::Undefined);
        match (object, name, &first) {
            (Js::Response(at), "json", Js::Undefined) => Js::Json(*at, Vec::new()),
            (Js::Response(at), "json", Js::Text(_)) => {
                let path = first.as_str().and_then(read_path);
                path.map_or(unknown, |path| Js::Json(*at, path))
            }
            (Js::Response(at), "html", Js::Undefined) => Js::Part(*at, Part::Html),
            (Js::Response(at), "html", Js::Text(_))
            | (Js::Part(at, Part::Html), "find", Js::Text(_)) => {
                let field = first.as_str().and_then(field_of_selector);
                field.map_or(unknown, |field| {
                    Js::Part(*at, Part::Selection(field.to_owned()))
                })
            }
            (Js::Part(_, Part::Selection(_)), "first" | "val" | "attr" | "eq" | "get", _) => {
                let is_value =
                    name != "attr" || ["value", "content"].map(Some).contains(&first.as_str());
                if is_value { object.clone() } else { unknown }
            }
            (Js::Part(at, Part::Body), "includes" | "indexOf" | "search", Js::Text(_)) => {
                contains(*at, first.as_str(), unknown)
            }
            (Js::Part(at, Part::Body), "match", Js::Pattern(pattern))
            | (Js::Pattern(pattern), "exec", Js::Part(at, Part::Body)) => {
                find_in_pattern(*at, pattern).map_or(unknown, Js::Found)
            }
            (Js::Part(at, Part::Body), "match", Js::Text(_)) => {
                let found = first
                    .as_str()
                    .and_then(|pattern| find_in_pattern(*at, pattern));
                found.map_or(unknown, Js::Found)
            }
            (Js::Pattern(pattern), "test", Js::Part(at, Part::Body)) => {
                let is_plain = pattern
                    .chars()
                    .all(|letter| letter.is_alphanumeric() || letter == ' ');
                contains(*at, is_plain.then_some(pattern.as_str()), unknown)
            }
            (
                Js::Found(Origin::Header {
                    exchange,
                    name: header,
                }),
                "includes" | "indexOf",
                Js::Text(_),
            ) => {
                let Some(text) = first.as_str().filter(|text| !text.is_empty()) else {
                    return unknown;
                };
                let check = AnswerCheck::Header {
                    name: header.clone(),
                    text: text.to_owned(),
                };
                Js::Tests(vec![(*exchange, Test::Check(check))])
            }
            _ => self.call_value_method(object, name, arguments, node),
        }
    }

    /// Calls a method of a text, a list or an object.
    fn call_value_method(
        &mut self,
        object: &Js<'t>,
        name: &str,
        arguments: &[Js<'t>],
        node: Node<'t>,
    ) -> Js<'t> {
        let unknown = Js::Unknown(span_of(node));
        let first = arguments.first().cloned().unwrap_or(Js::Undefined);
        match (object, name, &first) {
            (Js::Variable(_, Some(value)), ..) => {
                self.call_value_method(value, name, arguments, node)
            }
            (Js::List(items), "map", Js::Function(function, at, _)) => {
                let items = items.iter().map(|item| {
                    let item = std::slice::from_ref(item);
                    let frame = self.open_frame(*function, *at, None, item, None);
                    self.returned(*function, frame)
                });
                Js::list(items.collect())
            }
            // What `new FormData()` sends.
            (Js::Object(_), "body", Js::Undefined) => object.clone(),
            (Js::List(_) | Js::Object(_), "push" | "append", _) => Js::Undefined,
            (Js::Object(_), "hasOwnProperty", Js::Text(_)) => first
                .as_str()
                .map_or(unknown, |name| Js::Bool(object.get(name).is_some())),
            (Js::List(items), "includes", Js::Part(at, Part::Status)) => {
                let statuses = items.iter().map(|item| {
                    let status = item
                        .as_number()
                        .filter(|status| (100.0..600.0).contains(status))?;
                    Some((status as u16, status as u16 + 1))
                });
                let statuses: Option<Vec<_>> = statuses.collect();
                statuses.map_or(unknown, |ranges| {
                    Js::Tests(vec![(*at, Test::Status(ranges))])
                })
            }
            (Js::List(items), "join", _) => {
                let separator = match &first {
                    Js::Undefined => Text::literal(","),
                    value => self.text_of_value(value),
                };
                let mut text = Text::default();
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        text.append(separator.clone());
                    }
                    text.append(self.text_of_value(item));
                }
                Js::Text(text)
            }
            (
                Js::Text(_) | Js::Number(_) | Js::Json(..) | Js::Row(..) | Js::Counter(_),
                "toString",
                _,
            ) => Js::Text(self.text_of_value(object)),
            (Js::Text(text), "trim" | "toUpperCase" | "toLowerCase", _) => {
                match text.as_literal() {
                    Some(text) => Js::text(match name {
                        "trim" => text.trim().to_owned(),
                        "toUpperCase" => text.to_uppercase(),
                        _ => text.to_lowercase(),
                    }),
                    None => unknown,
                }
            }
            (Js::Text(text), "concat", _) => {
                let mut text = text.clone();
                for argument in arguments {
                    text.append(self.text_of_value(argument));
                }
                Js::Text(text)
            }
            _ => unknown,
        }
    }
}

fn contains<'t>(exchange: usize, text: Option<&str>, unknown: Js<'t>) -> Js<'t> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return unknown;
    };
    let check = AnswerCheck::Text {
        text: text.to_owned(),
        is_there: true,
    };
    Js::Tests(vec![(exchange, Test::Check(check))])
}

/// Reads a path such as `items.0.id`, without the signs that search.
fn read_path(path: &str) -> Option<Vec<Key>> {
    let keys = path.split('.').map(|key| {
        let is_plain = |letter: char| letter.is_alphanumeric() || "_-:$ ".contains(letter);
        (!key.is_empty() && key.chars().all(is_plain)).then(|| match key.parse() {
            Ok(number) => Key::Item(number),
            Err(_) => Key::Field(key.to_owned()),
        })
    });
    keys.collect()
}

/// Returns the name of the field that a selector finds: `input[name="csrf"]`.
fn field_of_selector(selector: &str) -> Option<&str> {
    let (tag, rest) = selector.trim().split_once("[name=")?;
    let tag = tag.trim().rsplit(' ').next().unwrap_or_default();
    let name = rest.strip_suffix(']')?.trim_matches(['"', '\'']);
    let is_field = ["", "input", "textarea", "select", "meta"].contains(&tag);
    (is_field && !name.contains(['"', '\'', ']'])).then_some(name)
}
