//! The figures in the text format of OpenMetrics 1.0: seconds, bytes, ratios and counts of the measured part.
//!
//! A family stands once, with all its samples; labels tell scenarios and steps apart. The order is that of
//! the run, so that two exports of a record are the same bytes.

mod gate;
mod page;
mod steps;
#[cfg(test)]
mod tests;

use crate::export::labels::{describe_regrading, label_scenarios, label_steps, unique_names};
use loadtest_console::console::clean;
use loadtest_model::card::{Capacity, Card, Report, StepRow, Trust};
use loadtest_model::exit_code::ExitCode;
use loadtest_model::metrics::WebSocketTally;
use loadtest_model::record::ShardRun;
use page::{FAMILIES, Labels, add_up, flag_value};
pub(crate) use page::{MetricsText, TextFormat};
use std::time::Duration;

/// The report as the text of OpenMetrics.
pub(crate) fn render(report: &Report) -> String {
    let mut text = MetricsText::new(FAMILIES, TextFormat::OpenMetrics);
    let names = label_scenarios(report);
    let cards: Vec<LabelledCard<'_>> = report
        .cards
        .iter()
        .zip(&names)
        .map(|(card, identity)| LabelledCard {
            card,
            identity,
            steps: label_steps(card),
        })
        .collect();
    write_run(&mut text, report, &cards);
    write_verdicts(&mut text, report, &names, &cards);
    write_generators(&mut text, &cards);
    write_journeys(&mut text, &cards);
    steps::write_steps(&mut text, &cards);
    steps::write_groups(&mut text, &cards);
    steps::write_requests(&mut text, &cards);
    write_websockets(&mut text, &cards);
    write_failures(&mut text, &cards);
    gate::write_thresholds(&mut text, &cards);
    gate::write_observed(&mut text, &cards);
    gate::write_reasons(&mut text, &cards);
    gate::write_grades(&mut text, &cards);
    gate::write_comparisons(&mut text, &cards);
    write_custom_metrics(&mut text, &cards);
    text.finish()
}

/// A card with the names that its labels have.
#[derive(Debug)]
struct LabelledCard<'a> {
    card: &'a Card,
    identity: &'a str,
    steps: Vec<String>,
}

