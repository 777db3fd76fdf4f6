//! A secret is neither shown nor serialised.

use loadtest::prelude::*;

#[derive(serde::Serialize)]
struct Credentials {
    token: Secret,
}

#[scenario(base = "http://127.0.0.1:1")]
fn shows() {
    #[step]
    fn printed() -> Request {
        println!("{}", secret("API_TOKEN"));
        Request::get("/")
    }

    #[step]
    fn in_a_url() -> Request {
        Request::get(format!("/?key={}", secret("API_TOKEN")))
    }

    #[step]
    fn as_json() -> Request {
        Request::post("/").json(&json!({ "token": secret("API_TOKEN") }))
    }

    #[step(post = "/", json = { "token": (secret("API_TOKEN")) })]
    fn declared();

    #[step]
    fn as_it_should_be() -> Request {
        let token = secret("API_TOKEN");
        Request::post("/")
            .header("x-token", &token)
            .bearer_auth(&token)
            .json(&json!({ "token": token.expose() }))
    }
}

fn main() {}
