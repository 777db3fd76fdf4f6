//! What declared requests and builders carry, as the chain writes it.

use crate::script::{Event, Sent, User, ok};
use loadtest::__private::{RequestBuf, SetupContext, Unmet};
use loadtest::multipart::{Form, Part};
use loadtest::prelude::*;
use loadtest::{File, FileError};
use loadtest_model::definition::{BodyKind, StepDef};

#[response]
struct Login {
    name: String,
    id: u64,
    page: Option<u64>,
    r#type: String,
}

/// What every step below reads.
const LOGIN: &str =
    r#"{"name":"a b&c=d+e#f%g/é","id":7,"page":null,"type":"x","list":[{"a key":1.5}]}"#;

#[scenario]
fn declared() {
    #[step(post = "/login", form = { "user": "ada l", "n": -1.5, "on": true, "user": "é~*" })]
    fn login() -> Login;

    #[step(
        post = "/form",
        form = { "a b": "{{login.response.name}}!", "id": {{login.response.id}}, "two": (1 + 1) },
    )]
    fn form();

    #[step(
        put = "/text",
        body = "for {{step1.response.name}} \"{{login.response.type}}\"\n"
    )]
    fn text();

    #[step(put = "/text", header("Content-Type", "text/csv"), body = "a,b")]
    fn csv();

    #[step(get = "/q?x=1", query = { "page": 2, "q": "{{login.response.name}}", "a&b": "c d" })]
    fn search();

    #[step(get = "/q", query = { "id": {{login.response.id}}, "n": (2 * 3) })]
    fn first_pair();

    #[step(get = "/path/{{login.response.name}}?q={{login.response.name}}")]
    fn in_the_url();

    #[step(get = "/", basic = ("{{login.response.type}}", "{{login.response.name}}"))]
    fn basic();

    #[step(get = "/", basic = ("ada", "pa:ss"))]
    fn constant_basic();

    #[step(get = "/", basic = ("{{login.response.name}}", "x"), body = "{{login.response.page}}")]
    fn missing();

    #[step(post = "/file", body = file("tests/ui/cases/returns.rs"))]
    fn file();

    #[step(post = "/parts", multipart = { "who": "{{login.response.name}}", "n": 3 })]
    fn parts();

    #[step(post = "/parts", multipart = { "a\"b": "c", "code": file("tests/ui/cases/returns.rs") })]
    fn constant_parts();

    #[step(
        post = "/parts",
        multipart = { "id": {{login.response.id}}, "code": file("tests/ui/cases/returns.rs"), "z": "é" },
    )]
    fn parts_with_a_file();

    #[step(head = "/", json = { "a": 1 })]
    fn with_a_head();
}

fn sent() -> Vec<Sent> {
    let mut user = User::new(declared());
    let events = user.iterate(&[], |_| ok(LOGIN));
    let unmet: Vec<&Event> = events
        .iter()
        .filter(|event| !matches!(event, Event::Ok(_)))
        .collect();
    assert_eq!(
        unmet,
        [&Event::Unmet(
            "missing",
            Unmet::Missing {
                step: 0,
                variable: "login.response.page"
            }
        )]
    );
    user.sent
}

fn of(path: &str) -> Vec<Sent> {
    let mut sent = sent();
    sent.retain(|sent| sent.line.ends_with(path));
    sent
}

const ENCODED: &str = "a%20b%26c%3Dd%2Be%23f%25g%2F%C3%A9";

#[test]
fn forms_are_url_encoded() {
    let [login] = &*of("POST /login") else {
        panic!("one request")
    };
    assert_eq!(login.body, "user=ada+l&n=-1.5&on=true&user=%C3%A9%7E*");
    assert_eq!(
        login.headers,
        ["content-type: application/x-www-form-urlencoded"]
    );
    let [form] = &*of("/form") else {
        panic!("one request")
    };
    let read: Vec<(String, String)> = form_urlencoded::parse(form.body.as_bytes())
        .into_owned()
        .collect();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        read,
        [
            pair("a b", "a b&c=d+e#f%g/é!"),
            pair("id", "7"),
            pair("two", "2")
        ]
    );
}

#[test]
fn text_is_sent_as_it_is_and_a_header_names_its_type() {
    let [text, csv] = &*of("/text") else {
        panic!("two requests")
    };
    assert_eq!(text.body, "for a b&c=d+e#f%g/é \"x\"\n");
    assert_eq!(text.headers, ["content-type: text/plain; charset=utf-8"]);
    assert_eq!(
        (csv.body.as_str(), &*csv.headers),
        ("a,b", &["content-type: text/csv".to_owned()][..])
    );
}

