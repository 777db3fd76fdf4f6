use loadtest::prelude::*;
use std::time::Duration;

fn main() {}

fn flat(_: Duration) -> f64 {
    5.0
}

#[scenario(load = rate(10/s, pace = 5s, for = 1m))]
fn paced_rate() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = users(10, pace = 0s, for = 1m))]
fn no_pace() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = [users(1, for = 1m), users(2, for = 1m, pace = 5s)])]
fn late_pace() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = iterations(20/vu, users = 3))]
fn of_users() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = iterations(20/user, for = 1m))]
fn of_time() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = rate(flat, for = 1m, ramp_up = 5s))]
fn curve_with_ramp() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = [users(flat, for = 1m), users(5, for = 1m)])]
fn curve_as_stage() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = users(flat))]
fn curve_without_end() {
    #[step(get = "/")]
    fn step();
}

#[scenario(start = 30)]
fn start_without_unit() {
    #[step(get = "/")]
    fn step();
}
