//! The end of a run: at its hard end at the latest, whatever servers and the scenario's code do.

use super::health::freezing;
use super::*;
use crate::engine::{self, Workers};
use crate::transport::memory::{MemoryServer, endless, silence};
use crate::transport::{HttpTransport, Network};
use loadtest_model::definition::StreamDef;
use loadtest_model::plan::GRACEFUL_STOP;
use loadtest_model::record::{EndReason, RunEnd};
use loadtest_tests::{Reply, Server};
use std::ops::ControlFlow;

/// A step whose own deadline is no help.
fn patient() -> StepDef {
    let mut step = step("a");
    step.timeout = ms(6_000_000);
    step
}

fn never(_: Duration) -> (Duration, Result<&'static str, ErrorKind>) {
    (ms(5_000_000), Ok(""))
}

#[test]
fn the_hard_end_is_the_graceful_time_after_the_load() {
    let ran = run(users(3, Duration::ZERO, ms(5_000)), vec![patient()], never);
    let all = ran.all();
    assert_eq!((all.journey.started, all.journey.cancelled), (3, 3));
    assert_eq!(ran.done.elapsed, ms(5_000) + GRACEFUL_STOP);
}

#[test]
fn a_stream_ends_with_the_load_once_it_has_had_the_graceful_time() {
    let elapsed = |graceful, steps| {
        let (scenario, mut plan) = planned(users(3, Duration::ZERO, ms(5_000)), steps);
        plan.graceful_stop = graceful;
        let ran = run_plan(scenario, &plan, 1, &Control::new(), None, never);
        let all = ran.all();
        assert_eq!((all.journey.started, all.journey.cancelled), (3, 3));
        assert_eq!((all.steps[0].executed, all.steps[0].cancelled), (0, 3));
        ran.done.elapsed
    };
    let streaming = || StepDef {
        stream: Some(StreamDef::UNDECLARED.clone()),
        ..patient()
    };
    assert_eq!(elapsed(ms(1_000), vec![streaming()]), ms(5_000));
    assert_eq!(elapsed(ms(8_000), vec![streaming()]), ms(8_000));
    assert_eq!(elapsed(ms(8_000), vec![patient()]), ms(13_000));
}

#[test]
fn an_open_load_on_a_server_that_never_answers_ends_with_all_cancelled_or_dropped() {
    let mut load = rate(100.0, Duration::ZERO, ms(5_000));
    load.max_users = Some(40);
    for workers in [1, 3] {
        let ran = run_workers(
            load.clone(),
            vec![patient()],
            workers,
            &Control::new(),
            None,
            never,
        );
        let all = ran.all();
        let journey = &all.journey;
        assert_eq!(
            (journey.cancelled, journey.dropped, journey.ok),
            (40, 460, 0)
        );
        assert_eq!(all.steps[0].cancelled, 40);
        assert_eq!(ran.done.elapsed, ms(5_000) + GRACEFUL_STOP);
    }
}

#[test]
fn what_ends_within_the_graceful_time_is_counted_to_the_last_millisecond() {
    // Two a second for 5 s: those that take as long as what is left of the run and its graceful time end.
    let takes = |time| {
        let ran = run(
            rate(2.0, Duration::ZERO, ms(5_000)),
            vec![patient()],
            move |_| (time, Ok("")),
        );
        let all = ran.all();
        (all.journey.ok, all.journey.cancelled, ran.done.elapsed)
    };
    // The last one is due at 4.5 s, and the hard end is at 35 s.
    assert_eq!(GRACEFUL_STOP, ms(30_000));
    assert_eq!(takes(ms(30_499)), (10, 0, ms(34_999)));
    assert_eq!(takes(ms(30_501)), (9, 1, ms(35_000)));
    assert_eq!(takes(ms(32_501)), (5, 5, ms(35_000)));
}

