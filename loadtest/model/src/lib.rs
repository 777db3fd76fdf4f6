//! The data of load tests and the arithmetic on it: what a scenario declares, what a run does and measures, and
//! how it is graded.
//!
//! Without the default feature `data` there are only [`threshold`] and [`graphql`], without any dependency on
//! serde: the macros use their grammars.
//!
//! Nothing here reads a file, opens a socket or prints.

#[cfg(feature = "data")]
pub mod capacity;
#[cfg(feature = "data")]
pub mod card;
#[cfg(feature = "data")]
pub mod comparison;
#[cfg(feature = "data")]
pub mod definition;
#[cfg(feature = "data")]
pub mod display;
#[cfg(feature = "data")]
pub mod exit_code;
#[cfg(feature = "data")]
pub mod failure;
pub mod graphql;
#[cfg(feature = "data")]
pub mod metrics;
#[cfg(feature = "data")]
pub mod micros;
#[cfg(feature = "data")]
pub mod mix;
#[cfg(feature = "data")]
pub mod plan;
#[cfg(feature = "data")]
pub mod protocol;
pub mod quantity;
#[cfg(feature = "data")]
pub mod random;
#[cfg(feature = "data")]
pub mod record;
#[cfg(feature = "data")]
pub mod redacted;
#[cfg(feature = "data")]
pub mod samples;
#[cfg(feature = "data")]
pub mod schedule;
#[cfg(feature = "data")]
pub mod shard;
pub mod threshold;
#[cfg(feature = "data")]
pub mod trace;
