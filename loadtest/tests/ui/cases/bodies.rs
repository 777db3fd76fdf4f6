use loadtest::prelude::*;

#[response]
pub struct Login {
    pub token: String,
    pub user: User,
}
#[response]
pub struct User {
    pub id: u64,
}

fn main() {}

#[scenario]
fn mistakes() {
    #[step(post = "/")]
    fn login() -> Login;
    #[step(post = "/", json = 1, form = { "a": 1 })]
    fn two_bodies();
    #[step(post = "/", body = "a", body = "b")]
    fn the_same_twice();
    #[step(post = "/", body = file("a.bin"), multipart = { "a": 1 })]
    fn file_and_parts();
    #[step(post = "/", body = 5)]
    fn number();
    #[step(post = "/", body = file())]
    fn no_path();
    #[step(post = "/", body = file(""))]
    fn empty_path();
    #[step(post = "/", body = file("{{login.response.token}}"))]
    fn path_template();
    #[step(post = "/", form = "a=1")]
    fn no_braces();
    #[step(post = "/", form = { a: 1 })]
    fn key();
    #[step(post = "/", form = { "a": [1, 2] })]
    fn list();
    #[step(post = "/", form = { "a": null })]
    fn null();
    #[step(post = "/", form = { "a": login })]
    fn word();
    #[step(post = "/", form = { "a": file("a.png") })]
    fn file_in_a_form();
    #[step(post = "/", form = { "a": 1s })]
    fn suffix();
    #[step(post = "/", form = { "a": "{{logn.response.token}}" })]
    fn unknown_step();
    #[step(post = "/", multipart = {})]
    fn no_parts();
    #[step(get = "/", query = { "a": {{login.token}} })]
    fn no_response();
    #[step(get = "/", basic = "ada")]
    fn no_password();
    #[step(get = "/", basic = ("a:b", "c"))]
    fn colon();
    #[step(get = "/", bearer = "a", basic = ("b", "c"))]
    fn two_authorizations();
    #[step(get = "/", basic = ("b", "c"), header("Authorization", "d"))]
    fn basic_and_header();
    #[step(get = "/", frm = {})]
    fn misspelled();
    #[step(form = {})]
    fn built() -> Request {
        Request::get("/")
    }
}

#[scenario]
fn types() {
    #[step(post = "/")]
    fn login() -> Login;
    #[step(post = "/", form = { "a": {{login.response.user}} })]
    fn not_text();
    #[step(get = "/", query = { "a": "{{login.response.tokn}}" })]
    fn no_field();
    #[step(post = "/", form = { "a": (vec![1]) })]
    fn expression();
}
