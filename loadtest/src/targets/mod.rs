//! Where traffic may go: loopback and targets that a scenario started itself.

mod own;

pub use own::{LastOutput, Target, TargetCommand, TargetError};
