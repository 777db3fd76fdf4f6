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
    #[step]
    fn login() -> Request<Login> { Request::get("/") }
    #[step]
    fn second(login: &Login) -> Request { Request::get(login.tokn.clone()) }
    #[step]
    fn third(login: &Login) -> Request { Request::get(login.) }
}
