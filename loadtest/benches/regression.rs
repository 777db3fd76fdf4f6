//! How often a comparison is wrong: invented pairs of runs, of which one knows whether they differ.
//!
//! `cargo bench -p loadtest --bench regression [-- PAIRS [WORD]]`: 200 pairs a row, of the rows whose names
//! contain WORD, or of the one whose name it is.
//!
//! Runs of five minutes at 100 journeys a second. Times are log-normal (sigma 0.5); the state of the target
//! drifts from second to second (AR(1), phi 0.9, standard deviation 10 %), and from run to run (3 %). Of
//! several steps, each has its own state and its own difference from run to run: the worst that a gate over
//! all of them can meet. Only the first step ever becomes slower.

#![expect(clippy::print_stdout, reason = "what a benchmark says")]

use loadtest_model::card::Trust;
use loadtest_model::comparison::{Change, Comparison, Figure, Side};
use loadtest_model::definition::{Load, ScenarioDef, Shape, StepDef};
use loadtest_model::metrics::{Frame, Tally};
use loadtest_model::plan::{GradingDefaults, Overrides, Plan};
use loadtest_model::record::{EndReason, Environment, RunEnd, RunStart, ScenarioRecord};
use std::time::Duration;
use tokio::time::Instant;

const SECONDS: u32 = 300;
const RATE: u64 = 100;

/// What is invented.
#[derive(Clone, Copy)]
struct System {
    seconds: u32,
    rate: u64,
    steps: usize,
    /// The standard deviation of the state of a second.
    drift: f64,
    /// How much that keeps of the second before.
    phi: f64,
    /// The standard deviation from run to run.
    run: f64,
    /// The share of the executions that fail.
    errors: f64,
    /// How much slower the first step is than it was.
    slower: f64,
}

const USUAL: System = System {
    seconds: SECONDS,
    rate: RATE,
    steps: 1,
    drift: 0.1,
    phi: 0.9,
    run: 0.03,
    errors: 0.0,
    slower: 1.0,
};

/// What there is, and of how many runs a baseline.
fn rows() -> Vec<(&'static str, System, usize)> {
    let slower = |slower| System { slower, ..USUAL };
    let steps = |steps| System { steps, ..USUAL };
    let of_steps = |slower, steps| System {
        steps,
        slower,
        ..USUAL
    };
    let quiet = |steps| System {
        drift: 0.01,
        steps,
        ..USUAL
    };
    let apart = |run| System { run, ..USUAL };
    let long = |seconds| System { seconds, ..USUAL };
    let rare = System {
        rate: 5,
        errors: 0.002,
        ..USUAL
    };
    vec![
        ("unchanged, no difference from run to run", apart(0.0), 1),
        ("unchanged", USUAL, 1),
        ("unchanged, 5 % from run to run", apart(0.05), 1),
        (
            "unchanged, slow drift (phi 0.97)",
            System { phi: 0.97, ..USUAL },
            1,
        ),
        ("unchanged, a minute", long(60), 1),
        ("unchanged, two minutes", long(120), 1),
        ("unchanged, 5/s, 0.2 % errors", rare, 1),
        ("unchanged, 10 steps", steps(10), 1),
        (
            "unchanged, 10 steps, a minute",
            System {
                seconds: 60,
                ..steps(10)
            },
            1,
        ),
        ("unchanged, 10 steps without drift", quiet(10), 1),
        ("unchanged, 60 steps", steps(60), 1),
        ("unchanged, 60 steps without drift", quiet(60), 1),
        ("10 % slower", slower(1.1), 1),
        ("20 % slower", slower(1.2), 1),
        ("30 % slower", slower(1.3), 1),
        ("30 % slower, 10 steps", of_steps(1.3, 10), 1),
        ("30 % slower, 60 steps", of_steps(1.3, 60), 1),
        ("unchanged, three runs as baseline", USUAL, 3),
        (
            "unchanged, 10 % apart, three runs as baseline",
            apart(0.1),
            3,
        ),
        ("unchanged, 10 steps, three runs as baseline", steps(10), 3),
        ("unchanged, 60 steps, three runs as baseline", steps(60), 3),
        ("10 % slower, three runs as baseline", slower(1.1), 3),
        ("20 % slower, three runs as baseline", slower(1.2), 3),
        (
            "20 % slower, 10 steps, three runs as baseline",
            of_steps(1.2, 10),
            3,
        ),
        (
            "20 % slower, 60 steps, three runs as baseline",
            of_steps(1.2, 60),
            3,
        ),
        ("unchanged, five runs as baseline", USUAL, 5),
        ("20 % slower, five runs as baseline", slower(1.2), 5),
    ]
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let pairs: usize = words
        .iter()
        .find_map(|word| word.parse().ok())
        .unwrap_or(200);
    let wanted = words
        .iter()
        .find(|word| !word.starts_with("--") && word.parse::<usize>().is_err());
    println!("share of {pairs} comparisons in which p95 of the first step was found to be");
    println!(
        "{:46} {:>9} {:>9} {:>9} {:>12}   and any figure",
        "", "regressed", "improved", "unchanged", "inconclusive"
    );
    let rows = rows();
    let is_whole = wanted.is_some_and(|word| rows.iter().any(|(name, ..)| name == word));
    for (at, (name, system, runs)) in (0..).zip(rows) {
        let is_wanted = |word: &String| (!is_whole && name.contains(&**word)) || name == word;
        if !wanted.is_none_or(is_wanted) {
            continue;
        }
        let begin = Instant::now();
        // A row is the same whichever others there are.
        let mut dice = Dice(20_261_105 + (at << 32));
        let mut found = [0_usize; 4];
        let mut failed = 0;
        for pair in 0..pairs {
            let compared = compared(system, runs, pair, &mut dice);
            let step = &compared.subjects[1].figures;
            let p95 = step.iter().find(|compared| compared.figure == Figure::P95);
            let place = match p95.expect("there are times").verdict {
                Change::Regressed => 0,
                Change::Improved => 1,
                Change::Unchanged => 2,
                Change::Inconclusive => 3,
            };
            found[place] += 1;
            failed += usize::from(compared.regressions().next().is_some());
        }
        let share = |count: usize| format!("{:.1} %", count as f64 * 100.0 / pairs as f64);
        println!(
            "{name:46} {:>9} {:>9} {:>9} {:>12} {:>9} regressed  ({:.0} s)",
            share(found[0]),
            share(found[1]),
            share(found[2]),
            share(found[3]),
            share(failed),
            begin.elapsed().as_secs_f64()
        );
    }
}

