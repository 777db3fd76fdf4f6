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

const TWO: f64 = 2.0;

#[scenario]
fn scenario() {
    #[step(weight = TWO)]
    fn step() -> Request { Request::get("/") }
}
