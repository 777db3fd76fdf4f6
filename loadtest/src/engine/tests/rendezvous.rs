//! Users that wait for each other before a step.

use super::*;
use loadtest_model::definition::Rendezvous;

fn meeting(name: &'static str, users: u32, within: Duration) -> StepDef {
    StepDef {
        rendezvous: Some(Rendezvous { users, within }),
        ..step(name)
    }
}

/// Runs several workers on one paused clock, as threads of a run share a real one.
fn run_together(
    load: Load,
    steps: Vec<StepDef>,
    workers: u32,
    stop: Option<(Duration, RunPhase)>,
    script: impl Fn(Duration) -> (Duration, Result<&'static str, ErrorKind>) + Send + Sync + 'static,
) -> Ran {
    let (scenario, plan) = planned(load, steps);
    let meeting_points = MeetingPoints::new(&scenario.definition, &plan);
    let script: Arc<Script> = Arc::new(script);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let frames = Rc::new(RefCell::new(Vec::new()));
    let control = Control::new();
    let done = block_on_paused_clock(async {
        let start = Instant::now() + ms(20);
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
        let mut tasks = Vec::new();
        for worker in 0..workers {
            let (script, seen) = (Arc::clone(&script), Arc::clone(&seen));
            let spec = WorkerSpec {
                partition: Partition::new(plan.shard, worker, workers),
                meeting_points: Arc::clone(&meeting_points),
                ..worker_spec(scenario, &plan, move || Scripted {
                    script: Arc::clone(&script),
                    start,
                    seen: Arc::clone(&seen),
                })
            };
            let frames = Rc::clone(&frames);
            let report = move |frame| frames.borrow_mut().push(frame);
            let signals = StopSignals::new(&control, &Control::new());
            let pacer = Pacer::with_runtime_timer();
            tasks.push(tokio::task::spawn_local(run_worker(
                spec, start, pacer, signals, report,
            )));
        }
        let mut done = WorkerSummary::default();
        for task in tasks {
            done.merge(&task.await.unwrap());
        }
        done
    });
    let frames: Vec<Frame> = frames.take();
    let mut windows = Windows::default();
    for frame in &frames {
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

/// One arrival every 100 ms, each of a user of its own.
fn trickle(duration: Duration) -> Load {
    rate(10.0, Duration::ZERO, duration).max_users(100)
}

fn at(instants: &[u64]) -> Vec<Duration> {
    instants.iter().copied().map(ms).collect()
}

#[test]
fn users_of_all_workers_go_when_so_many_have_come() {
    for workers in [1, 3] {
        let steps = vec![meeting("a", 5, ms(60_000))];
        let ran = run_together(trickle(ms(1_000)), steps, workers, None, quick);
        // Ten arrive at 0, 0.1, .. 0.9 s: the fifth and the tenth let their groups go.
        let instants = [[400; 5], [900; 5]].concat();
        assert_eq!(ran.seen, at(&instants), "{workers} workers");
        assert_eq!(ran.all().journey.ok, 10);
    }
}

#[test]
fn the_wait_is_part_of_no_latency_and_of_no_journey() {
    let ran = run_together(
        trickle(ms(1_000)),
        vec![meeting("a", 10, ms(60_000))],
        2,
        None,
        quick,
    );
    let all = ran.all();
    assert_eq!(all.journey.time.max(), Some(ms(5)));
    assert_eq!(all.steps[0].response.max(), Some(ms(5)));
    assert_eq!(all.steps[0].service.max(), Some(ms(5)));
}

#[test]
fn a_group_that_is_not_complete_in_time_goes_as_it_is() {
    let steps = vec![meeting("a", 4, ms(250))];
    let ran = run_together(trickle(ms(1_000)), steps, 2, None, quick);
    // Three come within 250 ms of the first; then the time runs again from the next one that comes.
    let instants = [[250; 3], [550; 3], [850; 3]].concat();
    assert_eq!(ran.seen[..9], at(&instants));
    // The last one comes at 900 ms, and goes with the end of the load.
    assert_eq!(ran.seen[9..], at(&[1_000]));
}

#[test]
fn the_end_of_the_load_and_a_stop_end_the_wait() {
    let steps = || vec![meeting("a", 50, ms(60_000)), step("b")];
    let ended = run_together(trickle(ms(300)), steps(), 2, None, quick);
    assert_eq!(ended.seen, at(&[300, 300, 300, 305, 305, 305]));
    let stop = Some((ms(150), RunPhase::Stopping));
    let stopped = run_together(trickle(ms(60_000)), steps(), 2, stop, quick);
    assert_eq!(stopped.seen, at(&[150, 150, 155, 155]));
    assert_eq!(stopped.all().journey.ok, 2);
}

#[test]
fn an_abort_ends_it_without_a_request() {
    let abort = Some((ms(150), RunPhase::Aborting));
    let steps = vec![meeting("a", 50, ms(60_000))];
    let ran = run_together(trickle(ms(60_000)), steps, 2, abort, quick);
    assert!(ran.seen.is_empty());
    let all = ran.all();
    assert_eq!((all.journey.cancelled, all.steps[0].cancelled), (2, 2));
}

#[test]
fn users_without_the_step_do_not_count() {
    // The second step needs the first, which fails for the first two.
    let steps = vec![step("a"), meeting("b", 2, ms(60_000))];
    let ran = run_together(trickle(ms(400)), steps, 2, None, |at| {
        let answer = if at < ms(150) {
            Err(ErrorKind::ConnectRefused)
        } else {
            Ok("")
        };
        (ms(5), answer)
    });
    assert_eq!(ran.seen, at(&[0, 100, 200, 300, 305, 305]));
    assert_eq!(ran.all().steps[1].skipped, 2);
}

#[test]
fn closed_users_meet_again_in_every_journey() {
    let sent = AtomicU64::new(0);
    let slowest_of_three = move |_| {
        let number = sent.fetch_add(1, Ordering::Relaxed) % 3;
        (ms(10 * (number + 1)), Ok(""))
    };
    let load = Load::iterations_per_user(3, 3);
    let ran = run_together(
        load,
        vec![meeting("a", 3, ms(60_000))],
        3,
        None,
        slowest_of_three,
    );
    let instants = [[0; 3], [30; 3], [60; 3]].concat();
    assert_eq!(ran.seen, at(&instants));
}

#[test]
fn the_last_group_of_fixed_work_goes_when_nobody_can_join_it() {
    for workers in [1, 2, 4] {
        // Ten iterations of four users in groups of three: after nine of them, one user comes alone.
        let steps = vec![meeting("a", 3, ms(60_000))];
        let ran = run_together(Load::iterations(10, 4), steps, workers, None, quick);
        assert_eq!(ran.all().journey.ok, 10, "{workers} workers");
        assert!(ran.done.elapsed <= ms(30), "{:?}", ran.done.elapsed);
    }
}

#[test]
fn a_user_whose_companions_are_done_goes_alone() {
    let steps = || vec![meeting("a", 3, ms(60_000)), meeting("b", 2, ms(60_000))];
    let three = Load::iterations_per_user(1, 3);
    let ran = run_together(three, steps(), 3, None, quick);
    // Two meet before `b`, and the third one waits until they have left.
    assert_eq!(ran.seen, at(&[0, 0, 0, 5, 5, 10]));
    // Whoever makes the fourth journey waits before `a` while the third one is before `b`.
    let ran = run_together(Load::iterations(4, 3), steps(), 1, None, quick);
    assert_eq!(ran.seen, at(&[0, 0, 0, 5, 5, 10, 10, 15]));
}
