//! Sections of findings, of the course of a run, and of how it was measured.

use super::card::shown_reasons;
use super::{Block, Column, Fact, Form, Section, Sentence, Table, TableCell, Tone};
use crate::export::chart;
use loadtest_console::console::clean;
use loadtest_model::card::{Card, Report, Trust};
use loadtest_model::display;
use loadtest_model::metrics::status_label;

/// Counts the answers by status where there is one request only.
pub(super) fn build_statuses(card: &Card) -> Option<Section> {
    let mut table = Table::new(
        "",
        vec![
            Column::text("Status", 1.0),
            Column::figure("Answers"),
            Column::word("Share"),
        ],
    );
    let all: u64 = card.statuses.values().sum();
    for (status, count) in &card.statuses {
        let share = *count as f64 / all as f64;
        let is_good = *status == 0 || (100..400).contains(status);
        let tone = if is_good { Tone::Good } else { Tone::Bad };
        let mut bar = TableCell::figure(display::format_percent(share)).tone(tone);
        bar.bar = Some(share);
        table.push(vec![
            TableCell::figure(status_label(*status)).tone(tone),
            TableCell::count(*count),
            bar,
        ]);
    }
    let is_shown = card.headline.single_request && !card.statuses.is_empty();
    let section = || Section::new("Answers by status", vec![Block::Table(table)]);
    is_shown.then(|| section().essential().half())
}

/// Lists what the scenario's code counted, timed and set by itself.
pub(super) fn build_custom_metrics(card: &Card) -> Option<Section> {
    let mut counters = Table::new(
        "",
        vec![
            Column::text("Counter", 1.0),
            Column::figure("Count"),
            Column::figure("Per second"),
        ],
    );
    for row in &card.counters {
        let rate = TableCell::optional(row.per_second, display::format_rate);
        counters.push(vec![
            TableCell::name(&*row.name),
            TableCell::count(row.count),
            rate,
        ]);
    }
    let mut timings = Table::new(
        "",
        vec![
            Column::text("Duration", 1.0),
            Column::figure("Count").leaves(1),
            Column::figure("p50").leaves(3),
            Column::figure("p95"),
            Column::figure("p99").leaves(2),
            Column::figure("Max"),
        ],
    );
    for row in &card.timings {
        let times = [row.time.p50, row.time.p95, row.time.p99, row.time.max];
        let mut cells = vec![TableCell::name(&*row.name), TableCell::count(row.count)];
        cells.extend(times.map(TableCell::time));
        timings.push(cells);
    }
    let mut gauges = Table::new(
        "",
        vec![
            Column::text("Gauge", 1.0),
            Column::figure("Count").leaves(1),
            Column::figure("Min").leaves(2),
            Column::figure("Mean").leaves(3),
            Column::figure("Max"),
            Column::figure("Last"),
        ],
    );
    for row in &card.gauges {
        let mut cells = vec![TableCell::name(&*row.name), TableCell::count(row.count)];
        let numbers = [row.min, row.mean, row.max, row.last];
        cells.extend(numbers.map(|number| TableCell::figure(display::format_number(number))));
        gauges.push(cells);
    }
    let tables = [counters, timings, gauges]
        .into_iter()
        .filter(|table| !table.rows.is_empty());
    let blocks: Vec<_> = tables.map(Block::Table).collect();
    (!blocks.is_empty()).then(|| Section::new("Metrics of the scenario", blocks))
}

/// Draws the course of a run, and says why there are no times in it; nothing of a course of one point.
pub(super) fn build_over_time(card: &Card) -> Option<Section> {
    if card.course.points.len() < 2 {
        return None;
    }
    let mut blocks = Vec::new();
    if !chart::has_times(&card.course) {
        let why = if card.steps.iter().all(|step| step.executed == 0) {
            "no step was executed"
        } else if card.headline.single_request {
            "no request has succeeded"
        } else {
            "no journey has succeeded"
        };
        let words = format!("There are no times to draw: {why}.");
        blocks.push(Block::Sentences(vec![Sentence::small(words)]));
    }
    let charts = chart::draw_over_time(card);
    if !charts.is_empty() {
        blocks.push(Block::Charts(charts));
    }
    (!blocks.is_empty()).then(|| Section::new("Over time", blocks).folded())
}

