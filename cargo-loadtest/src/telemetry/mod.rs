//! Telemetry: the figures of a run, sent while it goes on to where a team watches its systems.
//!
//! The load knows nothing of it: the tool reads the journal, and serves every sink from a thread of its own. A sink that
//! is slow, down or wrong loses its own data, and changes no verdict, no exit code and no figure.

mod bounds;
mod family;
mod feed;
mod histogram;
mod hub;
mod interval;
mod measure;
mod open;
mod prepare;
mod queue;
mod sink;
mod spans;
mod table;
#[cfg(test)]
mod tests;
mod tracker;
#[cfg(feature = "telemetry")]
mod wire;

pub(crate) use feed::IntervalFeed;
pub(crate) use hub::Hub;
pub(crate) use prepare::Telemetry;

use loadtest_model::record::RunRecord;

/// The facts of a run that its figures tell.
#[derive(Debug, Clone)]
pub(crate) struct RunFacts {
    run: String,
    tool_version: String,
    commit: Option<String>,
}

impl From<&RunRecord> for RunFacts {
    fn from(record: &RunRecord) -> Self {
        Self {
            run: record.run_id.clone(),
            tool_version: record.tool_version.clone(),
            commit: record.environment.git_commit.clone(),
        }
    }
}

/// The series that a histogram is at the sink that makes most of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct HistogramWeight {
    is_classic: bool,
    is_native: bool,
}

impl HistogramWeight {
    /// The number of series with so many boundaries: a bucket each, that of all, sum and count.
    fn series(self, boundaries: usize) -> usize {
        let classic = if self.is_classic { boundaries + 3 } else { 0 };
        (classic + usize::from(self.is_native)).max(1)
    }
}
