//! A step that leaves itself out, on purpose.

use super::stale::Stale;
use super::{Error, Halt, HttpError, Unmet};
use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

/// A deliberate skip of a step, which counts as no failure.
///
/// ```
/// use loadtest::prelude::*;
///
/// fn buy(items: &[u64]) -> Result<Request, Skip> {
///     let Some(item) = items.first() else {
///         return Err(Skip::because("the shop is empty"));
///     };
///     Ok(Request::post(format!("/cart/{item}")))
/// }
/// ```
///
/// It works in every error type that keeps it: [`Error`](super::Error), `Box<dyn std::error::Error>`, and
/// those of your own or of other crates that name it as their source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    reason: Cow<'static, str>,
}

impl Skip {
    /// A skip for this reason.
    pub fn because(reason: impl Into<Cow<'static, str>>) -> Self {
        Self {
            reason: reason.into(),
        }
    }

    /// The reason.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl StdError for Skip {}

impl Skip {
    /// The skip that `error` is, or that is at its source.
    pub(crate) fn within<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a Self> {
        let mut error = error;
        loop {
            if let Some(skip) = error.downcast_ref() {
                return Some(skip);
            }
            error = error.source()?;
        }
    }

    fn unmet(&self) -> Unmet {
        Unmet::LeftOut {
            reason: self.reason.to_string(),
        }
    }
}

/// The value a step returned, to find out its error. It uses autoref specialisation, since a step may return
/// any error that can be displayed, also one that borrows.
#[doc(hidden)]
#[derive(Debug)]
pub struct SkipProbe<'a, R>(pub &'a R);

macro_rules! looks_into {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[doc(hidden)]
        pub trait $name {
            /// The error, or its source, where one of them can be looked into.
            fn cause(&self) -> Option<&(dyn StdError + 'static)>;

            /// Returns an error if it is a skip.
            ///
            /// # Errors
            /// It is.
            fn skip(&self) -> Result<(), Unmet> {
                let skip = self.cause().and_then(Skip::within);
                skip.map_or(Ok(()), |skip| Err(skip.unmet()))
            }

            /// Returns the reason why an async step has no value, if the error tells.
            fn halt(&self) -> Option<Halt> {
                Some(match self.skip() {
                    Err(unmet) => Halt::Unmet(unmet),
                    Ok(()) => Halt::Failed(Error::like(self.cause()?)),
                })
            }
        }
    )*};
}
looks_into! {
    /// Errors that can be looked into; found first.
    SkipsAlways;
    /// Errors that may have something to look into as their source; found before [`SkipsWithin`].
    SkipsMaybe;
    /// Errors that lend what they hold, as `anyhow::Error` and `eyre::Report` do; found before
    /// [`SkipsNever`].
    SkipsWithin;
    /// Everything else.
    SkipsNever;
}

macro_rules! holders {
    ($($holder:ty: $error:ident => $inner:expr;)*) => {$(
        impl<R> SkipsAlways for &&&SkipProbe<'_, Result<R, $holder>> {
            fn cause(&self) -> Option<&(dyn StdError + 'static)> {
                self.0.as_ref().err().map(|$error| -> &(dyn StdError + 'static) { $inner })
            }
        }
    )*};
}
holders! {
    Skip: error => error;
    Stale: error => error;
    HttpError: error => error;
    reqwest::Error: error => error;
    Error: error => error.get();
    Box<dyn StdError>: error => &**error;
    Box<dyn StdError + Send>: error => &**error;
    Box<dyn StdError + Send + Sync>: error => &**error;
}

impl<R, E: StdError> SkipsMaybe for &&SkipProbe<'_, Result<R, E>> {
    fn cause(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.as_ref().err().and_then(StdError::source)
    }

    fn halt(&self) -> Option<Halt> {
        // It may be the status of a gRPC call, which cannot be named here.
        let status = self
            .0
            .as_ref()
            .err()
            .and_then(|error| Error::of_call(error));
        if let Some(status) = status {
            return Some(Halt::Failed(status));
        }
        Some(match self.skip() {
            Err(unmet) => Halt::Unmet(unmet),
            Ok(()) => Halt::Failed(Error::like(self.cause()?)),
        })
    }
}

impl<R, E: AsRef<dyn StdError + Send + Sync>> SkipsWithin for &SkipProbe<'_, Result<R, E>> {
    fn cause(&self) -> Option<&(dyn StdError + 'static)> {
        let error = self.0.as_ref().err();
        error.map(|error| -> &(dyn StdError + 'static) { error.as_ref() })
    }
}

impl<R> SkipsNever for SkipProbe<'_, R> {
    fn cause(&self) -> Option<&(dyn StdError + 'static)> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Own {
        #[error("no stock")]
        Stock(#[source] Skip),
        #[error("another")]
        Other,
    }

    /// As `anyhow::Error` is made.
    struct Lends(Box<dyn StdError + Send + Sync>);

    impl AsRef<dyn StdError + Send + Sync> for Lends {
        fn as_ref(&self) -> &(dyn StdError + Send + Sync + 'static) {
            &*self.0
        }
    }

    macro_rules! is_skip {
        ($returned:expr) => {{
            let returned = $returned;
            (&&&&SkipProbe(&returned)).skip().is_err()
        }};
    }

    #[test]
    fn a_skip_is_found_in_every_error_that_keeps_it() {
        let skip = || Skip::because("empty");
        assert!(is_skip!(Err::<u8, _>(skip())));
        assert!(is_skip!(Err::<u8, Error>(skip().into())));
        assert!(is_skip!(Err::<u8, Error>(Own::Stock(skip()).into())));
        assert!(is_skip!(Err::<u8, Box<dyn StdError>>(skip().into())));
        assert!(is_skip!(Err::<u8, Box<dyn StdError + Send + Sync>>(
            skip().into()
        )));
        assert!(is_skip!(Err::<u8, _>(Own::Stock(skip()))));
        assert!(is_skip!(Err::<u8, _>(Lends(skip().into()))));
    }

    #[test]
    fn other_errors_are_none() {
        let borrowed = String::from("empty");
        assert!(!is_skip!(Ok::<u8, Skip>(1)));
        assert!(!is_skip!(Err::<u8, _>(Own::Other)));
        assert!(!is_skip!(Err::<u8, Error>(Error::msg("empty"))));
        assert!(!is_skip!(Err::<u8, Box<dyn StdError>>("empty".into())));
        assert!(!is_skip!(Err::<u8, &str>(&borrowed)));
        assert!(!is_skip!(Some(1)));
    }
}
