//! Streams as well-known services of language models send them, however their bytes are cut.

use crate::completion::Chunk;
use crate::paused::run_on_paused_clock;
use loadtest::card::Card;
use loadtest::prelude::*;
use loadtest::{Run, Scenario};
use loadtest_model::definition::Load;
use loadtest_tests::Reply;
use std::time::Duration;

/// A role first, thoughts before words, a comment, the count of tokens without choices, and a mark as the end.
const CHAT: &str = "\
: OPENROUTER PROCESSING\n\n\
data: {\"id\":\"c-1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n\
data: {\"id\":\"c-1\",\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"It scatters.\"},\"finish_reason\":null}]}\n\n\
data: {\"id\":\"c-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Blue light \"},\"finish_reason\":null}]}\n\n\
: ping\n\n\
data: {\"id\":\"c-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"scatters — 🌈\"},\"finish_reason\":null}]}\n\n\
data: {\"id\":\"c-1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
data: {\"id\":\"c-1\",\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":12,\"total_tokens\":21}}\n\n\
data: [DONE]\n\n";

/// Events with names, of which the last one is the end.
const MESSAGES: &str = "\
event: message_start\n\
data: {\"type\":\"message_start\",\"message\":{\"role\":\"assistant\",\"usage\":{\"input_tokens\":25,\"output_tokens\":1}}}\n\n\
event: content_block_start\n\
data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
event: ping\n\
data: {\"type\": \"ping\"}\n\n\
event: content_block_delta\n\
data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Blue light \"}}\n\n\
event: content_block_delta\n\
data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"scatters — 🌈\"}}\n\n\
event: content_block_stop\n\
data: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
event: message_delta\n\
data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":15}}\n\n\
event: message_stop\n\
data: {\"type\":\"message_stop\"}\n\n";

/// A value on each line, the last one with what was counted.
const LINES: &str = "\
{\"model\":\"m\",\"created_at\":\"2026-01-01T00:00:00Z\",\"message\":{\"role\":\"assistant\",\"content\":\"Blue light \"},\"done\":false}\n\
{\"model\":\"m\",\"created_at\":\"2026-01-01T00:00:01Z\",\"message\":{\"role\":\"assistant\",\"content\":\"scatters — 🌈\"},\"done\":false}\n\
{\"model\":\"m\",\"created_at\":\"2026-01-01T00:00:02Z\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"eval_count\":14}\n";

const SAID: &str = "Blue light scatters — 🌈";

fn counted_by_usage(answer: &Events<Chunk>) -> u64 {
    let usage = answer.last().and_then(|chunk| chunk.usage.as_ref());
    usage.map_or(0, |usage| usage.completion_tokens)
}

#[scenario]
fn chat() {
    #[step(
        post = "/v1/chat/completions",
        first = |chunk| chunk.output().is_some(),
        end = "[DONE]",
        units = counted_by_usage,
        check = |answer| {
            let said = answer.iter().filter_map(|chunk| chunk.choices.first()?.delta.content.as_deref());
            said.collect::<String>() == SAID
        },
    )]
    fn ask() -> Events<Chunk>;
}

#[scenario]
fn messages() {
    #[step(
        post = "/v1/messages",
        first = |event| event["delta"]["text"].is_string(),
        end = |event| event["type"] == "message_stop",
        units = |events| events.iter().filter_map(|event| event["usage"]["output_tokens"].as_u64()).sum(),
        check = |answer| {
            let deltas = answer.iter().filter(|event| event.name() == Some("content_block_delta"));
            deltas.filter_map(|event| event["delta"]["text"].as_str()).collect::<String>() == SAID
        },
    )]
    fn ask() -> Events<Value>;
}

#[scenario]
fn lines() {
    #[step(
        post = "/api/chat",
        first = |line| line["message"]["content"] != "",
        end = |line| line["done"] == true,
        units = |lines| lines.last().and_then(|line| line["eval_count"].as_u64()).unwrap_or(0),
        check = |answer| {
            answer.iter().filter_map(|line| line["message"]["content"].as_str()).collect::<String>() == SAID
        },
    )]
    fn ask() -> Events<Value>;
}

/// Two journeys against a server that sends `body`, in one piece or byte by byte.
fn run(scenario: &'static Scenario, kind: &'static str, body: String, is_cut: bool) -> Card {
    let run = Run::new(scenario).load(Load::iterations(2, 1));
    run_on_paused_clock(run, move |_| {
        let reply = Reply::status(200).header("content-type", kind);
        let reply = reply.body(body.clone());
        if is_cut {
            reply.drip(1, Duration::ZERO)
        } else {
            reply
        }
    })
}

#[test]
fn streams_of_models_are_read_as_they_mean_it_wherever_their_bytes_are_cut() {
    let sent: [(_, _, _, [u64; 3]); 3] = [
        (chat(), "text/event-stream", CHAT, [6, 4, 12]),
        (
            messages(),
            "text/event-stream; charset=utf-8",
            MESSAGES,
            [8, 4, 15],
        ),
        (lines(), "application/x-ndjson", LINES, [3, 2, 14]),
    ];
    for (scenario, kind, body, [events, gaps, units]) in sent {
        for (line_end, is_cut) in [("\n", false), ("\r\n", true)] {
            let body = body.replace('\n', line_end);
            let card = run(scenario, kind, body, is_cut);
            let what = format!("{}, {line_end:?}", card.name);
            assert!(card.errors.is_empty(), "{what}: {:?}", card.errors);
            let step = &card.steps[0];
            assert_eq!((step.ok, step.checks_passed), (2, 2), "{what}");
            let stream = step.stream.as_ref().unwrap();
            assert_eq!(
                (stream.events, stream.units),
                (2 * events, 2 * units),
                "{what}"
            );
            assert_eq!(stream.gap.samples, 2 * gaps, "{what}");
        }
    }
}

#[test]
fn an_error_that_a_model_sends_within_a_stream_fails_it() {
    let said = r#"{"error":{"message":"Overloaded","code":503}}"#;
    let named = r#"{"type":"error","error":{"type":"overloaded_error"}}"#;
    let line = r#"{"error":"model not found"}"#;
    let of_chat = format!("data: {said}\n\n");
    let done = format!("{of_chat}data: [DONE]\n\n");
    let of_messages = format!("event: error\ndata: {named}\n\n");
    let of_lines = format!("{line}\n");
    for (scenario, content_type, whole, error, quoted) in [
        (chat(), "text/event-stream", CHAT, &of_chat, said),
        (chat(), "text/event-stream", CHAT, &done, said),
        (
            messages(),
            "text/event-stream",
            MESSAGES,
            &of_messages,
            named,
        ),
        (lines(), "application/x-ndjson", LINES, &of_lines, line),
    ] {
        // Instead of the last event, or of the last two.
        let cut = whole.trim_end().rfind('\n').unwrap() + 1;
        let cut = whole[..cut].trim_end().rfind('\n').unwrap() + 1;
        let first = whole[..cut].trim_end_matches("event: message_stop\n");
        let body = [first, error].concat();
        let card = run(scenario, content_type, body, false);
        let [failure] = &card.errors[..] else {
            panic!("{quoted}: {:?}", card.errors)
        };
        assert_eq!((failure.count, card.steps[0].failed), (2, 2));
        let (kind, words) = (failure.kind.name(), &*failure.example);
        let expected = format!("the service failed within its stream: {quoted}");
        assert_eq!((kind, words), ("stream.error", &*expected));
    }
}
