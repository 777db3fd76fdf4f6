use loadtest::prelude::*;

const OWNER: &str = "acme";

#[scenario(base = "http://127.0.0.1:1")]
fn repositories() {
    #[step(get = "/repos/{{OWNRE}}/demo")]
    fn in_a_path();

    #[step(post = "/issues", json = { "owner": {{OWNRE}}, "of": "{{OWNER}}/demo" })]
    fn in_json();
}

fn main() {}
