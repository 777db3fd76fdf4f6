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
async fn scenario<T>(_x: u32) -> u32 {
    let _y = 1;
    #[step]
    fn silent() { let _ = Request::<()>::get("/"); }
    #[step]
    #[cfg(unix)]
    fn conditional() -> Request { Request::get("/") }
    #[step]
    fn generic<T>() -> Request { Request::get("/") }
    #[step]
    fn step1() -> Request { Request::get("/") }
    #[step]
    fn vu() -> Request { Request::get("/") }
    #[step]
    async fn later() -> Result<Login, String> { Err(String::new()) }
    #[step]
    #[check]
    fn two_roles() -> Request { Request::get("/") }
    #[check]
    fn lonely() -> bool { true }
    #[check(get = "/")]
    fn options(silent: &Value) -> bool { let _ = silent; true }
    #[check]
    fn no_body(silent: &Value) -> bool;
    #[state]
    fn nothing() {}
    #[state]
    fn step3() -> u64 { 1 }
    #[state]
    async fn waits() -> u64 { 1 }
    #[setup]
    async fn started() -> Target { todo!() }
    #[setup]
    fn server() -> Target { todo!() }
}

#[scenario]
fn empty() {}
