use super::*;
use crate::recording::{
    Answer, Body, Credentials, Header, Key, Origin, PageFind, Part, Piece, Reference, Text,
};
use proptest::prelude::*;
use std::fmt::Write as _;

const OURS: &str = "http://shop.test";

/// Reads a recording of our own: `>` begins a line of a request, `<` one of its answer, an empty one the body. `=`
/// says how the line before it reads with references; `~` how somebody would have written it, where we do not.
struct Script {
    recording: Recording,
    /// For each exchange, the lines of its request.
    expected: Vec<Vec<String>>,
    missed: usize,
}

fn script(text: &str) -> Script {
    let mut script = Script {
        recording: Recording::default(),
        expected: Vec::new(),
        missed: 0,
    };
    let mut in_body = false;
    for (number, line) in text.lines().enumerate() {
        let (mark, rest) = line.split_at(line.len().min(1));
        let rest = rest.strip_prefix(' ').unwrap_or(rest);
        let exchanges = &mut script.recording.exchanges;
        let is_request = rest.split_once(' ').is_some_and(|(method, target)| {
            (target.starts_with('/') || target.starts_with("https://"))
                && method.bytes().all(|byte| byte.is_ascii_uppercase())
        });
        match mark {
            "" | "#" => in_body = false,
            ">" if is_request && !in_body => {
                let (method, target) = rest.split_once(' ').unwrap();
                let slash = target.find("://").map_or(0, |scheme| {
                    scheme + 3 + target[scheme + 3..].find('/').unwrap()
                });
                let (origin, target) = target.split_at(slash);
                let origin = if slash == 0 { OURS } else { origin };
                exchanges.push(Exchange {
                    span: number..number + 1,
                    method: method.to_owned(),
                    origin: origin.to_owned(),
                    target: Text::literal(target),
                    ..Exchange::default()
                });
                script.expected.push(vec![rest.to_owned()]);
            }
            ">" => {
                let exchange = exchanges.last_mut().unwrap();
                if in_body {
                    let mut body = body_of(exchange);
                    body.push_str(rest);
                    exchange.body = Body::Text(body);
                } else if rest.is_empty() {
                    in_body = true;
                } else {
                    exchange.headers.push(header(rest));
                }
                script.expected.last_mut().unwrap().push(rest.to_owned());
            }
            "=" => *script.expected.last_mut().unwrap().last_mut().unwrap() = rest.to_owned(),
            "~" => script.missed += rest.matches("{{").count(),
            "<" => {
                let exchange = exchanges.last_mut().unwrap();
                match &mut exchange.answer {
                    None => {
                        in_body = false;
                        let status = rest.parse().unwrap();
                        exchange.answer = Some(Answer {
                            status,
                            ..Answer::default()
                        });
                    }
                    Some(answer) if in_body => {
                        answer.body.extend_from_slice(rest.as_bytes());
                        answer.body.push(b'\n');
                    }
                    Some(_) if rest.is_empty() => in_body = true,
                    Some(answer) => answer.headers.push(header(rest)),
                }
            }
            _ => panic!("line {number}: {line}"),
        }
    }
    script
}

fn header(line: &str) -> Header {
    let (name, value) = line.split_once(": ").unwrap();
    Header::new(name, value)
}

/// Returns the body that is a text.
fn body_of(exchange: &Exchange) -> Text {
    match &exchange.body {
        Body::Text(text) => text.clone(),
        _ => Text::default(),
    }
}

/// Returns the text with references as a person would write them.
fn shown(text: &Text, references: &[Reference]) -> String {
    text.shown(|piece| match piece {
        Piece::Reference(number) => {
            format!("{{{{{}}}}}", origin(&references[*number].from, references))
        }
        piece => user_value(piece),
    })
}

fn user_value(piece: &Piece) -> String {
    match piece {
        Piece::Run(value) => format!("{{{{{}}}}}", value.path().unwrap_or_default()),
        piece => format!("{piece:?}"),
    }
}

