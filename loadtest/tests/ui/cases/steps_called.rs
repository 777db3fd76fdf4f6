use loadtest::prelude::*;

#[response]
pub struct Login {
    pub token: String,
}

fn main() {}

#[scenario]
fn called() {
    #[step(post = "/login")]
    fn login() -> Login;
    #[step(post = "/a")]
    fn silent();
    #[step]
    fn home() -> Request<Login> {
        Request::get(format!("/{}", login().token))
    }
    #[step(post = "/orders", json = { "token": (login().token), "home": (home()), "fine": (i32::abs(-1)) })]
    fn order();
    #[step(get = "/", check = |r| login().token == r.token)]
    fn checked() -> Login;
    #[check]
    fn token(home: &Login) -> bool {
        silent();
        home.token == login().token
    }
}

#[scenario]
fn shadowed() {
    #[step(post = "/login", json = { "a": login, "b": step1.response.token, "c": other, "d": 1 })]
    fn login() -> Login;
    #[step]
    fn home() -> Request<Login> {
        let login = || 5;
        Request::get(format!("/{}", login()))
    }
}

#[scenario]
fn keys() {
    #[step(post = "/", json = { "{{step1.response.id}}": 1 })]
    fn template() -> Value;
    #[step(post = "/", json = { a: 1 })]
    fn unquoted() -> Value;
    #[step(post = "/", json = { "a": {template.response.id} })]
    fn one_brace() -> Value;
    #[step(post = "/", json = {template.response.id})]
    fn whole() -> Value;
}

#[scenario]
fn hosts() {
    #[step(get = "/")]
    fn start() -> Value;
    #[step(get = "http://{{start.response.host}}/x")]
    fn host();
    #[step(get = "http://a.{{start.response.host}}")]
    fn part();
    #[step(get = "http://a/{{start.response.host}}")]
    fn fine();
    #[step(get = "http://a?{{start.response.host}}")]
    fn also_fine();
}

#[scenario]
fn requests() {
    #[step(get = "/")]
    fn typed() -> Request<Login>;
    #[step(get = "/")]
    fn optional() -> Option<Request<Value>>;
    #[step(get = "/")]
    fn bare() -> Request;
}
