use loadtest::prelude::*;

fn main() {}

#[scenario(base = "http://127.0.0.1:1", thresholds(
    tag(api).p95 < 1s,
    tag("apy").errors < 1%,
    tag(billing).errors < 1%,
    tag(api) < 1%,
    tag(api).dropped < 1%,
    tag(api).count(a) < 1,
    tag().p95 < 1s,
    tag(session).rps > 1/s,
    row(status).p95 < 1s,
))]
fn tags() {
    #[step(get = "/", tags = ["session"], once)]
    fn log_in();

    #[step(get = "/", tags = ["api", "read"], tag(api).p95 < 1s, row(status).p95 < 1s)]
    fn first();

    #[step(
        tags = "api",
        row("order status").checks > 99%,
        row("order status").service.p95 < 1s,
        row("order status") < 1s,
        row(order status).p95 < 1s,
        row.p95 < 1s,
    )]
    async fn wait(http: &mut Http) -> Result<(), Error> {
        http.get("/").name("order status").send().await?;
        Ok(())
    }
}

#[scenario(base = "http://127.0.0.1:1", thresholds(tag(api).p95 < 1s))]
fn untagged() {
    #[step(get = "/")]
    fn first();
}

#[scenario(base = "http://127.0.0.1:1")]
fn not_until() {
    #[step(get = "/", done.p95 < 2s)]
    fn first();
}
