//! What the options of `#[scenario]` and `#[step]` become.

use crate::script::{Event, User, ok};
use loadtest::Scenario;
use loadtest::prelude::*;
use loadtest_model::definition::{
    Bound, Client, Cookies, Dns, Expect, HttpVersion, Load, Metric, ScenarioDef, Scope, Shape,
    Stage, StatusRange, StepDef, Think, Threshold,
};
use std::time::Duration;

const SOME: f64 = 0.25;

/// A scenario with every option.
#[scenario(
    name = "All of it",
    tags = ["one", "two"],
    base = "http://127.0.0.1:8080",
    load = rate(30/m, ramp_up = 1.5s, for = 1m, warm_up = 5s, max_users = 20),
    thresholds(
        p50 < 1ms, p90 <= 2ms, p95 < 300ms, p99 < 1s, p99_9 < 2s, max < 1m, mean < 10us,
        errors < 0.5%, checks >= 99%, skips < 1%, dropped <= 2%, retries < 5%, rps > 120/m,
        throughput > 1500kB/s,
    ),
    apdex = 250ms,
    budget = 2%,
    grade_weight = 1.5,
    version = "2024-1",
)]
fn everything() {
    #[step(get = "/", name = "The first", weight = SOME, expect = 200 | 3xx | 401..403 | 410..=411)]
    fn first();

    #[step(
        get = "/",
        weight = 80%,
        think = 500ms..2s,
        timeout = 2m,
        p95 < 300ms,
        errors < 1%,
        apdex = 100ms,
        budget = 0.1%,
        grade_weight = 3,
    )]
    fn second();

    #[step(options = "/", think = 1h)]
    fn third();
}

fn steps(scenario: &'static Scenario) -> &'static [StepDef] {
    &scenario.definition.steps
}

#[test]
fn scenario_options_are_kept() {
    let definition = &everything().definition;
    assert_eq!(definition.name, "All of it");
    assert_eq!(*definition.tags, ["one", "two"]);
    assert_eq!(definition.base.as_deref(), Some("http://127.0.0.1:8080"));
    assert_eq!(definition.apdex, Some(Duration::from_millis(250)));
    assert_eq!(definition.budget, Some(0.02));
    assert_eq!(definition.grade_weight, Some(1.5));
    assert_eq!(definition.revision(), "2024-1");
    assert_eq!(
        definition.identity(),
        "loadtest::it::definition::everything"
    );
    assert_eq!(
        definition.load,
        Some(Load {
            shape: Shape::Rate {
                per_second: 0.5,
                ramp_up: Duration::from_millis(1500),
                duration: Duration::from_secs(60),
            },
            warm_up: Duration::from_secs(5),
            max_users: Some(20),
            pace: None,
        })
    );
}

#[test]
fn thresholds_are_kept_in_the_unit_of_their_metric() {
    let thresholds = &everything().definition.thresholds;
    let metrics: Vec<Metric> = thresholds
        .iter()
        .map(|limit| limit.metric.clone())
        .collect();
    let of_journeys = Metric::WORDS.into_iter();
    let of_journeys = of_journeys.filter(|metric| metric.scope() != Scope::Step);
    assert_eq!(metrics, of_journeys.collect::<Vec<_>>());
    let shown: Vec<String> = thresholds.iter().map(Threshold::to_string).collect();
    assert_eq!(
        shown,
        [
            "p50 < 1ms",
            "p90 <= 2ms",
            "p95 < 300ms",
            "p99 < 1s",
            "p99_9 < 2s",
            "max < 60s",
            "mean < 10µs",
            "errors < 0.5%",
            "checks >= 99%",
            "skips < 1%",
            "dropped <= 2%",
            "retries < 5%",
            "rps > 2/s",
            "throughput > 1.5MB/s",
        ]
    );
}

/// A scenario with limits on parts, on its own metrics, and some that end its run.
#[scenario(
    base = "http://127.0.0.1:8080",
    thresholds(
        failed.p95 < 2s, lateness.p99 <= 5ms,
        count(sold_out) < 10 or abort, count("in line") > 5, rate(sold_out) < 1/s,
        time(queued).p95 < 200ms, time("in line").max < 1s or abort,
        errors < 5% or abort, p95 < 2s or abort after 30s, throughput < 2MiB/s or abort after 1m,
        rps > 5/s or abort after 1.5s,
    ),
)]
fn watched() {
    #[step(
        get = "/",
        service.p95 < 1s, connect.p50 < 1ms, tls.max < 2ms, first_byte.p99_9 < 3ms, body.mean < 4ms,
        failed.p90 < 5ms, skips < 1%, retries < 1%, throughput > 100B/s,
        errors < 10% or abort after 10s,
    )]
    fn first();
}

