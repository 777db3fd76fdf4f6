//! The pauses of the user between an answer and the next request.

use super::super::source::Note;
use super::Kept;
use std::time::Duration;

/// Below that nobody has thought, in milliseconds: a script went on.
const SHORTEST: i64 = 300;
/// Above that somebody was elsewhere.
const LONGEST: i64 = 30_000;
/// What pauses are rounded to.
const STEP: i64 = 100;

/// Gives each exchange the pause after it: from the end of all answers so far to the next request that is kept.
/// Requests that were under way at once have none between them.
pub(super) fn think(exchanges: &mut [Kept], notes: &mut Vec<Note>) {
    let mut end: Option<i64> = None;
    for number in 1..exchanges.len() {
        let before = &exchanges[number - 1];
        end = end.max(before.ended);
        let (Some(ended), Some(started)) = (end, exchanges[number].started) else {
            continue;
        };
        let pause = started.saturating_sub(ended);
        if pause < SHORTEST {
            continue;
        }
        let before = &mut exchanges[number - 1].exchange;
        if pause > LONGEST {
            let words = format!(
                "the pause after it was {} s long, and is {} s here",
                pause / 1000,
                LONGEST / 1000
            );
            notes.push(Note::new(before.span.clone(), words));
        }
        let rounded = (pause.min(LONGEST) + STEP / 2) / STEP * STEP;
        before.think = Some(Duration::from_millis(rounded.unsigned_abs()));
    }
}
