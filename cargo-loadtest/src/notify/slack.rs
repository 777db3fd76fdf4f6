//! The message of an event for Slack's incoming webhooks.
//!
//! Names and reasons come from anywhere: what could mention people, name channels or make links is escaped,
//! and the message stays within Slack's limits.

use super::payload::{Graded, Payload, ScenarioEvent};
use crate::config::Event;
use crate::export::labels::NOT_RUN;
use loadtest_console::console::clean;
use loadtest_model::card::Verdict;
use loadtest_model::display;
use loadtest_model::exit_code::ExitCode;
use serde_json::{Value, json};

/// The longest text of a section, in units of UTF-16.
const SECTION: usize = 3_000;
/// The most letters of a name or a reason.
const LONGEST: usize = 200;

/// Returns the message: its text for notifications, and all its lines in one section.
pub(super) fn slack_message(payload: &Payload<'_>) -> Value {
    let title = escape_text(&format_title(payload));
    let mut words = title.clone();
    let mut lines = vec![format_facts(payload)];
    for scenario in &payload.scenarios {
        lines.push(escape_code(&scenario.planned.identity));
        lines.extend(list_results(scenario, payload.event));
    }
    if let Some(search) = &payload.capacity {
        let verdict = search.verdict.replace('_', " ");
        lines.push(format!(
            "Highest rate for {}: *{verdict}*",
            escape_text(&search.slo)
        ));
        lines.extend(search.remarks.iter().map(|remark| escape_text(remark)));
    }
    let mut room = SECTION - 2 - words.encode_utf16().count();
    for line in lines {
        let Some(left) = room.checked_sub(line.encode_utf16().count() + 1) else {
            words.push_str("\n…");
            break;
        };
        room = left;
        words = format!("{words}\n{line}");
    }
    // With `verbatim`, nothing becomes a link or a mention that is not written as one.
    let words = json!({ "type": "mrkdwn", "text": words, "verbatim": true });
    json!({ "text": title, "blocks": [{ "type": "section", "text": words }] })
}

fn format_title(payload: &Payload<'_>) -> String {
    let what = match payload.scenarios.as_slice() {
        [only] => only.planned.identity.clone(),
        all => display::format_counted(all.len() as u64, "scenario"),
    };
    match &payload.outcome {
        None => format!("▶ started: {what}"),
        Some(_) if payload.event == Event::GateFailed => format!("❌ gate failed: {what}"),
        Some(outcome) => {
            let mark = if outcome.exit_code == ExitCode::Passed {
                "✅"
            } else {
                "❌"
            };
            format!("{mark} {}: {what}", outcome.verdict.replace('_', " "))
        }
    }
}

/// Lists what became of a scenario.
fn list_results(scenario: &ScenarioEvent<'_>, event: Event) -> Vec<String> {
    if let Some(graded) = &scenario.result {
        let reasons = graded.reasons.iter();
        let reasons = reasons.map(|reason| format!("• {}", escape_text(&reason.words)));
        return std::iter::once(format_figures(graded))
            .chain(reasons)
            .collect();
    }
    if let Some(not_run) = &scenario.not_run {
        return vec![format!("*{NOT_RUN}* {}", escape_text(&not_run.message))];
    }
    let is_planned = event == Event::RunStarted;
    let load = is_planned.then(|| escape_text(&scenario.planned.load));
    load.into_iter().collect()
}

fn format_figures(graded: &Graded) -> String {
    let verdict = format!("*{}*", graded.verdict.name());
    if graded.verdict == Verdict::Invalid {
        return verdict;
    }
    let parts = [
        Some(verdict),
        graded.grade.map(|grade| format!("grade *{grade}*")),
        (graded.p95_us).map(|us| format!("p95 {}", display::format_micros(us))),
        (graded.error_rate)
            .map(|rate| format!("errors {}", escape_text(&display::format_percent(rate)))),
        graded.achieved_per_second.map(display::format_rate),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Identifies the run, and links to more.
fn format_facts(payload: &Payload<'_>) -> String {
    let run = payload.run;
    let mut facts = vec![format!("run {}", escape_code(run.identifier()))];
    if let Some((commit, dirty)) = run.commit() {
        let short: String = commit.chars().take(12).collect();
        let state = if dirty { " and changes" } else { "" };
        facts.push(format!("commit {}{state}", escape_code(&short)));
    }
    // `|` ends the address of a link, and it is the one such letter that an address may hold.
    let job = run.job_url().filter(|url| url.len() < LONGEST);
    facts.extend(job.map(|url| format!("<{}|job>", escape_text(&url.replace('|', "%7C")))));
    let outcome = payload.outcome.as_ref();
    let report = outcome.and_then(|outcome| outcome.report.as_deref());
    facts.extend(report.map(|path| format!("report {}", escape_code(path))));
    facts.join(" · ")
}

/// A name, in which nothing is formatted.
fn escape_code(name: &str) -> String {
    format!("`{}`", escape_text(&name.replace('`', "'")))
}

/// The beginning of a text as Slack's markup wants it, its three letters replaced.
fn escape_text(text: &str) -> String {
    let text = clean(text);
    let mut short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    let short = short.replace('&', "&amp;");
    short.replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_before_it_is_escaped() {
        assert_eq!(escape_text("a<b>&c"), "a&lt;b&gt;&amp;c");
        let long = escape_text(&"<".repeat(LONGEST + 1));
        assert_eq!(long, format!("{}…", "&lt;".repeat(LONGEST)));
    }

    #[test]
    fn a_name_stays_code_whatever_is_in_it() {
        assert_eq!(escape_code("a`*b*`<c>"), "`a'*b*'&lt;c&gt;`");
    }
}