/// Lists what was observed of the target's side; nothing without.
pub(super) fn build_observed(card: &Card) -> Option<Section> {
    let columns = vec![
        Column::text("Figure", 1.0),
        Column::figure("Mean"),
        Column::figure("Max"),
        Column::figure("At").leaves(2),
        Column::figure("Last").leaves(1),
        Column::word("Limit"),
        Column::text("Source", 1.0).leaves(3),
    ];
    let mut table = Table::new("Steady part", columns);
    for row in &card.observed {
        let figure = |value: Option<f64>| {
            let words = value.map(|value| display::format_observed(value, &row.unit));
            TableCell::figure(words.unwrap_or_else(|| "–".to_owned()))
        };
        let at = row.max_at.map(|second| chart::format_clock(second.into()));
        let limit = match (&row.limit, row.holds) {
            (Some(limit), Some(true)) => TableCell::figure(format!("{limit} holds")),
            (Some(limit), _) => TableCell::figure(format!("{limit} does not hold")).tone(Tone::Bad),
            (None, _) => TableCell::figure("–"),
        };
        let source = match &row.gap {
            Some(gap) => format!("{}, not always: {gap}", row.source),
            None => row.source.clone(),
        };
        table.push(vec![
            TableCell::name(&*row.name),
            figure(row.mean),
            figure(row.max),
            TableCell::figure(at.unwrap_or_else(|| "–".to_owned())),
            figure(row.last),
            limit,
            TableCell::new(Form::Name, source),
        ]);
    }
    if table.rows.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Table(table)];
    if let Some(found) = &card.correlations {
        let figures = found.figures.iter();
        let mut sentences: Vec<_> = figures
            .map(|figure| Sentence::plain(format!("{}.", clean(&figure.describe()))))
            .collect();
        sentences.extend(found.not_computed.as_ref().map(|why| {
            Sentence::small(format!("Figures that move together are not shown: {why}."))
        }));
        blocks.push(Block::Sentences(sentences));
    }
    Some(Section::new("The target's side", blocks))
}

/// Lists the usual percentiles.
pub(super) fn build_distribution(card: &Card) -> Section {
    let time = &card.headline.time;
    let facts = [
        ("p50", time.p50),
        ("p90", time.p90),
        ("p95", time.p95),
        ("p99", time.p99),
        ("p99.9", time.p99_9),
        ("longest", time.max),
    ];
    let times = display::format_durations(&facts.map(|(_, time)| time));
    let facts = facts.iter().zip(times);
    let facts = facts.map(|((share, _), time)| Fact::new(*share, time));
    Section::new("Distribution", vec![Block::Facts(facts.collect())])
        .folded()
        .half()
}

pub(super) fn build_errors(card: &Card) -> Option<Section> {
    let mut table = Table::list(
        "By step, kind and status, with the first example",
        vec![
            Column::figure("Count"),
            Column::text("Step", 1.0),
            Column::word("Kind"),
            Column::text("The first", 2.4),
        ],
    );
    for row in &card.errors {
        let status = row
            .status
            .map_or_else(String::new, |status| format!(" {}", status_label(status)));
        let mut example = TableCell::prose(&*row.example);
        if let Some(sample) = row
            .sample
            .as_ref()
            .filter(|sample| !sample.trim().is_empty())
        {
            example = example.note(Form::Sample, &**sample);
        }
        table.push(vec![
            TableCell::count_and_ramp(row.count, row.elsewhere).tone(Tone::Bad),
            TableCell::name(&*row.step),
            TableCell::figure(format!("{}{status}", row.kind.name())),
            example,
        ]);
    }
    for panic in &card.panics {
        table.push(vec![
            TableCell::count(panic.count).tone(Tone::Bad),
            TableCell::name(&*panic.location),
            TableCell::figure("panic"),
            TableCell::prose(&*panic.message),
        ]);
    }
    (!table.rows.is_empty()).then(|| Section::new("Errors", vec![Block::Table(table)]).essential())
}

pub(super) fn build_thresholds(card: &Card) -> Option<Section> {
    let mut table = Table::new(
        "",
        vec![
            Column::text("Condition", 1.0),
            Column::text("Of", 1.0),
            Column::figure("Measured"),
            Column::word("Result"),
        ],
    );
    for row in &card.thresholds {
        let (result, tone) = if row.passed {
            ("✓ kept", Tone::Good)
        } else {
            ("✗ broken", Tone::Bad)
        };
        let by_default = if row.implied { ", by default" } else { "" };
        table.push(vec![
            TableCell::code(&*row.condition),
            match &row.step {
                Some(step) => TableCell::name(step),
                None => TableCell::figure(row.subject()),
            },
            TableCell::figure(&*row.actual_words).tone(Tone::alarm(!row.passed)),
            TableCell::figure(format!("{result}{by_default}")).tone(tone),
        ]);
    }
    (!table.rows.is_empty()).then(|| Section::new("Thresholds", vec![Block::Table(table)]).half())
}