#[test]
fn what_a_limit_says_in_an_attribute_it_says_in_a_text() {
    let shown = |limits: &[Threshold]| limits.iter().map(ToString::to_string).collect::<Vec<_>>();
    let definition = &watched().definition;
    assert_eq!(
        shown(&definition.thresholds),
        [
            "failed.p95 < 2s",
            "lateness.p99 <= 5ms",
            "count(sold_out) < 10 or abort",
            "count(\"in line\") > 5",
            "rate(sold_out) < 1/s",
            "time(queued).p95 < 200ms",
            "time(\"in line\").max < 1s or abort",
            "errors < 5% or abort",
            "p95 < 2s or abort after 30s",
            "throughput < 2.097152MB/s or abort after 60s",
            "rps > 5/s or abort after 1.5s",
        ]
    );
    let step = &definition.steps[0].thresholds;
    assert_eq!(
        shown(step),
        [
            "service.p95 < 1s",
            "connect.p50 < 1ms",
            "tls.max < 2ms",
            "first_byte.p99_9 < 3ms",
            "body.mean < 4ms",
            "failed.p90 < 5ms",
            "skips < 1%",
            "retries < 1%",
            "throughput > 100B/s",
            "errors < 10% or abort after 10s",
        ]
    );
    let (of_scenario, of_step) = (definition.thresholds.iter(), step.iter());
    let all = of_scenario.map(|one| ("", one));
    for (step, threshold) in all.chain(of_step.map(|one| ("first.", one))) {
        let text = format!("{step}{}", threshold.without_abort());
        let read = loadtest_model::threshold::parse_conditions(&text).unwrap();
        assert_eq!(read[0].threshold, threshold.without_abort(), "{text}");
        // A record keeps it, whatever it says.
        let json = serde_json::to_string(threshold).unwrap();
        let kept: Threshold = serde_json::from_str(&json).unwrap();
        assert_eq!(kept, *threshold, "{json}");
    }
}

#[test]
fn a_threshold_of_a_record_from_before_there_were_aborts_is_read() {
    let json = r#"{"metric":"p99_9","comparison":"<=","bound":{"time_us":300000}}"#;
    let read: Threshold = serde_json::from_str(json).unwrap();
    assert_eq!(read.to_string(), "p99_9 <= 300ms");
    assert_eq!(serde_json::to_string(&read).unwrap(), json);
}

#[test]
fn step_options_are_kept() {
    let [first, second, third] = steps(everything()) else {
        panic!("three steps")
    };
    assert_eq!(first.name, "The first");
    assert!((first.weight - 0.25).abs() < f64::EPSILON);
    assert_eq!(
        first.expect.to_string(),
        "200 | 3xx | 401..=402 | 410..=411"
    );
    assert_eq!(first.expect.0[2], StatusRange { from: 401, to: 402 });
    assert_eq!(first.timeout, loadtest_model::definition::DEFAULT_TIMEOUT);

    assert!((second.weight - 0.8).abs() < f64::EPSILON);
    assert_eq!(second.expect, Expect::SUCCESS);
    let (min, max) = (Duration::from_millis(500), Duration::from_secs(2));
    assert_eq!(second.think, Some(Think::Uniform { min, max }));
    assert_eq!(second.timeout, Duration::from_secs(120));
    assert_eq!(second.thresholds[1].bound, Bound::Ratio(0.01));
    assert_eq!(second.apdex, Some(Duration::from_millis(100)));
    assert_eq!(second.budget, Some(0.001));
    assert_eq!(second.grade_weight, Some(3.0));

    let hour = Duration::from_secs(3600);
    assert_eq!(
        third.think,
        Some(Think::Uniform {
            min: hour,
            max: hour
        })
    );
    assert_eq!(third.method.as_deref(), Some("OPTIONS"));
    assert!((third.weight - 1.0).abs() < f64::EPSILON);
}

