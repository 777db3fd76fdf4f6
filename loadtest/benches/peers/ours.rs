//! `ours one|three|http2|sockets URL SECONDS [USERS [PER_SECOND]]`: loadtest, as a program of its own.

use loadtest::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

#[response]
struct Login {
    token: String,
    user: User,
}

#[response]
struct User {
    id: u64,
}

#[response]
struct Product {
    id: u64,
}

#[scenario]
fn one() {
    #[step(get = "/")]
    fn ask();
}

#[scenario(http = 2, insecure = true)]
fn http2() {
    #[step(get = "/")]
    fn ask();
}

#[scenario]
fn three() {
    #[step(post = "/login", json = { "user": "ada" })]
    fn login() -> Login;

    #[step(
        get = "/products/{{login.response.user.id}}",
        bearer = "{{login.response.token}}"
    )]
    fn product() -> Product;

    #[step(post = "/orders", bearer = "{{login.response.token}}", json = { "product": {{product.response.id}} }, expect = 200)]
    fn order();
}

#[response]
struct Heard {
    id: Option<u64>,
}

/// The messages that a second brings besides the answer.
static PER_SECOND: AtomicU32 = AtomicU32::new(1);

#[scenario]
fn sockets() {
    #[step(ws = "/", once)]
    fn feed() -> Socket<Heard>;

    #[step]
    async fn ask(feed: &Socket<Heard>, vu: &mut Vu) -> Result<(), Error> {
        let id = vu.iteration();
        let answer = feed.ask(&json!({ "id": id }));
        answer.until(|heard| heard.id == Some(id)).await?;
        for _ in 0..PER_SECOND.load(Relaxed) {
            feed.next().await?;
        }
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut given = std::env::args().skip(1);
    let mut next = || given.next().expect("ours one|three|http2|sockets URL SECONDS [USERS [PER_SECOND]]");
    let scenario = match next().as_str() {
        "one" => one(),
        "http2" => http2(),
        "sockets" => sockets(),
        _ => three(),
    };
    let url = next();
    let seconds = next().parse().expect("seconds");
    let users = given.next().map_or(64, |users| users.parse().expect("users"));
    if let Some(messages) = given.next() {
        PER_SECOND.store(messages.parse().expect("messages"), Relaxed);
    }
    let load = loadtest_model::definition::Load::users(users, Duration::from_secs(seconds));
    let card = loadtest::Run::new(scenario)
        .load(load)
        .base_url(url)
        .run()
        .await;
    let card = card.expect("a run");
    println!("{card}");
    if let Some(sockets) = card.websockets {
        println!("{} messages received", sockets.tally.received_messages);
    }
}
