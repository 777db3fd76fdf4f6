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
    #[step(get = "/{{login.response.tokn}}")]
    fn typo();
    #[step(get = "/{{login.response.user.idd}}")]
    fn nested();
    #[step(get = "/{{login.response.user[0]}}")]
    fn not_a_list();
    #[step(get = "/{{login.response.user['id']}}")]
    fn no_keys();
    #[step(get = "/{{login.response.user}}")]
    fn not_text();
    #[step(get = "/", json = { "a": {{login.response.user.nam}} })]
    fn token();
    #[step(get = "/", json = { "a": {{login.response.tokn}} })]
    fn token_with_a_like_name();
    #[state]
    fn visit() -> User {
        User { id: 1 }
    }
    #[step(get = "/{{visit.idd}}")]
    fn of_a_state();
    #[setup]
    fn keys() -> Vec<NotJson> {
        Vec::new()
    }
    #[step(get = "/{{keys[0]}}")]
    fn of_a_setup();
}
