//! The program `cargo-loadtest`; see the library of that name.

fn main() -> std::process::ExitCode {
    cargo_loadtest::main()
}
