//! The values that are sent for schemas.

use super::*;

/// The JSON that is sent for a schema.
fn sent(schema: &str) -> String {
    let text = format!(
        "openapi: 3.1.0\npaths:\n  /x:\n    post:\n      requestBody: {{content: {{application/json: {{schema: {schema}}}}}}}\n"
    );
    first_body(&text)
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
        ("{type: number, minimum: 0.2, maximum: 0.3}", "0.25"),
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
        ("{type: string, pattern: '^x{3}$'}", "\"example\""),
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
        (
            "{type: array, items: {enum: [a, b]}, minItems: 2, uniqueItems: true}",
            "[\"a\"]",
        ),
        (
            "{type: array, items: {type: integer}, uniqueItems: true}",
            "[1]",
        ),
        ("{type: array, items: {type: integer}, maxItems: 0}", "[]"),
        ("{type: array}", "[]"),
        (
            "{type: array, prefixItems: [{const: a}, {type: integer}]}",
            "[\"a\",1]",
        ),
        ("{}", "{}"),
        ("{type: object}", "{}"),
        ("{additionalProperties: {type: integer}}", "{}"),
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
    let sent = show_body(&recording.exchanges[0], &recording);
    assert_eq!(
        sent,
        "{\"users\":[{\"name\":\"Ada\",\"password\":\"<PASSWORD>\",\"api_token\":\"\"}]}"
    );
}

#[test]
fn an_example_is_read_as_its_schema_says() {
    for (schema, expected) in [
        ("{type: string, example: 007}", "\"007\""),
        ("{type: string, example: 0x1F}", "\"0x1F\""),
        ("{type: string, example: 1.10}", "\"1.10\""),
        ("{type: string, example: True}", "\"True\""),
        ("{type: string, default: 12}", "\"12\""),
        ("{type: [string, 'null'], example: 007}", "\"007\""),
        ("{type: [string, integer], example: 7}", "7"),
        (
            "{oneOf: [{type: string}, {type: integer}], example: 7}",
            "7",
        ),
        ("{type: integer, example: 7}", "7"),
        ("{type: string, example: yes}", "\"yes\""),
        (
            "{type: object, properties: {zip: {type: string}, of: {type: array, items: {type: string}}}, example: {zip: 01234, of: [1, 02], other: 03}}",
            "{\"zip\":\"01234\",\"of\":[\"1\",\"02\"],\"other\":\"03\"}",
        ),
        (
            "{type: object, properties: {zip: {type: string, example: 01234}}}",
            "{\"zip\":\"01234\"}",
        ),
    ] {
        assert_eq!(sent(schema), expected, "{schema}");
    }
    let body = "openapi: 3.0.0\npaths:\n  /x/{zip}:\n    post:\n      parameters: [{name: zip, in: path, required: true, schema: {type: string}, example: 007}, {name: q, in: query, schema: {type: string, example: 1.0}}]\n      requestBody: {content: {application/json: {schema: {type: object, properties: {zip: {type: string}}}, example: {zip: 08}}}}\n";
    let exchange = &read(body).exchanges[0];
    assert_eq!(exchange.target.as_literal(), Some("/x/007?q=1.0"));
    assert_eq!(first_body(body), "{\"zip\":\"08\"}");
}

#[test]
fn an_object_in_a_query_is_its_fields() {
    let target = |required: &str, sort: &str| {
        let text = format!(
            "openapi: 3.0.1\npaths:\n  /api/orders:\n    get:\n      parameters: [{{name: pageable, in: query, required: true, schema: {{$ref: '#/components/schemas/Pageable'}}}}]\n\
            components: {{schemas: {{Pageable: {{type: object, required: [{required}], properties: {{page: {{minimum: 0, type: integer, format: int32}}, size: {{minimum: 1, type: integer}}, sort: {{type: array, items: {{type: string}}{sort}}}}}}}}}}}\n"
        );
        let target = &read(&text).exchanges[0].target;
        target.as_literal().unwrap().to_owned()
    };
    assert_eq!(target("", ""), "/api/orders");
    assert_eq!(target("sort", ""), "/api/orders?sort=example");
    assert_eq!(
        target("size", ", example: ['name,asc', id]"),
        "/api/orders?size=1&sort=name%2Casc,id"
    );
}

