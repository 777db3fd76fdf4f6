//! The permitted destinations: loopback, targets that a scenario started, and targets that a team
//! lists.

mod allowance;
mod class;
mod guard;
mod licence;
mod listed;
pub(crate) mod offline;
mod origin;
pub(crate) mod own;
mod permissions;
mod proof;
mod scheme;

pub(crate) use allowance::{Allowance, RequestPass};
pub(crate) use guard::{NotPermitted, RefusalCause};
pub(crate) use licence::Licence;
pub use listed::{ListedTarget, Mistake};
pub(crate) use origin::{Host, Origin};
pub(crate) use own::give_up;
pub use own::{Target, TargetCommand, TargetError, process::LastOutput, serve::ServerEnd};
pub use permissions::{Known, Permissions, PermissionsError};
pub(crate) use permissions::{running_package, set_running_package};
pub(crate) use proof::{MAX_LENGTH as LONGEST_PROOF, PATH as PROOF_PATH, Statement};
pub(crate) use scheme::Scheme;
