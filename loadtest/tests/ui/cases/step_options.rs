use loadtest::prelude::*;

#[response]
pub struct Login {
    pub token: String,
    pub user: User,
    pub ids: Vec<u64>,
}
#[response]
pub struct User {
    pub id: u64,
}
pub struct NotJson;

fn main() {}

#[scenario]
fn scenario() {
    #[step(weight = 0)]
    fn zero() -> Request { Request::get("/") }
    #[step(weight = 1.5)]
    fn above() -> Request { Request::get("/") }
    #[step(weight = 80)]
    fn percent() -> Request { Request::get("/") }
    #[step(weight = -0.5)]
    fn negative() -> Request { Request::get("/") }
    #[step(weight = "a")]
    fn text() -> Request { Request::get("/") }
    #[step(wieght = 0.5, expct = 200)]
    fn typos() -> Request { Request::get("/") }
    #[step(expect = 700)]
    fn status() -> Request { Request::get("/") }
    #[step(expect = 9xx)]
    fn class() -> Request { Request::get("/") }
    #[step(expect = 300..200)]
    fn range() -> Request { Request::get("/") }
    #[step(expect = ok)]
    fn word() -> Request { Request::get("/") }
    #[step(expect = 200, 201)]
    fn comma() -> Request { Request::get("/") }
    #[step(think = 500)]
    fn no_unit() -> Request { Request::get("/") }
    #[step(think = 5parsecs)]
    fn unknown_unit() -> Request { Request::get("/") }
    #[step(think = 2s..1s)]
    fn bounds() -> Request { Request::get("/") }
    #[step(timeout = 0s, apdex = fast, budget = 2, grade_weight = much)]
    fn values() -> Request { Request::get("/") }
    #[step(think = 1s, think = 2s)]
    fn twice() -> Request { Request::get("/") }
    #[step(p95 > 1s, p99.9 < 1s, p99 1s, errors < 1, p95 < 10%)]
    fn limits() -> Request { Request::get("/") }
    #[step(get = "/", header("bad name", "x"), header("x", "a\nb"))]
    fn headers();
    #[step(get = "/a b")]
    fn space();
    #[step(get = "a")]
    fn relative();
    #[step(get = "https://")]
    fn no_host();
    #[step(get = "/", post = "/")]
    fn two_methods();
    #[step(get = "/x", header("x", "y"), json = 1)]
    fn both() -> Request { Request::get("/") }
    #[step(name = "both", get = "/")]
    fn same_name();
    #[step(name = "", get = "/")]
    fn no_name();
    #[step]
    fn nothing();
    #[step(get = "/")]
    fn parameters(both: &Value);
}
