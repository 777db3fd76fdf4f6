//! Whether the measurement can be trusted.

use super::*;
use crate::exit_code::ExitCode;
use crate::record::{Environment, ShardDoubt, ShardRun};
use crate::shard::Shard;

/// The validity of a run of so many seconds, of which some had this much trouble.
fn troubled(seconds: u32, troubled: u32, trouble: &Health) -> Validity {
    let mut record = record(&["login"]);
    record.cells.cells = (0..seconds)
        .map(|second| Cell {
            second,
            seconds: 1,
            health: if second < troubled {
                trouble.clone()
            } else {
                Health::default()
            },
            ..Cell::default()
        })
        .collect();
    Card::grade(&record, None).validity
}

#[test]
fn more_than_a_hundredth_of_stalled_seconds_is_invalid() {
    let stall = Health {
        stalled_seconds: 1,
        longest_stall_us: 1_200_000,
        ..Health::default()
    };
    let with = |seconds, stalled| troubled(seconds, stalled, &stall).trust;
    assert_eq!((with(200, 2), with(200, 3)), (Trust::Valid, Trust::Invalid));
    assert_eq!((with(10, 0), with(10, 2)), (Trust::Valid, Trust::Invalid));
    // A single one is chance, but told.
    assert_eq!((with(10, 1), with(100, 1)), (Trust::Degraded, Trust::Valid));
    let cause = &troubled(10, 3, &stall).causes[0];
    assert_eq!(
        cause.what,
        "a worker thread stalled in 3 of 10 seconds: it did not return for 100 ms or longer, up to 1.20 s"
    );
    assert!(cause.remedy.contains("must not block"));
    let kept = Health {
        kept_by: Some(0),
        ..stall
    };
    let cause = &troubled(10, 3, &kept).causes[0];
    assert!(
        cause
            .what
            .ends_with("up to 1.20 s; the code of `login` blocked it"),
        "{cause:?}"
    );
}

#[test]
fn stalls_of_the_warm_up_are_discarded_with_it() {
    let mut record = record(&["login"]);
    record.start.plan.load.warm_up = Duration::from_secs(3);
    record.cells.cells = (0..6)
        .map(|second| Cell {
            second,
            seconds: 1,
            health: Health {
                stalled_seconds: u32::from(second < 3),
                throttled_us: if second < 3 { 7_000 } else { 0 },
                busiest_worker: if second < 3 { 1.0 } else { 0.1 },
                ..Health::default()
            },
            ..Cell::default()
        })
        .collect();
    let card = Card::grade(&record, None);
    assert_eq!(card.validity.trust, Trust::Valid);
    assert_eq!(
        (card.generator.seconds, card.generator.stalled_seconds),
        (3, 0)
    );
}

#[test]
fn a_throttled_generator_is_degraded() {
    let throttled = Health {
        throttled_us: 206_000,
        ..Health::default()
    };
    let validity = troubled(60, 2, &throttled);
    assert_eq!(validity.trust, Trust::Degraded);
    assert_eq!(
        validity.causes[0].what,
        "the system throttled the generator for 412 ms in 60 seconds: its control group had used up its \
         quota of processor time"
    );
    assert!(validity.causes[0].remedy.contains("limit of the container"));
}

#[test]
fn time_that_the_host_gives_to_others_degrades_where_it_is_much() {
    let with = |stolen, seconds| {
        let stolen = Health {
            stolen,
            ..Health::default()
        };
        troubled(20, seconds, &stolen)
    };
    assert_eq!(with(0.09, 20).trust, Trust::Valid);
    assert_eq!(with(0.34, 1).trust, Trust::Valid);
    let validity = with(0.34, 2);
    assert_eq!(validity.trust, Trust::Degraded);
    assert!(
        validity.causes[0]
            .what
            .ends_with("in 2 of 20 seconds, up to 34 %"),
        "{validity:?}"
    );
}

