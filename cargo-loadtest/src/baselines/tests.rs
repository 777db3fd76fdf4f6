use super::*;
use crate::session::sample;
use crate::store::decode_record;
use loadtest_model::comparison::{ComparisonOutcome, Refusal};
use loadtest_model::definition::Shape;
use loadtest_model::exit_code::ExitCode;
use loadtest_model::record::{
    EndReason, Environment, RunEnd, RunRecord, SCHEMA_VERSION, ScenarioRecord,
};
use serde_json::Value;
use std::io::Read as _;
use std::time::Duration;

const FOREVER: SaveOptions = SaveOptions {
    keep: 5,
    replace: false,
};

/// A scenario of which a run measured so many seconds.
fn scenario(seconds: u32) -> ScenarioRecord {
    let mut start = sample::start();
    if let Shape::Rate {
        duration, ramp_up, ..
    } = &mut start.plan.load.shape
    {
        *ramp_up = Duration::ZERO;
        *duration = Duration::from_secs(seconds.into());
    }
    start.base_url = Some("http://user:pw@127.0.0.1:8080/?key=1".to_owned());
    let mut record = ScenarioRecord::new(start);
    for second in 0..seconds {
        record.absorb(&sample::frame(second, 20));
    }
    let us = u64::from(seconds) * 1_000_000;
    record.finish(RunEnd {
        ending: EndReason::Completed,
        elapsed_us: us,
        planned: u64::from(seconds) * 20,
        steady_us: us,
        complete: true,
        panics: Vec::new(),
        out_of_rows: false,
        target_death: None,
        samples: None,
    });
    record
}

/// The run with the number `number`, one a minute.
fn run(number: u32) -> RunRecord {
    RunRecord {
        schema_version: SCHEMA_VERSION,
        run_id: format!("20261121-14{number:02}05-abcd"),
        tool_version: "0.1.0".to_owned(),
        started_at: format!("2026-11-21T14:{number:02}:05Z"),
        environment: Environment {
            git_commit: Some("1f3a0c22d1".to_owned()),
            os: "linux".to_owned(),
            ..Environment::default()
        },
        scenarios: vec![scenario(60)],
        not_run: Vec::new(),
        capacity: None,
        telemetry: Vec::new(),
    }
}

fn of_version(number: u32, version: &str) -> RunRecord {
    let mut run = run(number);
    run.scenarios[0].start.definition.fingerprint = version.to_owned().into();
    run
}

fn baselines() -> (tempfile::TempDir, Baselines) {
    let folder = tempfile::tempdir().unwrap();
    let baselines = Baselines::from_config(&Config {
        folder: folder.path().to_path_buf(),
        ..Config::default()
    });
    (folder, baselines)
}

fn main(baselines: &Baselines) -> Baseline {
    baselines.new_or_not("main").unwrap()
}

/// Saves the only scenario of a run.
fn saved(
    baseline: &Baseline,
    run: &RunRecord,
    keeping: SaveOptions,
) -> Result<(usize, Vec<String>), String> {
    let mut saved = baseline.save(run, None, keeping).unwrap();
    assert_eq!(saved.len(), 1);
    match saved.remove(0).outcome {
        Ok(place) => Ok((place.runs, place.left)),
        Err(refused) => Err(refused.why),
    }
}

fn ids(baseline: &Baseline) -> Vec<String> {
    let runs = baseline.runs("shop::load::checkout").unwrap();
    runs.into_iter().map(|run| run.record.run_id).collect()
}

