use loadtest::prelude::*;

fn main() {}

#[scenario(load = rate(10/s))]
fn load_1() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = rate(0/s, for = 1m))]
fn load_2() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = rate(10, for = 1m))]
fn load_3() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = rate(10/h, for = 1m))]
fn load_4() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = rate(10/s, for = 0s))]
fn load_5() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = rate(10/s, for = 10s, ramp_up = 10s))]
fn load_6() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = rate(10/s, for = 10s, max_users = 0))]
fn load_7() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = rate(10/s, fro = 10s))]
fn load_8() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = users(0, for = 1m))]
fn load_9() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = users(2.5, for = 1m))]
fn load_10() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = users(5, for = 1m, max_users = 5))]
fn load_11() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = iterations(0, users = 1))]
fn load_12() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = iterations(10, users = 0))]
fn load_13() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = iterations(10, for = 1m))]
fn load_14() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = rates(10/s, for = 1m))]
fn load_15() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = [])]
fn load_16() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = [rate(0/s -> 10/s, for = 10s), users(10, for = 1m)])]
fn load_17() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = [rate(0/s -> 10/s)])]
fn load_18() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = [rate(0/s, for = 10s), rate(0/s, for = 10s)])]
fn load_19() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = [users(0 -> 5, for = 10s), users(5, for = 10s, ramp_up = 5s)])]
fn load_20() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = [rate(0/s -> 5/s, for = 10s), rate(5/s, for = 10s, warm_up = 5s)])]
fn load_21() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = users(100, spawn = 5, for = 1m))]
fn spawn_without_a_unit() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = users(100, spawn = 0/s, for = 1m))]
fn nobody_spawns() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = users(100, spawn = 5/s, ramp_up = 10s, for = 1m))]
fn spawn_and_ramp_up() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = users(100, spawn = 1/s, for = 1m))]
fn spawn_too_slow() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = users(100, spawn_rate = 5/s, for = 1m))]
fn spawn_of_locust() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = [users(100, spawn = 5/s, for = 1m), users(5, for = 1m)])]
fn spawn_of_a_stage() {
    #[step(get = "/")]
    fn step();
}
