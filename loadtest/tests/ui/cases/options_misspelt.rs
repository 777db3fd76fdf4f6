use loadtest::prelude::*;

#[response]
struct Login {
    token: String,
    any: Value,
}

fn main() {}

#[scenario]
fn signs() {
    #[step(get: "/", weight: 0.5)]
    fn colon();

    #[step(get("/"), weight(0.5))]
    fn parentheses();

    #[step(get "/", weight)]
    fn nothing();

    #[step(get = "/", weight == 0.5)]
    fn comparison();

    #[step(get = "/", header = ("x-a", "b"))]
    fn equals();

    #[step("/orders")]
    fn no_name();

    #[step(get = "/", name = health)]
    fn no_quotes();
}

#[scenario]
fn words() {
    #[step(method = "GET", url = "/")]
    fn two_options();

    #[step(get = "/", status = 200, delay = 1s, probability = 0.5, auth = "t")]
    fn synonyms();

    #[step(get = "/", colour = "red")]
    fn unknown();
}

#[scenario(rate = 200/s, duration = 1m, slo(p95 < 1s), host = "http://a", thresholds = [p95 < 1s])]
fn of_scenarios() {
    #[step(get = "/")]
    fn health();
}

#[scenario("checkout", tags("x"), base = URL, thresholds("p95 < 300ms"))]
fn texts() {
    #[step(get = "/")]
    fn health();
}

#[scenario(name = checkout, tags = ["a", b])]
fn words_for_texts() {
    #[step(get = "/")]
    fn health();
}
