//! Steps that send for themselves: one sample each, and a row per name of their requests.

use super::*;
use crate::{Beat, Error, Skip};
use loadtest_model::metrics::{Histogram, InnerTally};
use std::cell::Cell;
use std::future::pending;

/// What the `async` function of a step does.
type Function = for<'a> fn(&'a mut Http) -> Local<'a, Result<(), Halt>>;

/// A chain whose first step sends for itself, and whose others need the one before.
struct Sending {
    function: Function,
    others: Linked,
}

impl Chain for Sending {
    fn begin(&mut self, vu: &mut Vu) {
        self.others.begin(vu);
    }

    fn skip(&mut self, step: usize, cause: Cause) {
        self.others.skip(step, cause);
    }

    fn build(&mut self, step: usize, vu: &mut Vu, request: &mut RequestBuf) -> Result<(), Unmet> {
        assert_ne!(step, 0, "the first step builds no request");
        self.others.build(step, vu, request)
    }

    fn run<'a>(
        &'a mut self,
        _: usize,
        _: &'a mut Vu,
        http: &'a mut Http,
    ) -> Local<'a, Result<(), Halt>> {
        (self.function)(http)
    }

    fn arrived(&self, _: usize) -> bool {
        true
    }

    fn finish(&mut self, step: usize, response: RawResponse) -> Result<(), ReadError> {
        self.others.finish(step, response)
    }

    fn check(&mut self, _: usize, _: &mut Vu, _: &mut dyn FnMut(&'static str, Result<(), String>)) {
    }
}

fn itself(name: &'static str) -> StepDef {
    StepDef {
        sends_itself: true,
        ..step(name)
    }
}

macro_rules! scenario_of {
    ($load:expr, $steps:expr, $function:expr) => {
        &*Box::leak(Box::new(Scenario {
            chain: |_, _| {
                Box::new(Sending {
                    function: $function,
                    others: Linked {
                        filled: vec![None; 3],
                    },
                })
            },
            ..plain($load, $steps)
        }))
    };
}

fn plain(load: Load, steps: Vec<StepDef>) -> Scenario {
    Scenario {
        definition: sample::scenario(Some(load), steps),
        root: "",
        prepare,
        chain: |_, _| unreachable!(),
        teardown: |_, _| Ok(()),
    }
}

fn work_of(count: u64) -> Load {
    Load::iterations(count, 1)
}

fn go(
    scenario: &'static Scenario,
    script: impl Fn(Duration) -> (Duration, Result<&'static str, ErrorKind>) + Send + Sync + 'static,
) -> Ran {
    run_plan(
        scenario,
        &plan_of(scenario),
        1,
        &Control::new(),
        None,
        script,
    )
}

/// `map_err` for a function without the macro's help.
fn failed(error: impl Into<Error>) -> Halt {
    Halt::Failed(error.into())
}

async fn get(http: &Http, url: &str) -> Result<reqwest::Response, Halt> {
    http.get(url).send().await.map_err(failed)
}

fn row<'a>(tally: &'a Tally, name: &str) -> &'a InnerTally {
    let rows = &tally.steps[0].inner;
    rows.iter().find(|row| row.name == name).expect(name)
}

fn all_are(times: &Histogram, count: u64, time: Duration) {
    assert_eq!(times.count(), count);
    assert_eq!((times.min(), times.max()), (Some(time), Some(time)));
}

/// Asks three times with pauses before, between and after, then once under another name.
fn polls(http: &mut Http) -> Local<'_, Result<(), Halt>> {
    Box::pin(async move {
        for number in 0..3 {
            http.pause(ms(500)).await;
            get(http, &format!("/orders/{number}?key=secret")).await?;
        }
        let named = http.post("/receipts/8").name("receipt").json(&[1]).send();
        named.await.map_err(failed)?;
        http.pause(ms(500)).await;
        Ok(())
    })
}

