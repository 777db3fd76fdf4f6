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
    #[step]
    fn broken(vu: ) -> Request<Login> { Request::get("/") }
    #[step]
    fn after(broken: &Login) -> Request { Request::get(broken.token.clone()) }
    #[step(get = "/{{broken.response.token}}")]
    fn template();
}
