//! The message of an event for Slack's incoming webhooks.
//!
//! Names and reasons come from anywhere: what could mention people, name channels or make links is escaped,
//! and every part stays within Slack's limits.

use super::payload::{Graded, Payload, ScenarioEvent};
use crate::config::Event;
use crate::console::clean;
use crate::export::labels::NOT_RUN;
use loadtest_model::card::Verdict;
use loadtest_model::display;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The longest text of a section.
const SECTION: usize = 3_000;
/// The longest heading.
const HEADER: usize = 150;
/// The longest text of the message itself, which notifications show.
const TEXT: usize = 300;
/// The longest of one reason.
const REASON: usize = 300;
/// The most scenarios with a section; Slack takes 50 blocks.
const SCENARIOS: usize = 20;
/// The most reasons of a scenario.
const REASONS: usize = 8;
/// The end of what was cut.
const CUT: &str = "…";

/// The message.
pub(super) fn slack_message(payload: &Payload<'_>) -> Value {
    let title = format_title(payload);
    let mut blocks = vec![json!({
        "type": "header",
        "text": { "type": "plain_text", "text": cut_text(&clean(&title), HEADER), "emoji": false },
    })];
    blocks.extend(
        payload
            .scenarios
            .iter()
            .take(SCENARIOS)
            .map(|scenario| section_block(&format_scenario(scenario, payload.event))),
    );
    if let Some(more @ 1..) = payload.scenarios.len().checked_sub(SCENARIOS) {
        blocks.push(section_block(&format!(
            "and {}",
            display::format_counted(more as u64, "more scenario")
        )));
    }
    if let Some(search) = &payload.capacity {
        let slo = escape_text(&search.slo, REASON);
        let title = format!(
            "Highest rate for {slo}: *{}*",
            search.verdict.replace('_', " ")
        );
        let remarks = search
            .remarks
            .iter()
            .map(|remark| escape_text(remark, REASON));
        let lines: Vec<_> = std::iter::once(title).chain(remarks).collect();
        blocks.push(section_block(&lines.join("\n")));
    }
    blocks.push(json!({
        "type": "context",
        "elements": [markdown_text(&cut_escaped(&format_facts(payload), SECTION))],
    }));
    json!({ "text": escape_text(&title, TEXT), "blocks": blocks })
}

fn format_title(payload: &Payload<'_>) -> String {
    let what = match payload.scenarios.as_slice() {
        [only] => only.planned.identity.clone(),
        all => display::format_counted(all.len() as u64, "scenario"),
    };
    let Some(outcome) = &payload.outcome else {
        return format!("▶ started: {what}");
    };
    if payload.event == Event::GateFailed {
        return format!("❌ gate failed: {}", name_failed(payload).unwrap_or(what));
    }
    let mark = if outcome.exit_code == 0 { "✅" } else { "❌" };
    format!("{mark} {}: {what}", outcome.verdict.replace('_', " "))
}

/// Names the scenarios that failed the gate, where there are several.
fn name_failed(payload: &Payload<'_>) -> Option<String> {
    let all = &payload.scenarios;
    let has_failed = |scenario: &&ScenarioEvent<'_>| {
        let result = scenario.result.as_ref();
        result.is_some_and(|graded| graded.verdict == Verdict::Failed)
    };
    let failed: Vec<_> = all.iter().filter(has_failed).collect();
    match failed[..] {
        [] => None,
        [only] => Some(only.planned.identity.clone()),
        _ => Some(format!("{} of {} scenarios", failed.len(), all.len())),
    }
}

/// A scenario and what became of it.
fn format_scenario(scenario: &ScenarioEvent<'_>, event: Event) -> String {
    let planned = scenario.planned;
    let mut words = escape_code(&planned.identity);
    if let Some(graded) = &scenario.result {
        let _ = write!(words, "\n{}", format_figures(graded));
        for reason in graded.reasons.iter().take(REASONS) {
            let _ = write!(words, "\n• {}", escape_text(&reason.words, REASON));
        }
        if let Some(more @ 1..) = graded.reasons.len().checked_sub(REASONS) {
            let _ = write!(
                words,
                "\n• and {}",
                display::format_counted(more as u64, "more reason")
            );
        }
    } else if let Some(not_run) = &scenario.not_run {
        let _ = write!(
            words,
            "\n*{NOT_RUN}* {}",
            escape_text(&not_run.message, REASON)
        );
    } else if event == Event::RunStarted {
        let _ = write!(words, "\n{}", escape_text(&planned.load, REASON));
    }
    words
}

