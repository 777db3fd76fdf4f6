use loadtest::prelude::*;

#[response]
pub struct Login {
    pub token: String,
}

fn main() {}

#[scenario(p95 < 300ms)]
fn steps() {
    #[step(get = "/" expect = 200)]
    fn comma() -> Login;
    #[step(get = "/orders/{id}")]
    fn braces();
    #[step(get = "/", expect = 2XX)]
    fn class();
    #[step(get = "/", think = "300ms")]
    fn quotes();
    #[step(get = "/", think = 1s..=3s)]
    fn bounds();
    #[step(get = "/", p96 < 1s, thnk = 1s)]
    fn metric();
    #[step(get = "/", header("Content-Length", "5"), bearer = "a", header("authorization", "b"))]
    fn headers();
    #[step]
    fn renamed(#[from("comma")] _token: &Login) -> Request { Request::get("/") }
    #[step]
    fn unread(class: &Login) -> Request { Request::get("/") }
    #[step]
    fn unread_as_well(unread: Option<&Response<Value>>) -> Request { Request::get("/") }
    #[step]
    fn fine(class: &Response<()>, unread: &(), bounds: Option<&Response<()>>) -> Request { Request::get("/") }
}

#[scenario(load = rate(5/s, ramp = 1s, for = 1m))]
fn ramp() {
    #[step(get = "/")]
    fn step();
}

#[scenario(load = rate(5/s, duration = 1m))]
fn duration() {
    #[step(get = "/")]
    fn step();
}
