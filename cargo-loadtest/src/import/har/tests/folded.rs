//! Several requests that become one, and what is between them.

use super::super::super::marked::Origin;
use super::*;

#[test]
fn cookies_of_answers_come_back_by_themselves() {
    let sets = |at, cookie: &str| {
        with(
            entry(at, "POST", "http://h/login", 200),
            &[("response.headers.set-cookie", json!(cookie))],
        )
    };
    let asks = |at, cookie: &str| {
        with(
            entry(at, "GET", "http://h/me", 200),
            &[("request.headers.cookie", json!(cookie))],
        )
    };
    let cookie = |entries: &[Value]| {
        let recording = recording(entries);
        let cookie = recording.exchanges.last().unwrap().header("cookie");
        let cookie = cookie.map(|cookie| String::from_utf8(cookie.to_vec()).unwrap());
        (cookie, notes(&recording))
    };
    assert_eq!(
        cookie(&[sets(0, "sid=1; Path=/"), asks(9, "sid=1")]),
        (None, String::new())
    );
    assert_eq!(
        cookie(&[asks(9, "sid=1; _ga=x")]),
        (Some("sid=1".to_owned()), String::new())
    );
    // Of another host.
    let elsewhere = with(
        sets(0, "sid=1"),
        &[("request.url", json!("http://other.h.example/"))],
    );
    let asks_h = with(
        asks(9, "sid=1"),
        &[("request.url", json!("http://h.example/"))],
    );
    assert_eq!(
        cookie(&[elsewhere, asks_h.clone()]).0.as_deref(),
        Some("sid=1")
    );
    let shared = with(
        sets(0, "sid=1; Domain=.h.example"),
        &[("request.url", json!("http://other.h.example/"))],
    );
    assert_eq!(cookie(&[shared, asks_h]).0, None);
    // Of both kinds: those of answers come by themselves, the others are sent with them.
    let both = cookie(&[sets(0, "sid=1"), asks(9, "sid=1; theme=dark; a=b")]);
    assert_eq!(both, (Some("theme=dark; a=b".to_owned()), String::new()));
    // Of an answer that is left out.
    let script = with(
        sets(0, "sid=1"),
        &[
            ("request.method", json!("GET")),
            ("_resourceType", json!("script")),
        ],
    );
    let (header, words) = cookie(&[script, asks(9, "sid=1")]);
    assert_eq!(header.as_deref(), Some("sid=1"));
    assert!(
        words.contains("an answer that is left out set the cookie `sid`"),
        "{words}"
    );
}

#[test]
fn a_pause_is_what_the_user_waited() {
    let at = |at| entry(at, "GET", &format!("http://h/a?{at}"), 200);
    let recording = recording(&[at(0), at(200), at(1570), at(1580), at(50_000), at(50_010)]);
    let pauses: Vec<_> = recording
        .exchanges
        .iter()
        .map(|exchange| exchange.think.map_or(0, |think| think.as_millis()))
        .collect();
    assert_eq!(pauses, [0, 1400, 0, 30_000, 0, 0]);
    assert!(
        notes(&recording).contains("the pause after it was 48 s long"),
        "{}",
        notes(&recording)
    );
    let options = HarOptions {
        drops_pauses: true,
        ..HarOptions::default()
    };
    let recording = read(&archive(&[at(0), at(9000)]), &options).unwrap();
    assert_eq!(recording.exchanges[0].think, None);
}

