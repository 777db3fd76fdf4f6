//! Bodies of JSON as `json!({ .. })`, laid out for people: no formatter does it.

use super::super::json::{Json, Notation, code, is_hidden};
use super::super::layout::{Code, variable};
use super::super::literal::{code_text, text};
use super::super::template::Piece;
use super::super::types::{Read, Shape, identifier};
use super::{DEPTH, Function, Place, Sort};
use crate::import::marked::{Key, Origin};
use crate::import::naming;
use crate::import::secrecy::is_secret;
use std::fmt::Write as _;

pub(super) use super::super::json::is_type;

/// How wide a body is that stands behind its `.json(`.
const NARROW: usize = 60;

impl Function<'_, '_, '_> {
    /// A body that `json!` can say.
    pub(super) fn sayable(&mut self, body: &str) -> Option<Json> {
        let json = Json::structured(body)?;
        (json.is_for_macro() && self.are_plain("", &json)).then_some(json)
    }

    /// Whether no key has a value of an answer in it, and no number is a secret.
    fn are_plain(&mut self, key: &str, json: &Json) -> bool {
        match json {
            Json::Plain(value) => !is_hidden(key, value),
            Json::Text(_) => true,
            Json::List(items) => items.iter().all(|item| self.are_plain(key, item)),
            Json::Object(fields) => fields.iter().all(|(name, value)| {
                let within = if is_secret(key) { key } else { name };
                self.writing.vault.plain(name).text().is_some() && self.are_plain(within, value)
            }),
        }
    }

    /// `&json!(..)`, or the variable that has it.
    pub(super) fn json_macro(&mut self, json: &Json) -> Option<Code> {
        let laid = json.laid("", DEPTH, self)?;
        if !laid.contains('\n') && laid.chars().count() <= NARROW {
            return Some(Code::atom(format!("&json!({laid})")));
        }
        let name = naming::unique("body", &mut self.used);
        let body = Code::atom(format!("json!({laid})"));
        self.variables.push_str(&variable(&name, &body, DEPTH));
        Some(Code::atom(format!("&{name}")))
    }

    /// The value of a reference within `json!`.
    fn json_value(&mut self, at: usize) -> String {
        let piece = self.first_alike(&Piece::Value(at));
        let is_known = self.known.contains_key(&(piece.clone(), Place::Plain));
        if let Some(field) = self.json_field(at).filter(|_| !is_known) {
            let reference = &self.writing.scope.recording.references[at];
            self.takes.push(reference.from.clone());
            return field;
        }
        let local = self.local(&piece, Place::Plain, "value");
        if local.sort != Sort::Other || self.is_bare(&piece) {
            local.name
        } else {
            format!("{}.to_string()", local.name)
        }
    }

    /// `login.user.id`, where that is all.
    fn json_field(&self, at: usize) -> Option<String> {
        let scope = self.writing.scope;
        let reference = &scope.recording.references[at];
        let Origin::Body { exchange, path } = &reference.from else {
            return None;
        };
        if !scope.has(at) {
            return None;
        }
        let Some(Read::Json(mut shape)) = scope.answer(*exchange).cloned() else {
            return None;
        };
        let mut field = scope.step(*exchange).to_owned();
        for key in path {
            let Key::Field(key) = key else { return None };
            let known = shape.field(key).filter(|field| !field.is_optional)?;
            let _ = write!(field, ".{}", identifier(&known.name));
            shape = known.shape.clone();
        }
        match shape {
            Shape::Text => Some(field),
            Shape::Plain(_) if reference.is_bare => Some(field),
            Shape::Plain(_) => Some(format!("{field}.to_string()")),
            _ => None,
        }
    }
}

impl Notation for Function<'_, '_, '_> {
    fn name(&mut self, name: &str) -> Option<String> {
        Some(code_text(name))
    }

    fn text(&mut self, key: &str, value: &str) -> Option<String> {
        let template = self.writing.field(key, value);
        Some(match template.0.as_slice() {
            [Piece::Secret(name)] => format!("secret({}).expose()", text(name)),
            [Piece::Value(at)] => self.json_value(*at),
            pieces if pieces.len() > 1 => self.format(&template, Place::Plain).line(),
            _ => code_text(template.text().unwrap_or_default()),
        })
    }

    fn plain(&mut self, value: &str) -> String {
        code(value)
    }
}
