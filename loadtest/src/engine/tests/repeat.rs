//! Steps that run once, send again, wait for an answer, or leave themselves out.

use super::{block_on_paused_clock, ms, prepare, worker_spec};
use crate::chain::{
    Chain, Halt, Http, Local, RawResponse, ReadError, RequestBuf, Scenario, Shared, Unmet, Vu,
};
use crate::engine::control::{Control, StopSignals};
use crate::engine::pacer::Pacer;
use crate::engine::smoke::run_smoke_test;
use crate::engine::worker::{WorkerSpec, run_worker};
use crate::transport::{Call, Exchange, Failure, KeptHeaders, Received, Transport};
use bytes::Bytes;
use http::StatusCode;
use loadtest_model::definition::sample;
use loadtest_model::definition::sample::step;
use loadtest_model::definition::{Load, Retry, Shape, StatusRange, StepDef, Think, Trigger, Until};
use loadtest_model::metrics::{Cause, RootCause};
use loadtest_model::metrics::{ErrorKind, Phases, Traffic};
use loadtest_model::metrics::{Histogram, StepTally, Tally, Windows};
use loadtest_model::plan::{GradingDefaults, Overrides, Plan};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

/// A chain in which every step needs the one before it. Step 0 leaves itself out in odd iterations where
/// its URL says so; `until` waits for the body `done`.
struct Waiting {
    filled: [Result<Bytes, Cause>; 3],
    leaves_out: bool,
    fails_checks: bool,
}

impl Chain for Waiting {
    fn begin(&mut self, _: &mut Vu) {}

    fn skip(&mut self, step: usize, cause: Cause) {
        self.filled[step] = Err(cause);
    }

