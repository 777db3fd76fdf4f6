mod law;
mod rich;
mod shared;

use super::*;
use crate::recording::{Body, Exchange, Piece, Recording, RunValue, Text};
use crate::{PermittedFiles, hide_secrets, read_text};

fn written(text: &str) -> Written {
    let input = Input::new("copied.sh", text.to_owned());
    let files = PermittedFiles {
        folder: std::path::PathBuf::new(),
        are_permitted: false,
    };
    let mut recording = read_text(&input, &files, None, None).unwrap();
    hide_secrets(&mut recording);
    let written = write_source(&recording, &input, "curl");
    syn::parse_file(&written.source).unwrap_or_else(|error| panic!("{error}\n{}", written.source));
    written
}

#[test]
fn a_scenario_is_as_somebody_would_write_it() {
    let text = r#"
        curl 'http://127.0.0.1:8080/api/login' -H 'content-type: application/json' --data-raw '{"user":"ada","password":"canary-1","remember":true,"n":[1,-2.5,null]}' ;
        curl 'http://127.0.0.1:8080/products?page=2&token=canary-2' -H 'authorization: Bearer canary-3' -H 'X-Shop: 7' -L ;
        curl 'http://127.0.0.1:8080/orders' -b 'sid=canary-4' -d 'product=7&note=a+b&password=canary-1' -m 2 -k;
        curl 'http://127.0.0.1:8080/orders/17' -X DELETE -u ada:canary-5 -H "X-Trace: a-$TOKEN" -x proxy;
        curl 'http://127.0.0.1:9090/other' -H 'content-type: text/plain' -d 'say "it"';
        curl http://127.0.0.1:8080/upload -F 'a={{x}}' -F 'b=1;type=text/csv' -H "X-Trace: $TOKEN";
        curl http://127.0.0.1:8080/form -F a=b -F token=canary-6;
        curl -X PROPFIND http://127.0.0.1:8080/ --data-binary $'\xff\x01'
    "#;
    let written = written(text);
    assert!(!written.source.contains("canary"), "{}", written.source);
    insta::assert_snapshot!(format_source(written.source));
    let names: Vec<_> = written.secrets.iter().map(|secret| &*secret.name).collect();
    assert_eq!(
        names,
        [
            "API_TOKEN",
            "COOKIE",
            "PASSWORD",
            "PASSWORD_2",
            "TOKEN",
            "TOKEN_2",
            "TOKEN_3"
        ]
    );
}

#[test]
fn a_key_in_the_place_of_a_user_is_a_secret() {
    const KEY: &str = "sk_live_51Hq8ZbKx2mNvPq7RtYw3EuIo";
    for credentials in [
        format!("http://a/b -u {KEY}:"),
        format!("http://{KEY}:@a/b"),
    ] {
        for (method, basic) in [
            ("POST", "basic = (\"{{secret.API_KEY}}\", \"\")"),
            // Such a step is built.
            ("PROPFIND", ".basic_auth(secret(\"API_KEY\"), Some(\"\"))"),
        ] {
            let written = written(&format!("curl {credentials} -X {method} -d amount=1"));
            let source = &written.source;
            assert!(source.contains(basic), "{credentials}: {source}");
            assert!(!source.contains(KEY), "{source}");
            let named = written.secrets.iter().map(|secret| &*secret.name);
            assert_eq!(named.collect::<Vec<_>>(), ["API_KEY"], "{credentials}");
        }
    }
}

#[test]
fn a_form_has_no_secrets_however_it_is_encoded() {
    for (body, canary) in [
        // Others would write `%2F` and `%20`.
        ("grant_type=authorization_code&code=4/0canary", "4/0canary"),
        ("grant_type=authorization_code&code=4%2F0canary", "0canary"),
        ("code=canary%20x&state=a", "canary"),
        ("user[pin]=canary/1&a=b", "canary"),
        ("to=/a&pw=canary", "canary"),
    ] {
        for method in ["POST", "PROPFIND"] {
            let written = written(&format!("curl -X {method} http://a/token -d '{body}'"));
            assert!(!written.source.contains(canary), "{}", written.source);
            assert_eq!(written.secrets.len(), 1, "{}", written.source);
        }
    }
    let written = written("curl http://a/token -d 'a=b/c&page=2&code=x/1'");
    assert!(
        written.source.contains("a=b/c&page=2&code=x/1"),
        "{}",
        written.source
    );
}

