//! Load tests.
//!
//! `cargo loadtest run --base-url http://127.0.0.1:8080` runs them under load and grades the
//! answers; `cargo test` runs each of them once, if LOADTEST_BASE_URL says against what.

use loadtest::prelude::*;

/// Somebody opens the first page.
// A scenario is what one user does, from the first step to the last. `load` says how many arrive:
// ten a second, whatever the server does. `thresholds` say when the run has passed.
#[scenario(
    tags = ["example"],
    load = rate(10/s, ramp_up = 2s, for = 10s),
    thresholds(p95 < 300ms, errors < 1%),
)]
fn visit() {
    // A step is one request. Its name is that of the function; any status but 200 is an error.
    #[step(get = "/", expect = 200)]
    fn home();

    // Steps use what earlier steps were answered, and rows of data: a parameter has the name of the
    // earlier step, or of the feed. The compiler checks all of it. Such steps look like this, with
    // the types above the scenario:
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
