//! The WebSockets of a run.

use crate::display;
use crate::metrics::WebSocketTally;
use crate::record::ScenarioRecord;
use serde::Serialize;

/// The WebSockets of a whole run, its warm-up included.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WebSockets {
    /// Their counts.
    #[serde(flatten)]
    pub tally: WebSocketTally,
    /// Messages sent, per second.
    pub sent_per_second: f64,
    /// Messages that came, per second.
    pub received_per_second: f64,
}

impl WebSockets {
    /// Those of a run; `None` where it opened none.
    pub(super) fn from_record(record: &ScenarioRecord) -> Option<Self> {
        let mut tally = WebSocketTally::default();
        for cell in &record.cells.cells {
            tally.merge(&cell.websockets);
        }
        let seconds = (record.end.elapsed_us as f64 / 1e6).max(1e-6);
        (!tally.is_empty()).then(|| Self {
            sent_per_second: tally.sent_messages as f64 / seconds,
            received_per_second: tally.received_messages as f64 / seconds,
            tally,
        })
    }

    /// How those ended that the target closed: `1001 × 3, 1006 × 2`.
    pub fn describe_closed(&self) -> Option<String> {
        let codes = self.tally.closed_by_target.iter();
        let words =
            codes.map(|(code, count)| format!("{code} × {}", display::format_count(*count)));
        let words: Vec<_> = words.collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}
