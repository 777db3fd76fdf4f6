//! The run as test suites: one per scenario, with a case for the run itself, per threshold, per limit of the target's side, for the least
//! grade, per subject of a comparison and per step.
//!
//! GitLab shows what a failure holds, Jenkins its message too: so both say why.
//!
//! All is green exactly where the exit code is 0. A step is no condition: what must hold are the thresholds.

mod gate;
#[cfg(test)]
mod tests;

use crate::export::labels::{
    NOT_RUN, describe_regrading, label_scenarios, label_steps, unique_names,
};
use loadtest_console::console::clean;
use loadtest_model::card::{
    Capacity, Card, ReasonKind, Report, StepRow, ThresholdRow, Verdict, WebSockets,
};
use loadtest_model::definition::Metric;
use loadtest_model::display;
use loadtest_model::exit_code::ExitCode;
use loadtest_model::record::{NotRun, ShardRun};
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};
use std::fmt::Write as _;
use std::time::Duration;

/// The name of the case that fails for what is no threshold: an interrupted run, an invalid one.
const RUN: &str = "run";
/// The message of a broken condition that is no reason of the verdict.
const NOT_DECIDED: &str = "not decided: the run measured nothing for it";

/// The message of a step that never succeeded.
const ALL_FAILED: &str = "every execution failed";

/// The report as JUnit XML.
pub(crate) fn render(report: &Report) -> String {
    let mut all = quick_junit::Report::new("loadtest");
    let names = label_scenarios(report);
    let (ran, not_run) = names.split_at(report.cards.len());
    for (card, identity) in report.cards.iter().zip(ran) {
        all.add_test_suite(build_suite(report, card, identity));
    }
    for (scenario, identity) in report.not_run.iter().zip(not_run) {
        all.add_test_suite(build_not_run_suite(report, scenario, identity));
    }
    if let Some(search) = &report.capacity {
        all.add_test_suite(build_search_suite(report, search));
    }
    if all.test_suites.is_empty() {
        let mut suite = begin_suite(report, "loadtest");
        suite.add_test_case(error_case(
            "loadtest",
            RUN,
            "no scenario ran",
            ReasonKind::Empty.name(),
            "",
        ));
        all.add_test_suite(suite);
    }
    all.to_string().expect("a text takes every event")
}

/// A suite with what is known of every run.
fn begin_suite(report: &Report, identity: &str) -> TestSuite {
    let mut suite = TestSuite::new(identity);
    // As it is in the other formats.
    let time = clean(&report.started_at);
    suite.extra.insert("timestamp".into(), time.into());
    add_property(&mut suite, "run_id", &report.run_id);
    add_property(&mut suite, "exit_code", &report.exit_code().to_string());
    add_property(&mut suite, "tool_version", &report.tool_version);
    if let Some(commit) = &report.environment.git_commit {
        add_property(&mut suite, "commit", commit);
    }
    if let Some(dirty) = report.environment.git_dirty {
        add_property(&mut suite, "uncommitted_changes", &dirty.to_string());
    }
    suite
}

fn build_suite(report: &Report, card: &Card, identity: &str) -> TestSuite {
    let mut suite = begin_suite(report, identity);
    let setting = &card.setting;
    let time = clean(&setting.started_at);
    suite.extra.insert("timestamp".into(), time.into());
    suite.set_time(Duration::from_micros(setting.elapsed_us));
    add_property(&mut suite, "name", &card.name);
    add_property(&mut suite, "verdict", card.verdict.name());
    add_property(&mut suite, "grade", &card.grade.label());
    if let Some(score) = card.grade.score {
        add_property(&mut suite, "score", &score.to_string());
    }
    if let Some(least) = card.min_grade {
        add_property(&mut suite, "min_grade", least.name());
    }
    if let Some(policy) = describe_regrading(card) {
        add_property(&mut suite, "regraded", &policy);
    }
    if let Some(beside) = &card.comparison {
        add_property(&mut suite, "baseline", &beside.baseline);
    }
    add_property(&mut suite, "validity", card.validity.trust.name());
    for shard in &card.generators {
        add_property(&mut suite, &shard.shard.to_string(), &describe_shard(shard));
    }
    add_property(&mut suite, "load", &setting.load);
    add_property(&mut suite, "seed", &setting.seed.to_string());
    add_property(&mut suite, "fingerprint", &setting.fingerprint);
    if let Some(version) = &setting.version {
        add_property(&mut suite, "version", version);
    }
    if let Some(base) = &setting.base_url {
        add_property(&mut suite, "target", base);
    }
    add_property(&mut suite, "source", &card.source);
    if let Some(sockets) = &card.websockets {
        add_property(&mut suite, "websockets", &describe_websockets(sockets));
    }
    suite.add_test_cases(build_cases(report, card, identity));
    suite
}

