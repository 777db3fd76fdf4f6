//! A step that leaves itself out, on purpose.

use std::borrow::Cow;
use std::fmt;

/// Why a step leaves itself out of an iteration, which is nobody's failure.
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
/// It works in any error type that keeps it: [`Error`](super::Error), `Box<dyn std::error::Error>`.
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

impl std::error::Error for Skip {}
