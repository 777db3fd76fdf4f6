//! Shards of a load, each on a clock of its own.

use super::*;
use loadtest_model::plan::RowLimit;
use loadtest_model::shard::Shard;

/// Runs a plan whole, and in shards; returns both, the shards added up.
fn run_both(plan: &Plan, scenario: &'static Scenario, weights: &[u32]) -> [Ran; 2] {
    let run =
        |plan: &Plan, workers| run_plan(scenario, plan, workers, &Control::new(), None, quick);
    let whole = run(plan, 2);
    let shards = Shard::by_weight(weights).unwrap();
    let parts = (1..).zip(shards).map(|(workers, shard)| {
        let plan = Plan {
            shard,
            ..plan.clone()
        };
        run(&plan, workers)
    });
    let sum = parts.reduce(|mut sum, part| {
        sum.windows.merge(&part.windows);
        sum.done.merge(&part.done);
        sum.seen.extend(part.seen);
        sum
    });
    [whole, sum.unwrap()]
}

#[test]
fn users_of_all_shards_begin_and_iterate_as_those_of_one_process() {
    let load = users(7, ms(700), ms(2_000));
    let (scenario, plan) = planned(load, vec![step("a"), step("b")]);
    for weights in [&[1, 1, 1][..], &[4, 1, 2]] {
        let [whole, shards] = run_both(&plan, scenario, weights);
        let sorted = |mut seen: Vec<Duration>| {
            seen.sort();
            seen
        };
        assert_eq!(shards.all().journey.ok, whole.all().journey.ok);
        assert_eq!(sorted(shards.seen), sorted(whole.seen));
    }
}

#[test]
fn shards_share_the_rows_and_drop_together_what_one_process_drops() {
    let (scenario, mut plan) = planned(rate(50.0, ms(1_000), ms(10_000)), vec![step("a")]);
    plan.rows = Some(RowLimit {
        feed: "user".into(),
        rows: 121,
    });
    let [whole, shards] = run_both(&plan, scenario, &[1, 2, 1]);
    assert_eq!(
        (whole.all().journey.ok, shards.all().journey.ok),
        (121, 121)
    );
    assert!(shards.done.out_of_rows);

    // Six users serve 1,200 to 1,500 arrivals a second: timers know whole milliseconds.
    let mut load = rate(1_800.0, Duration::ZERO, ms(2_000));
    load.max_users = Some(6);
    let (scenario, plan) = planned(load, vec![step("a")]);
    let [whole, shards] = run_both(&plan, scenario, &[1, 1, 1]);
    assert_eq!((shards.done.planned, whole.done.planned), (3_600, 3_600));
    let (whole, shards) = (whole.all().journey, shards.all().journey);
    for journeys in [whole, shards] {
        assert_eq!(journeys.ok + journeys.dropped, 3_600);
        assert!(journeys.dropped >= 600, "{}", journeys.dropped);
    }
}

#[test]
fn what_cannot_be_divided_is_refused() {
    let overrides = Overrides {
        shard: Shard::new(1, 8).unwrap(),
        ..Overrides::default()
    };
    let mut capped = rate(50.0, Duration::ZERO, ms(10_000));
    capped.max_users = Some(7);
    for (load, words) in [
        (
            users(5, Duration::ZERO, ms(10_000)),
            "a load of 5 users leaves nothing for some of 8 shards",
        ),
        (
            capped,
            "a load of 7 users leaves nothing for some of 8 shards",
        ),
        (
            Load::iterations(7, 8),
            "a load of 7 users and 7 iterations leaves nothing for some of 8 shards",
        ),
    ] {
        let scenario = scenario(load, vec![step("a")]);
        let plan = Plan::new(
            &scenario.definition,
            &overrides,
            &GradingDefaults::default(),
            7,
        );
        let errors: Vec<String> = plan.unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].starts_with(words), "{errors:?}");
    }
    let mut meeting = step("a");
    meeting.rendezvous = Some(loadtest_model::definition::Rendezvous {
        users: 2,
        within: ms(100),
    });
    let scenario = scenario(users(9, Duration::ZERO, ms(10_000)), vec![meeting]);
    let plan = Plan::new(
        &scenario.definition,
        &overrides,
        &GradingDefaults::default(),
        7,
    );
    let error = plan.unwrap_err()[0].to_string();
    assert!(
        error.starts_with("step `a` waits for other users"),
        "{error}"
    );
}