#[test]
fn a_step_that_polls_is_one_sample_without_its_pauses() {
    let think = Some(Think::Uniform {
        min: ms(1_000),
        max: ms(1_000),
    });
    let steps = vec![
        StepDef {
            think,
            ..itself("wait")
        },
        step("next"),
    ];
    let ran = go(scenario_of!(work_of(2), steps, polls), |_| {
        (ms(100), Ok(""))
    });
    let all = ran.all();
    let wait = &all.steps[0];
    assert_eq!((wait.executed, wait.ok, wait.requests), (2, 2, 8));
    assert_eq!(
        (wait.retries, wait.sent_bytes, wait.received_bytes),
        (0, 80, 160)
    );
    assert_eq!(wait.satisfied, 2);
    assert_eq!(wait.statuses, [(200, 8)].into());
    all_are(&wait.service, 2, ms(400));
    all_are(&wait.response, 2, ms(400));
    assert_eq!(wait.inner.len(), 2);
    let polled = row(&all, "GET /orders/{}");
    assert_eq!((polled.requests, polled.failed), (6, 0));
    all_are(&polled.service, 6, ms(100));
    assert_eq!(row(&all, "receipt").requests, 2);
    // Neither pauses nor think times are part of a journey.
    all_are(&all.journey.time, 2, ms(500));
    assert_eq!(all.journey.shares[0].steps_us, [800_000, 200_000]);
    // It is one row of a slow journey, from its first request on.
    let slowest = all.journey.slowest.journeys();
    assert_eq!((slowest.len(), slowest[0].time_us), (2, 500_000));
    let steps: Vec<_> = slowest[0]
        .steps
        .iter()
        .map(|ran| (ran.step, ran.begin_us, ran.time_us))
        .collect();
    let think_over = 500_000 + 1_400_000 + 500_000 + 1_000_000;
    assert_eq!(steps, [(0, 500_000, 400_000), (1, think_over, 100_000)]);
    assert_eq!(
        ran.done.elapsed,
        2 * (ms(4 * 500 + 400) + ms(1_000) + ms(100))
    );
}

#[test]
fn the_first_request_of_a_step_that_sends_for_itself_carries_the_start_delay() {
    fn twice(http: &mut Http) -> Local<'_, Result<(), Halt>> {
        Box::pin(async move {
            get(http, "/").await?;
            get(http, "/").await.map(drop)
        })
    }
    let load = Load {
        max_users: Some(1),
        ..rate(2.0, Duration::ZERO, ms(1_000))
    };
    let steps = vec![itself("twice"), step("next")];
    let all = go(scenario_of!(load, steps, twice), |_| (ms(300), Ok(""))).all();
    // Due at 500 ms, free at 900 ms.
    all_are(&all.steps[0].service, 2, ms(600));
    assert_eq!(all.steps[0].response.max(), Some(ms(600 + 400)));
    all_are(&all.steps[1].response, 2, ms(300));
    all_are(&row(&all, "GET /").service, 4, ms(300));
}

/// Sends once, checks twice, of which the second fails in every second call, and returns an error in every fourth.
fn checks(http: &mut Http) -> Local<'_, Result<(), Halt>> {
    thread_local! { static CALLS: Cell<u32> = const { Cell::new(0) } }
    let call = CALLS.get();
    CALLS.set(call + 1);
    Box::pin(async move {
        get(http, "/").await?;
        assert!(http.check("is there", true));
        let has_items = http.check("has items", call.is_multiple_of(2));
        http.check("is last", call.is_multiple_of(2));
        if !has_items && call % 4 == 3 {
            return Err(failed("nothing on sale"));
        }
        Ok(())
    })
}

#[test]
fn checks_within_a_step_count_as_checks_and_a_failed_one_fails_the_step() {
    let steps = vec![itself("browse"), step("next")];
    let all = go(scenario_of!(work_of(4), steps, checks), quick).all();
    let browse = &all.steps[0];
    assert_eq!((browse.executed, browse.ok, browse.failed), (4, 2, 2));
    assert_eq!((browse.checks_passed, browse.checks_failed), (8, 4));
    let [error] = browse.errors.as_slice() else {
        panic!("one kind: {:?}", browse.errors);
    };
    assert_eq!((error.kind, error.count), (ErrorKind::StepAssert, 2));
    assert_eq!(&*error.example, "check `has items` failed");
    // Its value is there, so that the next step runs, unless it returned an error.
    assert_eq!((all.steps[1].executed, all.steps[1].skipped), (3, 1));
}

