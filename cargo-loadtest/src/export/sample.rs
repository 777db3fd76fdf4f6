//! Reports of invented runs, for the tests of the formats.

use loadtest::capacity::{Attempt, Goal, Measured, Outcome, Purpose, Search, SearchEnding, Trial};
use loadtest::card::Report;
use loadtest::chain::{Cause, RootCause};
use loadtest::definition::{
    Bound, Comparison, Load, Metric, Reads, ScenarioDef, Shape, StepDef, Threshold,
};
use loadtest::metrics::{
    Cell, DependencyTally, ErrorTally, Frame, Health, Panicked, SlowJourney, SlowStep, Tally,
};
use loadtest::plan::{GradingDefaults, Overrides, Plan, ScopedThreshold};
use loadtest::record::{
    End, Ending, Environment, NotRun, RunRecord, SCHEMA_VERSION, ScenarioRecord, Start,
};
use loadtest::transport::ErrorKind;
use std::sync::LazyLock;
use std::time::Duration;

const RATE: u64 = 200;
const RAMP: u64 = 10;

/// A target, in milliseconds and shares of one.
#[derive(Debug, Clone, Copy)]
struct Target {
    /// Typical response times of the steps.
    typical: [f64; 5],
    /// The share of logins that fail.
    login_errors: f64,
    /// The share of orders that fail.
    order_errors: f64,
}

const HEALTHY: Target = Target {
    typical: [24.0, 9.0, 31.0, 58.0, 14.0],
    login_errors: 0.0,
    order_errors: 0.000_5,
};

const SICK: Target = Target {
    typical: [31.0, 18.0, 52.0, 218.0, 66.0],
    login_errors: 0.012_5,
    order_errors: 0.016,
};

/// A run in which all is well.
pub(super) fn passed() -> Report {
    static MADE: LazyLock<Report> =
        LazyLock::new(|| report(vec![checkout(HEALTHY, 60, Ending::Completed)]));
    MADE.clone()
}

/// A run with failing steps, dependency failures, a slow step and broken thresholds.
pub(super) fn failed() -> Report {
    static MADE: LazyLock<Report> =
        LazyLock::new(|| report(vec![checkout(SICK, 60, Ending::Completed)]));
    MADE.clone()
}

/// A run of five minutes and ten steps.
pub(super) fn long() -> Report {
    static MADE: LazyLock<Report> = LazyLock::new(|| {
        let mut record = checkout(SICK, 60, Ending::Completed);
        let minute = record.cells.cells.clone();
        for begin in [60, 120, 180, 240] {
            let later = minute.iter().cloned().map(|cell| Cell {
                second: cell.second + begin,
                ..cell
            });
            record.cells.cells.extend(later);
        }
        let steps = record.definition.steps.to_mut();
        let more: Vec<StepDef> = steps.clone();
        steps.extend(more);
        let grading = record.plan.grading.clone();
        record.plan.grading.extend(grading);
        let tally = &mut record.windows.steady;
        let more = tally.steps.clone();
        tally.steps.extend(more);
        report(vec![record])
    });
    MADE.clone()
}

/// A run of sixty steps whose names are long and in several scripts.
pub(super) fn huge() -> Report {
    static MADE: LazyLock<Report> = LazyLock::new(|| {
        const NAMES: [&str; 6] = [
            "list_every_product_of_the_catalogue_with_all_of_its_variants",
            "Привет_мир_оформление_заказа_с_доставкой",
            "注文を作成して確認メールを送る",
            "δημιουργία_παραγγελίας_με_πληρωμή",
            "إنشاء_طلب_جديد",
            "größenänderung_für_straßen_🚀_≥_5",
        ];
        let mut record = checkout(SICK, 60, Ending::Completed);
        record.definition.name = "Η αγορά · покупка · 購入".into();
        let five: Vec<StepDef> = record.definition.steps.to_vec();
        let (policy, cells) = (record.plan.grading.clone(), record.cells.cells.clone());
        let tallies = record.windows.steady.steps.clone();
        let all = (0..60).map(|i| StepDef {
            name: format!("{}_{}", NAMES[i % NAMES.len()], i + 1).into(),
            ..five[i % 5].clone()
        });
        record.definition.steps = all.collect::<Vec<_>>().into();
        record.plan.grading = policy.iter().cycle().take(60).copied().collect();
        record.windows.steady.steps = tallies.iter().cycle().take(60).cloned().collect();
        for (cell, five) in record.cells.cells.iter_mut().zip(&cells) {
            cell.steps = five.steps.iter().cycle().take(60).cloned().collect();
        }
        report(vec![record])
    });
    MADE.clone()
}

