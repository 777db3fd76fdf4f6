//! The history for people.

use super::entry::{Archive, Entry, Outcome, short};
use super::scenario::{Row, ScenarioHistory, SettingHistory, Trend, VersionHistory};
use crate::export::terminal::table::{TextColumn, TextTable};
use crate::export::terminal::text::{ACCENT, BAD, BOLD, DIM, FAIR, GOOD, Line, PLAIN, clean, wrap};
use anstyle::Style;
use loadtest_model::display;
use std::time::Duration;

/// From so many columns on there is room for when a run began; its name begins with it anyway.
const WIDE: usize = 98;

/// The runs, at most `limit` of each scenario.
pub(super) fn render(
    histories: &[ScenarioHistory<'_>],
    archive: &Archive,
    limit: usize,
    width: usize,
    colour: bool,
) -> String {
    let mut lines = Vec::new();
    for history in histories {
        if !lines.is_empty() {
            lines.push(Line::new());
        }
        render_scenario(history, limit, width, &mut lines);
    }
    if !archive.unreadable.is_empty() {
        if !lines.is_empty() {
            lines.push(Line::new());
        }
        lines.push(Line::new().add(BOLD, "Nothing is known of"));
        for run in &archive.unreadable {
            lines.push(Line::new().add(PLAIN, format!("  {}", clean(&run.run))));
            let reason = wrap(&clean(&run.reason), width.saturating_sub(4));
            lines.extend(
                reason
                    .into_iter()
                    .map(|line| Line::new().add(DIM, format!("    {line}"))),
            );
        }
    }
    let mut text = String::new();
    for line in lines {
        line.print(&mut text, width, colour);
    }
    text
}

fn render_scenario(
    history: &ScenarioHistory<'_>,
    limit: usize,
    width: usize,
    lines: &mut Vec<Line>,
) {
    lines.push(Line::new().add(BOLD, clean(history.scenario)));
    let mut hidden = 0;
    for version in &history.versions {
        lines.push(render_title(version));
        for setting in &version.settings {
            let shown: Vec<_> = setting
                .rows
                .iter()
                .filter(|row| row.place < limit)
                .collect();
            hidden += setting.rows.len() - shown.len();
            if shown.is_empty() {
                continue;
            }
            if setting.setting.is_none() && version.version.is_some() {
                lines.push(Line::new().add(PLAIN, "  load not known"));
            }
            lines.extend(render_heading(setting, limit, width));
            let table = render_table(&shown, width);
            let table = table.lines(width.saturating_sub(2));
            lines.extend(
                table
                    .into_iter()
                    .map(|line| Line::new().add(PLAIN, "  ").join(line)),
            );
        }
    }
    if hidden > 0 {
        let older = display::format_counted(hidden as u64, "older run");
        lines.push(Line::new().add(DIM, format!("  {older} not shown: `-n` shows more")));
    }
}

/// `version 1f3a9c02 "2": 12 runs, 2026-11-20 10:02 to 2026-11-22 00:10`
fn render_title(history: &VersionHistory<'_>) -> Line {
    let runs = display::format_counted(history.count as u64, "run");
    let (first, last) = (
        format_time(history.first_seen),
        format_time(history.last_seen),
    );
    let seen = if first == last {
        first
    } else {
        format!("{first} to {last}")
    };
    let line = Line::new().add(PLAIN, "  ");
    let line = match history.version {
        None => line.add(PLAIN, "version not known"),
        Some(version) => {
            let line = line
                .add(PLAIN, "version ")
                .add(ACCENT, clean(version.short()));
            match &version.words {
                Some(words) => line.add(PLAIN, format!(" {:?}", clean(words))),
                None => line,
            }
        }
    };
    line.add(DIM, format!(": {runs}, {seen}"))
}

/// The load, its target, and the history of p95.
fn render_heading(history: &SettingHistory<'_>, limit: usize, width: usize) -> Vec<Line> {
    let Some(setting) = history.setting else {
        return Vec::new();
    };
    let words = match &setting.target {
        Some(target) => format!("{}, {target}", setting.load),
        None => setting.load.clone(),
    };
    let mut lines: Vec<Line> = wrap(&clean(&words), width.saturating_sub(2))
        .into_iter()
        .map(|line| Line::new().add(PLAIN, format!("  {line}")))
        .collect();
    let times = history.times(limit);
    if times.len() > 1 {
        // As many as fit, the newest.
        let room = width.saturating_sub(8);
        let times = &times[times.len().saturating_sub(room)..];
        let line = Line::new().add(DIM, "  p95 ").add(ACCENT, sparkline(times));
        lines.push(line);
    }
    lines
}

fn render_table(rows: &[&Row<'_>], width: usize) -> TextTable {
    let is_wide = width >= WIDE;
    let mut columns = vec![TextColumn::left("run")];
    if is_wide {
        columns.push(TextColumn::left("when (UTC)"));
    }
    columns.extend([
        TextColumn::left("commit"),
        TextColumn::left("grade"),
        TextColumn::right("p95"),
        TextColumn::right("errors"),
        TextColumn::right("trend"),
        TextColumn::left("verdict"),
    ]);
    let mut table = TextTable::new(columns);
    for row in rows {
        let entry = row.entry;
        let mut cells = vec![(PLAIN, clean(&entry.run))];
        if is_wide {
            cells.push((DIM, format_time(&entry.started_at)));
        }
        cells.extend([(DIM, commit(entry)), format_grade(entry)]);
        let figures = entry.figures();
        let none = || display::NO_VALUE.to_owned();
        let p95 = figures.and_then(|figures| figures.p95);
        cells.push((PLAIN, p95.map_or_else(none, display::format_duration)));
        let errors = figures.and_then(|figures| figures.error_rate);
        cells.push((PLAIN, errors.map_or_else(none, display::format_percent)));
        cells.push((PLAIN, row.trend.as_ref().map_or_else(String::new, arrow)));
        cells.push(format_verdict(entry));
        table.row(cells, entry.reason().map(clean));
    }
    table
}

/// `1a2b3c4*`, the star where the work tree differed.
fn commit(entry: &Entry) -> String {
    let Some(commit) = &entry.commit else {
        return display::NO_VALUE.to_owned();
    };
    let short: String = clean(short(commit)).chars().take(7).collect();
    let star = if entry.dirty == Some(true) { "*" } else { "" };
    format!("{short}{star}")
}

fn format_grade(entry: &Entry) -> (Style, String) {
    match entry.figures().and_then(|figures| figures.grade) {
        Some(letter) => (PLAIN, letter.to_string()),
        None => (PLAIN, display::NO_VALUE.to_owned()),
    }
}

fn format_verdict(entry: &Entry) -> (Style, String) {
    let style = match entry.exit_code() {
        Some(0) => GOOD,
        None => ACCENT,
        Some(102 | 105) => FAIR,
        Some(_) => BAD,
    };
    let mut words = entry.verdict().to_owned();
    if let Outcome::Searched {
        per_second: Some(rate),
        ..
    } = entry.outcome
    {
        words = format!("{words} {}", display::format_rate(rate));
    }
    (style, words)
}

/// `▲ +12 %`, `▼ -3.1 %`, `= 0 %`: where the sign says nothing, neither does the arrow.
fn arrow(trend: &Trend<'_>) -> String {
    let percent = trend.change * 100.0;
    let decimals = usize::from(percent.abs() < 9.95);
    let figure = format!("{percent:+.decimals$} %");
    if figure
        .bytes()
        .all(|letter| !letter.is_ascii_digit() || letter == b'0')
    {
        return "= 0 %".to_owned();
    }
    let arrow = if percent > 0.0 { '▲' } else { '▼' };
    format!("{arrow} {figure}")
}

/// A bar for each time, from zero to the longest.
fn sparkline(times: &[Duration]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let longest = times.iter().max().map_or(0.0, Duration::as_secs_f64);
    let bar = |time: &Duration| {
        let share = if longest > 0.0 {
            time.as_secs_f64() / longest
        } else {
            0.0
        };
        BARS[((share * 8.0).ceil() as usize).clamp(1, 8) - 1]
    };
    times.iter().map(bar).collect()
}

/// A time of RFC 3339 in UTC, to the minute.
fn format_time(time: &str) -> String {
    let minute: String = clean(time).chars().take(16).collect();
    minute.replace('T', " ")
}
