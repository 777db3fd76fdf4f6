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
    #[step(get = "/")]
    fn login() -> Login;
    #[step(post = "/", json = { "a": login })]
    fn word();
    #[step(post = "/", json = { a: 1 })]
    fn key();
    #[step(post = "/", json = [1s])]
    fn suffix();
    #[step(post = "/", json = [1] 2)]
    fn rest();
    #[step(post = "/", json = )]
    fn nothing();
}
