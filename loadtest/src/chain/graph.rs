//! `Graph<T>`: the answer of a GraphQL server.

use super::decode_error::explain_decode_error;
use super::http::HttpError;
use super::response::{FromBody, Response};
use super::slot::{Slot, explain_by_content_type};
use super::{Error, RawResponse};
use crate::page::PageLimit;
use crate::transport::ErrorKind;
use crate::transport::graphql::{GraphAnswer, GraphError, describe_errors};
use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;
use std::ops::Deref;

/// The path that GraphQL operations are sent to.
pub(crate) const GRAPHQL_PATH: &str = "/graphql";

/// The answer of a GraphQL server, read from its `data`; it derefs to `T`.
///
/// An answer with `errors` fails its step, as `graphql.errors`. With `partial = true` errors beside data are handed on.
///
/// ```
/// use loadtest::prelude::*;
///
/// #[response]
/// struct Shelf { products: Vec<Option<Product>> }
///
/// #[response]
/// struct Product { id: String }
///
/// #[scenario(base = "http://127.0.0.1:3000")]
/// fn shop() {
///     #[step(graphql = "query Shelf { products { id } }", partial = true, check = |shelf| shelf.errors().len() < 3)]
///     fn shelf() -> Graph<Shelf>;
///
///     #[step]
///     fn add(shelf: &Graph<Shelf>) -> Request<Graph<Value>> {
///         let product = shelf.products.iter().flatten().next();
///         Request::graphql("mutation Add($id: ID) { add(product: $id) { total } }")
///             .variables(&json!({ "id": product.map(|product| &product.id) }))
///     }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Graph<T> {
    data: T,
    errors: Vec<GraphError>,
    /// As it came; empty without any.
    extensions: Bytes,
}

impl<T> Graph<T> {
    /// The data.
    pub fn data(&self) -> &T {
        &self.data
    }

    /// The data, to keep.
    pub fn into_data(self) -> T {
        self.data
    }

    /// The errors beside the data; none unless the step says `partial = true`.
    pub fn errors(&self) -> &[GraphError] {
        &self.errors
    }

    /// What the server adds to its answer, such as the cost of the operation; null without any:
    /// `graph.extensions()["cost"]["actual"]`.
    pub fn extensions(&self) -> Value {
        serde_json::from_slice(&self.extensions).unwrap_or_default()
    }
}

impl<T> Deref for Graph<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.data
    }
}

/// Why an answer cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct ReadError {
    pub(crate) kind: ErrorKind,
    pub(crate) reason: String,
}

impl ReadError {
    /// The same, of which `explain` says more.
    pub(crate) fn explained(self, explain: impl FnOnce(String) -> String) -> Self {
        Self {
            reason: explain(self.reason),
            ..self
        }
    }
}

/// A body that is no value of its type.
impl From<String> for ReadError {
    fn from(reason: String) -> Self {
        Self {
            kind: ErrorKind::BodyDecode,
            reason,
        }
    }
}

/// A page that is too large to be read.
impl From<PageLimit> for ReadError {
    fn from(limit: PageLimit) -> Self {
        Self {
            kind: ErrorKind::BodyTooLarge,
            reason: format!("{limit}; `String` takes any text"),
        }
    }
}

impl<T: FromBody> Graph<T> {
    /// Reads `body`; errors beside data are none where it `is_partial`.
    fn read(body: &Bytes, is_partial: bool) -> Result<Self, ReadError> {
        let answer = GraphAnswer::read(body);
        let mut answer = answer.map_err(|error| explain_decode_error(&error, body))?;
        let errors = answer.take_errors();
        let described = describe_errors(&errors);
        let extensions = answer.extensions;
        match (answer.data, described) {
            (Some(data), None) => Self::from_parts(data, extensions, body, errors),
            (Some(data), Some(reason)) if is_partial => {
                // Where the data cannot be read, the errors say why.
                Self::from_parts(data, extensions, body, errors).map_err(|unread| ReadError {
                    kind: ErrorKind::GraphqlErrors,
                    reason: format!("{reason} ({unread})"),
                })
            }
            (_, Some(reason)) => Err(ReadError {
                kind: ErrorKind::GraphqlErrors,
                reason,
            }),
            (None, None) => Err(String::from("the answer has neither `data` nor `errors`").into()),
        }
    }