/// A run that was stopped.
pub(super) fn interrupted() -> Report {
    static MADE: LazyLock<Report> =
        LazyLock::new(|| report(vec![checkout(HEALTHY, 22, Ending::Interrupted)]));
    MADE.clone()
}

/// A run whose generator was too slow, and had too few users besides.
pub(super) fn invalid() -> Report {
    static MADE: LazyLock<Report> = LazyLock::new(|| {
        let mut record = checkout(HEALTHY, 20, Ending::Completed);
        let journey = &mut record.windows.steady.journey;
        journey.lateness.record_n(Duration::from_millis(48), 300);
        journey.waits.record_n(Duration::from_millis(210), 35);
        report(vec![record])
    });
    MADE.clone()
}

/// A run in which nothing started.
pub(super) fn empty() -> Report {
    static MADE: LazyLock<Report> =
        LazyLock::new(|| report(vec![checkout(HEALTHY, 0, Ending::Completed)]));
    MADE.clone()
}

/// A test of one request in the closed model.
pub(super) fn single() -> Report {
    static MADE: LazyLock<Report> = LazyLock::new(|| report(vec![ping()]));
    MADE.clone()
}

/// Several scenarios.
pub(super) fn several() -> Report {
    static MADE: LazyLock<Report> = LazyLock::new(|| {
        report(vec![
            checkout(HEALTHY, 60, Ending::Completed),
            checkout(SICK, 60, Ending::Completed),
            ping(),
        ])
    });
    MADE.clone()
}

/// A text that means something to every format there is.
pub(super) const HOSTILE: &str = "=1+1|`a`\\|`<b>\u{202e}@team #1 ![x](http://evil.test)</script>]]>\"'&\u{1b}[31m\u{ffff}\nTOTAL{{x}}";

