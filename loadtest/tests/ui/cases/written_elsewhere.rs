//! What is written as it is elsewhere: in other places of a scenario, and in other tools.

use loadtest::prelude::*;

#[scenario(header("x-client"))]
fn a_header_without_a_value() {
    #[step(get = "/a", header("x-a" = "b"))]
    fn equals();

    #[step(get = "/b", header(x = "b"))]
    fn no_quotes();

    #[step(get = "/c", header("x-a", "b", "c"))]
    fn three();
}

const CLIENT: &str = "loadtest";

#[scenario(header("x-client", CLIENT))]
fn a_constant() {
    #[step(get = "/a", weight = 0.5, one_of = views::grid)]
    fn grid();

    #[step(get = "/b", weight = 0.5, one_of = views::rows)]
    fn rows();
}

#[scenario(bearer = "{{kay}}")]
fn placeholders() {
    #[setup]
    fn server() -> Target {
        Target::external("http://127.0.0.1:1")
    }

    #[setup]
    fn key() -> String {
        String::new()
    }

    #[state]
    fn seen() -> u64 {
        0
    }

    #[step(get = "/pages/{{sen}}", header("x-time", "{{vu.nwo}}"))]
    fn page();

    #[step(get = "{{server.url}}/{{vu.name}}", header("x-seen", "{{seen.response.id}}"))]
    fn target();
}

#[scenario]
fn before_and_after() {
    #[setup]
    async fn items(vu: &mut Vu, http: &mut Http) -> Result<u64, Error> {
        Ok(vu.id())
    }

    #[step(get = "/a")]
    fn look();

    #[teardown]
    fn delete(vu: &Vu) {}
}

fn main() {}
