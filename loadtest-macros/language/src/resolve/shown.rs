//! The declared request as people read it: with its placeholders, each by the name of its step.

use super::names::ScenarioNames;
use super::payload::encode_text;
use super::request::ValueEncoding;
use crate::options::{
    BodyOption, Field, HeaderOption, HeaderOptionValue, StepOptions, TemplateValue, escape_json,
    json_string,
};
use crate::template::{PlaceholderPath, Template, TemplatePart};

/// Headers and body as far as the source shows them.
#[derive(Default)]
pub(crate) struct DeclaredText {
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// The variant of `BodyKind`, and the template.
    pub(crate) body: Option<(&'static str, String)>,
    /// The query to append to the URL.
    pub(crate) query: String,
}

/// Formats the declared request of the step `at`.
pub(super) fn declared_text(
    options: &StepOptions,
    at: usize,
    names: &ScenarioNames,
) -> DeclaredText {
    let writer = DeclarationWriter { at, names };
    let headers = options.headers.iter();
    DeclaredText {
        headers: headers.map(|header| writer.format_header(header)).collect(),
        body: options.body.as_ref().map(|body| writer.format_body(body)),
        query: writer.format_query(&options.query),
    }
}

/// Name and value of a header that the step with the number `at` sends.
pub(super) fn declared_header(
    header: &HeaderOption,
    at: usize,
    names: &ScenarioNames,
) -> (String, String) {
    DeclarationWriter { at, names }.format_header(header)
}

struct DeclarationWriter<'a> {
    at: usize,
    names: &'a ScenarioNames,
}

impl DeclarationWriter<'_> {
    fn format_path(&self, path: &PlaceholderPath) -> String {
        let root = match self.names.earlier_step(&path.root, self.at) {
            Ok(step) => &self.names.steps[step],
            Err(_) => &path.root,
        };
        let rest = path.source.get(path.root.len()..).unwrap_or_default();
        format!("{{{{{root}{rest}}}}}")
    }

    fn format_text(&self, template: &Template, write: impl Fn(&str) -> String) -> String {
        let parts = template.parts.iter().map(|part| match part {
            TemplatePart::Text(text) => write(text),
            TemplatePart::Value(path) => self.format_path(path),
        });
        parts.collect()
    }

    fn format_template(&self, template: &Template) -> String {
        self.format_text(template, str::to_owned)
    }

    fn format_header(&self, header: &HeaderOption) -> (String, String) {
        let value = match &header.value {
            HeaderOptionValue::Text(text) => self.format_template(text),
            HeaderOptionValue::Basic(user, password) => {
                let (user, password) = (self.format_template(user), self.format_template(password));
                format!("Basic {user}:{password}")
            }
        };
        (header.name.clone(), value)
    }

    fn format_body(&self, body: &BodyOption) -> (&'static str, String) {
        match body {
            BodyOption::Json(json) => ("Json", self.format_json(json)),
            BodyOption::Form(fields) => ("Form", self.format_fields(fields)),
            BodyOption::Multipart(fields) => ("Multipart", self.format_fields(fields)),
            BodyOption::Text(template) => ("Text", self.format_template(template)),
            BodyOption::File(path) => ("Bytes", path.value()),
        }
    }

    fn format_json(&self, json: &TemplateValue) -> String {
        match json {
            TemplateValue::Constant(text) => text.clone(),
            TemplateValue::Text(template) => self.format_quoted(template),
            TemplateValue::Value(path) => self.format_path(path),
            // a mistake, which is noted
            // refused where the value is resolved
            TemplateValue::Word(_) | TemplateValue::File(_) => String::new(),
            TemplateValue::Rust(_) => RUST.to_owned(),
            TemplateValue::Array(values) => {
                let values: Vec<String> =
                    values.iter().map(|value| self.format_json(value)).collect();
                format!("[{}]", values.join(","))
            }
            TemplateValue::Object(fields) => join_object(
                fields
                    .iter()
                    .map(|(key, value)| (key.value(), self.format_json(value))),
            ),
        }
    }

    fn format_fields(&self, fields: &[Field]) -> String {
        join_object(fields.iter().map(|field| {
            let value = match &field.value {
                TemplateValue::Constant(text) => json_string(text),
                TemplateValue::Value(path) => json_string(&self.format_path(path)),
                TemplateValue::File(path) => format!("{{\"file\":{}}}", json_string(&path.value())),
                other => self.format_json(other),
            };
            (field.name.value(), value)
        }))
    }

    fn format_quoted(&self, template: &Template) -> String {
        // escaped as a whole: a path may hold quotes too
        format!("\"{}\"", escape_json(&self.format_template(template)))
    }

    fn format_query(&self, fields: &[Field]) -> String {
        let pairs: Vec<String> = fields
            .iter()
            .map(|field| {
                let encode = |text: &str| encode_text(text, ValueEncoding::Query);
                let value = match &field.value {
                    TemplateValue::Text(template) => self.format_text(template, encode),
                    TemplateValue::Constant(text) => encode(text),
                    other => self.format_json(other),
                };
                format!("{}={value}", encode(&field.name.value()))
            })
            .collect();
        pairs.join("&")
    }
}

/// A Rust expression, which is nothing outside of its source.
const RUST: &str = "(..)";

fn join_object(fields: impl Iterator<Item = (String, String)>) -> String {
    let fields: Vec<String> = fields
        .map(|(key, value)| format!("{}:{value}", json_string(&key)))
        .collect();
    format!("{{{}}}", fields.join(","))
}
