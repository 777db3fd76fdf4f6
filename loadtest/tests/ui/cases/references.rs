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
    #[state]
    fn cart() -> Vec<u64> { Vec::new() }
    #[setup]
    fn seed() -> u64 { 1 }
    #[step]
    fn login() -> Request<Login> { Request::get("/") }
    #[step]
    fn unknown(_logn: &Login) -> Request { Request::get("/") }
    #[step]
    fn far(_catalogue: &Login) -> Request { Request::get("/") }
    #[step]
    fn later(_last: &Login) -> Request { Request::get("/") }
    #[step]
    fn number(_step9: &Login, _step12: &Login) -> Request { Request::get("/") }
    #[step]
    fn own(_own: &Login) -> Request { Request::get("/") }
    #[step]
    fn pattern(Login { .. }: &Login) -> Request { Request::get("/") }
    #[step]
    fn from(#[from(logn)] Login { .. }: &Login) -> Request { Request::get("/") }
    #[step]
    fn receiver(self) -> Request { Request::get("/") }
    #[step]
    fn last() -> Request<Login> { Request::get("/") }
    #[check]
    fn check(_lats: &Login) -> bool { true }
    #[state]
    fn early(_login: &Login) -> u64 { 1 }
    #[setup]
    fn first(_second: &u64) -> u64 { 1 }
    #[setup]
    fn second(_vu: &Vu) -> u64 { 1 }
    #[teardown]
    fn end(_sed: &u64) {}
}
