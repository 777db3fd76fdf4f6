//! What is said about a document: each thing once, and of many that are alike only the first.

use crate::import::source::{Note, Span};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

/// How many notes that differ in their names alone are told.
const MOST_ALIKE: usize = 3;

/// The notes so far.
#[derive(Debug, Default)]
pub(super) struct Notes {
    told: Vec<Note>,
    seen: HashSet<(Span, String)>,
    kinds: HashMap<String, Kind>,
}

/// Notes that differ in their names alone.
#[derive(Debug, Default)]
struct Kind {
    count: usize,
    /// Which of those that are told is the last of them.
    last: usize,
}

impl Notes {
    /// Tells something, unless it is told already.
    pub(super) fn add(&mut self, span: &Span, words: impl Into<String>) {
        let words = words.into();
        if !self.seen.insert((span.clone(), words.clone())) {
            return;
        }
        let kind = self.kinds.entry(without_names(&words)).or_default();
        kind.count += 1;
        if kind.count <= MOST_ALIKE {
            kind.last = self.told.len();
            self.told.push(Note::new(span.clone(), words));
        }
    }

    /// All of them, in the order of the document.
    pub(super) fn finish(mut self) -> Vec<Note> {
        for kind in self.kinds.values() {
            if kind.count > MOST_ALIKE {
                let more = kind.count - MOST_ALIKE;
                let words = &mut self.told[kind.last].words;
                let _ = write!(words, " (and {more} more like this)");
            }
        }
        self.told.sort_by_key(|note| note.span.start);
        self.told
    }
}

/// The words without what stands between backticks.
fn without_names(words: &str) -> String {
    words.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_that_are_alike_the_first_are_told() {
        let mut notes = Notes::default();
        for number in (0..10).rev() {
            notes.add(&(number..number + 1), format!("there is no `{number}`"));
            notes.add(&(number..number + 1), format!("there is no `{number}`"));
        }
        notes.add(&(3..4), "something else");
        let told = notes.finish();
        let words: Vec<_> = told.iter().map(|note| note.words.as_str()).collect();
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
