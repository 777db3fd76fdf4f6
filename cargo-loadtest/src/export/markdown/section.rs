//! The sections of a card, each complete without the others.

use super::beside::against;
use super::steps::{bottleneck, steps};
use super::table::{alarming, figure, more, table, time};
use super::text::{code, prose};
use crate::export::facts::{OWN_METRICS, errors_alarm, facts, percentiles_of, spared_heading};
use loadtest_model::card::{Card, DependencyFailure, Report, Trust, view};
use std::fmt::Write as _;

/// Lists are shown up to here.
pub(super) const MOST: usize = 20;

/// A section of a card.
pub(super) struct Section {
    /// What a reader is told when it is left out.
    pub(super) name: &'static str,
    /// What it says; empty where there is nothing to say.
    pub(super) write: fn(&Report, &Card) -> String,
}

/// All in their order, which is that of what matters.
pub(super) const SECTIONS: [Section; 11] = [
    Section {
        name: "validity",
        write: validity,
    },
    Section {
        name: "comparisons",
        write: against,
    },
    Section {
        name: "steps",
        write: steps,
    },
    Section {
        name: "bottlenecks",
        write: bottleneck,
    },
    Section {
        name: "dependency failures",
        write: dependencies,
    },
    Section {
        name: "thresholds",
        write: thresholds,
    },
    Section {
        name: "errors",
        write: errors,
    },
    Section {
        name: "lost points",
        write: losses,
    },
    Section {
        name: "metrics of the scenarios",
        write: own,
    },
    Section {
        name: "weights and iterations",
        write: accounts,
    },
    Section {
        name: "environments",
        write: environment,
    },
];

/// The figures in large type.
pub(super) fn tiles(card: &Card) -> String {
    let headline = &card.headline;
    let mut rate = figure(headline.achieved_per_second, view::rate);
    if let Some(target) = headline.target_per_second {
        let _ = write!(rate, " of {}", view::rate(target));
    }
    let errors = |rate: Option<f64>| alarming(figure(rate, view::percent), errors_alarm(card));
    let mut titles = vec![">p50", ">p95", ">p99"];
    let mut cells = vec![
        time(headline.time.p50),
        time(headline.time.p95),
        time(headline.time.p99),
    ];
    if headline.single_request {
        titles.extend([">Success", ">RPS"]);
        cells.push(errors(headline.error_rate.map(|rate| 1.0 - rate)));
        cells.push(rate);
    } else {
        titles.extend([">Errors", ">Journeys/s", ">Dependency failures"]);
        cells.push(errors(headline.error_rate));
        cells.push(rate);
        let count = headline.dependency_failures;
        cells.push(alarming(view::count(count), count > 0));
    }
    format!(
        "{}\n{}\n",
        table(&titles, &[cells]),
        prose(&percentiles_of(card))
    )
}

fn validity(_: &Report, card: &Card) -> String {
    if card.validity.trust == Trust::Valid {
        return String::new();
    }
    let mut section = format!("\n**Measurement {}**\n\n", card.validity.trust.name());
    for cause in &card.validity.causes {
        let _ = writeln!(
            section,
            "- {} → {}",
            prose(&cause.what),
            prose(&cause.remedy)
        );
    }
    let _ = writeln!(section, "- generator: {}", prose(&card.generator.words()));
    section
}

fn dependencies(_: &Report, card: &Card) -> String {
    let mut section = String::new();
    for (title, rows) in [
        ("Dependency failures", &card.dependency_failures),
        (spared_heading(card), &card.not_drawn),
    ] {
        if rows.is_empty() {
            continue;
        }
        let cells: Vec<_> = rows.iter().take(MOST).map(dependency).collect();
        let titles = [">Count", "What", "The first"];
        let _ = write!(
            section,
            "\n**{title}**\n{}{}",
            table(&titles, &cells),
            more(rows.len())
        );
    }
    section
}

fn dependency(row: &DependencyFailure) -> Vec<String> {
    // What a step itself said is in the words.
    let example = row.variable.as_ref().map(|_| prose(&row.example));
    vec![
        counted(row.count, row.elsewhere),
        prose(&row.words()),
        example.unwrap_or_default(),
    ]
}

fn counted(count: u64, elsewhere: u64) -> String {
    let mut words = view::count(count);
    if elsewhere > 0 {
        let _ = write!(words, " (and {} in the ramp)", view::count(elsewhere));
    }
    words
}