#[test]
fn the_newest_runs_of_a_scenario_are_kept_and_read_back() {
    let (folder, baselines) = baselines();
    let baseline = main(&baselines);
    assert!(matches!(
        baselines.open("main"),
        Err(error) if *error.kind() == Kind::UnknownBaseline
    ));
    for number in 0..5 {
        let left = saved(&baseline, &run(number), FOREVER).unwrap();
        assert_eq!(left, (number as usize + 1, vec![]));
    }
    let again = saved(&baseline, &run(4), FOREVER).unwrap();
    assert_eq!(again, (5, vec![]), "the same run is one run");
    let sixth = saved(&baseline, &run(5), FOREVER).unwrap();
    assert_eq!(sixth, (5, vec!["1 run, the oldest,".to_owned()]));
    let expected: Vec<String> = (1..6).map(|number| run(number).run_id).collect();
    assert_eq!(ids(&baselines.open("main").unwrap()), expected);
    let file = ".loadtest/baselines/main/shop.load.checkout/20261121-140505-abcd.json.gz";
    assert!(folder.path().join(file).is_file());
    let older = saved(&baseline, &run(0), FOREVER).unwrap_err();
    assert!(older.contains("newer runs"), "{older}");
    assert_eq!(ids(&baseline), expected, "what is refused changes nothing");
}

#[test]
fn a_run_of_another_version_takes_the_place_of_those_before_and_says_so() {
    let (_folder, baselines) = baselines();
    let baseline = main(&baselines);
    for number in 0..3 {
        saved(&baseline, &run(number), FOREVER).unwrap();
    }
    let (runs, left) = saved(&baseline, &of_version(3, "f9"), FOREVER).unwrap();
    assert_eq!(
        (runs, left),
        (1, vec!["3 runs of an older version".to_owned()])
    );
    let why = saved(&baseline, &run(1), FOREVER).unwrap_err();
    assert!(why.contains("newer runs"), "{why}");
    let replace = SaveOptions {
        replace: true,
        ..FOREVER
    };
    saved(&baseline, &run(1), replace).unwrap();
    assert_eq!(ids(&baseline), [run(1).run_id]);
    let mut elsewhere = run(6);
    elsewhere.scenarios[0].start.base_url = Some("http://127.0.0.1:9090".to_owned());
    let (_, left) = saved(&baseline, &elsewhere, FOREVER).unwrap();
    assert_eq!(left, ["1 run of another target"]);
    let mut more = run(7);
    more.scenarios[0].start.base_url = elsewhere.scenarios[0].start.base_url.clone();
    if let Shape::Rate { per_second, .. } = &mut more.scenarios[0].start.plan.load.shape {
        *per_second = 40.0;
    }
    let (_, left) = saved(&baseline, &more, FOREVER).unwrap();
    assert_eq!(left, ["1 run of another load"]);
}

#[test]
fn what_two_saves_or_two_branches_leave_is_a_baseline() {
    let (_folder, baselines) = baselines();
    let baseline = main(&baselines);
    // As a merge does, or a save that was killed before it removed anything.
    for record in [run(0), of_version(1, "f9"), run(2), of_version(3, "f9")] {
        BaselineRun::from_record(&record, &record.scenarios[0], baseline.folder())
            .unwrap()
            .write()
            .unwrap();
    }
    assert_eq!(ids(&baseline), [run(1).run_id, run(3).run_id]);
    let contents = baseline.contents().unwrap();
    assert_eq!(
        (contents.scenarios[0].len(), contents.outdated.len()),
        (2, 2)
    );
    // What another save removes while this one reads is no error.
    let gone = vec![
        baseline
            .folder()
            .join("shop.load.checkout/20261121-159905-abcd.json.gz"),
    ];
    assert!(read(&gone, "shop::load::checkout").unwrap().is_empty());
    let (runs, left) = saved(&baseline, &of_version(4, "f9"), FOREVER).unwrap();
    assert_eq!(
        (runs, left),
        (3, vec!["2 runs of an older version".to_owned()])
    );
}