impl<'a> LabelledCard<'a> {
    /// Returns the label of the scenario, and these.
    fn labels(&self, more: &[(&'static str, &str)]) -> Labels {
        own_labels(&[&[("scenario", self.identity)], more].concat())
    }

    fn steps(&self) -> impl Iterator<Item = (&'a StepRow, Labels)> {
        let steps = self.card.steps.iter().zip(&self.steps);
        steps.map(|(step, name)| (step, self.labels(&[("step", name)])))
    }
}

fn own_labels(labels: &[(&'static str, &str)]) -> Labels {
    let labels = labels.iter();
    labels
        .map(|(label, text)| (*label, (*text).to_owned()))
        .collect()
}

fn write_run(text: &mut MetricsText, report: &Report, cards: &[LabelledCard<'_>]) {
    let environment = &report.environment;
    let run = own_labels(&[
        ("run_id", &report.run_id),
        ("started_at", &report.started_at),
        ("tool_version", &report.tool_version),
        (
            "commit",
            environment.git_commit.as_deref().unwrap_or_default(),
        ),
        ("os", &environment.os),
        ("arch", &environment.arch),
    ]);
    let one = Some(1.0);
    text.family("run", [(run, one)]);
    text.family(
        "exit_code",
        [(Labels::new(), Some(f64::from(report.exit_code().number())))],
    );
    let scenarios = cards.iter().map(|scenario| {
        let card = scenario.card;
        let setting = &card.setting;
        let grade = card.grade.letter.map_or("", |letter| letter.name());
        let labels = scenario.labels(&[
            ("name", &card.name),
            ("source", &card.source),
            ("verdict", card.verdict.name()),
            ("grade", grade),
            ("load", &setting.load),
            ("seed", &setting.seed.to_string()),
            ("fingerprint", &setting.fingerprint),
            ("version", setting.version.as_deref().unwrap_or_default()),
            ("min_grade", card.min_grade.map_or("", |least| least.name())),
            ("regraded", &describe_regrading(card).unwrap_or_default()),
        ]);
        (labels, one)
    });
    text.family("scenario", scenarios);
}

fn write_verdicts(
    text: &mut MetricsText,
    report: &Report,
    names: &[String],
    cards: &[LabelledCard<'_>],
) {
    let passed = names.iter().enumerate().map(|(at, identity)| {
        let card = cards.get(at).map(|scenario| scenario.card);
        // The card of a search is of one trial.
        let of_search = report.capacity.as_ref().map(Capacity::exit_code);
        let code = card.map(|card| of_search.unwrap_or(card.verdict.exit_code()));
        let labels = own_labels(&[("scenario", identity)]);
        (labels, Some(flag_value(code == Some(ExitCode::Passed))))
    });
    text.family("passed", passed);
    let states = cards.iter().flat_map(|scenario| {
        [Trust::Valid, Trust::Degraded, Trust::Invalid].map(|trust| {
            let labels = scenario.labels(&[("loadtest_validity", &trust.name().to_lowercase())]);
            let is = scenario.card.validity.trust == trust;
            (labels, Some(flag_value(is)))
        })
    });
    text.family("validity", states);
    if let Some(search) = &report.capacity {
        let labels = own_labels(&[("scenario", &search.scenario)]);
        text.family(
            "capacity_per_second",
            [(labels, search.finding.confirmed_per_second)],
        );
    }
}

/// Writes the WebSockets, where there are some.
fn write_websockets(text: &mut MetricsText, cards: &[LabelledCard<'_>]) {
    let all =
        || (cards.iter()).filter_map(|card| Some((card, &card.card.websockets.as_ref()?.tally)));
    for (name, of) in [
        (
            "websockets_most_open",
            (|tally| tally.most_open) as fn(&WebSocketTally) -> u64,
        ),
        ("websockets_opened", |tally| tally.opened),
    ] {
        let samples = all().map(|(card, tally)| (card.labels(&[]), Some(of(tally) as f64)));
        text.optional_family(name, samples.collect());
    }
    let closed = all().flat_map(|(card, tally)| {
        let by_target = tally.closed_by_target.iter();
        let by_target = by_target.map(|(code, number)| ("target", code.to_string(), *number));
        let by_user = ("user", String::new(), tally.closed_by_user);
        by_target.chain([by_user]).map(|(by, code, number)| {
            let labels = card.labels(&[("by", by), ("code", &code)]);
            (labels, Some(number as f64))
        })
    });
    text.optional_family("websockets_closed", closed.collect());
    for (name, of) in [
        (
            "websocket_messages",
            (|tally| [tally.sent_messages, tally.received_messages])
                as fn(&WebSocketTally) -> [u64; 2],
        ),
        ("websocket_message_bytes", |tally| {
            [tally.sent_bytes, tally.received_bytes]
        }),
    ] {
        let samples = all().flat_map(|(card, tally)| {
            ["sent", "received"]
                .into_iter()
                .zip(of(tally))
                .map(|(direction, number)| {
                    (
                        card.labels(&[("direction", direction)]),
                        Some(number as f64),
                    )
                })
        });
        text.optional_family(name, samples.collect());
    }
}

/// A family with a sample per shard: its name and the figure.
type ShardFamily = (&'static str, fn(&ShardRun) -> Option<f64>);

/// Writes what each shard of a load made.
fn write_generators(text: &mut MetricsText, cards: &[LabelledCard<'_>]) {
    let shards: Vec<(&ShardRun, Labels)> = cards
        .iter()
        .flat_map(|scenario| {
            let shards = scenario.card.generators.iter();
            shards.map(|shard| {
                let name = shard.shard.to_string();
                let name = name.strip_prefix("shard ").unwrap_or(&name);
                (shard, scenario.labels(&[("shard", name)]))
            })
        })
        .collect();
    let counts = shards.iter().flat_map(|(shard, labels)| {
        [
            ("planned", shard.planned),
            ("started", shard.started),
            ("dropped", shard.dropped),
        ]
        .map(|(result, count)| {
            let mut labels = labels.clone();
            labels.push(("result", result.to_owned()));
            (labels, Some(count as f64))
        })
    });
    text.optional_family("shard_iterations", counts.collect());
    let figures: [ShardFamily; 4] = [
        ("shard_began_after_seconds", |shard| {
            Some(Duration::from_micros(shard.began_after_us).as_secs_f64())
        }),
        ("shard_late_p99_seconds", |shard| {
            let late = shard.late_p99_us.map(Duration::from_micros);
            late.map(|late| late.as_secs_f64())
        }),
        ("shard_busiest_worker_ratio", |shard| {
            Some(shard.busiest_worker)
        }),
        ("shard_valid", |shard| {
            Some(flag_value(shard.trust() == Trust::Valid))
        }),
    ];
    for (name, figure) in figures {
        let samples = shards.iter();
        let samples = samples.map(|(shard, labels)| (labels.clone(), figure(shard)));
        text.optional_family(name, samples.collect());
    }
}

/// A family with a sample per scenario: its name and the figure.
type JourneyFamily = (&'static str, fn(&Card) -> Option<f64>);

const JOURNEYS: [JourneyFamily; 4] = [
    ("score_ratio", |card| card.grade.score),
    ("journey_error_ratio", |card| card.headline.error_rate),
    ("journeys_per_second", |card| {
        card.headline.achieved_per_second
    }),
    ("journeys_target_per_second", |card| {
        card.headline.target_per_second
    }),
];

fn write_journeys(text: &mut MetricsText, cards: &[LabelledCard<'_>]) {
    for (name, figure) in JOURNEYS {
        let samples = cards.iter().map(|one| (one.labels(&[]), figure(one.card)));
        text.family(name, samples);
    }
    let results = cards.iter().flat_map(|scenario| {
        let headline = &scenario.card.headline;
        [
            ("ok", headline.ok),
            ("failed", headline.failed),
            ("dropped", headline.dropped),
        ]
        .map(|(result, count)| (scenario.labels(&[("result", result)]), Some(count as f64)))
    });
    text.family("journeys", results);
    text.summary(
        "journey_time_seconds",
        cards
            .iter()
            .map(|one| (one.labels(&[]), &one.card.headline.time)),
    );
}

fn write_failures(text: &mut MetricsText, cards: &[LabelledCard<'_>]) {
    let errors = cards.iter().flat_map(|scenario| {
        add_up(scenario.card.errors.iter().map(|row| {
            let status = row.status.map(|status| status.to_string());
            let labels = scenario.labels(&[
                ("step", &row.step),
                ("kind", row.kind.name()),
                ("status", &status.unwrap_or_default()),
            ]);
            (labels, row.count)
        }))
    });
    text.family("errors", errors);
    let dependencies = cards.iter().flat_map(|scenario| {
        add_up(scenario.card.dependency_failures.iter().map(|row| {
            let labels = scenario.labels(&[
                ("step", &row.step),
                ("root_step", &row.root_step),
                ("cause", &row.cause.to_string()),
            ]);
            (labels, row.count)
        }))
    });
    text.family("dependency_failures", dependencies);
}

/// Writes what the scenarios counted, timed and set by themselves.
fn write_custom_metrics(text: &mut MetricsText, cards: &[LabelledCard<'_>]) {
    let counters = cards.iter().flat_map(|scenario| {
        let rows = &scenario.card.counters;
        let names = unique_names(rows.iter().map(|row| clean(&row.name)));
        let rows = rows.iter().zip(names);
        rows.map(|(row, name)| (scenario.labels(&[("name", &name)]), Some(row.count as f64)))
    });
    text.optional_family("own_counter", counters.collect());
    let timings = cards.iter().flat_map(|scenario| {
        let rows = &scenario.card.timings;
        let names = unique_names(rows.iter().map(|row| clean(&row.name)));
        let rows = rows.iter().zip(names);
        rows.map(|(row, name)| (scenario.labels(&[("name", &name)]), &row.time))
    });
    let gauges = cards.iter().flat_map(|scenario| {
        let rows = &scenario.card.gauges;
        let names = unique_names(rows.iter().map(|row| clean(&row.name)));
        rows.iter().zip(names).flat_map(move |(row, name)| {
            let figures = [
                ("last", row.last),
                ("min", row.min),
                ("max", row.max),
                ("mean", row.mean),
            ];
            figures.map(|(figure, number)| {
                let labels = scenario.labels(&[("name", &name), ("figure", figure)]);
                (labels, Some(number))
            })
        })
    });
    text.optional_family("own_gauge", gauges.collect());
    let timings: Vec<_> = timings.collect();
    if !timings.is_empty() {
        text.summary("own_time_seconds", timings);
    }
}