fn thresholds(_: &Report, card: &Card) -> String {
    if card.thresholds.is_empty() {
        return String::new();
    }
    let cells = card.thresholds.iter().map(|row| {
        let of = row
            .step
            .as_deref()
            .map_or_else(|| "journey".to_owned(), code);
        let implied = if row.implied { ", by default" } else { "" };
        vec![
            (if row.passed { "✅" } else { "❌" }).to_owned(),
            format!("{}{implied}", code(&row.condition)),
            of,
            alarming(row.actual_words.clone(), !row.passed),
        ]
    });
    let cells: Vec<_> = cells.collect();
    format!(
        "\n**Thresholds**\n{}",
        table(&["", "Condition", "Of", ">Measured"], &cells)
    )
}

fn errors(_: &Report, card: &Card) -> String {
    if card.errors.is_empty() && card.panics.is_empty() {
        return String::new();
    }
    let mut cells = Vec::new();
    for row in card.errors.iter().take(MOST) {
        let status = row
            .status
            .map_or_else(String::new, |status| format!(" {status}"));
        let mut first = code(&row.example);
        if let Some(sample) = row
            .sample
            .as_deref()
            .filter(|sample| !sample.trim().is_empty())
        {
            let _ = write!(first, "<br>{}", code(sample));
        }
        cells.push(vec![
            counted(row.count, row.elsewhere),
            code(&row.step),
            format!("{}{status}", code(row.kind.name())),
            first,
        ]);
    }
    for panic in card.panics.iter().take(MOST) {
        cells.push(vec![
            view::count(panic.count),
            code(&panic.location),
            "panic".to_owned(),
            code(&panic.message),
        ]);
    }
    let titles = [">Count", "Step", "Kind", "The first"];
    format!(
        "\n**Errors**\n{}{}",
        table(&titles, &cells),
        more(card.errors.len())
    )
}

fn losses(_: &Report, card: &Card) -> String {
    if card.losses.is_empty() {
        return String::new();
    }
    let mut section = String::from("\n**Where the grade lost points**\n\n");
    for loss in card.losses.iter().take(MOST) {
        let points = view::points(loss.points).replace('<', "&lt;");
        let _ = writeln!(section, "- {points}: {}", prose(&loss.words));
    }
    section + &more(card.losses.len())
}

fn own(_: &Report, card: &Card) -> String {
    let counters = card.counters.iter().map(|row| {
        let rate = figure(row.per_second, view::rate);
        let none = String::new;
        vec![
            code(&row.name),
            view::count(row.count),
            rate,
            none(),
            none(),
            none(),
        ]
    });
    let timings = card.timings.iter().map(|row| {
        let times = [row.time.p50, row.time.p95, row.time.p99].map(time);
        let mut cells = vec![code(&row.name), view::count(row.count), String::new()];
        cells.extend(times);
        cells
    });
    let cells: Vec<_> = counters.chain(timings).collect();
    if cells.is_empty() {
        return String::new();
    }
    let titles = ["Name", ">Count", ">Rate", ">p50", ">p95", ">p99"];
    format!("\n**{OWN_METRICS}**\n{}", table(&titles, &cells))
}

fn accounts(_: &Report, card: &Card) -> String {
    let accounts = &card.accounts;
    let count = view::count;
    let balance = match accounts.balanced {
        Some(true) => "",
        Some(false) => " The accounts do not balance.",
        None => " What was in flight at the end is unknown.",
    };
    let mut section = format!(
        "\n<details><summary>Iterations and weights</summary>\n\n{} planned = {} started + {} dropped; \
         {} started = {} ok + {} failed + {} cancelled, ramp included.{balance}\n",
        count(accounts.planned),
        count(accounts.started),
        count(accounts.dropped),
        count(accounts.started),
        count(accounts.ok),
        count(accounts.failed),
        count(accounts.cancelled),
    );
    let cells = card.weights.iter().map(|row| {
        let interval = row.interval.map_or_else(
            || view::NONE.to_owned(),
            |(low, high)| format!("{} to {}", view::percent(low), view::percent(high)),
        );
        let outside = if row.plausible { "" } else { " (outside)" };
        vec![
            code(&row.step),
            view::percent(row.configured),
            figure(row.observed, view::percent),
            format!("{interval}{outside}"),
            count(row.draws),
        ]
    });
    let cells: Vec<_> = cells.collect();
    if !cells.is_empty() {
        let titles = [
            "Weight of",
            ">Configured",
            ">Observed",
            ">95 % interval",
            ">Draws",
        ];
        section.push_str(&table(&titles, &cells));
    }
    section + "\n</details>\n"
}

fn environment(report: &Report, card: &Card) -> String {
    let facts = facts(report, card);
    let cells: Vec<_> = facts
        .iter()
        .map(|(label, value)| vec![(*label).to_owned(), code(value)])
        .collect();
    let table = table(&["", ""], &cells);
    let mut section = format!("\n<details><summary>Environment</summary>\n{table}");
    for note in &card.notes {
        let _ = write!(section, "\n{}\n", prose(note));
    }
    section + "\n</details>\n"
}