#[test]
fn a_value_that_a_discriminator_names_is_a_warning() {
    let text = "openapi: 3.0.0\npaths:\n  /x:\n    post:\n      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}\n\
        components:\n  schemas:\n    Pet: {discriminator: {propertyName: kind}, oneOf: [{$ref: '#/components/schemas/Cat'}]}\n\
        \x20   Cat: {type: object, required: [kind], properties: {kind: {type: string}}}\n";
    let warnings = |text: &str| {
        let notes = read(text).notes.into_iter().map(|note| note.words);
        notes
            .filter(|words| words.contains("discriminator"))
            .count()
    };
    assert_eq!(warnings(text), 1);
    assert_eq!(warnings(&text.replace("string", "string, enum: [Cat]")), 0);
}

#[test]
fn bodies_have_their_required_properties() {
    let object = |required: &str| {
        format!(
            "{{type: object, required: [{required}], properties: {{a: {{type: integer}}, b: {{type: integer, example: 7}}}}}}"
        )
    };
    let nested = |required: &str| {
        let (inner, many) = (object("a"), object("b"));
        format!(
            "{{required: [{required}], properties: {{one: {inner}, many: {{type: array, items: {many}}}, more: {inner}}}}}"
        )
    };
    for (schema, expected) in [
        (object("a"), r#"{"a":1}"#),
        (object("b"), r#"{"b":7}"#),
        (nested("one, many"), r#"{"one":{"a":1},"many":[{"b":7}]}"#),
        // One that requires nothing has all of them.
        (object(""), r#"{"a":1,"b":7}"#),
        (
            object("a").replace("{type: integer}", "{readOnly: true}"),
            r#"{"b":7}"#,
        ),
        (
            object("a").replace("required", "minProperties: 2, required"),
            r#"{"a":1,"b":7}"#,
        ),
        // An example is whole.
        (
            object("a").replace("required", "example: {a: 3, b: 4}, required"),
            r#"{"a":3,"b":4}"#,
        ),
        (
            format!("{{allOf: [{}, {{required: [b]}}]}}", object("a")),
            r#"{"a":1,"b":7}"#,
        ),
    ] {
        assert_eq!(sent(&schema), expected, "{schema}");
    }
}

#[test]
fn parameters_with_the_names_of_secrets_are_secrets() {
    for (path, place, name, example) in [
        ("/a/{token}", "path", "token", "hunter2hhh"),
        ("/a/{pin}", "path", "pin", "471147114711"),
        ("/a/{token}", "path", "token", "[hunter2hhh]"),
        ("/a", "query", "password", "hunter2hhh"),
        ("/a", "header", "x-session", "hunter2hhh"),
        ("/a", "cookie", "sid", "hunter2hhh"),
    ] {
        let text = format!(
            "openapi: 3.0.3\ninfo: {{title: a, version: '1'}}\npaths:\n  {path}:\n    get:\n      parameters:\n      \
             - {{name: {name}, in: {place}, required: true, example: {example}}}\n      \
             responses: {{'200': {{description: ok}}}}\n"
        );
        let recording = read(&text);
        let canary = example.trim_matches(['[', ']']);
        let exchange = &recording.exchanges[0];
        assert!(!format!("{exchange:?}").contains(canary), "{exchange:?}");
        let values: Vec<_> = recording
            .secrets
            .iter()
            .map(|secret| secret.value.as_deref())
            .collect();
        assert_eq!(values[0], None, "{text}");
        if place != "cookie" {
            assert_eq!(values[1..], [Some(canary)], "{text}");
        }
    }
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
        show_text(&cookies.unwrap().value, &recording)
    };
    let cookie = |name: &str| format!("{{in: cookie, name: {name}, required: true, example: x}}");
    let two = format!("{}, {}", cookie("theme"), cookie("sid"));
    assert_eq!(cookies(&two, "[]"), "theme=<THEME>; sid=<SID>");
    // Sent once, though it is described twice.
    assert_eq!(cookies(&two, "[{s: []}]"), "theme=<THEME>; sid=<S_KEY>");
}
