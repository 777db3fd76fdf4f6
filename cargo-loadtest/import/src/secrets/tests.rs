//! What is secret, and what is not.

use super::random::is_random;
use super::rules::{NameKind, is_secret_user, looks_secret};
use super::*;
use crate::hide_secrets;
use crate::recording::{Body, Exchange, Header, Recording, Text};
use base64::prelude::{BASE64_STANDARD, Engine as _};

#[test]
fn names_tell_secrets() {
    for name in [
        "pass",
        "login_pw",
        "userPwd",
        "PIN",
        "sid",
        "connect.sid",
        "cardNumber",
        "x-session",
        "SAMLResponse",
        "X-Amz-Signature",
        "ocp-apim-subscription-key",
        "access_token",
        "contraseña",
        "verification_code",
        "user[pin]",
        "api_tokens",
        "hint_token",
    ] {
        assert!(is_secret_name(name), "{name}");
    }
    for name in [
        "passenger",
        "compass",
        "pinned",
        "author",
        "key",
        "code",
        "sort_key",
        "design",
        "side",
        "spin",
        "signal",
        "AddressSid",
        "password_hint",
        "password-reset-url",
        "tokenType",
        "max_tokens",
        "maxOutputTokens",
    ] {
        assert!(!is_secret_name(name), "{name}");
    }
}

