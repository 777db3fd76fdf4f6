//! The reasons why a step could not run.

use loadtest_model::metrics::Cause;

/// The reason why [`Chain::build`](super::Chain::build) wrote no request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unmet {
    /// An earlier step has no response.
    Upstream {
        /// The earlier step.
        step: usize,
        /// The expression or parameter that names it: `login.response.token`, `login`.
        variable: &'static str,
        /// The cause.
        cause: Cause,
    },
    /// An earlier step failed that ends the journey then.
    Stopped {
        /// The cause.
        cause: Cause,
    },
    /// An earlier step's response lacks a value.
    Missing {
        /// The earlier step.
        step: usize,
        /// The expression that names the value: `browse.response.items[0].id`.
        variable: &'static str,
    },
    /// The row of a feed, a state or a setup lacks a value.
    NotInFeed {
        /// The expression that names the value, after the name of the feed, state or setup: `user.address.city`.
        variable: &'static str,
    },
    /// The value of a setup has expired, and there is no new one.
    Expired {
        /// The name of the setup.
        variable: &'static str,
        /// The reason why there is none.
        reason: String,
    },
    /// The step's function returned `None` or `Err`.
    Declined {
        /// The error it returned.
        reason: String,
    },
    /// The step's function left the step out on purpose.
    LeftOut {
        /// The error it returned.
        reason: String,
    },
    /// The values make an invalid URL, header or body.
    Invalid {
        /// The mistake.
        reason: String,
    },
}
