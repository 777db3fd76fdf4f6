//! The answers of GraphQL servers: `data` and `errors` (<https://spec.graphql.org/October2021/#sec-Response-Format>).

use super::compression::Encoding;
use crate::redact;
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt::Write as _;

/// An error in the answer of a GraphQL server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct GraphError {
    message: String,
    #[serde(default)]
    path: Option<Vec<Value>>,
    #[serde(default)]
    extensions: Value,
}

impl GraphError {
    /// What the server says.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The place in the data, such as `cart.items[0].price`; empty where the error is about the whole request.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for segment in self.path.iter().flatten() {
            let _ = match segment {
                Value::String(name) if path.is_empty() => write!(path, "{name}"),
                Value::String(name) => write!(path, ".{name}"),
                position => write!(path, "[{position}]"),
            };
        }
        path
    }

    /// What the server adds, such as a code: `error.extensions()["code"] == "FORBIDDEN"`.
    pub fn extensions(&self) -> &Value {
        &self.extensions
    }
}

/// An answer as it came.
#[derive(Debug, Deserialize)]
pub(crate) struct GraphAnswer<'a> {
    /// `None` where it is null or missing.
    #[serde(borrow, default)]
    pub(crate) data: Option<&'a RawValue>,
    #[serde(default)]
    errors: Option<Vec<GraphError>>,
    /// What the server adds, such as the cost of the operation.
    #[serde(borrow, default)]
    pub(crate) extensions: Option<&'a RawValue>,
}

impl<'a> GraphAnswer<'a> {
    /// Reads an answer.
    ///
    /// # Errors
    /// It is no object of JSON: serde takes a list for one too.
    pub(crate) fn read(body: &'a [u8]) -> serde_json::Result<Self> {
        if body.trim_ascii_start().starts_with(b"[") {
            return Err(serde_json::Error::custom(
                "an answer of GraphQL is not a list",
            ));
        }
        serde_json::from_slice(body)
    }

    /// Takes its errors.
    pub(crate) fn take_errors(&mut self) -> Vec<GraphError> {
        self.errors.take().unwrap_or_default()
    }
}

/// Describes errors by the first: ``no such cart at `cart.total`, and 2 more errors``.
pub(crate) fn describe_errors(errors: &[GraphError]) -> Option<String> {
    let first = errors.first()?;
    let mut words = first.message.clone();
    let path = first.path();
    if !path.is_empty() {
        let _ = write!(words, " at `{path}`");
    }
    if errors.len() > 1 {
        let plural = if errors.len() == 2 { "" } else { "s" };
        let _ = write!(words, ", and {} more error{plural}", errors.len() - 1);
    }
    Some(redact::redact_message(&words).to_string())
}

/// Describes the errors in a body that came with an unexpected status; `None` where it is no answer of GraphQL.
pub(super) fn errors_in_body(body: &[u8], encoding: &Encoding) -> Option<String> {
    let body = match encoding.decode(body).ok()? {
        Some(plain) => Cow::Owned(plain.to_vec()),
        None => Cow::Borrowed(body),
    };
    describe_errors_in(&body)
}

/// Describes the errors in an answer, or in the list of answers to a batch; `None` without any, or where it is none of
/// GraphQL.
pub(crate) fn describe_errors_in(body: &[u8]) -> Option<String> {
    let answers = match serde_json::from_slice::<Vec<&RawValue>>(body) {
        Ok(batch) => batch.iter().map(|answer| answer.get().as_bytes()).collect(),
        Err(_) => vec![body],
    };
    let mut errors = Vec::new();
    for answer in answers {
        errors.append(&mut GraphAnswer::read(answer).ok()?.take_errors());
    }
    describe_errors(&errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(body: &str) -> Option<String> {
        errors_in_body(body.as_bytes(), &Encoding::NONE)
    }

    #[test]
    fn errors_are_described_by_message_and_path_of_the_first() {
        for (body, expected) in [
            (
                r#"{"errors": [{"message": "no", "path": ["cart", "items", 0, "price"]}], "data": null}"#,
                "no at `cart.items[0].price`",
            ),
            (
                r#"{"errors": [{"message": "no"}, {"message": "nor this"}, {"message": "a"}]}"#,
                "no, and 2 more errors",
            ),
            (
                r#"{"errors": [{"message": "no"}, {"message": "nor this"}]}"#,
                "no, and 1 more error",
            ),
            (
                r#"{"errors": [{"message": "no", "path": null, "extensions": {"code": "X"}, "locations": []}]}"#,
                "no",
            ),
        ] {
            assert_eq!(described(body).as_deref(), Some(expected), "{body}");
        }
    }

    #[test]
    fn errors_of_a_batch_are_those_of_all_its_answers() {
        let one = r#"{"errors": [{"message": "no", "path": ["cart"]}], "data": null}"#;
        let batch = format!(r#"[{{"data": {{}}}}, {one}, {one}]"#);
        assert_eq!(
            described(&batch).as_deref(),
            Some("no at `cart`, and 1 more error")
        );
        assert_eq!(described(r#"[{"data": {}}]"#), None);
        assert_eq!(described("[]"), None);
    }

    #[test]
    fn what_is_no_answer_of_graphql_is_not_taken_for_one() {
        for body in [
            "",
            "<html>",
            r#"{"error": "no"}"#,
            r#"{"errors": []}"#,
            r#"{"errors": "no"}"#,
            r#"{"errors": [{"code": 7}]}"#,
            r#"{"data": {}}"#,
            r#"[null, [{"message": "no"}]]"#,
        ] {
            assert_eq!(described(body), None, "{body}");
        }
    }
}