#[test]
fn a_failed_check_names_what_the_step_returned_and_hides_no_failed_request() {
    fn returns(http: &mut Http) -> Local<'_, Result<(), Halt>> {
        Box::pin(async move {
            http.check("has items", false);
            Err(failed("nothing on sale"))
        })
    }
    fn sends(http: &mut Http) -> Local<'_, Result<(), Halt>> {
        Box::pin(async move {
            http.check("has items", false);
            get(http, "/").await.map(drop)
        })
    }
    let error = |scenario| {
        let all = go(scenario, |_| (ms(1), Err(ErrorKind::ConnectRefused))).all();
        assert_eq!(all.steps[0].checks_failed, 1);
        let error = &all.steps[0].errors[0];
        (error.kind, error.example.to_string())
    };
    let (kind, example) = error(scenario_of!(work_of(1), vec![itself("a")], returns));
    assert_eq!(
        (kind, &*example),
        (
            ErrorKind::StepAssert,
            "check `has items` failed: nothing on sale"
        )
    );
    let (kind, _) = error(scenario_of!(work_of(1), vec![itself("a")], sends));
    assert_eq!(kind, ErrorKind::ConnectRefused);
}

#[test]
fn a_step_that_sent_nothing_is_executed_and_leaves_the_delay_to_the_next() {
    let load = Load {
        max_users: Some(1),
        ..rate(2.0, Duration::ZERO, ms(1_000))
    };
    let steps = vec![itself("idle"), step("next")];
    let scenario = scenario_of!(load, steps, |_| Box::pin(async { Ok(()) }));
    let all = go(scenario, |_| (ms(700), Ok(""))).all();
    let idle = &all.steps[0];
    assert_eq!(
        (idle.executed, idle.ok, idle.satisfied, idle.requests),
        (2, 2, 2, 0)
    );
    assert!(idle.response.is_empty() && idle.service.is_empty() && idle.inner.is_empty());
    assert_eq!(all.steps[1].response.max(), Some(ms(700 + 200)));
}

#[test]
fn a_user_whose_steps_send_nothing_does_not_take_the_thread() {
    let steps = vec![itself("idle")];
    let load = users(2, Duration::ZERO, ms(1_000));
    let all = go(
        scenario_of!(load, steps, |_| Box::pin(async { Ok(()) })),
        quick,
    )
    .all();
    assert_eq!((all.journey.started, all.journey.ok), (200, 200));
}

#[test]
fn a_step_fails_as_its_last_request_did() {
    fn gives_up(http: &mut Http) -> Local<'_, Result<(), Halt>> {
        Box::pin(async move {
            get(http, "/first").await?;
            match http.get("/second").send().await {
                Ok(_) => Err(failed(Error::msg("the shop is closed"))),
                Err(error) => {
                    assert!(error.is_connect(), "{}", error.kind());
                    Err(failed(Error::msg("cannot go on")))
                }
            }
        })
    }
    let steps = vec![itself("a"), step("b")];
    let all = go(scenario_of!(work_of(2), steps, gives_up), |at| match at {
        // The first iteration meets a refusal, the second does not.
        at if at == ms(10) => (ms(10), Err(ErrorKind::ConnectRefused)),
        _ => (ms(10), Ok("")),
    })
    .all();
    let step = &all.steps[0];
    assert_eq!((step.executed, step.failed, step.requests), (2, 2, 4));
    assert_eq!(step.errors.len(), 2);
    assert_eq!(step.errors[0].kind, ErrorKind::ConnectRefused);
    assert_eq!(step.errors[0].example, "cannot go on (scripted)");
    assert_eq!(step.errors[1].kind, ErrorKind::StepError);
    assert_eq!(step.errors[1].example, "the shop is closed");
    all_are(&step.failed_response, 2, ms(20));
    let second = row(&all, "GET /second");
    assert_eq!((second.requests, second.failed), (2, 1));
    assert_eq!(second.errors[0].kind, ErrorKind::ConnectRefused);
    assert_eq!(all.steps[1].skipped, 2);
    assert_eq!(all.dependencies[0].cause.root, RootCause::Failed);
    assert_eq!(all.journey.failed, 2);
}

