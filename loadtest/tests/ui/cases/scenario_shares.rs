use loadtest::prelude::*;

fn main() {}

#[scenario(weight = 0)]
fn nothing() {
    #[step(get = "/")]
    fn step();
}

#[scenario(weight = -3)]
fn negative() {
    #[step(get = "/")]
    fn step();
}

#[scenario(weight = 1_000_001)]
fn too_much() {
    #[step(get = "/")]
    fn step();
}

#[scenario(weight = 30%)]
fn share() {
    #[step(get = "/")]
    fn step();
}

#[scenario(weight = "3", weight = 2)]
fn text() {
    #[step(get = "/")]
    fn step();
}

#[scenario(crate = "acme::loadtest")]
fn path_as_text() {
    #[step(get = "/")]
    fn step();
}

#[response(crates = loadtest)]
pub struct Login {
    pub token: String,
}
