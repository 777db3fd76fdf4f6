//! What a chain costs per request: building it, and reading its answer.

use divan::{Bencher, black_box};
use loadtest::__private::{Chain, RawResponse, RequestBuf, SetupContext};
use loadtest::Vu;
use loadtest::prelude::*;

fn main() {
    divan::main();
}

#[global_allocator]
static ALLOCATOR: divan::AllocProfiler = divan::AllocProfiler::system();

#[response]
struct Login {
    token: String,
    id: u64,
}

/// A step of each kind; the answer of the first is what the others read.
#[scenario]
fn steps() {
    #[step(
        post = "/login",
        header("x-trace", "one"),
        json = { "user": "ada", "password": "lovelace" },
    )]
    fn constant() -> Login;

    #[step(
        get = "/orders/{{constant.response.id}}",
        bearer = "{{constant.response.token}}"
    )]
    fn url_and_header();

    #[step(
        post = "/orders",
        bearer = "{{constant.response.token}}",
        json = { "product": {{constant.response.id}}, "note": "for {{constant.response.token}}" },
    )]
    fn header_and_json();

    #[step(post = "/orders", form = { "id": {{constant.response.id}}, "of": "{{step1.response.token}}" })]
    fn form();

    #[step]
    fn builder(constant: &Login) -> Request {
        Request::get(format!("/orders/{}", constant.id)).bearer_auth(&constant.token)
    }
}

const NAMES: [&str; 5] = [
    "constant",
    "url_and_header",
    "header_and_json",
    "form",
    "builder",
];

const ANSWER: &str = r#"{"token":"eyJhbGciOiJIUzI1NiJ9.e30.abc","id":7421}"#;

fn answer() -> RawResponse {
    RawResponse::from(http::Response::new(ANSWER.into()))
}

fn user() -> (Box<dyn Chain>, Vu) {
    let scenario = steps();
    let prepared = (scenario.prepare)(&SetupContext::default()).expect("no setup fails");
    let mut vu = Vu::new(1, 0);
    let mut chain = (scenario.chain)(&prepared.shared, &mut vu);
    chain.begin(&mut vu);
    chain.finish(0, answer()).expect("an answer");
    (chain, vu)
}

#[divan::bench(args = NAMES)]
fn build(bencher: Bencher<'_, '_>, name: &str) {
    let definition = &steps().definition;
    let step = definition.steps.iter().position(|step| step.name == name);
    let step = step.expect("a step of that name");
    let (mut chain, mut vu) = user();
    let mut buffer = RequestBuf::default();
    bencher.bench_local(|| chain.build(black_box(step), &mut vu, &mut buffer));
}

#[divan::bench]
fn decode(bencher: Bencher<'_, '_>) {
    let (mut chain, _) = user();
    bencher
        .with_inputs(answer)
        .bench_local_values(|answer| chain.finish(black_box(0), answer));
}