#[test]
fn a_step_that_recovers_is_ok() {
    fn again(http: &mut Http) -> Local<'_, Result<(), Halt>> {
        Box::pin(async move {
            while http.get("/").send().await.is_err() {}
            Ok(())
        })
    }
    let steps = vec![itself("a")];
    let all = go(scenario_of!(work_of(1), steps, again), |at| {
        let answer = if at < ms(20) {
            Err(ErrorKind::ResetInBody)
        } else {
            Ok("")
        };
        (ms(10), answer)
    })
    .all();
    assert_eq!((all.steps[0].ok, all.steps[0].requests), (1, 3));
    assert!(all.steps[0].errors.is_empty());
    assert_eq!(row(&all, "GET /").failed, 2);
    all_are(&all.steps[0].response, 1, ms(30));
}

#[test]
fn each_request_has_the_timeout_of_its_step_or_its_own() {
    fn slow(http: &mut Http) -> Local<'_, Result<(), Halt>> {
        Box::pin(async move {
            let own = http.get("/own").timeout(ms(50)).send().await;
            assert!(own.is_err_and(|error| error.is_timeout()));
            get(http, "/late").await.map(drop)
        })
    }
    let steps = vec![StepDef {
        timeout: ms(200),
        ..itself("a")
    }];
    let all = go(scenario_of!(work_of(1), steps, slow), |_| (ms(900), Ok(""))).all();
    let step = &all.steps[0];
    assert_eq!(step.errors[0].kind, ErrorKind::TimeoutHead);
    // Entered at its deadline, as every timeout.
    all_are(&step.response, 1, ms(250));
    all_are(&row(&all, "GET /own").service, 1, ms(50));
    all_are(&row(&all, "GET /late").service, 1, ms(200));
}

#[test]
fn a_step_that_leaves_itself_out_is_nobodys_failure() {
    fn skips(http: &mut Http) -> Local<'_, Result<(), Halt>> {
        Box::pin(async move {
            get(http, "/stock").await?;
            let reason = Skip::because("the shop is empty").reason().to_owned();
            Err(Unmet::LeftOut { reason }.into())
        })
    }
    let steps = vec![itself("a"), step("b")];
    let all = go(scenario_of!(work_of(3), steps, skips), quick).all();
    let step = &all.steps[0];
    assert_eq!((step.left_out, step.executed, step.requests), (3, 0, 3));
    assert!(step.response.is_empty());
    assert_eq!(row(&all, "GET /stock").requests, 3);
    assert_eq!(all.steps[1].skipped_not_drawn, 3);
    assert_eq!((all.journey.ok, all.journey.failed), (3, 0));
}

#[test]
fn a_panic_ends_the_step_and_not_the_user() {
    fn panics(http: &mut Http) -> Local<'_, Result<(), Halt>> {
        Box::pin(async move {
            get(http, "/").await?;
            http.pause(ms(5)).await;
            panic!("told to panic within a step that sends for itself")
        })
    }
    let steps = vec![itself("a"), step("b")];
    let all = go(scenario_of!(work_of(2), steps, panics), quick).all();
    let step = &all.steps[0];
    assert_eq!((step.failed, step.requests), (2, 2));
    assert_eq!(step.errors[0].kind, ErrorKind::StepPanic);
    assert!(
        step.errors[0]
            .example
            .starts_with("panicked: told to panic")
    );
    assert_eq!(step.failed_response.max(), Some(ms(5)));
    assert_eq!(all.journey.failed, 2);
}

#[test]
fn an_upstream_that_is_missing_is_a_dependency_failure() {
    let steps = vec![itself("a"), step("b")];
    let all = go(
        scenario_of!(work_of(1), steps, |_| Box::pin(async {
            Err(Unmet::Missing {
                step: 0,
                variable: "login",
            }
            .into())
        })),
        quick,
    )
    .all();
    assert_eq!((all.steps[0].skipped, all.steps[0].executed), (1, 0));
    assert_eq!(all.dependencies[0].variable.as_deref(), Some("login"));
}

#[test]
fn a_weight_leaves_out_the_whole_step() {
    let steps = vec![StepDef {
        weight: 0.5,
        ..itself("a")
    }];
    let all = go(
        scenario_of!(work_of(400), steps, |http| Box::pin(async move {
            get(http, "/").await.map(drop)
        })),
        quick,
    )
    .all();
    let step = &all.steps[0];
    assert_eq!(step.not_drawn + step.executed, 400);
    assert!((150..250).contains(&step.executed), "{}", step.executed);
    assert_eq!(step.requests, step.executed);
}

