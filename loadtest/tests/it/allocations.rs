//! How often the building of a request allocates, counted by the allocator.

use allocation_counter::measure;
use loadtest::__private::{Chain, RawResponse, RequestBuf, SetupContext};
use loadtest::Vu;
use loadtest::prelude::*;

#[response]
struct Login {
    token: String,
    id: u64,
}

#[scenario(header("x-run", "one"), header("accept", "*/*"))]
fn requests() {
    #[step(
        post = "/login?x=1",
        header("accept", "application/json"),
        header("x-trace", "one"),
        bearer = "secret",
        json = { "user": "ada", "tags": [1, -2.5, true, null] },
    )]
    fn login() -> Login;

    #[step(post = "/form", basic = ("ada", "pass"), query = { "q": "a b" }, form = { "a": 1 })]
    fn form();

    #[step(put = "/file", body = file("Cargo.toml"))]
    fn file();

    #[step(post = "/parts", multipart = { "name": "x", "code": file("Cargo.toml") })]
    fn parts();

    #[step(get = "/orders/{{login.response.id}}?of={{login.response.token}}")]
    fn url();

    #[step(get = "/", bearer = "{{login.response.token}}")]
    fn header();

    #[step(post = "/", json = { "id": {{login.response.id}}, "of": "{{login.response.token}}" })]
    fn json();

    #[step(post = "/", form = { "id": {{login.response.id}}, "of": "{{login.response.token}}" })]
    fn values_in_a_form();
}

/// The allocations of each step once the storage that is used again has grown.
fn allocations() -> Vec<(String, u64)> {
    let scenario = requests();
    let prepared = (scenario.prepare)(&SetupContext::default()).expect("the files are there");
    let mut vu = Vu::new(1, 0);
    let mut chain: Box<dyn Chain> = (scenario.chain)(&prepared.shared, &mut vu);
    let mut buffer = RequestBuf::default();
    chain.begin(&mut vu);
    let login = RawResponse::from(http::Response::new(r#"{"token":"a b","id":7}"#.into()));
    chain.finish(0, login).expect("a login");
    let mut counts = Vec::new();
    for round in 0..3 {
        for (at, step) in scenario.definition.steps.iter().enumerate() {
            let mut built = Ok(());
            let info = measure(|| built = chain.build(at, &mut vu, &mut buffer));
            built.expect("a request");
            if round == 2 {
                counts.push((step.name.to_string(), info.count_total));
            }
        }
    }
    counts
}

#[test]
fn constant_requests_allocate_nothing_and_values_little() {
    let one = measure(|| drop(std::hint::black_box(vec![1_u8])));
    assert_eq!(one.count_total, 1, "the allocator counts");
    let counts = allocations();
    for constant in ["login", "form", "file", "parts"] {
        let (_, count) = counts
            .iter()
            .find(|(name, _)| name == constant)
            .expect("the step");
        assert_eq!(*count, 0, "`{constant}` in {counts:?}");
    }
    // one for what is handed on: the URL, the header, the body
    for templated in ["url", "header", "json", "values_in_a_form"] {
        let (_, count) = counts
            .iter()
            .find(|(name, _)| name == templated)
            .expect("the step");
        assert!(*count <= 1, "`{templated}` in {counts:?}");
    }
}
