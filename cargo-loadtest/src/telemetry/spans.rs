//! The spans of sampled journeys, read from the file that the load writes.

use super::RunFacts;
use crate::course::Course;
use crate::journal::Tail;
use loadtest_console::console::clean;
use loadtest_model::protocol::{SpanLine, TracedJourney};
use std::path::Path;
use std::sync::Arc;

/// A batch is sent once it has so many spans.
const BATCH: u64 = 512;

/// Spans to send at once.
#[derive(Debug)]
pub(crate) struct SpanBatch {
    pub(super) facts: Arc<SpanFacts>,
    /// The start of the load, in microseconds after 1970.
    pub(super) start_us: u64,
    pub(super) journeys: Vec<TracedJourney>,
    pub(super) spans: u64,
}

/// The facts of a scenario that its spans tell. Names are those of the source.
#[derive(Debug)]
pub(super) struct SpanFacts {
    pub(super) run: String,
    pub(super) scenario: String,
    pub(super) seed: u64,
    pub(super) steps: Vec<StepFacts>,
}

/// The name of a step, and the template of its path.
#[derive(Debug)]
pub(super) struct StepFacts {
    pub(super) name: String,
    /// Path and expressions as the source has them, without query; empty where the step builds its request.
    pub(super) template: String,
}

/// Spans that came since the last look.
#[derive(Debug, Default)]
pub(super) struct NewSpans {
    pub(super) batches: Vec<SpanBatch>,
    /// Those that the load had no room for.
    pub(super) lost: u64,
}

/// Reads the spans of a scenario under way.
#[derive(Debug)]
pub(super) struct SpanReader {
    tail: Tail<SpanLine>,
    facts: Arc<SpanFacts>,
    start_us: u64,
}

impl SpanReader {
    pub(super) fn new(path: &Path, course: &Course, facts: &RunFacts) -> Self {
        let start = &course.record.start;
        let steps = start.definition.steps.iter();
        let steps = steps.map(|step| StepFacts {
            name: clean(&step.name),
            template: step.url.as_deref().map(path_template).unwrap_or_default(),
        });
        let facts = SpanFacts {
            run: facts.run.clone(),
            scenario: clean(&start.definition.identity()),
            seed: start.plan.seed,
            steps: steps.collect(),
        };
        Self {
            tail: Tail::new(path),
            facts: Arc::new(facts),
            start_us: 0,
        }
    }

    /// Returns what came since the last call.
    pub(super) fn read(&mut self) -> NewSpans {
        let mut new = NewSpans::default();
        let (mut journeys, mut spans) = (Vec::new(), 0);
        loop {
            let mut is_over = true;
            for line in self.tail.read() {
                is_over = false;
                match line {
                    SpanLine::Start { unix_us } => self.start_us = unix_us,
                    SpanLine::Lost { spans } => new.lost += spans,
                    SpanLine::Journey(journey) => {
                        spans += journey.spans();
                        journeys.push(*journey);
                        if spans >= BATCH {
                            let journeys = std::mem::take(&mut journeys);
                            new.batches
                                .push(self.batch(journeys, std::mem::take(&mut spans)));
                        }
                    }
                }
            }
            if is_over {
                break;
            }
        }
        if !journeys.is_empty() {
            new.batches.push(self.batch(journeys, spans));
        }
        new
    }

    fn batch(&self, journeys: Vec<TracedJourney>, spans: u64) -> SpanBatch {
        SpanBatch {
            facts: Arc::clone(&self.facts),
            start_us: self.start_us,
            journeys,
            spans,
        }
    }
}

/// Returns the path of a declared URL, as the source has it.
fn path_template(url: &str) -> String {
    let path = match url.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => url,
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    loadtest::redact::redact(&clean(path)).into_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_has_neither_host_nor_query() {
        for (url, template) in [
            (
                "/orders/{{buy.response.id}}?page=2",
                "/orders/{{buy.response.id}}",
            ),
            ("https://shop.example/cart#x", "/cart"),
            ("https://shop.example", "/"),
        ] {
            assert_eq!(path_template(url), template);
        }
    }
}
