//! The outcome of each delivery, in a file of the run's folder.

use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::Path;

const FILE: &str = "deliveries.jsonl";

/// A message to a webhook, and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeliveryOutcome {
    /// The time the run ended, RFC 3339 in UTC.
    pub(crate) at: String,
    /// The event: `run.finished`.
    pub(crate) event: String,
    /// Scheme, host and port of the webhook.
    pub(crate) webhook: String,
    pub(crate) is_delivered: bool,
    /// The reason why it was not.
    pub(crate) reason: Option<String>,
}

/// Writes the outcomes; a run does not fail for them.
pub(super) fn write(folder: &Path, outcomes: &[DeliveryOutcome]) {
    let lines = outcomes.iter().fold(String::new(), |mut text, outcome| {
        let _ = writeln!(
            text,
            "{}",
            serde_json::to_string(outcome).unwrap_or_default()
        );
        text
    });
    let _ = std::fs::write(folder.join(FILE), lines);
}

/// Reads the outcomes of a run; none where nobody was told of it.
#[cfg(any(test, feature = "ui"))]
pub(crate) fn read_deliveries(folder: &Path) -> Vec<DeliveryOutcome> {
    let text = loadtest_console::files::read(&folder.join(FILE)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}
