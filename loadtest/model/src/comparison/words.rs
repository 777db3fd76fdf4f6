//! Changes in words.

use super::{Change, Compared, Figure, Margin, Skipped};
use crate::display;
use std::fmt;
use std::time::Duration;

/// Changes of times and rates below this share have a decimal.
const FINE: f64 = 0.099_5;

impl Compared {
    /// The change in words: `p95 218 ms → 268 ms, +23 % (90 % interval: +14 % to +33 %)`.
    pub fn describe(&self) -> String {
        format!("{} {}", self.figure.label(), self.difference_words())
    }

    /// The same without the name of the figure.
    pub fn difference_words(&self) -> String {
        let [base, new] = self.value_words();
        format!(
            "{base} → {new}, {} (90 % interval: {})",
            self.change_words(),
            self.interval_words()
        )
    }

    /// Formats the values of the baseline and of the new run: `218 ms`, `268 ms`.
    pub fn value_words(&self) -> [String; 2] {
        let values = [self.base, self.new];
        if self.figure.is_time() {
            // Nothing that was measured is less than nothing, but a file may say so.
            let times = values.map(|value| Duration::try_from_secs_f64(value / 1e6).ok());
            let words = display::format_durations(&times).try_into();
            return words.unwrap_or_default();
        }
        values.map(|value| match self.figure {
            Figure::Errors | Figure::Good => display::format_percent(value),
            _ => display::format_rate(value),
        })
    }

    /// The change: `+23 %`, `−1.4 %`; of errors and good executions in percentage points, `+1.25 points`.
    pub fn change_words(&self) -> String {
        self.figure.signed(self.change)
    }

    /// Formats the interval of the change with a confidence of 90 %: `+14 % to +33 %`.
    pub fn interval_words(&self) -> String {
        let (from, to) = self.interval;
        if matches!(self.figure, Figure::Errors | Figure::Good) {
            let from = self.figure.signed(from);
            let from = from.split(' ').next().unwrap_or_default();
            return format!("{from} to {}", self.figure.signed(to));
        }
        format!("{} to {}", self.figure.signed(from), self.figure.signed(to))
    }

    /// The smallest worsening that these runs would have shown nine times of ten: `12 %`, `0.80 points`.
    pub fn detectable_words(&self) -> String {
        let words = self.figure.signed(self.detectable);
        words.trim_start_matches(['+', '−', '±']).to_owned()
    }
}

impl Figure {
    /// Returns the name for people: `p95`, `RPS`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Rps => "RPS",
            _ => self.name(),
        }
    }

    /// A change of it, with its sign.
    fn signed(self, change: f64) -> String {
        if !change.is_finite() {
            return display::NO_VALUE.to_owned();
        }
        match self {
            Self::Errors | Self::Good => {
                with_sign(change, &format!("{:.2}", change.abs() * 100.0), "points")
            }
            _ => format_change(change),
        }
    }
}

/// Formats a change that is a share of what was before: `+23 %`, `−1.4 %`.
pub(super) fn format_change(change: f64) -> String {
    if !change.is_finite() {
        return display::NO_VALUE.to_owned();
    }
    let percent = change.abs() * 100.0;
    let amount = if change.abs() < FINE {
        format!("{percent:.1}")
    } else {
        display::format_count(percent.round() as u64)
    };
    with_sign(change, &amount, "%")
}

fn with_sign(change: f64, amount: &str, unit: &str) -> String {
    let sign = if amount.bytes().all(|byte| byte == b'0' || byte == b'.') {
        '±'
    } else if change < 0.0 {
        '−'
    } else {
        '+'
    };
    format!("{sign}{amount} {unit}")
}

impl Margin {
    /// Describes the margin: `a change counts if it exceeds 10 % (and 0.3 ms for times, ..)`.
    pub fn describe(&self) -> String {
        format!(
            "a change counts if it exceeds {} (and {} ms for times, {} points for error rates)",
            display::format_exact_percent(self.relative),
            self.time_us as f64 / 1e3,
            // Shares of one have no exact hundredths.
            (self.errors * 1e4).round() / 1e2,
        )
    }
}

impl Change {
    /// Returns the printed name: `regressed`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Regressed => "regressed",
            Self::Improved => "improved",
            Self::Unchanged => "unchanged",
            Self::Inconclusive => "inconclusive",
        }
    }
}

impl Skipped {
    /// Returns the printed name: `changed`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Idle => "idle",
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(figure: Figure, base: f64, new: f64, change: f64) -> Compared {
        Compared {
            figure,
            base,
            new,
            change,
            interval: (change - 0.09, change + 0.1),
            detectable: 0.118,
            verdict: Change::Regressed,
            needs: None,
        }
    }

    #[test]
    fn a_change_says_before_and_after_and_where_it_lies() {
        let time = compared(Figure::P95, 218e3, 268e3, 0.23);
        assert_eq!(
            time.describe(),
            "p95 218 ms → 268 ms, +23 % (90 % interval: +14 % to +33 %)"
        );
        assert_eq!(time.detectable_words(), "12 %");
        let rate = compared(Figure::Rps, 200.0, 198.0, -0.01);
        assert_eq!(
            rate.describe(),
            "RPS 200/s → 198/s, −1.0 % (90 % interval: −10 % to +9.0 %)"
        );
        let mut errors = compared(Figure::Errors, 0.0, 0.0125, 0.0125);
        errors.interval = (0.0, 0.02);
        assert_eq!(
            errors.describe(),
            "errors 0 % → 1.2 %, +1.25 points (90 % interval: ±0.00 to +2.00 points)"
        );
    }

    #[test]
    fn what_is_no_figure_is_none_in_words() {
        let odd = compared(Figure::P50, -1.0, f64::NAN, f64::INFINITY);
        assert_eq!(odd.describe(), "p50 – → –, – (90 % interval: – to –)");
    }

    #[test]
    fn a_margin_says_what_counts() {
        assert_eq!(
            Margin::for_runs(3).describe(),
            "a change counts if it exceeds 7 % (and 0.3 ms for times, 0.5 points for error rates)"
        );
        let quick = compared(Figure::P95, 1_000.0, 1_200.0, 0.2);
        assert!((Margin::for_runs(3).around(&quick) - 0.3).abs() < 1e-12);
        let slow = compared(Figure::P95, 1e6, 1.2e6, 0.2);
        assert!((Margin::for_runs(1).around(&slow) - 0.1).abs() < 1e-12);
    }
}
