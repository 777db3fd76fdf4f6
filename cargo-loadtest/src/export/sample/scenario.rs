//! Scenarios and what invented targets answered them.

use loadtest_model::definition::{
    Bound, Comparator, Load, Metric, Reads, ScenarioDef, Shape, StepDef, Threshold,
};
use loadtest_model::metrics::ErrorKind;
use loadtest_model::metrics::{Cause, RootCause};
use loadtest_model::metrics::{
    DependencyTally, ErrorTally, Frame, Health, JourneyTally, SlowJourney, SlowStep, Tally,
};
use loadtest_model::plan::{GradingDefaults, Overrides, Plan};
use loadtest_model::record::{EndReason, RunEnd, RunStart, ScenarioRecord};
use loadtest_model::redacted::Redacted;
use std::time::Duration;

const RATE: u64 = 200;
pub(super) const RAMP: u64 = 10;

/// A target, in milliseconds and shares of one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    /// Typical response times of the steps.
    pub(super) typical: [f64; 5],
    /// The share of logins that fail.
    pub(super) login_errors: f64,
    /// The share of orders that fail.
    pub(super) order_errors: f64,
}

pub(super) const HEALTHY: Target = Target {
    typical: [24.0, 9.0, 31.0, 58.0, 14.0],
    login_errors: 0.0,
    order_errors: 0.000_5,
};

pub(super) const SICK: Target = Target {
    typical: [31.0, 18.0, 52.0, 218.0, 66.0],
    login_errors: 0.012_5,
    order_errors: 0.016,
};

pub(super) fn checkout(target: Target, seconds: u64, ending: EndReason) -> ScenarioRecord {
    let mut steps = vec![
        step("login", "POST", "/login"),
        step("list_products", "GET", "/products?page={{feed.page}}"),
        step(
            "add_to_cart",
            "POST",
            "/carts/{{login.response.cart.id}}/items",
        ),
        step("create_order", "POST", "/orders"),
        step(
            "get_order",
            "GET",
            "/orders/{{create_order.response.order.id}}",
        ),
    ];
    for (step, line) in steps.iter_mut().zip((16..).step_by(7)) {
        step.line = line;
    }
    steps[2].weight = 0.8;
    steps[3].thresholds = vec![below(Metric::P95, 300)].into();
    let load = Load::new(Shape::Rate {
        per_second: RATE as f64,
        ramp_up: Duration::from_secs(RAMP),
        duration: Duration::from_secs(seconds.max(60)),
    });
    let mut definition = scenario("checkout_flow", steps, Some(load));
    definition.description = "A customer logs in, fills a cart and orders.".into();
    definition.tags = vec!["critical".into()].into();
    definition.thresholds = vec![below(Metric::P95, 1_500), below(Metric::P99, 2_500)].into();
    let mut record = start(definition);
    let mut dice = Dice(42);
    let mut planned = 0;
    for second in 0..seconds {
        let mut tally = Tally::new(5);
        let due = if second < RAMP {
            RATE * (2 * second + 1) / (2 * RAMP)
        } else {
            RATE
        };
        planned += due;
        for _ in 0..due {
            // The target slows down in the last third.
            let slower = 1.0 + 0.5 * (second as f64 / seconds as f64 - 0.66).max(0.0);
            journey(&mut tally, &mut dice, &target, slower);
        }
        let mut frame = Frame {
            second: second as u32,
            active_users: (due as f64 * target.typical.iter().sum::<f64>() / 900.0) as u32,
            health: Health {
                worker_cpu_us: 220_000,
                busiest_worker: 0.18,
                ..Health::default()
            },
            ..Frame::default()
        };
        if second < RAMP {
            frame.windows.ramp = tally;
        } else {
            frame.windows.steady = tally;
        }
        record.absorb(&frame);
    }
    record.finish(RunEnd {
        ending,
        elapsed_us: seconds * 1_000_000 + 312_000 * u64::from(seconds > 0),
        planned,
        steady_us: seconds.saturating_sub(RAMP) * 1_000_000,
        complete: true,
        panics: Vec::new(),
        out_of_rows: false,
        target_death: None,
        samples: None,
    });
    record
}

