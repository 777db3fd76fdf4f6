//! Whole documents as recordings.

use super::*;
use crate::import::recording::{Body, Exchange, Key};
use proptest::prelude::*;
use std::fmt::Write as _;

const SHOP: &str = include_str!("../../../../tests/fixtures/import/openapi/shop-3.0.yaml");
const LIBRARY: &str = include_str!("../../../../tests/fixtures/import/openapi/library-3.1.json");
const PETS: &str = include_str!("../../../../tests/fixtures/import/openapi/pets-2.0.json");
const FAULTY: &str = include_str!("../../../../tests/fixtures/import/openapi/faulty-3.0.yaml");
const BARE: &str = include_str!("../../../../tests/fixtures/import/openapi/bare-2.0.yaml");

fn input(text: &str) -> Input {
    Input::new("openapi.yaml", text.to_owned())
}

fn read(text: &str) -> Recording {
    read_openapi(&input(text), &OpenApiOptions::default()).unwrap()
}

/// A recording in words, with the names of markers in their place.
fn told(text: &str, recording: &Recording) -> String {
    let mut told = format!(
        "{:?} at {:?}\n{:?}\n",
        recording.name, recording.base, recording.description
    );
    for group in &recording.groups {
        let _ = writeln!(told, "# {}: {:?}", group.name, group.description);
    }
    for exchange in &recording.exchanges {
        told.push_str(&exchange_told(exchange));
    }
    for reference in &recording.references {
        let from = match &reference.from {
            Origin::Body { exchange, path } => {
                let mut way = format!("{exchange}.body");
                for key in path {
                    match key {
                        Key::Field(name) => write!(way, ".{name}").unwrap(),
                        Key::Item(number) => write!(way, "[{number}]").unwrap(),
                    }
                }
                way
            }
            other => format!("{other:?}"),
        };
        let quotes = if reference.is_bare { " (bare)" } else { "" };
        let _ = writeln!(
            told,
            "<{}> = {from}{quotes}: {}, {}",
            reference.marker,
            reference.confidence.word(),
            reference.why
        );
    }
    for secret in &recording.secrets {
        let _ = writeln!(told, "<{}>: {}", secret.name, secret.what);
    }
    for note in &recording.notes {
        let (line, column) = input(text).place(note.span.start);
        let _ = writeln!(told, "{line}:{column}: {}", note.words);
    }
    for secret in &recording.secrets {
        told = told.replace(&secret.value, &format!("<{}>", secret.name));
    }
    for (number, reference) in recording.references.iter().enumerate() {
        let name = format!("<{number}>");
        told = told.replace(&format!("<{}>", reference.marker), &name);
        told = told.replace(&reference.marker, &name);
    }
    told
}

fn exchange_told(exchange: &Exchange) -> String {
    let mut told = format!(
        "\n{:?} in {:?}: {:?} {:?}\n{} {}{}\n",
        exchange.name,
        exchange.group,
        exchange.description,
        exchange.pattern,
        exchange.method,
        exchange.origin,
        exchange.target
    );
    if let Some(credentials) = &exchange.credentials {
        let user = String::from_utf8_lossy(&credentials.user);
        let password = String::from_utf8_lossy(&credentials.password);
        let _ = writeln!(told, "    as {user}:{password}");
    }
    for header in &exchange.headers {
        let value = String::from_utf8_lossy(&header.value);
        let _ = writeln!(told, "    {}: {value}", header.name);
    }
    if exchange.body != Body::None {
        let body = exchange.body.bytes();
        let body = String::from_utf8_lossy(&body);
        let _ = writeln!(told, "    {}", body.trim_end().replace("\r\n", "\n    "));
    }
    let _ = write!(told, "-> {:?}", exchange.expect);
    if let Some(answer) = &exchange.answer {
        let _ = write!(told, " {}", answer.status);
        for header in &answer.headers {
            let value = String::from_utf8_lossy(&header.value);
            let _ = write!(told, " {}: {value};", header.name);
        }
        let _ = write!(told, " {}", String::from_utf8_lossy(&answer.body));
    }
    told + "\n"
}

#[test]
fn a_document_of_version_3_0_is_a_journey() {
    insta::assert_snapshot!(told(SHOP, &read(SHOP)));
}

