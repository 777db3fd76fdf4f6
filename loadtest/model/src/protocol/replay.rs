//! A scenario as data: requests that are known before it runs.

use crate::definition::ScenarioDef;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A scenario whose steps send known requests.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    /// The declaration, with a step for each request.
    pub definition: ScenarioDef,
    /// The folder that files are relative to. `loadtest.toml` is searched from here upwards.
    pub root: PathBuf,
    /// The requests, in the order of the steps.
    pub requests: Vec<ReplayedRequest>,
    /// Names and values of the secrets in them, besides headers known to hold secrets.
    pub secrets: Vec<(String, String)>,
}

/// A request of a [`Replay`].
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayedRequest {
    /// The method.
    pub method: String,
    /// A path that starts with `/`, or an absolute URL.
    pub url: String,
    /// The headers, in their order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The default headers that are not sent: `accept`, `user-agent`.
    pub omitted: Vec<String>,
    /// The body; empty for none.
    #[serde(with = "base64_text")]
    pub body: Vec<u8>,
}

impl std::fmt::Debug for Replay {
    /// Without its requests, which hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replay")
            .field("scenario", &self.definition.identity())
            .field("requests", &self.requests.len())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for ReplayedRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReplayedRequest")
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

/// Bytes as text.
mod base64_text {
    use base64::prelude::{BASE64_STANDARD, Engine as _};
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};
    use std::borrow::Cow;

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64_STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        BASE64_STANDARD
            .decode(text.as_bytes())
            .map_err(D::Error::custom)
    }
}
