//! Values that links give, and cookies.

use super::*;
use crate::import::marked::{Key, Origin};

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
fn a_thing_may_be_made_under_the_name_of_one() {
    let recording = read(
        "openapi: 3.0.0\npaths:\n  /users/{userId}: {get: {parameters: [{in: path, name: userId, schema: {type: integer}}]}}\n\
         \x20 /user: {post: {responses: {200: {content: {application/json: {schema: {properties: {id: {type: integer}}}}}}}}}\n",
    );
    let from: Vec<_> = recording.references.iter().map(|one| &one.from).collect();
    let id = Origin::Body {
        exchange: 0,
        path: vec![Key::Field("id".to_owned())],
    };
    assert_eq!(from, [&id]);
    assert_eq!(recording.exchanges[0].target, "/user");
}