#[test]
fn a_document_of_version_3_1_is_read_as_it_means() {
    insta::assert_snapshot!(told(LIBRARY, &read(LIBRARY)));
}

#[test]
fn a_document_of_version_2_0_is_read_as_it_means() {
    insta::assert_snapshot!(told(PETS, &read(PETS)));
}

#[test]
fn what_is_wrong_with_a_document_is_told_and_left_out() {
    insta::assert_snapshot!(told(FAULTY, &read(FAULTY)));
}

#[test]
fn a_document_that_says_little_is_still_a_journey() {
    insta::assert_snapshot!(told(BARE, &read(BARE)));
}

/// Method and target of what is read with these options.
fn requests(text: &str, options: &OpenApiOptions) -> Vec<String> {
    let recording = read_openapi(&input(text), options).unwrap();
    let exchanges = recording.exchanges.iter();
    let requests = exchanges
        .map(|exchange| format!("{} {}{}", exchange.method, exchange.origin, exchange.target));
    requests.collect()
}

#[test]
fn a_part_of_the_operations_can_be_taken() {
    let options = |tags: &[&str], operations: &[&str]| OpenApiOptions {
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        operations: operations.iter().map(|name| (*name).to_owned()).collect(),
        base: None,
    };
    let taken = requests(PETS, &options(&["Keepers"], &[]));
    assert_eq!(
        taken,
        [
            "POST http://127.0.0.1:8080/v2/keeper",
            "GET http://127.0.0.1:8080/v2/keeper/login?username=ada&password=ltq0s0e",
            "GET http://127.0.0.1:8080/v2/keeper/ada",
            "DELETE http://127.0.0.1:8080/v2/keeper/ada",
        ]
    );
    let taken = requests(
        PETS,
        &options(&[], &["getPet", "delete /keeper/{username}"]),
    );
    assert_eq!(
        taken,
        [
            "DELETE http://127.0.0.1:8080/v2/keeper/ada",
            "GET http://127.0.0.1:8080/v2/pet/1",
        ]
    );
    for (tags, operations, words, help) in [
        (
            &["keeper"][..],
            &[][..],
            "has the tag `keeper`",
            "did you mean `keepers`?",
        ),
        (&["x"], &[], "has the tag `x`", "there is `pets`, `keepers`"),
        (
            &[],
            &["getpet"],
            "no operation `getpet`",
            "did you mean `getPet`?",
        ),
        (
            &[],
            &["GET /pets/{petId}"],
            "no operation `GET /pets/{petId}`",
            "there is `addPet`, ",
        ),
        (
            &["keepers"],
            &["getPet"],
            "none of these operations",
            "go together",
        ),
    ] {
        let mistake = read_openapi(&input(PETS), &options(tags, operations)).unwrap_err();
        assert!(mistake.words.contains(words), "{mistake:?}");
        let told = mistake.help.unwrap_or_default();
        assert!(told.contains(help), "{told}");
        assert!(mistake.span.start > 0);
    }
}

#[test]
fn the_service_is_where_the_user_says() {
    let at = |text: &str, base: &str| {
        let options = OpenApiOptions {
            base: Some(base.to_owned()),
            ..OpenApiOptions::default()
        };
        let recording = read_openapi(&input(text), &options).unwrap();
        let told = recording
            .notes
            .iter()
            .any(|note| note.words.contains("base-url"));
        assert!(!told, "{:?}", recording.notes);
        let last = recording.exchanges.last().unwrap();
        (
            recording.base.clone().unwrap(),
            format!("{}{}", last.origin, last.target),
        )
    };
    // The path of the document is kept, unless another one is given.
    let (base, last) = at(LIBRARY, "http://127.0.0.1:9000/");
    assert_eq!(base, "http://127.0.0.1:9000");
    assert_eq!(
        last, "http://127.0.0.1:9000/v2/media",
        "whatever server it has"
    );
    let (_, last) = at(BARE, "http://[::1]:9000/here/");
    assert!(last.starts_with("http://[::1]:9000/here/things/"), "{last}");
    for base in ["h:1", "ftp://h/", "", "http://"] {
        let options = OpenApiOptions {
            base: Some(base.to_owned()),
            ..OpenApiOptions::default()
        };
        let mistake = read_openapi(&input(BARE), &options).unwrap_err();
        assert!(mistake.words.contains("--base-url"), "{mistake:?}");
    }
}

