//! Answers of `once` steps that are stale: after a time, by a status, and as a step says.

use crate::paused::run_on_paused_clock;
use loadtest::card::Card;
use loadtest::prelude::*;
use loadtest::{Run, Scenario};
use loadtest_tests::{Reply, Request as Got};
use std::sync::Mutex;

/// A service whose tokens, `t1` and so on, are of use for so many requests; sessions are derived from them.
struct Service {
    tokens: Mutex<(u64, u64)>,
    lasts: u64,
}

impl Service {
    fn answer(&self, request: &Got) -> Reply {
        let (issued, used) = &mut *self.tokens.lock().unwrap();
        if request.path == "/login" {
            (*issued, *used) = (*issued + 1, 0);
            return Reply::status(200).body(format!("t{issued}"));
        }
        let given = request.header("authorization").unwrap_or_default();
        if request.path == "/session" {
            return Reply::status(200).body(given.replace("Bearer ", "s"));
        }
        let is_current = given.ends_with(&format!("t{issued}"));
        *used += u64::from(request.path == "/orders");
        Reply::status(if is_current && *used <= self.lasts {
            200
        } else {
            401
        })
    }
}

fn run(scenario: &'static Scenario, lasts: u64) -> Card {
    let service = Service {
        tokens: Mutex::default(),
        lasts,
    };
    run_on_paused_clock(Run::new(scenario), move |request| service.answer(request))
}

/// The executions of each step, those that failed, and the requests that were repeated.
fn counts(card: &Card) -> Vec<(u64, u64, u64)> {
    let steps = card.steps.iter();
    steps
        .map(|step| (step.executed, step.failed, step.retries))
        .collect()
}

fn errors(card: &Card) -> Vec<(String, u64)> {
    let errors = card.errors.iter();
    errors
        .map(|error| (error.kind.name().to_owned(), error.count))
        .collect()
}

/// A journey each second, and a token that is renewed before it has expired.
#[scenario(load = users(1, for = 10s, pace = 1s))]
fn kept_for_a_while() {
    #[step(post = "/login", once(for = 2500ms))]
    fn login() -> String;

    #[step(post = "/session", bearer = "{{login.response}}", once)]
    fn session() -> String;

    #[step(get = "/orders", bearer = "{{session.response}}")]
    fn orders();
}

#[test]
fn an_answer_that_is_kept_for_a_while_is_renewed_and_so_is_what_was_derived_from_it() {
    // Three journeys of ten go by with one token.
    let card = run(kept_for_a_while(), 3);
    assert_eq!(errors(&card), []);
    assert_eq!(counts(&card), [(4, 0, 0), (4, 0, 0), (10, 0, 0)]);
}

/// A token that is renewed when it has expired.
#[scenario(load = iterations(10, users = 1))]
fn refreshed() {
    #[step(post = "/login", once, refresh = 401 | 403)]
    fn login() -> String;

    #[step(post = "/session", bearer = "{{login.response}}", once)]
    fn session() -> String;

    #[step(get = "/orders", bearer = "{{session.response}}")]
    fn orders();

    #[step]
    fn order(login: &String) -> Request {
        Request::post("/orders").bearer_auth(login)
    }
}

#[test]
fn a_step_that_is_refused_is_sent_once_more_after_the_login() {
    // Twenty requests, of which every fourth is refused and sent again.
    let card = run(refreshed(), 3);
    assert_eq!(errors(&card), []);
    let repeated: u64 = card.steps[2].retries + card.steps[3].retries;
    assert_eq!(repeated, 6);
    let kept: Vec<_> = counts(&card).iter().map(|it| (it.0, it.1)).collect();
    assert_eq!(kept, [(7, 0), (7, 0), (10, 0), (10, 0)]);
    let requests = card.steps[2].requests + card.steps[3].requests;
    assert_eq!(requests, 26);
}

#[test]
fn a_second_refusal_is_a_failure() {
    let card = run(refreshed(), 0);
    let failed = || ("status".to_owned(), 10);
    assert_eq!(errors(&card), [failed(), failed()]);
    assert_eq!(
        counts(&card),
        [(21, 0, 0), (21, 0, 0), (10, 10, 10), (10, 10, 10)]
    );
}

/// Its steps send for themselves, and give a token back.
#[scenario(load = iterations(8, users = 1))]
fn given_back() {
    #[step(once)]
    async fn login(http: &mut Http) -> Result<String, Error> {
        let answer = http.post("/login").send().await?;
        Ok(answer.text().await?)
    }

    #[step]
    async fn orders(login: &String, http: &mut Http) -> Result<(), Error> {
        let answer = http.get("/orders").bearer_auth(login).send().await?;
        answer.error_for_status().map_err(Stale::because)?;
        Ok(())
    }

    #[step(get = "/profile", bearer = "{{login.response}}")]
    fn profile();
}

#[test]
fn a_step_that_gives_a_token_back_has_failed_and_those_after_it_have_a_new_one() {
    let card = run(given_back(), 3);
    assert_eq!(errors(&card), [("status".to_owned(), 2)]);
    assert_eq!(counts(&card), [(3, 0, 0), (8, 2, 0), (8, 0, 0)]);
}
