//! Scenarios run as values, from ordinary code in every kind of runtime.

use crate::paused::run_on_paused_clock;
use loadtest::prelude::*;
use loadtest::{Control, Run, RunError};
use loadtest_model::card::{Trust, Verdict};
use loadtest_model::definition::{Load, Rate, Stage};
use loadtest_model::failure::FailureKind;
use loadtest_tests::{Reply, Request as Got, Server};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[response]
struct Login {
    token: String,
}

/// Two steps, the second of which needs the first.
#[scenario(thresholds(errors < 1%))]
fn visit() {
    #[step(post = "/login", json = { "user": "ada" })]
    fn login() -> Login;

    #[step(get = "/home", header("x-token", "{{login.response.token}}"))]
    fn home();
}

/// Its load is declared.
#[scenario(load = iterations(7, users = 2))]
fn declared() {
    #[step(get = "/")]
    fn ask();
}

static TORN_DOWN: AtomicU32 = AtomicU32::new(0);
static TORN_DOWN_IN_VAIN: AtomicU32 = AtomicU32::new(0);

/// Runs until it is stopped.
#[scenario]
fn long() {
    #[step(get = "/")]
    fn ask();

    #[teardown]
    fn count() {
        TORN_DOWN.fetch_add(1, Ordering::SeqCst);
    }
}

/// Set up for a target that is not there.
#[scenario]
fn in_vain() {
    #[step(get = "/")]
    fn ask();

    #[teardown]
    fn count() {
        TORN_DOWN_IN_VAIN.fetch_add(1, Ordering::SeqCst);
    }
}

/// Its setup fails.
#[scenario(base = "http://127.0.0.1:1")]
fn unfit() {
    #[setup]
    fn database() -> Result<u32, String> {
        Err("no database".to_owned())
    }

    #[step]
    fn ask(database: &u32) -> Request {
        Request::get(format!("/{database}"))
    }
}

/// Its setup is refused by the target.
#[scenario]
fn refused() {
    #[setup]
    async fn account(http: &mut Http) -> Result<u32, Error> {
        let answer = http.post("/accounts").send().await?;
        Ok(answer.error_for_status()?.json().await?)
    }

    #[step]
    fn ask(account: &u32) -> Request {
        Request::get(format!("/{account}"))
    }
}

/// Its requests name their user.
#[scenario]
fn named_users() {
    #[step(
        post = "/users/{{vu.id}}?journey={{vu.iteration}}",
        header("x-key", "{{vu.uuid}}"),
        json = { "id": {{vu.id}}, "key": "of {{vu.uuid}}" }
    )]
    fn sign_up();
}

/// Its step panics.
#[scenario]
fn panics() {
    #[step]
    fn ask() -> Request {
        panic!("in the step")
    }
}

fn shop() -> Server {
    Server::start(answer_visit)
}