#[test]
fn servers_are_found_where_a_document_has_them() {
    for (servers, expected) in [
        (
            "servers: [{url: 'https://h.example:8443/a/'}]",
            "https://h.example:8443/a/x",
        ),
        ("servers: [{url: //h.example}]", "https://h.example/x"),
        (
            "servers: [{url: 'https://{r}.h/{v}', variables: {r: {enum: [eu]}, v: {default: 2}}}]",
            "https://eu.h/2/x",
        ),
        (
            "servers: [{url: 'https://{r}.h'}, {url: 'http://other'}]",
            "http://other/x",
        ),
        ("servers: [{url: ./v1}]", "http://127.0.0.1:8080/v1/x"),
        ("servers: []", "http://127.0.0.1:8080/x"),
        ("a: 1", "http://127.0.0.1:8080/x"),
    ] {
        let text = format!("openapi: 3.0.0\n{servers}\npaths: {{/x: {{get: {{}}}}}}\n");
        let expected = format!("GET {expected}");
        assert_eq!(
            requests(&text, &OpenApiOptions::default()),
            [expected],
            "{servers}"
        );
    }
    for (rest, expected) in [
        ("host: h.example\nbasePath: v1", "https://h.example/v1/x"),
        (
            "host: h.example\nschemes: [wss, http]",
            "http://h.example/x",
        ),
        ("host: 127.0.0.1:3000", "http://127.0.0.1:3000/x"),
        ("basePath: /v1", "http://127.0.0.1:8080/v1/x"),
        ("host: 'a b'", "http://127.0.0.1:8080/x"),
    ] {
        let text = format!("swagger: '2.0'\n{rest}\npaths: {{/x: {{get: {{}}}}}}\n");
        let expected = format!("GET {expected}");
        assert_eq!(
            requests(&text, &OpenApiOptions::default()),
            [expected],
            "{rest}"
        );
    }
}

/// The JSON that is sent for a schema.
fn sent(schema: &str) -> String {
    let text = format!(
        "openapi: 3.1.0\npaths:\n  /x:\n    post:\n      requestBody: {{content: {{application/json: {{schema: {schema}}}}}}}\n"
    );
    let recording = read(&text);
    String::from_utf8(recording.exchanges[0].body.bytes()).unwrap()
}

