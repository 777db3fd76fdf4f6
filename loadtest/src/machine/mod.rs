//! What the machine gives this process: open files, local ports, processor time.

mod contention;
mod group;

pub(crate) use contention::Contention;
