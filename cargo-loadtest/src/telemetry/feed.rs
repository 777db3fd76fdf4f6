//! Where the live view hands over what it reads.

use super::hub::HubState;
use crate::course::Course;
use loadtest_model::metrics::Frame;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Takes the frames of scenarios that run at once.
#[derive(Clone)]
pub(crate) struct IntervalFeed {
    pub(super) state: Arc<Mutex<HubState>>,
    /// The number of the first of them in the run.
    pub(super) first: usize,
    /// The files of their spans.
    pub(super) spans: Vec<PathBuf>,
}

impl fmt::Debug for IntervalFeed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Feed")
            .field("first", &self.first)
            .finish_non_exhaustive()
    }
}

impl IntervalFeed {
    /// Takes the spans of the scenarios from these files, which the load writes.
    pub(crate) fn with_spans(self, spans: impl IntoIterator<Item = PathBuf>) -> Self {
        Self {
            spans: spans.into_iter().collect(),
            ..self
        }
    }

    fn with_state<T>(&self, change: impl FnOnce(&mut HubState) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The load of a scenario begins.
    pub(crate) fn start(&self, at: usize, course: &Course) {
        let spans = self.spans.get(at).map(PathBuf::as_path);
        self.with_state(|state| state.start(self.first + at, course, spans));
    }

    /// A second passed, which `course` holds already.
    pub(crate) fn frame(&self, at: usize, frame: &Frame, course: &Course) {
        self.with_state(|state| state.frame(self.first + at, frame, course));
    }

    /// The scenario is over.
    pub(crate) fn end(&self, at: usize) {
        self.with_state(|state| state.end(self.first + at));
    }

    /// Nothing more comes of any scenario: spans may come after the end of their load.
    pub(crate) fn finish(&self) {
        for at in 0..self.spans.len() {
            self.with_state(|state| state.end_spans(self.first + at));
        }
    }

    /// Returns the messages to print now, a line each.
    pub(crate) fn take_news(&self) -> Vec<String> {
        self.with_state(HubState::take_news)
    }
}