#[test]
fn values_tell_secrets() {
    assert!(looks_secret("sk_live_4eC39HqLyjWDarjtT1zdp7dc"));
    assert!(looks_secret(
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
    ));
    assert!(!looks_secret("sk_live_"));
    assert!(!looks_secret("eyJ and so on, a text. And. More of it."));
    assert!(has_secret(
        "<e><wsse:Password Type=\"x\">abc</wsse:Password></e>"
    ));
    assert!(!has_secret("<e><password/><b>abc</b></e>"));
    assert!(!has_secret("a < b and c > d"));
    assert!(has_secret(r#"{"max_tokens": 1024, "token": "abc"}"#));
}

#[test]
fn random_values_have_letters_and_digits_that_alternate() {
    for (value, is_secret) in [
        ("q7Rb2xVn9KzLm4Tp8Ws1", true),
        ("3f9a1c527b0e4d2a9c418e6f5a1b2c3d", true),
        ("getProductsOfTheCategory", false),
        ("summer-sale-of-2024-in-the-north", false),
        ("2024-11-22T10:11:54.123Z", false),
        ("main.3f9a1c527b0e4d2a9c41.js", false),
        ("00000000000000000000000000", false),
    ] {
        assert_eq!(is_random(value, NameKind::Plain), is_secret, "{value}");
    }
}

#[test]
fn a_name_says_how_random_its_value_has_to_be() {
    const SHORT: &str = "7Qx2bV9mTz4K";
    const UUID: &str = "3f9a1c52-7b0e-4d2a-9c41-8e6f5a1b2c3d";
    for (name, value, is) in [
        ("key", SHORT, true),
        ("x-site-key", SHORT, true),
        ("sort_key", "createdAt", false),
        ("code", SHORT, true),
        ("code", "SUMMER2024", false),
        ("state", SHORT, true),
        ("nonce", SHORT, true),
        ("hash", SHORT, true),
        ("v", SHORT, false),
        ("id", SHORT, false),
        ("key", UUID, true),
        ("id", UUID, false),
        // Long, and of pairs that surprise, but of one pair alone.
        ("v", "k7k7k7k7k7k7k7k7k7k7k7k7k7", false),
        ("v", UUID, false),
        ("client_id", "7Qx2bV9mTz4KpL8wRn3Yd6Gh", false),
        ("pw", "a", true),
        ("SAMLRequest", "fZJNT", true),
        ("otp", "123456", true),
        ("off_session", "true", false),
        ("session", "truely", true),
    ] {
        assert_eq!(is_secret_value(name, value), is, "{name}={value}");
    }
    assert!(is_callback(&["code", "state"]) && !is_callback(&["code", "page"]));
    assert!(is_secret_number("pin", "4711") && !is_secret_number("max_tokens", "1024"));
}

#[test]
fn a_user_name_may_be_a_key() {
    for (user, password, is) in [
        ("sk_live_51Hq8ZbKx2mNvPq7RtYw3EuIo", "", true),
        ("q7Rb2xVn9KzLm4Tp8Ws1", "x-oauth-basic", true),
        ("a-name-as-long-as-a-key", "", true),
        ("a-name-as-long-as-a-key", "hunter2", false),
        ("ada.lovelace@example.com", "", false),
        ("ada", "", false),
    ] {
        assert_eq!(is_secret_user(user, password), is, "{user}:{password}");
    }
}

#[test]
fn secret_parts_of_a_text_are_found() {
    for (text, parts) in [
        ("password: xyz", vec!["xyz"]),
        ("use token = abc, then go", vec!["abc"]),
        ("The password is `hunter2`.", vec!["hunter2"]),
        ("The password is required.", vec![]),
        ("see https://ada:canary@h/a?page=2", vec!["canary"]),
        (
            "see https://sk_live_51Hq8ZbKx2mNvPq7RtYw3EuIo:@h/a",
            vec!["sk_live_51Hq8ZbKx2mNvPq7RtYw3EuIo"],
        ),
        ("see https://h/a?token=canary&page=2#x", vec!["canary"]),
        ("https://h/reset/7Qx2bV9mTz4K/now", vec!["7Qx2bV9mTz4K"]),
        (
            r#"{"pin":"1 2","n":1,"password":"a\"b"}"#,
            vec!["1 2", r#"a\"b"#],
        ),
        (r#"{\"password\":\"p\",\"id\":1}"#, vec!["p"]),
        ("<a><w:Password x='1'> abc </w:Password></a>", vec!["abc"]),
        (
            "Authorization: Bearer canary-token-1",
            vec!["Bearer canary-token-1"],
        ),
        ("send Bearer 7Qx2bV9mTz4K in it", vec!["7Qx2bV9mTz4K"]),
        ("with Basic authentication and a Bearer token", vec![]),
        (
            "a q7Rb2xVn9KzLm4Tp8Ws1Yd in a text.",
            vec!["q7Rb2xVn9KzLm4Tp8Ws1Yd"],
        ),
        ("etag=3f9a1c527b0e4d2a9c418e6f5a1b2c3d", vec![]),
        ("token={{token}} and password: <yours>", vec![]),
        ("a < b > c, 'd' : \"e\", f=g=h=i", vec![]),
        ("sent at 2024-11-22T10:11:54.123Z from 10.0.0.1", vec![]),
    ] {
        let found = find_secrets(text)
            .into_iter()
            .map(|found| &text[found.span]);
        assert_eq!(found.collect::<Vec<_>>(), parts, "{text}");
    }
}

#[test]
fn a_document_in_base64_is_no_path_of_secrets() {
    let mut state = 1_u64;
    let mut draw = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        u8::try_from(state >> 56).unwrap()
    };
    let picture: Vec<u8> = (0..9000).map(|_| draw()).collect();
    let picture = format!("/9j/{}", BASE64_STANDARD.encode(picture));
    for text in [
        picture.clone(),
        format!("photo={picture}&title=Tea"),
        format!("{{\"photo\":\"{picture}\"}}"),
    ] {
        assert_eq!(find_secrets(&text), []);
    }
    let text = format!("photo={picture}&pin=8391");
    assert_eq!(find_secrets(&text).len(), 1);
}

#[test]
fn a_text_for_people_has_none_of_the_known_values() {
    let known = [
        "s p/a\"c-long".to_owned(),
        "tiny-1".to_owned(),
        "hello".to_owned(),
    ];
    for (text, shown) in [
        ("is s p/a\"c-long it", "is [redacted] it"),
        ("is s%20p%2Fa%22c-long it", "is [redacted] it"),
        ("is s+p%2Fa%22c-long it", "is [redacted] it"),
        (r#"is s p/a\"c-long it"#, "is [redacted] it"),
        // `ada:s p/a"c-long`
        ("is YWRhOnMgcC9hImMtbG9uZw== it", "is [redacted] it"),
        ("tiny-1 and tiny-12, hello", "[redacted] and tiny-12, hello"),
        (
            "the file `token=hunter2` of the field `f`",
            "the file `token=[redacted]` of the field `f`",
        ),
        ("$session = Correct-Horse x", "$session = [redacted] x"),
        ("session = New-Object x", "session = [redacted] x"),
    ] {
        assert_eq!(HiddenValues::new(&known).redact(text, find_secrets), shown);
    }
}

#[test]
fn a_secret_that_is_a_word_replaces_no_name() {
    let hide = |password: &str| {
        let exchange = |target: &str, content_type: &str, body: &str| Exchange {
            method: "POST".to_owned(),
            target: target.replace("PW", password).as_str().into(),
            headers: vec![Header::new("content-type", content_type)],
            body: Body::Text(body.replace("PW", password).as_str().into()),
            ..Exchange::default()
        };
        let mut recording = Recording {
            exchanges: vec![
                exchange(
                    "/login",
                    "application/x-www-form-urlencoded",
                    "user=ada&PW=PW&PW_again=PW&user%5BPW%5D=PW",
                ),
                exchange(
                    "/PW/reset?PW=PW&PW",
                    "application/json",
                    r#"{"PW": "PW", "PW_2":["PW"], "q": "login(PW: \"PW\")"}"#,
                ),
                exchange("/xml", "text/xml", "<a><PW x='PW'>PW</PW><PW/></a>"),
            ],
            ..Recording::default()
        };
        recording.exchanges[0].pattern = Some(format!("/{password}/reset"));
        hide_secrets(&mut recording);
        let shown = |text: &Text| text.shown(|_| "<>".to_owned());
        let all = recording.exchanges.iter().flat_map(|exchange| {
            let Body::Text(body) = &exchange.body else {
                panic!("{exchange:?}");
            };
            [shown(&exchange.target), shown(body)]
        });
        let all: Vec<String> = all.collect();
        (all, recording.exchanges[0].pattern.clone())
    };
    let (shown, pattern) = hide("password");
    assert_eq!(
        shown,
        [
            "/login",
            "user=ada&password=<>&password_again=<>&user%5Bpassword%5D=<>",
            "/password/reset?password=<>&password",
            r#"{"password": "<>", "password_2":["<>"], "q": "login(password: \"<>\")"}"#,
            "/xml",
            "<a><password x='<>'><></password><password/></a>",
        ]
    );
    assert_eq!(pattern.as_deref(), Some("/password/reset"));
}

#[test]
fn code_keeps_its_expressions_and_loses_the_secrets_in_its_strings() {
    for (code, shown) in [
        (
            "const token = http.post(url, body).json('token')",
            "const token = http.post(url, body).json('token')",
        ),
        ("token = data.token;", "token = data.token;"),
        (
            "headers: { Authorization: `Bearer ${token}` }",
            "headers: { Authorization: `Bearer ${token}` }",
        ),
        ("const pin = 'tea-time'", "const pin = '[redacted]'"),
        (
            "{\"password\": \"tea-time\"}",
            "{\"password\": \"[redacted]\"}",
        ),
        ("f(q7Rb2xVn9KzLm4Tp8Ws1)", "f([redacted])"),
    ] {
        assert_eq!(
            HiddenValues::new(&[]).redact(code, find_secret_literals),
            shown
        );
    }
}

#[test]
fn any_text_is_searched_in_time() {
    // Where each sign were a reason to look through the rest, these would take hours.
    for unit in [
        "a=", "<", "a=\"", "a=\\\"b", "://", "a='b=\"", "Bearer a", "a: /", "<a b", "a is ",
    ] {
        let text = unit.repeat(20_000 / unit.len());
        let _ = find_secrets(&text);
        let _ = HiddenValues::new(&["canary-of-a-test".to_owned()]).redact(&text, find_secrets);
    }
}

proptest::proptest! {
    #[test]
    fn the_parts_of_any_text_are_in_order(text in "(token|=|\\PC| |&|\"|<|>|/|://|@|:|\\\\|pin|Bearer |é){0,40}") {
        let mut end = 0;
        for found in find_secrets(&text) {
            assert!(end <= found.span.start && found.span.start < found.span.end);
            assert!(text.get(found.span.clone()).is_some());
            end = found.span.end;
        }
        let _ = HiddenValues::new(&[]).redact(&text, find_secrets);
    }
}

#[test]
fn variables_are_named_as_in_an_environment() {
    for (name, named) in [
        ("apiKey", "API_KEY"),
        ("x-api-key 2", "X_API_KEY_2"),
        ("path", "API_PATH"),
        ("cargo_home", "API_CARGO_HOME"),
        ("2fa", "SECRET_2FA"),
        ("é", "SECRET"),
    ] {
        assert_eq!(variable(name, "SECRET"), named);
    }
}

#[test]
fn values_of_descriptions_are_secrets_by_name_and_form_alone() {
    let random = "3f9a1c7be2d84056a1b2c3d4e5f60718";
    let key = "sk_live_4eC39HqLyjWDarjtT1zdp7dc";
    let hide = |is_described: bool| {
        let exchange = Exchange {
            method: "POST".to_owned(),
            target: format!("/reset/{random}?cursor_of={random}&k={key}").into(),
            headers: vec![Header::new("content-type", "application/json")],
            body: Body::Text(
                format!(r#"{{"sha_of":"{random}","text":"see {random}","password":"hunter2hhh","url":"{key}"}}"#).into(),
            ),
            description: Some(format!("Such as {random}, with token = {key}")),
            ..Exchange::default()
        };
        let mut recording = Recording {
            exchanges: vec![exchange],
            is_described,
            ..Recording::default()
        };
        hide_secrets(&mut recording);
        let exchange = &recording.exchanges[0];
        let Body::Text(body) = &exchange.body else {
            panic!("{exchange:?}");
        };
        let shown = |text: &Text| text.shown(|_| "<>".to_owned());
        format!(
            "{} {} {:?}",
            shown(&exchange.target),
            shown(body),
            exchange.description
        )
    };
    let shown = hide(true);
    assert_eq!(shown.matches(random).count(), 5, "{shown}");
    assert!(
        !shown.contains(key) && !shown.contains("hunter2"),
        "{shown}"
    );
    assert!(!hide(false).contains(random));
}

#[test]
fn long_values_and_content_are_not_secrets_for_their_look() {
    let random = "q7Rb2xVn9KzLm4Tp8Ws1";
    let long = random.repeat(10);
    let body = format!(
        "{{\"html\":\"{random}\",\"markdown\":\"see {random}a now\",\"draft\":\"{long}\",\"made_of\":\"{random}b\",\"image\":\"sk_live_4eC39HqLyjWDarjtT1zdp7dc\"}}"
    );
    let mut recording = Recording {
        exchanges: vec![Exchange {
            method: "POST".to_owned(),
            target: "/pages".into(),
            headers: vec![Header::new("x-app", &*format!("{long}c"))],
            body: Body::Text(body.into()),
            ..Exchange::default()
        }],
        ..Recording::default()
    };
    hide_secrets(&mut recording);
    let exchange = &recording.exchanges[0];
    let shown = |text: &Text| text.shown(|_| "<>".to_owned());
    assert_eq!(shown(&exchange.headers[0].value), "<>");
    let Body::Text(body) = &exchange.body else {
        panic!("{exchange:?}");
    };
    assert_eq!(
        shown(body),
        format!(
            "{{\"html\":\"{random}\",\"markdown\":\"see {random}a now\",\"draft\":\"{long}\",\"made_of\":\"<>\",\"image\":\"<>\"}}"
        )
    );
}
