use loadtest::prelude::*;

fn main() {}

#[scenario]
fn scenario() {
    #[step(get = "/", check = || true)]
    fn none() -> Value;
    #[step(get = "/", check = |a, b| true)]
    fn two() -> Value;
    #[step(get = "/", check = )]
    fn nothing() -> Value;
    #[step(get = "/", check = |r| -> Result<(), String> { Ok(()) }, check = |r| 5)]
    fn fine() -> Value;
}

#[scenario]
fn number() {
    #[step(get = "/", check = |r| -> Result<(), String> { Ok(()) }, check = |r| 5)]
    fn five() -> Value;
}
