//! What the card says of whole records.

mod figures;
mod grade;
mod traces;
mod validity;
mod verdict;

use super::sample::{executed, record};
use super::*;
use crate::definition::{Bound, Comparator, GroupDef, Load, Metric, Threshold};
use crate::definition::{GoodCondition, Part, StreamDef, StreamFormat};
use crate::metrics::ErrorKind;
use crate::metrics::{Cause as Unmet, RootCause};
use crate::metrics::{Cell, CellStep, CompactHistogram, DependencyTally, ErrorTally, GroupSample};
use crate::metrics::{Health, Histogram, Panicked, StepTally, StreamSample};
use crate::plan::{GradingDefaults, ScopedThreshold};
use proptest::prelude::*;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn error(kind: ErrorKind, count: u64) -> ErrorTally {
    ErrorTally {
        kind,
        status: None,
        count,
        example: "as an example".into(),
        sample: None,
        traced: None,
    }
}

/// `count` of the executions of a step fail instead.
fn fail(record: &mut ScenarioRecord, step: usize, kind: ErrorKind, count: u64) {
    let tally = &mut record.windows.steady;
    let step = &mut tally.steps[step];
    step.ok -= count;
    step.satisfied -= count;
    step.failed += count;
    step.errors.push(error(kind, count));
    tally.journey.ok -= count;
    tally.journey.failed += count;
}

/// `count` of the executions of a step are skipped instead, since `root` failed.
fn skip(record: &mut ScenarioRecord, step: usize, root: usize, count: u64) {
    let tally = &mut record.windows.steady;
    let counts = &mut tally.steps[step];
    counts.executed -= count;
    counts.ok -= count;
    counts.satisfied -= count;
    counts.skipped += count;
    tally.dependencies.push(DependencyTally {
        step,
        variable: Some("login.response.token".to_owned()),
        upstream: root,
        cause: Unmet {
            root: RootCause::Failed,
            step: root,
        },
        count,
        example: "`login` failed: 503".into(),
    });
}

/// Returns the reasons why the run does not pass.
fn words(card: &Card) -> Vec<&str> {
    card.reasons.iter().map(|reason| &*reason.words).collect()
}

fn require(record: &mut ScenarioRecord, step: Option<usize>, metric: Metric, bound: Bound) {
    record.start.plan.thresholds.push(ScopedThreshold {
        step,
        group: None,
        tagged: Vec::new(),
        threshold: Threshold::new(metric, Comparator::Less, bound),
        implied: false,
    });
}
