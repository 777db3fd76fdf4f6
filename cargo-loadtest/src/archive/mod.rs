//! Summaries of the runs in the store, by scenario and version: what a list of runs shows.
//!
//! An index beside the runs keeps the summaries, since reading ten thousand records takes seconds.

mod entry;
mod index;
mod scenario;

pub(crate) use entry::{Archive, Entry, Outcome, short};
#[cfg(test)]
pub(crate) use entry::{Unreadable, of_record};
#[cfg(feature = "ui")]
pub(crate) use index::Index;
pub(crate) use scenario::{Row, ScenarioHistory, SettingHistory, Trend, VersionHistory};
