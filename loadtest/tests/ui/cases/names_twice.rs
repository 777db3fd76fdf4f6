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
    fn twin() -> Request { Request::get("/") }
    #[step]
    fn twin() -> Request { Request::get("/") }
    #[step(get = "/")]
    fn declared();
    #[step(get = "/")]
    fn declared();
}
