use super::*;

/// What a script sets, as one line each.
fn sets(script: &str) -> Vec<String> {
    let shown = |kept: KeptValue| match kept {
        KeptValue::Text(text) => format!("{text:?}"),
        KeptValue::Json(path) => path.iter().fold("$".to_owned(), |shown, key| match key {
            Key::Field(name) => format!("{shown}.{name}"),
            Key::Item(number) => format!("{shown}[{number}]"),
        }),
        KeptValue::Header(name) => format!("header {name}"),
    };
    let sets = read_script(script).sets.into_iter();
    let sets = sets.map(|(name, kept)| format!("{name} = {}", kept.map_or("?".to_owned(), shown)));
    sets.collect()
}

#[test]
fn what_everybody_writes_is_understood() {
    for (script, set) in [
        (
            r#"pm.environment.set("token", pm.response.json().token)"#,
            "token = $.token",
        ),
        (
            "var json = pm.response.json();\npm.collectionVariables.set('id', json.data.id);",
            "id = $.data.id",
        ),
        (
            "const { token } = pm.response.json()\npm.globals.set(\"token\", token)",
            "token = $.token",
        ),
        (
            "const { a: b, user: { id } } = pm.response.json(); pm.environment.set('u', id)",
            "u = $.user.id",
        ),
        (
            "let d = JSON.parse(responseBody); postman.setEnvironmentVariable(\"t\", d[0]['access token']);",
            "t = $[0].access token",
        ),
        (
            "postman.setGlobalVariable('t', JSON.parse(pm.response.text()).t)",
            "t = $.t",
        ),
        (
            "pm.environment.set('l', pm.response.headers.get('Location'))",
            "l = header Location",
        ),
        (
            "const r = pm.response; const h = r.headers; pm.environment.set('l', h.get(\"X\"));",
            "l = header X",
        ),
        (
            "pm.environment.set('l', postman.getResponseHeader('X'))",
            "l = header X",
        ),
        (
            "pm.test('x', () => {\n  if (pm.response.code === 200) { pm.environment.set('t', pm.response.json()?.a?.[0].b) } })",
            "t = $.a[0].b",
        ),
        (
            "pm.environment.set('t', 'Bearer ' + pm.response.json().t)",
            "t = ?",
        ),
        (
            "pm.environment.set('t', pm.response.json().id.toString() || '')",
            "t = $.id",
        ),
        ("pm.variables.set('n', 7)", "n = \"7\""),
        (
            "var a = pm.response.json(), b = a.c; pm.environment.set('b', b)",
            "b = $.c",
        ),
        // What is not understood is not guessed at.
        (
            "pm.environment.set('t', pm.response.json().a.split('.')[0])",
            "t = ?",
        ),
        ("pm.environment.set('t', Date.now())", "t = ?"),
        (
            "pm.environment.set('t', pm.response.json().a.length)",
            "t = ?",
        ),
        ("pm.environment.set('t', a[i].b)", "t = ?"),
        (
            "var a = pm.response.json(); a = other(); pm.environment.set('t', a.b)",
            "t = ?",
        ),
        (
            "pm.sendRequest(u, (e, res) => { pm.environment.set('t', res.json().t) })",
            "t = ?",
        ),
        ("pm.environment.set('t', pm.response.json().a * 2)", "t = ?"),
    ] {
        assert_eq!(sets(script), [set], "{script}");
    }
}

#[test]
fn expected_statuses_are_told_from_other_checks() {
    for (script, statuses, checks_more) in [
        ("pm.response.to.have.status(201)", &[201][..], false),
        ("pm.response.to.have.status('Created')", &[201], false),
        ("pm.expect(pm.response.code).to.equal(204);", &[204], false),
        (
            "pm.expect(pm.response.code).to.be.oneOf([200, 201])",
            &[200, 201],
            false,
        ),
        ("tests['ok'] = responseCode.code === 200;", &[200], false),
        ("tests['ok'] = responseBody.has('x');", &[], true),
        ("pm.response.to.not.have.status(500)", &[], true),
        ("pm.expect(pm.response.code).to.not.equal(500)", &[], true),
        ("pm.expect(pm.response.code).to.be.below(300)", &[], true),
        ("pm.expect(json.name).to.eql('x')", &[], true),
        ("if (pm.response.code === 401) {}", &[], false),
        ("pm.response.to.have.status(99999)", &[], true),
        ("// pm.response.to.have.status(201)", &[], false),
    ] {
        let read = read_script(script);
        assert_eq!(
            (&read.statuses[..], read.checks_more),
            (statuses, checks_more),
            "{script}"
        );
    }
}

#[test]
fn other_effects_are_listed() {
    let script = "pm.sendRequest('x'); pm.request.headers.add({}); postman.setNextRequest(null); \
        pm.request.url.query.all(); pm.sendRequest('y'); pm.environment.set(name, 1)";
    let effects = read_script(script).effects;
    assert_eq!(
        effects,
        [
            "sends a request of its own",
            "changes the request",
            "chooses the request that follows",
            "sets variables"
        ]
    );
}

#[test]
fn no_script_is_too_strange() {
    let doubled = "var a = 'xxxxxxxx'; ".to_owned()
        + &"a = a + a; ".repeat(500)
        + "pm.environment.set('a', a)";
    assert_eq!(sets(&doubled), ["a = ?"]);
    let deep = format!("var a = {}1", "(".repeat(100_000));
    assert_eq!(read_script(&deep), ScriptIdioms::default());
    let deep = format!("const {} = 1", "{a:".repeat(50_000));
    assert_eq!(read_script(&deep), ScriptIdioms::default());
    for script in [
        "pm.",
        "pm.environment.set(",
        "pm.environment.set('a',",
        "const {",
        "var a =",
        "tests[",
        "pm.expect(pm.response.code).",
    ] {
        read_script(script);
    }
}

/// What scripts are made of, and what breaks them.
const PIECES: [&str; 40] = [
    "pm",
    ".",
    "environment",
    "set",
    "(",
    ")",
    "'a'",
    ",",
    "response",
    "json",
    "token",
    "var ",
    "const ",
    "x",
    "=",
    "{",
    "}",
    "[",
    "]",
    "0",
    "`${x}`",
    "`${",
    "\"",
    "'",
    "/",
    "//",
    "/*",
    "\\",
    "+",
    "||",
    "?.",
    "tests",
    "===",
    "responseCode",
    "code",
    "200",
    "expect",
    "\n",
    "é",
    "JSON.parse(responseBody)",
];

proptest::proptest! {
    #[test]
    fn any_script_is_read(pieces in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..60)) {
        read_script(&pieces.concat());
    }
}
