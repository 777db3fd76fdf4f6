use loadtest::prelude::*;

fn main() {}

#[scenario(budget = -1%, apdex = -1s, thresholds(errors < -1%, checks > 101%, p95 < -1s, rps > -5/s))]
fn scenario() {
    #[step(get = "/", grade_weight = -1, budget = -0.5%)]
    fn grades();
    #[step(get = "/", weight = -0.5, grade_weight = 1e300)]
    fn weights();
    #[step(get = "/", think = -1s, timeout = -1s, apdex = -1s, p95 < -1s)]
    fn times();
    #[step(get = "/", think = 1s..-2s, timeout = 1e300s)]
    fn bounds();
}

#[scenario(load = rate(-5/s, for = 2s))]
fn rates() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = rate(-5/s -> 10/s, for = 2s))]
fn ramps() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = rate(1e300/s, for = 1s))]
fn endless() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = rate(5/s, for = -1s))]
fn backwards() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = users(-5, for = 2s))]
fn users() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = users(5000000, for = 2s))]
fn crowds() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = iterations(1e15, users = -1))]
fn iterations() {
    #[step(get = "/")]
    fn step();
}
