//! Which operations are taken, in which order, where the service is, and who asks.

use super::*;

#[test]
fn a_part_of_the_operations_can_be_taken() {
    let options = |tags: &[&str], operations: &[&str]| OpenApiOptions {
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        operations: operations.iter().map(|name| (*name).to_owned()).collect(),
        ..OpenApiOptions::default()
    };
    let taken = requests(PETS, &options(&["Keepers"], &[]));
    assert_eq!(
        taken,
        [
            "POST http://127.0.0.1:8080/v2/keeper",
            "GET http://127.0.0.1:8080/v2/keeper/login?username=example&password=<PASSWORD>",
            "GET http://127.0.0.1:8080/v2/keeper/example",
            "DELETE http://127.0.0.1:8080/v2/keeper/example",
        ]
    );
    let taken = requests(
        PETS,
        &options(&[], &["getPet", "delete /keeper/{username}"]),
    );
    assert_eq!(
        taken,
        [
            "DELETE http://127.0.0.1:8080/v2/keeper/example",
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
        (
            &["x"],
            &[],
            "has the tag `x`",
            "there is `keepers` and `pets`",
        ),
        (
            &[],
            &["getpet"],
            "has the name `getpet`",
            "did you mean `getPet`?",
        ),
        (
            &[],
            &["GET /pets/{petId}"],
            "has the name `GET /pets/{petId}`",
            "`addPet`",
        ),
        (
            &["keepers"],
            &["getPet"],
            "has all of this tag, name and path",
            "a combination that matches",
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
fn operations_are_selected_by_their_paths() {
    let options = |tags: &[&str], paths: &[&str]| OpenApiOptions {
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        ..OpenApiOptions::default()
    };
    let taken = requests(PETS, &options(&[], &["/keeper/{username}"]));
    assert_eq!(
        taken,
        [
            "GET http://127.0.0.1:8080/v2/keeper/example",
            "DELETE http://127.0.0.1:8080/v2/keeper/example",
        ]
    );
    let taken = requests(PETS, &options(&["keepers"], &["*/login", "/pet/*"]));
    assert_eq!(taken.len(), 1, "{taken:?}");
    for (tags, paths, words, help) in [
        (
            &[][..],
            "/keepr",
            "no path matches `/keepr`",
            "did you mean `/keeper`?",
        ),
        (
            &[],
            "/pet/findByStatus/",
            "findByStatus/`",
            "did you mean `/pet/findByStatus`?",
        ),
        (
            &[],
            "/v2/*",
            "no path matches `/v2/*`",
            "there is `/keeper`",
        ),
        (
            &["pets"],
            "/keeper*",
            "has all of this tag, name and path",
            "a combination that matches",
        ),
    ] {
        let mistake = read_openapi(&input(PETS), &options(tags, &[paths])).unwrap_err();
        assert!(mistake.words.contains(words), "{mistake:?}");
        let help_of = mistake.help.unwrap_or_default();
        assert!(help_of.contains(help), "{help_of}");
    }
    let text = "openapi: 3.0.0\npaths:\n  /a/{id}: {get: {}}\n";
    let mistake = read_openapi(&input(text), &options(&[], &["/a"])).unwrap_err();
    assert_eq!(mistake.help.unwrap(), "did you mean `/a/*`?");
}

#[test]
fn a_document_of_several_files_has_to_be_bundled() {
    let text = "openapi: 3.0.0\npaths:\n  /a: {$ref: a.yaml}\n  /b: {$ref: 'b.yaml#/b'}\n";
    let mistake = read_openapi(&input(text), &OpenApiOptions::default()).unwrap_err();
    assert_eq!(
        mistake.words,
        "`a.yaml` is in another file, which is not read"
    );
    assert!(mistake.help.unwrap().contains("npx @redocly/cli bundle"));
    assert_eq!(&text[mistake.span], "a.yaml");
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
            format!("{}{}", last.origin, show_text(&last.target, &recording)),
        )
    };
    // The path of the document is kept, unless another one is given.
    let (base, last) = at(LIBRARY, "http://127.0.0.1:9000/");
    assert_eq!(base, "http://127.0.0.1:9000");
    assert_eq!(
        last, "https://media.library.example/v2/media",
        "another host stays one"
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

/// What is sent to be let in, by the schemes of a document.
fn access(schemes: &str, security: &str) -> String {
    let text = format!(
        "openapi: 3.0.0\npaths: {{/x: {{get: {{security: {security}}}}}}}\ncomponents: {{securitySchemes: {{{schemes}}}}}\n"
    );
    let recording = read(&text);
    let exchange = &recording.exchanges[0];
    let shown = show_exchange(exchange, &recording);
    let lines: Vec<_> = shown.lines().skip(3).map(str::trim).collect();
    let shown = lines[..lines.len() - 1].join(" ") + &show_text(&exchange.target, &recording)[2..];
    shown.replace(['<', '>'], "")
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
fn steps_are_named_after_their_operations() {
    for (tag, path, id, name) in [
        (
            "repos",
            "/repos/{owner}",
            "repos/list-for-user",
            "list-for-user",
        ),
        (
            "security-advisories",
            "/a",
            "security-advisories/get",
            "get",
        ),
        ("Pets", "/pets", "PetsController_findAll", "findAll"),
        ("pet", "/pets", "pets.list", "list"),
        ("users.profile", "/a", "users_profile_set", "set"),
        ("users", "/a", "users", "users"),
        ("users", "/a", "users_", "users_"),
        ("pets", "/pets", "listPets", "listPets"),
        ("pets", "/pets", "petsList", "petsList"),
        (
            "items",
            "/items/{item_id}",
            "read_item_items__item_id__get",
            "read_item",
        ),
        ("x", "/a", "repos/list", "repos list"),
        ("x", "/a", "GET /a", "GET /a"),
    ] {
        let text = format!(
            "openapi: 3.0.0\npaths:\n  {path}: {{get: {{tags: ['{tag}'], operationId: '{id}'}}}}\n"
        );
        let names = read(&text).exchanges.into_iter().map(|one| one.name);
        assert_eq!(names.collect::<Vec<_>>(), [Some(name.to_owned())], "{id}");
    }
}

/// Returns a document of operations of repositories, whose owner no answer has.
fn repositories() -> String {
    let owner = "{name: owner, in: path, required: true, schema: {type: string}}";
    let id = "{name: id, in: path, required: true, schema: {type: integer}}";
    let team = "{name: X-Team, in: header, required: true, schema: {type: string}}";
    let page = "{name: page, in: query, schema: {type: integer}, example: 1}";
    let sort = "{name: sort, in: query, required: true, schema: {enum: [asc]}}";
    format!(
        "openapi: 3.0.0\nservers: [{{url: 'http://h'}}]\npaths:\n  \
         /repos/{{owner}}: {{get: {{parameters: [{owner}, {team}, {page}, {sort}]}}}}\n  \
         /repos/{{owner}}/runs/{{id}}: {{get: {{parameters: [{owner}, {id}, {page}, {sort}]}}}}\n  \
         /repos/{{owner}}/runs/{{id}}/log: {{get: {{parameters: [{owner}, {id}]}}}}\n  \
         /teams/{{id}}: {{get: {{parameters: [{id}, {team}]}}}}\n"
    )
}

#[test]
fn values_that_no_answer_has_are_named_once() {
    let text = repositories();
    let recording = read(&text);
    let sent = recording.exchanges.iter().map(|exchange| {
        let headers = exchange.headers.iter();
        let headers: String = headers
            .map(|one| show_text(&one.value, &recording))
            .collect();
        format!("{} {headers}", show_text(&exchange.target, &recording))
    });
    assert_eq!(
        sent.collect::<Vec<_>>(),
        [
            "/repos/example/runs/1/log ",
            "/repos/example?page=1&sort=asc example",
            "/repos/example/runs/1?page=1&sort=asc ",
            "/teams/1 example",
        ]
    );
    let words: Vec<&str> = recording
        .notes
        .iter()
        .map(|note| note.words.as_str())
        .collect();
    assert_eq!(
        words,
        [
            "nothing here answers with `X-Team`, `id`, `owner`: examples are sent, \
             and `--param` sets other values",
        ]
    );
}

#[test]
fn values_of_parameters_are_given_for_all_operations() {
    let options = |given: &[(&str, &str)]| OpenApiOptions {
        parameters: given
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect(),
        ..OpenApiOptions::default()
    };
    let text = repositories();
    let given = options(&[
        ("owner", "a/b c"),
        ("id", "7"),
        ("page", "2"),
        ("X-Team", "red"),
    ]);
    let recording = read_openapi(&input(&text), &given).unwrap();
    assert!(recording.notes.is_empty(), "{:?}", recording.notes);
    let targets = requests(&text, &given);
    assert_eq!(
        targets,
        [
            "GET http://h/repos/a%2Fb%20c/runs/7/log",
            "GET http://h/repos/a%2Fb%20c?page=2&sort=asc",
            "GET http://h/repos/a%2Fb%20c/runs/7?page=2&sort=asc",
            "GET http://h/teams/7",
        ]
    );
    for (name, help) in [
        ("ownr", "did you mean `owner`?"),
        ("nothing-like-it", "there is `X-Team`, `id`"),
    ] {
        let mistake = read_openapi(&input(&text), &options(&[(name, "1")])).unwrap_err();
        assert_eq!(
            mistake.words,
            format!("no operation here has the parameter `{name}`")
        );
        let told = mistake.help.unwrap();
        assert!(told.contains(help), "{told}");
    }
    // A secret is one, whoever gives it.
    let text = "openapi: 3.0.0\npaths:\n  /a: {get: {parameters: [{name: token, in: query}]}}\n";
    let sent = requests(text, &options(&[("token", "hunter2hhh")]));
    assert_eq!(sent, ["GET http://127.0.0.1:8080/a?token=<TOKEN>"]);
}
