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

type Alias = Request<Login>;

#[scenario]
fn scenario() {
    #[step]
    fn number() -> u32 { 1 }
    #[step]
    fn response() -> Response<Value> { todo!() }
    #[step]
    fn alias() -> Alias { Request::get("/") }
    #[step]
    fn nested() -> Option<Result<Request<Login>, String>> { None }
}
