use loadtest::prelude::*;

#[response]
struct Login {
    token: String,
    any: Value,
}

fn main() {}

#[scenario]
fn statuses() {
    #[step(get = "/", expect = "200")]
    fn quoted();

    #[step(get = "/", expect = [200, 201])]
    fn list();

    #[step(get = "/", expect = 200, 201)]
    fn comma();

    #[step(get = "/", expect = StatusCode::OK)]
    fn constant();
}

#[scenario]
fn times() {
    #[step(get = "/", think = 500)]
    fn no_unit();

    #[step(get = "/", think = 5sec)]
    fn long_unit();

    #[step(get = "/", timeout = Duration::from_secs(3))]
    fn expression();

    #[step(get = "/", think = 500ms-2s)]
    fn dash();

    #[step(get = "/", think = 500ms...2s)]
    fn dots();

    #[step(get = "/", p95 = 300ms)]
    fn equals();
}

#[scenario]
fn weights() {
    #[step(get = "/", weight = "0.5")]
    fn quoted();

    #[step(get = "/", weight = -0.5)]
    fn negative();

    #[step(get = "/", weight = 50)]
    fn percent();
}
