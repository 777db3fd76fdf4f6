//! `cargo loadtest`: discovers, runs, grades and exports load tests.

#[cfg_attr(
    not(test),
    expect(dead_code, reason = "no command renders a report yet")
)]
mod export;

fn main() {}
