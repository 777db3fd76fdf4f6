//! The figures as one table: a row per journey, group, step, request, metric of the scenario's own, all WebSockets, shard, reason, figure
//! beside the baseline, and trial.
//!
//! The header is published: columns are added at its end, and none is renamed or moved. Every text is on one
//! line, and none is a formula to a spreadsheet.

use super::labels::{
    describe_regrading, label_scenarios, label_steps, outcome_name, round_to_micros,
};
use loadtest_console::console::clean;
use loadtest_model::card::{
    Card, GroupRow, Quantiles, Report, StepGrade, StepRow, StreamRow, WebSockets,
};
use loadtest_model::comparison::{BaselineComparison, ComparisonOutcome, ObservedCompared};
use loadtest_model::metrics::MessageCounts;
use loadtest_model::record::ShardRun;
use serde::Serialize;
use std::iter;
use std::time::Duration;

/// The header. Times are in microseconds, rates per second, ratios shares of one.
const HEADER: &str = "\
    run_id,started_at,scenario,kind,name,method,url,verdict,exit_code,grade,score,executed,ok,\
    failed,dropped,cancelled,skipped_dependency,skipped_not_drawn,not_drawn,left_out,kept,\
    error_ratio,per_second,target_per_second,time_share,samples,mean_us,p50_us,p90_us,p95_us,p99_us,\
    p99_9_us,max_us,service_p50_us,service_p95_us,service_p99_us,requests,sent_bytes,received_bytes,\
    min_grade,regraded,reason,words,baseline,outcome,figure,base_value,new_value,change,change_low,\
    change_high,detectable,tags,gauge_last,gauge_min,gauge_max,gauge_mean,\
    planned,started,began_after_us,late_p99_us,busiest_worker,validity,unit,limit,first_event_p50_us,first_event_p95_us,gap_p95_us,per_unit_p95_us,\
    units,units_per_second,events,events_together_ratio,good_ratio,opened,reopened,most_open,\
    closed_by_target,closed_by_user,sent_messages,received_messages,operation,step,\
    done_p50_us,done_p95_us,done_p99_us";

/// The report as CSV.
pub(crate) fn render(report: &Report) -> String {
    let mut table = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(Vec::new());
    let header = HEADER.split(',').map(str::to_owned).collect();
    for row in iter::once(header).chain(build_rows(report)) {
        table.write_record(row).expect("every row has all columns");
    }
    let bytes = table.into_inner().expect("a vector takes everything");
    String::from_utf8(bytes).expect("of texts")
}

fn build_rows(report: &Report) -> Vec<Vec<String>> {
    let names = label_scenarios(report);
    let (ran, not_run) = names.split_at(report.cards.len());
    let mut rows = Vec::new();
    for (card, identity) in report.cards.iter().zip(ran) {
        let begin = |kind| CsvRow::new(report, identity, kind);
        rows.push(begin("journey").journey(card));
        rows.extend(card.groups.iter().map(|group| begin("group").group(group)));
        for (step, name) in card.steps.iter().zip(label_steps(card)) {
            rows.push(begin("step").step(step, &name));
            for request in &step.inner {
                let row = begin("request").text("name", &request.name);
                let row = row.text("step", &name);
                let row = row.count("executed", request.requests);
                let row = row.count("failed", request.failed);
                let row = row.number("error_ratio", request.error_rate);
                let row = row.grade(request.grade.as_ref());
                let row = row.times(&request.service);
                let row = row.messages(request.messages);
                rows.push(row.stream(request.stream.as_ref()));
            }
        }
        for counter in &card.counters {
            let row = begin("counter").text("name", &counter.name);
            let row = row.count("executed", counter.count);
            rows.push(row.number("per_second", counter.per_second));
        }
        for timing in &card.timings {
            let row = begin("timing").text("name", &timing.name);
            rows.push(row.count("executed", timing.count).times(&timing.time));
        }
        for gauge in &card.gauges {
            let row = begin("gauge").text("name", &gauge.name);
            let row = row.count("executed", gauge.count);
            rows.push(
                row.number("gauge_last", Some(gauge.last))
                    .number("gauge_min", Some(gauge.min))
                    .number("gauge_max", Some(gauge.max))
                    .number("gauge_mean", Some(gauge.mean)),
            );
        }
        let sockets = card.websockets.iter();
        rows.extend(sockets.map(|sockets| begin("websockets").websockets(sockets)));
        for row in &card.observed {
            let shown = begin("observed").text("name", &row.name);
            let outcome = match row.holds {
                Some(true) => "holds",
                Some(false) => "broken",
                None => "",
            };
            rows.push(
                shown
                    .text("unit", &row.unit)
                    .text("limit", row.limit.as_deref().unwrap_or_default())
                    .text("outcome", outcome)
                    .number("gauge_last", row.last)
                    .number("gauge_max", row.max)
                    .number("gauge_mean", row.mean),
            );
        }
        for shard in &card.generators {
            rows.push(begin("generator").generator(shard));
        }
        for reason in &card.reasons {
            let row = begin("reason").text("reason", reason.kind.name());
            let row = row.text("name", reason.step.as_deref().unwrap_or_default());
            rows.push(row.text("words", &reason.words));
        }
        if let Some(beside) = &card.comparison {
            rows.extend(compared_rows(beside, begin));
        }
    }
    for (scenario, identity) in report.not_run.iter().zip(not_run) {
        let row = CsvRow::new(report, identity, "journey").text("verdict", "did_not_run");
        rows.push(row.count("exit_code", scenario.exit_code.number().into()));
    }
    if let Some(search) = &report.capacity {
        let identity = &search.scenario;
        for trial in &search.trials {
            let row = CsvRow::new(report, identity, "trial").text("verdict", trial.describe());
            let row = row.number("target_per_second", Some(trial.attempt.per_second));
            let row = row.number("per_second", trial.achieved_per_second);
            let row = row.number("error_ratio", trial.error_rate);
            rows.push(row.time("p95_us", trial.p95));
        }
    }
    rows.into_iter().map(|row| row.0).collect()
}

