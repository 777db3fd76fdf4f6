//! What plans are made of scenarios and overrides.

use super::*;
use crate::definition::{Comparator, Shape, StepDef, Think, sample};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn scenario(load: Option<Load>) -> ScenarioDef {
    let think = Some(Think::Uniform {
        min: seconds(1),
        max: seconds(3),
    });
    sample::scenario(
        load,
        vec![StepDef {
            weight: 0.5,
            think,
            ..sample::step("a")
        }],
    )
}

fn plan(load: Option<Load>, overrides: &Overrides) -> Result<Plan, Vec<PlanError>> {
    Plan::new(&scenario(load), overrides, &GradingDefaults::default(), 1)
}

fn rate(per_second: f64, ramp_up: u64, duration: u64) -> Load {
    Load::new(Shape::Rate {
        per_second,
        ramp_up: seconds(ramp_up),
        duration: seconds(duration),
    })
}

#[test]
fn grading_without_meaning_is_refused_all_at_once() {
    for budget in [f64::NAN, -1.0, 2.0] {
        let defaults = GradingDefaults {
            apdex: Some(Duration::ZERO),
            budget: Some(budget),
            grade_weight: Some(-1.0),
            ..Default::default()
        };
        let plan = Plan::new(&scenario(None), &Overrides::default(), &defaults, 1);
        let mistakes = plan.unwrap_err();
        assert_eq!(mistakes.len(), 3, "{budget}: {mistakes:?}");
        assert_eq!(mistakes[0], PlanError::NoApdex);
    }
}

#[test]
fn a_scenario_without_a_load_gets_one_user_for_ten_seconds() {
    let plan = plan(None, &Overrides::default()).unwrap();
    assert!(plan.default_load);
    assert_eq!((plan.load, plan.max_users), (Load::DEFAULT, 1));
}

#[test]
fn a_rate_replaces_the_model_and_keeps_ramp_and_duration() {
    let users = Shape::Users {
        users: 50,
        ramp_up: seconds(5),
        duration: seconds(60),
    };
    let overrides = Overrides {
        rate_per_second: Some(200.0),
        ..Overrides::default()
    };
    assert_eq!(
        plan(Some(Load::new(users)), &overrides).unwrap().load,
        rate(200.0, 5, 60)
    );
}

#[test]
fn a_pace_stays_with_the_users_and_goes_with_a_rate() {
    let declared = || Some(Load::users(50, seconds(60)).pace(seconds(5)));
    let given = |users, rate_per_second| Overrides {
        rate_per_second,
        users,
        ..Overrides::default()
    };
    let fewer = plan(declared(), &given(Some(2), None)).unwrap();
    assert_eq!(fewer.load, Load::users(2, seconds(60)).pace(seconds(5)));
    let open = plan(declared(), &given(None, Some(7.0))).unwrap();
    assert_eq!(open.load, rate(7.0, 0, 60));
}

#[test]
fn users_and_iterations_together_share_the_work() {
    let overrides = Overrides {
        users: Some(8),
        iterations: Some(IterationCount::Total(100)),
        ..Overrides::default()
    };
    let plan = plan(Some(rate(5.0, 0, 10)), &overrides).unwrap();
    assert_eq!(plan.load, Load::iterations(100, 8));
}

#[test]
fn iterations_per_user_follow_the_number_of_users() {
    let declared = Some(Load::iterations_per_user(20, 10));
    let given = |users, iterations| Overrides {
        users,
        iterations,
        ..Overrides::default()
    };
    let load = |overrides| plan(declared.clone(), &overrides).unwrap().load;
    assert_eq!(load(given(None, None)), Load::iterations_per_user(20, 10));
    assert_eq!(load(given(Some(3), None)), Load::iterations_per_user(20, 3));
    let five = Some(IterationCount::PerUser { per_user: 5 });
    assert_eq!(load(given(None, five)), Load::iterations_per_user(5, 10));
    let total = Some(IterationCount::Total(7));
    assert_eq!(load(given(None, total)), Load::iterations(7, 7));
    let nothing = given(None, Some(IterationCount::PerUser { per_user: 0 }));
    assert!(plan(declared.clone(), &nothing).is_err());
}

#[test]
fn a_user_without_an_iteration_is_not_made() {
    let overrides = Overrides {
        users: Some(100_000),
        iterations: Some(IterationCount::Total(3)),
        ..Overrides::default()
    };
    assert_eq!(plan(None, &overrides).unwrap().max_users, 3);
}

