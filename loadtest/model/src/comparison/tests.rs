use super::series::{Counts, Measured, Series, Stretch};
use super::*;
use crate::card::Trust;
use crate::definition::{GoodCondition, Load, Part, Rate, ScenarioDef, Shape};
use crate::metrics::{Frame, Histogram, StreamSample, Tally};
use crate::plan::{GradingDefaults, Overrides, Plan};
use crate::record::{
    EndReason, Environment, ObservedSeries, RunEnd, RunRecord, RunStart, ScenarioRecord,
};
use crate::trace::Tracing;
use std::time::Duration;

const SECONDS: u32 = 90;
const RATE: u64 = 20;

/// A system under test of two steps.
#[derive(Clone, Copy)]
struct System {
    seed: u64,
    /// Milliseconds that `ask` takes; `tell` takes ten.
    typical: f64,
    /// The share of the asks that fail.
    errors: f64,
    /// Journeys that end in a second.
    rate: u64,
}

const USUAL: System = System {
    seed: 1,
    typical: 80.0,
    errors: 0.0,
    rate: RATE,
};

fn definition(steps: &[(&'static str, &'static str)]) -> ScenarioDef {
    let step = |(name, fingerprint): &(&'static str, &'static str)| StepDef {
        fingerprint: (*fingerprint).into(),
        ..StepDef::new(*name)
    };
    ScenarioDef::new("visit", steps.iter().map(step).collect())
}

fn run(system: System) -> ScenarioRecord {
    let mut definition = definition(&[("ask", "a"), ("tell", "b")]);
    definition.load = Some(Load::new(Shape::Rate {
        per_second: RATE as f64,
        ramp_up: Duration::ZERO,
        duration: Duration::from_secs(SECONDS.into()),
    }));
    let plan = Plan::new(
        &definition,
        &Overrides::default(),
        &GradingDefaults::default(),
        1,
    );
    let mut record = ScenarioRecord::new(RunStart {
        plan: plan.unwrap(),
        definition,
        base_url: Some("http://127.0.0.1:8080/".to_owned()),
        own_target: false,
        target_in_process: false,
        permits: Vec::new(),
        offline: None,
        validity_off: false,
        executable_hash: String::new(),
        workers: 1,
        started_at: String::new(),
    });
    let mut dice = system.seed;
    let mut even = || {
        dice = mix_bits(dice);
        (dice >> 11) as f64 / (1_u64 << 53) as f64
    };
    for second in 0..SECONDS {
        let mut tally = Tally::new(2);
        for _ in 0..system.rate {
            let times = [system.typical, 10.0].map(|typical| {
                let normal = (0..12).map(|_| even()).sum::<f64>() - 6.0;
                Duration::from_secs_f64(typical / 1e3 * (0.4 * normal).exp())
            });
            let failed = even() < system.errors;
            for (step, time) in tally.steps.iter_mut().zip(times) {
                step.executed += 1;
                step.response.record(time);
            }
            tally.steps[0].failed += u64::from(failed);
            tally.journey.ok += u64::from(!failed);
            tally.journey.failed += u64::from(failed);
            tally.journey.time.record(times[0] + times[1]);
        }
        let mut frame = Frame {
            second,
            ..Frame::default()
        };
        frame.windows.steady = tally;
        record.absorb(&frame);
    }
    record.finish(RunEnd {
        ending: EndReason::Completed,
        elapsed_us: u64::from(SECONDS) * 1_000_000,
        planned: 0,
        steady_us: u64::from(SECONDS) * 1_000_000,
        complete: true,
        panics: Vec::new(),
        out_of_rows: false,
        target_death: None,
        samples: None,
    });
    record
}

