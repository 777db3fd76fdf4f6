//! The measured operations of clients that a step brings itself. No I/O here: the engine measures.

use super::error::causes;
use super::{Error, HttpError, Local, OperationEnd, StepSender};
use crate::transport::{ErrorKind, Failure, OperationTarget, Traffic, io_error_kind};
use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::io;
use std::time::Duration;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

/// An operation to be measured, as [`Vu::measure`](super::Vu::measure) makes it: awaited, it runs, and yields what it
/// yields.
///
/// It is for futures of `Result<T, E>`. An `E` that `?` would turn into an [`Error`] fails with the kind of the [`std::io::Error`] or
/// `HttpError` behind it, and else with `op.error`; what is no error says by [`reason`](Self::reason) what it is. Reports
/// tell up to 32 different reasons of a step apart, so a reason holds no id.
///
/// Several at once, by `tokio::join!`, are measured each for itself.
#[must_use = "an operation runs and is measured when it is awaited"]
pub struct Measure<'a, F, R = ()> {
    sender: Option<&'a dyn StepSender>,
    name: Cow<'static, str>,
    operation: F,
    timeout: Option<Duration>,
    traffic: Traffic,
    reason: R,
}

/// The most bytes of one operation, so that sums have room.
const MAX_BYTES: u64 = 1 << 40;

/// What an operation yields: a `Result`.
#[diagnostic::on_unimplemented(
    message = "`vu.measure` needs a future of a `Result`, and this returns `{Self}`",
    label = "yields no `Result`",
    note = "write an operation that cannot fail as `async {{ Ok::<_, Error>(..) }}`"
)]
pub trait MeasuredOutput {}

#[diagnostic::do_not_recommend]
impl<T, E> MeasuredOutput for Result<T, E> {}

/// Why an operation failed, in the words of the step.
#[derive(Debug)]
pub struct Reason<D>(D);

/// An operation that failed, or did not end in time.
///
/// A step that returns it fails with its kind. What the operation returned is its [`source`](StdError::source).
#[derive(Debug)]
pub struct MeasureError {
    kind: &'static str,
    message: String,
    source: Option<Error>,
}

impl<'a, F> Measure<'a, F> {
    pub(super) fn new(
        sender: Option<&'a dyn StepSender>,
        name: Cow<'static, str>,
        operation: F,
    ) -> Self {
        Self {
            sender,
            name,
            operation,
            timeout: None,
            traffic: Traffic::default(),
            reason: (),
        }
    }
}

impl<'a, F: Future<Output = Result<T, E>>, T, E> Measure<'a, F> {
    /// Says why the operation failed, of its error: for what is no [`std::error::Error`], and for shorter words.
    pub fn reason<D, W>(self, describe: D) -> Measure<'a, F, Reason<D>>
    where
        D: FnOnce(&E) -> W,
        W: Into<String>,
    {
        Measure {
            sender: self.sender,
            name: self.name,
            operation: self.operation,
            timeout: self.timeout,
            traffic: self.traffic,
            reason: Reason(describe),
        }
    }
}

