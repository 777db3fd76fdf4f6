//! The number of an iteration.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The number of an iteration in a run: `7`, or, where each user counts its own, `3.12`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Number {
    /// The user, in a load that fixes the users.
    pub user: Option<u64>,
    /// The iteration, counted from zero: over all users, or over those of the user.
    pub iteration: u64,
}

impl Number {
    /// Splits the number of an iteration in a load of users into user and iteration.
    pub fn of_user(iteration: u64) -> Self {
        Self {
            user: Some(iteration >> 32),
            iteration: iteration & u64::from(u32::MAX),
        }
    }
}

impl FromStr for Number {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mistake =
            "is not the number of an iteration; write `7`, or `3.12` for iteration 12 of user 3";
        let number = |text: &str| text.parse().map_err(|_| mistake);
        Ok(match text.split_once('.') {
            Some((user, iteration)) => Self {
                user: Some(number(user)?),
                iteration: number(iteration)?,
            },
            None => Self {
                user: None,
                iteration: number(text)?,
            },
        })
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.user {
            Some(user) => write!(f, "{user}.{}", self.iteration),
            None => self.iteration.fmt(f),
        }
    }
}