#[test]
fn a_request_that_the_step_drops_is_counted_as_failed() {
    fn impatient(http: &mut Http) -> Local<'_, Result<(), Halt>> {
        Box::pin(async move {
            let late = tokio::time::timeout(ms(40), http.get("/slow").send()).await;
            assert!(late.is_err());
            let paused = tokio::time::timeout(ms(30), http.pause(ms(500))).await;
            assert!(paused.is_err());
            get(http, "/").await.map(drop)
        })
    }
    let steps = vec![itself("a")];
    let all = go(scenario_of!(work_of(1), steps, impatient), |at| {
        (if at < ms(1) { ms(900) } else { ms(10) }, Ok(""))
    })
    .all();
    let step = &all.steps[0];
    assert_eq!((step.ok, step.requests), (1, 2));
    all_are(&step.response, 1, ms(50));
    assert_eq!(row(&all, "GET /slow").failed, 1);
}

#[test]
fn the_end_of_the_load_cuts_no_pause_short() {
    fn long(http: &mut Http) -> Local<'_, Result<(), Halt>> {
        Box::pin(async move {
            for _ in 0..3 {
                get(http, "/").await?;
                http.pause(ms(2_000)).await;
            }
            Ok(())
        })
    }
    let steps = vec![itself("a")];
    let load = users(1, Duration::ZERO, ms(1_000));
    let ran = go(scenario_of!(load, steps, long), |_| (ms(100), Ok("")));
    assert_eq!(ran.seen, [ms(0), ms(2_100), ms(4_200)]);
    assert_eq!(ran.all().journey.ok, 1);
    assert_eq!(ran.done.elapsed, ms(6_300));
}

#[test]
fn what_follows_a_tick_counts_from_the_tick() {
    fn beats(http: &mut Http) -> Local<'_, Result<(), Halt>> {
        Box::pin(async move {
            let mut beat = Beat::begin(ms(100));
            while beat.next().await.is_some() {
                get(http, "/").await?;
            }
            Ok(())
        })
    }
    let load = users(1, Duration::ZERO, ms(950));
    let slow_once = |at| (if at == ms(100) { ms(250) } else { ms(50) }, Ok(""));
    let ran = go(scenario_of!(load, vec![itself("a")], beats), slow_once);
    // What is overdue is sent at once, until the beat is caught up with.
    let seen = [0, 100, 350, 400, 450, 500, 600, 700, 800, 900];
    assert_eq!(ran.seen, seen.map(ms));
    let all = ran.all();
    let row = row(&all, "GET /");
    assert_eq!((row.requests, row.service.count()), (10, 10));
    // 50 six times, 250, 200, 150 and 100.
    assert_eq!(row.service.max(), Some(ms(250)));
    assert_eq!(row.service.mean(), Some(ms(100)));
    // The waits for ticks are pauses of the step.
    all_are(&all.steps[0].service, 1, ms(700));
}

#[test]
fn all_that_begins_at_an_overdue_tick_counts_from_it_less_the_pauses() {
    fn beats(http: &mut Http) -> Local<'_, Result<(), Halt>> {
        Box::pin(async move {
            let mut beat = Beat::begin(ms(100));
            beat.next().await;
            get(http, "/first").await?;
            // 250 ms later, the tick of 100 ms is overdue by 150 ms.
            beat.next().await;
            http.pause(ms(30)).await;
            let (one, other) = tokio::join!(get(http, "/one"), get(http, "/other"));
            one?;
            other?;
            get(http, "/after").await?;
            Ok(())
        })
    }
    let slow_once = |at| (if at == ms(0) { ms(250) } else { ms(50) }, Ok(""));
    let ran = go(
        scenario_of!(work_of(1), vec![itself("a")], beats),
        slow_once,
    );
    let all = ran.all();
    for (name, time) in [("first", 250), ("one", 200), ("other", 200), ("after", 50)] {
        let row = row(&all, &format!("GET /{name}"));
        assert_eq!(row.service.max(), Some(ms(time)), "{name}");
    }
}