#[test]
fn values_fit_their_schemas() {
    for (schema, expected) in [
        ("{type: integer}", "1"),
        ("{type: integer, minimum: 5}", "5"),
        ("{type: integer, maximum: -5}", "-5"),
        ("{type: integer, minimum: 5, exclusiveMinimum: true}", "6"),
        ("{type: integer, exclusiveMinimum: 5}", "6"),
        ("{type: integer, maximum: 0, exclusiveMaximum: true}", "-1"),
        ("{type: integer, minimum: 1.5}", "2"),
        ("{type: integer, minimum: 7, multipleOf: 5}", "10"),
        (
            "{type: integer, maximum: 9, minimum: 7, multipleOf: 4}",
            "8",
        ),
        ("{type: number, minimum: 0.2, maximum: 0.3}", "0.3"),
        (
            "{type: number, exclusiveMinimum: 0, exclusiveMaximum: 0.5}",
            "0.25",
        ),
        ("{type: number, multipleOf: 0.1, maximum: 0.35}", "0.3"),
        (
            "{type: integer, format: int64, minimum: 9007199254740991}",
            "9007199254740991",
        ),
        ("{type: number, minimum: 1e300}", "1e+300"),
        ("{type: string, minLength: 9}", "\"exampleex\""),
        ("{type: string, maxLength: 2}", "\"ex\""),
        ("{type: string, maxLength: 0}", "\"\""),
        (
            "{type: string, format: uuid}",
            "\"9b2f6c1e-4d3a-4f5b-8c7d-0e1f2a3b4c5d\"",
        ),
        (
            "{type: string, format: date-time}",
            "\"2026-01-31T12:00:00Z\"",
        ),
        ("{type: string, format: unheard-of}", "\"example\""),
        ("{type: string, pattern: '^x{3}$'}", "\"xxx\""),
        ("{type: boolean}", "true"),
        ("{type: 'null'}", "null"),
        ("{type: ['null', string]}", "\"example\""),
        ("{enum: [null, 2, 3]}", "2"),
        ("{const: false}", "false"),
        ("{type: string, default: d, examples: [e]}", "\"e\""),
        ("{type: string, example: null, default: d}", "\"d\""),
        (
            "{type: array, items: {type: integer}, minItems: 2}",
            "[1,1]",
        ),
        ("{type: array, items: {type: integer}, maxItems: 0}", "[]"),
        ("{type: array}", "[]"),
        (
            "{type: array, prefixItems: [{const: a}, {type: integer}]}",
            "[\"a\",1]",
        ),
        ("{}", "{}"),
        ("{type: object}", "{}"),
        ("{additionalProperties: {type: integer}}", "{\"key\":1}"),
        ("{additionalProperties: true}", "{}"),
        ("{required: [a]}", "{\"a\":\"a\"}"),
        (
            "{properties: {a: {type: integer, readOnly: true}, b: {type: integer, writeOnly: true}}}",
            "{\"b\":1}",
        ),
        (
            "{properties: {a: {type: integer}, b: {type: integer}}, required: [b], example: {a: 5, c: 6}}",
            "{\"a\":5,\"b\":1,\"c\":6}",
        ),
        (
            "{allOf: [{properties: {a: {type: integer}}}, {properties: {b: {example: 2}}}]}",
            "{\"a\":1,\"b\":2}",
        ),
        ("{anyOf: [{type: 'null'}, {type: integer}]}", "1"),
        ("{oneOf: [{$ref: '#/nothing'}, {type: integer}]}", "1"),
        (
            "{$anchor: a, type: object, properties: {b: {anyOf: [{$ref: '#/paths/~1x/post/requestBody/content/application~1json/schema'}, {type: 'null'}]}}}",
            "{}",
        ),
        (
            "{type: object, required: [b], properties: {b: {anyOf: [{$ref: '#/paths/~1x/post/requestBody/content/application~1json/schema'}, {type: 'null'}]}}}",
            "{\"b\":null}",
        ),
    ] {
        assert_eq!(sent(schema), expected, "{schema}");
    }
}

#[test]
fn a_secret_of_an_example_is_none_of_the_source() {
    let text = "openapi: 3.0.0\npaths:\n  /x:\n    post:\n      requestBody: {content: {application/json: {example: {users: [{name: Ada, password: canary, api_token: ''}]}}}}\n";
    let recording = read(text);
    let sent = String::from_utf8(recording.exchanges[0].body.bytes()).unwrap();
    let secret = &recording.secrets[0];
    assert_eq!(secret.name, "PASSWORD");
    let sent = sent.replace(&secret.value, "<PASSWORD>");
    assert_eq!(
        sent,
        "{\"users\":[{\"name\":\"Ada\",\"password\":\"<PASSWORD>\",\"api_token\":\"\"}]}"
    );
}

#[test]
fn an_object_with_many_properties_is_sent_with_the_necessary_ones() {
    let many: Vec<_> = (0..30)
        .map(|number| format!("p{number}: {{type: integer}}"))
        .collect();
    let schema = format!(
        "{{required: [p7], properties: {{{}, known: {{example: x}}}}}}",
        many.join(", ")
    );
    assert_eq!(sent(&schema), "{\"p7\":1,\"known\":\"x\"}");
}

#[test]
fn a_journey_makes_things_before_it_takes_them_away() {
    let text = "openapi: 3.0.0\npaths:\n  /a/{id}: {delete: {}, put: {}, get: {}}\n  /a/{id}/b/{b}: {delete: {}}\n  /a/{id}/b: {post: {}, get: {}}\n  /a/{id}/close: {post: {}}\n  /a: {get: {}, post: {}}\n";
    let requests = requests(text, &OpenApiOptions::default());
    let requests: Vec<_> = requests
        .iter()
        .map(|request| request.replace("http://127.0.0.1:8080", ""))
        .collect();
    assert_eq!(
        requests,
        [
            "POST /a",
            "POST /a/1/b",
            "GET /a/1/b",
            "GET /a",
            "GET /a/1",
            "POST /a/1/close",
            "PUT /a/1",
            "DELETE /a/1/b/1",
            "DELETE /a/1",
        ]
    );
    let text = "openapi: 3.0.0\npaths:\n  /logout: {post: {}}\n  /x: {get: {}}\n  /auth/login: {post: {}}\n";
    let requests = self::requests(text, &OpenApiOptions::default());
    let paths = requests
        .iter()
        .map(|request| request.rsplit('/').next().unwrap());
    assert_eq!(paths.collect::<Vec<_>>(), ["login", "x", "logout"]);
}