#[test]
fn a_definition_reads_back_from_json() {
    let written = serde_json::to_string(&everything().definition).expect("plain data");
    let read: ScenarioDef = serde_json::from_str(&written).expect("the same data");
    assert_eq!(read, everything().definition);
}

macro_rules! load {
    ($name:ident = $($load:tt)*) => {
        #[scenario(load = $($load)*)]
        fn $name() {
            #[step(get = "/")]
            fn step();
        }
    };
}
load!(closed = users(50, ramp_up = 10s, for = 5m));
load!(spawned = users(100, spawn = 5/s, for = 5m));
load!(spawned_slowly = users(4, spawn = 30/m, for = 5m));
load!(fixed = iterations(1_000, users = 10));
load!(fixed_per_user = iterations(20 / user, users = 10));
load!(fixed_alone = iterations(3));
load!(paced = users(5, for = 1m, pace = 1500ms));
load!(curved_rate = rate(curves::climb, for = 3s, warm_up = 1s, max_users = 7));
load!(curved_users = users(curves::climb, for = 2s, pace = 1s));

mod curves {
    use std::time::Duration;

    /// Two more each second.
    pub(super) fn climb(time: Duration) -> f64 {
        time.as_secs_f64() * 2.0
    }
}
load!(rate_stages = [
    rate(0/s -> 200/s, for = 10s, warm_up = 1s, max_users = 9),
    rate(200/s, for = 1m),
]);
load!(user_stages = [users(1 -> 5, for = 10s), users(5 -> 0, for = 20s)]);
load!(one_stage = rate(0/s -> 10/s, for = 10s));

#[scenario]
fn no_load() {
    #[step(get = "/")]
    fn step();
}

fn shape(scenario: &'static Scenario) -> Shape {
    scenario.definition.load.clone().expect("declared").shape
}

#[test]
fn users_who_spawn_at_a_rate_are_those_of_a_ramp() {
    let five_minutes = Duration::from_secs(300);
    for (scenario, users, ramp_up) in [(spawned(), 100, 20), (spawned_slowly(), 4, 8)] {
        let load = Load::users(users, five_minutes).ramp_up(Duration::from_secs(ramp_up));
        assert_eq!(scenario.definition.load, Some(load));
    }
}

#[test]
fn a_curve_is_kept_as_stages() {
    let stages = |count: u32| -> Vec<_> {
        let second = |i| {
            Stage::new(
                2.0 * f64::from(i),
                2.0 * f64::from(i + 1),
                Duration::from_secs(1),
            )
        };
        (0..count).map(second).collect()
    };
    let rate = Load::rate_stages(stages(3)).max_users(7);
    let rate = rate.warm_up(Duration::from_secs(1));
    assert_eq!(curved_rate().definition.load, Some(rate));
    let users = Load::user_stages(stages(2)).pace(Duration::from_secs(1));
    assert_eq!(curved_users().definition.load, Some(users));
}

#[test]
fn loads_of_all_models_are_kept() {
    let seconds = Duration::from_secs;
    assert_eq!(
        shape(closed()),
        Shape::Users {
            users: 50,
            ramp_up: seconds(10),
            duration: seconds(300)
        }
    );
    assert_eq!(shape(fixed()), Load::iterations(1000, 10).shape);
    assert_eq!(
        shape(fixed_per_user()),
        Load::iterations_per_user(20, 10).shape
    );
    assert_eq!(shape(fixed_alone()), Load::iterations(3, 1).shape);
    let minute = Load::users(5, seconds(60));
    assert_eq!(
        paced().definition.load,
        Some(minute.pace(Duration::from_millis(1_500)))
    );
    let stage = |from, to, length| Stage {
        from,
        to,
        duration: seconds(length),
    };
    let stages = vec![stage(0.0, 200.0, 10), stage(200.0, 200.0, 60)].into();
    assert_eq!(shape(rate_stages()), Shape::RateStages { stages });
    let load = rate_stages().definition.load.clone().expect("declared");
    assert_eq!((load.warm_up, load.max_users), (seconds(1), Some(9)));
    let stages = vec![stage(1.0, 5.0, 10), stage(5.0, 0.0, 20)].into();
    assert_eq!(shape(user_stages()), Shape::UserStages { stages });
    let stages = vec![stage(0.0, 10.0, 10)].into();
    assert_eq!(shape(one_stage()), Shape::RateStages { stages });
    assert_eq!(no_load().definition.load, None);
}