fn origin(of: &Origin, references: &[Reference]) -> String {
    match of {
        Origin::Body { exchange, path } => format!("{exchange}.{}", path_of(path)),
        Origin::Page {
            exchange,
            row,
            find,
        } => {
            let row = row.as_ref().map(|text| {
                let known = |piece: &Piece| shown(&Text::from_iter([piece.clone()]), references);
                format!(" row {}", text.shown(known))
            });
            let page = format!("{exchange}{}", row.unwrap_or_default());
            match find {
                PageFind::Field { name, number } => format!("{page} field {name} {number}"),
                PageFind::Link { text } => format!("{page} link {}", text.shown(user_value)),
                PageFind::Option { name, text } => {
                    format!("{page} option {name} {}", text.shown(user_value))
                }
                PageFind::OptionAt { name, number } => format!("{page} option {name} {number}"),
                PageFind::Address { pattern, number } => format!("{page} {pattern} {number}"),
                PageFind::Id { pattern, number } => format!("{page} id {pattern} {number}"),
                PageFind::Data { name, number } => format!("{page} {name} {number}"),
            }
        }
        Origin::Between {
            exchange,
            before,
            after,
        } => format!("{exchange} {before}..{after}"),
        Origin::Header { exchange, name } => format!("{exchange}#{name}"),
        Origin::Part {
            exchange,
            name,
            before,
            after,
        } => format!("{exchange}#{name} {before}..{after}"),
    }
}

fn path_of(path: &[Key]) -> String {
    let keys = path.iter().map(|key| match key {
        Key::Field(name) => format!(".{name}"),
        Key::Item(number) => format!("[{number}]"),
    });
    keys.collect::<String>().trim_start_matches('.').to_owned()
}

/// Returns the lines of a request.
fn lines(exchange: &Exchange, references: &[Reference]) -> Vec<String> {
    let begins_with_path = exchange.target.start().starts_with('/') && exchange.origin != OURS;
    let origin = if begins_with_path {
        &*exchange.origin
    } else {
        ""
    };
    let target = shown(&exchange.target, references);
    let mut lines = vec![format!("{} {origin}{target}", exchange.method)];
    for header in &exchange.headers {
        let value = shown(&header.value, references);
        lines.push(format!("{}: {value}", header.name));
    }
    if exchange.body != Body::None {
        lines.push(String::new());
        lines.push(shown(&body_of(exchange), references));
    }
    lines
}

/// How many references are right, missed and wrong, and what is other than expected.
fn measured(text: &str) -> ([usize; 3], String) {
    let mut script = script(text);
    correlate(&mut script.recording);
    let (mut right, mut missed, mut wrong) = (0, script.missed, 0);
    let mut other = String::new();
    let references = &script.recording.references;
    for (exchange, expected) in script.recording.exchanges.iter().zip(&script.expected) {
        for (is, expected) in lines(exchange, references).iter().zip(expected) {
            let found = is.matches("{{").count();
            if is == expected {
                right += found;
            } else {
                missed += expected.matches("{{").count();
                wrong += found;
                let _ = writeln!(other, "  is {is}\n  not {expected}");
            }
        }
    }
    ([right, missed, wrong], other)
}