#[test]
fn fixed_work_lasts_as_long_as_its_requests_may() {
    // 7 iterations, 2 users, nobody answers: 4 deadlines one after another, and no end of a load.
    for workers in [1, 2] {
        let load = Load::iterations(7, 2);
        let ran = run_workers(load, vec![step("a")], workers, &Control::new(), None, never);
        let all = ran.all();
        assert_eq!((all.journey.failed, all.journey.cancelled), (7, 0));
        assert_eq!(ran.done.elapsed, 4 * step("a").timeout);
    }
}

#[test]
fn fixed_work_that_is_stopped_ends_the_graceful_time_later() {
    let load = Load::iterations(7, 2);
    let stop = Some((ms(1_000), RunPhase::Stopping));
    let ran = run_workers(load, vec![patient()], 1, &Control::new(), stop, never);
    let all = ran.all();
    assert_eq!((ran.done.planned, all.journey.cancelled), (2, 2));
    assert_eq!(ran.done.elapsed, ms(1_000) + GRACEFUL_STOP);
}

#[test]
fn a_stop_before_the_end_starts_the_graceful_time() {
    let stop = Some((ms(1_950), RunPhase::Stopping));
    let load = rate(10.0, Duration::ZERO, ms(60_000));
    let ran = run_workers(load, vec![patient()], 1, &Control::new(), stop, never);
    let all = ran.all();
    // Those due at 0, 0.1, .. 1.9 s.
    assert_eq!((ran.done.planned, all.journey.cancelled), (20, 20));
    assert_eq!(ran.done.elapsed, ms(1_950) + GRACEFUL_STOP);
}

#[test]
fn code_that_keeps_the_thread_beyond_the_end_of_the_load_gains_no_time_by_that() {
    let keeps_it = |time: Duration| {
        let answers = freezing(ms(4_900), time);
        let slow_then = move |at| {
            let (quick, answer) = answers(at);
            (if at < ms(4_900) { quick } else { ms(1_000) }, answer)
        };
        let load = users(1, Duration::ZERO, ms(5_000));
        let ran = run(load, vec![patient()], slow_then);
        (ran.all().journey.cancelled, ran.done.elapsed)
    };
    assert_eq!(keeps_it(ms(20_000)), (0, ms(4_900 + 20_000 + 1_000)));
    assert_eq!(keeps_it(ms(60_000)), (1, ms(4_900 + 60_000)));
}

/// Runs a load against a server that asks for the end in its `last` answer.
fn run_until_told(load: Load, last: u64) -> (RunEnd, Tally, u64) {
    let server = Server::start(move |request| {
        let reply = Reply::text("ok");
        if request.sequence + 1 == last {
            reply.header("loadtest-stop", "1")
        } else {
            reply
        }
    });
    let network = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(Network::prepare(Some(&server.url()), "run"));
    let network = Arc::new(network.unwrap());
    let halted = Arc::clone(&network);
    let (scenario, plan) = planned(load, vec![step("a"), step("b")]);
    let mut all = Tally::default();
    let run = engine::LoadRun {
        scenario,
        shared: &(Arc::new(()) as Shared),
        plan: &plan,
        workers: Workers::new(1, 1).unwrap(),
        start: engine::common_start(1),
        control: &Control::new(),
        tracing: None,
        samples: None,
    };
    let ended = run.run(
        move |user| HttpTransport::new(Arc::clone(&network), user),
        |frame| {
            for window in frame.windows.all() {
                all.merge(window);
            }
            match halted.halted() {
                Some(reason) => ControlFlow::Break(crate::redact::redact(reason)),
                None => ControlFlow::Continue(()),
            }
        },
    );
    (ended.unwrap(), all, server.requests())
}