#[test]
fn what_a_session_of_the_ramp_does_counts_in_the_part_of_the_load_in_which_it_does_it() {
    fn beats(http: &mut Http) -> Local<'_, Result<(), Halt>> {
        Box::pin(async move {
            let mut beat = Beat::begin(ms(100));
            while beat.next().await.is_some() {
                get(http, "/").await?;
            }
            Ok(())
        })
    }
    let load = Load {
        warm_up: ms(400),
        ..users(2, ms(600), ms(2_000))
    };
    let slow_at_last = |at| (ms(if at >= ms(2_100) { 1_000 } else { 50 }), Ok(""));
    let ran = go(scenario_of!(load, vec![itself("a")], beats), slow_at_last);
    let windows = [&ran.windows.warm_up, &ran.windows.ramp, &ran.windows.steady];
    let counts = windows.map(|tally| {
        let step = &tally.steps[0];
        let row = step.inner.first().map_or(0, |row| row.requests);
        (step.executed, row, step.requests, step.unsent_ticks)
    });
    // Both begin with the warm-up and send ten times a second. From 2.1 s on they wait for an answer, so that nothing is
    // sent at 2.2 s and 2.3 s, until the load ends at 2.4 s.
    assert_eq!(counts, [(2, 8, 8, 4), (0, 12, 12, 0), (0, 24, 24, 0)]);
}

#[test]
fn rates_of_a_session_are_of_what_it_does_in_the_measured_part() {
    fn session(http: &mut Http) -> Local<'_, Result<(), Halt>> {
        Box::pin(async move {
            for _ in 0..60 {
                get(http, "/").await?;
            }
            Ok(())
        })
    }
    // From 0 to 6 s, of which the second to the fourth are measured.
    let load = users(1, ms(1_000), ms(4_000));
    let ran = go(scenario_of!(load, vec![itself("wait")], session), |_| {
        (ms(100), Ok(""))
    });
    assert_eq!(ran.all().steps[0].requests, 60);
    let ended = ran.windows.steady.ended();
    // One ends as the measured part begins, and took its time before.
    let [row] = &ended.steps[0].rows[..] else {
        panic!("{ended:?}");
    };
    assert_eq!((&*row.name, row.requests), ("GET /", 31));
    assert_eq!(ended.steps[0].received_bytes, 30 * 20);
    assert_eq!((ended.steps[0].sent, ended.journeys), (0, 0));
}

#[test]
fn what_is_under_way_at_the_hard_end_is_cancelled() {
    fn hangs(http: &mut Http) -> Local<'_, Result<(), Halt>> {
        Box::pin(async move {
            get(http, "/").await?;
            pending().await
        })
    }
    let patient = StepDef {
        timeout: ms(60_000),
        ..itself("a")
    };
    let steps = vec![patient, step("b")];
    let load = users(1, Duration::ZERO, ms(1_000));
    let all = go(scenario_of!(load, steps, hangs), quick).all();
    assert_eq!((all.journey.started, all.journey.cancelled), (1, 1));
    let step = &all.steps[0];
    assert_eq!((step.cancelled, step.executed, step.requests), (1, 0, 1));
    assert_eq!(row(&all, "GET /").requests, 1);
}

#[test]
fn what_was_sent_before_the_hard_end_is_counted() {
    fn hangs(http: &mut Http) -> Local<'_, Result<(), Halt>> {
        Box::pin(async move {
            get(http, "/").await?;
            get(http, "/").await?;
            let late = tokio::time::timeout(ms(10), http.get("/late").send()).await;
            assert!(late.is_err());
            get(http, "/never").await.map(drop)
        })
    }
    let def = StepDef {
        timeout: Duration::from_secs(3_600),
        ..itself("a")
    };
    let load = users(1, Duration::ZERO, ms(1_000));
    let all = go(scenario_of!(load, vec![def, step("b")], hangs), |at| {
        (ms(if at < ms(20) { 10 } else { 3_600_000 }), Ok(""))
    })
    .all();
    assert_eq!((all.journey.started, all.journey.cancelled), (1, 1));
    let step = &all.steps[0];
    assert_eq!((step.cancelled, step.executed), (1, 0));
    assert_eq!((step.requests, step.sent_bytes), (4, 40));
    assert!(step.response.is_empty() && step.errors.is_empty());
    assert_eq!(row(&all, "GET /").requests, 2);
    let given_up = row(&all, "GET /late");
    assert_eq!((given_up.requests, given_up.failed), (1, 1));
    assert!(step.inner.iter().all(|row| row.name != "GET /never"));
}

