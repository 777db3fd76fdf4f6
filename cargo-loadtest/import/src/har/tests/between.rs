//! Cookies and pauses between requests.

use super::*;
use crate::hide_secrets;

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
        let cookie = cookie.map(show_text);
        (cookie, notes(&recording))
    };
    assert_eq!(
        cookie(&[sets(0, "sid=1; Path=/"), asks(9, "sid=1")]),
        (None, String::new())
    );
    assert_eq!(
        cookie(&[asks(9, "sid=1; _ga=x")]),
        (Some("sid=<secret 0>".to_owned()), String::new())
    );
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
    assert_eq!(header.as_deref(), Some("sid=<secret 0>"));
    assert!(
        words.contains("an answer that is left out set the cookie `sid`"),
        "{words}"
    );
}

#[test]
fn a_cookie_of_an_older_session_is_one_secret() {
    let asks = |at, cookie: &str| {
        with(
            entry(at, "GET", "http://h/me", 200),
            &[("request.headers.cookie", json!(cookie))],
        )
    };
    let asks: Vec<_> = (0..40)
        .map(|at| asks(at, &format!("shop.sid=s{at}; seen=yes; n={at}")))
        .collect();
    let mut recording = recording(&asks);
    hide_secrets(&mut recording);
    let names: Vec<_> = recording
        .secrets
        .iter()
        .map(|secret| secret.name.as_str())
        .collect();
    assert_eq!(names, ["SHOP_SID", "N"]);
    let first = recording.exchanges[0].header("cookie").cloned();
    assert_eq!(first.unwrap().pieces().len(), 4);
    let mut exchanges = recording.exchanges.windows(2);
    assert!(exchanges.all(|two| two[0].header("cookie") == two[1].header("cookie")));
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
    let options = HarOptions {
        drops_pauses: true,
        ..HarOptions::default()
    };
    let recording = read(&archive(&[at(0), at(9000)]), &options).unwrap();
    assert_eq!(recording.exchanges[0].think, None);
}
