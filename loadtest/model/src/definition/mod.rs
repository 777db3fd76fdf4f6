//! What a scenario declares: plain data, written by the macros, printed by `list`, kept in every record.
//!
//! Every type here can be built in a `const` and read back from JSON, so a definition exists once,
//! whether it comes from the linked program or from a record of last year.

mod client;
mod draw;
mod expect;
mod letter;
mod load;
mod metric;
mod repeat;
#[cfg(any(test, feature = "fixtures"))]
#[doc(hidden)]
pub mod sample;
mod scenario;
pub mod threshold;

pub use client::{Client, Cookies, Dns, HttpVersion};
pub use draw::Draw;
pub use expect::{Expect, StatusRange};
pub use letter::Letter;
pub use load::{Load, Shape, Stage};
pub use metric::{Better, Metric, Part, Scope, Statistic, Unit};
pub use repeat::{Retry, Trigger, Until};
pub use scenario::{
    BodyDef, BodyKind, Dependency, FeedDef, HeaderDef, Reads, ScenarioDef, StepDef, Think,
};
pub use threshold::{Bound, Comparator, Threshold};

/// The length of time after which a request is given up when nothing else is declared.
pub const DEFAULT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(30);

/// Writes a [`Duration`](std::time::Duration) rounded to whole microseconds: `latency_us` and the like.
#[expect(missing_docs, reason = "the two functions that `#[serde(with)]` wants")]
pub mod micros {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;

    pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        let rounded = duration.as_nanos().saturating_add(500) / 1_000;
        serializer.serialize_u64(u64::try_from(rounded).unwrap_or(u64::MAX))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_micros)
    }

    /// The same for a value that may be absent.
    pub mod option {
        use serde::{Deserialize, Deserializer, Serializer};
        use std::time::Duration;

        #[expect(
            clippy::ref_option,
            reason = "serde's `with` hands over a reference to the field"
        )]
        pub fn serialize<S: Serializer>(
            duration: &Option<Duration>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            match duration {
                Some(duration) => super::serialize(duration, serializer),
                None => serializer.serialize_none(),
            }
        }

        pub fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<Duration>, D::Error> {
            Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_micros))
        }
    }
}
