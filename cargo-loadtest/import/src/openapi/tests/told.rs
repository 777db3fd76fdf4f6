//! What is not done as a document says, and where that is told: a `«` stands before it.

use super::*;

/// What is told of a document at that place.
fn told_at(text: &str) -> Vec<String> {
    let at = text.find('«').unwrap();
    let plain = text.replace('«', "");
    let options = OpenApiOptions::default();
    let recording = read_openapi(&input(&plain), &options).unwrap();
    let notes = recording.notes.into_iter();
    let notes = notes.filter(|note| note.span.start == at);
    notes.map(|note| note.words).collect()
}

fn check(rows: &[(&str, &str)]) {
    for (text, words) in rows {
        let told = told_at(text);
        assert!(
            told.iter().any(|told| told.contains(words)),
            "{text}\n{words}\n{told:?}"
        );
    }
}

#[test]
fn nothing_of_a_server_is_left_out_without_a_word() {
    let paths = "\npaths: {/x: {get: {}}}\n";
    let with = |head: &str| format!("{head}{paths}");
    let texts: Vec<(String, &str)> = [
        (
            "openapi: 3.0.0\nservers: [{url: «'https://ada:canary@h/v1'}]",
            "or has credentials or a query",
        ),
        (
            "openapi: 3.0.0\nservers: [{url: «'/v1?key=canary'}]",
            "or has credentials or a query",
        ),
        (
            "openapi: 3.0.0\nservers: [{url: «'ftp://h'}]",
            "is not a URL of a service",
        ),
        (
            "openapi: 3.0.0\nservers: [«{description: x}]",
            "a server has a `url`",
        ),
        ("«openapi: 3.0.0", "the document names no server"),
        (
            "swagger: '2.0'\nbasePath: «/v2",
            "the server is relative to the document",
        ),
    ]
    .map(|(head, words)| (with(head), words))
    .to_vec();
    for (text, words) in &texts {
        check(&[(text, words)]);
        let plain = text.replace('«', "");
        let recording = read(&plain);
        let sent = &recording.exchanges[0];
        assert!(!format!("{} {:?}", show_recording(&plain, &recording), sent).contains("canary"));
    }
}

#[test]
fn what_is_left_out_of_an_operation_is_told() {
    check(&[
        (
            "openapi: 3.0.0\npaths:\n  /a: {get: {parameters: [«{in: path, name: id, required: true}]}}\n",
            "`id` is not part of `/a`",
        ),
        (
            "openapi: 3.2.0\npaths:\n  /a: {get: {}, «additionalOperations: {COPY: {}}}\n",
            "`additionalOperations` is not a method",
        ),
        (
            "openapi: 3.0.0\npaths:\n  /a: {post: {requestBody: «{required: true}}}\n",
            "a body has `content`",
        ),
        (
            "openapi: 3.0.0\nservers: «{url: http://h}\npaths: {/a: {get: {}}}\n",
            "`servers` is a list, and this is an object",
        ),
        (
            "swagger: '2.0'\npaths:\n  /a: {post: {parameters: [{in: body, name: b}, «{in: formData, name: f}]}}\n",
            "`f` is left out: another parameter is the body",
        ),
        (
            "swagger: '2.0'\npaths:\n  /a: {post: {parameters: [{in: body, name: b}, «{in: body, name: c}]}}\n",
            "`c` is left out",
        ),
    ]);
    let fine = read(
        "openapi: 3.0.0\ninfo: {}\nservers: [{url: http://h}]\npaths:\n  /a: {get: {responses: {200: {}, 4xx: {}, default: {}, x-y: {}}}}\n",
    );
    assert!(fine.notes.is_empty(), "{:?}", fine.notes);
}
