//! Tables, and what stands in their cells.

use super::section::MOST;
use loadtest_model::card::view;
use std::fmt::Write as _;
use std::time::Duration;

/// A figure in words, or a dash; a line does not end between a number and its unit.
pub(super) fn figure<T>(figure: Option<T>, words: fn(T) -> String) -> String {
    figure.map_or_else(
        || view::NONE.to_owned(),
        |figure| words(figure).replace(' ', "\u{a0}"),
    )
}

pub(super) fn time(time: Option<Duration>) -> String {
    figure(time, view::duration)
}

/// A table; columns whose title begins with `>` are right-aligned.
pub(super) fn table(titles: &[&str], rows: &[Vec<String>]) -> String {
    let mut table = String::from("\n|");
    for title in titles {
        let _ = write!(table, " {} |", title.trim_start_matches('>'));
    }
    table.push_str("\n|");
    for title in titles {
        table.push_str(if title.starts_with('>') {
            "--:|"
        } else {
            "---|"
        });
    }
    for row in rows {
        table.push_str("\n|");
        for cell in row {
            let _ = write!(table, " {cell} |");
        }
    }
    table.push('\n');
    table
}

/// `and 3 more` where a list was cut.
pub(super) fn more(listed: usize) -> String {
    if listed > MOST {
        format!("\nand {} more\n", listed - MOST)
    } else {
        String::new()
    }
}

/// A word in bold where it is bad.
pub(super) fn alarming(words: String, is_bad: bool) -> String {
    if is_bad {
        format!("**{words}**")
    } else {
        words
    }
}