pub(super) fn ping() -> ScenarioRecord {
    let mut record = start(scenario("ping", vec![step("ping", "GET", "/health")], None));
    let mut dice = Dice(7);
    for second in 0..10 {
        let mut frame = Frame {
            second,
            active_users: 1,
            health: Health {
                busiest_worker: 0.4,
                ..Health::default()
            },
            ..Frame::default()
        };
        let mut tally = Tally::new(1);
        for _ in 0..1_200 {
            let time = dice.time(0.8);
            tally.journey.started += 1;
            let step = &mut tally.steps[0];
            ok(step, time, &mut dice);
            if dice.chance(0.0004) {
                step.ok -= 1;
                step.satisfied -= 1;
                step.failed += 1;
                *step.statuses.get_mut(&200).unwrap() -= 1;
                *step.statuses.entry(503).or_default() += 1;
                step.count_error(error(503, "503 Service Unavailable", None));
                tally.journey.failed += 1;
            } else {
                tally.journey.ok += 1;
                tally.journey.time.record(time);
            }
        }
        frame.windows.steady = tally;
        record.absorb(&frame);
    }
    record.finish(RunEnd {
        ending: EndReason::Completed,
        elapsed_us: 10_001_000,
        planned: 12_000,
        steady_us: 10_000_000,
        complete: true,
        panics: Vec::new(),
        out_of_rows: false,
        target_death: None,
        samples: None,
    });
    record
}

fn journey(tally: &mut Tally, dice: &mut Dice, target: &Target, slower: f64) {
    let mut times = [Duration::ZERO; 5];
    let mut ran = Vec::new();
    let mut clock = Duration::from_micros(90);
    let (mut login, mut order) = (true, true);
    tally.journey.started += 1;
    tally.journey.lateness.record(Duration::from_micros(90));
    for (i, typical) in target.typical.iter().enumerate() {
        let step = &mut tally.steps[i];
        if i == 2 && !dice.chance(0.8) {
            step.not_drawn += 1;
            continue;
        }
        let missing = match i {
            2 | 3 if !login => Some((0, "login.response.token", "`login` failed: status 503")),
            4 if !login => Some((
                3,
                "create_order.response.order.id",
                "`login` failed: status 503",
            )),
            4 if !order => Some((
                3,
                "create_order.response.order.id",
                "`create_order` failed: status 500",
            )),
            _ => None,
        };
        if let Some((upstream, variable, example)) = missing {
            step.skipped += 1;
            tally.count_dependency(DependencyTally {
                step: i,
                variable: Some(variable.to_owned()),
                upstream,
                cause: Cause {
                    root: RootCause::Failed,
                    step: if login { 3 } else { 0 },
                },
                count: 1,
                example: Redacted::assume(example),
            });
            continue;
        }
        let time = dice.time(typical * slower);
        times[i] = time;
        let began = clock;
        clock += time + Duration::from_millis(20);
        let fails = match i {
            0 => dice.chance(target.login_errors),
            3 => dice.chance(target.order_errors),
            _ => false,
        };
        ran.push(SlowStep {
            step: i,
            begin_us: began.as_micros() as u64,
            time_us: time.as_micros() as u64,
            ok: !fails,
        });
        if !fails {
            ok(step, time, dice);
            continue;
        }
        step.executed += 1;
        step.requests += 1;
        step.failed += 1;
        step.failed_response.record(time);
        let (status, message, body) = if i == 0 {
            login = false;
            (
                503,
                "503 Service Unavailable, expected 2xx",
                r#"{"error":"overloaded","retry_after":2}"#,
            )
        } else {
            order = false;
            (
                500,
                "500 Internal Server Error, expected 2xx",
                "could not serialize access due to concurrent update",
            )
        };
        *step.statuses.entry(status).or_default() += 1;
        step.count_error(error(status, message, Some(body)));
    }
    let time = times.iter().sum();
    let executed = times.iter().copied().enumerate();
    tally.journey.record_shares(time, times.len(), executed);
    tally.journey.slowest.add(SlowJourney {
        iteration: tally.journey.started,
        due_us: 1_000_000 + 5_000 * tally.journey.started,
        delay_us: 90,
        time_us: time.as_micros() as u64,
        ok: login && order,
        steps: ran,
        ..SlowJourney::default()
    });
    count_journey(&mut tally.journey, time, login && order);
}

