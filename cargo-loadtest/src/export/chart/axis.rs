//! Round steps and labels of axes.

/// The smallest of 1, 2, 2.5 and 5 times a power of ten that is at least `least`.
pub(super) fn round_step(least: f64) -> f64 {
    if least <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= least * 0.999_999)
        .unwrap_or(10.0 * power)
}

/// Seconds between two labels of the axis of time: about six in all.
pub(super) fn clock_step(seconds: f64) -> f64 {
    const STEPS: [f64; 12] = [
        1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0,
    ];
    STEPS
        .into_iter()
        .find(|step| seconds / step <= 7.0)
        .unwrap_or(seconds / 6.0)
}

/// `0:30`, `12:00`, `1:05:00`.
pub(crate) fn format_clock(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{rest:02}")
    } else {
        format!("{minutes}:{rest:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_an_axis_are_round() {
        for (least, step) in [(0.7, 1.0), (13.0, 20.0), (0.021, 0.025), (260.0, 500.0)] {
            assert!(
                (round_step(least) - step).abs() < 1e-9,
                "{}",
                round_step(least)
            );
        }
        assert_eq!(
            (format_clock(65.0), format_clock(3_900.0)),
            ("1:05".to_owned(), "1:05:00".to_owned())
        );
    }
}
