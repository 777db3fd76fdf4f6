//! Warnings about a document: each once, and only the first of many alike.

use crate::source::{Note, Span};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

/// Most warnings that differ only in what stands between backticks.
const MOST_ALIKE: usize = 3;

/// The warnings so far.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    shown: Vec<Note>,
    seen: HashSet<(Span, String)>,
    /// The number of those that differ only in their names, and the last one that is shown.
    kinds: HashMap<String, (usize, usize)>,
}

impl Warnings {
    /// Adds a warning, unless it is there already.
    pub(super) fn add(&mut self, span: &Span, words: impl Into<String>) {
        let words = words.into();
        if !self.seen.insert((span.clone(), words.clone())) {
            return;
        }
        let without_names: Vec<_> = words.split('`').step_by(2).collect();
        let (count, last) = self.kinds.entry(without_names.join("`")).or_default();
        *count += 1;
        if *count <= MOST_ALIKE {
            *last = self.shown.len();
            self.shown.push(Note::new(span.clone(), words));
        }
    }

    /// Returns the warnings in the order of the document.
    pub(super) fn finish(mut self) -> Vec<Note> {
        for (count, last) in self.kinds.values() {
            if let Some(more @ 1..) = count.checked_sub(MOST_ALIKE) {
                let _ = write!(self.shown[*last].words, " (and {more} more like this)");
            }
        }
        self.shown.sort_by_key(|note| note.span.start);
        self.shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_of_many_alike_are_shown() {
        let mut warnings = Warnings::default();
        for number in (0..10).rev() {
            warnings.add(&(number..number + 1), format!("there is no `{number}`"));
            warnings.add(&(number..number + 1), format!("there is no `{number}`"));
        }
        warnings.add(&(3..4), "something else");
        let notes = warnings.finish();
        let words: Vec<_> = notes.iter().map(|note| note.words.as_str()).collect();
        assert_eq!(
            words,
            [
                "something else",
                "there is no `7` (and 7 more like this)",
                "there is no `8`",
                "there is no `9`",
            ]
        );
    }
}