pub(super) fn count_journey(journeys: &mut JourneyTally, time: Duration, is_ok: bool) {
    if is_ok {
        journeys.ok += 1;
        journeys.time.record(time);
    } else {
        journeys.failed += 1;
        journeys.failed_time.record(time);
    }
}

pub(super) fn ok(step: &mut loadtest_model::metrics::StepTally, time: Duration, dice: &mut Dice) {
    step.executed += 1;
    step.requests += 1;
    step.ok += 1;
    step.sent_bytes += 240;
    step.received_bytes += 1_800;
    if time <= Duration::from_millis(500) {
        step.satisfied += 1;
    } else if time <= Duration::from_secs(2) {
        step.tolerating += 1;
    }
    step.response.record(time);
    step.service.record(time);
    if dice.chance(0.004) {
        step.phases.connect.record(time / 20);
        step.connections += 1;
    }
    step.phases.first_byte.record(time.mul_f64(0.91));
    step.phases.body.record(time.mul_f64(0.08));
    *step.statuses.entry(200).or_default() += 1;
}

fn error(status: u16, example: &str, sample: Option<&str>) -> ErrorTally {
    ErrorTally {
        kind: ErrorKind::Status,
        status: Some(status),
        count: 1,
        example: Redacted::assume(example),
        sample: sample.map(Redacted::assume),
        traced: None,
    }
}

pub(super) fn start(definition: ScenarioDef) -> ScenarioRecord {
    let plan = Plan::new(
        &definition,
        &Overrides::default(),
        &GradingDefaults::default(),
        1_729,
    )
    .unwrap();
    ScenarioRecord::new(RunStart {
        definition,
        plan,
        base_url: Some("http://127.0.0.1:8080".to_owned()),
        own_target: true,
        target_in_process: false,
        permits: Vec::new(),
        offline: None,
        validity_off: false,
        executable_hash: "c0ffee5a1e9b3d4a6c7e8f90123f2a1c94b7e0d8865a5c2f1e9b3d4a6c7e8f90"
            .to_owned(),
        workers: 2,
        started_at: "2026-11-05T10:00:00Z".to_owned(),
    })
}

pub(super) fn scenario(name: &'static str, steps: Vec<StepDef>, load: Option<Load>) -> ScenarioDef {
    ScenarioDef {
        package: "shop".into(),
        file: "tests/load.rs".into(),
        line: 12,
        load,
        fingerprint: "9c1d5a20b7e4".into(),
        starts_target: true,
        ..ScenarioDef::new(name, steps)
    }
}

pub(super) fn step(name: &'static str, method: &'static str, url: &'static str) -> StepDef {
    StepDef {
        method: Some(method.into()),
        url: Some(url.into()),
        fingerprint: "5f".into(),
        reads: Reads {
            body: true,
            headers: false,
        },
        ..StepDef::new(name)
    }
}

pub(super) fn below(metric: Metric, ms: u64) -> Threshold {
    Threshold::new(
        metric,
        Comparator::Less,
        Bound::Time(Duration::from_millis(ms)),
    )
}

/// Chance that comes out the same every time.
#[derive(Debug)]
pub(super) struct Dice(pub(super) u64);

impl Dice {
    /// Between 0 and 1.
    fn roll(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(super) fn chance(&mut self, share: f64) -> bool {
        self.roll() < share
    }

    /// A time of about `ms` milliseconds, with the long tail of real ones.
    pub(super) fn time(&mut self, ms: f64) -> Duration {
        let bell = (0..6).map(|_| self.roll()).sum::<f64>() - 3.0;
        Duration::from_secs_f64(ms * (bell * 0.75).exp() / 1e3)
    }
}
