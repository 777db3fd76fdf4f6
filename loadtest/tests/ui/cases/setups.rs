//! Setups whose values are fetched again.

use loadtest::prelude::*;

#[scenario]
fn options() {
    #[setup(for = 50m, refresh = 401)]
    fn blocks() -> String {
        String::new()
    }

    #[setup(fro = 50m)]
    async fn misspelt() -> u64 {
        1
    }

    #[setup(once)]
    async fn of_a_step() -> u64 {
        1
    }

    #[setup(for = 0s)]
    async fn never() -> u64 {
        1
    }

    #[setup(for = 50m, for = 20m)]
    async fn twice() -> u64 {
        1
    }

    #[setup(refresh = 42)]
    async fn no_status() -> u64 {
        1
    }

    #[setup(refresh(401))]
    async fn unset() -> u64 {
        1
    }

    #[state(for = 50m)]
    fn of_each_user() -> u64 {
        1
    }

    #[teardown(refresh = 401)]
    async fn at_the_end() {}

    #[step(get = "/")]
    fn ask();
}

#[scenario]
fn types() {
    #[setup(for = 50m)]
    async fn local(http: &mut Http) -> std::rc::Rc<u64> {
        let _ = http;
        std::rc::Rc::new(1)
    }

    #[step(get = "/")]
    fn ask();
}

fn main() {}
