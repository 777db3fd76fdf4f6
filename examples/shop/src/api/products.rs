//! What is for sale.

use super::{Error, Page, PageNumber, Shop, page_number};
use crate::store::Product;
use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};

pub(super) async fn list(
    State(shop): State<Shop>,
    query: Result<Query<PageNumber>, QueryRejection>,
) -> Result<Json<Page<Product>>, Error> {
    let page = page_number(query)?;
    let items = shop.store.products(page);
    Ok(Json(Page { items, page }))
}

pub(super) async fn show(
    State(shop): State<Shop>,
    id: Result<Path<i64>, PathRejection>,
) -> Result<Json<Product>, Error> {
    let missing = || Error::not_found("product");
    let Path(id) = id.map_err(|_| missing())?;
    shop.store.product(id).map(Json).ok_or_else(missing)
}
