//! Values, conditions and statements of scripts.

use super::*;

#[test]
fn values_of_answers_are_read_where_they_are_used() {
    for (value, written) in [
        ("res.json('token')", "{{get_a.response.token}}"),
        ("res.json().token", "{{get_a.response.token}}"),
        (
            "JSON.parse(res.body).items[1].id",
            "{{get_a.response.items[1].id}}",
        ),
        ("res.json('items.0.id')", "{{get_a.response.items[0].id}}"),
        ("res.json()['a key']", "{{get_a.response.a_key}}"),
        ("res.headers['X-Next']", "{{get_a.headers.x-next}}"),
        ("res.headers.Etag", "{{get_a.headers.etag}}"),
        ("__VU", "{{vu.id}}"),
        ("__ITER", "{{vu.iteration}}"),
        ("Date.now()", "{{vu.now.unix_ms}}"),
        ("Math.floor(Date.now() / 1000)", "{{vu.now.unix}}"),
        ("new Date().toISOString()", "{{vu.now}}"),
        ("uuidv4()", "{{UUIDV4}}"),
        ("(1 + 2) * 4", "12"),
        ("['a', 'b'].join('-')", "a-b"),
        ("cut(res)", "{{CUT_RES}}"),
    ] {
        let statements =
            format!("const res = http.get('http://h/a');\nhttp.get(`http://h/b/${{{value}}}`);");
        let body = body(&statements);
        let expected = format!("get = \"/b/{written}\"");
        assert!(body.contains(&expected), "{value}\n{body}");
    }
}

#[test]
fn a_changed_variable_is_not_what_it_was() {
    // What code may change is not sent as it was before.
    for code in [
        "for (const x of list) { id = x; }",
        "if (res.json().n > list[0]) { id = 8; }",
        "for (;;) { change(); }",
        "id++;",
        "[id] = pick();",
        "while (id < 9) { id += 1; }",
    ] {
        let statements = format!(
            "let id = 7;\nfunction change() {{ id = 9; }}\nconst res = http.get('http://h/a');\n{code}\nhttp.get(`http://h/b/${{id}}`);"
        );
        let body = body(&statements);
        assert!(body.contains("get = \"/b/{{ID}}\""), "{code}\n{body}");
        assert!(body.contains("`id` is computed by code"), "{code}\n{body}");
    }
}

#[test]
fn an_unknown_part_of_an_address_is_a_constant() {
    for (url, written) in [
        ("address", "get = \"{{ADDRESS}}\""),
        ("`http://h:81${path}`", "get = \"{{PATH}}\""),
        ("'http://h:81/' + part(1)", "get = \"/{{PART_1}}\""),
        (
            "'http://h:81' + res.headers.Location",
            "get = \"{{get_a.headers.location}}\"",
        ),
        ("res.json('next')", "get = \"{{get_a.response.next}}\""),
    ] {
        let statements = format!("const res = http.get('http://h:81/a');\nhttp.get({url});");
        let body = body(&statements);
        assert!(body.contains(written), "{url}\n{body}");
    }
    let source = written(&script("http.get(address);"));
    assert!(
        source.contains("const ADDRESS: &str = \"/unknown\";"),
        "{source}"
    );
}

#[test]
fn checks_are_those_of_the_step() {
    for (check, written) in [
        ("r.status === 201", "expect = 201"),
        ("r.status !== 500 && r.status < 400", "expect = 100..400"),
        ("[200, 404].includes(r.status)", "expect = 200 | 404"),
        ("r.status == 200 || r.status == 304", "expect = 200 | 304"),
        ("200 === r.status", "expect = 200"),
        ("r.body.includes('tea')", "answer.contains(\"tea\")"),
        ("r.body.indexOf('tea') !== -1", "answer.contains(\"tea\")"),
        ("/tea/.test(r.body)", "answer.contains(\"tea\")"),
        ("r.body.length > 0", "!answer.is_empty()"),
        ("r.body === 'pong'", "answer.as_str() == \"pong\""),
        ("r.json('name') === 'tea'", "answer[\"name\"] == \"tea\""),
        ("r.json().ok === true", "answer[\"ok\"] == true"),
        ("r.json().count > 2", "answer[\"count\"].as_f64()"),
        (
            "r.json().items.length >= 1",
            "is_some_and(|length| length >= 1)",
        ),
        ("r.json('id') !== undefined", "!answer[\"id\"].is_null()"),
        ("r.headers['Content-Type'] === 'a/b'", "value == \"a/b\""),
        ("r.timings.duration < 250", "from_millis(250)"),
    ] {
        let statements = format!("check(http.get('http://h/a'), {{ 'it': (r) => {check} }});");
        let body = body(&statements);
        assert!(body.contains(written), "{check}\n{body}");
    }
}