/// The same, whose `ask` reads a stream of eleven units that begins after `first` ms and goes on with one each `pace` ms;
/// this share of them is good.
fn run_of_streams(seed: u64, first: f64, pace: f64, good: f64) -> ScenarioRecord {
    let mut record = run(System { seed, ..USUAL });
    record.start.definition.steps.to_mut()[0].good = vec![GoodCondition {
        part: Part::FirstEvent,
        at_most: Duration::from_secs(1),
    }]
    .into();
    let mut dice = seed;
    let mut even = || {
        dice = mix_bits(dice);
        (dice >> 11) as f64 / (1_u64 << 53) as f64
    };
    for second in 0..SECONDS {
        let mut tally = Tally::new(2);
        let step = &mut tally.steps[0];
        for _ in 0..RATE {
            let around =
                |ms: f64, even: f64| Duration::from_secs_f64(ms / 1e3 * (0.8 + 0.4 * even));
            let stream = StreamSample {
                first_event: Some(around(first, even())),
                gaps: vec![around(pace, even()); 10],
                units: 11,
                events: 11,
                together: 0,
                ..StreamSample::default()
            };
            step.stream.get_or_insert_default().record(&stream, true);
            step.good += u64::from(even() < good);
        }
        let mut frame = Frame {
            second,
            ..Frame::default()
        };
        frame.windows.steady = tally;
        record.absorb(&frame);
    }
    record
}

#[test]
fn streams_are_compared_by_first_event_pace_and_what_is_good() {
    let environment = environment();
    let compare = |base: &ScenarioRecord, new: &ScenarioRecord| {
        let base = [side("one", base, &environment)];
        Comparison::compare_sides(&base, &side("new", new, &environment)).unwrap()
    };
    let base = run_of_streams(3, 200.0, 20.0, 1.0);
    let verdicts = |new: &ScenarioRecord| {
        let comparison = compare(&base, new);
        let figures = &comparison.subjects[1].figures;
        let of = |wanted| {
            let found = figures.iter().find(|found| found.figure == wanted);
            found.unwrap().verdict
        };
        [Figure::FirstEventP95, Figure::PerUnitP95, Figure::Good].map(of)
    };
    let same = [Change::Unchanged; 3];
    assert_eq!(verdicts(&run_of_streams(4, 200.0, 20.0, 1.0)), same);
    let worse = [Change::Regressed; 3];
    assert_eq!(verdicts(&run_of_streams(4, 300.0, 30.0, 0.80)), worse);
    let better = [Change::Improved, Change::Unchanged, Change::Unchanged];
    assert_eq!(verdicts(&run_of_streams(4, 120.0, 20.0, 1.0)), better);

    let comparison = compare(&base, &run_of_streams(4, 300.0, 30.0, 0.80));
    let good = comparison.subjects[1].figures.last().unwrap();
    assert!(good.change < -0.1 && good.interval.0 < good.change && good.change < good.interval.1);
    assert!(good.base > 0.98 && good.new < 0.85, "{good:?}");
    let words = good.describe();
    assert!(
        words.starts_with("good 100 %") && words.contains(" → ") && words.contains(", −"),
        "{words}"
    );
    let plain = compare(&run(USUAL), &run(USUAL));
    assert_eq!(plain.subjects[1].figures.len(), 5, "no figure of streams");
}

fn environment() -> Environment {
    Environment {
        os: "linux".to_owned(),
        arch: "x86_64".to_owned(),
        cpus: 2,
        ..Environment::default()
    }
}

fn side<'a>(
    run_id: &'a str,
    scenario: &'a ScenarioRecord,
    environment: &'a Environment,
) -> Side<'a> {
    Side {
        run_id,
        environment,
        scenario,
        trust: Trust::Valid,
    }
}

fn compared(base: &[System], new: System) -> Comparison {
    let environment = environment();
    let (base, new): (Vec<_>, _) = (base.iter().copied().map(run).collect(), run(new));
    let ids = ["one", "two", "three"];
    let base: Vec<_> = base
        .iter()
        .zip(ids)
        .map(|(record, id)| side(id, record, &environment))
        .collect();
    Comparison::compare_sides(&base, &side("new", &new, &environment)).unwrap()
}

fn figure(comparison: &Comparison, subject: usize, figure: Figure) -> &Compared {
    let mut figures = comparison.subjects[subject].figures.iter();
    figures.find(|compared| compared.figure == figure).unwrap()
}