impl<F, R> Measure<'_, F, R> {
    /// Gives the operation another time than the `timeout` of the step.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = Some(time);
        self
    }

    /// Counts these bytes as sent and received, unless the operation fails. Those of a connection that `net` opened count
    /// without it.
    pub fn bytes(mut self, sent: u64, received: u64) -> Self {
        self.traffic.sent_bytes = sent.min(MAX_BYTES);
        self.traffic.received_bytes = received.min(MAX_BYTES);
        self
    }

    /// Runs the operation; `explain` makes its error one that can be counted.
    async fn run<T, E>(
        self,
        explain: impl FnOnce(R, E) -> MeasuredFailure,
    ) -> Result<T, MeasureError>
    where
        F: Future<Output = Result<T, E>>,
    {
        let name = self.name;
        let Some(sender) = self.sender else {
            let message = format!("`{name}` is not measured: `vu.measure` is for `async` steps");
            return Err(MeasureError::new(ErrorKind::StepError, message));
        };
        let measured = sender
            .begin_operation(&name, OperationTarget::Unknown)
            .await?;
        let time = self.timeout.unwrap_or(measured.timeout());
        let ended = timeout(time, self.operation).await;
        let failed = match ended {
            Ok(Ok(value)) => {
                measured.finish(OperationEnd {
                    traffic: self.traffic,
                    ..OperationEnd::default()
                });
                return Ok(value);
            }
            Ok(Err(error)) => explain(self.reason, error),
            Err(_) => MeasuredFailure {
                kind: ErrorKind::TimeoutTotal,
                words: format!("it did not end within {time:?}"),
                source: None,
            },
        };
        let lost = measured.finish(OperationEnd {
            failure: Some(Failure::new(failed.kind, failed.words.clone())),
            ..OperationEnd::default()
        });
        let message = match (lost, &failed.source) {
            (Some(lost), _) => format!("`{name}` failed: {}; {lost}", failed.words),
            (None, Some(_)) => format!("`{name}` failed"),
            (None, None) => format!("`{name}` failed: {}", failed.words),
        };
        Err(MeasureError {
            kind: failed.kind.name(),
            message,
            source: failed.source,
        })
    }
}

/// An error of an operation, as it is counted.
struct MeasuredFailure {
    kind: ErrorKind,
    words: String,
    source: Option<Error>,
}

impl<'a, F, T, E> IntoFuture for Measure<'a, F>
where
    F: Future<Output = Result<T, E>> + 'a,
    T: 'a,
    E: Into<Error> + 'a,
{
    type Output = Result<T, MeasureError>;
    type IntoFuture = Local<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run(|(), error: E| {
            let source: Error = error.into();
            MeasuredFailure {
                kind: error_kind(source.get()),
                words: source.to_string(),
                source: Some(source),
            }
        }))
    }
}

impl<'a, F, T, E, D, W> IntoFuture for Measure<'a, F, Reason<D>>
where
    F: Future<Output = Result<T, E>> + 'a,
    T: 'a,
    E: 'a,
    D: FnOnce(&E) -> W + 'a,
    W: Into<String>,
{
    type Output = Result<T, MeasureError>;
    type IntoFuture = Local<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(
            self.run(|Reason(describe): Reason<D>, error: E| MeasuredFailure {
                kind: ErrorKind::OpError,
                words: describe(&error).into(),
                source: None,
            }),
        )
    }
}

/// The kind of an error that an operation returned.
fn error_kind(error: &(dyn StdError + 'static)) -> ErrorKind {
    causes(error)
        .find_map(|cause| {
            if let Some(error) = cause.downcast_ref::<MeasureError>() {
                return ErrorKind::from_name(error.kind);
            }
            if let Some(error) = cause.downcast_ref::<HttpError>() {
                return ErrorKind::from_name(error.kind());
            }
            if cause.is::<Elapsed>() {
                return Some(ErrorKind::TimeoutTotal);
            }
            cause.downcast_ref::<io::Error>().and_then(io_error_kind)
        })
        .unwrap_or(ErrorKind::OpError)
}

impl MeasureError {
    pub(super) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind: kind.name(),
            message: message.into(),
            source: None,
        }
    }

    /// The name of its kind in reports: `op.error`, `timeout.total`, `connect.refused`, `guard.blocked`.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// Returns whether it did not end in time.
    pub fn is_timeout(&self) -> bool {
        self.kind.starts_with("timeout.")
    }
}

impl From<Failure> for MeasureError {
    fn from(failure: Failure) -> Self {
        Self::new(failure.kind, failure.message)
    }
}

impl fmt::Display for MeasureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for MeasureError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|source| source.get() as _)
    }
}

impl<F, R> fmt::Debug for Measure<'_, F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Measure")
            .field("name", &self.name)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