#[test]
fn what_cannot_be_compared_is_not_saved() {
    let (folder, baselines) = baselines();
    let baseline = main(&baselines);
    let refused = |change: &dyn Fn(&mut RunRecord)| {
        let mut run = run(0);
        change(&mut run);
        saved(&baseline, &run, FOREVER).unwrap_err()
    };
    for (change, words) in [
        (
            &(|run: &mut RunRecord| run.scenarios[0].end.ending = EndReason::Interrupted)
                as &dyn Fn(&mut RunRecord),
            "it is INTERRUPTED",
        ),
        (
            &|run: &mut RunRecord| run.scenarios[0].start.validity_off = true,
            "its validity was not judged",
        ),
        (
            &|run: &mut RunRecord| run.scenarios[0] = scenario(59),
            "measured 59.0 s after its ramp",
        ),
        (
            &|run: &mut RunRecord| run.scenarios[0] = scenario(0),
            "it is NOTHING MEASURED",
        ),
        (
            &|run: &mut RunRecord| {
                let reason = "blocked".into();
                run.scenarios[0].end.ending = EndReason::Stuck { reason };
            },
            "it is INVALID",
        ),
        (
            &|run: &mut RunRecord| {
                run.capacity = crate::export::sample::search_record("x").capacity;
            },
            "it is a search for the capacity",
        ),
    ] {
        let why = refused(change);
        assert!(why.contains(words), "{why}");
    }
    assert!(
        !folder.path().join(".loadtest").exists(),
        "nothing was written"
    );
}

#[test]
fn a_run_that_failed_its_gate_is_kept_with_a_warning() {
    let (_folder, baselines) = baselines();
    let mut failed = run(0);
    failed.scenarios[0].start.plan.min_grade = Some("A+".parse().unwrap());
    for tally in &mut failed.scenarios[0].windows.steady.steps {
        tally.satisfied = 0;
    }
    let mut saved = main(&baselines).save(&failed, None, FOREVER).unwrap();
    let place = saved.remove(0).outcome.unwrap();
    assert!(
        place.failed[0].contains("A+ or better is required"),
        "{:?}",
        place.failed
    );
}

#[test]
fn the_same_record_is_the_same_bytes() {
    let record = run(0);
    let bytes = || {
        let run = BaselineRun::from_record(&record, &record.scenarios[0], Path::new("x")).unwrap();
        run.bytes().unwrap()
    };
    assert_eq!(bytes(), bytes());
    assert_eq!(bytes()[4..8], [0; 4], "no time is in it");
}

#[test]
fn a_damaged_or_newer_file_is_one_clear_message() {
    let (_folder, baselines) = baselines();
    let baseline = main(&baselines);
    saved(&baseline, &run(0), FOREVER).unwrap();
    let path = baseline.runs("shop::load::checkout").unwrap()[0]
        .path
        .clone();
    let whole = fs::read(&path).unwrap();
    let error = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        baseline.runs("shop::load::checkout").unwrap_err()
    };
    let pack = |json: &str| {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut gz, json.as_bytes()).unwrap();
        gz.finish().unwrap()
    };
    let newer = error(&pack("{\"schema_version\": 99}"));
    assert!(
        newer.to_string().contains("has schema version 99"),
        "{newer}"
    );
    for bytes in [&whole[..whole.len() / 2], b"<<<<<<< ours", b"", &pack("{}")] {
        let error = error(bytes);
        assert!(
            error
                .to_string()
                .contains("a run in a baseline, cannot be read"),
            "{error}"
        );
        assert_eq!(error.exit_code(), ExitCode::Internal);
        assert!(
            error.to_string().contains("20261121-140005-abcd.json.gz"),
            "{error}"
        );
    }
    fs::write(&path, &whole).unwrap();
    let wrong = path.with_file_name("20261121-150005-abcd.json.gz");
    fs::rename(&path, &wrong).unwrap();
    let error = baseline.runs("shop::load::checkout").unwrap_err();
    assert!(error.to_string().contains("it is of the run"), "{error}");
    // Removing asks nothing of it.
    assert_eq!(baseline.remove().unwrap().0, 1);
}

