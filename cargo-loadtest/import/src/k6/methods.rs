//! Methods of answers, texts and lists.

use super::requests::read_statuses;
use super::script::Script;
use super::value::{Js, ResponsePart, Test};
use crate::migration::find_in_pattern;
use crate::recording::{AnswerCheck, Key, Origin, Text};

impl<'t> Script<'_, 't> {
    /// Returns the value of a method of a value, as far as it is known.
    pub(super) fn call_method(
        &mut self,
        object: &Js<'t>,
        name: &str,
        arguments: &[Js<'t>],
    ) -> Option<Js<'t>> {
        let first = arguments.first().cloned().unwrap_or(Js::Undefined);
        Some(match (object, name, &first) {
            (Js::Response(at), "json", Js::Undefined) => Js::Json(*at, Vec::new()),
            (Js::Response(at), "json", Js::Text(_)) => Js::Json(*at, read_path(first.as_str()?)?),
            (Js::Response(at), "html", Js::Undefined) => Js::Part(*at, ResponsePart::Html),
            (Js::Response(at), "html", Js::Text(_))
            | (Js::Part(at, ResponsePart::Html), "find", Js::Text(_)) => {
                let field = field_of_selector(first.as_str()?)?;
                Js::Part(*at, ResponsePart::Selection(field.to_owned()))
            }
            (Js::Part(_, ResponsePart::Selection(_)), "attr", _) => {
                let attribute = first.as_str()?;
                ["value", "content"]
                    .contains(&attribute)
                    .then(|| object.clone())?
            }
            (Js::Part(_, ResponsePart::Selection(_)), "first" | "val" | "eq" | "get", _) => {
                object.clone()
            }
            (Js::Part(at, ResponsePart::Body), "includes" | "indexOf" | "search", Js::Text(_)) => {
                contains(*at, first.as_str()?)?
            }
            (Js::Part(at, ResponsePart::Body), "match", Js::Pattern(pattern))
            | (Js::Pattern(pattern), "exec", Js::Part(at, ResponsePart::Body)) => {
                Js::Found(find_in_pattern(*at, pattern)?)
            }
            (Js::Part(at, ResponsePart::Body), "match", Js::Text(_)) => {
                Js::Found(find_in_pattern(*at, first.as_str()?)?)
            }
            (Js::Pattern(pattern), "test", Js::Part(at, ResponsePart::Body)) => {
                let is_sign = |letter: char| !letter.is_alphanumeric() && letter != ' ';
                contains(*at, pattern).filter(|_| !pattern.contains(is_sign))?
            }
            (
                Js::Found(Origin::Header {
                    exchange,
                    name: header,
                }),
                "includes" | "indexOf",
                Js::Text(_),
            ) => {
                let text = first.as_str().filter(|text| !text.is_empty())?;
                let check = AnswerCheck::header(header, text);
                Js::Tests(vec![(*exchange, Test::Check(check))])
            }
            _ => return self.call_value_method(object, name, arguments),
        })
    }

    /// Calls a method of a text, a list or an object.
    fn call_value_method(
        &mut self,
        object: &Js<'t>,
        name: &str,
        arguments: &[Js<'t>],
    ) -> Option<Js<'t>> {
        let first = arguments.first().cloned().unwrap_or(Js::Undefined);
        Some(match (object, name, &first) {
            (Js::Variable(_, Some(value)), ..) => {
                return self.call_value_method(value, name, arguments);
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
            (Js::List(items), "includes", Js::Part(at, ResponsePart::Status)) => {
                Js::Tests(vec![(*at, Test::Status(read_statuses(items)?))])
            }
            (Js::List(items), "join", _) => {
                let separator = match &first {
                    Js::Undefined => ",",
                    value => value.as_str()?,
                };
                let items = items.iter().map(|item| self.text_of_value(item));
                Js::Text(Text::join(items, separator))
            }
            (
                Js::Text(_) | Js::Number(_) | Js::Json(..) | Js::Row(..) | Js::Counter(_),
                "toString",
                _,
            ) => Js::Text(self.text_of_value(object)),
            (Js::Text(text), "trim", _) => Js::text(text.as_literal()?.trim()),
            _ => return None,
        })
    }
}

fn contains<'t>(exchange: usize, text: &str) -> Option<Js<'t>> {
    let check = AnswerCheck::Text {
        text: text.to_owned(),
        is_there: true,
    };
    (!text.is_empty()).then(|| Js::Tests(vec![(exchange, Test::Check(check))]))
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