/// So many runs of the system as it was, and one as it is.
fn compared(system: System, runs: usize, pair: usize, dice: &mut Dice) -> Comparison {
    let usual = System {
        slower: 1.0,
        ..system
    };
    let mut all: Vec<ScenarioRecord> = (0..runs).map(|_| run(usual, dice)).collect();
    all.push(run(system, dice));
    let environment = Environment::default();
    let ids: Vec<String> = (0..=runs).map(|run| format!("{pair}-{run}")).collect();
    let sides: Vec<Side<'_>> = all
        .iter()
        .zip(&ids)
        .map(|(scenario, run_id)| Side {
            run_id,
            environment: &environment,
            scenario,
            trust: Trust::Valid,
        })
        .collect();
    let (new, base) = sides.split_last().expect("there is the new run");
    Comparison::compare_sides(base, new).expect("they can be compared")
}

fn run(system: System, dice: &mut Dice) -> ScenarioRecord {
    let mut definition = ScenarioDef::new(
        "run",
        (0..system.steps)
            .map(|step| StepDef::new(format!("ask_{step}")))
            .collect(),
    );
    let load = Load::new(Shape::Rate {
        per_second: system.rate as f64,
        ramp_up: Duration::ZERO,
        duration: Duration::from_secs(system.seconds.into()),
    });
    definition.load = Some(load);
    let plan = Plan::new(
        &definition,
        &Overrides::default(),
        &GradingDefaults::default(),
        1,
    )
    .expect("the load is valid");
    let mut record = ScenarioRecord::new(RunStart {
        definition,
        plan,
        base_url: None,
        own_target: false,
        target_in_process: false,
        permits: Vec::new(),
        offline: None,
        validity_off: false,
        executable_hash: String::new(),
        workers: 1,
        started_at: String::new(),
    });
    let mut typical = Vec::new();
    let mut states = Vec::new();
    for step in 0..system.steps {
        let slower = if step == 0 { system.slower } else { 1.0 };
        typical.push(0.080 * slower * (system.run * dice.normal()).exp());
        states.push(system.drift * dice.normal());
    }
    let fresh = system.drift * (1.0 - system.phi.powi(2)).sqrt();
    for second in 0..system.seconds {
        for state in &mut states {
            *state = system.phi * *state + fresh * dice.normal();
        }
        let mut tally = Tally::new(system.steps);
        for _ in 0..system.rate {
            let mut whole = Duration::ZERO;
            let mut is_ok = true;
            for (at, step) in tally.steps.iter_mut().enumerate() {
                let time = typical[at] * (states[at] + 0.5 * dice.normal()).exp();
                let time = Duration::from_secs_f64(time);
                step.executed += 1;
                if system.errors > 0.0 && dice.even() < system.errors {
                    step.failed += 1;
                    is_ok = false;
                } else {
                    step.ok += 1;
                    step.response.record(time);
                }
                whole += time;
            }
            tally.journey.started += 1;
            tally.journey.ok += u64::from(is_ok);
            tally.journey.failed += u64::from(!is_ok);
            if is_ok {
                tally.journey.time.record(whole);
            }
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
        elapsed_us: u64::from(system.seconds) * 1_000_000,
        planned: u64::from(system.seconds) * system.rate,
        steady_us: u64::from(system.seconds) * 1_000_000,
        complete: true,
        panics: Vec::new(),
        out_of_rows: false,
        target_death: None,
        samples: None,
    });
    record
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn even(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Standard normal, by Box and Muller.
    fn normal(&mut self) -> f64 {
        let (radius, angle) = ((1.0 - self.even()).ln() * -2.0, self.even());
        radius.sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}