#[test]
fn what_is_no_run_is_left_alone_and_told() {
    let (_folder, baselines) = baselines();
    let baseline = main(&baselines);
    saved(&baseline, &run(0), FOREVER).unwrap();
    let scenario = baseline.folder().join("shop.load.checkout");
    let strange = [
        baseline.folder().join("README.md"),
        scenario.join(".loadtest-1.part"),
    ];
    for path in &strange {
        fs::write(path, "mine").unwrap();
    }
    assert_eq!(baseline.contents().unwrap().strange, strange);
    let replace = SaveOptions {
        replace: true,
        ..FOREVER
    };
    saved(&baseline, &run(1), replace).unwrap();
    let (count, left) = baseline.remove().unwrap();
    assert_eq!((count, &left[..]), (1, &strange[..]));
    assert!(strange.iter().all(|path| path.exists()));
}

#[test]
fn names_that_differ_in_case_alone_are_one() {
    let (_folder, baselines) = baselines();
    saved(&main(&baselines), &run(0), FOREVER).unwrap();
    let error = baselines.new_or_not("Main").unwrap_err();
    assert!(
        error.to_string().contains("is not a valid baseline name"),
        "{error}"
    );
    let error = baselines.open("mian").unwrap_err();
    assert_eq!(error.help().unwrap(), "did you mean `main`?");
    assert_eq!(error.exit_code(), ExitCode::Usage);
}

#[test]
fn a_run_is_compared_with_what_was_saved_and_never_with_itself() {
    let (_folder, baselines) = baselines();
    let baseline = main(&baselines);
    let first = run(0);
    saved(&baseline, &first, FOREVER).unwrap();
    let outcome = |record: &RunRecord| {
        let identity = record.scenarios[0].start.definition.identity();
        let against = Against::read(&baseline, [identity.clone()]).unwrap();
        let mut comparison = against.compare(record);
        comparison.scenarios.remove(&identity).unwrap().outcome
    };
    let ComparisonOutcome::Refused { refusals } = outcome(&first) else {
        panic!("compared with itself");
    };
    assert!(matches!(refusals[..], [Refusal::Same { .. }]));
    let ComparisonOutcome::Compared(comparison) = outcome(&run(1)) else {
        panic!("not compared");
    };
    assert_eq!(comparison.base, std::slice::from_ref(&first.run_id));
    assert_eq!(comparison.regressions().count(), 0);
    let mut slow = run(2);
    for second in 0..60 {
        let mut frame = sample::frame(second, 20);
        frame.windows.steady.journey.time = loadtest_model::metrics::Histogram::default();
        let times = &mut frame.windows.steady.journey.time;
        (0..20).for_each(|_| times.record(Duration::from_millis(60)));
        if second == 0 {
            slow.scenarios[0].cells = loadtest_model::metrics::Cells::default();
        }
        slow.scenarios[0].cells.absorb(&frame, true);
    }
    let ComparisonOutcome::Compared(comparison) = outcome(&slow) else {
        panic!("not compared");
    };
    assert!(comparison.regressions().count() > 0);
    let mut unknown = run(3);
    unknown.scenarios[0].start.definition.function = "other".into();
    assert_eq!(outcome(&unknown), ComparisonOutcome::Absent);
}

