//! Where traffic may go: loopback and targets that a scenario started itself.

mod guard;
mod own;

pub use guard::{NotPermitted, permit};
pub(crate) use guard::{permit_all, refuse_unknown};
pub(crate) use own::give_up;
pub use own::{LastOutput, ServerEnd, Target, TargetCommand, TargetError};
