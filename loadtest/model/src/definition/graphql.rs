//! Steps whose answers are those of GraphQL.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// How a step asks a GraphQL server and reads its answer: by `graphql = ".."`, or into `Graph<T>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphqlDef {
    /// Kind and name of the operation, such as `query Cart`, where the source shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<Cow<'static, str>>,
    /// `partial = true`: errors beside data are no failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}