/// Accounts for every iteration.
pub(super) fn build_iterations(card: &Card) -> Section {
    let accounts = &card.accounts;
    let count = display::format_count;
    let balance = match accounts.balanced {
        None => Sentence::small("Requests in flight at the end are unknown."),
        Some(false) => Sentence::marked(Tone::Bad, "The accounts do not balance."),
        Some(true) if accounts.warm_up > 0 => Sentence::small(format!(
            "The accounts balance, including the ramp, without {} of the warm-up.",
            count(accounts.warm_up)
        )),
        Some(true) => Sentence::small("The accounts balance, including the ramp."),
    };
    let not_run = match accounts.not_run {
        0 => String::new(),
        not_run => format!(" + {} not known to have run", count(not_run)),
    };
    let sentences = vec![
        Sentence::plain(format!(
            "{} planned = {} started + {} dropped{not_run}",
            count(accounts.planned),
            count(accounts.started),
            count(accounts.dropped)
        )),
        Sentence::plain(format!(
            "{} started = {} ok + {} failed + {} cancelled",
            count(accounts.started),
            count(accounts.ok),
            count(accounts.failed),
            count(accounts.cancelled)
        )),
        balance,
    ];
    Section::new("Iterations", vec![Block::Sentences(sentences)])
        .account(accounts.balanced == Some(false))
}

/// Tells how far the measurement can be trusted. What is a reason of the verdict stands at the head.
pub(super) fn build_measurement(card: &Card) -> Section {
    let validity = &card.validity;
    let is_at_the_head = |what: &str| {
        let mut reasons = shown_reasons(card).iter();
        reasons.any(|reason| reason.words == what)
    };
    let mut sentences: Vec<_> = validity
        .causes
        .iter()
        .filter(|cause| !is_at_the_head(&cause.what))
        .map(|cause| {
            let tone = if cause.trust == Trust::Invalid {
                Tone::Bad
            } else {
                Tone::Fair
            };
            Sentence {
                help: Some(cause.remedy.clone()),
                ..Sentence::marked(tone, &*cause.what)
            }
        })
        .collect();
    if validity.trust == Trust::Valid {
        let words = "The generator kept up: the figures can be trusted.";
        sentences.push(Sentence::small(words));
    }
    let generator = card.generator.describe();
    sentences.push(Sentence::small(format!("generator: {generator}")));
    let title = format!("Measurement {}", validity.trust.name());
    let is_alarming = validity.trust != Trust::Valid;
    Section {
        is_essential: is_alarming,
        ..Section::new(title, vec![Block::Sentences(sentences)]).account(is_alarming)
    }
}

pub(super) fn build_notes(card: &Card) -> Option<Section> {
    let notes: Vec<_> = card.notes.iter().map(Sentence::small).collect();
    (!notes.is_empty()).then(|| Section::new("", vec![Block::Sentences(notes)]).essential())
}

/// Lists what was run, and where.
pub(super) fn build_environment(report: &Report, card: &Card) -> Section {
    let environment = &report.environment;
    let setting = &card.setting;
    let mut facts: Vec<Fact> = Vec::new();
    if let Some(commit) = &environment.git_commit {
        let is_dirty = environment.git_dirty == Some(true);
        let state = if is_dirty {
            ", with uncommitted changes"
        } else {
            ""
        };
        let words = format!("{}{state}", shorten_hash(commit));
        facts.push(Fact::new("commit", words).copy(commit));
    }
    if let Some(user) = &environment.started_by {
        facts.push(Fact::new("started by", user.clone()));
    }
    let source = format!("{} ({})", card.source, card.identity);
    facts.push(Fact::new("source", source).copy(&*card.source));
    let mut fact = |label: &str, value: String| facts.push(Fact::new(label, value));
    let fingerprint = shorten_hash(&setting.fingerprint);
    match &setting.version {
        Some(version) => fact("version", format!("{version} ({fingerprint})")),
        None => fact("fingerprint", fingerprint),
    }
    let by_default = if setting.default_load {
        ", by default"
    } else {
        ""
    };
    fact("load", format!("{}{by_default}", setting.load));
    let workers = display::format_counted(u64::from(setting.workers), "worker thread");
    let users = display::format_counted(u64::from(setting.max_users), "virtual user");
    fact("generator", format!("{workers}, at most {users}"));
    fact("seed", setting.seed.to_string());
    if let Some(base) = &setting.base_url {
        let own = if setting.own_target {
            ", started by the scenario"
        } else {
            ""
        };
        let unchecked = if setting.insecure {
            ", certificates not checked"
        } else {
            ""
        };
        fact("target", format!("{base}{own}{unchecked}"));
    }
    fact("client", setting.client.clone());
    if !setting.permits.is_empty() {
        fact("permitted", setting.permits.join("; "));
    }
    if let Some(offline) = &setting.offline {
        fact("offline", format!("yes: {offline}"));
    }
    let cpus = display::format_counted(environment.cpus as u64, "processor");
    fact(
        "host",
        format!("{} {}, {cpus}", environment.os, environment.arch),
    );
    fact("executable", shorten_hash(&setting.executable_hash));
    let elapsed = display::format_micros(setting.elapsed_us);
    fact("time", format!("{}, for {elapsed}", setting.started_at));
    let run = format!("{}, loadtest {}", report.run_id, report.tool_version);
    facts.push(Fact::new("run", run).copy(&*report.run_id));
    Section::new("Environment", vec![Block::Facts(facts)]).account(false)
}

fn shorten_hash(hash: &str) -> String {
    hash.chars().take(12).collect()
}
