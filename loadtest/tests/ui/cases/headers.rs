//! Headers of a whole scenario.

use loadtest::prelude::*;

#[response]
pub struct Login {
    pub token: String,
}
#[response]
pub struct User {
    pub id: u64,
}

fn main() {}

#[scenario(
    header("x-typo", "{{logn.response.token}}"),
    header("x-user", "{{usr.id}}"),
    header("x-number", "{{step9.response.token}}"),
    header("x-last", "{{login.response.token}} {{last.response.token}}"),
    basic = ("ada", "{{last.response.token}}"),
    header("x-unit", "{{unit.response.a}}"),
    header("x-vague", "{{login.token}}"),
)]
fn names() {
    #[feed]
    fn user() -> Feed<User> { Feed::csv("data/users.csv") }
    #[step(get = "/")]
    fn login() -> Login;
    #[step(get = "/")]
    fn unit();
    #[step(get = "/{{nobody.response.id}}")]
    fn between();
    #[step(get = "/")]
    fn last() -> Login;
}

#[scenario(
    header("x a", "b"),
    header("", "b"),
    header("x-a", "ü"),
    header("x-a"),
    header = ("x-a", "b"),
    header(X, "b"),
    header("content-length", "1"),
    bearer("t"),
    basic = "ada",
    headers = {},
    token = "t",
)]
fn written() {
    #[step(get = "/")]
    fn step();
}

#[scenario(
    header("x-client", "a"),
    header("X-Client", "b"),
    bearer = "a",
    bearer = "b",
    basic = ("ada", "b"),
    header("Authorization", "c"),
)]
fn twice() {
    #[step(get = "/")]
    fn step();
}

#[scenario(bearer = "{{login.response.tokn}}", header("x-id", "{{user.idd}}"))]
fn fields() {
    #[feed]
    fn user() -> Feed<User> { Feed::csv("data/users.csv") }
    #[step(get = "/")]
    fn login() -> Login;
    #[step(get = "/")]
    fn declared();
    #[step]
    fn built() -> Request { Request::get("/") }
    #[step]
    async fn sent() -> Result<(), Error> { Ok(()) }
}

#[scenario(bearer = "{{login.response.token}}")]
fn broken() {
    #[step(get = "/")]
    fn login() -> Login;
    #[step(get = "/", bearer = "a", basic = ("b", "c"))]
    fn own();
    #[step(header("x-a", "b"))]
    fn built() -> Request { Request::get("/") }
}

#[scenario(header("x-client", "a"))]
fn empty() {}