const RECORDINGS: [(&str, &str); 27] = [
    ("shop", include_str!("recordings/shop.txt")),
    ("pages", include_str!("recordings/pages.txt")),
    ("cookies", include_str!("recordings/cookies.txt")),
    ("graphql", include_str!("recordings/graphql.txt")),
    ("links", include_str!("recordings/links.txt")),
    ("echoes", include_str!("recordings/echoes.txt")),
    ("numbers", include_str!("recordings/numbers.txt")),
    ("oauth", include_str!("recordings/oauth.txt")),
    ("documents", include_str!("recordings/documents.txt")),
    ("legacy", include_str!("recordings/legacy.txt")),
    ("tickets", include_str!("recordings/tickets.txt")),
    ("payments", include_str!("recordings/payments.txt")),
    ("records", include_str!("recordings/records.txt")),
    ("front", include_str!("recordings/front.txt")),
    ("booking", include_str!("recordings/booking.txt")),
    ("identity", include_str!("recordings/identity.txt")),
    ("rails", include_str!("recordings/rails.txt")),
    ("laravel", include_str!("recordings/laravel.txt")),
    ("storefront", include_str!("recordings/storefront.txt")),
    ("hypermedia", include_str!("recordings/hypermedia.txt")),
    ("pkce", include_str!("recordings/pkce.txt")),
    ("admin", include_str!("recordings/admin.txt")),
    ("upload", include_str!("recordings/upload.txt")),
    ("pagination", include_str!("recordings/pagination.txt")),
    ("rows", include_str!("recordings/rows.txt")),
    ("items", include_str!("recordings/items.txt")),
    ("places", include_str!("recordings/places.txt")),
];

#[test]
fn realistic_recordings_get_the_references_a_person_would_write() {
    let mut all = [0; 3];
    let mut other = String::new();
    for (name, text) in RECORDINGS {
        let (counts, differences) = measured(text);
        println!("{name}: right, missed, wrong {counts:?}");
        for (all, count) in all.iter_mut().zip(counts) {
            *all += count;
        }
        if !differences.is_empty() {
            let _ = write!(other, "{name}:\n{differences}");
        }
    }
    println!("all: right, missed, wrong {all:?}");
    assert!(other.is_empty(), "{other}");
}

