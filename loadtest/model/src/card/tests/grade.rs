//! The grade, and what lost points.

use super::*;
use crate::exit_code::ExitCode;
use crate::redacted::Redacted;

#[test]
fn a_clean_run_passes_with_the_best_grade() {
    let card = Card::grade(&record(&["login", "browse"]), None);
    assert_eq!((card.verdict, card.reasons.len()), (Verdict::Passed, 0));
    assert_eq!(card.grade.label(), "A+");
    assert_eq!(card.losses, []);
    assert_eq!(card.validity.trust, Trust::Valid);
    assert_eq!(card.accounts.balanced, Some(true));
    assert_eq!(card.headline.target_per_second, Some(100.0));
    assert_eq!(card.headline.achieved_per_second, Some(100.0));
    assert_eq!(card.headline.time.p50, Some(ms(20)));
}

#[test]
fn every_lost_point_is_explained() {
    let mut record = record(&["login", "browse", "order"]);
    fail(&mut record, 0, ErrorKind::Status, 100);
    skip(&mut record, 1, 0, 100);
    let slow = &mut record.windows.steady.steps[2];
    slow.satisfied = 600;
    slow.tolerating = 300;
    slow.response = Histogram::default();
    slow.response.record_n(ms(10), 600);
    slow.response.record_n(ms(900), 300);
    slow.response.record_n(ms(3_000), 100);
    slow.service = slow.response.clone();
    let card = Card::grade(&record, None);
    for row in &card.steps {
        let lost: f64 = row.losses.iter().map(|loss| loss.points).sum();
        let grade = row.grade.unwrap();
        assert!((lost - (1.0 - grade.score)).abs() < 1e-9, "{row:?}");
    }
    let lost: f64 = card.losses.iter().map(|loss| loss.points).sum();
    assert!((lost - (1.0 - card.grade.score.unwrap())).abs() < 1e-9);
    let words: Vec<&str> = card.losses.iter().map(|loss| &*loss.words).collect();
    assert_eq!(
        words,
        [
            "D: 10.0 % errors on `login` used 10 × its budget of 1 %",
            "`login` failing left `browse` without `login.response.token` in 100 iterations",
            "C: 40.0 % of the answers of `order` took over 500 ms, 10.0 % over 2 s",
            "10.0 % errors of the journey used 10 × its budget of 1 %",
        ]
    );
    assert_eq!(card.steps[1].grade.unwrap().letter, Letter::D);
    assert_eq!(
        card.losses[1].step, 0,
        "the culprit is named, not the victim"
    );
}

#[test]
fn a_journey_that_always_fails_is_an_f_however_fast_its_other_steps_are() {
    let mut record = record(&["a", "b", "c", "d", "e", "f", "g", "h", "i", "pay"]);
    fail(&mut record, 9, ErrorKind::Status, 1_000);
    let journey = &mut record.windows.steady.journey;
    (journey.ok, journey.failed) = (0, 1_000);
    let card = Card::grade(&record, None);
    assert_eq!(card.steps[0].grade.unwrap().letter, Letter::APlus);
    assert_eq!(card.grade.letter, Some(Letter::F));
    let journeys = card.grade.journeys.unwrap();
    assert_eq!((journeys.error_rate, journeys.burn), (1.0, Some(100.0)));
    let loss = &card.losses[0];
    assert_eq!((loss.kind, loss.step), (LossKind::Journeys, 9));
    assert_eq!(
        loss.words,
        "100 % errors of the journey used 100 × its budget of 1 %"
    );

    // The journey may fail as often as the step with the largest budget.
    record.start.plan.grading[9].budget = 1.0;
    let card = Card::grade(&record, None);
    assert!(card.grade.journeys.unwrap().cap >= 1.0);
}

