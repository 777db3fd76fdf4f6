use loadtest::prelude::*;

fn main() {}

#[scenarios(timout = 2s, name = "shop", weight = 2, p95 < 1s)]
mod options {
    use loadtest::prelude::*;

    #[scenario]
    fn one() {
        #[step(get = "/")]
        fn a();
    }

    #[scenario]
    fn two() {
        #[step(get = "/")]
        fn a();
    }
}

#[scenarios(bearer = "{{login.response.token}}", timeout = 2s)]
mod functions {
    use loadtest::prelude::*;

    #[setup]
    fn number(&self) -> u64 {
        "five"
    }

    #[feed]
    fn user() -> Feed<String> {
        Feed::generate(|n| nothing)
    }

    #[state]
    fn seen() {}

    #[scenario]
    fn one() {
        #[step(get = "/")]
        fn a();
    }

    #[scenario]
    fn two() {
        #[step(get = "/")]
        fn a();
    }
}

#[scenarios]
mod types {
    use loadtest::prelude::*;

    #[setup]
    fn number() -> u64 {
        "five"
    }

    #[scenario]
    fn one() {
        #[step(get = "/")]
        fn a();
    }

    #[scenario]
    fn two() {
        #[step]
        fn a(number: &str) -> Request {
            Request::get(number)
        }
    }
}

#[scenarios(timeout = 2s)]
mod without {
    use loadtest::prelude::*;

    #[setup]
    fn number() -> u64 {
        5
    }
}

#[scenarios]
fn function() {}

#[setup]
fn outside() -> u64 {
    5
}

#[scenarios]
mod steps {
    use loadtest::prelude::*;

    #[step(get = "/")]
    fn alone();

    #[scenario]
    fn one() {
        #[step(get = "/")]
        fn a();
    }
}
