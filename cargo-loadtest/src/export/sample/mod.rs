//! Reports of invented runs, for the tests of the formats.

mod gate;
mod scenario;
mod search;
mod stream;

pub(super) use gate::{absent, compared, graded_too_low, kept, refused, regressed};
use loadtest_model::card::{Correlation, Correlations, Report};
use loadtest_model::comparison::{BaselineComparison, RunComparison};
use loadtest_model::definition::{Comparator, GroupDef, Metric, StepDef, Subject, Threshold};
use loadtest_model::exit_code::ExitCode;
use loadtest_model::metrics::ErrorKind;
use loadtest_model::metrics::{Cell, GroupSample, Panicked};
use loadtest_model::plan::ScopedThreshold;
use loadtest_model::record::{
    AgentRun, EndReason, Environment, NotRun, ObservedFigure, ObservedLimit, ObservedSeries,
    RunRecord, SCHEMA_VERSION, ScenarioRecord, ShardDoubt, ShardRun, Trust,
};
use loadtest_model::redacted::Redacted;
use loadtest_model::shard::Shard;
use scenario::{HEALTHY, SICK, below, checkout, ping};
pub(super) use search::search;
pub(crate) use search::search_record;
use std::sync::LazyLock;
use std::time::Duration;
pub(super) use stream::streamed;

/// A run in which all is well.
pub(super) fn passed() -> Report {
    static MADE: LazyLock<Report> =
        LazyLock::new(|| report(vec![checkout(HEALTHY, 60, EndReason::Completed)]));
    MADE.clone()
}

/// A run with failing steps, dependency failures, a slow step and broken thresholds.
pub(super) fn failed() -> Report {
    static MADE: LazyLock<Report> =
        LazyLock::new(|| report(vec![checkout(SICK, 60, EndReason::Completed)]));
    MADE.clone()
}