#[test]
fn every_reference_says_how_certain_it_is_and_never_the_value() {
    let mut script = script(include_str!("recordings/shop.txt"));
    correlate(&mut script.recording);
    let told: Vec<_> = script
        .recording
        .references
        .iter()
        .map(|reference| format!("{}: {}", reference.confidence.word(), reference.why))
        .collect();
    insta::assert_debug_snapshot!(told, @r#"
    [
        "certain: `token` of its answer is this value of 81 characters",
        "likely: `items[1].id` of its answer is this number; item 2 of 3 is taken",
        "likely: `items[1].id` of its answer is this number; item 2 of 3 is taken",
        "likely: `variants[0].sku` of its answer is this value",
        "certain: `cart.id` of its answer is this value of 14 characters",
        "likely: `id` of its answer is this number",
        "certain: `payment.id` of its answer is this value of 16 characters",
        "likely: `user.id` of its answer is this number",
    ]
    "#);
}

/// The references and notes of a recording.
fn correlated(text: &str) -> (Vec<Vec<String>>, Vec<String>) {
    let mut recording = script(text).recording;
    correlate(&mut recording);
    let lines = recording
        .exchanges
        .iter()
        .map(|exchange| lines(exchange, &recording.references));
    let notes = recording.notes.iter().map(|note| note.words.clone());
    (lines.collect(), notes.collect())
}

#[test]
fn what_is_not_certain_enough_is_noted_and_left() {
    let (lines, notes) = correlated(
        "> GET /search?q=lamp\n< 200\n<\n< {\"items\":[{\"id\":417,\"total\":129901,\"campaign\":\"summer-sale-7\"}]}\n\n\
         > POST /carts\n> content-type: application/json\n>\n> {\"product_id\":417,\"price\":129901,\"promo\":\"summer-sale-7\"}\n< 200\n",
    );
    assert_eq!(
        lines[1][3],
        "{\"product_id\":417,\"price\":129901,\"promo\":\"summer-sale-7\"}"
    );
    insta::assert_debug_snapshot!(notes, @r#"
    [
        "`product_id` in the body may be `items[0].id` of the answer to request 1 (GET /search), `price` in the body may be `items[0].total` of the answer to request 1 (GET /search); left as recorded",
    ]
    "#);
}

#[test]
fn references_of_a_reader_stay_and_no_examples_are_taken() {
    let text = "> GET /a\n< 200\n<\n< {\"id\":\"3f2504e0-4f89-11d3-9a0c-0305e82c3301\"}\n\n\
                > GET /replaced\n< 200\n";
    let mut recording = script(text).recording;
    let own = Reference {
        from: Origin::Header {
            exchange: 0,
            name: "x".to_owned(),
        },
        is_bare: false,
        confidence: Confidence::Certain,
        why: String::new(),
    };
    recording.references.push(own.clone());
    let mut target = Text::literal("/a/3f2504e0-4f89-11d3-9a0c-0305e82c3301/");
    target.push(Piece::Reference(0));
    recording.exchanges[1].target = target;
    let mut example = recording.clone();
    correlate(&mut recording);
    assert_eq!(recording.references.len(), 2);
    assert_eq!(recording.references[0], own);
    let mut target = Text::literal("/a/");
    target.push(Piece::Reference(1));
    target.push_str("/");
    target.push(Piece::Reference(0));
    assert_eq!(recording.exchanges[1].target, target);
    for exchange in &mut example.exchanges {
        exchange.answer.as_mut().unwrap().is_example = true;
    }
    let before = example.exchanges.clone();
    correlate(&mut example);
    assert_eq!(example.exchanges, before);
}

#[test]
fn a_number_takes_the_place_of_a_number_alone() {
    let text = "> GET /orders\n< 200\n<\n< {\"orders\":[{\"id\":\"8812345678901\",\"key\":9912345678901}]}\n\n\
                > POST /x\n> content-type: application/json\n>\n> {\"order_id\":8812345678901,\"order_key\":\"9912345678901\",\"a\":9912345678901}\n< 200\n\n\
                > POST /x\n> content-type: text/plain\n>\n> {\"order_key\":9912345678901}\n< 200\n";
    let (lines, _) = correlated(text);
    assert_eq!(
        lines[1][3],
        "{\"order_id\":8812345678901,\"order_key\":\"{{0.orders[0].key}}\",\"a\":{{0.orders[0].key}}}"
    );
    assert_eq!(lines[2][3], "{\"order_key\":{{0.orders[0].key}}}");
}

#[test]
fn credentials_and_parts_of_forms_are_looked_through() {
    let text = "> POST /keys\n< 201\n<\n< {\"user\":\"svc-81kd02mx\",\"password\":\"Zx81kPq0LmW2aa71\",\"upload\":\"3f2504e0-4f89-11d3-9a0c-0305e82c3301\"}\n\n\
                > POST /a\n< 200\n";
    let mut recording = script(text).recording;
    let second = &mut recording.exchanges[1];
    second.credentials = Some(Credentials {
        user: "svc-81kd02mx".into(),
        password: "Zx81kPq0LmW2aa71".into(),
    });
    second.body = Body::Multipart(vec![Part {
        name: "meta".into(),
        content: "{\"upload\":\"3f2504e0-4f89-11d3-9a0c-0305e82c3301\"}".into(),
        ..Part::default()
    }]);
    correlate(&mut recording);
    let second = &recording.exchanges[1];
    let credentials = second.credentials.as_ref().unwrap();
    let text = |text: &Text| shown(text, &recording.references);
    assert_eq!(text(&credentials.user), "{{0.user}}");
    assert_eq!(text(&credentials.password), "{{0.password}}");
    let Body::Multipart(parts) = &second.body else {
        panic!()
    };
    assert_eq!(text(&parts[0].content), "{\"upload\":\"{{0.upload}}\"}");
}

#[test]
fn a_value_is_found_in_every_spelling() {
    let text = "> GET /a\n< 200\n<\n< {\"path\":\"a/b c\\u00e9+9f8e7d6c5b4a3928\",\"token\":\"aGVsbG8+d29ybGQ/MTIzNDU2Nzg5MA==\"}\n\n\
                > POST /b?p=a%2Fb+c%C3%A9%2B9f8e7d6c5b4a3928&t=aGVsbG8%2Bd29ybGQ/MTIzNDU2Nzg5MA==\n> content-type: application/json\n>\n> {\"inner\":\"{\\\"t\\\":\\\"aGVsbG8+d29ybGQ/MTIzNDU2Nzg5MA==\\\"}\",\"u\":\"\\u0061GVsbG8+d29ybGQ\\/MTIzNDU2Nzg5MA==\"}\n< 200\n";
    let (lines, _) = correlated(text);
    // A text with a blank is no identifier, whatever it has besides.
    assert_eq!(
        lines[1][0],
        "POST /b?p=a%2Fb+c%C3%A9%2B9f8e7d6c5b4a3928&t={{0.token}}"
    );
    assert_eq!(
        lines[1][3],
        "{\"inner\":\"{\\\"t\\\":\\\"{{0.token}}\\\"}\",\"u\":\"{{0.token}}\"}"
    );
}

#[test]
fn thousands_of_exchanges_take_time_in_proportion() {
    let exchange = |number: usize| {
        let items: Vec<_> = (0..40)
            .map(|item| format!("{{\"id\":\"it-{number}-{item}-9f8e7d6c5b\",\"n\":{item}}}"))
            .collect();
        let before = number.saturating_sub(7);
        format!(
            "> POST /things/it-{before}-3-9f8e7d6c5b/parts?n=7\n> content-type: application/json\n>\n> {{\"ids\":[\"it-{before}-5-9f8e7d6c5b\"],\"n\":4}}\n< 200\n<\n< {{\"things\":[{}]}}\n\n",
            items.join(",")
        )
    };
    let text: String = (0..1000).map(exchange).collect();
    let mut recording = script(&text).recording;
    correlate(&mut recording);
    // The first names what nobody has told, and so do those that name the same.
    assert_eq!(recording.references.len(), 2 * (1000 - 8));
}

#[test]
fn what_is_looked_at_grows_with_the_recording_and_no_faster() {
    let looked_at = |exchanges: usize, values: usize| {
        let list = |of: usize| {
            let items = (0..values).map(|item| format!("\"v{of}x{item}q9f8e7d6c5b\""));
            items.collect::<Vec<_>>().join(",")
        };
        let mut text = String::new();
        for number in 0..exchanges {
            let sent = list(number.saturating_sub(1));
            let _ = write!(
                text,
                "> POST /things/{number}\n> content-type: application/json\n>\n> {{\"v\":[{sent}]}}\n< 200\n<\n< {{\"v\":[{}]}}\n\n",
                list(number)
            );
        }
        let mut recording = script(&text).recording;
        let before = kind::ASKED.get();
        correlate(&mut recording);
        assert_eq!(recording.references.len(), (exchanges - 2) * values);
        kind::ASKED.get() - before
    };
    // The first request names what nobody has told, and the second the same.
    let few = looked_at(22, 20);
    for (exchanges, values) in [(42, 20), (22, 40), (82, 20), (22, 80)] {
        let times = (exchanges - 2) * values / (20 * 20);
        let many = looked_at(exchanges, values);
        assert!(
            many <= few * times * 5 / 4,
            "{few} for one, {many} for {times} times as much"
        );
    }
}

/// A request with values of an alphabet so small that they are often the same.
fn any_script() -> impl Strategy<Value = String> {
    let value = prop::sample::select(vec![
        "42",
        "7",
        "1234567",
        "true",
        "EUR",
        "a b",
        "é\"x",
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "tok/8sJ2kQpX91+LmZaV0==",
        "9b74c9897bac770ffc029102a2c5de",
        "ORD-20231",
        "/things/42/9f8e7d6c5b4a",
        "a&b=c",
    ]);
    let key = prop::sample::select(vec!["id", "token", "thing_id", "name", "next", "x"]);
    let pairs = prop::collection::vec((key, value, any::<bool>()), 1..5);
    let exchange = (0..5_usize, pairs.clone(), pairs).prop_map(|(shape, sent, answered)| {
        let json = |pairs: &[(&str, &str, bool)]| {
            let fields: Vec<_> = pairs.iter().map(|(key, value, is_number)| {
                let is_number = *is_number && value.bytes().all(|byte| byte.is_ascii_digit());
                let value = if is_number { (*value).to_owned() } else { serde_json::Value::from(*value).to_string() };
                format!("\"{key}\": {value}")
            }).collect();
            format!("{{{}}}", fields.join(" , "))
        };
        let form = |pairs: &[(&str, &str, bool)]| {
            let mut form = url::form_urlencoded::Serializer::new(String::new());
            form.extend_pairs(pairs.iter().map(|(key, value, _)| (key, value))).finish()
        };
        let segment = form(&sent[..1]).split_once('=').unwrap().1.replace('+', "%20");
        let request = match shape {
            0 => format!("> GET /things/{segment}?{}\n", form(&sent)),
            1 => format!("> POST /things\n> content-type: application/json\n>\n> {}\n", json(&sent)),
            2 => format!("> POST /things/{segment}\n> content-type: application/x-www-form-urlencoded\n>\n> {}\n", form(&sent)),
            3 => format!("> GET /things?q={}\n> authorization: Bearer {}\n", form(&[("q", &json(&sent), false)]), sent[0].1),
            _ => format!("> GET {}\n> x-id: {}\n", if sent[0].1.starts_with('/') { sent[0].1 } else { "/" }, sent[0].1),
        };
        let answer = match shape {
            0 | 1 => json(&answered),
            2 => answered.iter().map(|(key, value, _)| format!("<input type='hidden' name='{key}' value='{value}'>")).collect::<Vec<_>>().concat(),
            _ => format!("{{\"data\": [{}]}}", json(&answered)),
        };
        format!("{request}< 200\n< location: {}\n< set-cookie: c={}; Path=/\n< etag: {}\n<\n< {answer}\n\n", answered[0].1, answered[0].1.replace(';', ""), answered[0].1)
    });
    prop::collection::vec(exchange, 1..8).prop_map(|exchanges| exchanges.concat())
}

/// The value that a reference had.
fn recorded(reference: &Reference, references: &[Reference], exchanges: &[Exchange]) -> String {
    value_of(&reference.from, references, exchanges)
}

fn value_of(origin: &Origin, references: &[Reference], exchanges: &[Exchange]) -> String {
    let answer = |exchange: usize| exchanges[exchange].answer.as_ref().unwrap();
    let between = |text: &str, before: &str, after: &str| {
        let start = text.find(before)? + before.len();
        let end = if after.is_empty() {
            text.len()
        } else {
            start + text[start..].find(after)?
        };
        Some(text[start..end].to_owned())
    };
    let headers = |exchange: usize, name: &str| {
        let headers = answer(exchange)
            .headers
            .iter()
            .filter(|header| header.name == name);
        headers
            .map(|header| header.value.as_literal().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    match origin {
        Origin::Body { exchange, path } => {
            let json: serde_json::Value = serde_json::from_slice(&answer(*exchange).body).unwrap();
            in_json(&json, path)
        }
        Origin::Between {
            exchange,
            before,
            after,
        } => {
            let text = String::from_utf8(answer(*exchange).body.clone()).unwrap();
            between(&text, before, after).unwrap()
        }
        Origin::Page {
            exchange,
            row,
            find,
        } => {
            let page = loadtest::Page::new(&String::from_utf8_lossy(&answer(*exchange).body));
            let recorded_text = |text: &Text| recorded_text(text, references, exchanges);
            let page = match row {
                None => page,
                Some(text) => page.row(&recorded_text(text)).unwrap(),
            };
            let found = match find {
                PageFind::Field { name, number } => page.values(name).nth(*number),
                PageFind::Link { text } => page.link(&recorded_text(text)).ok(),
                PageFind::Option { name, text } => page.option(name, &recorded_text(text)).ok(),
                PageFind::OptionAt { name, number } => page.options(name).nth(*number),
                PageFind::Address { pattern, number } => page.addresses(pattern).nth(*number),
                PageFind::Id { pattern, number } => page.ids_in(pattern).nth(*number),
                PageFind::Data { name, number } => page.data(name).nth(*number),
            };
            found.unwrap().to_owned()
        }
        Origin::Header { exchange, name } => headers(*exchange, name)[0].clone(),
        Origin::Part {
            exchange,
            name,
            before,
            after,
        } => {
            let headers = headers(*exchange, name);
            headers
                .iter()
                .find_map(|text| between(text, before, after))
                .unwrap()
        }
    }
}

fn in_json(json: &serde_json::Value, path: &[Key]) -> String {
    let value = path.iter().fold(json, |value, key| match key {
        Key::Field(name) => &value[name],
        Key::Item(number) => &value[number],
    });
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns a text as it was before its names became unique.
fn recorded_text(text: &Text, references: &[Reference], exchanges: &[Exchange]) -> String {
    without_unique(&text.shown(|piece| match piece {
        Piece::Reference(number) => recorded(&references[*number], references, exchanges),
        piece => user_value(piece),
    }))
}

fn without_unique(text: &str) -> String {
    let unique = "{{vu.unique}}";
    text.replace(&format!("-{unique}"), "").replace(unique, "")
}

/// Returns a request with the recorded values in the place of references, decoded as its parts are read.
fn restored(exchange: &Exchange, references: &[Reference], exchanges: &[Exchange]) -> String {
    let fill = |text: &Text| {
        text.shown(|piece| match piece {
            Piece::Reference(number) => recorded(&references[*number], references, exchanges),
            piece => user_value(piece),
        })
    };
    let mut text = format!("{} {}\n", exchange.method, fill(&exchange.target));
    for header in &exchange.headers {
        let _ = writeln!(text, "{}: {}", header.name, fill(&header.value));
    }
    text.push_str(&fill(&body_of(exchange)));
    let text = without_unique(&text);
    // Spelled in one way, however deep: percent-encoding and escapes say nothing here.
    let decoded = text.replace("\\\"", "\"").replace('+', "%2B");
    let decoded = percent(&decoded);
    decoded.replace(['+', '\\'], " ")
}

fn percent(text: &str) -> String {
    let layer = layer::Layer::new(text);
    layer
        .percent_decoded(false)
        .map_or_else(|| text.to_owned(), |decoded| decoded.text.into_owned())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_recorded_values_give_back_the_recorded_requests(text in any_script()) {
        let mut recording = script(&text).recording;
        let before = recording.clone();
        correlate(&mut recording);
        for (now, then) in recording.exchanges.iter().zip(&before.exchanges) {
            prop_assert_eq!(
                restored(now, &recording.references, &before.exchanges),
                restored(then, &[], &before.exchanges)
            );
            prop_assert_eq!(&now.answer, &then.answer);
        }
        // No step needs one that comes later.
        for (number, exchange) in recording.exchanges.iter().enumerate() {
            for reference in exchange.texts().into_iter().flat_map(Text::references) {
                prop_assert!(recording.references[reference].from.exchange() < number);
            }
        }
    }
}

#[test]
fn a_number_that_was_known_as_text_alone_is_taken_from_where_it_is_one() {
    let text = "> POST /orders\n< 201\n< location: /orders/1007\n\n> GET /orders/1007\n< 200\n<\n< {\"id\":1007}\n\n\
                > POST /payments\n> content-type: application/json\n>\n> {\"order_id\":1007,\"note\":\"1007\"}\n< 200\n";
    let (lines, _) = correlated(text);
    assert_eq!(lines[1][0], "GET {{0#location}}");
    assert_eq!(lines[2][3], "{\"order_id\":{{1.id}},\"note\":\"1007\"}");
}