#[scenario(
    http = 2,
    connections = 8,
    cookies = user,
    dns = ttl,
    insecure = true,
    ca = "certs/ca.pem",
    identity = "certs/client.pem",
    redirects = 5,
)]
fn told() {
    #[step(get = "/")]
    fn inherits();

    #[step(get = "/", redirects = 0)]
    fn refuses();
}

#[scenario(http = 1, cookies = off, insecure = false)]
fn plain() {
    #[step(get = "/", redirects = 50)]
    fn follows();
}

#[test]
fn the_options_of_the_client_are_kept_and_steps_have_the_last_word() {
    let redirects = |scenario: &'static Scenario| -> Vec<u32> {
        let steps = &scenario.definition.steps;
        steps.iter().map(|step| step.redirects).collect()
    };
    let expected = Client {
        http: HttpVersion::Http2,
        connections: Some(8),
        new_connections: false,
        cookies: Cookies::User,
        dns: Dns::Ttl,
        insecure: true,
        ca: Some("certs/ca.pem".into()),
        identity: Some("certs/client.pem".into()),
    };
    assert_eq!(told().definition.client, expected);
    assert_eq!(redirects(told()), [5, 0]);
    let expected = Client {
        http: HttpVersion::Http1,
        cookies: Cookies::Off,
        ..Client::DEFAULT
    };
    assert_eq!(plain().definition.client, expected);
    assert_eq!(redirects(plain()), [50]);
    assert_eq!(no_load().definition.client, Client::DEFAULT);
    assert_eq!(redirects(no_load())[0], 0);
}

#[scenario(
    timeout = 2s,
    think = 10ms..20ms,
    expect = 200 | 404,
    retry(2),
    check = |answer| answer.status() == 200,
    check = |answer| !answer.headers().is_empty(),
)]
fn defaults() {
    #[step(get = "/plain")]
    fn plain() -> String;

    #[step(get = "/own", timeout = 9s, think = 0s, expect = 2xx, retry(5), check = |own| own.len() > 1)]
    fn own() -> String;

    #[step(post = "/login", once, retry(0))]
    fn login();

    #[step]
    async fn several(http: &mut Http) -> Result<(), Error> {
        http.get("/several").send().await?;
        Ok(())
    }
}

#[test]
fn options_of_a_scenario_hold_for_steps_that_lack_them() {
    let [plain, own, login, several] = &*defaults().definition.steps else {
        unreachable!("there are four steps")
    };
    let seconds = [plain, own, login, several].map(|step| step.timeout.as_secs());
    assert_eq!(seconds, [2, 9, 2, 2]);
    let think = [plain, own, login, several].map(|step| step.think.is_some());
    assert_eq!(think, [true, true, false, true]);
    assert_eq!(
        plain.think.map(|think| think.longest()),
        Some(Duration::from_millis(20))
    );
    assert_eq!(own.think.map(|think| think.longest()), Some(Duration::ZERO));
    let accepts = |step: &StepDef| step.expect.accepts(404);
    assert_eq!(
        [plain, own, login, several].map(accepts),
        [true, false, true, false]
    );
    let retries = |step: &StepDef| step.retry.as_ref().map_or(0, |retry| retry.times);
    assert_eq!([plain, own, login, several].map(retries), [2, 5, 0, 0]);
    assert!(plain.fingerprint != own.fingerprint);
}

#[scenario(check = |answer| answer.status() == 200)]
fn checked() {
    #[step(get = "/plain")]
    fn plain();

    #[step(get = "/own", check = |own| own.len() > 1)]
    fn own() -> String;
}

#[test]
fn a_check_of_a_scenario_comes_before_those_of_its_steps() {
    let events = User::new(checked()).iterate(&[], |_| ok("!"));
    let of_all = "|answer| answer.status() == 200";
    assert_eq!(
        events,
        [
            Event::Ok("plain"),
            Event::Check(of_all, Ok(())),
            Event::Ok("own"),
            Event::Check(of_all, Ok(())),
            Event::Check("|own| own.len() > 1", Err(String::new())),
        ]
    );
}
