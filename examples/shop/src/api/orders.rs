//! Buying, and looking at what one has bought.

use super::sessions::Customer;
use super::{Error, Page, PageNumber, Shop, page_number};
use crate::store::{Order, Placed};
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde::Deserialize;

/// The most of a product that one order may have.
const MOST: i64 = 100;

#[derive(Debug, Deserialize)]
pub(super) struct NewOrder {
    product: i64,
    #[serde(default = "one")]
    quantity: i64,
}

fn one() -> i64 {
    1
}

pub(super) async fn place(
    State(shop): State<Shop>,
    customer: Customer,
    order: Result<Json<NewOrder>, JsonRejection>,
) -> Result<impl IntoResponse, Error> {
    let Json(NewOrder { product, quantity }) = order?;
    if !(1..=MOST).contains(&quantity) {
        return Err(Error::unprocessable(format!(
            "an order has 1 to {MOST} of a product, not {quantity}"
        )));
    }
    match shop.store.place(customer.id, product, quantity) {
        Placed::Order(order) => {
            let location = [(header::LOCATION, format!("/orders/{}", order.id))];
            Ok((StatusCode::CREATED, location, Json(order)))
        }
        Placed::NoSuchProduct => Err(Error::unprocessable("there is no such product")),
        Placed::OutOfStock => Err(Error::new(StatusCode::CONFLICT, "not enough in stock")),
    }
}

/// An order of somebody else does not exist, as far as a customer can tell.
pub(super) async fn show(
    State(shop): State<Shop>,
    customer: Customer,
    id: Result<Path<i64>, PathRejection>,
) -> Result<Json<Order>, Error> {
    let missing = || Error::not_found("order");
    let Path(id) = id.map_err(|_| missing())?;
    shop.store
        .order(customer.id, id)
        .map(Json)
        .ok_or_else(missing)
}

pub(super) async fn list(
    State(shop): State<Shop>,
    customer: Customer,
    query: Result<Query<PageNumber>, QueryRejection>,
) -> Result<Json<Page<Order>>, Error> {
    let page = page_number(query)?;
    let items = shop.store.orders(customer.id, page);
    Ok(Json(Page { items, page }))
}
