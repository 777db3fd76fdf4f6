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

#[step(expect = 200)]
fn login() -> Request<Login> { Request::get("/") }

#[step(get = "/")]
fn declared() -> Login;

#[check]
fn check() -> bool { true }

#[scenario]
struct Scenario;
