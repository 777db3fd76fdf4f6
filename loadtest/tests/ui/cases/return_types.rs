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
    #[setup]
    fn fallible() -> Result<u64, NotJson> { Ok(1) }
    #[step]
    fn not_json() -> Request<NotJson> { Request::get("/") }
    #[step(get = "/")]
    fn declared() -> NotJson;
    #[step]
    fn mismatch() -> Request<User> { Request::<Login>::get("/") }
    #[step(check = |r| r.token.len())]
    fn checked() -> Request<Login> { Request::get("/") }
    #[step(check = |r| r.tokn.is_empty())]
    fn checked_typo() -> Request<Login> { Request::get("/") }
    #[check]
    fn bad(checked: &Login) -> u32 { checked.ids.len() as u32 }
    #[step]
    fn error() -> Result<Request<Login>, NotJson> { Err(NotJson) }
}
