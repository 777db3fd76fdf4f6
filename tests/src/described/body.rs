//! What a document asks of the bodies of requests.

use super::judge::{Fault, Judge, kinds, refused, split};
use super::locate::{Operation, is_in_range, resolved};
use crate::Request;
use serde_json::Value;

impl Judge {
    pub(super) fn of_body(
        &self,
        operation: &Operation,
        parameters: &[&Value],
        request: &Request,
    ) -> Result<(), Fault> {
        let node = &operation.node;
        let sent_type = request.header("content-type");
        if let Some(content_type) = sent_type.filter(|text| text.trim().is_empty()) {
            return Err(Fault::Of(format!("the content type is {content_type:?}")));
        }
        let is_empty = request.body.is_empty();
        let described = resolved(&self.root, &node["requestBody"]);
        let whole = parameters
            .iter()
            .find(|parameter| parameter["in"] == "body");
        let of_form = parameters
            .iter()
            .filter(|parameter| parameter["in"] == "formData");
        let of_form: Vec<_> = of_form.collect();
        let types = [&node["consumes"], &self.root["consumes"]];
        let types = types.into_iter().find_map(Value::as_array);
        let types = || types.into_iter().flatten().filter_map(Value::as_str);
        if let Some(content) = described["content"].as_object() {
            if is_empty {
                let is_required = described["required"] == Value::Bool(true);
                return refused(is_required, "there is no body, and one is required");
            }
            let sent_type = sent_type.unwrap_or("application/octet-stream");
            let media = content
                .iter()
                .find(|(range, _)| is_in_range(sent_type, range));
            let Some((_, media)) = media else {
                return Err(Fault::Of(format!(
                    "a body is none of the type {sent_type:?}"
                )));
            };
            let media = resolved(&self.root, media);
            return self.of_content(sent_type, &media["schema"], request);
        }
        if let Some(whole) = whole {
            if is_empty {
                let is_required = whole["required"] == Value::Bool(true);
                return refused(is_required, "there is no body, and one is required");
            }
            let sent_type = sent_type.unwrap_or("application/octet-stream");
            let is_known =
                types().next().is_none() || types().any(|range| is_in_range(sent_type, range));
            refused(
                !is_known,
                &format!("a body is none of the type {sent_type:?}"),
            )?;
            return self.of_content(sent_type, &whole["schema"], request);
        }
        let form = fields(request);
        for field in of_form {
            let name = field["name"].as_str().unwrap_or_default();
            let sent: Vec<String> = form
                .iter()
                .filter(|(known, _)| known == name)
                .map(|(_, value)| value.clone())
                .collect();
            if sent.is_empty() {
                let is_required = field["required"] == Value::Bool(true);
                refused(
                    is_required,
                    &format!("the form has no `{name}`, which is required"),
                )?;
            } else if field["type"] != "file" {
                let value = self.value_of(field, field, &sent);
                self.fits(&format!("`{name}` in the form"), field, &value)?;
            }
        }
        Ok(())
    }

    /// Whether a body of a certain type is as its schema has it.
    fn of_content(&self, sent_type: &str, schema: &Value, request: &Request) -> Result<(), Fault> {
        let essence = sent_type.split(';').next().unwrap_or_default().trim();
        if essence.ends_with("json") {
            let value = serde_json::from_slice(&request.body);
            let value: Value =
                value.map_err(|error| Fault::Of(format!("the body is no JSON: {error}")))?;
            return self.fits("the body", schema, &value);
        }
        let is_form = essence.ends_with("form-urlencoded") || essence == "multipart/form-data";
        let whole = resolved(&self.root, schema);
        if !is_form || !whole["properties"].is_object() {
            return Ok(());
        }
        let form = fields(request);
        for name in whole["required"].as_array().into_iter().flatten() {
            let name = name.as_str().unwrap_or_default();
            let is_there = form
                .iter()
                .any(|(known, _)| known == name || known.starts_with(&format!("{name}[")));
            let is_sent = resolved(&self.root, &whole["properties"][name])["readOnly"] != true;
            refused(
                !is_there && is_sent,
                &format!("the form has no `{name}`, which is required"),
            )?;
        }
        // What is put together, or a file, is written in many ways.
        for (name, text) in &form {
            let property = resolved(&self.root, &whole["properties"][name]);
            let own = kinds(property);
            let is_single = matches!(
                own.as_slice(),
                ["string" | "integer" | "number" | "boolean"]
            );
            if is_single && property["format"] != "binary" {
                let value = self.typed(property, text);
                self.fits(&format!("`{name}` in the form"), property, &value)?;
            }
        }
        Ok(())
    }
}

/// The fields of a form, however it is sent.
fn fields(request: &Request) -> Vec<(String, String)> {
    let content_type = request.header("content-type").unwrap_or_default();
    let text = request.text();
    let Some((_, boundary)) = content_type.split_once("boundary=") else {
        return split(&text);
    };
    let boundary = format!("--{}", boundary.trim_matches('"'));
    let parts = text.split(&boundary).filter_map(|part| {
        let (head, body) = part.split_once("\r\n\r\n")?;
        let (_, name) = head.split_once(" name=\"")?;
        let (name, _) = name.split_once('"')?;
        let body = body.strip_suffix("\r\n").unwrap_or(body);
        Some((name.to_owned(), body.to_owned()))
    });
    parts.collect()
}