#[test]
fn what_is_no_description_is_refused_where_it_stands() {
    for (text, at, words) in [
        ("openapi: 3.1.0", "o", "no operation"),
        (
            "openapi: 3.1.0\npaths: {/a: {parameters: []}}",
            "{/a",
            "no operation",
        ),
        (
            "openapi: 3.1.0\nwebhooks: {a: {post: {}}}",
            "o",
            "no operation",
        ),
        ("swagger: '1.2'\napis: []", "'1.2'", "Swagger 1"),
        ("log: {entries: []}", "log", "no OpenAPI document"),
        ("just a text", "just", "no OpenAPI document"),
        ("[1]", "[", "no OpenAPI document"),
        ("{\"openapi\": ", "", "not JSON"),
    ] {
        let mistake = read_openapi(&input(text), &OpenApiOptions::default()).unwrap_err();
        assert!(
            text[mistake.span.start.min(text.len())..].starts_with(at),
            "{mistake:?}"
        );
        assert!(mistake.words.contains(words), "{mistake:?}");
    }
    // Without a word about its version it is read all the same.
    let recording = read("paths: {/a: {get: {}}}");
    assert!(recording.notes[0].words.contains("which version"));
}

#[test]
fn a_discriminator_says_which_schema_is_sent() {
    let text = "openapi: 3.0.0\npaths:\n  /x:\n    post:\n      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Cat'}}}}\n\
        components:\n  schemas:\n    Pet: {type: object, required: [kind], discriminator: {propertyName: kind, mapping: {dog: Dog, puss: '#/components/schemas/Cat'}}, properties: {kind: {type: string}}}\n\
        \x20   Cat: {allOf: [{$ref: '#/components/schemas/Pet'}, {properties: {lives: {type: integer, minimum: 9}}}]}\n";
    let sent = |text: &str| String::from_utf8(read(text).exchanges[0].body.bytes()).unwrap();
    assert_eq!(sent(text), "{\"kind\":\"puss\",\"lives\":9}");
    let unmapped = text.replace(
        ", mapping: {dog: Dog, puss: '#/components/schemas/Cat'}",
        "",
    );
    assert_eq!(sent(&unmapped), "{\"kind\":\"Cat\",\"lives\":9}");
}

/// What is sent to be let in, by the schemes of a document.
fn access(schemes: &str, security: &str) -> String {
    let text = format!(
        "openapi: 3.0.0\npaths: {{/x: {{get: {{security: {security}}}}}}}\ncomponents: {{securitySchemes: {{{schemes}}}}}\n"
    );
    let recording = read(&text);
    let exchange = &recording.exchanges[0];
    let told = exchange_told(exchange);
    let lines: Vec<_> = told.lines().skip(3).map(str::trim).collect();
    let mut told = lines[..lines.len() - 1].join(" ") + &exchange.target[2..];
    for secret in &recording.secrets {
        told = told.replace(&secret.value, &secret.name);
    }
    told
}

