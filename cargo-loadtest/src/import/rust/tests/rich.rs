//! Recordings with all that one can have.

use crate::import::marked::{
    Answer, Body, Client, Confidence, Credentials, Dropped, Exchange, Group, Header, Key, Origin,
    Part, Recording, Reference, Secret,
};
use crate::import::source::Note;
use std::time::Duration;

const ORIGIN: &str = "http://127.0.0.1:8080";

pub(super) fn exchange(method: &str, target: &str, status: u16) -> Exchange {
    Exchange {
        method: method.to_owned(),
        origin: ORIGIN.to_owned(),
        target: target.to_owned(),
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
    exchange.body = Body::Bytes(body.as_bytes().to_vec());
    exchange
}

pub(super) fn header(name: &str, value: &str) -> Header {
    Header {
        name: name.to_owned(),
        value: value.as_bytes().to_vec(),
    }
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

pub(super) fn reference(marker: &str, from: Origin, is_bare: bool) -> Reference {
    Reference {
        marker: marker.to_owned(),
        from,
        is_bare,
        confidence: Confidence::Certain,
        why: "no other answer has it".to_owned(),
    }
}

fn body(marker: &str, exchange: usize, way: &str, is_bare: bool) -> Reference {
    let from = Origin::Body {
        exchange,
        path: path(way),
    };
    reference(marker, from, is_bare)
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
        user: b"ltm5e".to_vec(),
        password: b"canary-2".to_vec(),
    });
    let note = with_body(exchange("PUT", "/note", 200), "text/plain", "found ltm1e");
    let form = with_body(
        exchange("POST", "/form", 200),
        "application/x-www-form-urlencoded",
        "user=ltm5e&a=b+c&token=ltm0e",
    );
    let mut parts = exchange("POST", "/photos", 200);
    parts.body = Body::Multipart(vec![Part {
        name: b"title".to_vec(),
        content: b"of ltm5e".to_vec(),
        ..Part::default()
    }]);
    let mut likely = body("ltm1e", 1, "/items/0/id", true);
    likely.confidence = Confidence::Likely;
    likely.why = "this value is in its answer".to_owned();
    let mut possible = body("ltm2e", 1, "/items/1/price", true);
    possible.confidence = Confidence::Possible;
    possible.why = String::new();
    let location = Origin::Header {
        exchange: 2,
        name: "Location".to_owned(),
    };
    Recording {
        exchanges: vec![login, browse, buy, order, cancel, note, form, parts],
        references: vec![
            body("ltm0e", 0, "/accessToken", false),
            likely,
            possible,
            reference("ltm3e", location, false),
            body("ltm4e", 0, "/type", false),
            body("ltm5e", 0, "/user/name", false),
            body("ltm6e", 3, "/0/id", false),
            body("ltm7e", 0, "/user/odd key", false),
            body("ltm8e", 1, "/items/0/tags", true),
            body("ltm9e", 3, "/0/lines/0/sku", false),
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
#[expect(clippy::too_many_lines, reason = "one of each kind")]
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
            name: b"title".to_vec(),
            content: b"ltm1e".to_vec(),
            headers: vec![
                b"X-Part: one".to_vec(),
                b"X-Two: 2".to_vec(),
                b"no header".to_vec(),
            ],
            ..Part::default()
        },
        Part {
            name: b"a picture with a long name".to_vec(),
            content: b"\xff\xd8\xff".to_vec(),
            file_name: Some(b"holiday picture.jpg".to_vec()),
            content_type: Some("image/jpeg".to_owned()),
            ..Part::default()
        },
        Part {
            name: b"count".to_vec(),
            content: b"ltm2e".to_vec(),
            ..Part::default()
        },
        Part {
            name: b"password".to_vec(),
            content: b"canary-5".to_vec(),
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
        user: b"a:b".to_vec(),
        password: b"ltm1e".to_vec(),
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
            reference("ltm0e", between, false),
            body("ltm1e", 1, "/token", false),
            body("ltm2e", 2, "/hits/1/id", false),
            body("ltm3e", 1, "/user/id", true),
            reference("ltm4e", location, false),
            body("ltm5e", 2, "/user", false),
            body("ltm6e", 2, "/n", true),
            body("ltm7e", 2, "/hits/0/email", false),
            body("ltm8e", 1, "/ids", true),
            body("ltm9e", 2, "/mixed/1", false),
        ],
        secrets: vec![Secret {
            name: "UNUSED".to_owned(),
            what: "a variable of the collection".to_owned(),
            value: "lts0e".to_owned(),
        }],
        ..Recording::default()
    }
}

/// Several scenarios, which share their login.
pub(super) fn groups() -> Recording {
    let in_group = |mut exchange: Exchange, group: &str| {
        exchange.group = Some(group.to_owned());
        exchange
    };
    let mut login = in_group(exchange("POST", "/login", 200), "Accounts");
    login.answer = answer(r#"{"token":"t"}"#);
    let mut create = in_group(exchange("POST", "/pets", 201), "Pets");
    create.headers = vec![header("Authorization", "Bearer ltm0e")];
    create.answer = Some(Answer {
        status: 201,
        body: br#"{"petId":1}"#.to_vec(),
        is_example: true,
        ..Answer::default()
    });
    let show = in_group(exchange("GET", "/pets/ltm1e", 200), "Pets");
    // Needs one that comes later, and one that needs it: that cannot be.
    let mut feed = in_group(exchange("POST", "/feed/ltm1e/ltm2e", 200), "Feeding");
    feed.name = Some("Feed".to_owned());
    let circle = in_group(exchange("GET", "/circle/ltm3e", 200), "Feeding");
    let alone = exchange("GET", "/health", 200);
    Recording {
        exchanges: vec![show, create, login, feed, circle, alone],
        references: vec![
            body("ltm0e", 2, "/token", false),
            body("ltm1e", 1, "/petId", false),
            body("ltm2e", 4, "/id", false),
            body("ltm3e", 3, "/id", false),
        ],
        groups: ["Accounts", "Pets", "Feeding", "Empty", "Pets"]
            .map(|name| Group {
                name: name.to_owned(),
                description: Some(format!("All about {name}.")),
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
        name: EVIL.as_bytes().to_vec(),
        file_name: Some(EVIL.as_bytes().to_vec()),
        content: EVIL.as_bytes().to_vec(),
        content_type: Some("text/plain".to_owned()),
        headers: vec![EVIL.as_bytes().to_vec(), b"a: \"b\" \\".to_vec()],
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
        .enumerate()
        .map(|(at, key)| {
            let mut path = vec![Key::Field((*key).to_owned())];
            match *key {
                "é 订" => path.push(Key::Field("0".to_owned())),
                "deep" => {
                    path.extend([Key::Item(0), Key::Item(0), Key::Field("it's".to_owned())]);
                }
                _ => {}
            }
            let from = Origin::Body { exchange: 0, path };
            let mut reference =
                reference(&format!("ltm{at}e"), from, *key == "fn" || *key == "é 订");
            reference.confidence = Confidence::Possible;
            reference.why = EVIL.to_owned();
            reference
        })
        .collect();
    references.push(reference("ltm10e", between, false));
    Recording {
        exchanges: vec![login, page, parts, values],
        references,
        name: Some(EVIL.to_owned()),
        description: Some(EVIL.to_owned()),
        notes: vec![Note::new(0..1, EVIL), Note::new(100..110, EVIL)],
        dropped: vec![dropped(EVIL)],
        secrets: vec![Secret {
            name: "NAME".to_owned(),
            what: EVIL.to_owned(),
            value: "lts0e".to_owned(),
        }],
        ..Recording::default()
    }
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
