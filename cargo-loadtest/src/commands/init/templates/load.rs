//! Load tests.
//!
//! `cargo loadtest run --base-url http://127.0.0.1:8080` runs them under load and grades them;
//! `cargo test` runs each of them once, if LOADTEST_BASE_URL is set to the target.

use loadtest::prelude::*;

/// A visitor opens the first page.
// A scenario is one user's journey, from the first step to the last. `load` is the number of
// journeys: ten start per second, however slow the server is. The run passes if all `thresholds`
// hold.
#[scenario(
    tags = ["example"],
    load = rate(10/s, ramp_up = 2s, for = 10s),
    thresholds(p95 < 300ms, errors < 1%),
)]
fn visit() {
    // A step is one request, named after the function. Any status except 200 is an error.
    #[step(get = "/", expect = 200)]
    fn home();

    // A step can use earlier answers and rows of data: name a parameter after the step or the feed.
    // The compiler checks both. Example, with the types above the scenario:
    //
    //     #[response]
    //     struct User { name: String }
    //
    //     #[response]
    //     struct Login { token: String }
    //
    //     #[feed]
    //     fn user() -> Feed<User> {
    //         Feed::csv("data/users.csv")
    //     }
    //
    //     #[step]
    //     fn login(user: &User) -> Request<Login> {
    //         Request::post("/login").json(&json!({ "user": user.name }))
    //     }
    //
    //     #[step(weight = 0.5, think = 500ms..2s)]
    //     fn orders(login: &Login) -> Request {
    //         Request::get("/orders").bearer_auth(&login.token)
    //     }
}

loadtest::main!();