/// Appends `canary` to each text of `value` that a record may have there, but for what a baseline is to tell.
fn plant(whole: &mut Value, canary: &str) -> usize {
    const TOLD: [&str; 14] = [
        "/run_id",
        "/tool_version",
        "/started_at",
        "/environment/git_commit",
        "/environment/os",
        "/environment/arch",
        "/scenarios/0/started_at",
        "/scenarios/0/definition/function",
        "/scenarios/0/definition/module",
        "/scenarios/0/definition/package",
        "/scenarios/0/definition/fingerprint",
        "/scenarios/0/definition/version",
        "/name",
        "/fingerprint",
    ];
    fn texts(value: &Value, at: &str, found: &mut Vec<String>) {
        match value {
            Value::String(_) => found.push(at.to_owned()),
            Value::Array(all) => {
                for (i, value) in all.iter().enumerate() {
                    texts(value, &format!("{at}/{i}"), found);
                }
            }
            Value::Object(all) => {
                for (key, value) in all {
                    let key = key.replace('~', "~0").replace('/', "~1");
                    texts(value, &format!("{at}/{key}"), found);
                }
            }
            _ => {}
        }
    }
    let mut places = Vec::new();
    texts(whole, "", &mut places);
    let mut planted = 0;
    for place in places {
        let is_step = place.starts_with("/scenarios/0/definition/steps/");
        let is_told = TOLD[..12].contains(&&*place)
            || (is_step && TOLD[12..].iter().any(|end| place.ends_with(end)));
        if is_told {
            continue;
        }
        let text = whole.pointer(&place).unwrap().as_str().unwrap().to_owned();
        *whole.pointer_mut(&place).unwrap() = Value::String(format!("{text}{canary}"));
        if serde_json::from_value::<RunRecord>(whole.clone()).is_ok() {
            planted += 1;
        } else {
            *whole.pointer_mut(&place).unwrap() = Value::String(text);
        }
    }
    planted
}

#[test]
fn nothing_that_could_be_a_secret_is_kept() {
    let canary = "s3cr3t-canary";
    let mut record = crate::export::sample::search_record("x");
    record.capacity = None;
    let scenario = &mut record.scenarios[0];
    scenario.cells.cells.truncate(12);
    scenario.start.base_url = Some("http://127.0.0.1:8080".to_owned());
    (scenario.start.own_target, scenario.start.target_in_process) = (false, false);
    scenario.end.target_death = Some("died".into());
    scenario.start.definition.description = "About".into();
    let mut value = serde_json::to_value(&record).unwrap();
    value["scenarios"][0]["base_url"] =
        "http://u:s3cr3t-canary@127.0.0.1:8080/?k=s3cr3t-canary#s3cr3t-canary".into();
    let kept_url = value["scenarios"][0]["base_url"].take();
    let planted = plant(&mut value, canary);
    assert!(planted > 60, "{planted} texts of a record");
    value["scenarios"][0]["base_url"] = kept_url;
    let record: RunRecord = serde_json::from_value(value).unwrap();
    let run = BaselineRun::from_record(&record, &record.scenarios[0], Path::new("x")).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(&*run.bytes().unwrap())
        .read_to_string(&mut text)
        .unwrap();
    let at = text.find(canary);
    assert!(
        at.is_none(),
        "{:?}",
        at.map(|at| &text[at.saturating_sub(80)..at + 20])
    );
    assert!(text.contains("\"base_url\":\"http://127.0.0.1:8080\""));
    let read = decode_record(text.as_bytes(), Path::new("x")).unwrap();
    assert_eq!(read, run.record);
}

/// A run of five minutes at 100 journeys a second, whose times are log-normal, as those of targets are.
fn long(steps: usize) -> RunRecord {
    let mut record = run(0);
    let mut long = scenario(60);
    let more = (0..steps).map(|step| loadtest_model::definition::StepDef {
        fingerprint: format!("{step:064x}").into(),
        ..loadtest_model::definition::StepDef::new(format!("step_{step}"))
    });
    long.start.definition.steps = more.collect::<Vec<_>>().into();
    long.start.plan.grading = long
        .start
        .plan
        .grading
        .iter()
        .cycle()
        .take(steps)
        .copied()
        .collect();
    (long.windows, long.cells) = Default::default();
    (long.end.steady_us, long.end.elapsed_us) = (300_000_000, 300_000_000);
    let mut dice = 7_u64;
    let mut even = || {
        dice = dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) as f64 / f64::from(1_u32 << 31)
    };
    for second in 0..300 {
        let mut frame = loadtest_model::metrics::Frame {
            second,
            ..Default::default()
        };
        let mut tally = loadtest_model::metrics::Tally::new(steps);
        for step in &mut tally.steps {
            for _ in 0..100 {
                let normal = (0..12).map(|_| even()).sum::<f64>() - 6.0;
                let time = Duration::from_secs_f64(0.08 * (0.5 * normal).exp());
                step.response.record(time);
                tally.journey.time.record(time);
            }
            (step.executed, step.ok) = (100, 100);
        }
        (tally.journey.started, tally.journey.ok) = (100, 100);
        frame.windows.steady = tally;
        long.absorb(&frame);
    }
    record.scenarios = vec![long];
    record
}

