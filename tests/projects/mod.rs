//! Cargo projects, calls of the real command in them, and the runs that these leave; every suite of end-to-end tests
//! includes it.

pub(crate) mod call;
pub(crate) mod guard;
pub(crate) mod lonely;
pub(crate) mod project;
pub(crate) mod site;
pub(crate) mod trial;