fn answer_visit(request: &Got) -> Reply {
    match &*request.path {
        "/login" => Reply::json(r#"{"token":"t"}"#),
        "/home" | "/" => Reply::text("welcome"),
        _ => Reply::status(404),
    }
}

#[tokio::test]
async fn a_scenario_runs_within_a_runtime_of_one_thread() {
    let server = shop();
    let run = Run::new(visit())
        .load(Load::iterations(20, 4))
        .base_url(server.url())
        .without_validity()
        .seed(5);
    let card = run.run().await.unwrap();
    assert_eq!(
        (card.verdict, card.exit_code().number()),
        (Verdict::Passed, 0)
    );
    assert_eq!(card.headline.ok, 20);
    assert_eq!(card.setting.seed, 5);
    assert_eq!(server.requests_to("/login"), 20);
    assert_eq!(server.requests_to("/home"), 20);
    let text = card.to_string();
    assert!(text.starts_with("PASSED visit, grade "), "{text}");
    assert!(text.contains("20 ok, 0 failed"), "{text}");
    assert_eq!(
        text.lines().filter(|line| line.starts_with("  ")).count(),
        2
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_run_at_once_within_a_runtime_of_several_threads() {
    let (one, other) = (shop(), shop());
    let run = |server: &Server, count| {
        Run::new(visit())
            .load(Load::iterations(count, 2))
            .base_url(server.url())
            .run()
    };
    let (first, second) = tokio::join!(run(&one, 6), run(&other, 9));
    assert_eq!(first.unwrap().headline.ok, 6);
    assert_eq!(second.unwrap().headline.ok, 9);
    assert_eq!(one.requests_to("/home"), 6);
    assert_eq!(other.requests_to("/home"), 9);
}

#[test]
fn a_scenario_runs_without_a_runtime_and_under_its_declared_load() {
    let server = shop();
    let card = Run::new(declared())
        .base_url(server.url())
        .run_blocking()
        .unwrap();
    assert_eq!(card.headline.ok, 7);
    assert!(!card.setting.default_load);
}

#[tokio::test]
async fn a_failed_step_is_a_failed_card_and_no_error() {
    let server = Server::start(|_| Reply::status(500));
    let card = Run::new(visit())
        .load(Load::iterations(4, 1))
        .base_url(server.url())
        .without_validity()
        .run()
        .await
        .unwrap();
    assert_eq!(
        (card.verdict, card.exit_code().number()),
        (Verdict::Failed, 99)
    );
    let text = card.to_string();
    assert!(
        text.contains("\n  4 x ") && text.contains(" in login: "),
        "{text}"
    );
    assert!(text.contains("`home` needed"), "{text}");
}

#[tokio::test]
async fn what_prevents_a_run_is_an_error_with_its_kind() {
    let failed = Run::new(unfit()).run().await.unwrap_err();
    assert_eq!(
        (failed.kind, failed.exit_code().number()),
        (FailureKind::Setup, 100)
    );
    assert!(failed.to_string().contains("no database"), "{failed}");

    let server = Server::start(|_| Reply::status(422).body(r#"{"error":"no plan","token":"x1"}"#));
    let refused = Run::new(refused()).base_url(server.url()).run().await;
    let message = refused.unwrap_err().message;
    assert!(message.contains("422 Unprocessable Entity"), "{message}");
    let body =
        r#"the last answer with an error status was `{"error":"no plan","token":"[redacted]"}`"#;
    assert!(message.contains(body), "{message}");
    let without = Run::new(visit()).run().await.unwrap_err();
    assert_eq!(without.exit_code().number(), 2);
    assert!(
        without.to_string().contains("return a `Target`"),
        "{without}"
    );

    let foreign = Run::new(visit()).base_url("http://10.255.255.1:9");
    assert_eq!(foreign.run().await.unwrap_err().exit_code().number(), 103);

    let closed = shop().url();
    let gone: RunError = Run::new(in_vain())
        .base_url(closed)
        .run()
        .await
        .unwrap_err();
    assert_eq!(gone.exit_code().number(), 100);
    let torn_down = TORN_DOWN_IN_VAIN.load(Ordering::SeqCst);
    assert_eq!(torn_down, 1, "what was set up is torn down");
}

#[tokio::test]
async fn a_load_without_sense_is_refused() {
    let second = Duration::from_secs(1);
    for (load, words) in [
        (Load::rate(Rate::per_second(0.0), second), "starts nothing"),
        (
            Load::rate(Rate::per_second(f64::NAN), second),
            "starts nothing",
        ),
        (
            Load::users(5, second).ramp_up(second),
            "leaves nothing of the run",
        ),
        (Load::users(5, Duration::MAX), "30 days"),
        (Load::users(5, second).warm_up(Duration::MAX), "30 days"),
        (
            Load::rate(Rate::per_second(5.0), second).max_users(0),
            "at most 0 users",
        ),
        (Load::iterations(0, 5), "0 iterations"),
        (
            Load::rate_stages([Stage::new(-1.0, 5.0, second)]),
            "a load of -1 at 0s",
        ),
        (
            Load::user_stages([Stage::new(1.0, 1.0, Duration::MAX); 2]),
            "30 days",
        ),
    ] {
        let error = loadtest::run(declared(), load).await.unwrap_err();
        assert_eq!(error.exit_code().number(), 2, "{error}");
        assert!(error.message.contains(words), "{error}");
    }
}

#[tokio::test]
async fn a_dropped_future_stops_the_run_in_order() {
    let server = shop();
    let run = Run::new(long())
        .load(Load::users(2, Duration::from_secs(600)))
        .base_url(server.url())
        .run();
    let begun = async {
        while server.requests() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        result = run => panic!("it lasts for ten minutes: {result:?}"),
        () = begun => {}
    }
    while TORN_DOWN.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let sent = server.requests();
    tokio::task::yield_now().await;
    assert_eq!(
        server.requests(),
        sent,
        "nothing is sent after the teardown"
    );
}

#[tokio::test]
async fn panics_are_those_of_the_scenario_that_ran() {
    let server = shop();
    let quiet = Run::new(visit())
        .load(Load::iterations(5, 1))
        .base_url(server.url())
        .run();
    let loud = Run::new(panics())
        .load(Load::iterations(5, 1))
        .base_url(server.url())
        .run();
    let (quiet, loud) = tokio::join!(quiet, loud);
    assert!(quiet.unwrap().panics.is_empty());
    let loud = loud.unwrap();
    assert_eq!(loud.panics.len(), 1);
    assert_eq!(
        (loud.panics[0].count, &*loud.panics[0].message),
        (5, "in the step")
    );
}

/// Started in this very process.
#[scenario(load = iterations(10, users = 2))]
fn inside() {
    #[setup]
    fn api() -> Result<Target, TargetError> {
        Target::serve(serve)
    }

    #[step(get = "/", expect = 200)]
    fn ask();
}

async fn serve(listener: tokio::net::TcpListener) -> std::io::Result<()> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    loop {
        let (mut stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            let mut buffer = [0; 4096];
            while let Ok(1..) = stream.read(&mut buffer).await {
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
                if stream.write_all(answer).await.is_err() {
                    return;
                }
            }
        });
    }
}

#[tokio::test]
async fn a_target_in_this_process_is_served_and_told_on_the_card() {
    let card = Run::new(inside()).run().await.unwrap();
    assert_eq!(card.headline.ok, 10);
    assert!(card.setting.own_target);
    assert_eq!(card.target_death, None);
    let cause = card
        .validity
        .causes
        .iter()
        .find(|cause| cause.what == "the target runs inside the generator's process")
        .unwrap();
    assert_eq!(cause.trust, Trust::Degraded);
    assert!(cause.remedy.contains("Target::binary"));
    let url = card.setting.base_url.unwrap();
    let address = url.trim_start_matches("http://");
    assert!(
        std::net::TcpStream::connect(address).is_err(),
        "it is stopped"
    );
}

#[test]
fn a_control_stops_a_run_whose_progress_is_reported_every_second() {
    let control = Control::new();
    let reports = Arc::new(Mutex::new(Vec::new()));
    let (stop, seen) = (control.clone(), Arc::clone(&reports));
    let run = Run::new(visit())
        .load(Load::users(2, Duration::from_secs(600)))
        .control(&control)
        .on_progress(move |progress| {
            let mut reports = seen.lock().unwrap();
            reports.push(progress);
            if reports.len() == 2 {
                stop.stop();
            }
        });
    // Two requests of 50 ms in each journey.
    let card = run_on_paused_clock(run, |request| {
        answer_visit(request).delay(Duration::from_millis(50))
    });
    assert_eq!(card.verdict, Verdict::Interrupted);
    let reports = reports.lock().unwrap();
    let seconds: Vec<u64> = reports.iter().map(|one| one.elapsed.as_secs()).collect();
    assert_eq!(seconds, [1, 2, 3], "it ends with the journeys under way");
    assert!((18..=22).contains(&reports[0].ok), "{reports:?}");
    assert!((38..=42).contains(&reports[1].ok), "{reports:?}");
    let last = reports.last().unwrap();
    assert_eq!((last.started, last.failed), (last.ok, 0));
    assert_eq!(last.ok, card.accounts.ok);
}

#[test]
fn a_run_whose_control_was_used_before_does_not_begin() {
    let server = shop();
    let control = Control::new();
    control.abort();
    let run = Run::new(visit()).load(Load::iterations(5, 1));
    let run = run.base_url(server.url()).control(&control);
    let error = run.run_blocking().unwrap_err();
    assert_eq!(error.kind, FailureKind::Interrupted);
    assert_eq!(error.message, "stopped before the load started");
}

/// A failed step, or check, ends the journey.
#[scenario(stop_on_failure)]
fn strict() {
    #[step(get = "/fine")]
    fn fine();

    #[step(get = "/", check = |answer| answer.status() != 200)]
    fn refused();

    #[step(get = "/after")]
    fn after();

    #[step]
    async fn afterwards(http: &mut Http) -> Result<(), Error> {
        http.get("/after").send().await?;
        Ok(())
    }

    #[step(get = "/leave", last)]
    fn leave();
}

#[test]
fn a_failure_ends_the_journey_where_the_scenario_says_so() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let paths = Arc::clone(&seen);
    let server = Server::start(move |request| {
        paths.lock().unwrap().push(request.path.clone());
        Reply::text("ok")
    });
    let run = Run::new(strict()).load(Load::iterations(4, 1));
    let card = run.base_url(server.url()).run_blocking().unwrap();
    let mut seen = seen.lock().unwrap().clone();
    seen.sort_unstable();
    let expected = [
        "/", "/", "/", "/", "/fine", "/fine", "/fine", "/fine", "/leave",
    ];
    assert_eq!(seen, expected);
    assert_eq!((card.accounts.ok, card.accounts.failed), (0, 4));
    let steps = card.steps.iter().map(|step| (step.executed, step.skipped));
    assert_eq!(
        steps.collect::<Vec<_>>(),
        [(4, 0), (4, 0), (0, 4), (0, 4), (1, 0)]
    );
    let examples = card.dependency_failures.iter().map(|row| &*row.example);
    assert_eq!(
        examples.collect::<Vec<_>>(),
        ["`refused` failed, which ends the journey"; 2]
    );
}

#[tokio::test]
async fn templates_have_values_of_the_user() {
    let mut runs = Vec::new();
    for _ in 0..2 {
        let server = Server::recording(|_| Reply::text("ok"));
        let load = Load::iterations(2, 1);
        let run = Run::new(named_users()).load(load).seed(7);
        run.base_url(server.url()).run().await.unwrap();
        runs.push(server.recorded());
    }
    let [first, second] = runs.as_slice() else {
        unreachable!("there are two runs")
    };
    let sent = |run: &[loadtest_tests::Request]| -> Vec<_> {
        run.iter()
            .map(|one| {
                let key = one.header("x-key").map(str::to_owned);
                (one.target.clone(), key, one.body.clone())
            })
            .collect()
    };
    assert_eq!(sent(first), sent(second), "one seed, the same requests");
    let targets: Vec<_> = first.iter().map(|one| one.target.as_str()).collect();
    assert_eq!(targets, ["/users/0?journey=0", "/users/0?journey=1"]);
    let keys: Vec<_> = first.iter().map(|one| one.header("x-key")).collect();
    assert!(keys[0] != keys[1], "{keys:?}");
}
