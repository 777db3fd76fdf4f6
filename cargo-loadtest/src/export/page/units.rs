//! Times that are read together share a unit, so that an eye can compare them.

use super::{Block, Section, Table};
use loadtest_model::display;
use std::time::Duration;

/// Times further apart keep the unit of each.
const FACTOR: f64 = 1_000.0;
/// Microseconds in each unit.
const MILLISECONDS: (f64, &str) = (1e3, "ms");
const UNITS: [(f64, &str); 3] = [(1.0, "µs"), MILLISECONDS, (1e6, "s")];

/// Lets the times of each column of the tables share a unit.
pub(super) fn share_units(sections: &mut [Section]) {
    let blocks = sections.iter_mut().flat_map(|section| &mut section.blocks);
    for block in blocks {
        if let Block::Table(table) = block {
            share_column_units(table);
        }
    }
}

/// Lets the times of each column share a unit.
pub(super) fn share_column_units(table: &mut Table) {
    for at in 0..table.columns.len() {
        let times: Vec<_> = table.rows.iter().map(|row| row.cells[at].time).collect();
        let words = format_alike(&times);
        for (row, words) in table.rows.iter_mut().zip(words) {
            if row.cells[at].time.is_some() {
                row.cells[at].text = words;
            }
        }
    }
}

/// Formats times in one unit where they lie within a factor of a thousand; a dash for none.
pub(super) fn format_alike(times: &[Option<Duration>]) -> Vec<String> {
    let micros = |time: &Duration| ((time.as_nanos() + 500) / 1_000) as f64;
    let known = times.iter().flatten().map(micros).filter(|us| *us > 0.0);
    let (least, most) = known.fold((f64::INFINITY, 0.0), |(least, most), us| {
        (us.min(least), us.max(most))
    });
    let unit = if least >= 100.0 && most < 1e7 {
        Some(&MILLISECONDS)
    } else {
        // The unit of the middle, on a scale of powers.
        let middle = (least * most).sqrt();
        UNITS.iter().rev().find(|(us, _)| middle >= *us)
    };
    // The usual figures have one unit by themselves.
    let is_mixed = least < 1e3 && most >= 1e3 || least < 1e6 && most >= 1e6;
    let unit = unit.filter(|_| is_mixed && most <= least * FACTOR);
    let words = times.iter().map(|time| match (time, unit) {
        (None, _) => display::NO_VALUE.to_owned(),
        (Some(time), Some(unit)) => format_in_unit(micros(time), *unit),
        (Some(time), None) => display::format_duration(*time),
    });
    words.collect()
}

/// Formats a time to three digits.
fn format_in_unit(us: f64, (factor, unit): (f64, &str)) -> String {
    let value = us / factor;
    let digits = match value {
        _ if us < 1.0 || unit == "µs" => 0,
        ..0.999_5 => 3,
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    if digits == 0 {
        format!("{} {unit}", display::format_count(value.round() as u64))
    } else {
        format!("{value:.digits$} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(micros: &[u64]) -> Vec<String> {
        let times = micros.iter().map(|us| Some(Duration::from_micros(*us)));
        format_alike(&times.collect::<Vec<_>>())
    }

    #[test]
    fn times_share_the_unit_of_most_within_a_factor_of_a_thousand() {
        assert_eq!(alike(&[1_390, 885]), ["1.39 ms", "0.885 ms"]);
        assert_eq!(alike(&[412_000, 1_234_000]), ["412 ms", "1\u{202f}234 ms"]);
        assert_eq!(alike(&[230, 3_470]), ["0.230 ms", "3.47 ms"]);
        assert_eq!(alike(&[40, 1_010]), ["40 µs", "1\u{202f}010 µs"]);
        assert_eq!(alike(&[900_000, 31_000_000]), ["0.900 s", "31.0 s"]);
        assert_eq!(alike(&[12_000, 885, 0]), ["12.0 ms", "0.885 ms", "0 ms"]);
    }

    #[test]
    fn times_of_one_unit_are_said_as_elsewhere() {
        assert_eq!(alike(&[80, 410]), ["80 µs", "410 µs"]);
        assert_eq!(alike(&[0]), ["0 ms"]);
        assert_eq!(alike(&[2_040_000, 9_960_000]), ["2.0 s", "10.0 s"]);
    }

    #[test]
    fn times_that_are_further_apart_keep_their_units() {
        assert_eq!(alike(&[85, 1_200_000]), ["85 µs", "1.2 s"]);
        let times = [None, Some(Duration::from_millis(3))];
        assert_eq!(format_alike(&times), ["–", "3.00 ms"]);
    }
}