#[test]
fn a_check_that_cannot_hold_or_be_read_is_code() {
    for check in [
        "r.status === 200 && r.status === 404",
        "r.json().n % 2 === 0",
        "other(r)",
        "false",
    ] {
        let statements = format!("check(http.get('http://h/a'), {{ 'it': (r) => {check} }});");
        let body = body(&statements);
        assert!(
            body.contains("a check is code") && body.contains(check),
            "{check}\n{body}"
        );
    }
}

#[test]
fn steps_below_a_condition_on_an_answer_follow_its_step() {
    for condition in [
        "res.status === 200",
        "check(res, { 'is ok': (r) => r.status === 200 })",
    ] {
        let body = body(&format!(
            "const res = http.get('http://h/a');\nif ({condition}) {{ http.get('http://h/b'); }} else {{ stop(); }}"
        ));
        assert!(body.contains("fn get_b(get_a: &Response);"), "{body}");
        assert!(
            body.contains("//   {\n") || body.contains("stop();"),
            "{body}"
        );
    }
    let body = body(
        "const res = http.get('http://h/a');\nif (res.status !== 200) { return; }\nhttp.get('http://h/b');",
    );
    assert!(body.contains("expect = 200"), "{body}");
    assert!(body.contains("fn get_b(get_a: &Response);"), "{body}");
}

#[test]
fn draws_become_weights_and_the_first_iteration_once() {
    let drawn =
        body("if (Math.random() < 0.3) { http.get('http://h/a'); http.get('http://h/b'); }");
    assert!(drawn.contains("weight = 0.3"), "{drawn}");
    assert!(drawn.contains("fn get_b(get_a: &Response);"), "{drawn}");
    let once = body("if (__ITER === 0) { http.post('http://h/login'); }\nhttp.get('http://h/a');");
    assert!(once.contains("once"), "{once}");
}

#[test]
fn bodies_and_parameters_are_those_of_the_script() {
    let sent = one(
        "http.post('http://u:p@h/a?b=1', { 'a b': 'c&d', list: [1, 2] }, \
                    { headers: { 'X-A': 'b' }, cookies: { c: 'd' }, timeout: '1m30s', redirects: 2, tags: { name: 'n', kind: 'k' } });",
    );
    assert_eq!(
        sent.body,
        crate::recording::Body::Text("a+b=c%26d&list=1&list=2".into())
    );
    assert_eq!(sent.header("cookie").unwrap().as_literal(), Some("c=d"));
    assert_eq!(sent.timeout.unwrap().as_secs(), 90);
    assert_eq!((sent.redirects, sent.name.as_deref()), (2, Some("n")));
    assert_eq!(sent.settings.tags, ["kind:k"]);
    assert!(sent.credentials.is_some());
    let text = one("http.put('http://h/a', 'text');");
    assert_eq!(text.content_type(), None);
}

#[test]
fn text_and_steps_are_bounded() {
    // Text that doubles a hundred times, functions that call themselves.
    let doubled = "let a = 'xxxxxxxxxx';\n".to_owned() + &"a = a + a;\n".repeat(100);
    let body = body(&format!("{doubled}http.get(`http://h/${{a}}`);"));
    assert!(body.contains("{{A}}"), "{body}");
    let text = script("function f() { f(); f(); }\nf();\nhttp.get('http://h/a');");
    assert_eq!(read(&text).exchanges.len(), 1);
}

#[test]
fn a_random_item_of_one_built_step_is_chosen_there() {
    let drawn = "const names = ['a', 'b'];\nconst one = names[Math.floor(Math.random() * names.length)];\nhttp.request('PROPFIND', `http://h/${one}`, one);";
    let alone = body(drawn);
    assert!(alone.contains("*vu.choose(&[\"a\", \"b\"])?"), "{alone}");
    assert!(!alone.contains("#[feed]"), "{alone}");
    // Two steps of a journey have the same one.
    let shared = body(&format!("{drawn}\nhttp.get(`http://h/x/${{one}}`);"));
    assert!(!shared.contains("vu.choose"), "{shared}");
    assert!(shared.contains("#[feed]"), "{shared}");
}
