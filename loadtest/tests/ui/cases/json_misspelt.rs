use loadtest::prelude::*;

#[response]
struct Login {
    token: String,
    any: Value,
}

fn main() {}

#[scenario]
fn scenario() {
    #[step(post = "/", json = json!({ "a": 1 }))]
    fn in_macro();

    #[step(post = "/", json = "{\"a\": 1}")]
    fn in_quotes();

    #[step(post = "/", json = { "a" = 1 })]
    fn equals();

    #[step(post = "/", json = { 'a': 1 })]
    fn letter();

    #[step(post = "/", json = { 'id': 1 })]
    fn single_quotes();

    #[step(post = "/", json = { "a": None })]
    fn nothing();

    #[step(post = "/", json = { "a": 1 "b": 2 })]
    fn no_comma();
}