#[test]
fn a_load_beyond_one_machine_is_refused() {
    let errors = plan(Some(rate(2e6, 0, 10)), &Overrides::default()).unwrap_err();
    assert_eq!(
        errors[0].to_string(),
        "a load of 2000000/s is more than one machine can start; use at most 1,000,000/s"
    );
}

#[test]
fn every_mistake_is_reported() {
    let overrides = Overrides {
        rate_per_second: Some(0.0),
        ramp_up: Some(seconds(20)),
        ..Overrides::default()
    };
    let errors = plan(Some(rate(5.0, 0, 10)), &overrides).unwrap_err();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert_eq!(
        errors[0].to_string(),
        "a load of 0/s starts nothing; use at least `1/m`"
    );
    assert!(
        errors[1].to_string().contains("leaves nothing of the run"),
        "{}",
        errors[1]
    );
}

#[test]
fn a_target_without_a_meaning_is_named_with_its_time() {
    let curve = |at| if at == seconds(7) { f64::NAN } else { 5.0 };
    let load = Load::rate_curve(curve, seconds(60));
    let errors = plan(Some(load), &Overrides::default()).unwrap_err();
    assert_eq!(
        errors[0].to_string(),
        "a load of NaN at 7s has no meaning; use numbers of at least 0"
    );
}

#[test]
fn a_later_start_is_one_within_a_mix() {
    let mut scenario = scenario(None);
    scenario.start = seconds(30);
    for (in_mix, start) in [(false, seconds(0)), (true, seconds(30))] {
        let overrides = Overrides {
            in_mix,
            ..Overrides::default()
        };
        let plan = Plan::new(&scenario, &overrides, &GradingDefaults::default(), 1).unwrap();
        assert_eq!(plan.start, start);
    }
}

#[test]
fn a_duration_has_no_place_in_stages() {
    let stages = vec![crate::definition::Stage {
        from: 1.0,
        to: 1.0,
        duration: seconds(1),
    }];
    let load = Load::new(Shape::RateStages {
        stages: stages.into(),
    });
    let overrides = Overrides {
        duration: Some(seconds(9)),
        ..Overrides::default()
    };
    let errors = plan(Some(load), &overrides).unwrap_err();
    assert!(
        errors[0]
            .to_string()
            .starts_with("`--duration` has no meaning for a load in stages")
    );
}

#[test]
fn users_of_an_open_load_follow_from_rate_and_think_time() {
    // 100/s x (0.5 x 2 s + 2 s)
    assert_eq!(
        plan(Some(rate(100.0, 0, 10)), &Overrides::default())
            .unwrap()
            .max_users,
        300
    );
    assert_eq!(
        plan(Some(rate(1.0, 0, 10)), &Overrides::default())
            .unwrap()
            .max_users,
        10
    );
    assert_eq!(
        plan(Some(rate(9e5, 0, 10)), &Overrides::default())
            .unwrap()
            .max_users,
        10_000
    );
}

#[test]
fn a_group_larger_than_the_load_is_refused_with_both_numbers() {
    let mut scenario = scenario(Some(Load::users(10, seconds(60))));
    scenario.steps.to_mut()[0].rendezvous = Some(Rendezvous {
        users: 50,
        within: Rendezvous::WITHIN,
    });
    let plan = |users| {
        let overrides = Overrides {
            users,
            ..Overrides::default()
        };
        Plan::new(&scenario, &overrides, &GradingDefaults::default(), 1)
    };
    assert_eq!(
        plan(None).unwrap_err()[0].to_string(),
        "step `a` waits until 50 users have arrived, but the load has at most 10; let fewer wait, or give the load \
         more users"
    );
    assert!(plan(Some(50)).is_ok());
    scenario.load = Some(rate(100.0, 0, 10));
    let open = Plan::new(
        &scenario,
        &Overrides::default(),
        &GradingDefaults::default(),
        1,
    );
    assert_eq!(
        open.unwrap().max_users,
        350,
        "those that wait serve no arrival"
    );
}