#[test]
fn json_that_is_sent_as_a_form_has_only_the_secrets_of_json() {
    let body =
        r#"{"max_tokens": 1024, "author": "ada", "password_hint": "my dog", "pw": "a\"canary"}"#;
    for method in ["POST", "PROPFIND"] {
        let written = written(&format!("curl -X {method} http://a/b -d '{body}'"));
        let names: Vec<_> = written.secrets.iter().map(|secret| &*secret.name).collect();
        assert_eq!(names, ["PW"], "{}", written.source);
        for plain in ["1024", "ada", "my dog"] {
            assert!(written.source.contains(plain), "{}", written.source);
        }
        assert!(!written.source.contains("canary"), "{}", written.source);
    }
}

#[test]
fn every_form_becomes_a_source_that_is_rust() {
    let forms = include_str!("../../../../../tests/fixtures/curl/forms.json");
    let forms: serde_json::Value = serde_json::from_str(forms).unwrap();
    for form in forms["forms"].as_array().unwrap() {
        let command = form["cmd"].as_str().unwrap().replace("PORT", "80");
        let reads_file = command.contains("@f.txt")
            || command.contains("@\"f")
            || command.contains("@body")
            || command.contains("@h.txt")
            || command.contains("-b cookies")
            || command.contains("-T f");
        if !reads_file && !command.contains("$TOKEN\" http://127.0.0.1:80/a  #") {
            written(&command);
        }
    }
}

/// The source of a recording that no reader made.
fn made(recording: &Recording) -> Written {
    let input = Input::new("made", "one line\n".repeat(100));
    let mut recording = rich::with_references(recording.clone());
    hide_secrets(&mut recording);
    let written = write_source(&recording, &input, "har");
    syn::parse_file(&written.source).unwrap_or_else(|error| panic!("{error}\n{}", written.source));
    written
}

#[test]
fn all_of_a_recording_is_in_its_source() {
    for (name, recording) in rich::all() {
        let written = made(&recording);
        assert!(!written.source.contains("canary"), "{}", written.source);
        assert!(!written.source.contains("ltm"), "{}", written.source);
        insta::assert_snapshot!(name, format_source(written.source));
    }
}