/// Every report there is, by name.
pub(super) fn all() -> Vec<(&'static str, Report)> {
    static MADE: LazyLock<Vec<(&'static str, Report)>> = LazyLock::new(make_all);
    MADE.clone()
}

fn make_all() -> Vec<(&'static str, Report)> {
    vec![
        ("passed", passed()),
        ("failed", failed()),
        ("long", long()),
        ("huge", huge()),
        ("interrupted", interrupted()),
        ("invalid", invalid()),
        ("empty", empty()),
        ("single", single()),
        ("several", several()),
        ("sender", sender()),
        ("own_metrics", own_metrics()),
        ("stuck", stuck()),
        ("doomed", doomed()),
        ("partly_run", partly_run()),
        ("nothing_run", nothing_run()),
        ("nothing", report(Vec::new())),
        ("search", search("journey")),
        ("hostile", hostile(HOSTILE)),
    ]
}

/// Those that are kept as golden files in the formats of text.
pub(super) fn golden() -> Vec<(&'static str, Report)> {
    let others = [
        "long",
        "huge",
        "several",
        "sender",
        "own_metrics",
        "invalid",
        "stuck",
        "doomed",
        "nothing_run",
    ];
    let all = all().into_iter();
    all.filter(|(name, _)| !others.contains(name)).collect()
}

/// The same text in every place that comes from outside.
pub(super) fn hostile(text: &str) -> Report {
    let mut record = checkout(SICK, 20, Ending::Completed);
    let text = || text.to_owned();
    record.definition.name = text().into();
    record.definition.description = text().into();
    record.definition.tags = vec![text().into()].into();
    record.definition.file = text().into();
    record.definition.fingerprint = text().into();
    record.definition.version = Some(text().into());
    record.base_url = Some(text());
    record.executable_hash = text();
    for step in record.definition.steps.to_mut() {
        step.name = text().into();
        step.url = Some(text().into());
        step.method = Some(text().into());
    }
    for tally in [&mut record.windows.ramp, &mut record.windows.steady] {
        tally.own.count(&text(), 1);
        tally.own.time(&text(), Duration::from_millis(1));
        for failure in &mut tally.dependencies {
            failure.variable = Some(text());
            failure.example = text();
        }
        for step in &mut tally.steps {
            let time = Duration::from_millis(1);
            step.inner(&text()).answered(200, time);
        }
        for error in tally.steps.iter_mut().flat_map(|step| &mut step.errors) {
            error.example = text();
            error.sample = Some(text());
        }
    }
    record.ending = Ending::Died { reason: text() };
    record.target_death = Some(text());
    record.panics = vec![panicked(text())];
    let mut report = report(vec![record]);
    report.not_run = vec![not_run(text(), text(), Some(text()))];
    report.environment.git_commit = Some(text());
    report.environment.os = text();
    report.run_id = text();
    report
}

/// A run whose last step sends for itself.
pub(super) fn sender() -> Report {
    let mut record = checkout(HEALTHY, 20, Ending::Completed);
    let last = record.definition.steps.to_mut().last_mut();
    let last = last.expect("there are steps");
    (last.sends_itself, last.method, last.url) = (true, None, None);
    let step = &mut record.windows.steady.steps[4];
    for number in 1..=200 {
        let time = Duration::from_millis(number);
        step.inner("GET /orders/{}").answered(200, time);
    }
    let receipt = step.inner("receipt");
    receipt.answered(201, Duration::from_millis(12));
    receipt.answered(404, Duration::from_millis(3));
    receipt.unanswered(ErrorKind::TimeoutHead, "late", Duration::from_secs(2));
    report(vec![record])
}

/// A run whose scenario counts and times by itself.
pub(super) fn own_metrics() -> Report {
    let mut record = ping();
    let own = &mut record.windows.steady.own;
    own.count("sold_out", 1_234);
    for number in 1..=100 {
        own.time("queued", Duration::from_millis(number));
    }
    report(vec![record])
}

/// A run in which a step blocked a worker thread.
pub(super) fn stuck() -> Report {
    let reason = "`login` did not give its thread back".to_owned();
    report(vec![checkout(HEALTHY, 0, Ending::Stuck { reason })])
}

/// A run whose target died, while a step panicked and a threshold stricter than the grade broke.
pub(super) fn doomed() -> Report {
    let mut record = ping();
    record.target_death = Some("it ended by signal 11".to_owned());
    record.panics = vec![panicked("index out of bounds".to_owned())];
    record.plan.thresholds.push(ScopedThreshold {
        step: None,
        threshold: below(Metric::P99, 1),
        implied: false,
    });
    report(vec![record])
}

fn panicked(message: String) -> Panicked {
    Panicked {
        location: "tests/load.rs:31:9".to_owned(),
        message,
        count: 3,
    }
}

/// A run in which one scenario ran and another one did not.
pub(super) fn partly_run() -> Report {
    let mut report = single();
    report.not_run = nothing_run().not_run;
    report
}

/// A run in which no scenario ran.
pub(super) fn nothing_run() -> Report {
    let mut report = report(Vec::new());
    report.not_run = vec![not_run(
        "shop::load::pay".to_owned(),
        "setup failed: `SHOP_TOKEN` is not set".to_owned(),
        Some("export `SHOP_TOKEN`, or give `--env SHOP_TOKEN=..`".to_owned()),
    )];
    report
}

fn not_run(scenario: String, message: String, help: Option<String>) -> NotRun {
    NotRun {
        scenario,
        exit_code: 100,
        message,
        help,
    }
}

/// A search that found the capacity, whose scenario and reasons say `text`.
pub(super) fn search(text: &str) -> Report {
    Report::grade(&search_record(text))
}

/// Its record.
pub(crate) fn search_record(text: &str) -> RunRecord {
    let threshold = |metric, bound| Threshold::new(metric, Comparison::Less, bound);
    let scoped = |step, threshold| ScopedThreshold {
        step,
        threshold,
        implied: false,
    };
    let goal = Goal {
        slo: vec![
            scoped(
                None,
                threshold(Metric::P95, Bound::Time(Duration::from_millis(300))),
            ),
            scoped(None, threshold(Metric::Errors, Bound::Ratio(0.01))),
            scoped(
                Some(0),
                threshold(Metric::P99, Bound::Time(Duration::from_millis(200))),
            ),
        ],
        from_per_second: 640.0,
        max_per_second: 1e6,
        min_per_second: None,
        tolerance: 0.05,
        window: Duration::from_secs(10),
        confirm: Duration::from_secs(60),
        ramp_up: Duration::from_secs(2),
        rest: Duration::from_secs(2),
        max_users: None,
    };
    let mut record = checkout(HEALTHY, 60, Ending::Completed);
    record.definition.function = text.to_owned().into();
    let mut search = Search::new(&record.definition, goal);
    search.ending = Some(SearchEnding::Completed);
    for (per_second, purpose, outcome) in [
        (640.0, Purpose::Search, Outcome::Met),
        (1_280.0, Purpose::Search, Outcome::Met),
        (2_560.0, Purpose::Search, Outcome::Missed),
        (1_340.0, Purpose::Search, Outcome::GeneratorLimited),
        (1_280.0, Purpose::Confirmation, Outcome::Met),
    ] {
        let is_met = outcome == Outcome::Met;
        let measured = |actual: f64, words: &str, held| Measured {
            actual: Some(actual),
            words: words.to_owned(),
            held,
        };
        let p95 = if is_met { 212 } else { 1_412 };
        search.trials.push(Trial {
            attempt: Attempt {
                per_second,
                purpose,
                outcome,
            },
            window: search.goal.window_of(purpose),
            achieved_per_second: Some(per_second),
            p95: Some(Duration::from_millis(p95)),
            error_rate: Some(0.000_4),
            slo: vec![
                measured(p95 as f64 * 1e3, "1.4 s", is_met),
                measured(0.000_4, "0.04 %", true),
                measured(183e3, "183 ms", true),
            ],
            reasons: if is_met {
                Vec::new()
            } else {
                vec![format!("p95 of the journey: 1.4 s, {text}")]
            },
            help: (outcome == Outcome::GeneratorLimited).then(|| text.to_owned()),
        });
    }
    let mut run = run(vec![record]);
    run.capacity = Some(search);
    run
}

fn report(scenarios: Vec<ScenarioRecord>) -> Report {
    Report::grade(&run(scenarios))
}

fn run(scenarios: Vec<ScenarioRecord>) -> RunRecord {
    RunRecord {
        not_run: Vec::new(),
        capacity: None,
        schema_version: SCHEMA_VERSION,
        run_id: "20261105-100000-4f2a".to_owned(),
        tool_version: "0.1.0".to_owned(),
        started_at: "2026-11-05T10:00:00Z".to_owned(),
        environment: Environment {
            git_commit: Some("3f2a1c94b7e0d8865a5c2f1e9b3d4a6c7e8f9012".to_owned()),
            git_dirty: Some(true),
            os: "linux".to_owned(),
            arch: "x86_64".to_owned(),
            cpus: 8,
        },
        scenarios,
    }
}

fn checkout(target: Target, seconds: u64, ending: Ending) -> ScenarioRecord {
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
    record.end(End {
        ending,
        elapsed_us: seconds * 1_000_000 + 312_000 * u64::from(seconds > 0),
        planned,
        steady_us: seconds.saturating_sub(RAMP) * 1_000_000,
        complete: true,
        panics: Vec::new(),
        out_of_rows: false,
        target_death: None,
    });
    record
}

fn ping() -> ScenarioRecord {
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
    record.end(End {
        ending: Ending::Completed,
        elapsed_us: 10_001_000,
        planned: 12_000,
        steady_us: 10_000_000,
        complete: true,
        panics: Vec::new(),
        out_of_rows: false,
        target_death: None,
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
                example: example.to_owned(),
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
    });
    if login && order {
        tally.journey.ok += 1;
        tally.journey.time.record(time);
    } else {
        tally.journey.failed += 1;
        tally.journey.failed_time.record(time);
    }
}

fn ok(step: &mut loadtest::metrics::StepTally, time: Duration, dice: &mut Dice) {
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
        example: example.to_owned(),
        sample: sample.map(str::to_owned),
    }
}

