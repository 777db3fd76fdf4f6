//! Whole runs of a worker on a paused clock, with a scripted transport: exact counts, no real time.

mod answers;
mod choices;
mod course;
mod end;
mod event_streams;
mod groups;
mod health;
mod http_senders;
mod last;
mod limits;
mod many;
mod own;
mod pace;
mod rates;
mod rendezvous;
mod repeat;
mod replay;
mod rows;
mod senders;
mod shards;
mod slowest;
mod soak;
mod traces;
mod turns;
mod websockets;

use super::control::{Control, RunPhase, StopSignals};
use super::pacer::Pacer;
use super::partition::Partition;
use super::rendezvous::MeetingPoints;
use super::worker::{WorkerSpec, WorkerSummary, run_worker};
use crate::chain::{
    Chain, Halt, Http, Local, Prepared, RawResponse, ReadError, RequestBuf, Scenario, SetupContext,
    SetupError, Shared, Unmet, Vu,
};
use crate::transport::{
    Call, Exchange, Failure, KeptHeaders, Received, Transport, UnfinishedExchange,
};
use bytes::Bytes;
use http::StatusCode;
use loadtest_model::definition::sample;
use loadtest_model::definition::sample::step;
use loadtest_model::definition::{Load, Shape, Stage, StepDef, Think};
use loadtest_model::metrics::{Cause, RootCause};
use loadtest_model::metrics::{ErrorKind, Phases, Traffic};
use loadtest_model::metrics::{Frame, Tally, Windows};
use loadtest_model::plan::{GradingDefaults, Overrides, Plan};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::LocalSet;
use tokio::time::Instant;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A chain in which every step but the first needs the one before it.
struct Linked {
    filled: Vec<Option<Cause>>,
}

impl Chain for Linked {
    fn begin(&mut self, _: &mut Vu) {
        self.filled.fill(None);
    }

    fn skip(&mut self, step: usize, cause: Cause) {
        self.filled[step] = Some(cause);
    }

    fn build(&mut self, step: usize, _: &mut Vu, request: &mut RequestBuf) -> Result<(), Unmet> {
        let upstream = step.checked_sub(1);
        if let Some((step, cause)) = upstream.and_then(|step| Some((step, self.filled[step]?))) {
            let variable = "before";
            return Err(Unmet::Upstream {
                step,
                variable,
                cause,
            });
        }
        request.timeout = None;
        Ok(())
    }

    fn run<'a>(
        &'a mut self,
        _: usize,
        _: &'a mut Vu,
        _: &'a mut Http,
    ) -> Local<'a, Result<(), Halt>> {
        unreachable!("no step sends for itself")
    }

    fn arrived(&self, _: usize) -> bool {
        true
    }

    fn finish(&mut self, _: usize, response: RawResponse) -> Result<(), ReadError> {
        assert_ne!(response.body, "panic", "told to panic");
        if response.body == "broken" {
            Err("broken".to_owned().into())
        } else {
            Ok(())
        }
    }

    fn check(&mut self, _: usize, _: &mut Vu, _: &mut dyn FnMut(&'static str, Result<(), String>)) {
    }
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "the signature is that of every scenario"
)]
fn prepare(_: &SetupContext) -> Result<Prepared, SetupError> {
    Ok(Prepared {
        shared: Arc::new(()),
        target: None,
        rows: None,
        shared_feeds: Vec::new(),
    })
}

fn scenario(load: Load, steps: Vec<StepDef>) -> &'static Scenario {
    let length = steps.len();
    assert!(length <= 3);
    Box::leak(Box::new(Scenario {
        definition: sample::scenario(Some(load), steps),
        root: "",
        prepare,
        chain: |_, _| {
            Box::new(Linked {
                filled: vec![None; 3],
            })
        },
        teardown: |_, _| Ok(()),
    }))
}

