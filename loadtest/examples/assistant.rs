//! A language model that answers word by word, and a load test of it.
//!
//! ```console
//! $ cargo test -p loadtest --example assistant     # the journey once
//! $ cargo loadtest run -p loadtest assistant      # under load
//! ```

use axum::Router;
use axum::response::sse::{Event, Sse};
use axum::routing::post;
use futures_util::stream::{Stream, unfold};
use loadtest::prelude::*;
use std::convert::Infallible;
use std::time::Duration;

/// The time until the model sends its first word, and from each word to the next.
const THINKING: Duration = Duration::from_millis(60);
const SPEAKING: Duration = Duration::from_millis(5);
const WORDS: usize = 20;

#[response]
struct Chunk {
    text: Option<String>,
    /// At the end.
    tokens: Option<u64>,
}

fn tokens(answer: &Events<Chunk>) -> u64 {
    let counted = answer.last().and_then(|chunk| chunk.tokens);
    counted.unwrap_or(answer.len() as u64)
}

/// A user asks a question, and a second one about the answer.
#[scenario(load = rate(20/s, ramp_up = 2s, for = 8s), grace = 1m)]
fn assistant() {
    #[setup]
    fn server() -> Result<Target, TargetError> {
        Target::serve(|listener| async move {
            let router = Router::new().route("/chat", post(async || Sse::new(answer())));
            axum::serve(listener, router).await
        })
    }

    #[step(
        first = |chunk| chunk.text.is_some(),
        end = "[DONE]",
        units = tokens,
        first_event.p95 < 200ms,
        good(first_event < 200ms, per_unit < 20ms) > 95%,
        check = |answer| answer.len() == WORDS + 2,
    )]
    fn ask() -> Request<Events<Chunk>> {
        Request::post("/chat").json(&json!({ "question": "Why is the sky blue?" }))
    }

    #[step(first = |chunk| chunk.text.is_some(), end = "[DONE]", units = tokens)]
    fn follow_up(ask: &Events<Chunk>) -> Request<Events<Chunk>> {
        let said: String = ask
            .iter()
            .filter_map(|chunk| chunk.text.as_deref())
            .collect();
        Request::post("/chat").json(&json!({ "said": said, "question": "Shorter, please." }))
    }
}

/// The role, the answer word by word, the number of words, and the end mark.
fn answer() -> impl Stream<Item = Result<Event, Infallible>> {
    unfold(0, |number| async move {
        let data = match number {
            0 => json!({ "role": "assistant" }).to_string(),
            1..=WORDS => {
                tokio::time::sleep(if number == 1 { THINKING } else { SPEAKING }).await;
                json!({ "text": "word " }).to_string()
            }
            _ if number == WORDS + 1 => json!({ "tokens": 2 * WORDS }).to_string(),
            _ if number == WORDS + 2 => "[DONE]".to_owned(),
            _ => return None,
        };
        Some((Ok(Event::default().data(data)), number + 1))
    })
}

loadtest::main!();
