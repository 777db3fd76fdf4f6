//! Changes of a text: places and what comes there.

use std::ops::Range;

/// What comes in the place of a range of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Splice {
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
}

impl Splice {
    pub(super) fn insert(at: usize, text: impl Into<String>) -> Self {
        Self::replace(at..at, text)
    }

    pub(super) fn remove(range: Range<usize>) -> Self {
        Self::replace(range, "")
    }

    pub(super) fn replace(range: Range<usize>, text: impl Into<String>) -> Self {
        Self {
            range,
            text: text.into(),
        }
    }
}

/// Applies disjoint splices, in the order of their places.
pub(super) fn apply_splices(text: &str, splices: &[Splice]) -> String {
    let mut changed = String::with_capacity(text.len());
    let mut at = 0;
    for splice in splices {
        changed.push_str(&text[at..splice.range.start]);
        changed.push_str(&splice.text);
        at = splice.range.end;
    }
    changed + &text[at..]
}

/// A text after several changes: what is left of the original, and what is new.
#[derive(Debug)]
pub(super) struct Pieces {
    length: usize,
    pieces: Vec<Piece>,
}

#[derive(Debug)]
enum Piece {
    Kept(Range<usize>),
    New(String),
}

impl Pieces {
    /// A text of this length without changes.
    pub(super) fn new(length: usize) -> Self {
        Self {
            length,
            pieces: vec![Piece::Kept(0..length)],
        }
    }

    /// Applies disjoint splices of the text as it is now.
    pub(super) fn apply(&mut self, splices: &[Splice]) {
        // from the end, so that the places before stay what they are
        for splice in splices.iter().rev() {
            let start = self.split_at(splice.range.start);
            let end = self.split_at(splice.range.end);
            let new = Piece::New(splice.text.clone());
            self.pieces.splice(start..end, [new]);
        }
    }

    /// Makes a piece begin at this place, and returns its number.
    fn split_at(&mut self, place: usize) -> usize {
        let mut left = place;
        for number in 0..self.pieces.len() {
            if left == 0 {
                return number;
            }
            let rest = match &mut self.pieces[number] {
                Piece::Kept(range) if left < range.len() => {
                    let rest = range.start + left..range.end;
                    range.end = rest.start;
                    Piece::Kept(rest)
                }
                Piece::New(text) if left < text.len() => Piece::New(text.split_off(left)),
                Piece::Kept(range) => {
                    left -= range.len();
                    continue;
                }
                Piece::New(text) => {
                    left -= text.len();
                    continue;
                }
            };
            self.pieces.insert(number + 1, rest);
            return number + 1;
        }
        self.pieces.len()
    }

    /// The changes as splices of the original, disjoint and in order.
    pub(super) fn into_splices(self) -> Vec<Splice> {
        let mut splices = Vec::new();
        let (mut at, mut new) = (0, String::new());
        let end = Piece::Kept(self.length..self.length);
        for piece in self.pieces.into_iter().chain([end]) {
            match piece {
                Piece::New(text) => new.push_str(&text),
                Piece::Kept(range) if range.is_empty() && range.end < self.length => {}
                Piece::Kept(range) => {
                    if at < range.start || !new.is_empty() {
                        splices.push(Splice::replace(at..range.start, std::mem::take(&mut new)));
                    }
                    at = range.end;
                }
            }
        }
        splices
    }
}

/// The text of a file, by lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lines<'a>(pub(super) &'a str);

impl<'a> Lines<'a> {
    /// The end of lines of the file.
    pub(super) fn line_end(self) -> &'static str {
        if self.0.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        }
    }

    /// The start of the line at this place.
    pub(super) fn start(self, at: usize) -> usize {
        self.0[..at].rfind('\n').map_or(0, |before| before + 1)
    }

    /// The end of the line at this place, before the characters that end it.
    pub(super) fn end(self, at: usize) -> usize {
        let end = self.0[at..]
            .find('\n')
            .map_or(self.0.len(), |length| at + length);
        if self.0[at..end].ends_with('\r') {
            end - 1
        } else {
            end
        }
    }

    /// The start of the next line, or the end of the text.
    pub(super) fn next(self, at: usize) -> usize {
        self.0[at..]
            .find('\n')
            .map_or(self.0.len(), |length| at + length + 1)
    }

    /// The spaces that the line at this place begins with.
    pub(super) fn indent(self, at: usize) -> &'a str {
        let start = self.start(at);
        let line = &self.0[start..self.end(start)];
        &line[..line.len() - line.trim_start().len()]
    }

    /// Returns true if nothing but spaces stands before this place on its line.
    pub(super) fn is_first(self, at: usize) -> bool {
        self.0[self.start(at)..at].trim().is_empty()
    }

    /// The width of the line at this place.
    pub(super) fn width(self, at: usize) -> usize {
        self.0[self.start(at)..self.end(at)].chars().count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn changes_of_changes_are_changes_of_the_original() {
        let text = "abcdef";
        let first = [Splice::remove(1..2), Splice::insert(4, "XY")];
        let once = apply_splices(text, &first);
        let second = [Splice::replace(0..1, "A"), Splice::remove(3..4)];
        let twice = apply_splices(&once, &second);
        let mut pieces = Pieces::new(text.len());
        pieces.apply(&first);
        pieces.apply(&second);
        let splices = pieces.into_splices();
        assert_eq!(apply_splices(text, &splices), twice);
        assert_eq!(splices[0], Splice::replace(0..2, "A"));
        assert_eq!(splices.len(), 2, "{splices:?}");
    }

    proptest! {
        #[test]
        fn pieces_and_texts_change_alike(
            text in "[ab\r\n]{0,12}",
            changes in prop::collection::vec((0usize..20, 0usize..5, "[xy\n]{0,3}"), 0..8),
        ) {
            let mut pieces = Pieces::new(text.len());
            let mut current = text.clone();
            for (start, length, new) in changes {
                let start = start.min(current.len());
                let end = (start + length).min(current.len());
                let splices = [Splice::replace(start..end, new)];
                pieces.apply(&splices);
                current = apply_splices(&current, &splices);
            }
            let splices = pieces.into_splices();
            prop_assert_eq!(apply_splices(&text, &splices), current);
            prop_assert!(splices.windows(2).all(|pair| pair[0].range.end < pair[1].range.start));
        }
    }
}
