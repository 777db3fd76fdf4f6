//! An error by which a step gives back what `once` steps gave it.

use super::Error;
use std::error::Error as StdError;
use std::fmt;

/// An error of an `async` step that says: what a `once` step gave it is of no use any more. A token has expired, a connection
/// is lost.
///
/// The step has failed. The `once` steps whose answers it uses run again at once, and with them the `once` steps that use
/// theirs; the steps that follow get the new answers.
///
/// ```
/// use loadtest::prelude::*;
///
/// #[scenario(base = "http://127.0.0.1:3000")]
/// fn shop() {
///     #[step(once)]
///     async fn login(http: &mut Http) -> Result<String, Error> {
///         Ok(http.post("/login").send().await?.text().await?)
///     }
///
///     #[step]
///     async fn order(login: &String, http: &mut Http) -> Result<(), Error> {
///         let answer = http.post("/orders").bearer_auth(login).send().await?;
///         if answer.status() == 401 {
///             return Err(Stale::because("the token has expired").into());
///         }
///         answer.error_for_status()?;
///         Ok(())
///     }
/// }
/// ```
///
/// `map_err(Stale::because)?` makes one of any error. It works in every error type that keeps it, as [`Skip`](crate::Skip)
/// does.
#[derive(Debug)]
pub struct Stale {
    error: Error,
}

impl Stale {
    /// The answers are stale, as `error` shows.
    pub fn because(error: impl Into<Error>) -> Self {
        Self {
            error: error.into(),
        }
    }
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl StdError for Stale {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(self.error.get())
    }
}