#[test]
fn the_generator_is_told_in_a_line() {
    let mut record = record(&["login"]);
    assert_eq!(
        Card::grade(&record, None).generator.describe(),
        "busiest worker 0 %, no stall, not throttled"
    );
    record.windows.steady.journey.lateness.record_n(ms(2), 100);
    record.windows.steady.journey.waits.record(ms(40));
    record.cells.cells.push(Cell {
        second: 0,
        seconds: 4,
        health: Health {
            worker_cpu_us: 1,
            busiest_worker: 0.42,
            stalled_seconds: 1,
            longest_stall_us: 150_000,
            kept_by: None,
            throttled_us: 31_000,
            stolen: 0.2,
            memory_bytes: 0,
        },
        ..Cell::default()
    });
    assert_eq!(
        Card::grade(&record, None).generator.describe(),
        "p99 of start lateness 2.00 ms, busiest worker 42 %, stalled in 1 of 4 seconds, throttled for \
         31.0 ms, up to 20 % stolen by the host, 1 arrival waited"
    );
}

#[test]
fn lateness_is_invalid_only_where_it_matters_to_the_journey() {
    let with = |late: u64, journey: u64| {
        let mut record = record(&["login"]);
        let tally = &mut record.windows.steady.journey;
        tally.lateness.record_n(ms(late), 1_000);
        tally.time = Histogram::default();
        tally.time.record_n(ms(journey), 1_000);
        Card::grade(&record, None).validity
    };
    assert_eq!(with(1, 10).trust, Trust::Valid);
    assert_eq!(with(5, 10).trust, Trust::Degraded);
    assert_eq!(with(12, 1_000).trust, Trust::Degraded);
    assert_eq!(with(12, 100).trust, Trust::Invalid);
    assert!(
        with(12, 100)
            .causes
            .iter()
            .all(|cause| !cause.remedy.is_empty())
    );
}

#[test]
fn a_switched_off_validity_judges_no_machine_and_says_so() {
    let mut record = record(&["login"]);
    let lateness = &mut record.windows.steady.journey.lateness;
    lateness.record_n(ms(48), 1_000);
    assert_eq!(Card::grade(&record, None).verdict, Verdict::Invalid);
    record.start.validity_off = true;
    let card = Card::grade(&record, None);
    assert_eq!(card.verdict, Verdict::Passed);
    assert_eq!(card.validity.trust, Trust::Degraded);
    assert_eq!(
        card.validity.causes[0].what,
        "validity was not judged, because `LOADTEST_VALIDITY` was `off`"
    );
    fail(&mut record, 0, ErrorKind::LocalFds, 2);
    assert_eq!(Card::grade(&record, None).verdict, Verdict::Invalid);
}

#[test]
fn one_late_start_of_few_is_chance() {
    let with = |count: u64| {
        let mut record = record(&["login"]);
        let lateness = &mut record.windows.steady.journey.lateness;
        lateness.record_n(Duration::from_micros(90), 80 - count);
        lateness.record_n(ms(48), count);
        Card::grade(&record, None).validity
    };
    assert_eq!(with(1).trust, Trust::Valid);
    let two = with(2);
    assert_eq!(two.trust, Trust::Invalid);
    assert_eq!(
        two.causes[0].what,
        "the generator fell behind: 2 of 80 iterations started over 10 ms late (latest \
         48.0 ms; the median journey takes 10.0 ms)"
    );
}