    fn from_parts(
        data: &RawValue,
        extensions: Option<&RawValue>,
        body: &Bytes,
        errors: Vec<GraphError>,
    ) -> Result<Self, ReadError> {
        let slice = |part: &RawValue| body.slice_ref(part.get().as_bytes());
        let data = T::from_body(&slice(data));
        Ok(Self {
            extensions: extensions.map(slice).unwrap_or_default(),
            data: data.map_err(|reason| format!("`data`: {reason}"))?,
            errors,
        })
    }

    /// Reads the answer to a request of an `async` step, which may be `refused` for its status.
    pub(super) fn from_answer(body: &Bytes, refused: Option<Error>) -> Result<Self, Error> {
        match (Self::read(body, false), refused) {
            (Err(error), _) if error.kind == ErrorKind::GraphqlErrors => {
                Err(HttpError::new(error.kind.name(), error.reason).into())
            }
            (_, Some(refused)) => Err(refused),
            (read, None) => read.map_err(|error| Error::undecodable(error.reason)),
        }
    }

    /// Reads the list of `count` answers to a request of an `async` step, which may be `refused` for its status.
    pub(super) fn from_batch(
        body: &Bytes,
        count: usize,
        mut refused: Option<Error>,
    ) -> Result<Vec<Self>, Error> {
        let Ok(answers) = serde_json::from_slice::<Vec<&RawValue>>(body) else {
            // A server without batches may say so in one answer.
            Graph::<Value>::from_answer(body, refused)?;
            return Err(Error::undecodable(format!(
                "the answer is no list of {count} answers, but a single one"
            )));
        };
        let read = answers.iter().map(|answer| {
            let answer = body.slice_ref(answer.get().as_bytes());
            Self::from_answer(&answer, refused.take())
        });
        let read = read.collect::<Result<Vec<_>, _>>()?;
        match refused {
            Some(refused) => Err(refused),
            None if read.len() == count => Ok(read),
            None => Err(Error::undecodable(format!(
                "{} answers came to {count} operations",
                read.len()
            ))),
        }
    }
}

/// The fields of an operation as parameters of a URL: text as it is, others as JSON
/// (<https://github.com/graphql/graphql-over-http>).
pub(super) fn graphql_parameters(operation: &Value) -> Vec<(&str, String)> {
    let fields = operation.as_object().into_iter().flatten();
    let parameters = fields.map(|(name, value)| {
        let text = value.as_str().map(str::to_owned);
        (name.as_str(), text.unwrap_or_else(|| value.to_string()))
    });
    parameters.collect()
}

/// An event of a stream; other answers are read by the functions below.
#[diagnostic::do_not_recommend]
impl<T: FromBody> FromBody for Graph<T> {
    const IS_GRAPHQL: bool = true;

    fn from_body(body: &Bytes) -> Result<Self, String> {
        Self::read(body, false).map_err(|error| error.reason)
    }

    fn read_body(body: &Bytes) -> Result<Self, ReadError> {
        Self::read(body, false)
    }
}

/// Reads `response` into `slot`, together with errors beside the data where it `is_partial`.
///
/// # Errors
/// It has errors, or is no `T`.
pub fn fill_graph<T: FromBody>(
    slot: &mut Slot<Graph<T>>,
    response: RawResponse,
    is_partial: bool,
) -> Result<(), ReadError> {
    let graph = read_graph(&response, is_partial)?;
    *slot = Slot::Full(Response::new(response, graph, true));
    Ok(())
}

/// Reads the data of `response` into `slot`.
///
/// # Errors
/// It has errors, or is no `T`.
pub fn fill_graph_data<T: FromBody>(
    slot: &mut Slot<T>,
    response: RawResponse,
) -> Result<(), ReadError> {
    let graph = read_graph(&response, false)?;
    *slot = Slot::Full(Response::new(response, graph.data, true));
    Ok(())
}

/// Returns whether `slot` has an answer with errors beside its data.
pub fn is_partial_graph<T>(slot: &Slot<Graph<T>>) -> bool {
    matches!(slot, Slot::Full(answer) if !answer.errors().is_empty())
}

