//! The declared request as people read it: with its placeholders, each by the name of its step.

use super::names::Names;
use super::payload::encoded;
use super::request::Sink;
use crate::options::{
    Body, Field, FieldValue, Header, HeaderValue, Json, StepOptions, escape, quoted,
};
use crate::template::{Part, Path, Template};

/// Headers and body as far as the source shows them.
#[derive(Default)]
pub(crate) struct Shown {
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// The variant of `BodyKind`, and the template.
    pub(crate) body: Option<(&'static str, String)>,
    /// What is added to the URL.
    pub(crate) query: String,
}

/// What the options of the step with the number `at` show.
pub(super) fn shown(options: &StepOptions, at: usize, names: &Names) -> Shown {
    let writer = Writer { at, names };
    let headers = options.headers.iter();
    Shown {
        headers: headers.map(|header| writer.header(header)).collect(),
        body: options.body.as_ref().map(|body| writer.body(body)),
        query: writer.query(&options.query),
    }
}

/// Name and value of a header that the step with the number `at` sends.
pub(super) fn header(header: &Header, at: usize, names: &Names) -> (String, String) {
    Writer { at, names }.header(header)
}

struct Writer<'a> {
    at: usize,
    names: &'a Names,
}

impl Writer<'_> {
    fn path(&self, path: &Path) -> String {
        let root = match self.names.earlier_step(&path.root, self.at) {
            Ok(step) => &self.names.steps[step],
            Err(_) => &path.root,
        };
        let rest = path.source.get(path.root.len()..).unwrap_or_default();
        format!("{{{{{root}{rest}}}}}")
    }

    fn text(&self, template: &Template, write: impl Fn(&str) -> String) -> String {
        let parts = template.parts.iter().map(|part| match part {
            Part::Text(text) => write(text),
            Part::Value(path) => self.path(path),
        });
        parts.collect()
    }

    fn template(&self, template: &Template) -> String {
        self.text(template, str::to_owned)
    }

    fn header(&self, header: &Header) -> (String, String) {
        let value = match &header.value {
            HeaderValue::Text(text) => self.template(text),
            HeaderValue::Basic(user, password) => {
                let (user, password) = (self.template(user), self.template(password));
                format!("Basic {user}:{password}")
            }
        };
        (header.name.clone(), value)
    }

    fn body(&self, body: &Body) -> (&'static str, String) {
        match body {
            Body::Json(json) => ("Json", self.json(json)),
            Body::Form(fields) => ("Form", self.fields(fields)),
            Body::Multipart(fields) => ("Multipart", self.fields(fields)),
            Body::Text(template) => ("Text", self.template(template)),
            Body::File(path) => ("Bytes", path.value()),
        }
    }

    fn json(&self, json: &Json) -> String {
        match json {
            Json::Constant(text) => text.clone(),
            Json::Text(template) => self.quoted(template),
            Json::Value(path) => self.path(path),
            // a mistake, which is noted
            Json::Word(_) => String::new(),
            Json::Rust(_) => RUST.to_owned(),
            Json::Array(values) => {
                let values: Vec<String> = values.iter().map(|value| self.json(value)).collect();
                format!("[{}]", values.join(","))
            }
            Json::Object(fields) => object(
                fields
                    .iter()
                    .map(|(key, value)| (key.value(), self.json(value))),
            ),
        }
    }

    fn fields(&self, fields: &[Field]) -> String {
        object(fields.iter().map(|field| {
            let value = match &field.value {
                FieldValue::Text(template) => self.quoted(template),
                FieldValue::Value(path) => quoted(&self.path(path)),
                FieldValue::Word(_) => String::new(),
                FieldValue::Rust(_) => RUST.to_owned(),
                FieldValue::File(path) => format!("{{\"file\":{}}}", quoted(&path.value())),
            };
            (field.name.value(), value)
        }))
    }

    fn quoted(&self, template: &Template) -> String {
        // escaped as a whole: a path may hold quotes too
        format!("\"{}\"", escape(&self.template(template)))
    }

    fn query(&self, fields: &[Field]) -> String {
        let pairs: Vec<String> = fields
            .iter()
            .map(|field| {
                let encode = |text: &str| encoded(text, Sink::Query);
                let value = match &field.value {
                    FieldValue::Text(template) => self.text(template, encode),
                    FieldValue::Value(path) => self.path(path),
                    FieldValue::Rust(_) => RUST.to_owned(),
                    FieldValue::Word(_) | FieldValue::File(_) => String::new(),
                };
                format!("{}={value}", encode(&field.name.value()))
            })
            .collect();
        pairs.join("&")
    }
}

/// A Rust expression, which is nothing outside of its source.
const RUST: &str = "(..)";

fn object(fields: impl Iterator<Item = (String, String)>) -> String {
    let fields: Vec<String> = fields
        .map(|(key, value)| format!("{}:{value}", quoted(&key)))
        .collect();
    format!("{{{}}}", fields.join(","))
}
