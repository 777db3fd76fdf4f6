use loadtest::prelude::*;

#[response]
pub struct Login {
    pub token: String,
    pub user: User,
    pub ids: Vec<u64>,
}
#[response]
pub struct User {
    pub id: u64,
}
pub struct NotJson;

fn main() {}

#[scenario(tag = ["a"], thresholds(p96 < 1s, p95 < 300, rps < 5/s, rps > 5, checks > 101%))]
fn scenario() {
    #[step(get = "/")]
    fn step();
}

#[scenario(name = " ", base = "localhost:8080", version = 1, tags = "a", load = fast, budget = 1)]
fn values() {
    #[step(get = "/")]
    fn step();
}

#[scenario(name = "a", name = "b")]
fn twice() {
    #[step(get = "/")]
    fn step();
}
