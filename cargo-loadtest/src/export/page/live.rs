//! The parts of a card that say something while the run goes on.

use super::{Section, Tile, findings, search, steps, units};
use crate::course::{Course, format_share, format_time, format_users, format_window_rate};
use loadtest_model::capacity::Search;
use loadtest_model::card::{Capacity, Card};
use loadtest_model::display;

/// The seconds that the first figures are of.
const WINDOW: u32 = 5;

/// Grades a run so far, for its figures: its verdict and its grade are of no use before its end.
pub(crate) fn grade_so_far(course: &Course) -> Card {
    let mut record = course.record.clone();
    record.mark_died("the run continues".into());
    let mut card = Card::grade(&record, None);
    // Without a sample a limit is broken at the end, but not before.
    card.thresholds.retain(|row| row.actual.is_some());
    card
}

/// Builds the figures in large type: the first are of the last seconds, the others of the run so far.
pub(crate) fn build_tiles(course: &Course, card: &Card) -> Vec<Tile> {
    let window = course.window(WINDOW, course.second() + 1);
    let tile = |title, figure: String, note: &str| Tile {
        title,
        figure,
        note: note.to_owned(),
        is_alarming: false,
    };
    let quantiles = &card.headline.time;
    let last = "last 5 s";
    let mut tiles = vec![
        tile("Rate", format_window_rate(&window), last),
        tile("p95 now", format_time(window.p95), last),
        tile("Errors now", format_share(window.errors), last),
        tile("Active users", window.users.to_string(), "now"),
    ];
    let named = ["p50", "p95", "p99"].into_iter();
    let so_far = [quantiles.p50, quantiles.p95, quantiles.p99];
    let named = named.zip(display::format_durations(&so_far));
    tiles.extend(named.map(|(title, time)| tile(title, time, "so far")));
    let errors = format_share(card.headline.error_rate);
    tiles.push(tile("Error rate", errors, "so far"));
    tiles
}

/// Builds the sections of a run so far.
pub(crate) fn build_sections(card: &Card) -> Vec<Section> {
    let sections = [
        findings::build_over_time(card),
        Some(steps::build_steps(card)),
        findings::build_thresholds(card),
        steps::build_dependency_failures(card),
        findings::build_errors(card),
    ];
    let mut sections: Vec<_> = sections.into_iter().flatten().collect();
    units::share_units(&mut sections);
    sections
}

/// Builds the section of the trials that are over, if there are any.
pub(crate) fn build_trials_so_far(search: &Search) -> Option<Section> {
    let mut sections = [search::build_trials(&Capacity::from_search(search))?];
    units::share_units(&mut sections);
    let [trials] = sections;
    Some(trials)
}

/// `49.8/50 it/s, p95 12.1 ms, errors 0 %, 12 users`.
pub(crate) fn describe_now(course: &Course) -> String {
    let window = course.window(WINDOW, course.second() + 1);
    format!(
        "{}, p95 {}, errors {}, {}",
        format_window_rate(&window),
        format_time(window.p95),
        window
            .errors
            .map_or_else(|| display::NO_VALUE.to_owned(), display::format_percent),
        format_users(&window)
    )
}
