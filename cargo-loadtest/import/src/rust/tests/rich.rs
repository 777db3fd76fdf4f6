//! Recordings with all that one can have.

use crate::recording::{
    Answer, Body, Client, Confidence, Credentials, Dropped, Exchange, Group, Header, Key, Origin,
    Part, Piece, Recording, Reference, Secret, Text,
};
use crate::source::Note;
use std::time::Duration;

const ORIGIN: &str = "http://127.0.0.1:8080";

pub(super) fn exchange(method: &str, target: &str, status: u16) -> Exchange {
    Exchange {
        method: method.to_owned(),
        origin: ORIGIN.to_owned(),
        target: target.into(),
        expect: vec![status],
        span: 100..110,
        ..Exchange::default()
    }
}

fn json(method: &str, target: &str, status: u16, body: &str) -> Exchange {
    with_body(exchange(method, target, status), "application/json", body)
}

fn with_body(mut exchange: Exchange, content_type: &str, body: &str) -> Exchange {
    exchange.headers.push(header("Content-Type", content_type));
    exchange.body = Body::Text(body.into());
    exchange
}

pub(super) fn header(name: &str, value: &str) -> Header {
    Header::new(name, value)
}

#[expect(clippy::unnecessary_wraps, reason = "as the model has it")]
fn answer(body: &str) -> Option<Answer> {
    Some(Answer {
        status: 200,
        headers: Vec::new(),
        body: body.as_bytes().to_vec(),
        is_example: false,
    })
}

fn path(text: &str) -> Vec<Key> {
    let keys = text.split('/').filter(|key| !key.is_empty());
    keys.map(|key| match key.parse() {
        Ok(at) => Key::Item(at),
        Err(_) => Key::Field(key.to_owned()),
    })
    .collect()
}

pub(super) fn reference(from: Origin, is_bare: bool) -> Reference {
    Reference {
        from,
        is_bare,
        confidence: Confidence::Certain,
        why: "no other answer has it".to_owned(),
    }
}

fn body(exchange: usize, way: &str, is_bare: bool) -> Reference {
    let from = Origin::Body {
        exchange,
        path: path(way),
    };
    reference(from, is_bare)
}