#[test]
fn requests_at_the_same_time_are_one_stretch_of_the_step() {
    fn parallel(http: &mut Http) -> Local<'_, Result<(), Halt>> {
        Box::pin(async move {
            let three = http
                .batch(["/a", "/b", "/c"].map(|path| http.get(path)))
                .await;
            assert_eq!(three.len(), 3);
            http.pause(ms(500)).await;
            // Of this pause 10 ms are covered by a request.
            let (answer, ()) = tokio::join!(http.get("/d").send(), http.pause(ms(25)));
            answer.map_err(Error::from).map_err(Halt::Failed)?;
            get(http, "/e").await.map(drop)
        })
    }
    let steps = vec![itself("a")];
    let ran = go(scenario_of!(work_of(1), steps, parallel), |_| {
        (ms(10), Ok(""))
    });
    assert_eq!(ran.seen, [0, 0, 0, 510, 535].map(ms));
    let all = ran.all();
    assert_eq!((all.steps[0].ok, all.steps[0].requests), (1, 5));
    all_are(&all.steps[0].response, 1, ms(30));
    all_are(&all.journey.time, 1, ms(30));
    for name in ["a", "b", "c", "d", "e"] {
        all_are(&row(&all, &format!("GET /{name}")).service, 1, ms(10));
    }
}

#[test]
fn a_step_fails_as_the_request_that_its_error_is_about() {
    fn first_of_two(http: &mut Http) -> Local<'_, Result<(), Halt>> {
        Box::pin(async move {
            let (first, second) = tokio::join!(http.get("/a").send(), async {
                http.pause(ms(1)).await;
                http.get("/b").send().await
            });
            second.map_err(Error::from).map_err(Halt::Failed)?;
            first.map_err(Error::from).map_err(Halt::Failed).map(drop)
        })
    }
    let steps = vec![itself("a")];
    let all = go(scenario_of!(work_of(1), steps, first_of_two), |at| {
        let refused = Err(ErrorKind::ConnectRefused);
        (ms(10), if at < ms(1) { refused } else { Ok("") })
    })
    .all();
    assert_eq!(all.steps[0].errors[0].kind, ErrorKind::ConnectRefused);
    assert_eq!(all.steps[0].errors[0].example, "scripted");
}

#[test]
fn a_users_last_step_may_send_for_itself() {
    let last = StepDef {
        last: true,
        ..itself("tidy_up")
    };
    let scenario = scenario_of!(work_of(3), vec![last, step("browse")], polls);
    let ran = go(scenario, |_| (ms(100), Ok("")));
    let all = ran.all();
    assert_eq!((all.journey.ok, all.steps[1].ok), (3, 3));
    let tidy_up = &all.steps[0];
    assert_eq!((tidy_up.executed, tidy_up.requests), (1, 4));
    all_are(&tidy_up.response, 1, ms(400));
    all_are(&row(&all, "receipt").service, 1, ms(100));
    // it pauses as it says, though the load is over
    assert_eq!(ran.done.elapsed, ms(300));
    assert_eq!(ran.seen[3..], [ms(800), ms(1_400), ms(2_000), ms(2_100)]);
}

/// Never ends, after a request and a pause that are longer than the timeout together.
fn waits_for_ever(http: &mut Http) -> Local<'_, Result<(), Halt>> {
    Box::pin(async move {
        get(http, "/first").await?;
        http.pause(ms(60_000)).await;
        pending().await
    })
}

#[test]
fn a_step_that_waits_for_ever_fails_after_its_timeout() {
    let steps = vec![
        StepDef {
            timeout: ms(2_000),
            ..itself("a")
        },
        step("b"),
    ];
    let ran = go(scenario_of!(work_of(2), steps, waits_for_ever), quick);
    let all = ran.all();
    assert_eq!((all.journey.started, all.journey.failed), (2, 2));
    let errors = &all.steps[0].errors;
    assert_eq!(errors.len(), 1);
    assert_eq!((errors[0].kind, errors[0].count), (ErrorKind::StepError, 2));
    assert_eq!(
        errors[0].example,
        "the step waited 2s for something other than a request or a pause"
    );
    assert_eq!(all.steps[1].skipped, 2);
    // The answer, the pause, the wait.
    assert_eq!(ran.done.elapsed, ms(2 * (5 + 60_000 + 2_000)));
}
