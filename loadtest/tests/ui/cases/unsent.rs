//! Requests of an `async` step that are awaited before they are sent.

use loadtest::prelude::*;

fn main() {}

#[scenario]
fn scenario() {
    #[step]
    async fn awaited(http: &mut Http) -> Result<String, Error> {
        Ok(http.get("/").await?.text().await?)
    }

    #[step]
    async fn joined(http: &mut Http) -> Result<(), Error> {
        let order = http.post("/orders").json(&json!({ "id": 7 })).await;
        order?.error_for_status()?;
        Ok(())
    }
}
