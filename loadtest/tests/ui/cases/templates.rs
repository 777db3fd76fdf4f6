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
    #[step(get = "/{{logn.response.token}}")]
    fn unknown();
    #[step]
    fn builder() -> Request { Request::get("/") }
    #[step(get = "/{{last.response.token}}")]
    fn later();
    #[step(get = "/{{step6.response.token}}")]
    fn number();
    #[step(get = "/{{step99.response.token}}")]
    fn no_such_number();
    #[step(get = "/{{own.response.token}}")]
    fn own();
    #[step(get = "/{{login.response.token}")]
    fn unclosed();
    #[step(get = "/a}}")]
    fn unopened();
    #[step(get = "/{{login.token}}")]
    fn no_response();
    #[step(get = "/{{login.respons.token}}")]
    fn typo_response();
    #[step(get = "/{{login}}")]
    fn which();
    #[step(get = "/{{}}")]
    fn empty();
    #[step(get = "/{{login.response..token}}")]
    fn dots();
    #[step(get = "/{{login.response.ids[x]}}")]
    fn index();
    #[step(get = "/{{login.headers.x y}}")]
    fn space();
    #[step(get = "/{{login.headers}}")]
    fn headers();
    #[step(get = "/{{login.headers['a b']}}")]
    fn header_name();
    #[step(get = "/{{login.response.user-id}}")]
    fn dash();
    #[step(get = "/", header("x", "{{logn.response.token}}"), bearer = "{{logn.response.token}}")]
    fn in_headers();
    #[step(get = "/", json = { "a": {{logn.response.user.id}}, "b": "{{logn.response.token}}" })]
    fn in_json();
    #[step(get = "/", json = { "a": {{login.response.user-id}}, "b": {{login.tokn}} })]
    fn tokens();
    #[step(get = "/{{unknown.response.id}}/{{builder.response}}/{{login.response.self}}")]
    fn not_read();
    #[step]
    fn in_body(login: &Login) -> Request { let _ = login; Request::get("/{{login.response.token}}") }
    #[step(get = "/")]
    fn last() -> Login;
}
