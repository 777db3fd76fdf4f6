//! What is wrong with the name of a secret does not repeat it: it may be the secret itself.

use loadtest::prelude::*;

#[scenario(base = "http://127.0.0.1:1")]
fn misspelt() {
    #[step(get = "/{{secret}}")]
    fn none();

    #[step(get = "/{{secret.A.b}}")]
    fn deep();

    #[step(get = "/", header("x-key", "{{secret.sk-live-51}}"))]
    fn a_value();

    #[step(post = "/", json = { "key": {{secret.7}} })]
    fn a_number();

    #[step]
    fn in_code() -> Request {
        Request::get("/{{secret.API_TOKEN}}").bearer_auth(secret("sk-live-51"))
    }
}

#[scenario(base = "http://127.0.0.1:1")]
fn named() {
    #[step(get = "/")]
    fn secret();
}

fn main() {}
