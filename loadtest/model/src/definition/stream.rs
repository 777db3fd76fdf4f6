//! Steps whose answer is a stream of events, and executions that count as good.

use super::{Part, micros};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::time::Duration;

/// How a step reads an answer that is a stream of events: a step that answers `Events<T>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamDef {
    /// How events are told apart.
    pub format: StreamFormat,
    /// `first = |event| ..`: which event is the first that counts, as it is written; without it, the first.
    pub first: Option<Cow<'static, str>>,
    /// What ends the stream; without it, the end of the answer.
    pub end: Option<EndMark>,
    /// `units = ..`: how many units of work an answer holds, as it is written; without it, its events.
    pub units: Option<Cow<'static, str>>,
    /// `events = 5`: the step ends the stream after so many, with success.
    pub events: Option<u32>,
    /// `lasts = 20s`: the step ends the stream after so long, with success.
    #[serde(rename = "lasts_us", with = "micros::option")]
    pub lasts: Option<Duration>,
    /// `idle = 30s`: the longest time without an event before the step fails.
    #[serde(rename = "idle_us", with = "micros")]
    pub idle: Duration,
    /// True with `idle(bytes) = 30s`: whatever comes ends the silence, such as a comment that is a heartbeat.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idle_counts_bytes: bool,
    /// True with `graded = response`: the step is graded by the time to its last event; else by that to the first.
    pub graded_by_response: bool,
}

/// How events are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamFormat {
    /// By the `content-type` of the answer.
    Detected,
    /// `format = events`: server-sent events, `text/event-stream`.
    Events,
    /// `format = lines`: a value on each line.
    Lines,
}

/// What ends a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndMark {
    /// `end = "[DONE]"`: an event with this data, which is none of the events.
    Data(Cow<'static, str>),
    /// `end = |event| ..`, as it is written: an event for which this holds, the last of the events.
    Condition(Cow<'static, str>),
}

/// `first_event < 800ms` of `good(..)`: what holds for a good execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoodCondition {
    /// The time that is looked at; of gaps the longest.
    #[serde(with = "part_name")]
    pub part: Part,
    /// It is at most this.
    #[serde(rename = "at_most_us", with = "micros")]
    pub at_most: Duration,
}

impl StreamDef {
    /// The longest time without an event where none is declared.
    pub const IDLE: Duration = Duration::from_secs(30);
    /// Returns true if the stream ends with an event for which a condition holds.
    pub fn ends_by_condition(&self) -> bool {
        matches!(self.end, Some(EndMark::Condition(_)))
    }

    /// That of an `async` step, which declares nothing of the streams that it reads.
    pub const UNDECLARED: Self = Self {
        format: StreamFormat::Detected,
        first: None,
        end: None,
        units: None,
        events: None,
        lasts: None,
        idle: Self::IDLE,
        idle_counts_bytes: false,
        graded_by_response: false,
    };

    /// The timeout of such a step where none is declared.
    pub const TIMEOUT: Duration = Duration::from_secs(5 * 60);
}

impl GoodCondition {
    /// The times that can be looked at.
    pub const PARTS: [Part; 5] = [
        Part::Whole,
        Part::Service,
        Part::FirstEvent,
        Part::Gap,
        Part::PerUnit,
    ];

    /// The word of a time: `response` for the whole.
    pub const fn part_name(part: Part) -> &'static str {
        match part {
            Part::Whole => "response",
            named => named.name(),
        }
    }
}

/// A part as `good(..)` names it.
mod part_name {
    use super::{GoodCondition, Part};
    use serde::{Deserialize as _, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
    pub(super) fn serialize<S: Serializer>(part: &Part, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(GoodCondition::part_name(*part))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Part, D::Error> {
        let name = String::deserialize(input)?;
        let mut parts = GoodCondition::PARTS.into_iter();
        parts
            .find(|part| GoodCondition::part_name(*part) == name)
            .ok_or_else(|| {
                serde::de::Error::custom(format!("`{name}` is not a time of an execution"))
            })
    }
}