/// A shop, recorded: steps that are declared, with values of earlier answers in all places.
pub(super) fn shop() -> Recording {
    let mut login = json(
        "POST",
        "/api/login",
        200,
        r#"{"user":"ada","password":"canary-1"}"#,
    );
    login.think = Some(Duration::from_millis(1500));
    login.answer = answer(
        r#"{"accessToken":"t0","expiresIn":3600,"type":"bearer","user":{"id":7,"name":"Ada","odd key":"x"}}"#,
    );
    let mut browse = exchange("GET", "/products?page=1&by=ltm7e", 200);
    browse.headers = vec![
        header("Authorization", "Bearer ltm0e"),
        header("x-kind", "a ltm4e"),
    ];
    browse.description = Some("All products,\r\na page of them.\n\n* sorted\n* filtered\n\n*/ not code\u{202e}\nfn main() {}".to_owned());
    browse.answer = answer(
        r#"{"items":[{"id":1,"price":2.5,"tags":["a"]},{"id":2,"price":3,"note":"n"}],"page":1,"next":null}"#,
    );
    let mut buy = json(
        "POST",
        "/orders",
        201,
        r#"{"product":"ltm1e","quantity":2,"price":"ltm2e","tags":"ltm8e","for":"of ltm5e","text":"ltm1e"}"#,
    );
    buy.headers.push(header("Authorization", "Bearer ltm0e"));
    buy.name = Some("Place the order".to_owned());
    buy.answer = answer("");
    let mut order = exchange("GET", "ltm3e", 200);
    order.name = Some("订单".to_owned());
    order.answer = answer(r#"[{"id":"o-1","lines":[{"sku":"s"}]}]"#);
    let mut cancel = exchange("DELETE", "/orders/ltm6e/lines?sku=ltm9e", 204);
    cancel.expect = vec![204, 200, 204];
    cancel.pattern = Some("/orders/{id}/lines".to_owned());
    cancel.credentials = Some(Credentials {
        user: "ltm5e".into(),
        password: "canary-2".into(),
    });
    let note = with_body(exchange("PUT", "/note", 200), "text/plain", "found ltm1e");
    let form = with_body(
        exchange("POST", "/form", 200),
        "application/x-www-form-urlencoded",
        "user=ltm5e&a=b+c&token=ltm0e",
    );
    let mut parts = exchange("POST", "/photos", 200);
    parts.body = Body::Multipart(vec![Part {
        name: "title".into(),
        content: "of ltm5e".into(),
        ..Part::default()
    }]);
    let mut likely = body(1, "/items/0/id", true);
    likely.confidence = Confidence::Likely;
    likely.why = "this value is in its answer".to_owned();
    let mut possible = body(1, "/items/1/price", true);
    possible.confidence = Confidence::Possible;
    possible.why = String::new();
    let location = Origin::Header {
        exchange: 2,
        name: "Location".to_owned(),
    };
    Recording {
        exchanges: vec![login, browse, buy, order, cancel, note, form, parts],
        references: vec![
            body(0, "/accessToken", false),
            likely,
            possible,
            reference(location, false),
            body(0, "/type", false),
            body(0, "/user/name", false),
            body(3, "/0/id", false),
            body(0, "/user/odd key", false),
            body(1, "/items/0/tags", true),
            body(3, "/0/lines/0/sku", false),
        ],
        name: Some("A visit to the shop".to_owned()),
        description: Some("As a customer does it.".to_owned()),
        client: Client {
            keeps_cookies: true,
            ..Client::default()
        },
        dropped: vec![
            dropped("static files"),
            dropped("third parties"),
            dropped("static files"),
        ],
        notes: vec![Note::new(0..1, "something is not done")],
        ..Recording::default()
    }
}

fn dropped(why: &str) -> Dropped {
    Dropped {
        span: 0..1,
        what: "GET /x".to_owned(),
        why: why.to_owned(),
    }
}

/// What no attribute can say: functions.
pub(super) fn built() -> Recording {
    let mut page = exchange("GET", "/login", 200);
    page.answer = answer("<input name=\"csrf\" value=\"c0\">");
    let mut login = with_body(
        exchange("POST", "/login?t=ltm0e", 303),
        "application/x-www-form-urlencoded",
        "user=ada&password=canary-1&csrf=ltm0e&both=a-ltm0e",
    );
    login.timeout = Some(Duration::from_secs(90));
    login.answer = answer(r#"{"token":"t","user":{"id":7},"ids":[1],"odd":{"a b":"x"}}"#);
    let mut search = exchange("GET", "/search", 200);
    search.answer =
        answer(r#"{"n":5,"user":"u","hits":[{"id":1,"email":"a@b"},{"id":2}],"mixed":[1,"x"]}"#);
    search.redirects = 2;
    let mut upload = exchange("POST", "/upload/ltm1e/of/ltm0e?pin_token=canary-2", 200);
    upload.headers = vec![
        header("Authorization", "Bearer ltm1e"),
        header("Authorization", "Bearer canary-3"),
        header("X-Trace", "a-ltm7e"),
        header("X-Name", "é"),
        header("X-Bad\n", "left out"),
        header("X-Location", "ltm4e"),
        header("Cookie", "sid=canary-4-abcdef; t=ltm1e"),
        header(
            "Content-Type",
            "multipart/form-data; boundary=------------------------loadtest8Zq4vC1xWm",
        ),
    ];
    upload.body = Body::Multipart(vec![
        Part {
            name: "title".into(),
            content: "ltm1e".into(),
            ..Part::default()
        },
        Part {
            name: "a picture with a long name".into(),
            content: Text::from_bytes(b"\xff\xd8\xff"),
            file_name: Some("holiday picture.jpg".into()),
            content_type: Some("image/jpeg".to_owned()),
        },
        Part {
            name: "count".into(),
            content: "ltm2e".into(),
            ..Part::default()
        },
        Part {
            name: "password".into(),
            content: "canary-5".into(),
            ..Part::default()
        },
    ]);
    let mut body_of_json = json(
        "PROPFIND",
        "/orders/ltm2e",
        207,
        r#"{"{{secret.X}}":1,"id":"ltm2e","token":"ltm1e","text":"say ltm1e","user":"ltm3e","list":"ltm8e","mixed":"ltm9e"}"#,
    );
    body_of_json.credentials = Some(Credentials {
        user: "a:b".into(),
        password: "ltm1e".into(),
    });
    let mut row = exchange("GET", "/a|b?user=ltm5e&n=ltm6e", 200);
    row.headers = vec![header("x-email", "ltm7e")];
    let template = with_body(
        exchange("POST", "/t", 200),
        "text/plain",
        "{{login.response.token}} and {{secret.NAME}} {a.b} }}",
    );
    let between = Origin::Between {
        exchange: 0,
        before: "name=\"csrf\" value=\"".to_owned(),
        after: "\"".to_owned(),
    };
    let location = Origin::Header {
        exchange: 1,
        name: "X-Location".to_owned(),
    };
    Recording {
        exchanges: vec![page, login, search, upload, body_of_json, row, template],
        references: vec![
            reference(between, false),
            body(1, "/token", false),
            body(2, "/hits/1/id", false),
            body(1, "/user/id", true),
            reference(location, false),
            body(2, "/user", false),
            body(2, "/n", true),
            body(2, "/hits/0/email", false),
            body(1, "/ids", true),
            body(2, "/mixed/1", false),
        ],
        secrets: vec![Secret::variable(
            "UNUSED",
            "a variable of the collection",
            None,
        )],
        ..Recording::default()
    }
}

/// Several scenarios, which share their login.
pub(super) fn groups() -> Recording {
    let in_group = |mut exchange: Exchange, group: usize| {
        exchange.group = Some(group);
        exchange
    };
    let mut login = in_group(exchange("POST", "/login", 200), 0);
    login.answer = answer(r#"{"token":"t"}"#);
    let mut create = in_group(exchange("POST", "/pets", 201), 1);
    create.headers = vec![header("Authorization", "Bearer ltm0e")];
    create.answer = Some(Answer {
        status: 201,
        body: br#"{"petId":1}"#.to_vec(),
        is_example: true,
        ..Answer::default()
    });
    let show = in_group(exchange("GET", "/pets/ltm1e", 200), 1);
    // Needs one that comes later, and one that needs it: that cannot be.
    let mut feed = in_group(exchange("POST", "/feed/ltm1e/ltm2e", 200), 2);
    feed.name = Some("Feed".to_owned());
    let circle = in_group(exchange("GET", "/circle/ltm3e", 200), 2);
    let alone = exchange("GET", "/health", 200);
    Recording {
        exchanges: vec![show, create, login, feed, circle, alone],
        references: vec![
            body(2, "/token", false),
            body(1, "/petId", false),
            body(4, "/id", false),
            body(3, "/id", false),
        ],
        groups: ["Accounts", "Pets", "Feeding", "Empty", "Pets"]
            .map(|name| Group {
                name: name.to_owned(),
                description: Some(format!("All about {name}.")),
                ..Group::default()
            })
            .to_vec(),
        name: Some("Pet shop".to_owned()),
        description: Some("A service for pets.".to_owned()),
        base: Some("http://127.0.0.1:9090".to_owned()),
        ..Recording::default()
    }
}

/// Names and values that would be something else, if nobody took care.
pub(super) fn hostile() -> Recording {
    const EVIL: &str =
        "*/ \"}}\n{{login.response.token}} \\ {\u{202e} \r\n//! fn evil() {} #[cfg(x)] {{";
    let answered = r#"{"{{a}}":"x1","a]b":"x2","self":"x3","Self":"x4","fn":1,"":"x5","é 订":{"0":true},"\u0000\"":null,"deep":[[{"it's":"y"}]],"a_b":"1","aB":"2"}"#;
    let mut login = json("POST", "/login", 200, &format!("{{{EVIL:?}:{EVIL:?}}}"));
    login.name = Some(EVIL.to_owned());
    login.description = Some(EVIL.repeat(200));
    login.answer = answer(answered);
    let mut page = exchange(
        "GET",
        "/a{b}|c\"d\\e f#g?h={{login.response.token}}&i=%2F+",
        200,
    );
    page.headers = vec![
        header("x-a", EVIL),
        header("x-b", "{{secret.X}} }}"),
        header("x-c", "\t \u{7f}"),
        header("", "no name"),
        header("Content-Length", "7"),
        header("Authorization", "Bearer "),
    ];
    page.omitted = vec![EVIL.to_owned()];
    page.think = Some(Duration::MAX);
    page.timeout = Some(Duration::ZERO);
    page.expect = vec![0, 99, 600, 65535];
    page.redirects = 1000;
    page.answer = answer(EVIL);
    let mut parts = exchange("POST", "", 200);
    parts.body = Body::Multipart(vec![Part {
        name: EVIL.into(),
        file_name: Some(EVIL.into()),
        content: EVIL.into(),
        content_type: Some("text/plain".to_owned()),
    }]);
    let keys = [
        "{{a}}", "a]b", "self", "Self", "", "é 订", "fn", "deep", "a_b", "aB",
    ];
    let mut values = exchange(
        "POST",
        "/v?a={ltm0e}&b=ltm1e&c=ltm2e&d=ltm3e&e=ltm4e&g=ltm6e",
        200,
    );
    values = with_body(
        values,
        "application/json",
        r#"["ltm5e","ltm7e",{"x":"ltm8e","ltm9e":"é {ltm0e}"},12345678901234567890,"ltm10e"]"#,
    );
    let between = Origin::Between {
        exchange: 1,
        before: EVIL.to_owned(),
        after: EVIL.to_owned(),
    };
    let mut references: Vec<Reference> = keys
        .iter()
        .map(|key| {
            let mut path = vec![Key::Field((*key).to_owned())];
            match *key {
                "é 订" => path.push(Key::Field("0".to_owned())),
                "deep" => {
                    path.extend([Key::Item(0), Key::Item(0), Key::Field("it's".to_owned())]);
                }
                _ => {}
            }
            let from = Origin::Body { exchange: 0, path };
            let mut reference = reference(from, *key == "fn" || *key == "é 订");
            reference.confidence = Confidence::Possible;
            reference.why = EVIL.to_owned();
            reference
        })
        .collect();
    references.push(reference(between, false));
    Recording {
        exchanges: vec![login, page, parts, values],
        references,
        name: Some(EVIL.to_owned()),
        description: Some(EVIL.to_owned()),
        notes: vec![Note::new(0..1, EVIL), Note::new(100..110, EVIL)],
        dropped: vec![dropped(EVIL)],
        secrets: vec![Secret::variable("NAME", EVIL, None)],
        ..Recording::default()
    }
}

/// Puts the reference with the number 7 in the place of `ltm7e`; a bare one in JSON also in that of its quotes.
pub(super) fn with_references(mut recording: Recording) -> Recording {
    let references = &recording.references;
    for exchange in &mut recording.exchanges {
        let is_json =
            matches!(&exchange.body, Body::Text(text) if text.start().starts_with(['{', '[']));
        if let (Body::Text(text), true) = (&mut exchange.body, is_json) {
            *text = split_markers(text, |number| references[number].is_bare, references.len());
        }
        for text in exchange.texts_mut() {
            *text = split_markers(text, |_| false, references.len());
        }
    }
    recording
}

fn split_markers(text: &Text, takes_quotes: impl Fn(usize) -> bool, count: usize) -> Text {
    let split = |literal: &str| {
        let mut split = Text::default();
        let mut rest = literal;
        loop {
            let markers = (0..count).filter_map(|number| {
                let marker = format!("ltm{number}e");
                let marker = if takes_quotes(number) {
                    format!("\"{marker}\"")
                } else {
                    marker
                };
                Some((rest.find(&marker)?, marker.len(), number))
            });
            let Some((at, length, number)) = markers.min() else {
                break;
            };
            split.push_str(&rest[..at]);
            split.push(Piece::Reference(number));
            rest = &rest[at + length..];
        }
        split.push_str(rest);
        split
    };
    let mut all = Text::default();
    for piece in text.pieces() {
        match piece {
            Piece::Literal(literal) => all.append(split(literal)),
            piece => all.push(piece.clone()),
        }
    }
    all
}

/// All of them, with their names.
pub(super) fn all() -> Vec<(&'static str, Recording)> {
    vec![
        ("shop", shop()),
        ("built", built()),
        ("groups", groups()),
        ("hostile", hostile()),
    ]
}
