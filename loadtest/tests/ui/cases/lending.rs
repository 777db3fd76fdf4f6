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

#[scenario]
fn scenario() {
    #[state]
    fn cart() -> Vec<u64> { Vec::new() }
    #[setup]
    fn seed() -> u64 { 1 }
    #[step]
    fn login() -> Request<Login> { Request::get("/") }
    #[step]
    fn owned(_login: Login) -> Request { Request::get("/") }
    #[step]
    fn mutable(_login: &mut Vec<Login>) -> Request { Request::get("/") }
    #[step]
    fn state(_cart: Vec<u64>) -> Request { Request::get("/") }
    #[step]
    fn setup(_seed: &mut u64) -> Request { Request::get("/") }
    #[step]
    fn user(_vu: Vu) -> Request { Request::get("/") }
}