    fn build(&mut self, step: usize, vu: &mut Vu, request: &mut RequestBuf) -> Result<(), Unmet> {
        if let Some(before) = step.checked_sub(1) {
            if let Err(cause) = self.filled[before] {
                let (step, variable) = (before, "before");
                return Err(Unmet::Upstream {
                    step,
                    variable,
                    cause,
                });
            }
        } else if self.leaves_out && vu.iteration() % 2 == 1 {
            let reason = "nothing to buy".to_owned();
            return Err(Unmet::LeftOut { reason });
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

    fn finish(&mut self, step: usize, response: RawResponse) -> Result<(), ReadError> {
        self.filled[step] = Ok(response.body);
        Ok(())
    }

    fn arrived(&self, step: usize) -> bool {
        let body = self.filled[step].as_ref().unwrap();
        assert_ne!(body, "panic", "told to panic");
        body == "done"
    }

    fn check(
        &mut self,
        step: usize,
        vu: &mut Vu,
        report: &mut dyn FnMut(&'static str, Result<(), String>),
    ) {
        if self.fails_checks && step == 0 && vu.iteration() == 0 {
            report("is_first", Err(String::new()));
        }
    }
}

/// What the server answers to the n-th request, and after how long.
type Script = dyn Fn(usize) -> (Duration, Answer) + Send + Sync;

#[derive(Clone, Copy)]
enum Answer {
    Body(&'static str),
    Status(u16),
    Fault(ErrorKind),
}
use Answer::{Body, Fault, Status};

struct Server {
    script: Arc<Script>,
    start: Instant,
    sent: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<Duration>>>,
}

impl Transport for Server {
    async fn send(&self, call: Call<'_>) -> Exchange {
        let begun = Instant::now();
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        self.seen.lock().unwrap().push(begun - self.start);
        let (time, answer) = (self.script)(number);
        tokio::time::sleep(time).await;
        let status = StatusCode::from_u16(match answer {
            Status(status) => status,
            _ => 200,
        });
        let status = status.unwrap();
        let failed = |kind, status| {
            Err(Failure {
                status,
                ..Failure::new(kind, format!("request {number}"))
            })
        };
        Exchange {
            result: match answer {
                Fault(kind) => failed(kind, None),
                _ if !call.expect.accepts(status.as_u16()) => {
                    failed(ErrorKind::Status, Some(status))
                }
                _ => Ok(Received {
                    version: http::Version::HTTP_11,
                    status,
                    headers: KeptHeaders::default(),
                    body: match answer {
                        Body(body) => Bytes::from_static(body.as_bytes()),
                        _ => Bytes::new(),
                    },
                }),
            },
            begun,
            service_time: begun.elapsed(),
            phases: Phases {
                first_byte: Some(time),
                ..Phases::default()
            },
            traffic: Traffic {
                requests: u32::from(!matches!(answer, Fault(ErrorKind::ConnectRefused))),
                sent_bytes: 10,
                received_bytes: 20,
                ..Traffic::default()
            },
            redirected_to: None,
            events: None,
            socket: None,
            hops: None,
            requests: None,
        }
    }
}

struct Case {
    load: Load,
    steps: Vec<StepDef>,
    leaves_out: bool,
    fails_checks: bool,
    stop: Option<Duration>,
    grace: Option<Duration>,
}

/// One user that goes through `steps` so often.
fn times(iterations: u64, steps: Vec<StepDef>) -> Case {
    Case {
        load: Load::iterations(iterations, 1),
        steps,
        leaves_out: false,
        fails_checks: false,
        stop: None,
        grace: None,
    }
}

impl Case {
    fn scenario(&self) -> &'static Scenario {
        let mut definition = sample::scenario(Some(self.load.clone()), self.steps.clone());
        definition.grace = self.grace;
        Box::leak(Box::new(Scenario {
            definition,
            root: "",
            prepare,
            chain: |shared, _| {
                let (leaves_out, fails_checks) = *shared.downcast_ref().unwrap();
                let unused = |step| {
                    let root = RootCause::NotDrawn;
                    Err(Cause { root, step })
                };
                Box::new(Waiting {
                    filled: [0, 1, 2].map(unused),
                    leaves_out,
                    fails_checks,
                })
            },
            teardown: |_, _| Ok(()),
        }))
    }

    fn shared(&self) -> Shared {
        Arc::new((self.leaves_out, self.fails_checks))
    }

    fn plan(scenario: &'static Scenario) -> Plan {
        let (overrides, defaults) = (Overrides::default(), GradingDefaults::default());
        Plan::new(&scenario.definition, &overrides, &defaults, 7).unwrap()
    }

    /// What was tallied, and when which request was sent.
    fn run(
        &self,
        script: impl Fn(usize) -> (Duration, Answer) + Send + Sync + 'static,
    ) -> (Tally, Vec<Duration>) {
        let scenario = self.scenario();
        let script: Arc<Script> = Arc::new(script);
        let (sent, seen) = (Arc::default(), Arc::<Mutex<Vec<_>>>::default());
        let windows = Rc::new(RefCell::new(Windows::default()));
        let planned = block_on_paused_clock(async {
            let start = Instant::now() + ms(20);
            let users_seen = Arc::clone(&seen);
            let spec = WorkerSpec {
                shared: self.shared(),
                ..worker_spec(scenario, &Self::plan(scenario), move || Server {
                    script: Arc::clone(&script),
                    start,
                    sent: Arc::clone(&sent),
                    seen: Arc::clone(&users_seen),
                })
            };
            let control = Control::new();
            if let Some(at) = self.stop {
                let control = control.clone();
                tokio::task::spawn_local(async move {
                    tokio::time::sleep_until(start + at).await;
                    control.stop();
                });
            }
            let all = Rc::clone(&windows);
            let report =
                move |frame: loadtest_model::metrics::Frame| all.borrow_mut().merge(&frame.windows);
            let orders = StopSignals::new(&control, &Control::new());
            run_worker(spec, start, Pacer::with_runtime_timer(), orders, report).await
        })
        .planned;
        let mut tally = Tally::default();
        for window in windows.borrow().all() {
            tally.merge(window);
        }
        let journey = &tally.journey;
        assert_eq!(planned, journey.started + journey.dropped);
        let ended = journey.ok + journey.failed + journey.cancelled;
        assert_eq!(journey.started, ended);
        let seen = seen.lock().unwrap().clone();
        (tally, seen)
    }

    fn smoke(
        &self,
        script: impl Fn(usize) -> (Duration, Answer) + Send + Sync + 'static,
    ) -> Result<(), String> {
        let scenario = self.scenario();
        block_on_paused_clock(async {
            let server = Server {
                script: Arc::new(script),
                start: Instant::now(),
                sent: Arc::default(),
                seen: Arc::default(),
            };
            let plan = Self::plan(scenario);
            let ran = run_smoke_test(scenario, &self.shared(), &plan, server).await;
            ran.map(|untested| assert_eq!(untested, None))
        })
    }
}

fn retry(times: u32, on: &[Trigger]) -> Retry {
    Retry {
        times,
        backoff: ms(100),
        on: on.to_vec().into(),
    }
}

fn status(status: u16) -> Trigger {
    Trigger::Status(StatusRange {
        from: status,
        to: status,
    })
}

fn until(every: u64, within: u64) -> Until {
    Until {
        condition: "|r| r.done".into(),
        every: ms(every),
        within: ms(within),
    }
}

/// The only time in a histogram.
fn only(times: &Histogram) -> Duration {
    assert_eq!(times.count(), 1);
    times.sum()
}

fn met(step: &StepTally) -> u64 {
    step.executed
        + step.not_drawn
        + step.left_out
        + step.kept
        + step.skipped
        + step.skipped_not_drawn
}

#[test]
fn a_failure_is_followed_by_the_same_request_and_the_backoff_doubles() {
    let steps = vec![StepDef {
        retry: Some(retry(3, &[status(503)])),
        ..step("a")
    }];
    let (all, seen) = times(1, steps).run(|n| match n {
        0 | 1 => (ms(10), Status(503)),
        _ => (ms(40), Body("")),
    });
    assert_eq!(seen, [ms(0), ms(110), ms(320)], "100 ms, then 200 ms");
    let step = &all.steps[0];
    assert_eq!((step.executed, step.ok, step.failed), (1, 1, 0));
    assert_eq!((step.requests, step.retries), (3, 2));
    assert_eq!((step.sent_bytes, step.received_bytes), (30, 60));
    assert_eq!(step.statuses, [(200, 1), (503, 2)].into());
    assert_eq!(step.phases.first_byte.count(), 3);
    assert_eq!(only(&step.service), ms(60), "the pauses are in no latency");
    assert_eq!(only(&step.response), ms(60));
    assert_eq!(only(&all.journey.time), ms(60));
    assert!(step.errors.is_empty(), "only the last failure is one");
}

#[test]
fn after_the_last_retry_the_last_failure_stays() {
    let steps = vec![
        StepDef {
            retry: Some(retry(2, &[status(503)])),
            ..step("a")
        },
        step("after"),
    ];
    let (all, seen) = times(1, steps).run(|_| (ms(10), Status(503)));
    assert_eq!(seen.len(), 3);
    let step = &all.steps[0];
    assert_eq!((step.executed, step.failed), (1, 1));
    assert_eq!((step.requests, step.retries), (3, 2));
    assert_eq!(step.errors.len(), 1);
    assert_eq!(
        (step.errors[0].count, &*step.errors[0].example),
        (1, "request 2")
    );
    assert_eq!(only(&step.failed_response), ms(30));
    assert_eq!(all.steps[1].skipped, 1);
    assert_eq!(all.journey.failed, 1);
}

#[test]
fn only_the_failures_that_are_named_are_retried() {
    let of = |on: &[Trigger], answer: Answer| {
        let steps = vec![StepDef {
            retry: Some(retry(1, on)),
            ..step("a")
        }];
        let (all, _) =
            times(1, steps).run(move |n| (ms(1), if n == 0 { answer } else { Body("") }));
        all.steps[0].ok == 1
    };
    assert!(of(&[status(503)], Status(503)));
    assert!(!of(&[status(503)], Status(502)));
    assert!(!of(&[Trigger::Timeout], Status(503)));
    assert!(of(&[Trigger::Timeout], Fault(ErrorKind::TimeoutHead)));
    assert!(!of(&[Trigger::Reset], Fault(ErrorKind::TimeoutTotal)));
    assert!(of(&[Trigger::Connect], Fault(ErrorKind::ConnectRefused)));
    assert!(of(&[Trigger::Connect], Fault(ErrorKind::DnsNxdomain)));
    assert!(of(&[Trigger::Connect], Fault(ErrorKind::TlsUntrusted)));
    assert!(!of(&[Trigger::Connect], Fault(ErrorKind::ResetBeforeHead)));
    assert!(of(&[Trigger::Reset], Fault(ErrorKind::ResetInBody)));
    assert!(of(&[Trigger::Reset], Fault(ErrorKind::ClosedFresh)));
    assert!(of(&[Trigger::Reset], Fault(ErrorKind::BodyTruncated)));
    assert!(!of(&[Trigger::Reset], Fault(ErrorKind::BodyTooLarge)));
    assert!(!of(
        &[status(503), Trigger::Reset],
        Fault(ErrorKind::GuardBlocked)
    ));
    for on in Retry::ON {
        let answer = match on {
            Trigger::Status(range) => Status(range.to),
            Trigger::Timeout => Fault(ErrorKind::TimeoutIdle),
            Trigger::Connect => Fault(ErrorKind::ConnectTimeout),
            Trigger::Reset => Fault(ErrorKind::ClosedReused),
        };
        assert!(of(Retry::ON, answer), "{on:?}");
    }
}

#[test]
fn a_request_that_was_never_written_is_no_retry() {
    let steps = vec![StepDef {
        retry: Some(retry(2, &[Trigger::Connect])),
        ..step("a")
    }];
    let (all, _) = times(1, steps).run(|_| (ms(1), Fault(ErrorKind::ConnectRefused)));
    let step = &all.steps[0];
    assert_eq!((step.requests, step.retries, step.failed), (0, 0, 1));
    assert_eq!(step.sent_bytes, 30, "it was tried three times");
}

#[test]
fn the_end_of_the_load_cuts_no_pause_before_a_retry_short_and_makes_no_failure() {
    let steps = vec![StepDef {
        retry: Some(retry(3, &[status(503)])),
        ..step("a")
    }];
    // By itself, and as Ctrl-C ends it.
    for stop in [None, Some(ms(50))] {
        let mut case = times(0, steps.clone());
        case.load = Load::new(Shape::Users {
            users: 1,
            ramp_up: Duration::ZERO,
            duration: ms(60),
        });
        case.stop = stop;
        let (all, seen) = case.run(|n| match n {
            0 | 1 => (ms(10), Status(503)),
            _ => (ms(10), Body("")),
        });
        assert_eq!(seen, [ms(0), ms(110), ms(320)]);
        let (step, journey) = (&all.steps[0], &all.journey);
        assert_eq!((step.ok, step.failed, step.cancelled), (1, 0, 0));
        assert_eq!((journey.ok, journey.failed, journey.cancelled), (1, 0, 0));
        // What the end of the grace cuts off was not refused as often as it may be.
        case.grace = Some(ms(200));
        let (all, seen) = case.run(|_| (ms(10), Status(503)));
        assert_eq!(seen, [ms(0), ms(110)]);
        let (step, journey) = (&all.steps[0], &all.journey);
        assert_eq!((step.executed, step.cancelled), (0, 1));
        assert_eq!((journey.failed, journey.cancelled), (0, 1));
    }
}

#[test]
fn a_step_asks_until_the_answer_is_there() {
    let steps = vec![
        StepDef {
            until: Some(until(500, 30_000)),
            think: Some(Think::Uniform {
                min: ms(1_000),
                max: ms(1_000),
            }),
            ..step("job")
        },
        step("after"),
    ];
    let (all, seen) = times(1, steps).run(|n| match n {
        2 => (ms(30), Body("done")),
        _ => (ms(10), Body("not yet")),
    });
    assert_eq!(seen, [ms(0), ms(510), ms(1_020), ms(2_050)]);
    let step = &all.steps[0];
    assert_eq!((step.executed, step.ok), (1, 1));
    assert_eq!((step.requests, step.retries), (3, 2));
    assert_eq!(only(&step.service), ms(50));
    assert_eq!(step.statuses, [(200, 3)].into());
    let done = step.done.as_ref().unwrap();
    assert_eq!((only(&done.ok), done.failed.count()), (ms(1_050), 0));
    assert_eq!(step.time_spent(), ms(1_050));
    assert_eq!(all.steps[1].done, None);
    assert_eq!(all.steps[1].ok, 1);
    assert_eq!(
        only(&all.journey.time),
        ms(60),
        "neither the pauses nor the think time"
    );
}

#[test]
fn a_step_gives_up_when_the_answer_does_not_come_in_time() {
    let steps = vec![
        StepDef {
            until: Some(until(500, 30_000)),
            ..step("job")
        },
        step("after"),
    ];
    let (all, seen) = times(1, steps).run(|_| (Duration::ZERO, Body("not yet")));
    assert_eq!((seen.len(), seen[60]), (61, ms(30_000)));
    let step = &all.steps[0];
    assert_eq!((step.failed, step.requests, step.retries), (1, 61, 60));
    assert_eq!(step.errors[0].kind, ErrorKind::StepAssert);
    assert_eq!(step.errors[0].status, Some(200));
    assert_eq!(
        step.errors[0].example,
        "`until` did not hold within 30s: 61 requests"
    );
    let after = &all.steps[1];
    assert_eq!(after.skipped, 1, "what it waited for never came");
    assert_eq!(all.dependencies[0].cause.root, RootCause::Failed);
}

#[test]
fn what_an_answer_takes_is_part_of_the_time_that_a_step_waits() {
    let steps = vec![StepDef {
        until: Some(until(500, 2_000)),
        ..step("job")
    }];
    let (all, seen) = times(1, steps).run(|_| (ms(700), Body("not yet")));
    // the third would be sent at 2 400 ms
    assert_eq!(seen, [ms(0), ms(1_200)]);
    assert_eq!(only(&all.steps[0].failed_response), ms(1_400));
    let done = all.steps[0].done.as_ref().unwrap();
    assert_eq!((done.ok.count(), only(&done.failed)), (0, ms(1_900)));
}

#[test]
fn an_unexpected_status_ends_a_wait_unless_it_is_retried() {
    let job = StepDef {
        until: Some(until(500, 10_000)),
        ..step("job")
    };
    let script = |n| match n {
        1 | 2 | 4 => (ms(10), Status(503)),
        5 => (ms(10), Body("done")),
        _ => (ms(10), Body("not yet")),
    };
    let (all, seen) = times(1, vec![job.clone()]).run(script);
    assert_eq!((seen.len(), all.steps[0].failed), (2, 1));
    assert_eq!(all.steps[0].errors[0].kind, ErrorKind::Status);
    let job = StepDef {
        retry: Some(retry(2, &[status(503)])),
        ..job
    };
    let (all, seen) = times(1, vec![job]).run(script);
    // each answer begins a new count of failures, and the backoff anew
    let pauses: Vec<_> = seen
        .windows(2)
        .map(|pair| pair[1].saturating_sub(pair[0] + ms(10)))
        .collect();
    assert_eq!(pauses, [ms(500), ms(100), ms(200), ms(500), ms(100)]);
    assert_eq!((all.steps[0].ok, all.steps[0].requests), (1, 6));
}

#[test]
fn a_condition_that_panics_fails_its_step_and_nothing_else() {
    let steps = vec![StepDef {
        until: Some(until(500, 30_000)),
        ..step("job")
    }];
    let (all, seen) = times(2, steps).run(|_| (ms(1), Body("panic")));
    assert_eq!((seen.len(), all.steps[0].failed), (2, 2));
    let error = &all.steps[0].errors[0];
    assert_eq!((error.kind, error.count), (ErrorKind::StepPanic, 2));
    assert!(
        error.example.starts_with("`until` panicked: "),
        "{}",
        error.example
    );
}

#[test]
fn an_answer_that_the_end_of_the_run_prevents_is_cancelled() {
    let steps = vec![
        StepDef {
            until: Some(until(500, 30_000)),
            ..step("job")
        },
        step("after"),
    ];
    let mut case = times(3, steps);
    case.stop = Some(ms(700));
    case.grace = Some(ms(1_000));
    let (all, seen) = case.run(|_| (ms(10), Body("not yet")));
    assert_eq!(seen, [ms(0), ms(510), ms(1_020), ms(1_530)]);
    let step = &all.steps[0];
    assert_eq!((step.executed, step.cancelled, step.requests), (0, 1, 4));
    assert_eq!(met(&all.steps[1]), 0, "the journey ends there");
    let journey = &all.journey;
    assert_eq!((journey.ok, journey.failed, journey.cancelled), (0, 0, 1));
}

#[test]
fn a_step_that_runs_once_keeps_its_response_and_is_not_thought_about_again() {
    let steps = vec![
        StepDef {
            once: true,
            think: Some(Think::Uniform {
                min: ms(1_000),
                max: ms(1_000),
            }),
            ..step("login")
        },
        step("browse"),
    ];
    let (all, seen) = times(3, steps).run(|_| (ms(10), Body("")));
    assert_eq!(seen, [ms(0), ms(1_010), ms(1_020), ms(1_030)]);
    let (login, browse) = (&all.steps[0], &all.steps[1]);
    assert_eq!((login.executed, login.kept, login.requests), (1, 2, 1));
    assert_eq!((browse.ok, browse.skipped), (3, 0));
    assert_eq!(all.journey.ok, 3);
}

#[test]
fn every_user_runs_a_step_once_for_itself() {
    let steps = vec![
        StepDef {
            once: true,
            ..step("login")
        },
        step("browse"),
    ];
    let mut case = times(0, steps);
    case.load = Load::iterations(12, 4);
    let (all, _) = case.run(|_| (ms(10), Body("")));
    assert_eq!((all.steps[0].executed, all.steps[0].kept), (4, 8));
    assert_eq!(all.steps[1].ok, 12);
}

#[test]
fn a_step_that_runs_once_runs_again_until_it_has_succeeded() {
    let once = |leaves_out, fails_checks| {
        let steps = vec![
            StepDef {
                once: true,
                ..step("login")
            },
            step("browse"),
        ];
        Case {
            leaves_out,
            fails_checks,
            ..times(4, steps)
        }
    };
    let (all, _) = once(false, false).run(|n| match n {
        0 | 1 => (ms(1), Status(500)),
        _ => (ms(1), Body("")),
    });
    let (login, browse) = (&all.steps[0], &all.steps[1]);
    assert_eq!((login.failed, login.ok, login.kept), (2, 1, 1));
    assert_eq!((browse.skipped, browse.ok), (2, 2));
    assert_eq!((all.journey.failed, all.journey.ok), (2, 2));

    // a failed check fails the step; its response is there for those that follow all the same
    let (all, _) = once(false, true).run(|_| (ms(1), Body("")));
    let (login, browse) = (&all.steps[0], &all.steps[1]);
    assert_eq!((login.failed, login.ok, login.kept), (1, 1, 2));
    assert_eq!((browse.skipped, browse.ok), (0, 4));
}

#[test]
fn a_step_that_leaves_itself_out_is_nobodys_failure() {
    let mut choosy = times(4, vec![step("buy"), step("pay"), step("show")]);
    choosy.leaves_out = true;
    let (all, _) = choosy.run(|_| (ms(1), Body("")));
    let [buy, pay, show] = all.steps.as_slice() else {
        unreachable!("three steps");
    };
    assert_eq!((buy.executed, buy.left_out, buy.skipped), (2, 2, 0));
    for after in [pay, show] {
        assert_eq!(
            (after.ok, after.skipped, after.skipped_not_drawn),
            (2, 0, 2)
        );
    }
    assert_eq!((all.journey.ok, all.journey.failed), (4, 0));
    let ledger: Vec<_> = all
        .dependencies
        .iter()
        .map(|line| (line.step, line.cause, line.count, &*line.example))
        .collect();
    let cause = Cause {
        root: RootCause::LeftOut,
        step: 0,
    };
    assert_eq!(ledger[0], (0, cause, 2, "nothing to buy"));
    assert_eq!((ledger[1].0, ledger[1].1, ledger[1].2), (1, cause, 2));
    assert_eq!((ledger[2].0, ledger[2].1, ledger[2].2), (2, cause, 2));
}

#[test]
fn under_cargo_test_a_step_waits_and_tries_again_as_it_does_under_load() {
    let steps = vec![
        StepDef {
            once: true,
            retry: Some(retry(1, &[status(503)])),
            until: Some(until(500, 1_000)),
            ..step("job")
        },
        step("after"),
    ];
    let done = times(1, steps.clone()).smoke(|n| match n {
        0 => (ms(1), Status(503)),
        1 => (ms(1), Body("not yet")),
        _ => (ms(1), Body("done")),
    });
    assert_eq!(done, Ok(()));
    let problems = times(1, steps).smoke(|_| (ms(1), Body("not yet")));
    let problems = problems.unwrap_err();
    for words in [
        "step `job` failed (step.assert): `until` did not hold within 1s: 2 requests\n  at tests/load.rs:",
        "step `after` was skipped",
    ] {
        assert!(problems.contains(words), "{problems}");
    }
}

#[test]
fn a_step_that_waits_goes_on_until_the_grace_after_the_load_is_over() {
    let steps = vec![StepDef {
        until: Some(until(500, 30_000)),
        ..step("job")
    }];
    let mut case = times(0, steps);
    case.load = Load::new(Shape::Users {
        users: 1,
        ramp_up: Duration::ZERO,
        duration: ms(2_000),
    });
    let (all, seen) = case.run(|n| match n {
        5 => (ms(10), Body("done")),
        _ => (ms(10), Body("not yet")),
    });
    assert_eq!(seen.len(), 6);
    assert_eq!((all.steps[0].ok, all.steps[0].cancelled), (1, 0));
    case.grace = Some(ms(1_000));
    let (all, seen) = case.run(|_| (ms(10), Body("not yet")));
    assert_eq!(seen.len(), 6, "from 0 to 2 550 ms");
    assert_eq!(all.steps[0].cancelled, 1);
}

#[test]
fn a_users_last_step_sends_again_and_waits_though_the_load_is_over() {
    let steps = vec![
        step("browse"),
        StepDef {
            last: true,
            retry: Some(retry(2, &[status(503)])),
            until: Some(until(500, 30_000)),
            ..step("tidy_up")
        },
    ];
    let mut case = times(0, steps);
    case.load = Load::new(Shape::Users {
        users: 1,
        ramp_up: Duration::ZERO,
        duration: ms(2_000),
    });
    case.stop = Some(ms(15));
    let (all, seen) = case.run(|n| match n {
        2 => (ms(10), Status(503)),
        3 => (ms(10), Body("not yet")),
        _ => (ms(10), Body("done")),
    });
    assert_eq!(seen[2..], [ms(20), ms(130), ms(640)]);
    let tidy_up = &all.steps[1];
    assert_eq!((tidy_up.ok, tidy_up.cancelled), (1, 0));
    assert_eq!((tidy_up.requests, tidy_up.retries), (3, 2));
    assert_eq!(only(&tidy_up.service), ms(30));
}

#[test]
fn under_cargo_test_a_users_last_step_runs_too() {
    let last = StepDef {
        last: true,
        ..step("log_out")
    };
    let steps = vec![step("login"), step("browse"), last];
    let answer = |n| match n {
        0 | 1 => (ms(1), Body("")),
        _ => (ms(1), Status(500)),
    };
    let problems = times(1, steps).smoke(answer).unwrap_err();
    assert!(problems.starts_with("step `log_out` failed"), "{problems}");
    assert!(problems.contains("request 2"), "{problems}");
}
