use loadtest::prelude::*;

#[response]
struct Login {
    token: String,
    any: Value,
}

fn main() {}

#[scenario(load = "200/s")]
fn quoted() {
    #[step(get = "/")]
    fn health();
}

#[scenario(load = 200/s)]
fn bare() {
    #[step(get = "/")]
    fn health();
}

#[scenario(load = rate)]
fn no_parts() {
    #[step(get = "/")]
    fn health();
}

#[scenario(load(rate(5/s, for = 1m)))]
fn no_equals() {
    #[step(get = "/")]
    fn health();
}

#[scenario(load = users(50, 1m))]
fn no_word() {
    #[step(get = "/")]
    fn health();
}

#[scenario(load = rate(200))]
fn no_unit() {
    #[step(get = "/")]
    fn health();
}
