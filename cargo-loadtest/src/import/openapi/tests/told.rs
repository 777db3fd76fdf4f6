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
            "has credentials: that is left out",
        ),
        (
            "openapi: 3.0.0\nservers: [{url: «'https://h/v1?key=canary'}]",
            "has a query",
        ),
        (
            "openapi: 3.0.0\nservers: [{url: «'/v1?key=canary'}]",
            "has a query",
        ),
        (
            "openapi: 3.0.0\nservers: [{url: «'//a:b@h?key=c'}]",
            "has credentials and a query",
        ),
        (
            "openapi: 3.0.0\nservers: [{url: «'ftp://h'}]",
            "is no URL of a service",
        ),
        (
            "openapi: 3.0.0\nservers: [«{description: x}]",
            "a server has a `url`",
        ),
        ("a: 1\n«openapi: 3.0.0", "does not say where the service is"),
        (
            "swagger: '2.0'\nhost: h\nschemes: «[ws, ftp]",
            "`ws`, `ftp` is not HTTP",
        ),
        (
            "openapi: 3.0.0\n«swagger: '2.0'\nhost: h",
            "says `openapi` 3.0.0 and `swagger`",
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
    // Where the user says where, nothing is said of it.
    let options = OpenApiOptions {
        base: Some("http://h".to_owned()),
        ..OpenApiOptions::default()
    };
    let text = texts[0].0.replace('«', "");
    let recording = read_openapi(&input(&text), &options).unwrap();
    assert!(!format!("{:?}", recording.notes).contains("credentials"));
}

#[test]
fn an_operation_has_a_scheme_of_its_own() {
    let text = "swagger: '2.0'\nhost: h\nschemes: [https]\npaths:\n  /a: {get: {schemes: [http]}}\n  /b: {get: {}}\n";
    assert_eq!(
        requests(text, &OpenApiOptions::default()),
        ["GET http://h/a", "GET https://h/b"]
    );
    check(&[(
        "swagger: '2.0'\nhost: h\npaths:\n  /a: {get: {schemes: «[wss]}}\n",
        "`wss` is not HTTP",
    )]);
}

#[test]
fn a_name_that_is_there_twice_is_told_and_sent_once() {
    let text = "openapi: 3.0.0\npaths:\n  «/a:\n    get: {operationId: one}\n  /b: {get: {}}\n  /a:\n    get: {operationId: two}\n";
    check(&[(text, "`/a` is there again further down")]);
    let recording = read(&text.replace('«', ""));
    let names: Vec<_> = recording
        .exchanges
        .iter()
        .filter_map(|exchange| exchange.name.as_deref())
        .collect();
    assert_eq!(names, ["two"]);
    assert_eq!(recording.exchanges.len(), 2);
    check(&[(
        "{\"openapi\": \"3.0.0\", \"paths\": {\"/a\": {«\"get\": {}, \"get\": {}}}}",
        "`get` is there again",
    )]);
}

#[test]
fn what_is_left_out_of_an_operation_is_told() {
    check(&[
        (
            "openapi: 3.0.0\npaths:\n  /a: {get: {«requestBody: {content: {application/json: {example: {}}}}}}\n",
            "a `GET` is sent without a body",
        ),
        (
            "openapi: 3.0.0\npaths:\n  /a: {get: {responses: {200: {}, «2000: {}}}}\n",
            "`2000` is no status",
        ),
        (
            "openapi: 3.0.0\npaths:\n  /a: {$ref: '#/paths/~1b', «parameters: []}\n  /b: {get: {}}\n",
            "`parameters` stands beside a `$ref`",
        ),
        (
            "openapi: 3.1.0\npaths: {/a: {get: {}}}\n«webhooks: {a: {post: {}}}\n",
            "webhooks are what the service sends",
        ),
        (
            "openapi: 3.0.0\npaths:\n  /a: {get: {responses: {200: {«links: {}}}}}\n",
            "links are not read",
        ),
        (
            "openapi: 3.0.0\npaths:\n  /a: {post: {«callbacks: {}}}\n",
            "callbacks are what the service sends",
        ),
        (
            "openapi: 3.0.0\npaths:\n  /a:\n    post: {requestBody: {content: {multipart/form-data: {example: {a: 1}, encoding: {a: {«headers: {}}}}}}}\n",
            "headers of a part of a form are left out",
        ),
    ]);
    check(&[
        (
            "openapi: 3.0.0\npaths:\n  /a: {get: {parameters: [«{in: path, name: id, required: true}]}}\n",
            "`id` is no part of `/a`",
        ),
        (
            "openapi: 3.0.0\npaths:\n  /a: {post: {requestBody: «{required: true}}}\n",
            "a body has `content`",
        ),
        (
            "openapi: 3.0.0\npaths:\n  /a: {get: {tags: «pets}}\n",
            "tags are a list of strings",
        ),
        (
            "openapi: 3.0.0\nservers: «{url: http://h}\npaths: {/a: {get: {}}}\n",
            "servers are a list, and this is an object",
        ),
        (
            "openapi: 3.0.0\n«component: {}\npaths: {/a: {get: {}}}\n",
            "`component` means nothing; did you mean `components`?",
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