#[test]
fn the_grading_target_is_the_nearest_that_somebody_set() {
    let grading = |scenario: &ScenarioDef, defaults: &GradingDefaults| {
        Plan::new(scenario, &Overrides::default(), defaults, 1)
            .unwrap()
            .grading[0]
    };
    let none = GradingDefaults::default();
    let workspace = GradingDefaults {
        apdex: Some(seconds(4)),
        budget: Some(0.2),
        grade_weight: None,
        ..Default::default()
    };
    let mut scenario = scenario(None);
    assert_eq!(grading(&scenario, &none).target, Duration::from_millis(500));
    assert_eq!(
        grading(&scenario, &workspace),
        StepGrading {
            target: seconds(4),
            budget: 0.2,
            weight: 0.5
        }
    );
    scenario.apdex = Some(seconds(3));
    assert_eq!(grading(&scenario, &workspace).target, seconds(3));
    let limit = |metric, time| Threshold::new(metric, Comparator::Less, Bound::Time(seconds(time)));
    scenario.steps.to_mut()[0].thresholds = vec![
        limit(Metric::P50, 1),
        limit(Metric::P99, 9),
        limit(Metric::P95, 2),
    ]
    .into();
    assert_eq!(
        grading(&scenario, &workspace).target,
        seconds(2),
        "the smallest on p95 or higher"
    );
    scenario.steps.to_mut()[0].apdex = Some(seconds(7));
    assert_eq!(grading(&scenario, &workspace).target, seconds(7));
}

#[test]
fn budget_and_weight_in_the_grade_are_the_nearest_that_somebody_set() {
    let grading = |scenario: &ScenarioDef, defaults: &GradingDefaults| {
        let plan = Plan::new(scenario, &Overrides::default(), defaults, 1).unwrap();
        (plan.grading[0].budget, plan.grading[0].weight)
    };
    let workspace = GradingDefaults {
        apdex: None,
        budget: Some(0.2),
        grade_weight: Some(2.0),
        ..Default::default()
    };
    let mut scenario = scenario(None);
    let none = GradingDefaults::default();
    assert_eq!(
        grading(&scenario, &none),
        (0.01, 0.5),
        "the weight of the step"
    );
    assert_eq!(grading(&scenario, &workspace), (0.2, 2.0));
    (scenario.budget, scenario.grade_weight) = (Some(0.3), Some(3.0));
    assert_eq!(grading(&scenario, &workspace), (0.3, 3.0));
    let step = &mut scenario.steps.to_mut()[0];
    (step.budget, step.grade_weight) = (Some(0.0), Some(0.0));
    assert_eq!(
        grading(&scenario, &workspace),
        (0.0, 0.0),
        "nothing is a choice"
    );
}

#[test]
fn only_response_times_set_the_target() {
    let mut scenario = scenario(None);
    let limit = |text: &str| {
        let metric = text.parse().unwrap();
        Threshold::new(metric, Comparator::Less, Bound::Time(seconds(9)))
    };
    let others = ["service.p95", "first_byte.p99", "failed.p95", "mean", "p90"];
    let mut limits: Vec<_> = others.map(limit).into();
    for target in [Duration::from_millis(500), seconds(9)] {
        scenario.steps.to_mut()[0].thresholds = limits.clone().into();
        let (overrides, defaults) = (Overrides::default(), GradingDefaults::default());
        let plan = Plan::new(&scenario, &overrides, &defaults, 1).unwrap();
        assert_eq!(plan.grading[0].target, target);
        limits.push(limit("max"));
    }
}

#[test]
fn errors_below_one_percent_applies_unless_errors_have_a_threshold() {
    let implied = plan(None, &Overrides::default()).unwrap().thresholds;
    assert_eq!(implied.len(), 1);
    assert!(implied[0].implied);
    assert_eq!(implied[0].threshold.to_string(), "errors < 1%");
    let limit = |subject: Subject| Threshold {
        subject,
        ..Threshold::new(Metric::Errors, Comparator::Less, Bound::Ratio(0.5))
    };
    let declared = |group: Option<usize>, subject: Subject| ScopedThreshold {
        group,
        ..ScopedThreshold::new(&scenario(None), None, limit(subject))
    };
    let count = |declared| with_error_limit(vec![declared]).len();
    assert_eq!(count(declared(None, Subject::Whole)), 1);
    assert_eq!(count(declared(Some(0), Subject::Whole)), 2);
    assert_eq!(count(declared(None, Subject::Tag("api".into()))), 2);
    assert_eq!(count(declared(None, Subject::Row("page".into()))), 2);
}
