use loadtest::prelude::*;

fn main() {}

const HALF: f64 = 0.5;

#[scenario]
fn options() {
    #[step(get = "/")]
    fn browse();
    #[step(post = "/", last = true)]
    fn a_value();
    #[step(post = "/", once, last)]
    fn both();
    #[step(post = "/", last, weight = 0.5)]
    fn by_chance();
    #[step(post = "/", weight = HALF, last)]
    fn by_a_constant();
    #[step(get = "/", one_of = view, weight = 0.5)]
    fn view_one();
    #[step(get = "/", one_of = view, weight = 0.5, last)]
    fn view_other();
    #[step(post = "/", last, think = 1s)]
    fn thinks();
    #[step(post = "/", last, p95 < 1s, rps > 5/s)]
    fn has_no_rate();
    #[step(post = "/", lats)]
    fn typo();
}

#[scenario(header("x-bye", "{{log_out.response.bye}}"))]
fn readers() {
    #[step(post = "/login")]
    fn login() -> Value;
    #[step(post = "/logout", last)]
    fn log_out() -> Value;
    #[step(get = "/{{log_out.response.id}}")]
    fn template();
    #[step(get = "/", header("x-bye", "{{step2.headers.x-bye}}"))]
    fn header();
    #[step(get = "/", once)]
    fn order(_log_out: &Value);
    #[step]
    fn builder(login: &Value, log_out: &Value) -> Request {
        Request::get(format!("/{login}/{log_out}"))
    }
    #[step]
    fn optional(log_out: Option<&Value>) -> Request {
        Request::get(format!("/{log_out:?}"))
    }
    #[step]
    async fn sender(log_out: &Value, http: &mut Http) -> Result<(), Error> {
        http.get(format!("/{log_out}")).send().await?;
        Ok(())
    }
    #[step(post = "/{{log_out.response.id}}", last)]
    fn another();
    #[check]
    fn is_gone(log_out: &Value, login: &Value) -> bool {
        log_out["id"] == login["id"]
    }
}

#[scenario]
fn all_last() {
    #[step(post = "/logout", last)]
    fn log_out();
}

#[scenario]
fn none_in_the_middle() {
    #[step(post = "/login", once)]
    fn login();
    #[step(post = "/logout", last)]
    fn log_out();
}