#[test]
fn percentiles_that_the_generator_made_are_named_and_a_limit_on_them_is_no_verdict() {
    // Half a second of a long run in which the generator stood still.
    let mut record = record(&["login"]);
    let steady = &mut record.windows.steady;
    let mut times = Histogram::default();
    times.record_n(ms(5), 59_800);
    let mut lateness = Histogram::default();
    lateness.record_n(Duration::from_micros(90), 59_800);
    for number in 1..=200 {
        times.record(ms(5) + ms(5) * number / 2);
        lateness.record(ms(5) * number / 2);
    }
    steady.journey.started = 60_000;
    steady.journey.ok = 60_000;
    steady.steps[0].executed = 60_000;
    steady.steps[0].ok = 60_000;
    steady.steps[0].requests = 60_000;
    steady.steps[0].satisfied = 60_000;
    steady.steps[0].response = times.clone();
    steady.journey.time = times;
    steady.journey.lateness = lateness;
    record.end.planned = 60_000;
    let validity = Card::grade(&record, None).validity;
    assert_eq!(validity.trust, Trust::Degraded);
    assert_eq!(
        validity.causes[0].what,
        "the generator made the p99.9 of 355 ms and the maximum of 505 ms: 196 of 60\u{202f}000 iterations started over 10 ms \
         late, by up to 500 ms"
    );
    let limit = |record: &mut ScenarioRecord, metric: &str, bound| {
        require(record, None, metric.parse().unwrap(), Bound::Time(bound));
    };
    limit(&mut record, "p99_9", ms(100));
    limit(&mut record, "p99", ms(100));
    let card = Card::grade(&record, None);
    assert_eq!(
        (card.verdict, card.verdict.exit_code()),
        (Verdict::Invalid, ExitCode::Invalid)
    );
    assert_eq!(
        words(&card),
        [
            "p99_9 of `login`: 355 ms, and must be < 100 ms; the generator added up to 350 ms, so this is not a verdict on the \
          target"
        ]
    );
    // What would be broken without it too is the target's doing, and decides.
    limit(&mut record, "p99_9", ms(4));
    let card = Card::grade(&record, None);
    assert_eq!(card.verdict, Verdict::Failed);
    // A limit that holds all the same is one.
    let mut record = record.clone();
    record.start.plan.thresholds.truncate(1);
    limit(&mut record, "max", ms(600));
    assert_eq!(Card::grade(&record, None).verdict, Verdict::Passed);
}

#[test]
fn a_limit_on_too_few_times_is_told() {
    let mut record = record(&["login"]);
    let step = &mut record.windows.steady.steps[0];
    step.response = Histogram::default();
    step.response.record_n(ms(10), 99);
    require(
        &mut record,
        None,
        "p99_9".parse().unwrap(),
        Bound::Time(ms(100)),
    );
    require(
        &mut record,
        Some(0),
        "p99".parse().unwrap(),
        Bound::Time(ms(100)),
    );
    require(
        &mut record,
        Some(0),
        "p95".parse().unwrap(),
        Bound::Time(ms(100)),
    );
    let few = "`p99_9 < 100 ms` is on 99 times, `p99 < 100 ms` is on 99 times: so few have no such percentile, and the \
               limit is on the longest";
    let remarks = |record: &ScenarioRecord| Card::grade(record, None).remarks.pop().unwrap();
    assert_eq!(remarks(&record), few);
    record.windows.steady.steps[0].response.record(ms(10));
    let few = few.replace("99 times", "100 times");
    let few = few.replace(", `p99 < 100 ms` is on 100 times", "");
    assert_eq!(remarks(&record), few);
}

#[test]
fn a_blocked_worker_is_invalid_and_says_which_step() {
    let mut record = record(&["login"]);
    record.windows = Windows::default();
    record.end.ending = EndReason::Stuck {
        reason: "`login` blocked a worker thread".into(),
    };
    let card = Card::grade(&record, None);
    assert_eq!(
        (card.verdict, card.verdict.exit_code()),
        (Verdict::Invalid, ExitCode::Invalid)
    );
    assert_eq!(words(&card), ["`login` blocked a worker thread"]);
    assert_eq!(card.validity.trust, Trust::Invalid);
    let told = card.to_string();
    let times = told.matches("`login` blocked a worker thread").count();
    assert_eq!(times, 1, "{told}");
    assert!(card.validity.causes[0].remedy.contains("must not block"));
    assert_eq!(card.accounts.balanced, None);
}

#[test]
fn a_dead_target_degrades_and_leaves_the_verdict() {
    let mut record = record(&["login"]);
    record.end.target_death = Some("signal 11".into());
    let card = Card::grade(&record, None);
    assert_eq!(card.verdict, Verdict::Passed);
    assert_eq!(card.validity.trust, Trust::Degraded);
    assert_eq!(
        card.remarks,
        ["the target did not survive the run: signal 11"]
    );
}

#[test]
fn own_errors_are_invalid_from_a_thousandth() {
    let with = |count| {
        let mut record = record(&["login"]);
        fail(&mut record, 0, ErrorKind::LocalFds, count);
        Card::grade(&record, None).validity.trust
    };
    assert_eq!((with(1), with(2)), (Trust::Valid, Trust::Invalid));
}

