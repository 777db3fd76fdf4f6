//! Setups whose values are fetched again during the load: once for all users, and outside of their journeys.

use crate::paused::run_on_paused_clock;
use loadtest::card::Card;
use loadtest::prelude::*;
use loadtest::{Run, Scenario};
use loadtest_tests::{Reply, Request as Got};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

/// A service whose tokens, `t1` and so on, are of use for a time and, by the requests to `/orders`, so often.
struct Service {
    lifetime: Duration,
    uses: u64,
    /// The fetches that fail, counted from one.
    failing: std::ops::Range<usize>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// When each token was given; nothing for a fetch that failed.
    fetches: Vec<Option<Instant>>,
    used: u64,
}

impl Service {
    fn new() -> Self {
        Self {
            lifetime: Duration::MAX,
            uses: u64::MAX,
            failing: 0..0,
            state: Mutex::default(),
        }
    }

    fn answer(&self, request: &Got) -> Reply {
        let State { fetches, used } = &mut *self.state.lock().unwrap();
        if request.path == "/token" {
            let fails = self.failing.contains(&(fetches.len() + 1));
            fetches.push((!fails).then(Instant::now));
            *used = 0;
            return if fails {
                Reply::status(503).body("busy")
            } else {
                Reply::text(format!("t{}", fetches.len()))
            };
        }
        *used += u64::from(request.path == "/orders");
        let given = request.header("authorization").unwrap_or_default();
        let given = given.trim_start_matches("Bearer ").trim_start_matches('s');
        let token = given.trim_start_matches('t').parse::<usize>();
        let fetched = token.ok().and_then(|number| *fetches.get(number - 1)?);
        let is_young = fetched.is_some_and(|at| at.elapsed() < self.lifetime);
        if !is_young || *used > self.uses {
            return Reply::status(401);
        }
        Reply::text(format!("s{given}"))
    }
}

/// The card of a run against `service`, and the number of fetches.
fn run(scenario: &'static Scenario, service: Service) -> (Card, usize) {
    let service = Arc::new(service);
    let asked = Arc::clone(&service);
    let card = run_on_paused_clock(Run::new(scenario), move |request| asked.answer(request));
    let fetches = service.state.lock().unwrap().fetches.len();
    (card, fetches)
}

/// The executions of each step, those that failed, those that were skipped, its requests, and those that were repeated.
fn counts(card: &Card) -> Vec<[u64; 5]> {
    let steps = card.steps.iter();
    steps
        .map(|step| {
            let skipped = step.skipped;
            [
                step.executed,
                step.failed,
                skipped,
                step.requests,
                step.retries,
            ]
        })
        .collect()
}

async fn fetch_token(http: &mut Http) -> Result<String, Error> {
    let answer = http.post("/token").send().await?;
    Ok(answer.error_for_status()?.text().await?)
}

#[scenario(load = users(30, pace = 4s, for = 150s))]
fn kept_fresh() {
    #[setup(for = 50s)]
    async fn token(http: &mut Http) -> Result<String, Error> {
        fetch_token(http).await
    }

    #[step(get = "/orders", bearer = "{{token}}")]
    fn orders();
}

#[test]
fn a_value_is_fetched_again_before_it_expires_once_for_all_users() {
    let service = Service {
        lifetime: Duration::from_secs(50),
        ..Service::new()
    };
    let (card, fetches) = run(kept_fresh(), service);
    // Before the load, and by the first journeys after 45 s more: after 48, 96 and 144 s.
    assert_eq!(fetches, 4);
    assert_eq!(counts(&card), [[1140, 0, 0, 1140, 0]]);
    assert_eq!(card.headline.failed, 0);
}

#[scenario(load = users(30, pace = 10s, for = 60s))]
fn refused() {
    #[setup(refresh = 401 | 403)]
    async fn token(http: &mut Http) -> Result<String, Error> {
        fetch_token(http).await
    }

    #[step]
    fn orders(token: &str) -> Request {
        Request::get("/orders").bearer_auth(token)
    }
}

#[test]
fn users_that_are_refused_with_one_value_fetch_one_new_value_and_are_sent_again() {
    let service = Service {
        lifetime: Duration::from_secs(25),
        ..Service::new()
    };
    let (card, fetches) = run(refused(), service);
    assert_eq!(fetches, 2);
    assert_eq!(counts(&card), [[180, 0, 0, 210, 30]]);
    assert_eq!(card.errors.len(), 0);
}

#[scenario(load = users(1, pace = 400ms, for = 2s))]
fn refused_always() {
    #[setup(refresh = 401)]
    async fn token(http: &mut Http) -> Result<String, Error> {
        fetch_token(http).await
    }

    #[step(get = "/orders", bearer = "{{token}}")]
    fn orders();
}

