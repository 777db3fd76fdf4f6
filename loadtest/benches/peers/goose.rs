//! Goose, doing the same: Goose's own options, and the journey in the environment.
//!
//! Prints requests, and its p50, p90, p99 and max of the response times in microseconds.

use goose::prelude::*;
use serde_json::Value;

async fn ask(user: &mut GooseUser) -> TransactionResult {
    user.get("/").await?;
    Ok(())
}

async fn three(user: &mut GooseUser) -> TransactionResult {
    let login = serde_json::json!({ "user": "ada" });
    let login: Value = user
        .post_json("/login", &login)
        .await?
        .response?
        .json()
        .await?;
    let token = login["token"].as_str().unwrap_or_default().to_owned();
    let url = format!("/products/{}", login["user"]["id"]);
    let request = user
        .get_request_builder(&GooseMethod::Get, &url)?
        .bearer_auth(&token);
    let request = GooseRequest::builder().set_request_builder(request).build();
    let product: Value = user.request(request).await?.response?.json().await?;
    let order = serde_json::json!({ "product": product["id"] });
    let request = user
        .get_request_builder(&GooseMethod::Post, "/orders")?
        .bearer_auth(&token)
        .json(&order);
    let request = GooseRequest::builder().set_request_builder(request).build();
    user.request(request).await?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), GooseError> {
    let journey = if std::env::var("JOURNEY").as_deref() == Ok("three") {
        transaction!(three)
    } else {
        transaction!(ask)
    };
    let metrics = GooseAttack::initialize()?
        .register_scenario(scenario!("peer").register_transaction(journey))
        .execute()
        .await?;
    for request in metrics.requests.values() {
        let data = &request.raw_data;
        let time = |share: f64| {
            let mut left = (share * data.counter as f64).ceil() as usize;
            let mut buckets = data.times_us.into_iter();
            let bucket = buckets.find(|(_, count)| {
                left = left.saturating_sub(**count);
                left == 0
            });
            bucket.map_or(0, |(time, _)| *time)
        };
        let [p50, p90, p99] = [0.5, 0.9, 0.99].map(time);
        println!("{} {p50} {p90} {p99} {}", data.counter, data.maximum_time_us);
    }
    Ok(())
}
