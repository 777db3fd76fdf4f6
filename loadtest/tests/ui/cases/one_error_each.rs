use loadtest::prelude::*;

#[response]
pub struct Login {
    pub token: String,
}

const P: &str = "/";
const W: f64 = 80.0;

fn main() {}

#[scenario]
fn methods() {
    #[step(get = 5)]
    fn number();
    #[step(get: "/")]
    fn colon();
    #[step(get = P)]
    fn constant();
    #[step(get = format!("/{}", 1))]
    fn formatted();
    #[step(GET = "/")]
    fn upper();
    #[step(get =)]
    fn nothing();
}

#[scenario]
fn returns() {
    #[step]
    fn login() -> Request<Login> { Request::get("/") }
    #[step]
    fn untyped(login: &Login) { Request::get(login.token.clone()) }
    #[check]
    fn check(login: &Login) { login.token.is_empty() }
    #[state]
    fn state() { vec![1] }
}

#[scenario]
fn last() {
    #[step(get = "/")]
    fn login() -> Login
}

#[scenario]
fn not_last() {
    #[step(get = "/")]
    fn login() -> Login
    #[step(get = "/")]
    fn home();
}

#[scenario]
fn receiver() {
    #[step]
    fn login(&self) -> Request<Login> { Request::get("/") }
}

#[scenario]
fn receives(&self) {
    #[step(get = "/")]
    fn login() -> Login;
}

#[scenario]
fn no_body();

#[scenario]
unsafe fn dangerous() {
    #[step]
    unsafe fn a() -> Request { Request::get("/") }
    #[step]
    const fn b() -> Request { Request::get("/") }
    #[step]
    extern "C" fn c() -> Request { Request::get("/") }
}

#[scenario]
const fn constant() {
    #[step(get = "/", weight = W%)]
    fn step();
    #[step(get = "/", weight = )]
    fn other();
}

#[scenario]
fn lifetimes() {
    #[state]
    fn count() -> u8 { 0 }
    #[setup]
    fn text() -> String { String::new() }
    #[step(get = "/")]
    fn login() -> Login;
    #[step]
    fn one(login: &'static Login) -> Request { Request::get(login.token.clone()) }
    #[step]
    fn two(login: Option<&'static Response<Login>>, vu: &'static mut Vu) -> Request { Request::get("/") }
    #[step]
    fn three(count: &'static mut u8, text: &'static String) -> Request { Request::get("/") }
}

#[scenario]
fn twins() {
    #[step(get = "/")]
    fn twin() -> Login;
    #[step]
    fn twin() -> Request<Value> { Request::get("/") }
    #[step]
    fn after(twin: &Login) -> Request { Request::get(twin.token.clone()) }
}

#[scenario]
fn unnamed() {
    #[state]
    fn next() -> impl Fn() -> u8 { || 1 }
    #[setup]
    fn list() -> impl Iterator<Item = u8> { [1].into_iter() }
    #[step(get = "/")]
    fn login() -> Login;
}
