//! `cargo loadtest`: discovers, runs, grades and exports load tests.
fn main() {}
