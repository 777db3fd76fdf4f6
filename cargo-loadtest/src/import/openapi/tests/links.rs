//! Links of answers, which say what other operations take.

use super::*;

/// Returns a document in which `POST /jobs` has a link `next` of this content.
fn document(link: &str) -> String {
    format!(
        "openapi: 3.0.0\nservers: [{{url: 'http://h'}}]\npaths:\n  /jobs:\n    post:\n      operationId: start\n      \
         responses:\n        '202':\n          headers: {{Location: {{schema: {{type: string, format: uri}}}}}}\n          \
         content: {{application/json: {{schema: {{properties: {{ref: {{type: string}}, parts: {{type: array, items: {{properties: {{n: {{type: integer}}}}}}}}}}}}}}}}\n          \
         links: {{next: {link}}}\n  /runs/{{run}}:\n    get:\n      operationId: look\n      parameters:\n      \
         - {{name: run, in: path, required: true, schema: {{type: string}}}}\n      \
         - {{name: part no, in: query, schema: {{type: integer}}}}\n      \
         - {{name: X-From, in: header, schema: {{type: string}}}}\n"
    )
}

/// Returns the request of `look`, its references and the warnings.
fn linked(link: &str) -> (String, Vec<String>, Vec<String>) {
    let text = document(link);
    let recording = read(&text);
    let look = recording.exchanges.last().unwrap();
    let headers = look.headers.iter();
    let headers =
        headers.map(|header| format!("{}: {}", header.name, show_text(&header.value, &recording)));
    let target = show_text(&look.target, &recording);
    let request: Vec<String> = std::iter::once(target).chain(headers).collect();
    let references = recording.references.iter();
    let references = references.map(|one| format!("{:?} {:?}", one.from, one.confidence));
    let notes = recording.notes.iter();
    (
        request.join(" "),
        references.collect(),
        notes.map(|note| note.words.clone()).collect(),
    )
}

#[test]
fn links_say_which_value_an_operation_takes() {
    let body = r#"Body { exchange: 0, path: [Field("ref")] } Certain"#;
    for (link, request, reference) in [
        (
            "{operationId: look, parameters: {run: '$response.body#/ref'}}",
            "/runs/<0>",
            body,
        ),
        (
            "{operationRef: '#/paths/~1runs~1{run}/get', parameters: {path.run: '$response.body#/ref'}}",
            "/runs/<0>",
            body,
        ),
        (
            "{operationId: look, parameters: {query.part no: '$response.body#/parts/0/n'}}",
            "/runs/example?part%20no=<0>",
            r#"Body { exchange: 0, path: [Field("parts"), Item(0), Field("n")] } Certain"#,
        ),
        (
            "{operationId: look, parameters: {X-From: $response.header.Location}}",
            "/runs/example x-from: <0>",
            r#"Header { exchange: 0, name: "location" } Certain"#,
        ),
        (
            "{operationId: look, parameters: {run: 'a b'}}",
            "/runs/a%20b",
            "",
        ),
    ] {
        let (sent, references, _) = linked(link);
        assert_eq!(sent, request, "{link}");
        assert_eq!(references.concat(), reference, "{link}");
    }
    let whole = document("{operationId: look, parameters: {run: '$response.body#/ref'}}");
    assert_eq!(read(&whole).notes, []);
    // A value that the user gives is not replaced.
    let options = OpenApiOptions {
        parameters: vec![("run".to_owned(), "7".to_owned())],
        ..OpenApiOptions::default()
    };
    assert!(requests(&whole, &options).contains(&"GET http://h/runs/7".to_owned()));
    // An operation that is not selected is no mistake.
    let options = OpenApiOptions {
        paths: vec!["/jobs".to_owned()],
        ..OpenApiOptions::default()
    };
    let recording = read_openapi(&input(&whole), &options).unwrap();
    assert_eq!(recording.notes, []);
}

#[test]
fn what_of_a_link_is_not_followed_is_a_warning() {
    for (link, words) in [
        ("{operationId: gone}", "there is no operation `gone`"),
        (
            "{operationRef: '#/paths/~1gone/get'}",
            "there is no `#/paths/~1gone/get` in this document",
        ),
        (
            "{operationRef: 'other.yaml#/paths/~1a/get'}",
            "is in another file, which is not read",
        ),
        ("{parameters: {}}", "an `operationId` or an `operationRef`"),
        ("{operationId: start}", "to itself is not followed"),
        (
            "{operationId: look, parameters: {job: x}}",
            "`GET /runs/{run}` has no parameter `job`",
        ),
        (
            "{operationId: look, parameters: {run: '$response.body#/none'}}",
            "not a value that a link can take from the answer",
        ),
        (
            "{operationId: look, parameters: {run: '$response.body#/parts'}}",
            "not a value that a link can take from the answer",
        ),
        (
            "{operationId: look, parameters: {run: '$request.path.id'}}",
            "not a value that a link can take from the answer",
        ),
        (
            "{operationId: look, parameters: {run: 'a{$response.body#/ref}'}}",
            "not a value that a link can take from the answer",
        ),
        (
            "{operationId: look, requestBody: 1}",
            "`requestBody` of a link is not read",
        ),
        (
            "{operationId: look, server: {url: x}}",
            "`server` of a link is not read",
        ),
    ] {
        let (_, _, notes) = linked(link);
        let has_words = notes.iter().any(|note| note.contains(words));
        assert!(has_words, "{link}: {notes:?}");
    }
}