#[test]
fn the_same_question_about_several_things_is_asked_with_rows() {
    let shows =
        |at, id: &str, part: &str| entry(at, "GET", &format!("http://h/items/{id}{part}"), 200);
    let visit = [
        shows(0, "11", ""),
        shows(10, "11", "/reviews"),
        shows(20, "12", ""),
        shows(30, "12", "/reviews"),
    ];
    let both = recording(&visit);
    assert_eq!(both.data[0].rows, [["11"], ["12"]]);
    let marker = &both.references[0].marker;
    assert_eq!(
        both.references[0].from,
        Origin::Row {
            data: 0,
            field: "id".to_owned()
        }
    );
    assert_eq!(
        lines(&both),
        [
            format!("GET http://h/items/{marker}"),
            format!("GET http://h/items/{marker}/reviews")
        ]
    );
    assert_eq!(
        both.exchanges[1].pattern.as_deref(),
        Some("/items/{id}/reviews")
    );
    // The reviews of one only.
    assert_eq!(recording(&visit[..3]).data, []);
    // What changes something is done as it was done.
    let deletes = |at, id: &str| entry(at, "DELETE", &format!("http://h/items/{id}"), 204);
    assert_eq!(recording(&[deletes(0, "11"), deletes(10, "12")]).data, []);
    // With another answer, it is another question.
    assert_eq!(
        recording(&[
            shows(0, "11", ""),
            entry(10, "GET", "http://h/items/12", 404)
        ])
        .data,
        []
    );
}

#[test]
fn an_identifier_that_is_known_from_elsewhere_is_left_to_where_it_is_from() {
    let shows = |at, id: &str| entry(at, "GET", &format!("http://h/items/{id}"), 200);
    let list = |text: &str| {
        with(
            entry(0, "GET", "http://h/items", 200),
            &[("response.content.text", json!(text))],
        )
    };
    let visit =
        |first: Value, last: Value| recording(&[first, shows(10, "1"), shows(20, "2"), last]);
    let nothing = || entry(30, "GET", "http://h/bye", 200);
    assert_eq!(
        visit(list("{\"page\":1,\"of\":2}"), nothing()).data.len(),
        1
    );
    assert_eq!(
        visit(list("[{\"id\":1},{\"id\":2}]"), nothing()).data.len(),
        0
    );
    let order = |body: &str| {
        let data = json!({ "mimeType": "application/json", "text": body });
        with(
            entry(30, "POST", "http://h/orders", 201),
            &[("request.postData", data)],
        )
    };
    assert_eq!(visit(list("[]"), order("{\"quantity\":2}")).data.len(), 1);
    assert_eq!(visit(list("[]"), order("{\"item\":2}")).data.len(), 0);
    // The answer about the second has what a later request needs.
    let offer = |at, id: &str, offer: &str| {
        let text = json!({ "offer": offer }).to_string();
        with(shows(at, id), &[("response.content.text", json!(text))])
    };
    let entries = [
        offer(10, "1", "offer-aa"),
        offer(20, "2", "offer-bb"),
        order("{\"take\":\"offer-bb\"}"),
    ];
    assert_eq!(recording(&entries).data.len(), 0);
    let entries = [
        offer(10, "1", "offer-aa"),
        offer(20, "2", "offer-bb"),
        order("{\"take\":\"offer-aa\"}"),
    ];
    assert_eq!(recording(&entries).data.len(), 1);
}

#[test]
fn what_a_page_repeats_by_itself_is_asked_once() {
    let polls = |at, state: &str| {
        let text = json!({ "state": state }).to_string();
        with(
            entry(at, "GET", &format!("http://h/state?_={at}"), 200),
            &[("response.content.text", json!(text))],
        )
    };
    let buys = entry(900, "POST", "http://h/buy", 200);
    let five: Vec<Value> = (0..5).map(|number| polls(number * 100, "open")).collect();
    let recorded = recording(&[&five[..], std::slice::from_ref(&buys)].concat());
    assert_eq!(
        lines(&recorded),
        ["GET http://h/state?_=0", "POST http://h/buy"]
    );
    assert!(notes(&recorded).contains("it was asked 5 times in a row"));
    // Three are none too many, and with something in between they are none in a row.
    assert_eq!(recording(&five[..3]).exchanges.len(), 3);
    let apart = [
        &five[..2],
        &[entry(150, "POST", "http://h/buy", 200)],
        &five[2..],
    ]
    .concat();
    assert_eq!(recording(&apart).exchanges.len(), 6);
    // The last answer says where to go on.
    let ready = with(
        polls(500, ""),
        &[("response.content.text", json!("{\"result\":\"result-77\"}"))],
    );
    let needed = entry(900, "GET", "http://h/results/result-77", 200);
    assert_eq!(
        recording(&[&five[..], &[ready, needed]].concat())
            .exchanges
            .len(),
        7
    );
}