#[test]
fn what_became_slower_is_found_where_it_did_and_nowhere_else() {
    let slower = System {
        seed: 2,
        typical: 120.0,
        ..USUAL
    };
    let comparison = compared(&[USUAL], slower);
    for at in [Figure::P50, Figure::P95, Figure::P99] {
        let ask = figure(&comparison, 1, at);
        assert_eq!(ask.verdict, Change::Regressed, "{ask:?}");
        assert!(ask.interval.0 < 0.5 && ask.interval.1 > 0.5, "{ask:?}");
        assert!(ask.detectable < 0.4, "{ask:?}");
        let tell = figure(&comparison, 2, at);
        assert_ne!(tell.verdict, Change::Regressed, "{tell:?}");
    }
    assert_eq!(
        figure(&comparison, 0, Figure::P95).verdict,
        Change::Regressed
    );
    assert_eq!(
        figure(&comparison, 1, Figure::Rps).verdict,
        Change::Unchanged
    );
    assert_eq!(
        figure(&comparison, 1, Figure::Errors).verdict,
        Change::Unchanged
    );
    assert_eq!(comparison.regressions().count(), 6);
    let back = compared(&[slower], USUAL);
    assert_eq!(figure(&back, 1, Figure::P95).verdict, Change::Improved);
    assert_eq!(back.regressions().count(), 0);
    assert_eq!(
        compared(&[USUAL], slower),
        comparison,
        "the same runs, the same words"
    );
}

#[test]
fn the_same_system_is_unchanged() {
    let comparison = compared(
        &[
            USUAL,
            System { seed: 3, ..USUAL },
            System { seed: 4, ..USUAL },
        ],
        System { seed: 5, ..USUAL },
    );
    assert!((comparison.margin.relative - 0.07).abs() < 1e-9);
    for subject in &comparison.subjects {
        assert_eq!(subject.figures.len(), 5);
        for compared in &subject.figures {
            let is_told = matches!(compared.verdict, Change::Regressed | Change::Improved);
            assert!(!is_told, "{compared:?}");
        }
    }
    assert_eq!(
        figure(&comparison, 1, Figure::P50).verdict,
        Change::Unchanged
    );
}

#[test]
fn more_errors_and_less_done_are_regressions() {
    let failing = System {
        seed: 2,
        errors: 0.04,
        ..USUAL
    };
    let comparison = compared(&[USUAL], failing);
    let errors = figure(&comparison, 1, Figure::Errors);
    assert_eq!(errors.verdict, Change::Regressed, "{errors:?}");
    assert!((errors.change - 0.04).abs() < 0.01, "{errors:?}");
    assert!(
        errors.describe().starts_with("errors 0 % → "),
        "{}",
        errors.describe()
    );
    assert_ne!(
        figure(&comparison, 2, Figure::Errors).verdict,
        Change::Regressed
    );
    let halted = System {
        seed: 2,
        rate: RATE / 2,
        ..USUAL
    };
    let comparison = compared(&[USUAL], halted);
    let rps = figure(&comparison, 0, Figure::Rps);
    assert_eq!(rps.verdict, Change::Regressed, "{rps:?}");
    assert!(
        (rps.change + 0.5).abs() < 1e-6 && rps.detectable < 0.0,
        "{rps:?}"
    );
    assert_eq!(
        rps.describe(),
        "RPS 20/s → 10/s, −50 % (90 % interval: −50 % to −50 %)"
    );
}

#[test]
fn what_differs_by_less_than_a_wake_up_is_the_same() {
    let quick = System {
        typical: 0.4,
        ..USUAL
    };
    let slower = System {
        seed: 2,
        typical: 0.5,
        ..USUAL
    };
    let comparison = compared(&[quick], slower);
    let p50 = figure(&comparison, 1, Figure::P50);
    assert!(p50.change > 0.2, "{p50:?}");
    assert_eq!(p50.verdict, Change::Unchanged, "{p50:?}");
}