fn read_graph<T: FromBody>(
    response: &RawResponse,
    is_partial: bool,
) -> Result<Graph<T>, ReadError> {
    let read = Graph::read(&response.body, is_partial);
    read.map_err(|error| explain_by_content_type(error, &response.headers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read<T: FromBody>(
        body: &'static str,
        is_partial: bool,
    ) -> Result<Graph<T>, (ErrorKind, String)> {
        let read = Graph::read(&Bytes::from_static(body.as_bytes()), is_partial);
        read.map_err(|error| (error.kind, error.reason))
    }

    #[test]
    fn data_without_errors_is_read() {
        for body in [
            r#"{"data": {"id": 7}}"#,
            r#"{"errors": null, "data": {"id": 7}, "extensions": {}}"#,
            r#"{"data": {"id": 7}, "errors": []}"#,
        ] {
            let graph = read::<Value>(body, false).unwrap();
            assert_eq!(
                (graph.data(), graph.errors()),
                (&json!({ "id": 7 }), &[][..])
            );
            read::<()>(body, false).unwrap();
        }
    }

    #[test]
    fn what_a_server_adds_is_handed_on() {
        let body = r#"{"data": 7, "extensions": {"cost": {"actual": 3}}}"#;
        let graph = read::<u64>(body, false).unwrap();
        assert_eq!(graph.extensions()["cost"]["actual"], 3);
        let graph = read::<u64>(r#"{"data": 7}"#, false).unwrap();
        assert_eq!(graph.extensions(), Value::Null);
    }

    #[test]
    fn errors_beside_data_fail_unless_they_are_accepted() {
        const BODY: &str = r#"{"data": {"id": null}, "errors": [{"message": "no", "path": ["id"], "extensions": {"code": 3}}]}"#;
        let failed = (ErrorKind::GraphqlErrors, "no at `id`".to_owned());
        assert_eq!(read::<Value>(BODY, false).unwrap_err(), failed);
        let graph = read::<Value>(BODY, true).unwrap();
        assert_eq!(graph["id"], Value::Null);
        let [error] = graph.errors() else {
            panic!("{:?}", graph.errors());
        };
        assert_eq!((error.message(), &*error.path()), ("no", "id"));
        assert_eq!(error.extensions()["code"], 3);
    }

    #[test]
    fn errors_without_data_fail_always() {
        for body in [
            r#"{"data": null, "errors": [{"message": "no"}]}"#,
            r#"{"errors": [{"message": "no"}]}"#,
        ] {
            for is_partial in [false, true] {
                let failed = (ErrorKind::GraphqlErrors, "no".to_owned());
                assert_eq!(read::<Value>(body, is_partial).unwrap_err(), failed);
            }
        }
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let neither = "the answer has neither `data` nor `errors`";
        for (body, expected) in [
            ("{}", neither),
            (r#"{"data": null}"#, neither),
            (r#"{"data": null, "errors": []}"#, neither),
            (
                "<html>",
                "the body is not JSON: expected value at line 1 column 1",
            ),
            (
                "",
                "the body is not JSON: EOF while parsing a value at line 1 column 0",
            ),
            (
                r#"{"data": "seven"}"#,
                "`data`: invalid type: string \"[redacted]\", expected u64",
            ),
            (
                r#"{"data": 1, "errors": [{"code": 1}]}"#,
                "missing field `message` at `.errors[0]`",
            ),
        ] {
            let failed = (ErrorKind::BodyDecode, expected.to_owned());
            assert_eq!(read::<u64>(body, true).unwrap_err(), failed, "{body}");
        }
    }

    #[test]
    fn a_batch_has_an_answer_for_each_operation() {
        let batch = |body: &'static str, count| {
            let read = Graph::<u64>::from_batch(&Bytes::from_static(body.as_bytes()), count, None);
            read.map(|all| all.into_iter().map(Graph::into_data).collect::<Vec<_>>())
                .map_err(|error| error.to_string())
        };
        assert_eq!(batch(r#"[{"data": 1}, {"data": 2}]"#, 2).unwrap(), [1, 2]);
        for (body, count, expected) in [
            (r#"[{"data": 1}]"#, 2, "1 answers came to 2 operations"),
            (r#"[{"data": 1}, {"errors": [{"message": "no"}]}]"#, 2, "no"),
            (
                r#"{"errors": [{"message": "no batches"}]}"#,
                2,
                "no batches",
            ),
            (
                r#"{"data": 1}"#,
                2,
                "the answer is no list of 2 answers, but a single one",
            ),
        ] {
            let error = batch(body, count).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        let refused = Some(Error::msg("503"));
        let read = Graph::<u64>::from_batch(&Bytes::from_static(b"[]"), 0, refused);
        assert_eq!(read.unwrap_err().to_string(), "503");
    }
}
