//! Words and small drawings that several pages have.

use crate::archive::{Entry, Outcome};
use crate::ui::dashboard::Dashboard;
use crate::ui::route::Route;
use loadtest_model::card::Verdict;
use loadtest_model::display;
use loadtest_model::exit_code::ExitCode;
use maud::{Markup, html};
use std::path::Path;
use std::time::Duration;

/// The size of a sparkline, in CSS pixels.
const SPARKLINE: (f64, f64) = (120.0, 24.0);

/// Renders the verdict of a run of a scenario.
pub(super) fn render_verdict(entry: &Entry) -> Markup {
    let (tone, sign) = match (&entry.outcome, entry.exit_code()) {
        (_, Some(ExitCode::Passed)) => ("good", "✓"),
        (Outcome::UnderWay, _) => ("plain", "●"),
        (Outcome::Measured(figures), _) if figures.verdict == Verdict::Failed => ("bad", "✗"),
        (_, Some(ExitCode::Invalid | ExitCode::Interrupted)) => ("fair", "!"),
        _ => ("bad", "✗"),
    };
    html! { span class={ "chip t-" (tone) } { (sign) " " (entry.verdict()) } }
}

/// Returns true if a scenario runs now.
pub(super) fn is_under_way(entry: &Entry) -> bool {
    matches!(entry.outcome, Outcome::UnderWay)
}

/// Renders the grade of a run of a scenario, or a dash.
pub(super) fn render_grade(entry: &Entry) -> Markup {
    let grade = entry.figures().and_then(|figures| figures.grade);
    let grade = grade.map_or_else(|| display::NO_VALUE.to_owned(), |letter| letter.to_string());
    html! { (grade) }
}

/// `1a2b3c4*`, the star where the work tree differed.
pub(super) fn format_commit(entry: &Entry) -> String {
    let Some(commit) = &entry.commit else {
        return display::NO_VALUE.to_owned();
    };
    let short: String = commit.chars().take(7).collect();
    let star = if entry.dirty == Some(true) { "*" } else { "" };
    format!("{short}{star}")
}

/// Renders a time of RFC 3339 in UTC, to the minute; the script shows that of the reader.
pub(super) fn render_time(time: &str) -> Markup {
    let minute: String = time.chars().take(16).collect();
    html! { time datetime=(time) { (minute.replace('T', " ")) " UTC" } }
}

/// Renders the name of a run, which leads to its report.
pub(super) fn render_run_link(run: &str) -> Markup {
    html! { a href=(Route::Run(run.to_owned()).path()) { (run) } }
}

/// Renders a place in a source file, which can be copied; the script leads from it to an editor.
pub(super) fn render_place(dashboard: &Dashboard, path: &Path, line: usize) -> Markup {
    let place = format!("{}:{line}", dashboard.shown_path(path));
    let path = local_path(dashboard, path);
    html! { span data-copy=(place) data-path=[path] data-line=(line) { code { (place) } } }
}

/// Renders a line of a source file that the page has named.
pub(super) fn render_line(dashboard: &Dashboard, path: &Path, line: usize) -> Markup {
    let path = local_path(dashboard, path);
    html! { span.sub data-path=[path] data-line=(line) { "line " (line) } }
}

/// The path for an editor on this machine; none for the visitors of a shared dashboard.
fn local_path(dashboard: &Dashboard, path: &Path) -> Option<String> {
    let is_local = dashboard.visitor().is_none();
    is_local.then(|| path.display().to_string())
}

/// Renders text as it stands; it takes the focus, since a long one is scrolled by keys.
pub(super) fn render_output(name: &str, text: &str) -> Markup {
    html! { pre.output role="group" aria-label=(name) tabindex="0" { (text) } }
}

pub(super) fn format_time(time: Option<Duration>) -> String {
    time.map_or_else(|| display::NO_VALUE.to_owned(), display::format_duration)
}

pub(super) fn format_share(share: Option<f64>) -> String {
    share.map_or_else(|| display::NO_VALUE.to_owned(), display::format_percent)
}

/// Draws times, the oldest first, as a line with a description of them.
pub(super) fn render_sparkline(times: &[Duration]) -> Markup {
    let (Some(last), true) = (times.last(), times.len() > 1) else {
        return html! {};
    };
    let (width, height) = SPARKLINE;
    let most = times
        .iter()
        .max()
        .map_or(0.0, Duration::as_secs_f64)
        .max(f64::MIN_POSITIVE);
    let shortest = times.iter().min().copied().unwrap_or_default();
    let step = (width - 6.0) / (times.len() - 1) as f64;
    let points = times.iter().enumerate().map(|(at, time)| {
        let y = height - 3.0 - time.as_secs_f64() / most * (height - 6.0);
        format!("{:.1},{y:.1}", 3.0 + at as f64 * step)
    });
    let points: Vec<_> = points.collect();
    let end = points.last().and_then(|point| point.split_once(','));
    let words = format!(
        "p95 of {} runs, from {} to {}, last {}",
        times.len(),
        display::format_duration(shortest),
        display::format_duration(Duration::from_secs_f64(most)),
        display::format_duration(*last)
    );
    html! {
        svg.sparkline role="img" aria-label=(words) width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } {
            polyline points=(points.join(" ")) {}
            @if let Some((x, y)) = end { circle cx=(x) cy=(y) r="2.5" {} }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_that_of_utc_where_no_script_runs() {
        assert_eq!(
            render_time("2026-11-25T20:32:59Z").0,
            "<time datetime=\"2026-11-25T20:32:59Z\">2026-11-25 20:32 UTC</time>"
        );
    }

    #[test]
    fn a_sparkline_says_in_words_what_it_draws() {
        let times = [2, 4, 3].map(Duration::from_millis);
        let svg = render_sparkline(&times).0;
        assert!(
            svg.contains("p95 of 3 runs, from 2\u{202f}ms to 4\u{202f}ms, last 3\u{202f}ms")
                || svg.contains("p95 of 3 runs, from 2.00 ms to 4.00 ms, last 3.00 ms"),
            "{svg}"
        );
        assert!(
            svg.contains("points=\"3.0,12.0 60.0,3.0 117.0,7.5\""),
            "{svg}"
        );
        assert_eq!(render_sparkline(&times[..1]).0, "");
    }
}