#[test]
fn the_load_ends_at_the_first_request_that_is_refused_since_the_target_asked_for_the_end() {
    for load in [
        Load::iterations(1_000_000, 1),
        users(1, Duration::ZERO, ms(60_000)),
    ] {
        // The second step of the third journey, or the first one of the fourth.
        for (last, ok) in [(5, 2), (6, 3)] {
            let (end, all, requests) = run_until_told(load.clone(), last);
            assert_eq!(requests, last);
            let journey = &all.journey;
            assert_eq!((journey.ok, journey.failed), (ok, 0), "{load:?}");
            assert_eq!((journey.cancelled, journey.started), (1, ok + 1));
            assert_eq!(end.planned, ok + 1);
            let steps: Vec<_> = (all.steps.iter())
                .map(|step| (step.ok, step.failed, step.cancelled))
                .collect();
            let in_second = last % 2;
            let expected = [(3, 0, 1 - in_second), (last / 2, 0, in_second)];
            assert_eq!(steps, expected, "{load:?}");
            assert!(
                matches!(&end.ending, EndReason::Halted { reason } if reason.contains("`loadtest-stop`")),
                "{:?}",
                end.ending
            );
        }
    }
}

#[test]
fn servers_that_drip_or_say_nothing_do_not_outlast_the_hard_end() {
    let drip = || {
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n";
        endless(head, ms(1), b"d".into())
    };
    let flood = || {
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 1000000000000\r\n\r\n";
        endless(head, ms(1), vec![b'f'; 16 * 1024])
    };
    for reply in [silence, drip, flood] {
        let (scenario, mut plan) = planned(users(2, Duration::ZERO, ms(200)), vec![patient()]);
        plan.graceful_stop = ms(100);
        let all = Rc::new(RefCell::new(Tally::default()));
        let done = block_on_paused_clock(async {
            let server = MemoryServer::start(move |_| reply());
            let network = Network::prepare(Some(&server.url), "run").await.unwrap();
            let network = Arc::new(network);
            let make_transport = move || HttpTransport::new(Arc::clone(&network), 0);
            let spec = worker_spec(scenario, &plan, make_transport);
            let all = Rc::clone(&all);
            let report = move |frame: Frame| {
                for window in frame.windows.all() {
                    all.borrow_mut().merge(window);
                }
            };
            let control = Control::new();
            let signals = StopSignals::new(&control, &control);
            let start = Instant::now() + ms(20);
            run_worker(spec, start, Pacer::with_runtime_timer(), signals, report).await
        });
        let all = all.take();
        assert_eq!((all.journey.started, all.journey.cancelled), (2, 2));
        assert_eq!((done.planned, done.elapsed), (2, ms(300)));
    }
}

#[test]
fn a_server_that_never_pauses_does_not_outlast_the_hard_end() {
    let (control, stopping) = (Control::new(), AtomicU64::new(0));
    let stop = control.clone();
    let server = Server::start(move |_| {
        // Both users are within their requests.
        if stopping.fetch_add(1, Ordering::SeqCst) == 1 {
            stop.stop();
        }
        Reply::endless()
    });
    let network = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(Network::prepare(Some(&server.url()), "run"));
    let network = Arc::new(network.unwrap());
    let (scenario, mut plan) = planned(users(2, Duration::ZERO, ms(600_000)), vec![patient()]);
    plan.graceful_stop = ms(100);
    let mut all = Tally::default();
    let ended = engine::LoadRun {
        scenario,
        shared: &(Arc::new(()) as Shared),
        plan: &plan,
        workers: Workers::new(1, 1).unwrap(),
        start: engine::common_start(1),
        control: &control,
        tracing: None,
        samples: None,
    }
    .run(
        move |user| HttpTransport::new(Arc::clone(&network), user),
        |frame| {
            for window in frame.windows.all() {
                all.merge(window);
            }
            ControlFlow::Continue(())
        },
    );
    let ended = ended.unwrap();
    assert_eq!((ended.ending, ended.planned), (EndReason::Interrupted, 2));
    assert_eq!((all.journey.started, all.journey.cancelled), (2, 2));
    assert!(ended.elapsed_us >= 100_000, "{} µs", ended.elapsed_us);
}