#[test]
fn a_baseline_of_five_minutes_and_ten_steps_is_small() {
    let steps = std::env::var("BASELINE_STEPS").map_or(10, |steps| steps.parse().unwrap());
    let record = long(steps);
    let run = BaselineRun::from_record(&record, &record.scenarios[0], Path::new("x")).unwrap();
    let cells = &run.scenario().cells;
    assert_eq!((cells.width, cells.cells.len()), (10, 30));
    let bytes = run.bytes().unwrap().len();
    let full = serde_json::to_vec(&record).unwrap().len();
    println!("{steps} steps: {bytes} bytes, the record {full}");
    assert!(bytes < steps * 25_000, "{bytes} bytes");
}

#[test]
fn what_is_kept_is_graded_as_the_run_was() {
    let record = run(0);
    let run = BaselineRun::from_record(&record, &record.scenarios[0], Path::new("x")).unwrap();
    assert_eq!(run.scenario().cells.width, 5, "of the shortest run");
    let card = |record: &RunRecord| {
        loadtest_model::card::Report::grade(record, None)
            .cards
            .remove(0)
    };
    let (was, is) = (card(&record), card(&run.record));
    assert_eq!(
        (was.grade.letter, was.verdict),
        (is.grade.letter, is.verdict)
    );
}

#[test]
fn a_file_in_the_place_of_a_baseline_is_told_as_such() {
    let (folder, baselines) = baselines();
    saved(&main(&baselines), &run(0), FOREVER).unwrap();
    let place = folder.path().join(".loadtest/baselines/other");
    fs::write(&place, "mine").unwrap();
    assert_eq!(baselines.names().unwrap(), ["main"]);
    for error in [
        baselines.open("other").unwrap_err(),
        baselines.new_or_not("other").unwrap_err(),
    ] {
        assert!(
            error
                .to_string()
                .contains(&format!("folder of baselines at `{}`", place.display()))
        );
        assert_eq!(error.exit_code(), ExitCode::Usage);
    }
    let all = folder.path().join(".loadtest/baselines");
    fs::remove_dir_all(&all).unwrap();
    fs::write(&all, "mine").unwrap();
    let error = baselines.open("main").unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("baselines`, found something else: move it away")
    );
}

#[test]
fn no_baseline_is_too_strange() {
    let (_folder, baselines) = baselines();
    let baseline = main(&baselines);
    saved(&baseline, &run(0), FOREVER).unwrap();
    let path = baseline.runs("shop::load::checkout").unwrap()[0]
        .path
        .clone();
    let packed = fs::read(&path).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(&*packed)
        .read_to_string(&mut text)
        .unwrap();
    let read = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        match baseline.runs("shop::load::checkout") {
            Ok(runs) => {
                // It is compared with a run that is as it should be.
                let record = run(1);
                let new = BaselineRun::from_record(&record, &record.scenarios[0], Path::new("x"));
                for run in &runs {
                    let _outcome = compared(&[run.side()], &new.as_ref().unwrap().side());
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    };
    loadtest_tests::fuzz::fuzz_bytes([&packed], read);
    loadtest_tests::fuzz::fuzz_texts([text], |text| {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut gz, text.as_bytes()).unwrap();
        read(&gz.finish().unwrap());
    });
}
