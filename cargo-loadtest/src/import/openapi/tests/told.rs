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
        assert!(!format!("{} {:?}", told(&plain, &recording), sent).contains("canary"));
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

#[test]
fn a_value_that_does_not_fit_its_schema_is_told() {
    for (schema, words) in [
        (
            "{type: string, minLength: «1000000000}",
            "`minLength` is 1000000000, and a text of 4096 letters is sent",
        ),
        (
            "{type: string, format: email, maxLength: «5}",
            "`maxLength` is 5, and a text of 15 letters",
        ),
        (
            "{type: integer, minimum: «5, maximum: 3}",
            "`minimum` is 5, and 3 is sent",
        ),
        (
            "{type: integer, minimum: «1, maximum: 3, multipleOf: 7}",
            "`minimum` is 1, and 0 is sent",
        ),
        (
            "{type: array, items: {type: integer}, minItems: «100}",
            "`minItems` is 100, and a list of 20",
        ),
        (
            "{type: array, items: {type: boolean}, minItems: «2, uniqueItems: true}",
            "`minItems` is 2, and a list of 1",
        ),
        (
            "{type: array, contains: «{const: 7}, items: {}}",
            "`contains` is not looked at",
        ),
        (
            "{type: object, minProperties: «2, properties: {a: {}}}",
            "`minProperties` is 2, and an object of 1",
        ),
        (
            "{properties: {a: {}}, dependentRequired: {«a: [b]}}",
            "`dependentRequired` is not so",
        ),
        (
            "{type: string, not: «{const: example}}",
            "`not` is not looked at",
        ),
    ] {
        let text = format!(
            "openapi: 3.1.0\npaths: {{/x: {{post: {{requestBody: {{content: {{application/json: {{schema: {schema}}}}}}}}}}}}}\n"
        );
        check(&[(&text, words)]);
    }
    // What fits is not told, nor what the service answers with.
    for schema in [
        "{type: string, minLength: 9, maxLength: 9}",
        "{type: number, exclusiveMinimum: 0, exclusiveMaximum: 0.5}",
        "{type: number, multipleOf: 0.1, maximum: 0.35}",
        "{type: array, items: {type: integer}, minItems: 3, uniqueItems: true}",
        "{type: array, items: {type: string}, minItems: 3, uniqueItems: true}",
        "{type: array, items: {enum: [a, b, c]}, minItems: 3, uniqueItems: true}",
    ] {
        let text = format!(
            "openapi: 3.1.0\ninfo: {{}}\nservers: [{{url: http://h}}]\npaths: {{/x: {{post: {{requestBody: {{content: {{application/json: {{schema: {schema}}}}}}}, responses: {{200: {{content: {{application/json: {{schema: {{type: string, minLength: 9999}}}}}}}}}}}}}}}}\n"
        );
        let notes = read(&text).notes;
        assert!(notes.is_empty(), "{schema}: {notes:?}");
    }
}
