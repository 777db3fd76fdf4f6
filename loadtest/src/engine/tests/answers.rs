//! Answers as later steps and checks see them.

use super::http_senders;
use super::*;
use crate::prelude::*;
use http::Version;
use loadtest_tests::{Reply, Server};

#[scenario(load = iterations(1))]
fn looked_at() {
    #[step(
        get = "http://shop.test/item",
        until = |item| item["id"] == 8,
        every = 1s,
        check = |item| item.time() == ms(70),
    )]
    fn item() -> Value;

    #[check]
    fn tells_what_it_is(item: &Response<Value>) -> Result<(), Error> {
        assert_eq!(item.version(), Version::HTTP_11);
        assert_eq!(item.url().as_str(), "http://shop.test/item");
        assert_eq!(item.text()?, r#" {"id": 8} "#);
        Ok(())
    }

    #[step(get = "/plain", check = |plain| plain.url().as_str() == "about:blank")]
    fn plain();

    #[check]
    fn has_no_text(plain: &Response) -> bool {
        let error = plain.text().unwrap_err().to_string();
        error == "no body was read: give the step's answer a type, such as `Request<Value>`"
    }

    #[step(get = "/bytes")]
    fn bytes() -> Bytes;

    #[check]
    fn is_bytes(bytes: &Response<Bytes>) -> bool {
        bytes
            .text()
            .is_ok_and(|text| text.as_bytes() == &**bytes.body())
    }
}

#[test]
fn an_answer_tells_its_url_its_version_its_time_and_its_text() {
    let plan = plan_of(looked_at());
    let ran = run_plan(looked_at(), &plan, 1, &Control::new(), None, |at| {
        let body = if at < ms(500) {
            r#"{"id": 7}"#
        } else {
            r#" {"id": 8} "#
        };
        (ms(if at < ms(500) { 90 } else { 70 }), Ok(body))
    });
    let all = ran.all();
    let [item, unread, bytes] = all.steps.as_slice() else {
        unreachable!("three steps");
    };
    assert_eq!(
        (item.ok, item.checks_passed, item.requests),
        (1, 2, 2),
        "{:?}",
        item.errors
    );
    assert_eq!(
        (unread.ok, unread.checks_passed),
        (1, 2),
        "{:?}",
        unread.errors
    );
    assert_eq!(
        (bytes.ok, bytes.checks_passed),
        (1, 1),
        "{:?}",
        bytes.errors
    );
}

#[scenario(redirects = 1)]
fn two_people() {
    #[step(get = "/as/ada")]
    fn ada();

    #[step(get = "/as/boss?moved", jar = admin)]
    fn boss();

    #[step(get = "/ada")]
    fn as_ada();

    #[step(jar = admin)]
    fn as_boss() -> Request {
        Request::get("/boss")
    }

    #[step(jar = admin)]
    async fn own(http: &mut Http) -> Result<(), Error> {
        http.get("/boss").send().await?;
        http.get("/as/guest").jar("guest").send().await?;
        http.get("/guest").jar("guest").send().await?;
        Ok(())
    }

    #[step(get = "/ada")]
    fn still_ada();
}

#[test]
fn a_jar_keeps_its_cookies_apart_and_for_one_iteration() {
    let server = Server::recording(|request| {
        let who = request.path.strip_prefix("/as/");
        match (who, request.target.ends_with("?moved")) {
            (Some(who), true) => Reply::status(302).header("location", format!("/as/{who}")),
            (Some(who), false) => {
                Reply::status(200).header("set-cookie", format!("who={who}; path=/"))
            }
            _ => Reply::status(200),
        }
    });
    let all = http_senders::run(two_people(), 2, &server);
    assert_eq!(all.journey.ok, 2);
    let requests = server.recorded();
    let sent = requests.iter().map(|request| {
        let cookie = request.header("cookie").unwrap_or("none");
        format!("{} {cookie}", request.target)
    });
    let sent: Vec<String> = sent.collect();
    let (first, second) = sent.split_at(sent.len() / 2);
    assert_eq!(
        first,
        [
            "/as/ada none",
            "/as/boss?moved none",
            "/as/boss none",
            "/ada who=ada",
            "/boss who=boss",
            "/boss who=boss",
            "/as/guest none",
            "/guest who=guest",
            "/ada who=ada",
        ]
    );
    assert_eq!(first, second);
}

#[scenario(redirects = 2)]
fn followed() {
    #[step(post = "/start?a", body = "x", check = |page| page == "text")]
    fn page() -> String;

    #[step]
    async fn asynchronous(http: &mut Http) -> Result<u64, Error> {
        let answer = http.post("/start").send().await?;
        assert_eq!(answer.version(), Version::HTTP_11);
        Ok(5)
    }

    #[step]
    async fn silent(_http: &mut Http) -> Result<u64, Error> {
        Ok(5)
    }

    #[step]
    fn next(
        page: &Response<String>,
        asynchronous: &Response<u64>,
        silent: &Response<u64>,
    ) -> Result<Request, Error> {
        assert_eq!(silent.url().as_str(), "about:blank");
        assert!(silent.text().is_err());
        assert!(page.time() > Duration::ZERO && asynchronous.time() > Duration::ZERO);
        let text = format!("{} {} {asynchronous:?}", page.text()?, asynchronous.text()?);
        Ok(Request::post("/told")
            .header("x-page", page.url().as_str())
            .header("x-asynchronous", asynchronous.url().path())
            .body(text.replace("headers: {}, ", "")))
    }
}

#[test]
fn the_url_is_that_after_redirects_and_an_async_step_has_that_of_its_last_answer() {
    let server = Server::recording(|request| match request.path.as_str() {
        "/start" => Reply::status(303).header("location", "end?there"),
        "/told" => Reply::status(200),
        _ => Reply::json("text"),
    });
    let all = http_senders::run(followed(), 1, &server);
    assert_eq!(all.journey.ok, 1, "{:?}", all.steps[3].errors);
    let told = server.recorded().pop().unwrap();
    let page = format!("{}/end?there", server.url());
    assert_eq!(told.header("x-page"), Some(&*page));
    assert_eq!(told.header("x-asynchronous"), Some("/end"));
    assert!(told.text().starts_with("text text Response { status: 200"));
}