#[test]
fn a_step_without_a_single_time_has_no_grade_and_says_why() {
    let mut record = record(&["login", "wait"]);
    let step = &mut record.windows.steady.steps[1];
    step.response = Histogram::default();
    (step.requests, step.statuses) = (0, BTreeMap::default());
    let card = Card::grade(&record, None);
    assert_eq!(card.steps[1].grade, None);
    assert_eq!(card.grade.ungraded, ["wait"]);
    let note = "Not graded, because they measured nothing: wait. An `async` step is measured by what it sends with `http`, and by what it gives to `vu.measure(..)`.";
    assert!(
        card.notes.iter().any(|said| said == note),
        "{:?}",
        card.notes
    );
}

proptest! {
    #[test]
    fn whatever_happens_no_lost_point_is_left_unexplained(
        zones in prop::array::uniform5(0_u64..300),
        budget in prop_oneof![Just(0.0), Just(0.01), 0.0..0.2_f64],
        weights in prop::array::uniform2(0.0..5.0_f64),
    ) {
        let [satisfied, tolerating, slow, failed, skipped] = zones;
        let mut record = record(&["login", "browse"]);
        for (grading, weight) in record.start.plan.grading.iter_mut().zip(weights) {
            (grading.budget, grading.weight) = (budget, weight);
        }
        let step = &mut record.windows.steady.steps[1];
        let ok = satisfied + tolerating + slow;
        *step = executed(ok, ms(10));
        (step.satisfied, step.tolerating) = (satisfied, tolerating);
        step.response = Histogram::default();
        step.response.record_n(ms(10), satisfied);
        step.response.record_n(ms(900), tolerating);
        step.response.record_n(ms(3_000), slow);
        step.service = step.response.clone();
        (step.executed, step.failed, step.skipped) = (ok + failed, failed, skipped);
        step.errors = vec![error(ErrorKind::Status, failed)];
        skip(&mut record, 1, 0, 0);
        record.windows.steady.dependencies[0].count = skipped;
        let card = Card::grade(&record, None);
        prop_assume!(!card.grade.withheld);
        let lost = |losses: &[Loss]| losses.iter().map(|loss| loss.points).sum::<f64>();
        for row in &card.steps {
            if let Some(grade) = &row.grade {
                prop_assert!((lost(&row.losses) - (1.0 - grade.score)).abs() < 1e-6, "{row:?}");
            }
        }
        if let Some(score) = card.grade.score {
            prop_assert!((lost(&card.losses) - (1.0 - score)).abs() < 1e-6, "{:?}", card.losses);
        }
        for loss in &card.losses {
            prop_assert!(loss.points >= 0.0 && !loss.words.is_empty(), "{loss:?}");
        }
    }
}

#[test]
fn a_run_whose_steps_have_no_weight_in_the_grade_measured_nothing() {
    let mut record = record(&["login", "browse"]);
    for grading in &mut record.start.plan.grading {
        grading.weight = 0.0;
    }
    let card = Card::grade(&record, None);
    assert_eq!(
        (card.verdict, card.verdict.exit_code()),
        (Verdict::Empty, ExitCode::NothingFound)
    );
    assert_eq!(card.grade.label(), "NS");
    let reason = "no step that was executed has a weight in the grade";
    assert_eq!(words(&card), [reason]);
}

#[test]
fn a_step_that_was_only_ever_skipped_is_an_f_and_says_why() {
    let mut record = record(&["login", "browse"]);
    fail(&mut record, 0, ErrorKind::Status, 1_000);
    skip(&mut record, 1, 0, 1_000);
    let card = Card::grade(&record, None);
    let grade = card.steps[1].grade.unwrap();
    assert_eq!((grade.score, grade.letter), (0.0, Letter::F));
    let words = &card.steps[1].losses[0].words;
    assert!(words.contains("without `login.response.token`"), "{words}");
}

