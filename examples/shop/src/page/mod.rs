//! The shop for people: a page that does by the API what customers do, and nothing that the API does not.
//!
//! Its four files are in the binary, and it asks nobody else for anything.

use axum::Router;
use axum::http::header::{
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::IntoResponse;
use axum::routing::get;

/// The page may run and show what comes from here, ask the API, and nothing else. Its forms are sent by its script
/// alone, so that no password is ever in an address.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

pub(crate) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route(
            "/",
            get(async || file("text/html", include_str!("index.html"))),
        )
        .route(
            "/style.css",
            get(async || file("text/css", include_str!("style.css"))),
        )
        .route(
            "/shop.js",
            get(async || file("text/javascript", include_str!("shop.js"))),
        )
        .route(
            "/logo.svg",
            get(async || file("image/svg+xml", include_str!("logo.svg"))),
        )
}

fn file(kind: &str, text: &'static str) -> impl IntoResponse + use<> {
    let headers = [
        (CONTENT_TYPE, format!("{kind}; charset=utf-8")),
        (CONTENT_SECURITY_POLICY, POLICY.to_owned()),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (REFERRER_POLICY, "no-referrer".to_owned()),
    ];
    (headers, text)
}
