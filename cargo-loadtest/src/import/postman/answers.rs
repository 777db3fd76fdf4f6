//! Answers that were saved with a request, as examples.

use super::super::document::Node;
use super::super::recording::{Answer, Header};
use super::super::text::is_token;
use super::dynamic;
use super::environment::value_text;

/// Returns the first saved answer of success, and the statuses of success.
pub(super) fn read_answers(item: &Node<'_>, expected: &[u16]) -> (Option<Answer>, Vec<u16>) {
    let saved: Vec<(u16, &Node<'_>)> = item
        .get("response")
        .map(Node::items)
        .unwrap_or_default()
        .iter()
        .filter_map(|response| Some((read_code(response)?, response)))
        .collect();
    let mut expect = expected.to_vec();
    if expect.is_empty() {
        let codes = saved.iter().map(|(code, _)| *code);
        expect = codes.filter(|code| *code < 400).collect();
    }
    expect.sort_unstable();
    expect.dedup();
    let chosen = saved.iter().find(|(code, _)| expect.contains(code));
    let answer = chosen.map(|(status, response)| read_answer(*status, response));
    (answer, expect)
}

fn read_code(response: &Node<'_>) -> Option<u16> {
    let code = response.get("code")?.scalar()?.parse().ok()?;
    (200..600).contains(&code).then_some(code)
}

fn read_answer(status: u16, response: &Node<'_>) -> Answer {
    let text = response.get("body").map(value_text).unwrap_or_default();
    let known = dynamic::replace_kinds(&text);
    let headers = response.get("header").map(read_headers).unwrap_or_default();
    Answer {
        status,
        headers,
        body: known.unwrap_or(text).into_bytes(),
        is_example: true,
    }
}

fn read_headers(list: &Node<'_>) -> Vec<Header> {
    let headers = list.items().iter().filter_map(|header| {
        let name = header.text_of("key")?.trim();
        let text = header.get("value").map(value_text).unwrap_or_default();
        is_token(name).then(|| Header::new(name, text.trim()))
    });
    headers.collect()
}
