use loadtest::prelude::*;

#[response]
struct Login {
    token: String,
    any: Value,
}

fn main() {}

#[scenario]
fn scenario() {
    #[step(get = "/")]
    fn login() -> Login;

    #[step(get = "/{{login.response.any.user.id}}")]
    fn through_a_value();

    #[step(get = "/{{login.response.token.id}}")]
    fn through_a_text();

    #[step(post = "/", json = { "id": {{login.response.token.user.id}} })]
    fn in_json();
}
