//! The HTTP side: what is answered where.

mod error;
mod orders;
mod products;
mod sessions;

use crate::faults::{Active, Fault, Faults};
use crate::page;
use crate::store::Store;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use error::Error;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// What the handlers share.
#[derive(Debug, Clone)]
struct Shop {
    store: Arc<Store>,
    faults: Arc<Faults>,
}

/// Everything the shop answers.
pub(crate) fn router(store: Store, faults: Vec<Fault>) -> Router {
    let shop = Shop {
        store: Arc::new(store),
        faults: Arc::new(Faults::new(faults)),
    };
    Router::new()
        .route("/health", get(health))
        .route("/login", post(sessions::login))
        .route("/products", get(products::list))
        .route("/products/{id}", get(products::show))
        .route("/orders", get(orders::list).post(orders::place))
        .route("/orders/{id}", get(orders::show))
        .route(
            "/faults",
            get(faults_in_force).post(set_fault).delete(clear_faults),
        )
        .merge(page::router())
        .fallback(async || Error::new(StatusCode::NOT_FOUND, "there is nothing here"))
        .method_not_allowed_fallback(async || {
            Error::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "this cannot be done here; the `allow` header says what can",
            )
        })
        .layer(middleware::from_fn_with_state(shop.clone(), fault))
        .with_state(shop)
}

async fn health() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

/// Holds or fails a request, if a fault says so.
async fn fault(State(shop): State<Shop>, request: Request, next: Next) -> Result<Response, Error> {
    let path = request.uri().path();
    if path != "/faults" {
        let strike = shop.faults.strike(path);
        if !strike.delay.is_zero() {
            tokio::time::sleep(strike.delay).await;
        }
        if let Some(status) = strike
            .status
            .and_then(|code| StatusCode::from_u16(code).ok())
        {
            return Err(Error::new(status, "failed on purpose"));
        }
    }
    Ok(next.run(request).await)
}

async fn faults_in_force(State(shop): State<Shop>) -> Json<Vec<Active>> {
    Json(shop.faults.list())
}

async fn set_fault(
    State(shop): State<Shop>,
    fault: Result<Json<Fault>, JsonRejection>,
) -> Result<StatusCode, Error> {
    let Json(fault) = fault?;
    fault.check().map_err(Error::unprocessable)?;
    shop.faults.set(fault);
    Ok(StatusCode::NO_CONTENT)
}

async fn clear_faults(State(shop): State<Shop>) -> StatusCode {
    shop.faults.clear();
    StatusCode::NO_CONTENT
}

/// `?page=2`
#[derive(Debug, Deserialize)]
struct PageNumber {
    page: Option<u32>,
}

/// A page of a list, counted from one.
#[derive(Debug, Serialize)]
struct Page<T> {
    items: Vec<T>,
    page: u32,
}

/// The number of the page that is asked for.
fn page_number(query: Result<Query<PageNumber>, QueryRejection>) -> Result<u32, Error> {
    match query?.page {
        Some(0) => Err(Error::unprocessable("pages are counted from 1")),
        page => Ok(page.unwrap_or(1)),
    }
}
