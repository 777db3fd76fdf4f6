//! A small shop.
fn main() {}
