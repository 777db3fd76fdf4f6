//! The parts of load tests that recordings do not have: loads, limits, checks, data, and code that is not run.

use super::{Key, Span};
use loadtest_model::definition::{Load, Think};
use std::time::Duration;

/// The settings of a scenario.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ScenarioSettings {
    pub(crate) load: Option<Load>,
    /// Limits, as they are written: `errors < 1%`.
    pub(crate) thresholds: Vec<String>,
    /// The time from the start of a mix to that of the load.
    pub(crate) start: Option<Duration>,
    /// The share in a mix.
    pub(crate) weight: Option<u32>,
    /// True where cookies last from journey to journey.
    pub(crate) keeps_cookies: bool,
    /// Limits of transactions, each with the name of its transaction.
    pub(crate) group_limits: Vec<(String, String)>,
    /// True where no cookies are kept at all.
    pub(crate) drops_cookies: bool,
    /// True where a failure ends the journey.
    pub(crate) stops_on_failure: bool,
}

/// The settings of a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StepSettings {
    /// Ranges of statuses of success, without their ends.
    pub(crate) statuses: Vec<(u16, u16)>,
    pub(crate) checks: Vec<AnswerCheck>,
    /// Limits, as they are written: `p95 < 300ms`.
    pub(crate) thresholds: Vec<String>,
    pub(crate) tags: Vec<String>,
    /// The pause after it, where that is drawn.
    pub(crate) think: Option<Think>,
    pub(crate) runs: Runs,
    /// The share of journeys that have it: `0.3`, or a whole number in a choice.
    pub(crate) weight: Option<String>,
    /// The name of the choice that it belongs to.
    pub(crate) choice: Option<String>,
    /// The exchange without whose success it is not sent.
    pub(crate) after: Option<usize>,
    /// True where its failure ends the journey.
    pub(crate) stops_on_failure: bool,
    pub(crate) metrics: Vec<Metric>,
    /// The name of the transaction within the scenario.
    pub(crate) transaction: Option<String>,
}

/// The journeys that have a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Runs {
    /// All of them.
    #[default]
    Always,
    /// The first one of each user.
    Once,
    /// After the last one of each user.
    Last,
}

/// A condition on an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AnswerCheck {
    /// The body has a text, or has it not.
    Text { text: String, is_there: bool },
    /// The body is a text.
    Body(String),
    /// The body is not empty.
    NotEmpty,
    /// A value of the JSON.
    Json { path: Vec<Key>, test: JsonTest },
    /// A header has a text; an empty one is anywhere.
    Header { name: String, text: String },
    /// A header is a text.
    HeaderIs { name: String, text: String },
    /// The answer comes within this time.
    Within(Duration),
}

impl AnswerCheck {
    pub(crate) fn json(path: &[Key], test: JsonTest) -> Self {
        let path = path.to_vec();
        Self::Json { path, test }
    }

    pub(crate) fn header(name: &str, text: &str) -> Self {
        let (name, text) = (name.to_owned(), text.to_owned());
        Self::Header { name, text }
    }
}

/// A metric that each answer adds to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Metric {
    pub(crate) name: String,
    pub(crate) kind: MetricKind,
    pub(crate) value: MetricValue,
    /// The condition under which an answer adds to it.
    pub(crate) when: Option<AnswerTest>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetricKind {
    Count,
    /// Times, in milliseconds.
    Time,
    Gauge,
}

/// What is added to a metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MetricValue {
    Number(i64),
    /// The response time.
    Time,
    /// A number in the JSON of the answer.
    Json(Vec<Key>),
    /// One where a condition holds, else zero.
    Test(AnswerTest),
}

/// Conditions on an answer, all of which hold, or not all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AnswerTest {
    pub(crate) checks: Vec<AnswerCheck>,
    pub(crate) holds: bool,
}

/// A condition on a value of JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JsonTest {
    /// It is there, and not null.
    Exists,
    /// It is this value.
    Is(serde_json::Value),
    /// It is another value.
    IsNot(serde_json::Value),
    /// Its number, or its length, compares with another.
    Compares {
        is_length: bool,
        operator: &'static str,
        number: String,
    },
}

/// Rows of test data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Feed {
    /// A word for a row: `user`.
    pub(crate) name: String,
    pub(crate) source: FeedSource,
    pub(crate) order: FeedOrder,
    /// True where the load ends after the last row.
    pub(crate) stops: bool,
}

impl Feed {
    /// Makes test data without an end.
    pub(crate) fn new(name: impl Into<String>, source: FeedSource, order: FeedOrder) -> Self {
        Self {
            name: name.into(),
            source,
            order,
            stops: false,
        }
    }
}

/// The source of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FeedSource {
    /// A file of CSV, whose columns are text.
    Csv(String),
    /// A file of JSON, a list.
    Json(String),
    /// A file of JSON, and the field of it that is a list.
    JsonField(String, String),
    /// Whole numbers, both included.
    Numbers(i64, i64),
    /// Texts.
    Texts(Vec<String>),
    /// Rows of texts, each with the name of its column.
    Rows(Vec<Vec<(String, String)>>),
}

/// The order of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FeedOrder {
    Sequential,
    Random,
    /// Each row belongs to one user.
    PerUser,
}

/// A value that a run makes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum RunValue {
    /// A column of the row of the [`Feed`] with this number, or all of the row.
    Row { feed: usize, column: Option<String> },
    /// The number of the user.
    User,
    /// The number of the journey of the user.
    Iteration,
    /// The time: `2026-03-01T09:30:00.125Z`.
    Now,
    /// Seconds since 1970.
    UnixSeconds,
    /// Milliseconds since 1970.
    UnixMillis,
    /// A random UUID, new with each request.
    Uuid,
    /// A text that each journey has of its own.
    Unique,
    /// Scheme, host and port of the base URL.
    Origin,
}

impl RunValue {
    /// Returns its path between the braces of a template; none for a row.
    pub(crate) fn path(&self) -> Option<&'static str> {
        Some(match self {
            Self::Row { .. } => return None,
            Self::User => "vu.id",
            Self::Iteration => "vu.iteration",
            Self::Now => "vu.now",
            Self::UnixSeconds => "vu.now.unix",
            Self::UnixMillis => "vu.now.unix_ms",
            Self::Uuid => "vu.uuid",
            Self::Unique => "vu.unique",
            Self::Origin => "vu.origin",
        })
    }
}

/// A part of the input that is code: a comment in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodePart {
    /// Its place in the input.
    pub span: Span,
    /// Its text.
    pub(crate) text: String,
    /// Its meaning, in a few words: `a loop`.
    pub what: String,
    /// The exchange that it stands at; none where it stands outside of journeys.
    pub(crate) exchange: Option<usize>,
    /// True where it comes after the exchange.
    pub(crate) is_after: bool,
}