#[test]
fn points_lost_to_start_delay_are_named_so() {
    let mut record = record(&["ping"]);
    let step = &mut record.windows.steady.steps[0];
    step.satisfied = 900;
    step.tolerating = 100;
    step.response = Histogram::default();
    step.response.record_n(ms(10), 900);
    step.response.record_n(ms(900), 100);
    let card = Card::grade(&record, None);
    assert_eq!(card.losses.len(), 1);
    assert_eq!(card.losses[0].kind, LossKind::StartDelay);
}

#[test]
fn skips_of_steps_not_drawn_cost_nothing() {
    let mut record = record(&["login", "browse"]);
    let step = &mut record.windows.steady.steps[1];
    *step = executed(300, ms(10));
    step.skipped_not_drawn = 700;
    record.windows.steady.dependencies.push(DependencyTally {
        step: 1,
        variable: Some("login".to_owned()),
        upstream: 0,
        cause: Unmet {
            root: RootCause::NotDrawn,
            step: 0,
        },
        count: 700,
        example: Redacted::default(),
    });
    let card = Card::grade(&record, None);
    assert_eq!(card.grade.label(), "A+");
    assert_eq!(card.dependency_failures, []);
    assert_eq!(card.not_drawn[0].count, 700);
    assert_eq!(card.headline.dependency_failures, 0);
}

#[test]
fn an_excellent_grade_beside_a_failure_is_explained() {
    let mut record = record(&["login", "browse"]);
    require(&mut record, Some(1), Metric::P50, Bound::Time(ms(5)));
    assert_eq!(
        Card::grade(&record, None).remarks,
        ["the grade uses T = 500 ms; the threshold `p50 < 5 ms` is stricter"]
    );
}

#[test]
fn a_step_that_ran_during_the_ramp_only_is_not_called_never_attempted() {
    let mut record = record(&["login", "token", "browse", "order"]);
    let windows = &mut record.windows;
    windows.ramp = Tally::new(4);
    windows.warm_up = Tally::new(4);
    windows.ramp.steps[0] = std::mem::take(&mut windows.steady.steps[0]);
    windows.warm_up.steps[1] = std::mem::take(&mut windows.steady.steps[1]);
    windows.steady.steps[3] = StepTally::default();
    let card = Card::grade(&record, None);
    assert_eq!(card.grade.ungraded, ["login", "token", "order"]);
    assert_eq!(
        card.notes,
        [
            "Not graded, because attempted in the warm-up only: token. Results of the warm-up are \
             discarded.",
            "Not graded, because attempted during the ramp only: login. The accounts cover the ramp; \
             figures and grades do not.",
            "Not graded, because never attempted: order.",
        ]
    );
}

#[test]
fn weights_are_shown_as_configured_and_observed() {
    let mut record = record(&["login", "browse"]);
    record.start.definition.steps.to_mut()[1].weight = 0.5;
    let step = &mut record.windows.steady.steps[1];
    *step = executed(480, ms(10));
    step.cancelled = 1;
    step.skipped = 9;
    step.not_drawn = 510;
    let card = Card::grade(&record, None);
    let [row] = &card.weights[..] else {
        panic!("one step has a weight")
    };
    assert_eq!(
        (row.observed, row.draws, row.plausible),
        (Some(0.49), 1_000, true)
    );
}

#[test]
fn a_step_that_runs_last_is_graded_and_has_no_rate() {
    let mut record = record(&["browse", "log_out"]);
    record.start.definition.steps.to_mut()[1].last = true;
    let log_out = &mut record.windows.steady.steps[1];
    *log_out = executed(20, ms(10));
    log_out.received_bytes = 4_000;
    let card = Card::grade(&record, None);
    let [browse, log_out] = &card.steps[..] else {
        panic!("two steps")
    };
    assert_eq!((browse.per_second, log_out.per_second), (Some(100.0), None));
    assert_eq!(log_out.received_bytes_per_second, None);
    assert_eq!((log_out.executed, log_out.requests), (20, 20));
    assert_eq!(log_out.grade.map(|grade| grade.attempts), Some(20));
    assert_eq!(card.headline.achieved_per_second, Some(100.0));
}
