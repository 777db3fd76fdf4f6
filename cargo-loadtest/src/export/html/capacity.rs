//! The result of a search, for the page.

use crate::export::facts::trial_cells;
use loadtest_model::card::{Capacity, CapacityVerdict, view};
use serde::Serialize;

/// A search as the page shows it.
#[derive(Serialize)]
pub(super) struct Sheet<'a> {
    capacity: &'a Capacity,
    verdict: &'static str,
    /// The verdict of a run that looks like it.
    tone: &'static str,
    rate: String,
    slo: String,
    window: String,
    confirm: String,
    /// What the conditions are on that have columns of their own.
    further: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    rate: String,
    /// Figures, and whether one breaks the SLO.
    cells: Vec<(String, bool)>,
    words: &'static str,
    reasons: String,
}

impl<'a> Sheet<'a> {
    pub(super) fn of(capacity: &'a Capacity) -> Self {
        let further = capacity.further_conditions();
        Self {
            capacity,
            verdict: capacity.verdict.name(),
            tone: match capacity.verdict {
                CapacityVerdict::Confirmed => "passed",
                CapacityVerdict::Invalid | CapacityVerdict::Interrupted => "invalid",
                _ => "failed",
            },
            rate: capacity.headline(),
            slo: capacity.slo(),
            window: view::span(capacity.goal.window),
            confirm: view::span(capacity.goal.confirm),
            rows: capacity
                .trials
                .iter()
                .map(|trial| Row {
                    rate: view::rate(trial.attempt.per_second),
                    cells: trial_cells(capacity, trial, &further),
                    words: trial.words(),
                    reasons: trial.reasons.join("; "),
                })
                .collect(),
            further: further.into_iter().map(|(_, title)| title).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::export::html::render;
    use crate::export::sample;

    #[test]
    fn the_search_comes_first_and_the_trial_that_shows_it_follows() {
        let html = render(&sample::search("too much"));
        assert_eq!(html.matches("<h1").count(), 1);
        let (search, card) = html.split_once("<article").unwrap();
        assert!(search.contains("CONFIRMED") && search.contains("≥ 1\u{202f}280"));
        assert_eq!(search.matches("<tr>").count(), 6, "a head and five trials");
        assert!(search.contains("<th scope=\"col\" class=\"n\">login p99</th>"));
        assert!(card.contains("Steps") && !card.contains("<h1"));
        assert!(!html.contains("<th>"), "a header without scope");
    }

    #[test]
    fn text_from_outside_cannot_break_out_of_a_search() {
        let html = render(&sample::search("</script><img src=x>\"'`<evil"));
        for element in ["<img", "<evil"] {
            assert!(!html.contains(element), "{element}");
        }
        assert_eq!(html.matches("script>").count(), 2, "but our own");
    }
}
