//! The error type of steps that need none of their own.

use super::grpc::call_code;
use super::stale::Stale;
use super::{HttpError, MeasureError};
use crate::redact;
use http::StatusCode;
use std::error::Error as StdError;
use std::fmt;
use std::iter::successors;

/// Any error, for steps that return a `Result` and need no error type of their own.
///
/// `?` and `.into()` make one of every [`std::error::Error`], and of what else is turned into a boxed one:
/// text, and the errors of other crates such as `anyhow`.
///
/// ```
/// use loadtest::prelude::*;
///
/// fn first(items: &[u64]) -> Result<u64, Error> {
///     let first = items.first().ok_or("nothing is on offer")?;
///     if *first == 0 {
///         return Err(format!("{first} is no number of an offer").into());
///     }
///     Ok(*first)
/// }
/// assert_eq!(first(&[]).unwrap_err().to_string(), "nothing is on offer");
/// ```
pub struct Error(Box<dyn StdError + Send + Sync>);

/// The root cause of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An answer could not be read; these are the words, without the value.
    Undecodable(String),
    /// An answer had this status, and was refused for it.
    Status(StatusCode),
    /// A request could not be made.
    Unsent,
    /// A request was not answered, for a failure of this kind.
    Unanswered(&'static str),
    /// A gRPC call ended with this code, which the error shows so.
    Call { code: u16, shown: String },
    /// Anything else.
    Other,
}

/// The words of an error that is gone, and what kind it was.
#[derive(Debug)]
struct Like {
    words: String,
    fault: Fault,
    /// True if one that holds it says no more.
    is_all: bool,
    /// True if it was a [`Stale`].
    is_stale: bool,
}

impl Error {
    /// An error that says `message`.
    pub fn msg(message: impl fmt::Display) -> Self {
        Self(message.to_string().into())
    }

    /// Returns the underlying error.
    pub fn get(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.0
    }

    /// An answer, or an event of it, that could not be read.
    pub(crate) fn undecodable(reason: String) -> Self {
        Self(Box::new(Like {
            words: reason.clone(),
            fault: Fault::Undecodable(reason),
            is_all: false,
            is_stale: false,
        }))
    }

    /// An error that says what `error` says, and is of its kind.
    pub(crate) fn like(error: &(dyn StdError + 'static)) -> Self {
        Self(Box::new(Like {
            words: describe_error(error),
            fault: fault(error),
            is_all: false,
            is_stale: causes(error).any(<dyn StdError>::is::<Stale>),
        }))
    }

    /// Returns whether the answers of `once` steps are stale by it.
    pub(crate) fn is_stale(&self) -> bool {
        self.0
            .downcast_ref::<Like>()
            .is_some_and(|like| like.is_stale)
    }

    /// The error of a gRPC call whose client returned `status`, if that is one.
    pub(crate) fn of_call(status: &dyn StdError) -> Option<Self> {
        let code = call_code(status)?;
        let measured = status.source().and_then(|source| {
            let measured = source.downcast_ref::<MeasureError>()?;
            Some((measured.to_string(), fault(measured)))
        });
        let (words, fault) = measured.unwrap_or_else(|| {
            let shown = status.to_string();
            (shown.clone(), Fault::Call { code, shown })
        });
        Some(Self(Box::new(Like {
            words,
            fault,
            is_all: true,
            is_stale: false,
        })))
    }

    /// This error as one that holds it says it: in `words`, which may hold its own or be their start.
    pub(crate) fn said_as(self, words: String) -> Self {
        if self
            .0
            .downcast_ref::<Like>()
            .is_some_and(|like| like.is_all)
        {
            return self;
        }
        let own = self.to_string();
        let words = if own.starts_with(&words) {
            own
        } else if words.contains(&own) {
            words
        } else {
            format!("{words}: {own}")
        };
        let (fault, is_stale) = (self.fault(), self.is_stale());
        Self(Box::new(Like {
            words,
            fault,
            is_all: false,
            is_stale,
        }))
    }

    /// Returns its root cause.
    pub(crate) fn fault(&self) -> Fault {
        fault(self.get())
    }
}

/// `error` and what it came from.
pub(crate) fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    successors(Some(error), |&error| error.source())
}

/// Describes `error` and its sources.
pub(crate) fn describe_error(error: &(dyn StdError + 'static)) -> String {
    let mut words: Vec<String> = Vec::new();
    for cause in causes(error) {
        // A gRPC client wraps what was measured in a status, and shows it as code.
        let source = cause.source();
        if source.is_some_and(<dyn StdError>::is::<MeasureError>) && call_code(cause).is_some() {
            continue;
        }
        let cause = cause.to_string();
        // Some errors say what their source says.
        if words.last().is_none_or(|last| !last.contains(&cause)) {
            words.push(cause);
        }
    }
    words.join(": ")
}

fn fault(error: &(dyn StdError + 'static)) -> Fault {
    for cause in causes(error) {
        if let Some(like) = cause.downcast_ref::<Like>() {
            return like.fault.clone();
        }
        if let Some(error) = cause.downcast_ref::<HttpError>() {
            return if error.is_unsent() {
                Fault::Unsent
            } else {
                Fault::Unanswered(error.kind())
            };
        }
        if let Some(error) = cause.downcast_ref::<MeasureError>() {
            return Fault::Unanswered(error.kind());
        }
        let Some(error) = cause.downcast_ref::<reqwest::Error>() else {
            continue;
        };
        if error.is_decode() {
            let root = causes(error).last().map(ToString::to_string);
            let root = root.unwrap_or_default();
            return Fault::Undecodable(redact::redact_decode_error(&root).into_owned());
        }
        if let Some(status) = error.status() {
            return Fault::Status(status);
        }
    }
    let status = causes(error).find_map(|cause| Some((cause, call_code(cause)?)));
    status.map_or(Fault::Other, |(status, code)| Fault::Call {
        code,
        shown: status.to_string(),
    })
}

// `E: StdError` would leave no room for text, which the standard library may make an error one day.
impl<E: Into<Box<dyn StdError + Send + Sync>>> From<E> for Error {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&describe_error(self.get()))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Like {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl StdError for Like {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Skip;

    #[test]
    fn text_errors_and_boxed_errors_become_one_by_themselves() {
        fn by_question_mark() -> Result<(), Error> {
            Err("no token")?
        }
        let boxed = || -> Box<dyn StdError + Send + Sync> { Skip::because("sold out").into() };
        for (made, words) in [
            (by_question_mark().unwrap_err(), "no token"),
            (String::from("no token").into(), "no token"),
            (
                fmt::Error.into(),
                "an error occurred when formatting an argument",
            ),
            (Skip::because("sold out").into(), "sold out"),
            (boxed().into(), "sold out"),
        ] {
            assert_eq!(made.to_string(), words);
        }
        // what was boxed is not boxed again
        assert!(Skip::within(Error::from(boxed()).get()).is_some());
    }
}
