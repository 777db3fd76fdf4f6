//! The service of `shop.proto`, as `tonic-prost-build` 0.14 generates it with `build_transport(false)`.
//!
//! It is what the crate of a service hands to its clients.

#![allow(
    clippy::all,
    clippy::pedantic,
    clippy::allow_attributes_without_reason,
    missing_docs,
    reason = "it is generated"
)]

include!("shop.rs");
