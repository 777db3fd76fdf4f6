//! The figures in the text format of OpenMetrics 1.0: seconds, bytes, ratios and counts of the measured part.
//!
//! A family stands once, with all its samples; labels tell scenarios and steps apart. The order is that of
//! the run, so that two exports of a record are the same bytes.

mod gate;
mod page;
mod steps;
#[cfg(test)]
mod tests;

use crate::console::clean;
use crate::export::labels::{describe_regrading, label_scenarios, label_steps, unique_names};
use loadtest_model::card::{Capacity, Card, Report, StepRow, Trust};
use page::{Page, Sums};

/// The report as the text of OpenMetrics.
pub(crate) fn render(report: &Report) -> String {
    let mut page = Page(String::new());
    let names = label_scenarios(report);
    let cards: Vec<Scenario<'_>> = report
        .cards
        .iter()
        .zip(&names)
        .map(|(card, identity)| Scenario {
            card,
            identity,
            steps: label_steps(card),
        })
        .collect();
    of_run(&mut page, report, &names, &cards);
    of_journeys(&mut page, &cards);
    steps::of_steps(&mut page, &cards);
    steps::of_requests(&mut page, &cards);
    of_failures(&mut page, &cards);
    of_thresholds(&mut page, &cards);
    gate::of_reasons(&mut page, &cards);
    gate::of_grades(&mut page, &cards);
    gate::of_comparisons(&mut page, &cards);
    of_own(&mut page, &cards);
    page.0.push_str("# EOF\n");
    page.0
}

/// A card with the names that its labels have.
#[derive(Debug)]
struct Scenario<'a> {
    card: &'a Card,
    identity: &'a str,
    steps: Vec<String>,
}