#[test]
fn waits_and_busy_workers_degrade() {
    let mut record = record(&["login"]);
    record.windows.steady.journey.waits.record_n(ms(40), 3);
    for second in 0..10 {
        record.cells.cells.push(Cell {
            second,
            seconds: 1,
            health: Health {
                busiest_worker: if second < 6 { 0.97 } else { 0.2 },
                ..Health::default()
            },
            ..Cell::default()
        });
    }
    let validity = Card::grade(&record, None).validity;
    assert_eq!(
        (validity.trust, validity.causes.len()),
        (Trust::Degraded, 2)
    );
    assert!(validity.causes[0].what.starts_with("3 arrivals waited"));
    assert!(validity.causes[1].what.contains("6 of 10 seconds"));
    record.start.plan.max_users = 1;
    let validity = Card::grade(&record, None).validity;
    assert!(
        validity.causes[0]
            .what
            .starts_with("3 arrivals waited because the only virtual user was busy")
    );
}

fn shard(number: u32, doubts: Vec<ShardDoubt>) -> ShardRun {
    ShardRun {
        run_id: "run".to_owned(),
        shard: Shard::new(number, 2).unwrap(),
        started_at: String::new(),
        began_after_us: 0,
        environment: Environment::default(),
        workers: 1,
        planned: 0,
        started: 0,
        dropped: 0,
        doubts,
        late_p99_us: None,
        latest_us: Vec::new(),
        busiest_worker: 0.0,
        agent: None,
    }
}

#[test]
fn a_load_without_a_lost_agent_counts_where_its_user_says_that_it_is_enough() {
    for (is_enough, trust) in [(false, Trust::Invalid), (true, Trust::Degraded)] {
        let mut record = record(&["login"]);
        record.end.ending = EndReason::AgentLost {
            reason: "agent b was lost".into(),
            is_enough,
        };
        let validity = Card::grade(&record, None).validity;
        assert_eq!(validity.trust, trust);
        assert_eq!(validity.causes[0].what, "agent b was lost");
    }
}

#[test]
fn the_shard_whose_generator_was_too_slow_is_named() {
    let slow = |late: u64| {
        let mut record = record(&["login"]);
        let journey = &mut record.windows.steady.journey;
        journey.lateness.record_n(Duration::from_millis(late), 300);
        record
    };
    let doubts = Validity::list_doubts(&slow(48));
    assert_eq!(doubts.len(), 1);
    let mut whole = slow(48);
    whole.shards = vec![shard(1, Vec::new()), shard(2, doubts)];
    assert_eq!(whole.shards[1].trust(), Trust::Invalid);
    let validity = Card::grade(&whole, None).validity;
    assert_eq!((validity.trust, validity.causes.len()), (Trust::Invalid, 1));
    let words = &validity.causes[0].what;
    assert!(
        words.starts_with("shard 2/2: the generator fell behind: 300 of 300"),
        "{words}"
    );
    // Where no shard alone is at fault, all of them together are judged.
    whole.shards[1].doubts.clear();
    let words = &Card::grade(&whole, None).validity.causes[0].what;
    assert!(words.starts_with("the generator fell behind"), "{words}");
    whole.start.validity_off = true;
    assert!(Validity::list_doubts(&whole).is_empty());
}

#[test]
fn shards_that_did_not_run_together_spoil_the_measurement() {
    let with = |after_ms: u64| {
        let mut record = record(&["login"]);
        record.end.elapsed_us = 10_000_000;
        record.shards = [0, after_ms]
            .map(|after| ShardRun {
                began_after_us: after * 1_000,
                ..shard(1, Vec::new())
            })
            .into();
        Card::grade(&record, None).validity
    };
    assert_eq!(with(1_000).trust, Trust::Valid);
    let apart = with(3_000);
    assert_eq!(apart.trust, Trust::Degraded);
    assert_eq!(
        apart.causes[0].what,
        "the shards started 3 s apart, so the target never had the whole load"
    );
    assert_eq!(with(10_000).trust, Trust::Invalid);
}
