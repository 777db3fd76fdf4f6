//! The data of load tests and the arithmetic on it: what a scenario declares, what a run does and measures, and
//! how it is graded.
//!
//! Nothing here reads a file, opens a socket or prints.

pub mod capacity;
pub mod card;
pub mod comparison;
pub mod definition;
pub mod failure;
pub mod metrics;
pub mod mix;
pub mod plan;
pub mod protocol;
pub mod random;
pub mod record;
pub mod schedule;
