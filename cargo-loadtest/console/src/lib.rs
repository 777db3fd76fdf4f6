//! What commands share that speak to people: the streams of the process, errors and their help, files, interrupts, names
//! and quantities.
//!
//! An inner part of `cargo-loadtest`: its interface may change with every version.

pub mod console;
pub mod error;
pub mod file_names;
pub mod files;
pub mod interrupt;
pub mod process;
pub mod suggestion;
pub mod units;