impl Scenario<'_> {
    fn steps(&self) -> impl Iterator<Item = (&StepRow, [(&'static str, &str); 2])> {
        let steps = self.card.steps.iter().zip(&self.steps);
        steps.map(|(step, name)| (step, [("scenario", self.identity), ("step", name.as_str())]))
    }
}

fn of_run(page: &mut Page, report: &Report, names: &[String], cards: &[Scenario<'_>]) {
    let environment = &report.environment;
    let commit = environment.git_commit.as_deref().unwrap_or_default();
    page.family("loadtest_run", "info", "The run.");
    page.sample(
        "loadtest_run_info",
        &[
            ("run_id", &report.run_id),
            ("started_at", &report.started_at),
            ("tool_version", &report.tool_version),
            ("commit", commit),
            ("os", &environment.os),
            ("arch", &environment.arch),
        ],
        1.0,
    );
    page.family("loadtest_exit_code", "gauge", "The exit code of the run.");
    page.sample("loadtest_exit_code", &[], f64::from(report.exit_code()));
    page.family("loadtest_scenario", "info", "What was run.");
    for Scenario { card, identity, .. } in cards {
        let setting = &card.setting;
        let labels = [
            ("scenario", *identity),
            ("name", &card.name),
            ("source", &card.source),
            ("verdict", card.verdict.name()),
            (
                "grade",
                card.grade.letter.map_or("", |letter| letter.name()),
            ),
            ("load", &setting.load),
            ("seed", &setting.seed.to_string()),
            ("fingerprint", &setting.fingerprint),
            ("version", setting.version.as_deref().unwrap_or_default()),
            ("min_grade", card.min_grade.map_or("", |least| least.name())),
            ("regraded", &describe_regrading(card).unwrap_or_default()),
        ];
        page.sample("loadtest_scenario_info", &labels, 1.0);
    }
    page.family(
        "loadtest_passed",
        "gauge",
        "1 where the scenario passed, else 0.",
    );
    for (at, identity) in names.iter().enumerate() {
        let of_card = || {
            cards
                .get(at)
                .map(|scenario| scenario.card.verdict.exit_code())
        };
        // The card of a search is of one trial.
        let of_search = report.capacity.as_ref().map(Capacity::exit_code);
        let code = of_search.filter(|_| at < cards.len()).or_else(of_card);
        let passed = f64::from(u8::from(code == Some(0)));
        page.sample("loadtest_passed", &[("scenario", identity)], passed);
    }
    let name = "loadtest_validity";
    page.family(name, "stateset", "How far the measurement can be trusted.");
    for Scenario { card, identity, .. } in cards {
        for trust in [Trust::Valid, Trust::Degraded, Trust::Invalid] {
            let state = trust.name().to_lowercase();
            let labels = [("scenario", *identity), (name, &state)];
            let is = f64::from(u8::from(card.validity.trust == trust));
            page.sample(name, &labels, is);
        }
    }
    if let Some(search) = &report.capacity {
        let scenario = clean(&search.scenario);
        let name = "loadtest_capacity_per_second";
        page.family(
            name,
            "gauge",
            "The highest arrival rate that was confirmed to meet the SLO.",
        );
        let confirmed = search.finding.confirmed_per_second;
        page.figure(name, &[("scenario", &scenario)], confirmed);
    }
}

fn of_journeys(page: &mut Page, cards: &[Scenario<'_>]) {
    let mut gauge = |name: &str, help: &str, figure: fn(&Card) -> Option<f64>| {
        page.family(name, "gauge", help);
        for Scenario { card, identity, .. } in cards {
            page.figure(name, &[("scenario", identity)], figure(card));
        }
    };
    gauge(
        "loadtest_score_ratio",
        "The score of the overall grade.",
        |card| card.grade.score,
    );
    gauge(
        "loadtest_journey_error_ratio",
        "Failed and dropped of all journeys finished and dropped.",
        |card| card.headline.error_rate,
    );
    gauge(
        "loadtest_journeys_per_second",
        "Journeys finished per second; of a test of one request, requests.",
        |card| card.headline.achieved_per_second,
    );
    gauge(
        "loadtest_journeys_target_per_second",
        "Journeys that were to start per second.",
        |card| card.headline.target_per_second,
    );
    let name = "loadtest_journeys";
    page.family(name, "counter", "Journeys by result.");
    for Scenario { card, identity, .. } in cards {
        let headline = &card.headline;
        for (result, count) in [
            ("ok", headline.ok),
            ("failed", headline.failed),
            ("dropped", headline.dropped),
        ] {
            let labels = [("scenario", *identity), ("result", result)];
            page.sample("loadtest_journeys_total", &labels, count as f64);
        }
    }
    let name = "loadtest_journey_time_seconds";
    let help =
        "Time of ok journeys, think time apart; of a test of one request, its response time.";
    page.family(name, "summary", help);
    for Scenario { card, identity, .. } in cards {
        page.summary(name, &[("scenario", identity)], &card.headline.time);
    }
}

fn of_failures(page: &mut Page, cards: &[Scenario<'_>]) {
    page.family(
        "loadtest_errors",
        "counter",
        "Failed executions by kind and status.",
    );
    for Scenario { card, identity, .. } in cards {
        let mut sums = Sums::default();
        for row in &card.errors {
            let status = row
                .status
                .map_or_else(String::new, |status| status.to_string());
            let labels = [clean(&row.step), row.kind.to_string(), status];
            sums.add(labels.to_vec(), row.count);
        }
        for (labels, count) in sums.0 {
            let [step, kind, status] = &labels[..] else {
                continue;
            };
            let labels = [
                ("scenario", *identity),
                ("step", step),
                ("kind", kind),
                ("status", status),
            ];
            page.sample("loadtest_errors_total", &labels, count as f64);
        }
    }
    let name = "loadtest_dependency_failures";
    page.family(
        name,
        "counter",
        "Steps skipped for want of an upstream value, by the step at fault.",
    );
    for Scenario { card, identity, .. } in cards {
        let mut sums = Sums::default();
        for row in &card.dependency_failures {
            let labels = [
                clean(&row.step),
                clean(&row.root_step),
                row.cause.to_string(),
            ];
            sums.add(labels.to_vec(), row.count);
        }
        for (labels, count) in sums.0 {
            let [step, root, cause] = &labels[..] else {
                continue;
            };
            let labels = [
                ("scenario", *identity),
                ("step", step),
                ("root_step", root),
                ("cause", cause),
            ];
            page.sample("loadtest_dependency_failures_total", &labels, count as f64);
        }
    }
}

fn of_thresholds(page: &mut Page, cards: &[Scenario<'_>]) {
    let name = "loadtest_threshold_passed";
    page.family(name, "gauge", "1 where the threshold holds, else 0.");
    for Scenario { card, identity, .. } in cards {
        let rows = card.thresholds.iter();
        let named = rows.map(|row| {
            let step = row.step.as_deref().map(clean).unwrap_or_default();
            (step, row.condition.clone(), row.passed)
        });
        let mut told: Vec<(String, String, bool)> = Vec::new();
        for (step, condition, passed) in named {
            match told
                .iter_mut()
                .find(|row| row.0 == step && row.1 == condition)
            {
                Some(row) => row.2 &= passed,
                None => told.push((step, condition, passed)),
            }
        }
        for (step, condition, passed) in &told {
            let labels = [
                ("scenario", *identity),
                ("step", step),
                ("condition", condition),
            ];
            page.sample(name, &labels, f64::from(u8::from(*passed)));
        }
    }
}

/// Writes what the scenarios counted and timed by themselves.
fn of_own(page: &mut Page, cards: &[Scenario<'_>]) {
    if cards
        .iter()
        .any(|scenario| !scenario.card.counters.is_empty())
    {
        page.family(
            "loadtest_own_counter",
            "counter",
            "What the scenario counted by itself.",
        );
    }
    for Scenario { card, identity, .. } in cards {
        let names = unique_names(card.counters.iter().map(|row| clean(&row.name)));
        for (row, name) in card.counters.iter().zip(names) {
            let labels = [("scenario", *identity), ("name", name.as_str())];
            page.sample("loadtest_own_counter_total", &labels, row.count as f64);
        }
    }
    let family = "loadtest_own_time_seconds";
    if cards
        .iter()
        .any(|scenario| !scenario.card.timings.is_empty())
    {
        page.family(family, "summary", "What the scenario timed by itself.");
    }
    for Scenario { card, identity, .. } in cards {
        let names = unique_names(card.timings.iter().map(|row| clean(&row.name)));
        for (row, name) in card.timings.iter().zip(names) {
            page.summary(
                family,
                &[("scenario", identity), ("name", &name)],
                &row.time,
            );
        }
    }
}