#[test]
fn whoever_asks_is_let_in_as_the_document_says() {
    let bearer = "b: {type: http, scheme: bearer}";
    let key = "appKey: {type: apiKey, in: query, name: k}";
    for (schemes, security, expected) in [
        (bearer, "[{b: []}]", "authorization: Bearer API_TOKEN"),
        (bearer, "[]", ""),
        (bearer, "[{}, {b: []}]", ""),
        (
            bearer,
            "[{gone: []}, {b: []}]",
            "authorization: Bearer API_TOKEN",
        ),
        (
            "b: {type: http, scheme: bearer}, o: {type: openIdConnect}",
            "[{o: []}]",
            "authorization: Bearer O_TOKEN",
        ),
        (
            "b: {type: http, scheme: basic}",
            "[{b: []}]",
            "as API_USER:API_PASSWORD",
        ),
        ("b: {type: http, scheme: digest}", "[{b: []}]", ""),
        (key, "[{appKey: []}]", "?k=APP_KEY"),
        (
            "s: {type: apiKey, in: cookie, name: sid}",
            "[{s: []}]",
            "cookie: sid=S_KEY",
        ),
        (
            "Bearer: {type: apiKey, in: header, name: Authorization, description: 'Bearer and a token'}",
            "[{Bearer: []}]",
            "authorization: Bearer API_TOKEN",
        ),
        (
            "a: {type: apiKey, in: header, name: X-A}, b: {type: http, scheme: bearer}",
            "[{a: [], b: []}]",
            "authorization: Bearer API_TOKEN x-a: A_KEY",
        ),
    ] {
        assert_eq!(access(schemes, security), expected, "{schemes} {security}");
    }
}

#[test]
fn a_link_to_what_the_answer_has_not_is_told() {
    let references = |pointer: &str, schema: &str| {
        let text = format!(
            "openapi: 3.0.0\npaths:\n  /users: {{get: {{responses: {{200: {{content: {{application/json: {{schema: {schema}}}}}, \
             links: {{one: {{operationId: one, parameters: {{name: $response.body#{pointer}}}}}}}}}}}}}}}\n\
             \x20 /users/all/{{name}}: {{get: {{operationId: one, parameters: [{{in: path, name: name}}]}}}}\n"
        );
        let recording = read(&text);
        let told = recording.notes.iter().map(|note| note.words.as_str());
        let told = told.filter(|words| words.contains("link") || words.contains("first item"));
        let path = recording
            .references
            .first()
            .map(|reference| match &reference.from {
                Origin::Body { path, .. } => path.clone(),
                other => panic!("{other:?}"),
            });
        (path, told.map(str::to_owned).collect::<Vec<_>>())
    };
    let user = "{properties: {owner: {properties: {name: {type: string}}}}}";
    let field = |name: &str| Key::Field(name.to_owned());
    let way = vec![field("owner"), field("name")];
    assert_eq!(references("/owner/name", user), (Some(way.clone()), vec![]));
    // Anything may be in it.
    assert_eq!(
        references("/owner/name", "{type: object}").0,
        Some(way.clone())
    );
    let list = format!("{{type: array, items: {user}}}");
    let (found, told) = references("/owner/name", &list);
    assert_eq!(found, Some([vec![Key::Item(0)], way].concat()));
    assert!(told[0].contains("in its first item"), "{told:?}");
    let (found, told) = references("/nobody/name", user);
    assert_eq!(found, None);
    assert!(told[0].contains("the link is left out"), "{told:?}");
}

#[test]
fn the_value_of_a_cookie_is_a_secret_and_its_name_is_not() {
    let cookies = |parameters: &str, security: &str| {
        let text = format!(
            "openapi: 3.0.0\npaths: {{/a: {{get: {{parameters: [{parameters}]}}}}}}\nsecurity: {security}\n\
             components: {{securitySchemes: {{s: {{type: apiKey, in: cookie, name: sid}}}}}}\n"
        );
        let recording = read(&text);
        let mut headers = recording.exchanges[0].headers.iter();
        let cookies = headers.find(|header| header.name == "cookie");
        let value = cookies.map_or(&[][..], |header| &header.value);
        let mut value = String::from_utf8(value.to_vec()).unwrap();
        for secret in &recording.secrets {
            value = value.replace(&secret.value, &format!("<{}>", secret.name));
        }
        value
    };
    let cookie = |name: &str| format!("{{in: cookie, name: {name}, required: true, example: x}}");
    let two = format!("{}, {}", cookie("theme"), cookie("sid"));
    assert_eq!(cookies(&two, "[]"), "theme=<THEME>; sid=<SID>");
    // Sent once, though it is described twice.
    assert_eq!(cookies(&two, "[{s: []}]"), "theme=<THEME>; sid=<S_KEY>");
}

