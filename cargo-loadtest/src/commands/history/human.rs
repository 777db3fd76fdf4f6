//! The history for people.

use crate::archive::{
    Archive, Entry, Outcome, Row, ScenarioHistory, SettingHistory, Trend, VersionHistory, short,
};
use crate::export::terminal::table::{TextColumn, TextTable};
use crate::export::terminal::text::{ACCENT, BAD, BOLD, DIM, FAIR, GOOD, Line, PLAIN, wrap};
use anstyle::Style;
use loadtest_model::display;
use loadtest_model::exit_code::ExitCode;

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
            lines.push(Line::new().add(PLAIN, format!("  {}", run.run)));
            let reason = wrap(&run.reason, width.saturating_sub(4));
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
    lines.push(Line::new().add(BOLD, history.scenario));
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
                lines.push(Line::new().add(PLAIN, "  unknown load"));
            }
            lines.extend(render_heading(setting, width));
            let table = render_table(&shown).lines(width.saturating_sub(2));
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
        None => line.add(PLAIN, "unknown version"),
        Some(version) => {
            let line = line.add(PLAIN, "version ").add(ACCENT, version.short());
            match &version.words {
                Some(words) => line.add(PLAIN, format!(" {words:?}")),
                None => line,
            }
        }
    };
    line.add(DIM, format!(": {runs}, {seen}"))
}

/// The load and its target.
fn render_heading(history: &SettingHistory<'_>, width: usize) -> Vec<Line> {
    let Some(setting) = history.setting else {
        return Vec::new();
    };
    let words = match &setting.target {
        Some(target) => format!("{}, {target}", setting.load),
        None => setting.load.clone(),
    };
    wrap(&words, width.saturating_sub(2))
        .into_iter()
        .map(|line| Line::new().add(PLAIN, format!("  {line}")))
        .collect()
}

fn render_table(rows: &[&Row<'_>]) -> TextTable {
    let mut table = TextTable::new(vec![
        TextColumn::left("run"),
        // The name of a run begins with its time anyway.
        TextColumn::left("when (UTC)").leaves(1),
        TextColumn::left("commit"),
        TextColumn::left("grade"),
        TextColumn::right("p95"),
        TextColumn::right("errors"),
        TextColumn::right("trend"),
        TextColumn::left("verdict"),
    ])
    .drop_cells();
    for row in rows {
        let entry = row.entry;
        let figures = entry.figures();
        let none = || display::NO_VALUE.to_owned();
        let grade = figures.and_then(|figures| figures.grade);
        let p95 = figures.and_then(|figures| figures.p95);
        let errors = figures.and_then(|figures| figures.error_rate);
        let cells = vec![
            (PLAIN, entry.run.clone()),
            (DIM, format_time(&entry.started_at)),
            (DIM, commit(entry)),
            (PLAIN, grade.map_or_else(none, |letter| letter.to_string())),
            (PLAIN, p95.map_or_else(none, display::format_duration)),
            (PLAIN, errors.map_or_else(none, display::format_percent)),
            (PLAIN, row.trend.as_ref().map_or_else(String::new, arrow)),
            format_verdict(entry),
        ];
        table.row(cells, entry.reason().map(str::to_owned));
    }
    table
}

/// `1a2b3c4*`, the star where the work tree differed.
fn commit(entry: &Entry) -> String {
    let Some(commit) = &entry.commit else {
        return display::NO_VALUE.to_owned();
    };
    let short: String = short(commit).chars().take(7).collect();
    let star = if entry.dirty == Some(true) { "*" } else { "" };
    format!("{short}{star}")
}

fn format_verdict(entry: &Entry) -> (Style, String) {
    let style = match entry.exit_code() {
        Some(ExitCode::Passed) => GOOD,
        None => ACCENT,
        Some(ExitCode::Invalid | ExitCode::Interrupted) => FAIR,
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

/// A time of RFC 3339 in UTC, to the minute.
fn format_time(time: &str) -> String {
    let minute: String = time.chars().take(16).collect();
    minute.replace('T', " ")
}