fn start(definition: ScenarioDef) -> ScenarioRecord {
    let plan = Plan::new(
        &definition,
        &Overrides::default(),
        &GradingDefaults::default(),
        1_729,
    )
    .unwrap();
    ScenarioRecord::new(Start {
        definition,
        plan,
        base_url: Some("http://127.0.0.1:8080".to_owned()),
        own_target: true,
        target_in_process: false,
        permits: Vec::new(),
        executable_hash: "c0ffee5a1e9b3d4a6c7e8f90123f2a1c94b7e0d8865a5c2f1e9b3d4a6c7e8f90"
            .to_owned(),
        workers: 2,
        started_at: "2026-11-05T10:00:00Z".to_owned(),
    })
}

fn scenario(name: &'static str, steps: Vec<StepDef>, load: Option<Load>) -> ScenarioDef {
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

fn step(name: &'static str, method: &'static str, url: &'static str) -> StepDef {
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

fn below(metric: Metric, ms: u64) -> Threshold {
    Threshold::new(
        metric,
        Comparison::Less,
        Bound::Time(Duration::from_millis(ms)),
    )
}

/// Chance that comes out the same every time.
#[derive(Debug)]
struct Dice(u64);

impl Dice {
    /// Between 0 and 1.
    fn roll(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn chance(&mut self, share: f64) -> bool {
        self.roll() < share
    }

    /// A time of about `ms` milliseconds, with the long tail of real ones.
    fn time(&mut self, ms: f64) -> Duration {
        let bell = (0..6).map(|_| self.roll()).sum::<f64>() - 3.0;
        Duration::from_secs_f64(ms * (bell * 0.75).exp() / 1e3)
    }
}
