use loadtest::prelude::*;

fn main() {}

const HALF: f64 = 0.5;

#[scenario]
fn scenario() {
    #[step(get = "/", once = true)]
    fn a_value();
    #[step(get = "/", once, weight = 0.5)]
    fn by_chance();
    #[step(get = "/", weight = HALF, once)]
    fn by_a_constant();
    #[step(get = "/", retry)]
    fn no_number();
    #[step(get = "/", retry = 3)]
    fn assigned();
    #[step(get = "/", retry(on = 503))]
    fn number_missing();
    #[step(get = "/", retry(101))]
    fn never();
    #[step(get = "/", retry(101))]
    fn too_often();
    #[step(get = "/", retry(1.5))]
    fn a_part();
    #[step(get = "/", retry(3, backof = 1s))]
    fn unknown();
    #[step(get = "/", retry(3, backoff = 1s, backoff = 2s))]
    fn twice();
    #[step(get = "/", retry(3, backoff = 0s))]
    fn no_pause();
    #[step(get = "/", retry(3, on = 503 | 204))]
    fn expected_by_default();
    #[step(get = "/", expect = 200 | 404, retry(3, on = 4xx | timeout))]
    fn expected();
    #[step(get = "/", retry(3, on = timout))]
    fn near_word();
    #[step(get = "/", retry(3, on = failure))]
    fn other_word();
    #[step(get = "/", retry(3, on = 700))]
    fn no_status();
    #[step(get = "/", retry(3, on = ))]
    fn nothing();
    #[step(get = "/", every = 1s)]
    fn every_alone();
    #[step(get = "/", within = 1s)]
    fn within_alone();
    #[step(get = "/", until = |r| r["done"].is_boolean(), within = 100ms)]
    fn once_only() -> Value;
    #[step(get = "/", until = |r| r["done"].is_boolean(), every = 1m)]
    fn seldom() -> Value;
    #[step(get = "/", until = |r| r["done"].is_boolean(), every = 0s)]
    fn no_time() -> Value;
    #[step(get = "/", until = |a, b| true)]
    fn two() -> Value;
    #[step(get = "/", until = )]
    fn no_closure() -> Value;
    #[step(get = "/", until = |r| r["done"].is_boolean())]
    fn not_read();
    #[step(until = |r| r.done)]
    fn nor_here() -> Request { Request::get("/") }
    #[step(get = "/", untill = |r| true)]
    fn typo() -> Value;
}

#[scenario]
fn all_once() {
    #[step(get = "/", once)]
    fn login();
    #[step(get = "/", once)]
    fn profile();
}

#[scenario]
fn no_condition() {
    #[step(get = "/", until = |r| 5)]
    fn number() -> Value;
}

#[scenario]
fn no_field() {
    #[step(get = "/", until = |r| r.stat == "done")]
    fn job() -> Job;
}

#[response]
pub struct Job {
    pub state: String,
}

#[scenario]
fn renewed() {
    #[step(get = "/", once(after = 5m))]
    fn other_word_of_once() -> Value;
    #[step(get = "/", once(for = 0s))]
    fn no_use_at_all() -> Value;
    #[step(get = "/", refresh = 401)]
    fn in_every_journey() -> Value;
    #[step(get = "/", once, refresh = expired)]
    fn other_than_a_status() -> Value;
    #[step(get = "/", once, refresh = 401 | 403)]
    fn login() -> Value;
    #[step(get = "/{{login.response.id}}", retry(3, on = 401 | 503))]
    fn both_for_one_failure();
}
