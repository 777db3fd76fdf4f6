#![deny(warnings, missing_docs, clippy::pedantic)]
#![forbid(unsafe_code)]
//! What the macro makes of `once`, `retry`, `until` and of steps that leave themselves out.

use crate::script::{Event, User, ok};
use loadtest::__private::{Chain, RawResponse, RequestBuf, SetupContext, Unmet};
use loadtest::prelude::*;
use loadtest_model::definition::{Retry, StatusRange, Trigger, Until};
use loadtest_model::metrics::RootCause;
use std::fmt;
use std::time::Duration;

#[response]
struct Job {
    id: u64,
    status: String,
}

#[scenario]
fn job() {
    #[step(once, retry(3, backoff = 50ms, on = 503 | 520..600 | timeout | connect | reset))]
    fn login() -> Request<Value> {
        Request::get("/login")
    }

    #[step(get = "/jobs/1", until = |job| job.status == "done" && job.id == 1, every = 1.5s, within = 2m)]
    fn wait() -> Job;

    #[step(get = "/ready", expect = 200 | 202, until = |r| r.status() == 200, retry(2))]
    fn ready();

    #[step(until = is_long)]
    fn list(login: &Value) -> Request<Vec<u64>> {
        Request::get(format!("/{}", login["path"].as_str().unwrap_or_default()))
    }

    fn is_long(list: &Response<Vec<u64>>) -> bool {
        list.len() > 1
    }
}

#[test]
fn the_definition_holds_what_is_declared_and_what_is_not() {
    let definition = &job().definition;
    assert!(definition.keeps_state, "the answer of a step is kept");
    let [login, wait, ready, list] = &*definition.steps else {
        panic!("four steps");
    };
    assert!(login.once && !wait.once);
    let retry = login.retry.as_ref().unwrap();
    assert_eq!((retry.times, retry.backoff), (3, Duration::from_millis(50)));
    let one = |from, to| Trigger::Status(StatusRange { from, to });
    assert_eq!(
        *retry.on,
        [
            one(503, 503),
            one(520, 599),
            Trigger::Timeout,
            Trigger::Connect,
            Trigger::Reset
        ]
    );
    let until = wait.until.as_ref().unwrap();
    assert_eq!(
        until.condition,
        "|job| job.status == \"done\" && job.id == 1"
    );
    assert_eq!(until.every, Duration::from_millis(1_500));
    assert_eq!(until.within, Duration::from_secs(120));
    let retry = ready.retry.as_ref().unwrap();
    assert_eq!((retry.times, retry.backoff), (2, Retry::BACKOFF));
    assert_eq!(&*retry.on, Retry::ON);
    let until = list.until.as_ref().unwrap();
    assert_eq!(until.condition, "is_long");
    assert_eq!((until.every, until.within), (Until::EVERY, Until::WITHIN));
    assert!(ready.reads.headers && !ready.reads.body);
    let json = serde_json::to_value(definition).unwrap();
    let again: loadtest_model::definition::ScenarioDef = serde_json::from_value(json).unwrap();
    assert_eq!(again, *definition);
}

fn chain() -> (Box<dyn Chain>, Vu) {
    let prepared = (job().prepare)(&SetupContext::default()).expect("no setup");
    let mut vu = Vu::new(0, 1);
    ((job().chain)(&prepared.shared, &mut vu), vu)
}

fn answer(status: u16, body: &'static str) -> RawResponse {
    let response = http::Response::builder().status(status);
    response.body(body.into()).expect("a status").into()
}