#[test]
fn a_second_refusal_is_a_failure_and_a_target_that_refuses_all_gets_no_storm_of_fetches() {
    let service = Service {
        uses: 0,
        ..Service::new()
    };
    let (card, fetches) = run(refused_always(), service);
    // Before the load, after 0 s and after 1.2 s.
    assert_eq!(fetches, 3);
    assert_eq!(counts(&card), [[5, 5, 0, 7, 2]]);
}

#[scenario(load = users(1, pace = 3s, for = 30s))]
fn expires() {
    #[setup(for = 20s)]
    async fn token(http: &mut Http) -> Result<String, Error> {
        fetch_token(http).await
    }

    #[step(get = "/orders", bearer = "{{token}}")]
    fn orders();
}

#[test]
fn a_value_that_cannot_be_fetched_again_is_used_until_it_expires_and_then_missed() {
    let service = Service {
        lifetime: Duration::from_secs(20),
        failing: 2..4,
        ..Service::new()
    };
    let (card, fetches) = run(expires(), service);
    // After 18 s in vain, and the old value is used; after 21 s in vain; after 24 s.
    assert_eq!(fetches, 4);
    assert_eq!(counts(&card), [[9, 0, 1, 9, 0]]);
    let [missed] = &*card.dependency_failures else {
        panic!("{:?}", card.dependency_failures);
    };
    let words = missed.describe();
    assert!(
        words.starts_with(
            "`orders` needs `token`, which has expired: the last fetch failed: setup `token` failed: "
        ),
        "{words}"
    );
    assert!(words.contains("503") && words.contains("`busy`"), "{words}");
    assert_eq!(missed.upstream, "token");
}

/// Its session is derived from the token, and ends with it.
#[scenario(load = users(1, pace = 5s, for = 20s))]
fn derived() {
    #[setup(refresh = 401)]
    async fn token(http: &mut Http) -> Result<String, Error> {
        fetch_token(http).await
    }

    #[step(post = "/session", bearer = "{{token}}", once, refresh = 401)]
    fn session() -> String;

    #[step(get = "/orders", bearer = "{{session.response}}")]
    fn orders();
}

#[test]
fn a_step_that_runs_again_may_be_refused_itself_for_a_value_that_is_fetched_again() {
    let service = Service {
        lifetime: Duration::from_secs(8),
        ..Service::new()
    };
    let (card, fetches) = run(derived(), service);
    // Journeys begin after 0, 5, 10 and 15 s; in the third, the session is opened again with a second token.
    assert_eq!(fetches, 2);
    assert_eq!(counts(&card), [[2, 0, 0, 3, 1], [4, 0, 0, 5, 1]]);
}

/// Its steps send for themselves, and give a token back. A setup below uses the token, too.
#[scenario(load = iterations(4, users = 1))]
fn given_back() {
    #[setup(refresh = 401)]
    async fn token(http: &mut Http) -> Result<String, Error> {
        fetch_token(http).await
    }

    #[setup(for = 1h)]
    async fn shop(token: &str, http: &mut Http) -> Result<String, Error> {
        let request = http.get("/shop").bearer_auth(token);
        Ok(request.send().await?.error_for_status()?.text().await?)
    }

    #[state]
    fn first(token: &String, shop: &String) -> bool {
        token == "t1" && shop == "st1"
    }

    #[step]
    async fn orders(token: &str, http: &mut Http) -> Result<(), Error> {
        let answer = http.get("/orders").bearer_auth(token).send().await?;
        answer.error_for_status().map_err(Stale::because)?;
        Ok(())
    }

    #[step(get = "/profile?of={{shop}}", bearer = "{{token}}", check = |_| true)]
    fn profile() -> String;

    #[check]
    fn is_of_first(profile: &str, first: &bool) -> bool {
        !profile.is_empty() && *first
    }

    #[teardown]
    async fn leave(token: &str, http: &mut Http) -> Result<(), Error> {
        http.delete("/token-of-run")
            .bearer_auth(token)
            .send()
            .await?;
        Ok(())
    }
}

#[test]
fn a_step_that_gives_a_value_back_has_failed_and_those_after_it_have_a_new_one() {
    let service = Service {
        uses: 3,
        ..Service::new()
    };
    let (card, fetches) = run(given_back(), service);
    assert_eq!(fetches, 2);
    assert_eq!(counts(&card), [[4, 1, 0, 4, 0], [4, 0, 0, 4, 0]]);
    let profile = &card.steps[1];
    assert_eq!((profile.checks_passed, profile.checks_failed), (8, 0));
}