#[test]
fn an_example_that_all_operations_have_is_kept_as_often_as_there_is_room() {
    let mut text = "openapi: 3.0.0\npaths:\n".to_owned();
    for number in 0..200 {
        let _ = writeln!(
            text,
            "  /p{number}: {{get: {{responses: {{'200': {{$ref: '#/components/responses/Large'}}}}}}}}"
        );
    }
    let _ = writeln!(
        text,
        "components: {{responses: {{Large: {{content: {{text/plain: {{example: {}}}}}}}}}}}",
        "x".repeat(1024 * 1024)
    );
    let recording = read(&text);
    let answers = recording
        .exchanges
        .iter()
        .filter_map(|exchange| exchange.answer.as_ref());
    let bytes: usize = answers.map(|answer| answer.body.len()).sum();
    assert!((1..=64 * 1024 * 1024).contains(&bytes), "{bytes}");
    assert!(
        recording
            .notes
            .iter()
            .any(|note| note.words.contains("64 MiB"))
    );
}

#[test]
fn a_large_document_is_read_within_bounds() {
    // Each schema has ten of the next: without bounds that would be ten thousand million values.
    let mut text = "openapi: 3.0.0\npaths:\n".to_owned();
    for number in 0..50 {
        let _ = writeln!(
            text,
            "  /p{number}: {{post: {{requestBody: {{content: {{application/json: {{schema: {{$ref: '#/components/schemas/S0'}}}}}}}}}}}}"
        );
    }
    text.push_str("components:\n  schemas:\n");
    for level in 0..10 {
        let properties: Vec<_> = (0..10)
            .map(|name| format!("a{name}: {{$ref: '#/components/schemas/S{}'}}", level + 1))
            .collect();
        let required: Vec<_> = (0..10).map(|name| format!("a{name}")).collect();
        let _ = writeln!(
            text,
            "    S{level}: {{required: [{}], properties: {{{}}}}}",
            required.join(", "),
            properties.join(", ")
        );
    }
    text.push_str("    S10: {type: integer}\n");
    let recording = read(&text);
    assert_eq!(recording.exchanges.len(), 50);
    for exchange in &recording.exchanges {
        assert!(exchange.body.bytes().len() < 100_000);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Lines of a document in another order, with others of their places, doubled, or gone: mostly still YAML.
    #[test]
    fn no_document_makes_the_reader_panic(
        which in 0..3usize,
        changes in proptest::collection::vec((0..400usize, 0..400usize, 0..5usize), 1..8),
    ) {
        let mut lines: Vec<String> = [SHOP, FAULTY, BARE][which].lines().map(str::to_owned).collect();
        for (one, other, how) in changes {
            let (one, other) = (one % lines.len(), other % lines.len());
            match how {
                0 => lines.swap(one, other),
                1 => { lines.remove(one); }
                2 => { let line = lines[other].clone(); lines.insert(one, line); }
                3 => {
                    let value = lines[other].split_once(": ").map_or("", |(_, value)| value).to_owned();
                    if let Some((name, _)) = lines[one].clone().split_once(": ") {
                        lines[one] = format!("{name}: {value}");
                    }
                }
                _ => lines[one] = lines[one].replace("string", "object").replace("schemas/", "paths/"),
            }
            if lines.is_empty() { lines.push("openapi: 3.0.0".to_owned()); }
        }
        let text = lines.join("\n");
        match read_openapi(&input(&text), &OpenApiOptions::default()) {
            Ok(recording) => {
                prop_assert!(!recording.exchanges.is_empty());
                for exchange in &recording.exchanges {
                    prop_assert!(exchange.target.starts_with('/'), "{}", exchange.target);
                    prop_assert!(exchange.target.bytes().all(|byte| byte.is_ascii_graphic()), "{}", exchange.target);
                    prop_assert!(exchange.origin.starts_with("http"));
                }
                for reference in &recording.references {
                    if let Origin::Body { exchange, .. } = &reference.from {
                        let user = recording.exchanges.iter().position(|exchange| {
                            exchange.target.contains(&reference.marker)
                        });
                        prop_assert!(user.is_none_or(|user| *exchange < user));
                    }
                }
                for note in &recording.notes {
                    prop_assert!(note.span.end <= text.len());
                }
            }
            Err(mistake) => prop_assert!(!mistake.words.is_empty()),
        }
    }
}