#[test]
fn a_step_with_another_source_is_not_compared_nor_is_its_journey() {
    let environment = environment();
    let (base, mut new) = (run(USUAL), run(USUAL));
    new.start.definition.steps.to_mut()[1].fingerprint = "c".into();
    let skipped = |base: &ScenarioRecord, new: &ScenarioRecord| -> Vec<_> {
        let (base, new) = (
            side("one", base, &environment),
            side("new", new, &environment),
        );
        let comparison = Comparison::compare_sides(&[base], &new).unwrap();
        let subjects = comparison.subjects.into_iter();
        subjects
            .map(|subject| {
                assert_eq!(subject.figures.is_empty(), subject.skipped.is_some());
                (subject.step.unwrap_or_default(), subject.skipped)
            })
            .collect()
    };
    let expected = |steps: [(&str, Option<Skipped>); 3]| {
        steps
            .map(|(name, skipped)| (name.to_owned(), skipped))
            .to_vec()
    };
    assert_eq!(
        skipped(&base, &new),
        expected([
            ("", Some(Skipped::Changed)),
            ("ask", None),
            ("tell", Some(Skipped::Changed))
        ])
    );
    new.start.definition.steps.to_mut().pop();
    assert_eq!(
        skipped(&base, &new),
        expected([
            ("", Some(Skipped::Changed)),
            ("ask", None),
            ("tell", Some(Skipped::Removed))
        ])
    );
    assert_eq!(
        skipped(&new, &base),
        expected([
            ("", Some(Skipped::Changed)),
            ("ask", None),
            ("tell", Some(Skipped::Added))
        ])
    );
}

