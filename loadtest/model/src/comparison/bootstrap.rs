//! What chance does to the figures of a run: the circular block bootstrap.
//!
//! The seconds of a run are no independent samples: a target that is slow in one is slow in the next. So a
//! run is drawn anew from blocks of neighbouring stretches, long enough to hold what hangs together, with
//! the end of the run joined to its beginning (Politis and Romano, "A circular block-resampling procedure
//! for stationary data", 1992).

use super::series::{Counts, Figures, Series};
use crate::random::mix_bits;

/// The number of times that a run is drawn anew.
pub(super) const DRAWS: usize = 2_000;
/// A block holds at least this many seconds.
const LEAST_SECONDS: f64 = 10.0;
/// And at least this share of the run.
const LEAST_SHARE: f64 = 0.1;

/// The seconds below which blocks are too short to hold all that hangs together: their draws differ too little.
const LONG: f64 = 300.0;

/// The figures of a run as it was, and as often as it was drawn anew.
#[derive(Debug, Clone)]
pub(super) struct Drawn {
    pub(super) figures: Figures,
    /// The counts.
    pub(super) counts: Counts,
    /// The number of times.
    pub(super) timed: u64,
    pub(super) draws: Vec<Figures>,
}

impl Drawn {
    /// Draws the stretches of `series` anew; the same `seed` draws the same blocks of any series of the
    /// same length, so that what steps have in common stays common.
    pub(super) fn from_series(series: &Series, seed: u64) -> Self {
        let stretches = series.len();
        let mut whole = series.nothing();
        if stretches == 0 {
            let figures = series.figures(&whole);
            return Self {
                figures,
                counts: whole.counts,
                timed: 0,
                draws: vec![figures; DRAWS],
            };
        }
        series.add_block(&mut whole, 0, stretches);
        let length = block_length(stretches, series.width());
        let mut dice = seed;
        let mut start = || {
            dice = mix_bits(dice);
            ((u128::from(dice) * stretches as u128) >> 64) as usize
        };
        let mut draw = || {
            let mut sum = series.nothing();
            for _ in 0..stretches.div_ceil(length) {
                series.add_block(&mut sum, start(), length);
            }
            series.figures(&sum)
        };
        let figures = series.figures(&whole);
        let wider = (LONG / (stretches as f64 * series.width())).max(1.0).cbrt();
        Self {
            figures,
            counts: whole.counts,
            timed: whole.timed(),
            draws: std::iter::repeat_with(|| draw().further_from(&figures, wider))
                .take(DRAWS)
                .collect(),
        }
    }
}

/// Returns the number of stretches of `width` seconds per block.
pub(crate) fn block_length(stretches: usize, width: f64) -> usize {
    let seconds = (stretches as f64 * width * LEAST_SHARE).max(LEAST_SECONDS);
    ((seconds / width).round() as usize).clamp(1, stretches)
}
