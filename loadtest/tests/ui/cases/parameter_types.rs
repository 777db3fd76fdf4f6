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
    fn wrong(login: &User) -> Request { Request::get(format!("/{}", login.id)) }
    #[step]
    fn option(_login: Option<&Response<User>>) -> Request { Request::get("/") }
    #[step]
    fn slice(_login: &[Login]) -> Request { Request::get("/") }
    #[step]
    fn state(_cart: &mut Vec<String>) -> Request { Request::get("/") }
    #[step]
    fn setup(_seed: &String) -> Request { Request::get("/") }
    #[step]
    fn user(_vu: &User) -> Request { Request::get("/") }
}