#[test]
fn a_condition_looks_at_the_last_answer_of_its_step() {
    let (mut chain, mut vu) = chain();
    chain.begin(&mut vu);
    assert!(!chain.arrived(1), "there is none yet");
    for (step, status, body, arrived) in [
        (1, 200, r#"{"id":1,"status":"new"}"#, false),
        (1, 200, r#"{"id":1,"status":"done"}"#, true),
        (1, 200, r#"{"id":2,"status":"done"}"#, false),
        (2, 202, "", false),
        (2, 200, "", true),
        (3, 200, "[1]", false),
        (3, 200, "[1,2]", true),
    ] {
        chain.finish(step, answer(status, body)).unwrap();
        assert_eq!(chain.arrived(step), arrived, "{step}: {status} {body}");
    }
    assert!(chain.arrived(0), "a step without a condition");
}

#[test]
fn the_answer_of_a_step_that_runs_once_stays() {
    let (mut chain, mut vu) = chain();
    let mut request = RequestBuf::default();
    chain.begin(&mut vu);
    chain.finish(0, answer(200, r#"{"path":"a"}"#)).unwrap();
    chain.finish(3, answer(200, "[1,2]")).unwrap();
    chain.begin(&mut vu);
    assert!(!chain.arrived(3), "any other is gone");
    chain.build(3, &mut vu, &mut request).unwrap();
}

/// An error of the user's own, which borrows, so that it is in no `dyn Any`.
#[derive(Debug)]
enum Own<'a> {
    Nothing(Skip),
    Bad(&'a str),
}

impl fmt::Display for Own<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing(_) => f.write_str("nothing to do"),
            Self::Bad(word) => write!(f, "a bad {word}"),
        }
    }
}

impl std::error::Error for Own<'_> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Nothing(skip) => Some(skip),
            Self::Bad(_) => None,
        }
    }
}

#[scenario]
fn choosy() {
    fn wanted(mode: &Value) -> Result<(), Skip> {
        match mode.as_str() {
            Some("skip") => Err(Skip::because("nothing is wanted")),
            _ => Ok(()),
        }
    }

    #[step(get = "/mode")]
    fn mode() -> Value;

    #[step]
    fn plain(mode: &Value) -> Result<Request<Value>, Skip> {
        wanted(mode)?;
        Ok(Request::get("/plain"))
    }

    #[step]
    fn any(mode: &Value) -> Result<Request, Error> {
        wanted(mode)?;
        mode.as_str().ok_or_else(|| Error::msg("no mode"))?;
        Ok(Request::get("/any"))
    }

    #[step]
    fn boxed(mode: &Value) -> Result<Request, Box<dyn std::error::Error>> {
        wanted(mode)?;
        mode.as_str().ok_or("no mode")?;
        Ok(Request::get("/boxed"))
    }

    #[step]
    fn own(mode: &Value) -> Result<Request, Own<'_>> {
        wanted(mode).map_err(Own::Nothing)?;
        match mode.as_str() {
            Some("bad") => Err(Own::Bad("mode")),
            _ => Ok(Request::get("/own")),
        }
    }

    #[step]
    fn text(mode: &Value) -> Result<Request, &str> {
        match mode.as_str() {
            Some("skip") => Err("text is no skip"),
            _ => Ok(Request::get("/text")),
        }
    }

    #[step]
    fn after(plain: &Value) -> Request {
        Request::post("/after").json(plain)
    }

    #[step]
    fn regardless(plain: Option<&Value>) -> Request {
        Request::get(if plain.is_some() { "/with" } else { "/without" })
    }
}

#[test]
fn a_step_leaves_itself_out_by_any_error_that_holds_a_skip() {
    let mut user = User::new(choosy());
    let events = user.iterate(&[], |_| ok(r#""skip""#));
    let left_out = || Unmet::LeftOut {
        reason: "nothing is wanted".to_owned(),
    };
    for (at, name) in ["plain", "any", "boxed", "own"].into_iter().enumerate() {
        assert_eq!(events[at + 1], Event::Unmet(name, left_out()));
    }
    let declined = Unmet::Declined {
        reason: "text is no skip".to_owned(),
    };
    assert_eq!(events[5], Event::Unmet("text", declined));
    let Event::Unmet("after", Unmet::Upstream { cause, .. }) = events[6] else {
        panic!("{:?}", events[6]);
    };
    assert_eq!((cause.root, cause.step), (RootCause::LeftOut, 1));
    assert_eq!(events[7], Event::Ok("regardless"));
    assert_eq!(user.sent.last().unwrap().line, "GET /without");
}

#[test]
fn other_errors_are_dependency_failures_as_before() {
    let mut user = User::new(choosy());
    let events = user.iterate(&[], |line| match line {
        "GET /mode" => ok(r#""bad""#),
        _ => ok("{}"),
    });
    let declined = Unmet::Declined {
        reason: "a bad mode".to_owned(),
    };
    assert_eq!(events[4], Event::Unmet("own", declined));
    let others = events
        .iter()
        .filter(|event| !matches!(event, Event::Ok(_)))
        .count();
    assert_eq!(others, 1);
}
