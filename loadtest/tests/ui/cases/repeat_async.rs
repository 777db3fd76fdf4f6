use loadtest::prelude::*;

fn main() {}

#[scenario]
fn scenario() {
    #[step(retry(3), until = |r| r.done)]
    async fn polls() -> Result<Value, Error> { Err(Error::msg("no")) }
}