/// What the server of a test does with the n-th request of a user in a step, at a time from the start.
type Script = dyn Fn(Duration) -> (Duration, Result<&'static str, ErrorKind>) + Send + Sync;

struct Scripted {
    script: Arc<Script>,
    start: Instant,
    seen: Arc<Mutex<Vec<Duration>>>,
}

impl Transport for Scripted {
    async fn send(&self, call: Call<'_>) -> Exchange {
        let begun = Instant::now();
        self.seen.lock().unwrap().push(begun - self.start);
        let (time, answer) = (self.script)(begun - self.start);
        let answer = if time > call.timeout {
            Err(ErrorKind::TimeoutHead)
        } else {
            answer
        };
        let sent = Traffic {
            requests: 1,
            sent_bytes: 10,
            ..Traffic::default()
        };
        call.unfinished.put(UnfinishedExchange {
            traffic: sent,
            phases: Phases::default(),
        });
        tokio::time::sleep(time.min(call.timeout)).await;
        call.unfinished.take();
        Exchange {
            result: match answer {
                Ok(body) => Ok(Received {
                    status: StatusCode::OK,
                    version: http::Version::HTTP_11,
                    headers: KeptHeaders::default(),
                    body: Bytes::from_static(body.as_bytes()),
                }),
                Err(kind) => Err(Failure::new(kind, "scripted")),
            },
            begun,
            service_time: begun.elapsed(),
            phases: Phases::default(),
            traffic: Traffic {
                received_bytes: 20,
                ..sent
            },
            redirected_to: None,
            events: None,
            socket: None,
            hops: None,
            requests: None,
        }
    }
}

struct Ran {
    windows: Windows,
    frames: Vec<Frame>,
    done: WorkerSummary,
    seen: Vec<Duration>,
}

impl Ran {
    fn all(&self) -> Tally {
        let mut all = Tally::default();
        self.windows
            .all()
            .into_iter()
            .for_each(|window| all.merge(window));
        let journeys = &all.journey;
        assert_eq!(
            self.done.planned,
            journeys.started + journeys.dropped,
            "planned = started + dropped"
        );
        assert_eq!(
            journeys.started,
            journeys.ok + journeys.failed + journeys.cancelled
        );
        all
    }
}

fn run(
    load: Load,
    steps: Vec<StepDef>,
    script: impl Fn(Duration) -> (Duration, Result<&'static str, ErrorKind>) + Send + Sync + 'static,
) -> Ran {
    run_workers(load, steps, 1, &Control::new(), None, script)
}

/// Runs the workers one after another, each on a paused clock of its own.
fn run_workers(
    load: Load,
    steps: Vec<StepDef>,
    workers: u32,
    control: &Control,
    stop: Option<(Duration, RunPhase)>,
    script: impl Fn(Duration) -> (Duration, Result<&'static str, ErrorKind>) + Send + Sync + 'static,
) -> Ran {
    let (scenario, plan) = planned(load, steps);
    run_plan(scenario, &plan, workers, control, stop, script)
}

fn planned(load: Load, steps: Vec<StepDef>) -> (&'static Scenario, Plan) {
    let scenario = scenario(load, steps);
    (scenario, plan_of(scenario))
}

fn plan_of(scenario: &Scenario) -> Plan {
    let plan = Plan::new(
        &scenario.definition,
        &Overrides::default(),
        &GradingDefaults::default(),
        7,
    );
    plan.unwrap()
}

fn block_on_paused_clock<R>(work: impl Future<Output = R>) -> R {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, work)
}

/// The only worker of a run.
fn worker_spec<T>(
    scenario: &'static Scenario,
    plan: &Plan,
    make_transport: impl Fn() -> T + Send + Sync + 'static,
) -> WorkerSpec<T> {
    WorkerSpec {
        scenario,
        shared: Arc::new(()),
        plan: plan.clone(),
        seed: 7,
        partition: Partition::new(plan.shard, 0, 1),
        crowded: false,
        occupancy: Arc::default(),
        meeting_points: MeetingPoints::new(&scenario.definition, plan),
        make_transport: Arc::new(move |_| make_transport()),
        tracing: None,
        samples: None,
    }
}

fn run_plan(
    scenario: &'static Scenario,
    plan: &Plan,
    workers: u32,
    control: &Control,
    stop: Option<(Duration, RunPhase)>,
    script: impl Fn(Duration) -> (Duration, Result<&'static str, ErrorKind>) + Send + Sync + 'static,
) -> Ran {
    let script: Arc<Script> = Arc::new(script);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let frames = Rc::new(RefCell::new(Vec::new()));
    let shared = (scenario.prepare)(&SetupContext::default()).unwrap().shared;
    let mut done = WorkerSummary::default();
    for worker in 0..workers {
        let theirs = block_on_paused_clock(async {
            // As in a real run, workers are there before the start.
            let start = Instant::now() + ms(20);
            let (script, seen) = (Arc::clone(&script), Arc::clone(&seen));
            let spec = WorkerSpec {
                shared: Shared::clone(&shared),
                partition: Partition::new(plan.shard, worker, workers),
                ..worker_spec(scenario, plan, move || Scripted {
                    script: Arc::clone(&script),
                    start,
                    seen: Arc::clone(&seen),
                })
            };
            if let Some((at, phase)) = stop {
                let control = control.clone();
                tokio::task::spawn_local(async move {
                    tokio::time::sleep_until(start + at).await;
                    if phase == RunPhase::Aborting {
                        control.abort();
                    } else {
                        control.stop();
                    }
                });
            }
            let frames = Rc::clone(&frames);
            let report = move |frame| frames.borrow_mut().push(frame);
            run_worker(
                spec,
                start,
                Pacer::with_runtime_timer(),
                StopSignals::new(control, &Control::new()),
                report,
            )
            .await
        });
        done.planned += theirs.planned;
        done.elapsed = done.elapsed.max(theirs.elapsed);
        done.out_of_rows |= theirs.out_of_rows;
    }
    let frames = frames.take();
    let mut windows = Windows::default();
    for frame in &frames {
        let frame: &Frame = frame;
        windows.merge(&frame.windows);
    }
    let seen = seen.lock().unwrap().clone();
    Ran {
        windows,
        frames,
        done,
        seen,
    }
}

fn rate(per_second: f64, ramp_up: Duration, duration: Duration) -> Load {
    Load::new(Shape::Rate {
        per_second,
        ramp_up,
        duration,
    })
}

fn users(users: u32, ramp_up: Duration, duration: Duration) -> Load {
    Load::new(Shape::Users {
        users,
        ramp_up,
        duration,
    })
}

fn quick(_: Duration) -> (Duration, Result<&'static str, ErrorKind>) {
    (ms(5), Ok(""))
}

#[test]
fn an_open_load_starts_every_arrival_at_its_instant() {
    let ran = run(
        rate(50.0, Duration::ZERO, ms(10_000)),
        vec![step("a")],
        quick,
    );
    let all = ran.all();
    assert_eq!(
        (all.journey.started, all.journey.ok, all.steps[0].ok),
        (500, 500, 500)
    );
    let due: Vec<Duration> = (0..500).map(|i| ms(20 * i)).collect();
    assert_eq!(ran.seen, due);
    assert_eq!(all.journey.time.max(), Some(ms(5)));
    assert_eq!(all.steps[0].sent_bytes, 5_000);
}

#[test]
fn fixed_work_begins_with_the_run_and_not_before() {
    let ran = run(Load::iterations(6, 3), vec![step("a")], quick);
    let all = ran.all();
    assert_eq!(all.journey.time.count(), 6);
    assert_eq!(all.journey.time.min(), Some(ms(5)));
    assert_eq!(all.journey.time.max(), Some(ms(5)));
}

#[test]
fn each_user_makes_its_own_part_of_the_iterations_however_slow_it_is() {
    let sent = AtomicU64::new(0);
    let first_is_slow = move |_| {
        let is_first = sent.fetch_add(1, Ordering::Relaxed) == 0;
        (ms(if is_first { 1_000 } else { 10 }), Ok(""))
    };
    let ran = run(
        Load::iterations_per_user(3, 2),
        vec![step("a")],
        first_is_slow,
    );
    assert_eq!(ran.all().journey.ok, 6);
    let instants = [0, 0, 10, 20, 1_000, 1_010];
    assert_eq!(ran.seen, instants.map(ms));
}

#[test]
fn users_with_iterations_of_their_own_take_the_numbers_in_turn() {
    let load = || Load::iterations_per_user(2, 2);
    for workers in [1, 2] {
        let ran = run_workers(
            load(),
            vec![step("a")],
            workers,
            &Control::new(),
            None,
            quick,
        );
        let all = ran.all();
        let slowest = all.journey.slowest.journeys();
        let mut numbers: Vec<_> = slowest
            .iter()
            .map(|journey| (journey.due_us, journey.iteration))
            .collect();
        numbers.sort_unstable();
        let turns = [(0, 0), (0, 1), (5_000, 2), (5_000, 3)];
        assert_eq!(numbers, turns, "{workers} workers");
        assert_eq!(ran.done.planned, 4);
    }
}

#[test]
fn workers_make_the_iterations_of_their_own_users() {
    let load = Load::iterations_per_user(5, 7);
    let ran = run_workers(load, vec![step("a")], 3, &Control::new(), None, quick);
    assert_eq!((ran.all().journey.ok, ran.done.planned), (35, 35));
    // Each user is done after five requests of 5 ms.
    let last = ran.seen.iter().max();
    assert_eq!(last, Some(&ms(20)));
}

#[test]
fn iterations_due_in_the_ramp_stay_out_of_the_headline() {
    let ran = run(rate(100.0, ms(10_000), ms(15_000)), vec![step("a")], quick);
    ran.all();
    assert_eq!(ran.windows.ramp.journey.started, 500);
    assert_eq!(ran.windows.steady.journey.started, 500);
    assert_eq!(ran.frames.len(), 16, "a frame a second and a last one");
}

#[test]
fn workers_share_the_arrivals_without_overlap() {
    let load = || rate(30.0, ms(1_000), ms(5_000));
    let one = run(load(), vec![step("a")], quick);
    let three = run_workers(load(), vec![step("a")], 3, &Control::new(), None, quick);
    let mut seen = three.seen.clone();
    seen.sort();
    assert_eq!(seen, one.seen);
    assert_eq!(three.all().journey, one.all().journey);
}

#[test]
fn a_stall_is_charged_to_every_arrival_that_waited() {
    // The server answers in 1 ms but for a stall from second 4 to 6; one user, so arrivals queue.
    let mut load = rate(100.0, Duration::ZERO, ms(10_000));
    load.max_users = Some(1);
    let ran = run(load, vec![step("a")], |at| {
        let stall = (ms(4_000)..ms(6_000)).contains(&at);
        (
            if stall {
                ms(6_000).saturating_sub(at)
            } else {
                ms(1)
            },
            Ok(""),
        )
    });
    let all = ran.all();
    assert_eq!(all.journey.ok, 1_000);
    assert_eq!(all.journey.dropped, 0);
    let longest = all.steps[0].response.max().unwrap();
    assert_eq!(longest, ms(2_000), "the first arrival of the stall");
    assert!(
        all.journey.waits.count() > 200,
        "all arrivals of the stall but the first waited"
    );
    // 200 arrivals come during the stall; the queue drains at one per millisecond.
    let over_a_second =
        all.steps[0].response.count() - all.steps[0].response.count_at_most(ms(1_000));
    assert!((100..=125).contains(&over_a_second), "{over_a_second}");
    let service = all.steps[0].service.quantile(0.9).unwrap();
    assert!(
        service <= Duration::from_micros(1_001),
        "the service itself was quick: {service:?}"
    );
}

#[test]
fn arrivals_that_find_no_user_before_the_end_are_dropped() {
    let mut load = rate(10.0, Duration::ZERO, ms(10_000));
    load.max_users = Some(2);
    let ran = run(load, vec![step("a")], |_| (ms(1_000), Ok("")));
    let all = ran.all();
    assert_eq!(ran.done.planned, 100);
    // Two users, a second each, ten seconds: those that start at 0, 0.1, 1, 1.1, .. 9, 9.1.
    assert_eq!(all.journey.started, 20);
    assert_eq!(all.journey.dropped, 80);
    assert_eq!(all.journey.ok, 20);
}

#[test]
fn dropped_arrivals_are_counted_in_the_window_they_were_due_in() {
    let mut load = rate(100.0, ms(4_000), ms(10_000));
    load.warm_up = ms(1_000);
    load.max_users = Some(1);
    let ran = run(load, vec![step("a")], |_| (ms(60_000), Ok("")));
    ran.all();
    assert_eq!(ran.windows.warm_up.journey.started, 1);
    assert_eq!(ran.windows.warm_up.journey.dropped, 99);
    assert_eq!(ran.windows.ramp.journey.dropped, 200);
    assert_eq!(ran.windows.steady.journey.dropped, 600);
}

#[test]
fn a_scenario_that_sends_nothing_neither_spins_nor_starves_the_clock() {
    let mut never = step("never");
    never.weight = 1e-9;
    let stop = Some((ms(500), RunPhase::Stopping));
    let load = users(1, Duration::ZERO, ms(3_600_000));
    let ran = run_workers(load, vec![never], 1, &Control::new(), stop, quick);
    assert!(ran.all().journey.ok > 0);
    assert!(ran.seen.is_empty());
}

#[test]
fn users_iterate_without_pause_and_think_is_part_of_no_latency() {
    let mut thinking = step("a");
    thinking.think = Some(Think::Uniform {
        min: ms(95),
        max: ms(95),
    });
    let ran = run(users(3, Duration::ZERO, ms(10_000)), vec![thinking], quick);
    let all = ran.all();
    assert_eq!(all.journey.ok, 300, "100 ms per iteration and user");
    assert_eq!(all.journey.time.max(), Some(ms(5)));
}

#[test]
fn users_of_stages_pause_while_they_are_not_wanted() {
    let stage = |from: f64, to: f64| Stage {
        from,
        to,
        duration: ms(1_000),
    };
    let stages = vec![stage(2.0, 2.0), stage(1.0, 1.0), stage(2.0, 2.0)];
    let ran = run(
        Load::new(Shape::UserStages {
            stages: stages.into(),
        }),
        vec![step("a")],
        |_| (ms(100), Ok("")),
    );
    assert_eq!(ran.all().journey.ok, 20 + 10 + 20);
}

#[test]
fn a_fixed_number_of_iterations_is_shared_exactly() {
    for workers in [1, 2, 3] {
        let load = Load::iterations(1_000, 7);
        let ran = run_workers(load, vec![step("a")], workers, &Control::new(), None, quick);
        assert_eq!(ran.all().journey.ok, 1_000, "{workers} workers");
    }
}

#[test]
fn dependants_of_a_failed_step_are_skipped_with_the_root_cause() {
    let ran = run(
        Load::iterations(10, 1),
        vec![step("login"), step("browse"), step("buy")],
        |_| (ms(5), Err(ErrorKind::ConnectRefused)),
    );
    let all = ran.all();
    assert_eq!((all.journey.ok, all.journey.failed), (0, 10));
    assert_eq!((all.steps[0].executed, all.steps[0].failed), (10, 10));
    assert_eq!((all.steps[1].skipped, all.steps[2].skipped), (10, 10));
    assert_eq!(
        all.steps[1].requests + all.steps[2].requests,
        0,
        "never sent wrong"
    );
    let buy = all
        .dependencies
        .iter()
        .find(|failure| failure.step == 2)
        .unwrap();
    assert_eq!((buy.upstream, buy.count), (1, 10));
    assert_eq!(
        buy.cause,
        Cause {
            root: RootCause::Failed,
            step: 0
        }
    );
    assert_eq!(
        buy.example,
        "needs `before`, but `browse` has no response: failed, after `login`"
    );
    assert_eq!(all.steps[0].errors[0].kind, ErrorKind::ConnectRefused);
    assert_eq!(all.steps[0].errors[0].count, 10);
    assert!(
        all.steps[0].response.is_empty(),
        "failed ones have a histogram of their own"
    );
    assert_eq!(all.steps[0].failed_response.count(), 10);
}

#[test]
fn what_chance_leaves_out_is_no_failure() {
    let mut login = step("login");
    login.weight = 0.25;
    let load = || Load::iterations(4_000, 1);
    let ran = run(load(), vec![login.clone(), step("browse")], quick);
    let all = ran.all();
    assert_eq!(all.journey.ok, 4_000);
    let drawn = all.steps[0].executed;
    assert!(
        (900..1_100).contains(&drawn),
        "{drawn} of 4,000 at a weight of 0.25"
    );
    assert_eq!(all.steps[0].not_drawn, 4_000 - drawn);
    assert_eq!(all.steps[1].skipped, 0);
    assert_eq!(all.steps[1].skipped_not_drawn, 4_000 - drawn);
    let again = run(load(), vec![login, step("browse")], quick);
    assert_eq!(
        again.all().steps[0].executed,
        drawn,
        "the same seed draws the same"
    );
}

#[test]
fn timeouts_enter_the_percentiles_at_their_deadline() {
    let mut slow = step("slow");
    slow.timeout = ms(200);
    let ran = run(Load::iterations(4, 1), vec![slow], |_| (ms(900), Ok("")));
    let all = ran.all();
    assert_eq!(all.steps[0].failed, 4);
    assert_eq!(all.steps[0].errors[0].kind, ErrorKind::TimeoutHead);
    assert_eq!(all.steps[0].response.count(), 4);
    assert_eq!(all.steps[0].response.max(), Some(ms(200)));
}

#[test]
fn a_panic_in_a_step_is_counted_and_the_user_lives_on() {
    let ran = run(Load::iterations(6, 2), vec![step("a"), step("b")], |_| {
        (ms(5), Ok("panic"))
    });
    let all = ran.all();
    assert_eq!(all.steps[0].failed, 6);
    assert_eq!(all.steps[0].errors[0].kind, ErrorKind::StepPanic);
    assert!(all.steps[0].errors[0].example.contains("told to panic"));
    assert_eq!(all.steps[1].skipped, 6);
}

#[test]
fn a_stop_lets_requests_end_but_not_thinking() {
    let mut thinking = step("a");
    thinking.think = Some(Think::Uniform {
        min: ms(60_000),
        max: ms(60_000),
    });
    let load = users(4, Duration::ZERO, ms(600_000));
    let stop = Some((ms(2_500), RunPhase::Stopping));
    let ran = run_workers(
        load,
        vec![thinking, step("b")],
        1,
        &Control::new(),
        stop,
        quick,
    );
    let all = ran.all();
    assert_eq!((all.journey.ok, all.journey.cancelled), (4, 0));
    assert_eq!(all.steps[1].ok, 4, "the remaining step ran");
    assert!(ran.done.elapsed < ms(2_600));
}

#[test]
fn an_abort_cancels_what_is_in_flight() {
    let load = users(4, Duration::ZERO, ms(600_000));
    let stop = Some((ms(2_500), RunPhase::Aborting));
    let ran = run_workers(load, vec![step("a")], 1, &Control::new(), stop, |_| {
        (ms(20_000), Ok(""))
    });
    let all = ran.all();
    assert_eq!((all.journey.started, all.journey.cancelled), (4, 4));
    assert_eq!(all.steps[0].cancelled, 4);
    assert!(ran.done.elapsed < ms(2_600));
}
