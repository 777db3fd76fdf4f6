//! How often a comparison is wrong: invented pairs of runs, of which one knows whether they differ.
//!
//! `cargo bench -p loadtest --bench regression [-- PAIRS]`: 200 pairs a row.
//!
//! Runs of five minutes at 100 requests a second. Times are log-normal (sigma 0.5); the state of the target
//! drifts from second to second (AR(1), phi 0.9, standard deviation 10 %), and from run to run (3 %).

use loadtest::card::Trust;
use loadtest::comparison::{Change, Comparison, Figure, Side};
use loadtest::definition::{Load, ScenarioDef, Shape, StepDef};
use loadtest::metrics::{Frame, Tally};
use loadtest::plan::{GradingDefaults, Overrides, Plan};
use loadtest::record::{End, Ending, Environment, ScenarioRecord, Start};
use std::time::Duration;

const SECONDS: u32 = 300;
const RATE: u64 = 100;

/// What is invented.
#[derive(Clone, Copy)]
struct System {
    seconds: u32,
    rate: u64,
    /// How much the state of a second keeps of that of the one before.
    phi: f64,
    /// The standard deviation from run to run.
    run: f64,
    /// How much slower than it was.
    slower: f64,
}

const USUAL: System = System {
    seconds: SECONDS,
    rate: RATE,
    phi: 0.9,
    run: 0.03,
    slower: 1.0,
};

fn main() {
    let pairs = std::env::args()
        .skip(1)
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(200);
    println!("share of {pairs} comparisons in which p95 was found to be");
    println!(
        "{:44} {:>9} {:>9} {:>9} {:>12}",
        "", "regressed", "improved", "unchanged", "inconclusive"
    );
    let mut dice = Dice(20_261_105);
    for (name, system, runs) in [
        (
            "unchanged, no difference from run to run",
            System { run: 0.0, ..USUAL },
            1,
        ),
        ("unchanged, 3 % from run to run", USUAL, 1),
        (
            "unchanged, 5 % from run to run",
            System { run: 0.05, ..USUAL },
            1,
        ),
        (
            "unchanged, slow drift (phi 0.97)",
            System { phi: 0.97, ..USUAL },
            1,
        ),
        (
            "unchanged, a minute",
            System {
                seconds: 60,
                ..USUAL
            },
            1,
        ),
        (
            "10 % slower",
            System {
                slower: 1.1,
                ..USUAL
            },
            1,
        ),
        (
            "20 % slower",
            System {
                slower: 1.2,
                ..USUAL
            },
            1,
        ),
        (
            "30 % slower",
            System {
                slower: 1.3,
                ..USUAL
            },
            1,
        ),
        ("unchanged, three runs as baseline", USUAL, 3),
        (
            "10 % slower, three runs as baseline",
            System {
                slower: 1.1,
                ..USUAL
            },
            3,
        ),
        (
            "20 % slower, three runs as baseline",
            System {
                slower: 1.2,
                ..USUAL
            },
            3,
        ),
        ("unchanged, five runs as baseline", USUAL, 5),
        (
            "20 % slower, five runs as baseline",
            System {
                slower: 1.2,
                ..USUAL
            },
            5,
        ),
    ] {
        let mut found = [0_u32; 4];
        for pair in 0..pairs {
            let usual = System {
                slower: 1.0,
                ..system
            };
            let mut all: Vec<ScenarioRecord> = (0..runs).map(|_| run(usual, &mut dice)).collect();
            all.push(run(system, &mut dice));
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
            let compared = Comparison::of(base, new).expect("they can be compared");
            let step = &compared.subjects[1].figures;
            let p95 = step.iter().find(|compared| compared.figure == Figure::P95);
            let place = match p95.expect("there are times").verdict {
                Change::Regressed => 0,
                Change::Improved => 1,
                Change::Unchanged => 2,
                Change::Inconclusive => 3,
            };
            found[place] += 1;
        }
        let share = found.map(|count| format!("{:.1} %", f64::from(count) * 100.0 / pairs as f64));
        println!(
            "{name:44} {:>9} {:>9} {:>9} {:>12}",
            share[0], share[1], share[2], share[3]
        );
    }
}

fn run(system: System, dice: &mut Dice) -> ScenarioRecord {
    let mut definition = ScenarioDef::new("run", vec![StepDef::new("ask")]);
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
    let mut record = ScenarioRecord::new(Start {
        definition,
        plan,
        base_url: None,
        own_target: false,
        target_in_process: false,
        permits: Vec::new(),
        executable_hash: String::new(),
        workers: 1,
        started_at: String::new(),
    });
    let typical = 0.080 * system.slower * (system.run * dice.normal()).exp();
    let mut state = 0.1 * dice.normal();
    for second in 0..system.seconds {
        state = system.phi * state + 0.1 * (1.0 - system.phi.powi(2)).sqrt() * dice.normal();
        let mut tally = Tally::new(1);
        for _ in 0..system.rate {
            let time = Duration::from_secs_f64(typical * (state + 0.5 * dice.normal()).exp());
            tally.journey.started += 1;
            tally.journey.ok += 1;
            tally.journey.time.record(time);
            tally.steps[0].executed += 1;
            tally.steps[0].ok += 1;
            tally.steps[0].response.record(time);
        }
        let mut frame = Frame {
            second,
            ..Frame::default()
        };
        frame.windows.steady = tally;
        record.absorb(&frame);
    }
    record.end(End {
        ending: Ending::Completed,
        elapsed_us: u64::from(system.seconds) * 1_000_000,
        planned: u64::from(system.seconds) * system.rate,
        steady_us: u64::from(system.seconds) * 1_000_000,
        complete: true,
        panics: Vec::new(),
        out_of_rows: false,
        target_death: None,
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
