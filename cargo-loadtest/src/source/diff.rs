//! What a change of a text looks like: hunks with three lines around them.
//!
//! The splices say what changed, so nothing is searched for.

use super::splice::{Splice, apply_splices};
use serde::Serialize;
use std::ops::Range;

/// The unchanged lines shown before and behind a change.
const CONTEXT: usize = 3;

/// A difference of two texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Diff {
    pub(crate) hunks: Vec<Hunk>,
}

/// Changes that are close to each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Hunk {
    /// The number of its first line in the old text, from 1.
    pub(crate) old_start: usize,
    /// The number of its first line in the new text, from 1.
    pub(crate) new_start: usize,
    pub(crate) lines: Vec<DiffLine>,
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct DiffLine {
    pub(crate) kind: LineKind,
    /// The line with the characters that end it.
    pub(crate) text: String,
    /// The bytes that differ from the line in whose place it is.
    pub(crate) changed: Option<Range<usize>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LineKind {
    Context,
    Removed,
    Added,
}

impl Diff {
    /// Shows disjoint splices of a text, in order.
    pub(crate) fn new(text: &str, splices: &[Splice]) -> Self {
        let lines = mark_lines(text, splices);
        let is_changed = |line: &DiffLine| line.kind != LineKind::Context;
        let is_shown = |at: usize| {
            let near = at.saturating_sub(CONTEXT)..lines.len().min(at + CONTEXT + 1);
            lines[near].iter().any(is_changed)
        };
        let mut hunks: Vec<Hunk> = Vec::new();
        let (mut old, mut new, mut is_open) = (1, 1, false);
        for (at, line) in lines.iter().enumerate() {
            let shows = is_shown(at);
            if shows && !is_open {
                hunks.push(Hunk {
                    old_start: old,
                    new_start: new,
                    lines: Vec::new(),
                });
            }
            is_open = shows;
            if let Some(hunk) = hunks.last_mut().filter(|_| shows) {
                hunk.lines.push(line.clone());
            }
            old += usize::from(line.kind != LineKind::Added);
            new += usize::from(line.kind != LineKind::Removed);
        }
        Self { hunks }
    }

    /// The difference as a patch that `git apply` accepts; `file` is the path from the root of the repository.
    #[cfg(test)]
    pub(crate) fn to_patch(&self, file: &str) -> String {
        use std::fmt::Write as _;
        let mut patch = format!("--- a/{file}\n+++ b/{file}\n");
        for hunk in &self.hunks {
            let place = |start: usize, without: LineKind| {
                let count = hunk
                    .lines
                    .iter()
                    .filter(|line| line.kind != without)
                    .count();
                // what has no lines is behind the line before
                format!("{},{count}", if count == 0 { start - 1 } else { start })
            };
            let old = place(hunk.old_start, LineKind::Added);
            let new = place(hunk.new_start, LineKind::Removed);
            let _ = writeln!(patch, "@@ -{old} +{new} @@");
            for line in &hunk.lines {
                patch.push(line.kind.sign());
                patch.push_str(&line.text);
                if !line.text.ends_with('\n') {
                    patch.push_str("\n\\ No newline at end of file\n");
                }
            }
        }
        patch
    }
}

impl LineKind {
    #[cfg(test)]
    fn sign(self) -> char {
        match self {
            Self::Context => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

/// All lines of the old text, with the new ones behind those that they replace.
fn mark_lines(text: &str, splices: &[Splice]) -> Vec<DiffLine> {
    let old: Vec<&str> = text.split_inclusive('\n').collect();
    let context = |line: &&str| DiffLine {
        kind: LineKind::Context,
        text: (*line).to_owned(),
        changed: None,
    };
    let mut marked = Vec::new();
    let mut at = 0;
    for (place, splices) in group_by_lines(text, splices) {
        let place = place.start..place.end.min(old.len());
        let start: usize = old[..place.start].iter().map(|line| line.len()).sum();
        let shifted = splices.iter().map(|splice| {
            let range = splice.range.start - start..splice.range.end - start;
            Splice::replace(range, splice.text.clone())
        });
        let replaced = &old[place.clone()];
        let new = apply_splices(&replaced.concat(), &shifted.collect::<Vec<_>>());
        let new: Vec<&str> = new.split_inclusive('\n').collect();
        let same = |(one, other): &(&&str, &&str)| one == other;
        let head = replaced.iter().zip(&new).take_while(same).count();
        let tail = replaced[head..].iter().rev().zip(new[head..].iter().rev());
        let tail = tail.take_while(same).count();
        marked.extend(old[at..place.start + head].iter().map(context));
        add_change(
            &replaced[head..replaced.len() - tail],
            &new[head..new.len() - tail],
            &mut marked,
        );
        at = place.end - tail;
    }
    marked.extend(old[at..].iter().map(context));
    marked
}

/// The splices by the lines that they change, counted from 0; no line is in two groups.
fn group_by_lines<'a>(text: &str, splices: &'a [Splice]) -> Vec<(Range<usize>, Vec<&'a Splice>)> {
    let mut groups: Vec<(Range<usize>, Vec<&Splice>)> = Vec::new();
    let number = |at: usize| text[..at].matches('\n').count();
    for splice in splices {
        let place = number(splice.range.start)..number(splice.range.end) + 1;
        match groups.last_mut() {
            Some((last, group)) if place.start < last.end => {
                last.end = place.end;
                group.push(splice);
            }
            _ => groups.push((place, vec![splice])),
        }
    }
    groups
}

fn add_change(removed: &[&str], added: &[&str], marked: &mut Vec<DiffLine>) {
    let is_pair = removed.len() == added.len();
    let ranges = removed
        .iter()
        .zip(added)
        .map(|(old, new)| changed_ranges(old, new));
    let ranges: Vec<_> = if is_pair {
        ranges.collect()
    } else {
        Vec::new()
    };
    let line = |kind, text: &str, changed| DiffLine {
        kind,
        text: text.to_owned(),
        changed,
    };
    for (at, text) in removed.iter().enumerate() {
        let changed = ranges.get(at).map(|(old, _)| old.clone());
        marked.push(line(LineKind::Removed, text, changed));
    }
    for (at, text) in added.iter().enumerate() {
        let changed = ranges.get(at).map(|(_, new)| new.clone());
        marked.push(line(LineKind::Added, text, changed));
    }
}

/// The bytes between the common start and the common end of two lines.
fn changed_ranges(old: &str, new: &str) -> (Range<usize>, Range<usize>) {
    let common = |pair: &(char, char)| pair.0 == pair.1;
    let length = |(c, _): (char, char)| c.len_utf8();
    let pairs = old.chars().zip(new.chars());
    let head: usize = pairs.take_while(common).map(length).sum();
    let pairs = old[head..].chars().rev().zip(new[head..].chars().rev());
    let tail: usize = pairs.take_while(common).map(length).sum();
    (head..old.len() - tail, head..new.len() - tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;
    use std::process::{Command, Stdio};

    fn signs(diff: &Diff) -> Vec<String> {
        let hunks = diff.hunks.iter();
        hunks
            .map(|hunk| hunk.lines.iter().map(|line| line.kind.sign()).collect())
            .collect()
    }

    #[test]
    fn three_lines_stand_around_a_change() {
        let lines: Vec<String> = (1..=20).map(|number| format!("line {number}\n")).collect();
        let text = lines.concat();
        let at = |line: &str| text.find(line).unwrap();
        let splices = [
            Splice::replace(at("3\n")..at("3\n") + 1, "three"),
            Splice::insert(at("line 12\n"), "new\n"),
            Splice::remove(at("line 19")..at("line 20")),
        ];
        let diff = Diff::new(&text, &splices);
        assert_eq!(signs(&diff), ["  -+   ", "   +   ", "   - "]);
        let starts: Vec<_> = diff
            .hunks
            .iter()
            .map(|hunk| (hunk.old_start, hunk.new_start))
            .collect();
        assert_eq!(starts, [(1, 1), (9, 9), (16, 17)]);
        assert_eq!(diff.hunks[0].lines[2].changed, Some(5..6));
        assert_eq!(diff.hunks[0].lines[3].changed, Some(5..10));
    }

    fn git_apply(folder: &Path, text: &str, patch: &str) -> String {
        std::fs::write(folder.join("load.rs"), text).unwrap();
        std::fs::write(folder.join("patch"), patch).unwrap();
        let applied = Command::new("git")
            .args(["apply", "--whitespace=nowarn", "patch"])
            .current_dir(folder)
            .env("GIT_CEILING_DIRECTORIES", folder)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(applied.status.success(), "{applied:?}\n{patch}");
        std::fs::read_to_string(folder.join("load.rs")).unwrap()
    }

    #[test]
    fn git_applies_the_patch_of_any_change() {
        let folder = tempfile::tempdir().unwrap();
        let texts = [
            "a\nb\nc\nd\ne\nf\ng\nh\n",
            "a\r\nb\r\nc",
            "x",
            "a\n\n\n\nb\n\n\nü\nc\n",
        ];
        for text in texts {
            let places: Vec<usize> = (0..=text.len())
                .filter(|at| text.is_char_boundary(*at))
                .collect();
            for (number, &start) in places.iter().enumerate() {
                for new in ["", "new\n", "x"] {
                    let end = places[(number + 2).min(places.len() - 1)];
                    let splices = [Splice::replace(start..end, new)];
                    let changed = apply_splices(text, &splices);
                    if changed == *text || changed.is_empty() {
                        continue;
                    }
                    let patch = Diff::new(text, &splices).to_patch("load.rs");
                    assert_eq!(git_apply(folder.path(), text, &patch), changed, "{patch}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn the_lines_of_a_diff_are_those_of_both_texts(
            text in "[ab\n]{0,40}",
            cuts in prop::collection::vec((0usize..6, 0usize..4, "[xy\n]{0,3}"), 0..6),
        ) {
            let mut splices = Vec::new();
            let mut at = 0;
            for (gap, length, new) in cuts {
                let start = at + gap + 1;
                let end = (start + length).min(text.len());
                if start <= end {
                    splices.push(Splice::replace(start..end, new));
                    at = end;
                }
            }
            let marked = mark_lines(&text, &splices);
            let without = |kind| -> String {
                let lines = marked.iter().filter(|line| line.kind != kind);
                lines.map(|line| line.text.as_str()).collect()
            };
            prop_assert_eq!(without(LineKind::Added), text.clone());
            prop_assert_eq!(without(LineKind::Removed), apply_splices(&text, &splices));
        }
    }
}
