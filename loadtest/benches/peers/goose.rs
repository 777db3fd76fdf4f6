//! Goose, doing the same: `goose-peer one|three` and Goose's own options.

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
    GooseAttack::initialize()?
        .register_scenario(scenario!("peer").register_transaction(journey))
        .execute()
        .await?;
    Ok(())
}
