//! What can be wrong with a plan.

use std::time::Duration;

/// A mistake in a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A load of nothing.
    #[error("a load of {what} starts nothing; use at least {least}")]
    Nothing {
        /// The value that was given: `0/s`, `0 users`.
        what: String,
        /// The least that is possible.
        least: &'static str,
    },
    /// A load beyond what one machine can start.
    #[error("a load of {what} is more than one machine can start; use at most {most}")]
    TooMuch {
        /// The value that was given.
        what: String,
        /// The most that is possible.
        most: &'static str,
    },
    /// A grading target that no answer meets.
    #[error("a grading target T of 0s is met by no answer; use for example `500ms`")]
    NoApdex,
    /// An error budget that is no share.
    #[error("an error budget of {given} is not a share of one; use for example `0.01` for 1 %")]
    NoShare {
        /// The value that was given, as text.
        given: String,
    },
    /// A share in the overall grade that is none.
    #[error("a grade weight of {given} is not valid; use a number from 0 to 1000000")]
    NoGradeWeight {
        /// The value that was given, as text.
        given: String,
    },
    /// A target that is no number of users or iterations.
    #[error("a load of {target} at {}s has no meaning; use numbers of at least 0", at.as_secs_f64())]
    Target {
        /// The time from the start of the load.
        at: Duration,
        /// The target, as text.
        target: String,
    },
    /// A group of users that can never be complete.
    #[error(
        "step `{step}` waits until {users} users have arrived, but the load has at most {max_users}; \
         let fewer wait, or give the load more users"
    )]
    Rendezvous {
        /// The name of the step.
        step: String,
        /// The users of its group.
        users: u32,
        /// The most users of the load.
        max_users: u32,
    },
    /// A step where users of several processes would wait for each other.
    #[error(
        "step `{step}` waits for other users, and users of another shard cannot join: run it in one process"
    )]
    DividedRendezvous {
        /// The name of the step.
        step: String,
    },
    /// A load with less than one user or iteration for each process.
    #[error("a load of {what} leaves nothing for some of {shards} shards; use fewer shards")]
    Indivisible {
        /// The users or iterations.
        what: String,
        /// The number of shards.
        shards: u32,
    },
    /// A load that does not end within the lifetime of a run.
    #[error(
        "a load that lasts longer than 30 days cannot be run; use at most 30 days, warm-up included"
    )]
    TooLong,
    /// The ramp takes all of the run.
    #[error(
        "the ramp of {ramp:?} leaves nothing of the run of {duration:?}, which includes it; \
         make the run longer or the ramp shorter"
    )]
    RampTooLong {
        /// The ramp.
        ramp: Duration,
        /// The run.
        duration: Duration,
    },
    /// An override that the load has no place for.
    #[error("{}", self.describe(|option| format!("`{}`", option.flag())))]
    Meaningless {
        /// The override.
        option: LoadOption,
        /// The load, in words.
        load: &'static str,
    },
}

/// An override of a load: a flag of the command line, and a field of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadOption {
    /// Iterations per second.
    Rate,
    /// The rise to the full load.
    RampUp,
    /// The length of the load.
    Duration,
}

impl LoadOption {
    /// Returns the flag of the command line.
    pub const fn flag(self) -> &'static str {
        match self {
            Self::Rate => "--rate",
            Self::RampUp => "--ramp-up",
            Self::Duration => "--duration",
        }
    }
}

/// The load of `--iterations`, in words.
pub(super) const FIXED_WORK: &str = "a fixed number of iterations";

impl PlanError {
    /// The mistake of a length for a fixed number of iterations.
    pub fn no_length(option: LoadOption) -> Self {
        Self::Meaningless {
            option,
            load: FIXED_WORK,
        }
    }

    /// Describes the mistake; `name` says what the reader calls an override.
    pub fn describe(&self, name: impl Fn(LoadOption) -> String) -> String {
        match self {
            Self::Meaningless { option, load } => format!(
                "{} has no meaning for {load}; give {} with it, or leave it out",
                name(*option),
                name(LoadOption::Rate)
            ),
            other => other.to_string(),
        }
    }
}