#[test]
fn what_cannot_be_compared_is_refused_with_every_reason() {
    let environment = environment();
    let base = run(USUAL);
    let refused = |change: &dyn Fn(&mut ScenarioRecord, &mut Environment), trust: Trust| {
        let (mut new, mut elsewhere) = (base.clone(), environment.clone());
        change(&mut new, &mut elsewhere);
        let new = Side {
            trust,
            ..side("new", &new, &elsewhere)
        };
        let refusals =
            Comparison::compare_sides(&[side("one", &base, &environment)], &new).unwrap_err();
        refusals.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let valid = Trust::Valid;
    assert_eq!(
        refused(
            &|new, _| new.start.definition.function = "other".into(),
            valid
        ),
        ["the runs are of different scenarios: `::load::visit` and `::load::other`"]
    );
    assert_eq!(
        refused(
            &|new, _| new.end.ending = EndReason::Interrupted,
            Trust::Invalid
        ),
        ["the run new did not finish"]
    );
    assert_eq!(
        refused(&|_, _| {}, Trust::Invalid),
        ["the run new is INVALID: the generator measured itself"]
    );
    assert_eq!(
        refused(
            &|new, _| {
                new.end.steady_us = 12_000_000;
                new.start.base_url = Some("http://127.0.0.1:9090".to_owned());
                new.start.plan.load.shape = Shape::Users {
                    users: 3,
                    ramp_up: Duration::ZERO,
                    duration: Duration::from_secs(90),
                };
            },
            valid
        ),
        [
            "the run new measured 12.0 s after its ramp; 1 min is needed to distinguish changes from chance",
            "the loads differ: 20/s for 1 min 30 s (open model), and now 3 users for 1 min 30 s (closed model)",
            "the targets differ: http://127.0.0.1:8080, and now http://127.0.0.1:9090",
        ]
    );
    let mut own = base.clone();
    own.start.own_target = true;
    let mut elsewhere = environment.clone();
    elsewhere.cpus = 8;
    let (base, new) = (
        side("one", &own, &environment),
        side("new", &own, &elsewhere),
    );
    assert_eq!(
        Comparison::compare_sides(&[base], &new).unwrap_err()[0].to_string(),
        "the machines differ, and the target ran on them too: linux x86_64, 2 processors, and now linux x86_64, 8 processors"
    );
}

#[test]
fn a_longer_run_at_the_same_rate_is_comparable() {
    let environment = environment();
    let (base, mut new) = (run(USUAL), run(USUAL));
    new.start.plan.load.shape = Shape::Rate {
        per_second: RATE as f64,
        ramp_up: Duration::ZERO,
        duration: Duration::from_secs(600),
    };
    let base = side("one", &base, &environment);
    assert!(Comparison::compare_sides(&[base], &side("new", &new, &environment)).is_ok());
}

#[test]
fn a_run_with_other_traces_is_not_comparable_and_another_link_is_no_difference() {
    let environment = environment();
    let traced = |sample, at_most_per_second, link: &str| {
        let mut record = run(USUAL);
        record.start.plan.tracing = Some(Tracing {
            sample,
            at_most_per_second,
            link: Some(link.to_owned()),
        });
        record
    };
    let refused = |base: &ScenarioRecord, new: &ScenarioRecord| {
        let sides = (
            side("one", base, &environment),
            side("two", new, &environment),
        );
        let differs = find_difference(&sides.0, &sides.1);
        let all = find_refusals(&sides.0, &sides.1);
        (
            differs,
            all.iter().map(ToString::to_string).collect::<Vec<_>>(),
        )
    };
    let one = traced(0.01, Some(10.0), "http://a/{trace_id}");
    let same = traced(0.01, Some(10.0), "http://b/{trace_id}");
    assert_eq!(refused(&one, &same), (None, vec![]));
    let words = "the traces differ: no traces, and now `traceparent` with 1 % of journeys sampled, at most 10/s";
    assert_eq!(
        refused(&run(USUAL), &one),
        (Some(Differs::Traces), vec![words.to_owned()])
    );
    let more = traced(0.5, None, "http://a/{trace_id}");
    let words = "the traces differ: `traceparent` with 1 % of journeys sampled, at most 10/s, and now \
                 `traceparent` with 50 % of journeys sampled";
    assert_eq!(
        refused(&one, &more),
        (Some(Differs::Traces), vec![words.to_owned()])
    );
}

#[test]
fn blocks_go_round_and_quantiles_are_told_within_a_bucket() {
    let stretches = (0..10_u64).map(|i| {
        let mut times = Histogram::default();
        for j in 0..100 {
            times.record(Duration::from_micros(1_000 + 10 * (i * 100 + j)));
        }
        let counts = Counts {
            tried: 100,
            failed: i,
            ended: 100,
        };
        Stretch {
            good: times,
            failed: Histogram::default(),
            counts,
        }
    });
    let series = Series::new(2.0, &stretches.collect::<Vec<_>>());
    let mut around = series.nothing();
    series.add_block(&mut around, 8, 4);
    let figures = series.figures(&around);
    assert!((figures.failed - f64::from(8 + 9 + 1) / 400.0).abs() < 1e-12);
    assert!((figures.rate.exp() - 50.0).abs() < 1e-9);
    let mut all = series.nothing();
    series.add_block(&mut all, 0, 10);
    let figures = series.figures(&all);
    for (found, quantile) in figures.quantiles.iter().zip(series::QUANTILES) {
        let exact = 1_000.0 + 10_000.0 * quantile;
        let told = found.exp() / 1e3;
        assert!((told / exact - 1.0).abs() < 0.005, "{told} for {exact}");
    }
}

/// A run of ten stretches, in each of which `per` of `per_times` milliseconds end and `failed` of them fail.
fn even(per: u64, milliseconds: f64, failed: [u64; 10], seed: u64) -> Drawn {
    let mut dice = seed;
    let stretches = failed.map(|failed| {
        let mut times = Histogram::default();
        for _ in 0..per {
            dice = mix_bits(dice);
            let jitter = 0.9 + 0.2 * (dice >> 11) as f64 / (1_u64 << 53) as f64;
            times.record(Duration::from_secs_f64(milliseconds * jitter / 1e3));
        }
        let counts = Counts {
            tried: per,
            failed,
            ended: per,
        };
        Stretch {
            good: times,
            failed: Histogram::default(),
            counts,
        }
    });
    Drawn::from_series(&Series::new(30.0, &stretches), seed)
}

fn verdict(base: &Drawn, new: &Drawn, figure: Figure) -> (Change, Option<u64>) {
    let common = Common {
        further: 0,
        margin: Margin::for_runs(1),
        steps: 1,
        is_closed: false,
    };
    let figures =
        compared::compare_figures(Measured::Whole, std::slice::from_ref(base), new, &common);
    let found = figures.iter().find(|found| found.figure == figure).unwrap();
    let (low, high) = found.interval;
    assert!(low.is_finite() && high.is_finite() && found.detectable.is_finite());
    (found.verdict, found.needs)
}

#[test]
fn errors_where_there_were_none_are_told_from_chance() {
    let none = even(3_000, 20.0, [0; 10], 1);
    let errors = |per, failed| {
        let base = even(per, 20.0, [0; 10], 1);
        verdict(&base, &even(per, 20.0, failed, 2), Figure::Errors).0
    };
    let mut few = [0; 10];
    (few[1], few[4], few[8]) = (1, 1, 1);
    assert_eq!(errors(3_000, few), Change::Unchanged, "3 of 30,000");
    assert_eq!(errors(3_000, [60; 10]), Change::Regressed, "2 %");
    assert_eq!(errors(2, few), Change::Inconclusive, "3 of 20");
    assert_eq!(errors(2, [2; 10]), Change::Regressed, "all of 20");
    // One bad stretch of a system that may have had one just as well.
    let mut burst = [0; 10];
    burst[3] = 900;
    assert_eq!(errors(3_000, burst), Change::Inconclusive, "3 % at once");
    let back = verdict(&even(3_000, 20.0, [60; 10], 1), &none, Figure::Errors);
    assert_eq!(back.0, Change::Improved);
}

#[test]
fn of_too_few_no_figure_is_told_and_how_many_it_takes_is() {
    let (few, slow) = (even(2, 20.0, [0; 10], 1), even(2, 60.0, [0; 10], 2));
    for (figure, needs) in [(Figure::P50, 100), (Figure::P95, 200), (Figure::P99, 1_000)] {
        let found = verdict(&few, &slow, figure);
        assert_eq!(found, (Change::Inconclusive, Some(needs)));
    }
    let (more, slower) = (even(30, 20.0, [0; 10], 1), even(30, 60.0, [0; 10], 2));
    assert_eq!(
        verdict(&more, &slower, Figure::P95),
        (Change::Regressed, None)
    );
    assert_eq!(verdict(&more, &slower, Figure::P99).0, Change::Inconclusive);
}

#[test]
fn what_is_no_longer_done_is_a_regression_and_what_never_was_is_none() {
    let (some, none) = (even(30, 20.0, [0; 10], 1), even(0, 20.0, [0; 10], 2));
    assert_eq!(
        verdict(&some, &none, Figure::Rps),
        (Change::Regressed, None)
    );
    let common = Common {
        further: 0,
        margin: Margin::for_runs(1),
        steps: 1,
        is_closed: false,
    };
    assert_eq!(
        compared::compare_figures(Measured::Whole, std::slice::from_ref(&none), &none, &common),
        []
    );
    assert_eq!(
        compared::compare_figures(Measured::Whole, &[none], &some, &common),
        []
    );
}

#[test]
fn that_users_who_wait_longer_ask_less_often_is_said_once() {
    let slower = System {
        seed: 2,
        typical: 160.0,
        rate: RATE / 2,
        ..USUAL
    };
    let mut comparison = compared(&[USUAL], slower);
    let told = |comparison: &Comparison| {
        let rates = comparison.regressions();
        let rates = rates.filter(|(_, found)| found.figure == Figure::Rps);
        rates
            .map(|(subject, _)| subject.step.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        figure(&comparison, 2, Figure::Rps).verdict,
        Change::Regressed
    );
    assert_eq!(
        told(&comparison),
        [None],
        "of the journey, not of each step too"
    );
    comparison.is_closed = true;
    assert_eq!(told(&comparison), [], "slower answers are fewer");
    assert!(comparison.regressions().next().is_some());
}

#[test]
fn chance_has_more_room_the_more_figures_there_are() {
    let wide = |steps| {
        let common = Common {
            further: 0,
            margin: Margin::for_runs(1),
            steps,
            is_closed: false,
        };
        let (base, new) = (even(300, 20.0, [0; 10], 1), even(300, 22.9, [0; 10], 2));
        let figures = compared::compare_figures(Measured::Whole, &[base], &new, &common);
        figures[1].verdict
    };
    // 14.5 % slower: beyond the margin, and beyond what one step differs by of itself; of sixty, one may.
    assert_eq!(wide(1), Change::Regressed);
    assert_eq!(wide(60), Change::Inconclusive);
}

#[test]
fn what_is_known_before_the_load_is_refused_before_it() {
    let environment = environment();
    let base = run(USUAL);
    let sides = [side("one", &base, &environment)];
    let load = base.start.plan.load.clone();
    let refused = |load: &Load, base_url: Option<&str>, starts_target: bool| {
        let definition = definition(&[("ask", "a"), ("tell", "b")]);
        let planned = PlannedRun {
            definition: &definition,
            load,
            tracing: None,
            base_url,
            may_start_target: base_url.is_none() && starts_target,
            environment: &environment,
        };
        let refusals = refuse_planned_run(&sides, &planned);
        refusals.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let same = Some("HTTP://ada:pw@127.0.0.1:8080?x=1");
    assert_eq!(refused(&load, same, false), [""; 0]);
    assert_eq!(refused(&load, same, true), [""; 0], "what is given counts");
    let short = Load::rate(Rate::per_second(RATE as f64), Duration::from_secs(30));
    assert_eq!(
        refused(&short, same, false),
        ["its load lasts 30 s after the ramp; 1 min is needed to distinguish changes from chance"]
    );
    let more = Load::rate(Rate::per_second(50.0), Duration::from_secs(90));
    assert_eq!(
        refused(&more, None, true),
        [
            "the loads differ: 20/s for 1 min 30 s (open model), and now 50/s for 1 min 30 s (open model)",
            "the targets differ: http://127.0.0.1:8080, and now a target that the scenario started",
        ]
    );
}

/// A run in which a figure has these values, one after another and again.
fn run_with(name: &str, values: &[f64]) -> ScenarioRecord {
    let mut record = run(USUAL);
    let mut series = ObservedSeries {
        name: name.to_owned(),
        unit: "cores".to_owned(),
        source: "http://127.0.0.1:9090".into(),
        width: 1,
        points: Vec::new(),
        limit: None,
        gap: None,
    };
    for (second, value) in (0..SECONDS).zip(values.iter().cycle()) {
        series.add(second, *value);
    }
    record.observed.push(series);
    record
}

#[test]
fn figures_of_the_targets_side_are_compared_and_change_no_verdict() {
    let environment = environment();
    let records = [
        run_with("db cpu", &[1.0, 2.0]),
        run_with("db cpu", &[2.0, 4.0]),
    ];
    let prune = |record: &ScenarioRecord| {
        let kept = RunRecord {
            schema_version: crate::record::SCHEMA_VERSION,
            run_id: "old".to_owned(),
            tool_version: String::new(),
            started_at: String::new(),
            environment: environment.clone(),
            scenarios: Vec::new(),
            not_run: Vec::new(),
            capacity: None,
            telemetry: Vec::new(),
        };
        kept.pruned(record).scenarios.remove(0)
    };
    let pruned = records.each_ref().map(prune);
    assert_eq!(pruned[0].observed[0].points.len(), 1, "{pruned:?}");
    let mut new = run_with("db cpu", &[9.0]);
    new.observed.extend(run_with("queue", &[7.0]).observed);
    let new = side("new", &new, &environment);
    for base in [&records, &pruned] {
        let base = [
            side("one", &base[0], &environment),
            side("two", &base[1], &environment),
        ];
        let comparison = Comparison::compare_sides(&base, &new).unwrap();
        assert_eq!(comparison.regressions().count(), 0);
        let row = |name: &str, base_mean, new_mean, base_max, new_max| ObservedCompared {
            name: name.to_owned(),
            unit: "cores".to_owned(),
            base_mean,
            new_mean,
            base_max,
            new_max,
        };
        assert_eq!(
            comparison.observed,
            [
                row("db cpu", Some(2.25), Some(9.0), Some(3.0), Some(9.0)),
                row("queue", None, Some(7.0), None, Some(7.0)),
            ]
        );
        let only_base = Comparison::compare_sides(&[new], &base[0]).unwrap();
        let queue = &only_base.observed[1];
        assert_eq!((queue.base_mean, queue.new_mean), (Some(7.0), None));
        let words = ObservedCompared::format_change(Some(2.0), Some(2.5));
        assert_eq!(words, "+25 %");
        assert_eq!(ObservedCompared::change(Some(0.0), Some(1.0)), None);
    }
}