/// A row per figure beside that of the baseline, and per subject that is not compared.
fn compared_rows(
    beside: &BaselineComparison,
    begin: impl Fn(&'static str) -> CsvRow,
) -> Vec<CsvRow> {
    let ComparisonOutcome::Compared(comparison) = &beside.outcome else {
        return Vec::new();
    };
    let begin = |kind: &'static str| begin(kind).text("baseline", &beside.baseline);
    let mut rows = Vec::new();
    for subject in &comparison.subjects {
        let begin = || {
            let row = begin("comparison");
            row.text("name", subject.step.as_deref().unwrap_or_default())
        };
        rows.extend(
            subject
                .skipped
                .map(|why| begin().text("outcome", why.name())),
        );
        rows.extend(subject.figures.iter().map(|figure| {
            begin()
                .text("outcome", figure.verdict.name())
                .text("figure", figure.figure.name())
                .number("base_value", Some(figure.base))
                .number("new_value", Some(figure.new))
                .number("change", Some(figure.change))
                .number("change_low", Some(figure.interval.0))
                .number("change_high", Some(figure.interval.1))
                .number("detectable", Some(figure.detectable))
        }));
    }
    for observed in &comparison.observed {
        rows.extend(observed.figures().map(|(figure, base, new)| {
            begin("observed_comparison")
                .text("name", &observed.name)
                .text("unit", &observed.unit)
                .text("figure", figure)
                .number("base_value", base)
                .number("new_value", new)
                .number("change", ObservedCompared::change(base, new))
        }));
    }
    rows
}

/// A row; a column without a figure is empty.
#[derive(Debug)]
struct CsvRow(Vec<String>);

impl CsvRow {
    fn new(report: &Report, identity: &str, kind: &str) -> Self {
        Self(vec![String::new(); HEADER.split(',').count()])
            .text("run_id", &report.run_id)
            .text("started_at", &report.started_at)
            .text("scenario", identity)
            .text("kind", kind)
    }

    fn journey(self, card: &Card) -> Self {
        let headline = &card.headline;
        let row = self
            .text("name", &card.name)
            .text("verdict", &name_in_json(card.verdict))
            .count("exit_code", card.verdict.exit_code().number().into())
            .text(
                "grade",
                card.grade.letter.map_or("", |letter| letter.name()),
            )
            .number("score", card.grade.score)
            .count("executed", headline.ok + headline.failed)
            .count("ok", headline.ok)
            .count("failed", headline.failed)
            .count("dropped", headline.dropped)
            .count("skipped_dependency", headline.dependency_failures)
            .number("error_ratio", headline.error_rate)
            .number("per_second", headline.achieved_per_second)
            .number("target_per_second", headline.target_per_second)
            .times(&headline.time);
        let row = row
            .text("min_grade", card.min_grade.map_or("", |least| least.name()))
            .text("regraded", &describe_regrading(card).unwrap_or_default());
        let row = match &card.comparison {
            Some(beside) => row
                .text("baseline", &beside.baseline)
                .text("outcome", outcome_name(&beside.outcome)),
            None => row,
        };
        let sum = |part: fn(&StepRow) -> u64| card.steps.iter().map(part).sum();
        row.count("requests", sum(|step| step.requests))
            .count("sent_bytes", sum(|step| step.sent_bytes))
            .count("received_bytes", sum(|step| step.received_bytes))
    }

    fn step(self, step: &StepRow, name: &str) -> Self {
        self.text("name", name)
            .text("method", step.method.as_deref().unwrap_or_default())
            .text("url", step.url.as_deref().unwrap_or_default())
            .text("tags", &step.tags.join(";"))
            .grade(step.grade.as_ref())
            .count("executed", step.executed)
            .count("ok", step.ok)
            .count("failed", step.failed)
            .count("cancelled", step.cancelled)
            .count("skipped_dependency", step.skipped)
            .count("skipped_not_drawn", step.skipped_not_drawn)
            .count("not_drawn", step.not_drawn)
            .count("left_out", step.left_out)
            .count("kept", step.kept)
            .number("error_ratio", step.error_rate)
            .number("per_second", step.per_second)
            .number("time_share", step.time_share)
            .times(&step.response)
            .time("service_p50_us", step.service.p50)
            .time("service_p95_us", step.service.p95)
            .time("service_p99_us", step.service.p99)
            .count("requests", step.requests)
            .count("sent_bytes", step.sent_bytes)
            .count("received_bytes", step.received_bytes)
            .number("good_ratio", step.good)
            .text("operation", step.operation.as_deref().unwrap_or_default())
            .stream(step.stream.as_ref())
            .done(step.done.as_ref())
    }

    fn done(self, done: Option<&Quantiles>) -> Self {
        let Some(done) = done else { return self };
        self.time("done_p50_us", done.p50)
            .time("done_p95_us", done.p95)
            .time("done_p99_us", done.p99)
    }

    fn stream(self, stream: Option<&StreamRow>) -> Self {
        let Some(stream) = stream else { return self };
        self.time("first_event_p50_us", stream.first_event.p50)
            .time("first_event_p95_us", stream.first_event.p95)
            .time("gap_p95_us", stream.gap.p95)
            .time("per_unit_p95_us", stream.per_unit.p95)
            .count("units", stream.units)
            .number("units_per_second", stream.units_per_second)
            .count("events", stream.events)
            .number("events_together_ratio", stream.together)
    }

    fn messages(self, messages: Option<MessageCounts>) -> Self {
        let Some(messages) = messages else {
            return self;
        };
        self.count("sent_messages", messages.sent)
            .count("received_messages", messages.received)
    }

    fn websockets(self, sockets: &WebSockets) -> Self {
        let tally = &sockets.tally;
        self.text("words", &sockets.describe_closed().unwrap_or_default())
            .count("sent_bytes", tally.sent_bytes)
            .count("received_bytes", tally.received_bytes)
            .count("opened", tally.opened)
            .count("reopened", tally.reopened)
            .count("most_open", tally.most_open)
            .count("closed_by_target", tally.closed_by_target.values().sum())
            .count("closed_by_user", tally.closed_by_user)
            .count("sent_messages", tally.sent_messages)
            .count("received_messages", tally.received_messages)
    }

    fn group(self, group: &GroupRow) -> Self {
        self.text("name", &group.name)
            .count("executed", group.executed)
            .count("ok", group.executed - group.failed)
            .count("failed", group.failed)
            .number("error_ratio", group.error_rate)
            .number("per_second", group.per_second)
            .number("time_share", group.time_share)
            .times(&group.response)
    }

    fn generator(self, shard: &ShardRun) -> Self {
        let lost = shard.agent.iter().filter_map(|agent| agent.lost.as_deref());
        let doubts = shard.doubts.iter().map(|doubt| &*doubt.what);
        let words: Vec<&str> = iter::once(&*shard.run_id)
            .chain(lost)
            .chain(doubts)
            .collect();
        self.text("name", &shard.shard.to_string())
            .text("words", &words.join("; "))
            .count("dropped", shard.dropped)
            .count("planned", shard.planned)
            .count("started", shard.started)
            .count("began_after_us", shard.began_after_us)
            .time("late_p99_us", shard.late_p99_us.map(Duration::from_micros))
            .number("busiest_worker", Some(shard.busiest_worker))
            .text("validity", &shard.state().to_lowercase())
    }

    fn grade(self, grade: Option<&StepGrade>) -> Self {
        self.text("grade", grade.map_or("", |grade| grade.letter.name()))
            .number("score", grade.map(|grade| grade.score))
    }

    fn times(self, times: &Quantiles) -> Self {
        self.count("samples", times.samples)
            .time("mean_us", times.mean)
            .time("p50_us", times.p50)
            .time("p90_us", times.p90)
            .time("p95_us", times.p95)
            .time("p99_us", times.p99)
            .time("p99_9_us", times.p99_9)
            .time("max_us", times.max)
    }

    fn text(self, column: &str, text: &str) -> Self {
        self.set(column, defuse_formula(text))
    }

    fn count(self, column: &str, count: u64) -> Self {
        self.set(column, count.to_string())
    }

    fn number(self, column: &str, number: Option<f64>) -> Self {
        let number = number.filter(|number| number.is_finite());
        self.set(
            column,
            number.map_or_else(String::new, |number| number.to_string()),
        )
    }

    fn time(self, column: &str, time: Option<Duration>) -> Self {
        self.set(
            column,
            time.map_or_else(String::new, |time| round_to_micros(time).to_string()),
        )
    }

    fn set(mut self, column: &str, cell: String) -> Self {
        let at = HEADER.split(',').position(|name| name == column);
        self.0[at.expect("a column of the header")] = cell;
        self
    }
}

/// Returns the name of a verdict in JSON.
fn name_in_json(value: impl Serialize) -> String {
    let name = serde_json::to_value(value).expect("a name");
    name.as_str().unwrap_or_default().to_owned()
}

/// Puts a text on one line, with an apostrophe before anything that a spreadsheet would compute.
pub(crate) fn defuse_formula(text: &str) -> String {
    let text = clean(text);
    let is_formula = text.trim_start().starts_with([
        '=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
    ]);
    if is_formula { format!("'{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::sample;

    fn read(text: &str) -> Vec<Vec<String>> {
        let mut table = csv::Reader::from_reader(text.as_bytes());
        assert_eq!(
            table.headers().unwrap(),
            &csv::StringRecord::from(HEADER.split(',').collect::<Vec<_>>())
        );
        let rows = table.deserialize::<Vec<String>>();
        rows.map(|row| row.unwrap()).collect()
    }

    fn cell<'a>(row: &'a [String], column: &str) -> &'a str {
        &row[HEADER.split(',').position(|name| name == column).unwrap()]
    }

    #[test]
    fn golden_reports() {
        for (name, report) in sample::golden()
            .into_iter()
            .chain([("huge", sample::huge())])
        {
            insta::assert_snapshot!(format!("csv_{name}"), render(&report));
        }
    }

    #[test]
    fn the_header_is_the_published_one() {
        let page = include_str!("../../../docs/reports.md");
        assert!(page.contains(&format!("\n{HEADER}\n")));
    }

    #[test]
    fn every_row_has_all_columns_and_stands_on_one_line() {
        for (name, report) in sample::all() {
            let text = render(&report);
            let rows = read(&text);
            assert_eq!(text.matches("\r\n").count(), rows.len() + 1, "{name}");
            assert!(!text.replace("\r\n", "").contains(['\r', '\n']), "{name}");
            let scenarios = rows
                .iter()
                .filter(|row| cell(row, "kind") == "journey")
                .count();
            assert_eq!(
                scenarios,
                report.cards.len() + report.not_run.len(),
                "{name}"
            );
        }
    }

    #[test]
    fn a_figure_is_that_of_the_card_unrounded() {
        let report = sample::failed();
        let card = &report.cards[0];
        let rows = read(&render(&report));
        assert_eq!(cell(&rows[0], "verdict"), "failed");
        let json: serde_json::Value =
            serde_json::from_str(&crate::export::json::render(&report)).unwrap();
        let p95 = &json["cards"][0]["headline"]["time"]["p95_us"];
        assert_eq!(cell(&rows[0], "p95_us"), p95.to_string());
        for (step, row) in card.steps.iter().zip(&rows[1..]) {
            assert_eq!(cell(row, "name"), step.name);
            assert_eq!(cell(row, "error_ratio").parse().ok(), step.error_rate);
            assert_eq!(cell(row, "failed"), step.failed.to_string());
            assert_eq!(cell(row, "dropped"), "", "a step has no such figure");
        }
    }

    #[test]
    fn the_row_of_grpc_calls_has_their_messages() {
        let mut report = sample::sender();
        let row = &mut report.cards[0].steps[4].inner[0];
        "shop.Cart/Add".clone_into(&mut row.name);
        row.messages = Some(MessageCounts {
            sent: 1_204,
            received: 1_200,
        });
        let rows = read(&render(&report));
        let found = rows
            .iter()
            .filter(|row| !cell(row, "sent_messages").is_empty());
        let found: Vec<_> = found
            .map(|row| {
                ["name", "sent_messages", "received_messages", "step"]
                    .map(|column| cell(row, column))
            })
            .collect();
        let step = &*report.cards[0].steps[4].name;
        assert_eq!(found, [["shop.Cart/Add", "1204", "1200", step]]);
    }

    #[test]
    fn every_reason_and_every_figure_beside_the_baseline_has_a_row() {
        for (name, report) in sample::all() {
            let rows = read(&render(&report));
            let of = |kind: &str| rows.iter().filter(|row| cell(row, "kind") == kind).count();
            let reasons: usize = report.cards.iter().map(|card| card.reasons.len()).sum();
            assert_eq!(of("reason"), reasons, "{name}");
            for (card, row) in report.cards.iter().zip(&rows) {
                let Some(beside) = &card.comparison else {
                    continue;
                };
                let json = serde_json::to_value(beside).unwrap();
                assert_eq!(json["outcome"], cell(row, "outcome"), "{name}");
                let subjects = json["subjects"].as_array().map_or(&[][..], |all| &all[..]);
                let figures = subjects.iter().map(|subject| {
                    let skipped = usize::from(!subject["skipped"].is_null());
                    skipped + subject["figures"].as_array().unwrap().len()
                });
                assert_eq!(of("comparison"), figures.sum::<usize>(), "{name}");
                let observed = json["observed"].as_array().map_or(0, Vec::len);
                assert_eq!(of("observed_comparison"), 2 * observed, "{name}");
            }
        }
        let rows = read(&render(&sample::regressed()));
        let worse: Vec<_> = rows
            .iter()
            .filter(|row| cell(row, "kind") == "comparison" && cell(row, "outcome") == "regressed")
            .map(|row| (cell(row, "name"), cell(row, "figure"), cell(row, "change")))
            .collect();
        let order = |figure, change| ("create_order", figure, change);
        assert_eq!(
            worse,
            [
                ("", "p95", "0.14"),
                order("p50", "0.27"),
                order("p95", "0.29"),
                order("p99", "0.33")
            ]
        );
    }

    #[test]
    fn what_was_graded_anew_says_by_what() {
        let mut report = sample::graded_too_low();
        let said = |report: &Report| {
            let row = &read(&render(report))[0];
            [cell(row, "min_grade"), cell(row, "regraded")].map(str::to_owned)
        };
        assert_eq!(said(&report), ["A", ""]);
        report.cards[0].regraded = Some(loadtest_model::plan::GradingDefaults {
            apdex: Some(Duration::from_millis(300)),
            min_grade: report.cards[0].min_grade,
            ..Default::default()
        });
        assert_eq!(said(&report), ["A", "apdex=300 ms, min_grade=A"]);
    }

    #[test]
    fn nothing_is_a_formula() {
        for (text, cell) in [
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "' =1"),
            ("\r\n=1", "'  =1"),
            ("\u{ff1d}1", "'\u{ff1d}1"),
            ("a=1", "a=1"),
            ("POST", "POST"),
        ] {
            assert_eq!(defuse_formula(text), cell);
        }
        let mut number = CsvRow(vec![String::new(); HEADER.split(',').count()]);
        number = number.number("score", Some(-0.5));
        assert_eq!(cell(&number.0, "score"), "-0.5", "a number is no text");
    }
}
