use loadtest::prelude::*;

fn main() {}

#[response]
pub struct Login {
    pub token: String,
}

#[group(p95 < 800, rps > 5/s, timeout = 2s, first_byte.p95 < 1s)]
fn options() {
    #[step(get = "/")]
    fn a();
}

#[group]
fn needs_a_user() {
    #[step]
    fn login(user: &str) -> Request<Login> {
        Request::get(user)
    }
}

#[scenario]
fn has_no_user() {
    #[group]
    use needs_a_user;

    #[step(get = "/{{login.response.tokn}}")]
    fn look();
}

#[scenario]
fn later_steps() {
    #[step]
    fn early(login: &Login) -> Request {
        Request::get(&login.token)
    }

    #[feed]
    fn user() -> Feed<String> {
        Feed::generate(|n| n.to_string())
    }

    #[group]
    use needs_a_user;
}

#[scenario]
fn shapes() {
    #[group]
    fn parameters(login: &Login) -> u64 {
        #[step(get = "/")]
        fn a();

        #[group]
        fn inner() {
            #[step(get = "/")]
            fn b();
        }
    }

    #[group]
    fn empty() {}

    #[group(name = "c")]
    fn named() {
        #[step(get = "/")]
        fn c();
    }

    #[group(p95 < 1s)]
    use needs_a_user;

    #[group]
    use std::{fmt, io};

    #[group]
    fn at_the_end() {
        #[step(get = "/", last)]
        fn d();
    }
}

#[scenario]
fn unknown() {
    #[group]
    use needs_an_user;

    #[step(get = "/")]
    fn a();
}

#[group]
struct NoFunction;
