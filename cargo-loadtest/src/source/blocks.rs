//! The lines of a part: it, the comments right above it, and those behind it.

use super::layout::ends_line;
use super::read::{Holder, SourcePart, SourceText};
use super::splice::{Lines, Splice};
use std::ops::Range;

/// Returns the lines of a part; `None` where something else stands on the first or the last of them.
pub(super) fn block_of(source: &SourceText, part: &SourcePart) -> Option<Range<usize>> {
    let lines = Lines(&source.text);
    let range = &part.item.range;
    let is_alone = lines.is_first(range.start) && ends_line(source, range.end);
    is_alone.then(|| lines.start(comments_start(source, range.start))..lines.next(range.end))
}

/// The start of the comments right above this place, else the place itself.
pub(super) fn comments_start(source: &SourceText, start: usize) -> usize {
    let lines = Lines(&source.text);
    let before = source.comments_within(&(0..start));
    let mut start = start;
    for comment in before.iter().rev() {
        let gap = &source.text[comment.end..start];
        let is_above = gap.trim().is_empty() && gap.matches('\n').count() == 1;
        if !is_above || !lines.is_first(comment.start) {
            break;
        }
        start = comment.start;
    }
    start
}

/// The splice that removes these lines and the blank lines behind them. With the last lines of a body go those before
/// them. Returns true with it if there were blank lines.
pub(super) fn cut_block(
    source: &SourceText,
    holder: &Holder,
    block: &Range<usize>,
) -> (Splice, bool) {
    let lines = Lines(&source.text);
    let is_blank = |from: usize, to: usize| source.text[from..to].trim().is_empty();
    let mut end = block.end;
    while lines.next(end) > end && is_blank(end, lines.next(end)) {
        end = lines.next(end);
    }
    let mut start = block.start;
    // the blank lines at the end of a body go with the last block
    let is_last = source.text[end..].trim_start().starts_with('}');
    if is_last {
        while start > holder.body().start && is_blank(lines.start(start - 1), start) {
            start = lines.start(start - 1);
        }
    }
    let has_blank = start < block.start || end > block.end;
    (Splice::remove(start..end), has_blank)
}
