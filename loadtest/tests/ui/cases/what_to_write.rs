use loadtest::prelude::*;

#[response]
struct Product {
    id: u64,
}

loadtest::main!(options_elsewhere);

#[scenario(json = {}, once, query = {}, p95 < 1s, retries(3))]
fn options_elsewhere() {
    #[step(get = "/", base = "http://a", cookies = user, thresholds(p95 < 1s))]
    fn health();
}

#[scenario(thresholds(login.p95 < 1s, p99.5 < 1s, errors < 0.01, errors < 0%, p95 < 1s && p99 < 1s))]
fn limits() {
    #[step("/orders")]
    fn no_method();

    #[step = "/orders"]
    fn no_parentheses();

    #[step(get = "/", expect = 200, 201)]
    fn statuses();

    #[step(get = "/", think = 1 s)]
    fn two_words();

    #[step(get = "/", expect = "200")]
    fn quoted_status();

    #[step(get = "/", expect = 200 | "4xx")]
    fn quoted_class();

    #[step(get = "/", expect = "ok")]
    fn no_status();
}

#[scenario]
fn helpers_alone() {
    fn home() -> Request {
        Request::get("/")
    }
}

#[scenario]
fn lists() {
    #[step(get = "/products")]
    fn list() -> Vec<Product>;

    #[step(get = "/products/{{list.response.id}}")]
    fn without_an_index();

    #[step(get = "/products/{{list.response.0.id}}")]
    fn with_a_number();

    #[step(get = "/products/{{secrets.TOKEN}}")]
    fn secrets_in_the_plural();

    #[step(get = "/", check = list.id == 3)]
    fn condition() -> Product;

    #[step(post = "/", json = json!({ "id": 3 }))]
    fn json_macro();

    #[step]
    fn answer() -> Response<Product> {
        Request::get("/")
    }

    #[step]
    async fn request() -> Request {
        Request::get("/")
    }
}

#[response]
#[derive(Debug, PartialEq)]
struct Derived {
    id: u64,
}

#[response]
fn function() {}