fn format_figures(graded: &Graded) -> String {
    let mut parts = vec![format!("*{}*", graded.verdict.name())];
    if graded.verdict == Verdict::Invalid {
        return parts.remove(0);
    }
    parts.extend(graded.grade.map(|grade| format!("grade *{grade}*")));
    parts.extend(graded.p95_us.map(|us| {
        let p95 = display::format_micros(us);
        format!("p95 {p95}")
    }));
    let errors = graded
        .error_rate
        .map(|rate| escape_text(&display::format_percent(rate), REASON));
    parts.extend(errors.map(|errors| format!("errors {errors}")));
    parts.extend(
        graded
            .achieved_per_second
            .map(|rate| escape_text(&display::format_rate(rate), REASON)),
    );
    parts.join(", ")
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
    let job = run
        .job_url()
        .map(|url| escape_text(&url.replace('|', "%7C"), usize::MAX));
    facts.extend(job.map(|url| format!("<{url}|job>")));
    let report = payload
        .outcome
        .as_ref()
        .and_then(|outcome| outcome.report.as_deref());
    facts.extend(report.map(|path| format!("report {}", escape_code(path))));
    facts.join(" · ")
}

fn section_block(words: &str) -> Value {
    json!({ "type": "section", "text": markdown_text(&cut_escaped(words, SECTION)) })
}

/// With `verbatim`, nothing becomes a link or a mention that is not written as one.
fn markdown_text(words: &str) -> Value {
    json!({ "type": "mrkdwn", "text": words, "verbatim": true })
}

/// A name, in which nothing is formatted.
fn escape_code(name: &str) -> String {
    format!("`{}`", escape_text(&name.replace('`', "'"), REASON))
}

/// A text as Slack's markup wants it, its three letters replaced, in at most `limit` characters.
fn escape_text(text: &str, limit: usize) -> String {
    let mut escaped = String::new();
    for letter in clean(text).chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            letter => escaped.push(letter),
        }
    }
    cut_escaped(&escaped, limit)
}

/// The beginning of an escaped text, and no half of an escape.
fn cut_escaped(text: &str, limit: usize) -> String {
    let short = cut_text(text, limit);
    if short == text {
        return short;
    }
    let kept = short.strip_suffix(CUT).unwrap_or(&short);
    match (kept.rfind('&'), kept.rfind(';')) {
        (Some(begin), end) if end.is_none_or(|end| end < begin) => {
            format!("{}{CUT}", &kept[..begin])
        }
        _ => short,
    }
}

/// The beginning of a text, in at most `limit` characters as Slack counts them: UTF-16.
fn cut_text(text: &str, limit: usize) -> String {
    if text.encode_utf16().count() <= limit {
        return text.to_owned();
    }
    let mut room = limit.saturating_sub(CUT.encode_utf16().count());
    let mut short = String::new();
    for letter in text.chars() {
        match room.checked_sub(letter.len_utf16()) {
            Some(left) => room = left,
            None => break,
        }
        short.push(letter);
    }
    short + CUT
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(escaped: &str) -> String {
        let plain = escaped.replace("&lt;", "<").replace("&gt;", ">");
        plain.replace("&amp;", "&")
    }

    #[test]
    fn a_text_that_is_cut_ends_with_no_half_of_an_escape() {
        assert_eq!(escape_text("a<b>&c", 100), "a&lt;b&gt;&amp;c");
        assert_eq!(escape_text("abc", 3), "abc");
        assert_eq!(escape_text("abcd", 3), "ab…");
        for limit in 4..7 {
            assert_eq!(escape_text("ab<cd", limit), "ab…", "{limit}");
        }
        assert_eq!(escape_text("ab<cd", 8), "ab&lt;cd");
        // Outside of the first plane, a letter counts as two.
        assert_eq!(escape_text("🦀🦀🦀", 5), "🦀🦀…");
    }

    #[test]
    fn a_name_stays_code_whatever_is_in_it() {
        assert_eq!(escape_code("a`*b*`<c>"), "`a'*b*'&lt;c&gt;`");
    }

    proptest! {
        #[test]
        fn an_escaped_text_is_read_as_it_was(any in "(&|<|>|&amp;|;|\\PC|🦀){0,40}") {
            prop_assert_eq!(read(&escape_text(&any, usize::MAX)), clean(&any));
        }

        #[test]
        fn a_cut_text_is_the_beginning_of_the_whole(any in "(&|<|>|&amp;|;|\\PC|🦀){0,40}", limit in 1..80_usize) {
            let short = escape_text(&any, limit);
            prop_assert!(short.encode_utf16().count() <= limit);
            prop_assert!(!short.contains(['<', '>']));
            let shown = read(&short);
            let begin = shown.strip_suffix(CUT).unwrap_or(&shown);
            prop_assert!(clean(&any).starts_with(begin) || clean(&any) == shown);
            for (at, _) in short.match_indices('&') {
                let known = ["&amp;", "&lt;", "&gt;"];
                prop_assert!(known.iter().any(|escape| short[at..].starts_with(escape)));
            }
        }
    }
}