#[test]
fn no_secret_is_in_a_source() {
    const CANARY: &str = "c4n4ry55value";
    let sent = |target: &str, ty: &str, body: &str| {
        let mut exchange = rich::exchange("POST", target, 200);
        exchange.headers.push(rich::header("content-type", ty));
        exchange.body = Body::Text(body.replace("CANARY", CANARY).into());
        exchange
    };
    let json = "application/json";
    let found = |exchange: Exchange| {
        let recording = Recording {
            exchanges: vec![exchange],
            ..Recording::default()
        };
        made(&recording).source.contains(CANARY)
    };
    for body in [
        r#"{"password":"CANARY"}"#,
        r#"{"loginPw":"CANARY"}"#,
        r#"[{"name":"pin","value":"CANARY"}]"#,
        r#"{"payload":"{\"token\":\"CANARY\"}"}"#,
        r#"{"auth":{"kind":"basic","login":["CANARY"]}}"#,
        r#"{"next":"http://h/?token=CANARY"}"#,
    ] {
        assert!(!found(sent("/a", json, body)), "{body}");
    }
    assert!(!found(sent(
        "/a",
        "text/xml",
        "<a><x:Password>CANARY</x:Password></a>"
    )));
    assert!(!found(sent(
        "/a",
        "application/x-www-form-urlencoded",
        "a=1&otp=CANARY"
    )));
    for target in [
        "/reset/CANARY",
        "/token/CANARY/x",
        "/a?sig=CANARY",
        "/a?next=http%3A%2F%2Fx%2F%3Ftoken%3DCANARY",
    ] {
        let exchange = rich::exchange("GET", &target.replace("CANARY", CANARY), 200);
        assert!(!found(exchange), "{target}");
    }
    for name in ["x-session", "ocp-apim-subscription-key", "cookie"] {
        let mut exchange = rich::exchange("GET", "/a", 200);
        exchange.headers.push(rich::header(name, CANARY));
        assert!(!found(exchange), "{name}");
    }
    // What is secret in one place is so everywhere, also before it.
    let mut echo = sent("/echo?x=CANARY", json, r#"{"note":"it is CANARY"}"#);
    echo.target = echo
        .target
        .map_literals(|text| text.replace("CANARY", CANARY));
    let recording = Recording {
        exchanges: vec![echo, sent("/a", json, r#"{"password":"CANARY"}"#)],
        ..Recording::default()
    };
    let written = made(&recording);
    assert!(!written.source.contains(CANARY), "{}", written.source);
    assert!(
        written
            .source
            .contains(r#"post = "/echo?x={{secret.PASSWORD}}""#)
    );
    assert_eq!(written.secrets.len(), 1);
}

#[test]
fn a_secret_is_one_wherever_and_however_it_is_written() {
    const RANDOM: &str = "q7Rb2xVn9KzLm4Tp8Ws1Yd6Gh3Jc5Fa0";
    let hex = "3f9a1c527b0e4d2a9c418e6f5a1b2c3d";
    let other = "b71e0d94c3a25f6890de4b7a1c3f5826";
    let text = format!(
        "curl http://h/a -H 'X-Device: {RANDOM}' -H 'etag-of: {other}' -H 'X-Request-Id: {hex}' -H 'If-Match: \"{hex}\"';
         curl 'http://h/b?code=tiny-1&state=x&page=2' -d 'password=s%2Fp+a-long&n=1';
         curl http://h/c -H 'Content-Type: application/json' -d '{{\"pin\":4711,\"note\":\"a {RANDOM} b\"}}';
         curl http://h/d -H 'X-Encoded: to s%2Fp%20a-long' -H 'X-Basic: YWRhOnE3UmIyeFZuOUt6TG00VHA4V3MxWWQ2R2gzSmM1RmEw';
         curl http://h/e -d 'code=SUMMER2024&key=name&client_id=7Qx2bV9mTz4KpL8wRn3Yd6Gh&v=1.2.3';
         curl http://h/f -H 'Content-Type: application/json' -d '{{\"max_tokens\":1024,\"s\":\"{RANDOM}\"}}'"
    );
    let written = written(&text);
    let source = &written.source;
    for part in [
        "(\"x-device\", \"{{secret.X_DEVICE}}\")",
        "/b?code={{secret.AUTH_CODE}}&state=x&page=2",
        "{{secret.PIN}}",
        "\"max_tokens\": 1024",
        "{{secret.X_BASIC}}",
        "\"code\": \"SUMMER2024\"",
        "\"key\": \"name\"",
        "\"client_id\": \"7Qx2bV9mTz4KpL8wRn3Yd6Gh\"",
        "\"v\": \"1.2.3\"",
    ] {
        assert!(source.contains(part), "{part}: {source}");
    }
    for part in [RANDOM, "tiny-1", "4711", "s/p a", "s%2Fp", "YWRhO"] {
        assert!(!source.contains(part), "{part}: {source}");
    }
    // The traces of a request are as random, and no secret.
    assert!(
        source.contains(&format!("\"x-request-id\", \"{hex}\"")),
        "{source}"
    );
    assert!(
        source.contains(&format!("\"if-match\", \"\\\"{hex}")),
        "{source}"
    );
    assert!(
        !source.contains(&format!("\"etag-of\", \"{other}")),
        "{source}"
    );
}

#[test]
fn a_secret_with_quotes_is_hidden_in_json_and_its_place_escapes_it() {
    let written = written(
        r#"curl http://h/a -H 'content-type: application/json' -d '{"password":"say \"canary-1\""}' ;
           curl http://h/b -H 'content-type: application/json' -d '{"note":"he say \"canary-1\"!","n":1}' ;
           curl http://h/c -H 'content-type: text/plain' -d 'he say \"canary-1\"'"#,
    );
    let source = &written.source;
    assert!(!source.contains("canary"), "{source}");
    let note = r#""note": "he {{secret.PASSWORD}}!""#;
    assert!(source.contains(note), "{source}");
}

#[test]
fn a_uuid_is_drawn_for_each_place() {
    let mut declared = rich::exchange("GET", "/orders/", 200);
    declared.target.push(Piece::Run(RunValue::Uuid));
    let mut written = rich::exchange("PROPFIND", "/files/", 200);
    written.target.push(Piece::Run(RunValue::Uuid));
    written.body = Body::Text(Text::from_iter([Piece::Run(RunValue::Uuid)]));
    let recording = Recording {
        exchanges: vec![declared, written],
        ..Recording::default()
    };
    let source = made(&recording).source;
    for part in ["\"/orders/{{vu.uuid}}\"", "(vu: &mut Vu) -> Request"] {
        assert!(source.contains(part), "{part}: {source}");
    }
    assert_eq!(source.matches("vu.uuid()").count(), 2, "{source}");
}
