//! What the machine gives this process: open files, local ports, processor time.

mod contention;
mod group;
mod limits;

pub(crate) use contention::Contention;
pub(crate) use limits::{Need, Shortage, check};
