//! The tool as the alias `cargo loadtest` of this repository runs it.
//!
//! It is an example of this package, so that cargo builds it with the features and the profile of the
//! load tests: what both need is compiled once.

fn main() -> std::process::ExitCode {
    cargo_loadtest::main()
}