/// `20261105-100000-0001: 300 planned, 2 dropped, p99 of late starts 180 µs, busiest worker 31 %, VALID`.
fn describe_shard(shard: &ShardRun) -> String {
    let late = shard.late_p99_us.map(Duration::from_micros);
    let late = late.map(|late| format!("p99 of late starts {}", display::format_duration(late)));
    let worker = display::format_whole_percent(shard.busiest_worker);
    let parts = [
        Some(format!("{} planned", display::format_count(shard.planned))),
        Some(format!("{} dropped", display::format_count(shard.dropped))),
        late,
        Some(format!("busiest worker {worker}")),
        Some(shard.state().to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("{}: {}", shard.run_id, parts.join(", "))
}

/// The cases of a scenario; in a search the trials decide, and the gate of one of them does not.
fn build_cases(report: &Report, card: &Card, identity: &str) -> Vec<TestCase> {
    // Each with the step that it is about.
    let mut cases: Vec<(TestCase, Option<&str>)> = Vec::new();
    if report.capacity.is_none() {
        cases.push((build_run_case(card, identity), None));
        cases.extend(card.thresholds.iter().map(|row| {
            let case = build_threshold_case(card, row, identity);
            (case, row.step.as_deref())
        }));
        let observed = gate::build_observed_cases(card, identity).into_iter();
        cases.extend(observed.map(|case| (case, None)));
        cases.extend(gate::build_grade_case(card, identity).map(|case| (case, None)));
        cases.extend(gate::build_comparison_cases(card, identity));
    }
    let names = label_steps(card);
    let steps = card.steps.iter().zip(&names);
    let is_failed = report.capacity.is_none() && card.verdict == Verdict::Failed;
    cases.extend(steps.map(|(step, name)| {
        let case = build_step_case(card, (step, name), identity, is_failed);
        (case, Some(step.name.as_str()))
    }));
    let names = cases.iter().map(|(case, _)| case.name.as_str().to_owned());
    let told_apart = unique_names(names);
    let cases = cases.into_iter().zip(told_apart);
    cases
        .map(|((mut case, step), name)| {
            case.name = name.into();
            locate_case(case, card, step)
        })
        .collect()
}

/// The verdict, as far as no other case says it.
fn build_run_case(card: &Card, identity: &str) -> TestCase {
    let mut reasons = card
        .reasons
        .iter()
        .filter(|reason| !gate::has_case(card, reason.kind))
        .peekable();
    let Some(first) = reasons.peek() else {
        return named_case(identity, RUN, TestCaseStatus::success());
    };
    let kind = first.kind.name();
    let message: Vec<&str> = reasons.map(|reason| &*reason.words).collect();
    let mut help = String::new();
    for cause in &card.validity.causes {
        let _ = writeln!(help, "{}: {}", clean(&cause.what), clean(&cause.remedy));
    }
    let mut case = error_case(identity, RUN, &message.join("; "), kind, &help);
    // A run that gave itself up is a gate that failed.
    if let (Verdict::Failed, TestCaseStatus::NonSuccess { kind, .. }) =
        (card.verdict, &mut case.status)
    {
        *kind = NonSuccessKind::Failure;
    }
    case
}

fn build_threshold_case(card: &Card, row: &ThresholdRow, identity: &str) -> TestCase {
    let name = format!("{}: {}", row.subject(), row.condition);
    let mut status = if row.passed {
        TestCaseStatus::success()
    } else if is_decisive(card, row) {
        TestCaseStatus::non_success(NonSuccessKind::Failure)
    } else {
        TestCaseStatus::skipped()
    };
    if is_decisive(card, row) {
        let words = clean(&row.reason());
        let mut description = words.clone();
        if row.metric == Metric::Errors && row.row.is_none() {
            let steps = card.steps.iter().filter(|step| {
                let is_of = |name: &String| *name == step.name || Some(name) == step.group.as_ref();
                let is_meant = row.step.as_ref().is_none_or(is_of);
                let is_tagged = row.tag.as_ref().is_none_or(|tag| step.tags.contains(tag));
                is_meant && is_tagged && step.failed > 0
            });
            for step in steps {
                let _ = write!(
                    description,
                    "\n{}: {}",
                    step.name,
                    describe_errors(card, step)
                );
            }
        }
        status
            .set_message(words)
            .set_type(ReasonKind::Threshold.name())
            .set_description(plain_lines(&description));
    } else {
        status.set_message(NOT_DECIDED);
    }
    let mut case = named_case(identity, &name, status);
    let implied = if row.implied { ", by default" } else { "" };
    case.set_system_out(clean(&format!(
        "{}: {}{implied}",
        row.condition, row.actual_words
    )));
    case
}

/// Returns true where a threshold is one of the reasons of the verdict.
fn is_decisive(card: &Card, row: &ThresholdRow) -> bool {
    let words = row.reason();
    !row.passed && card.reasons.iter().any(|reason| reason.words == words)
}

/// A step is no condition: it passes where it ran, with its figures. One of which every execution failed is no success:
/// it fails with its run, and is skipped in one that passed.
fn build_step_case(
    card: &Card,
    (step, name): (&StepRow, &str),
    identity: &str,
    is_failed: bool,
) -> TestCase {
    if step.executed == 0 {
        let mut status = TestCaseStatus::skipped();
        status.set_message(clean(&explain_absence(card, step)));
        return named_case(identity, name, status);
    }
    let status = match () {
        () if step.failed < step.executed => TestCaseStatus::success(),
        () if is_failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
        () => TestCaseStatus::skipped(),
    };
    let mut case = named_case(identity, name, status);
    if step.failed >= step.executed {
        case.status.set_message(ALL_FAILED);
    }
    if let Some(mean) = step.response.mean {
        // The crate rounds to milliseconds, in which a fast step takes none.
        let seconds = format!("{:.6}", mean.as_secs_f64());
        case.extra.insert("time".into(), seconds.into());
    }
    let words = format!(
        "{}\n{}",
        describe_figures(step),
        describe_errors(card, step)
    );
    case.set_system_out(words.trim_end());
    case
}

/// Explains why a step never ran.
fn explain_absence(card: &Card, step: &StepRow) -> String {
    let mut failures = card.dependency_failures.iter().chain(&card.not_drawn);
    let failure = failures.find(|failure| failure.step == step.name);
    match failure {
        Some(failure) => failure.describe(),
        None if step.kept > 0 => "its response of the ramp or warm-up was kept".to_owned(),
        None if step.left_out > 0 => "it left itself out".to_owned(),
        None if step.not_drawn > 0 => "its weight left it out".to_owned(),
        None if step.cancelled > 0 => "it was cut off by the end of the run".to_owned(),
        None => "never attempted in the measured part".to_owned(),
    }
}

fn describe_figures(step: &StepRow) -> String {
    let stream = step.stream.as_ref();
    let times = [
        ("p50", step.response.p50),
        ("p95", step.response.p95),
        ("p99", step.response.p99),
        (
            "first event p95",
            stream.and_then(|stream| stream.first_event.p95),
        ),
        (
            "per unit p95",
            stream.and_then(|stream| stream.per_unit.p95),
        ),
    ];
    let times = times.into_iter().filter(|(_, time)| time.is_some());
    let (names, times): (Vec<_>, Vec<_>) = times.unzip();
    let times = names.iter().zip(display::format_durations(&times));
    let share = |ratio: f64| format!("{} of the time", display::format_percent(ratio));
    let counts = [
        step.operation.as_deref().map(str::to_owned),
        Some(format!("{} executed", display::format_count(step.executed))),
        step.error_rate
            .map(|rate| format!("errors {}", display::format_percent(rate))),
    ];
    let shares = [
        step.good
            .map(|share| format!("good {}", display::format_percent(share))),
        step.time_share.map(share),
        step.grade.map(|grade| {
            format!(
                "grade {} ({})",
                grade.letter,
                display::format_score(grade.score)
            )
        }),
    ];
    let times = times.map(|(name, time)| Some(format!("{name} {time}")));
    let words = counts.into_iter().chain(times).chain(shares);
    words.flatten().collect::<Vec<_>>().join(", ")
}

/// The WebSockets of a run in a line.
fn describe_websockets(sockets: &WebSockets) -> String {
    let tally = &sockets.tally;
    let count = display::format_count;
    let closed = sockets.describe_closed();
    let words = [
        format!("{} opened", count(tally.opened)),
        format!("at most {} at once", count(tally.most_open)),
        format!("{} reopened", count(tally.reopened)),
        format!("{} closed by users", count(tally.closed_by_user)),
        closed.map_or_else(String::new, |codes| format!("others by code: {codes}")),
        format!(
            "{} sent",
            display::format_counted(tally.sent_messages, "message")
        ),
        format!("{} received", count(tally.received_messages)),
    ];
    let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.join(", ")
}

/// The failures of a step, a line each.
fn describe_errors(card: &Card, step: &StepRow) -> String {
    let mut lines = String::new();
    for row in card
        .errors
        .iter()
        .filter(|row| row.step == step.name && row.count > 0)
    {
        let status = row
            .status
            .map_or_else(String::new, |status| format!(" {status}"));
        let (count, kind, example) = (
            display::format_count(row.count),
            row.kind,
            clean(&row.example),
        );
        let _ = writeln!(lines, "{count} × {kind}{status}, first: {example}");
    }
    for row in card
        .dependency_failures
        .iter()
        .filter(|row| row.step == step.name)
    {
        let _ = writeln!(
            lines,
            "{} × {}",
            display::format_count(row.count),
            clean(&row.describe())
        );
    }
    plain_lines(&lines)
}

fn build_not_run_suite(report: &Report, scenario: &NotRun, identity: &str) -> TestSuite {
    let mut suite = begin_suite(report, identity);
    add_property(&mut suite, "verdict", NOT_RUN);
    let help = scenario.help.as_deref().unwrap_or_default();
    let kind = "did_not_run";
    suite.add_test_case(error_case(identity, RUN, &scenario.message, kind, help));
    suite
}

fn build_search_suite(report: &Report, search: &Capacity) -> TestSuite {
    let identity = clean(&search.scenario);
    let mut suite = begin_suite(report, &format!("capacity of {identity}"));
    add_property(&mut suite, "verdict", search.verdict.name());
    add_property(&mut suite, "capacity", &search.headline());
    let name = format!("capacity: {}", search.slo());
    let kind = search.verdict.name().to_lowercase().replace(' ', "_");
    let remarks: Vec<&str> = search.remarks.iter().map(|remark| &*remark.words).collect();
    suite.add_test_case(match search.exit_code() {
        ExitCode::Passed => {
            let mut case = named_case(&identity, &name, TestCaseStatus::success());
            case.set_system_out(clean(&remarks.join("; ")));
            case
        }
        ExitCode::GateFailed => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(clean(&remarks.join("; ")));
            status.set_type(kind);
            status.set_description(plain_lines(&remarks.join("\n")));
            named_case(&identity, &name, status)
        }
        _ => error_case(&identity, &name, &remarks.join("; "), &kind, ""),
    });
    suite
}

fn named_case(identity: &str, name: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(clean(name), status);
    case.set_classname(clean(identity));
    case
}

/// A case that could not be decided as a test is.
fn error_case(identity: &str, name: &str, message: &str, kind: &str, help: &str) -> TestCase {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_message(clean(message)).set_type(kind);
    status.set_description(plain_lines(&format!("{message}\n{help}")));
    named_case(identity, name, status)
}

/// With the place of its step, or else of the scenario.
fn locate_case(mut case: TestCase, card: &Card, step: Option<&str>) -> TestCase {
    let Some((file, line)) = card.source.rsplit_once(':') else {
        return case;
    };
    let mut steps = card.steps.iter();
    let step = steps.find(|row| Some(row.name.as_str()) == step && row.line > 0);
    let line = step.map_or_else(|| clean(line), |step| step.line.to_string());
    case.extra.insert("file".into(), clean(file).into());
    case.extra.insert("line".into(), line.into());
    case
}

fn add_property(suite: &mut TestSuite, name: &str, value: &str) {
    suite.add_property((clean(name), clean(value)));
}

fn plain_lines(text: &str) -> String {
    text.lines().map(clean).collect::<Vec<_>>().join("\n")
}