#[test]
fn query_values_and_paths_are_encoded() {
    let lines: Vec<String> = sent().into_iter().map(|sent| sent.line).collect();
    for line in [
        format!("GET /q?x=1&page=2&q={ENCODED}&a%26b=c%20d"),
        "GET /q?id=7&n=6".to_owned(),
        // a slash of a value stays one in path and query of a URL
        format!("GET /path/{0}?q={0}", ENCODED.replace("%2F", "/")),
    ] {
        assert!(lines.contains(&line), "{line} in {lines:#?}");
    }
}

#[test]
fn credentials_are_encoded_at_compile_time_or_at_run_time() {
    use base64::prelude::{BASE64_STANDARD, Engine as _};
    let headers: Vec<String> = of("GET /")
        .into_iter()
        .flat_map(|sent| sent.headers)
        .collect();
    assert_eq!(
        headers,
        ["x:a b&c=d+e#f%g/é", "ada:pa:ss"]
            .map(|text| format!("authorization: Basic {}", BASE64_STANDARD.encode(text)))
    );
}

#[test]
fn a_colon_in_the_value_of_a_user_name_is_no_request() {
    #[scenario]
    fn colon() {
        #[step(get = "/")]
        fn who() -> Value;
        #[step(get = "/", basic = ("{{who.response.name}}", "x"))]
        fn ask();
    }
    let events = User::new(colon()).iterate(&[], |_| ok(r#"{"name":"a:b"}"#));
    let [_, Event::Unmet("ask", Unmet::Invalid { reason })] = &*events else {
        panic!("{events:?}")
    };
    assert!(reason.contains('`') && reason.contains(':'), "{reason}");
}

#[test]
fn a_file_goes_with_the_type_of_its_name() {
    let [file] = &*of("/file") else {
        panic!("one request")
    };
    assert_eq!(file.body, include_str!("../ui/cases/returns.rs"));
    assert_eq!(file.headers, ["content-type: text/x-rust"]);
}

/// Names, heads and contents of the parts, read by hand after RFC 2046.
fn parts(sent: &Sent) -> Vec<(String, String)> {
    let header = sent
        .headers
        .iter()
        .find_map(|header| header.strip_prefix("content-type: multipart/form-data; boundary="));
    let boundary = header.expect("a boundary");
    let end = format!("--{boundary}--\r\n");
    let parts = sent.body.strip_suffix(&end).expect("the last boundary");
    let begin = format!("--{boundary}\r\n");
    parts
        .split(&begin)
        .skip(1)
        .map(|part| {
            let part = part.strip_suffix("\r\n").expect("the end of a part");
            let (head, content) = part.split_once("\r\n\r\n").expect("the head of a part");
            (head.to_owned(), content.to_owned())
        })
        .collect()
}

fn field(name: &str, value: &str) -> (String, String) {
    (
        format!("Content-Disposition: form-data; name=\"{name}\""),
        value.to_owned(),
    )
}

fn code() -> (String, String) {
    (
        "Content-Disposition: form-data; name=\"code\"; filename=\"returns.rs\"\r\n\
         Content-Type: text/x-rust"
            .to_owned(),
        include_str!("../ui/cases/returns.rs").to_owned(),
    )
}

#[test]
fn the_parts_of_a_form_arrive_in_order() {
    let [with_values, constant, with_a_file] = &*of("/parts") else {
        panic!("three requests")
    };
    assert_eq!(
        parts(with_values),
        [field("who", "a b&c=d+e#f%g/é"), field("n", "3")]
    );
    assert_eq!(parts(constant), [field("a%22b", "c"), code()]);
    assert_eq!(
        parts(with_a_file),
        [field("id", "7"), code(), field("z", "é")]
    );
    assert_eq!(
        of("/parts")
            .iter()
            .map(|sent| &sent.body)
            .collect::<Vec<_>>(),
        sent()[sent().len() - 4..sent().len() - 1]
            .iter()
            .map(|sent| &sent.body)
            .collect::<Vec<_>>(),
        "the boundary is the same in every run"
    );
}

#[test]
fn any_method_may_carry_a_body() {
    let last = sent().pop().expect("a last request");
    assert_eq!((&*last.line, &*last.body), ("HEAD /", r#"{"a":1}"#));
}

#[test]
fn a_file_that_is_missing_fails_before_the_load() {
    #[scenario]
    fn lost() {
        #[step(post = "/", name = "send it", body = file("data/none.bin"))]
        fn send();
    }
    let Err(error) = (lost().prepare)(&SetupContext::default()) else {
        panic!("there is no such file")
    };
    let message = error.to_string();
    assert!(
        message.contains("step `send it`") && message.contains("`data/none.bin`"),
        "{message}"
    );
}

#[test]
fn headers_and_bodies_are_in_the_definition() {
    let steps = &declared().definition.steps;
    let step = |name: &str| -> &StepDef {
        steps
            .iter()
            .find(|step| step.name == name)
            .expect("the step")
    };
    let body = |name: &str| {
        let body = step(name).body.as_ref().expect("a body");
        (body.kind, body.template.as_ref())
    };
    assert_eq!(
        body("login"),
        (
            BodyKind::Form,
            r#"{"user":"ada l","n":"-1.5","on":"true","user":"é~*"}"#
        )
    );
    assert_eq!(
        body("form"),
        (
            BodyKind::Form,
            r#"{"a b":"{{login.response.name}}!","id":"{{login.response.id}}","two":(..)}"#
        )
    );
    assert_eq!(
        body("text"),
        (
            BodyKind::Text,
            "for {{login.response.name}} \"{{login.response.type}}\"\n"
        )
    );
    assert_eq!(body("file"), (BodyKind::Bytes, "tests/ui/cases/returns.rs"));
    assert_eq!(
        body("parts_with_a_file"),
        (
            BodyKind::Multipart,
            r#"{"id":"{{login.response.id}}","code":{"file":"tests/ui/cases/returns.rs"},"z":"é"}"#
        )
    );
    assert_eq!(body("with_a_head"), (BodyKind::Json, r#"{"a":1}"#));
    let headers: Vec<_> = step("csv").headers.iter().collect();
    assert_eq!(
        (&*headers[0].name, &*headers[0].value),
        ("content-type", "text/csv")
    );
    assert_eq!(
        step("basic").headers[0].value,
        "Basic {{login.response.type}}:{{login.response.name}}"
    );
    assert_eq!(
        step("search").url.as_deref(),
        Some("/q?x=1&page=2&q={{login.response.name}}&a%26b=c%20d")
    );
}

fn written(request: Request) -> Result<Sent, Unmet> {
    let mut buffer = RequestBuf::default();
    request.write(&mut buffer)?;
    Ok(crate::script::describe(&buffer))
}

#[test]
fn builders_append_to_the_query() {
    for (url, line) in [
        ("/a", "GET /a?q=a+b%26%C3%A9&n=2"),
        ("/a?x=1#part", "GET /a?x=1&q=a+b%26%C3%A9&n=2"),
    ] {
        let request = Request::get(url)
            .query(&[("q", "a b&é")])
            .query(&json!({"n": 2}));
        assert_eq!(written(request).map(|sent| sent.line), Ok(line.to_owned()));
    }
    let nothing: [(&str, &str); 0] = [];
    assert_eq!(
        written(Request::get("/a").query(&nothing)).map(|sent| sent.line),
        Ok("GET /a".to_owned())
    );
    let refused = written(Request::get("/a").query(&json!({"n": [1]})));
    assert!(
        matches!(&refused, Err(Unmet::Invalid { reason }) if reason.starts_with("the query")),
        "{refused:?}"
    );
}

#[test]
fn builders_name_the_type_of_a_body_unless_a_header_does() {
    let form = || Request::<()>::post("/").form(&[("a", "b c"), ("a", "é")]);
    let sent = written(form()).expect("a request");
    assert_eq!(sent.body, "a=b+c&a=%C3%A9");
    assert_eq!(
        sent.headers,
        ["content-type: application/x-www-form-urlencoded"]
    );
    let sent = written(form().header("content-type", "x/y")).expect("a request");
    assert_eq!(sent.headers, ["content-type: x/y"]);
    // the last body counts, and its type
    let sent = written(form().body("plain")).expect("a request");
    assert_eq!((&*sent.body, sent.headers.len()), ("plain", 0));
    let sent = written(Request::post("/").body("x").json(&1)).expect("a request");
    assert_eq!(
        (&*sent.body, &*sent.headers[0]),
        ("1", "content-type: application/json")
    );
}

#[test]
fn parts_keep_their_boundary_under_a_type_of_their_own() {
    let form = Form::new().text("a", "b");
    let boundary = form.boundary().to_owned();
    let request = |own: &str, form| {
        Request::<()>::post("/")
            .header("content-type", own)
            .multipart(form)
    };
    for own in ["multipart/mixed", "multipart/related; type=\"a/b\" "] {
        let form = Form::new().text("a", "b");
        let boundary = form.boundary().to_owned();
        let sent = written(request(own, form)).expect("a request");
        let whole = format!("content-type: {}; boundary={boundary}", own.trim_end());
        assert_eq!(sent.headers, [whole]);
        assert!(sent.body.starts_with(&format!("--{boundary}\r\n")));
    }
    // the right one may be there already
    let own = format!("multipart/form-data; charset=utf-8; Boundary={boundary}");
    let sent = written(request(&own, form)).expect("a request");
    assert_eq!(sent.headers, [format!("content-type: {own}")]);
    let refused = written(request(
        "multipart/form-data; boundary=x",
        Form::new().text("a", "b"),
    ));
    assert_eq!(
        refused,
        Err(Unmet::Invalid {
            reason:
                "header `content-type`: its `boundary` is not the one between the parts of this \
                     form; leave it out, and the right one is added"
                    .to_owned()
        })
    );
}

/// Forms of parts with a type of their own.
#[scenario]
fn typed_parts() {
    #[step(get = "/")]
    fn kind() -> String;

    #[step(post = "/constant", header("content-type", "multipart/mixed"), multipart = { "a": "b" })]
    fn constant();

    #[step(
        post = "/value",
        header("Content-Type", "multipart/{{kind.response}}"),
        multipart = { "a": "{{kind.response}}", "code": file("tests/ui/cases/returns.rs") },
    )]
    fn value();

    #[step(
        post = "/refused",
        header("content-type", "multipart/mixed; boundary=mine"),
        multipart = { "a": "b" },
    )]
    fn refused();
}

#[test]
fn declared_parts_keep_their_boundary_under_a_type_of_their_own() {
    let mut user = User::new(typed_parts());
    let events = user.iterate(&[], |_| ok("mixed"));
    assert!(
        matches!(
            &events[..],
            [
                _,
                Event::Ok(_),
                Event::Ok(_),
                Event::Unmet("refused", Unmet::Invalid { .. })
            ]
        ),
        "{events:?}"
    );
    for sent in &user.sent[1..] {
        let [header] = &sent.headers[..] else {
            panic!("{sent:?}")
        };
        let boundary = header.strip_prefix("content-type: multipart/mixed; boundary=");
        let boundary = boundary.expect("a boundary");
        assert!(
            sent.body.starts_with(&format!("--{boundary}\r\n")),
            "{sent:?}"
        );
        assert!(
            sent.body.ends_with(&format!("--{boundary}--\r\n")),
            "{sent:?}"
        );
    }
}

#[test]
fn builders_send_parts_from_memory_and_from_files() {
    let photo = File::read("tests/ui/cases/returns.rs").expect("the file");
    let form = Form::new()
        .text("name", "me")
        .part("code", photo.part())
        .part(
            "raw",
            Part::bytes(b"\x01\x02".as_slice()).file_name("a.bin"),
        );
    let sent = written(Request::post("/").multipart(form)).expect("a request");
    let parts = parts(&sent);
    assert_eq!(parts[0], field("name", "me"));
    assert_eq!(parts[1].1, code().1);
    assert!(
        parts[1].0.contains("filename=\"returns.rs\"") && parts[1].0.contains("text/x-rust"),
        "{parts:?}"
    );
    assert_eq!(parts[2].1, "\u{1}\u{2}");
    let sent = written(Request::put("/").body(&photo)).expect("a request");
    assert_eq!((sent.body, sent.headers.len()), (code().1, 0));
}

#[test]
fn names_of_fields_are_sent_as_browsers_send_them() {
    let form = Form::new()
        .text("größe", "XL")
        .text("a b/{c}", "1")
        .text("a\"\r\nb", "2");
    let sent = written(Request::post("/").multipart(form)).expect("a request");
    let heads = parts(&sent).into_iter().map(|(head, _)| head);
    let names = ["größe", "a b/{c}", "a%22%0D%0Ab"];
    let expected = names.map(|name| format!("Content-Disposition: form-data; name=\"{name}\""));
    assert_eq!(heads.collect::<Vec<_>>(), expected);
}

#[test]
fn a_file_of_a_setup_is_shared() {
    #[scenario]
    fn uploads() {
        #[setup]
        fn photo() -> Result<File, FileError> {
            File::read("tests/ui/cases/returns.rs")
        }
        #[step]
        fn upload(photo: &File) -> Request {
            Request::post("/")
                .header("content-type", photo.content_type())
                .body(photo)
        }
    }
    let mut user = User::new(uploads());
    user.iterate(&[], |_| ok("{}"));
    assert_eq!(user.sent[0].body, code().1);
    assert_eq!(user.sent[0].headers, ["content-type: text/x-rust"]);
}

#[test]
fn a_placeholder_at_the_start_may_hold_a_query_already() {
    #[scenario]
    fn raw() {
        #[step(get = "/")]
        fn start() -> Value;
        #[step(get = "{{start.response.a}}", query = { "x": "1 2" })]
        fn with_query();
        #[step(get = "{{start.response.b}}", query = { "x": {{start.response["the key"]}} })]
        fn without_query();
    }
    let mut user = User::new(raw());
    user.iterate(&[], |_| {
        ok(r#"{"a":"/p?q=%20#part","b":"/p","the key":true}"#)
    });
    let lines: Vec<&str> = user.sent.iter().map(|sent| sent.line.as_str()).collect();
    assert_eq!(lines, ["GET /", "GET /p?q=%20&x=1%202", "GET /p?x=true"]);
}
