use loadtest::prelude::*;
use std::time::Duration;

fn main() {}

fn whole(_: Duration) -> u32 {
    5
}

const RATE: f64 = 5.0;

#[scenario(load = rate(whole, for = 1m))]
fn whole_numbers() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = users(RATE, for = 1m))]
fn no_function() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = rate(missing::curve, for = 1m))]
fn nothing() {
    #[step(get = "/")]
    fn step();
}
