//! The resources of the machine: open files, local ports, processor time.

mod cgroup;
mod contention;
mod limits;

pub(crate) use contention::ContentionMeter;
pub(crate) use limits::{MachineNeed, MachineShortage, check_machine};
