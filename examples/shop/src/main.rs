//! A small shop over HTTP: users, products and orders, kept in memory.
//!
//! It is an ordinary service to load test, and it can be told to be slow or to fail: see [`faults`]. People have a
//! [`page`] for it: `cargo run -p shop`, then <http://127.0.0.1:3000>.

mod api;
mod faults;
mod options;
mod page;
mod store;

use axum::serve::ListenerExt;
use options::{Command, Options};
use std::net::Ipv4Addr;
use std::process::ExitCode;
use tokio::net::TcpListener;

fn main() -> ExitCode {
    let command = options::parse(
        std::env::args().skip(1),
        std::env::var("SHOP_FAULTS").ok().as_deref(),
    );
    match command {
        Ok(Command::Help) => {
            say(options::USAGE);
            ExitCode::SUCCESS
        }
        Ok(Command::Serve(options)) => match serve(options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                complain(&error);
                ExitCode::FAILURE
            }
        },
        Err(error) => {
            complain(&error);
            ExitCode::from(2)
        }
    }
}

/// Serves until it is killed, with one thread: a request is little work, and the other cores are left
/// to whoever loads this one.
#[tokio::main(flavor = "current_thread")]
async fn serve(options: Options) -> Result<(), String> {
    let store = store::Store::new();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))
        .await
        .map_err(|error| format!("cannot listen on 127.0.0.1:{}: {error}", options.port))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    say(&format!("listening on http://{address}"));

    // An answer is one small packet; holding it back to fill a larger one would only delay it.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, api::router(store, options.faults))
        .await
        .map_err(|error| error.to_string())
}

#[expect(clippy::print_stdout, reason = "this is what the user asked for")]
fn say(text: &str) {
    println!("{text}");
}

#[expect(clippy::print_stderr, reason = "errors go where errors go")]
fn complain(error: &str) {
    eprintln!("shop: {error}");
}