/// A run of five minutes and ten steps.
pub(super) fn long() -> Report {
    static MADE: LazyLock<Report> = LazyLock::new(|| {
        let mut record = checkout(SICK, 60, EndReason::Completed);
        let minute = record.cells.cells.clone();
        for begin in [60, 120, 180, 240] {
            let later = minute.iter().cloned().map(|cell| Cell {
                second: cell.second + begin,
                ..cell
            });
            record.cells.cells.extend(later);
        }
        let steps = record.start.definition.steps.to_mut();
        let more: Vec<StepDef> = steps.clone();
        steps.extend(more);
        let grading = record.start.plan.grading.clone();
        record.start.plan.grading.extend(grading);
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
        let mut record = checkout(SICK, 60, EndReason::Completed);
        record.start.definition.name = "Η αγορά · покупка · 購入".into();
        let five: Vec<StepDef> = record.start.definition.steps.to_vec();
        let (policy, cells) = (
            record.start.plan.grading.clone(),
            record.cells.cells.clone(),
        );
        let tallies = record.windows.steady.steps.clone();
        let all = (0..60).map(|i| StepDef {
            name: format!("{}_{}", NAMES[i % NAMES.len()], i + 1).into(),
            ..five[i % 5].clone()
        });
        record.start.definition.steps = all.collect::<Vec<_>>().into();
        record.start.plan.grading = policy.iter().cycle().take(60).copied().collect();
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
        LazyLock::new(|| report(vec![checkout(HEALTHY, 22, EndReason::Interrupted)]));
    MADE.clone()
}

/// A run whose generator was too slow, and had too few users besides.
pub(super) fn invalid() -> Report {
    static MADE: LazyLock<Report> = LazyLock::new(|| {
        let mut record = checkout(HEALTHY, 20, EndReason::Completed);
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
        LazyLock::new(|| report(vec![checkout(HEALTHY, 0, EndReason::Completed)]));
    MADE.clone()
}

/// A test of one request in the closed model.
pub(super) fn single() -> Report {
    static MADE: LazyLock<Report> = LazyLock::new(|| report(vec![ping()]));
    MADE.clone()
}

/// A run during which the target's side was read, and whose limits do not hold.
pub(super) fn observed() -> Report {
    let mut record = ping();
    let seconds = record.cells.cells.len() as u32;
    let limit = |bound| {
        Some(ObservedLimit {
            figure: ObservedFigure::Max,
            comparison: Comparator::Less,
            bound,
            abort_after: None,
        })
    };
    let (own, server) = ("process 4711 (shop)", "http://127.0.0.1:9090");
    for (name, unit, source, base, limit) in [
        ("db cpu", "cores", server, 1.9, limit(2.0)),
        ("db connections", "", server, 40.0, limit(90.0)),
        ("queue", "jobs", server, f64::NAN, limit(100.0)),
        ("target cpu", "cores", own, 0.4, None),
        ("target memory", "bytes", own, 52e6, None),
        ("target threads", "", own, 9.0, None),
    ] {
        let mut series = ObservedSeries {
            name: name.to_owned(),
            unit: unit.to_owned(),
            source: source.into(),
            width: 1,
            points: Vec::new(),
            limit,
            gap: base.is_nan().then(|| "no answer in time".into()),
        };
        for second in 0..seconds {
            series.add(second, base + base * f64::from(second % 7) / 40.0);
        }
        record.observed.push(series);
    }
    let mut report = report(vec![record]);
    report.cards[0].correlations = Some(Correlations {
        figures: vec![Correlation {
            name: "db cpu".to_owned(),
            spearman: 0.914,
            points: 60,
            later_s: 2,
        }],
        not_computed: None,
    });
    report
}

/// A load that two processes made.
pub(super) fn merged() -> Report {
    let mut record = ping();
    let cells = record.cells.cells.len() as u64;
    record.shards = [1, 2]
        .map(|number| ShardRun {
            latest_us: (0..cells)
                .map(|second| Some(90 + second % 7 * 60))
                .collect(),
            ..shard(number, "linux")
        })
        .into();
    record.shards[1].doubts = vec![ShardDoubt {
        trust: Trust::Degraded,
        what: "a worker thread used over 90 % of its core in 12 of 60 seconds, up to 97 %"
            .to_owned(),
        remedy: "use a machine with more processors, a release build, or a lower load".to_owned(),
    }];
    report(vec![record])
}

fn shard(number: u32, os: &str) -> ShardRun {
    ShardRun {
        run_id: format!("20261105-100000-000{number}"),
        shard: Shard::new(number, 2).unwrap(),
        started_at: "2026-11-05T10:00:00Z".to_owned(),
        began_after_us: 0,
        environment: Environment {
            os: os.to_owned(),
            arch: "x86_64".to_owned(),
            cpus: 4,
            ..Environment::default()
        },
        workers: 1,
        planned: 300,
        started: 298,
        dropped: 2,
        doubts: Vec::new(),
        late_p99_us: (number == 1).then_some(180),
        latest_us: Vec::new(),
        busiest_worker: 0.31,
        agent: Some(AgentRun {
            host: format!("load-{number}"),
            clock_offset_us: 1_200 - 1_800 * i64::from(number - 1),
            clock_error_us: 35,
            clock_drift_us: Some(12),
            lost: None,
            not_run: 0,
        }),
    }
}

/// Several scenarios.
pub(super) fn several() -> Report {
    static MADE: LazyLock<Report> = LazyLock::new(|| {
        report(vec![
            checkout(HEALTHY, 60, EndReason::Completed),
            checkout(SICK, 60, EndReason::Completed),
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
        ("merged", merged()),
        ("observed", observed()),
        ("several", several()),
        ("sender", sender()),
        ("own_metrics", own_metrics()),
        ("grouped", grouped()),
        ("streamed", streamed()),
        ("stuck", stuck()),
        ("doomed", doomed()),
        ("partly_run", partly_run()),
        ("nothing_run", nothing_run()),
        ("nothing", report(Vec::new())),
        ("compared", compared()),
        ("kept", kept()),
        ("regressed", regressed()),
        ("refused", refused()),
        ("absent", absent()),
        ("graded_too_low", graded_too_low()),
        ("search", search("journey")),
        ("hostile", hostile(HOSTILE)),
    ]
}

/// Returns the reports with golden files in the formats of text.
pub(super) fn golden() -> Vec<(&'static str, Report)> {
    let others = [
        "long",
        "huge",
        "several",
        "sender",
        "own_metrics",
        "grouped",
        "invalid",
        "stuck",
        "doomed",
        "nothing_run",
        "kept",
    ];
    let all = all().into_iter();
    all.filter(|(name, _)| !others.contains(name)).collect()
}

/// The same text in every place that comes from outside.
pub(super) fn hostile(text: &str) -> Report {
    let mut record = checkout(SICK, 20, EndReason::Completed);
    let text = || text.to_owned();
    record.start.definition.name = text().into();
    record.start.definition.description = text().into();
    record.start.definition.tags = vec![text().into()].into();
    record.start.definition.file = text().into();
    record.start.definition.fingerprint = text().into();
    record.start.definition.version = Some(text().into());
    record.start.base_url = Some(text());
    record.start.executable_hash = text();
    for step in record.start.definition.steps.to_mut() {
        step.name = text().into();
        step.url = Some(text().into());
        step.method = Some(text().into());
    }
    for tally in [&mut record.windows.ramp, &mut record.windows.steady] {
        tally.own.count(&text(), 1);
        tally.own.time(&text(), Duration::from_millis(1));
        for failure in &mut tally.dependencies {
            failure.variable = Some(text());
            failure.example = Redacted::assume(text());
        }
        for step in &mut tally.steps {
            let time = Duration::from_millis(1);
            step.inner(&text()).answered(200, time, || "200 OK".into());
        }
        for error in tally.steps.iter_mut().flat_map(|step| &mut step.errors) {
            error.example = Redacted::assume(text());
            error.sample = Some(Redacted::assume(text()));
        }
    }
    record.end.ending = EndReason::Died {
        reason: Redacted::assume(text()),
    };
    record.end.target_death = Some(Redacted::assume(text()));
    record.shards = vec![ShardRun {
        run_id: text(),
        started_at: text(),
        doubts: vec![ShardDoubt {
            trust: Trust::Degraded,
            what: text(),
            remedy: text(),
        }],
        ..shard(1, &text())
    }];
    record.end.panics = vec![panicked(text())];
    let mut report = report_compared(record, gate::hostile(&text()));
    report.not_run = vec![not_run(text(), text(), Some(text()))];
    report.environment.git_commit = Some(text());
    report.environment.os = text();
    report.run_id = text();
    report
}

/// A run whose last step sends for itself, with limits on its requests and on steps with a tag.
pub(super) fn sender() -> Report {
    let mut record = checkout(HEALTHY, 20, EndReason::Completed);
    let definition = &mut record.start.definition;
    for step in &mut definition.steps.to_mut()[3..] {
        step.tags = vec!["orders".into(), "slow".into()].into();
    }
    let last = definition.steps.to_mut().last_mut();
    let last = last.expect("there are steps");
    (last.sends_itself, last.method, last.url) = (true, None, None);
    for (step, subject, limit) in [
        (None, Subject::Tag("orders".into()), below(Metric::P99, 900)),
        (
            Some(4),
            Subject::Row("GET /orders/{}".into()),
            below(Metric::P95, 150),
        ),
        (
            Some(4),
            Subject::Row("reciept".into()),
            below(Metric::MAX, 150),
        ),
    ] {
        let limit = Threshold { subject, ..limit };
        let scoped = ScopedThreshold::new(definition, step, limit);
        record.start.plan.thresholds.push(scoped);
    }
    let step = &mut record.windows.steady.steps[4];
    for number in 1..=200 {
        let time = Duration::from_millis(number);
        step.inner("GET /orders/{}")
            .answered(200, time, || "200 OK".into());
    }
    let receipt = step.inner("receipt");
    receipt.answered(201, Duration::from_millis(12), || "201 Created".into());
    receipt.answered(404, Duration::from_millis(3), || "404 Not Found".into());
    receipt.unanswered(
        ErrorKind::TimeoutHead,
        None,
        "late".into(),
        Duration::from_secs(2),
    );
    report(vec![record])
}

/// A run whose scenario counts and times by itself.
pub(super) fn own_metrics() -> Report {
    let mut record = ping();
    let own = &mut record.windows.steady.own;
    own.count("sold_out", 1_234);
    for number in 1..=100 {
        own.time("queued", Duration::from_millis(number));
        let number = number as f64;
        own.gauge(
            "queue",
            40.0 - number / 8.0,
            Duration::from_secs_f64(number),
        );
    }
    report(vec![record])
}

/// A run with a group of two steps, whose limits it broke.
pub(super) fn grouped() -> Report {
    let mut record = checkout(SICK, 20, EndReason::Completed);
    let definition = &mut record.start.definition;
    for step in &mut definition.steps.to_mut()[1..3] {
        step.group = Some("look around".into());
    }
    definition.groups = vec![GroupDef {
        name: "look around".into(),
        line: 40,
        description: "".into(),
        thresholds: Vec::new().into(),
    }]
    .into();
    for number in 1..=200 {
        record.windows.steady.group(0).record(GroupSample {
            executed: true,
            failed: number % 20 == 0,
            response: Duration::from_millis(number),
        });
    }
    for threshold in [below(Metric::P95, 100), below(Metric::MAX, 300)] {
        record.start.plan.thresholds.push(ScopedThreshold {
            step: None,
            group: Some(0),
            tagged: Vec::new(),
            threshold,
            implied: false,
        });
    }
    report(vec![record])
}

/// A run in which a step blocked a worker thread.
pub(super) fn stuck() -> Report {
    let reason = "`login` did not return its thread".into();
    report(vec![checkout(HEALTHY, 0, EndReason::Stuck { reason })])
}

/// A run whose target died, while a step panicked and a threshold stricter than the grade broke.
pub(super) fn doomed() -> Report {
    let mut record = ping();
    record.end.target_death = Some("it ended by signal 11".into());
    record.end.panics = vec![panicked("index out of bounds".to_owned())];
    record.start.plan.thresholds.push(ScopedThreshold {
        step: None,
        group: None,
        tagged: Vec::new(),
        threshold: below(Metric::P99, 1),
        implied: false,
    });
    report(vec![record])
}

fn panicked(message: String) -> Panicked {
    Panicked {
        location: "tests/load.rs:31:9".to_owned(),
        message: Redacted::assume(message),
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
        fingerprint: Some("1f3a9c02aa11bb22".to_owned()),
        version: None,
        exit_code: ExitCode::SetupFailed,
        message: Redacted::assume(message),
        help: help.map(Redacted::assume),
    }
}

fn report(scenarios: Vec<ScenarioRecord>) -> Report {
    Report::grade(&run(scenarios), None)
}

fn report_compared(record: ScenarioRecord, comparison: BaselineComparison) -> Report {
    let identity = record.start.definition.identity();
    let record = run(vec![record]);
    let comparison = RunComparison {
        run_id: record.run_id.clone(),
        scenarios: [(identity, comparison)].into(),
    };
    Report::grade(&record, Some(&comparison))
}

fn run(scenarios: Vec<ScenarioRecord>) -> RunRecord {
    RunRecord {
        not_run: Vec::new(),
        capacity: None,
        telemetry: Vec::new(),
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
            started_by: None,
        },
        scenarios,
    }
}
