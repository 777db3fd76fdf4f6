//! Cookies: kept for an iteration, for a user, or not at all.

use super::user::{NOTHING, follow, get, ok, run, send, user_of, with_header};
use crate::transport::Transport;
use loadtest_model::definition::{Client, Cookies};
use loadtest_tests::{Reply, Request, Server};

fn client(cookies: Cookies) -> Client {
    Client {
        cookies,
        ..Client::DEFAULT
    }
}

/// `/set` sets two cookies, `/clear` deletes one.
fn shop() -> Server {
    Server::recording(|request| match request.path.as_str() {
        "/set" => Reply::status(200)
            .header("set-cookie", "session=s-1; Path=/; HttpOnly")
            .header("set-cookie", "lang=en; path=/; Max-Age=60"),
        "/refused" => Reply::status(401).header("set-cookie", "trace=t; path=/"),
        "/clear" => Reply::status(200).header(
            "set-cookie",
            "lang=; path=/; expires=Thu, 01 Jan 1970 00:00:00 GMT",
        ),
        "/hop" => Reply::status(302)
            .header("set-cookie", "hop=1; path=/")
            .header("location", "/end"),
        _ => Reply::status(200),
    })
}

fn cookies(requests: &[Request]) -> Vec<String> {
    requests
        .iter()
        .map(|request| {
            let all: Vec<&str> = request.all("cookie").collect();
            format!("{} {}", request.path, all.join(" | "))
        })
        .collect()
}

#[test]
fn cookies_are_sent_back_until_the_next_iteration() {
    let server = shop();
    run(async {
        let mut user = user_of(&server.url(), &client(Cookies::Iteration)).await;
        user.begin();
        for path in ["/a", "/set", "/b", "/clear", "/c"] {
            ok(send(&mut user, &get(path), NOTHING).await);
        }
        // Also an unexpected answer sets cookies.
        assert!(
            send(&mut user, &get("/refused"), NOTHING)
                .await
                .result
                .is_err()
        );
        ok(send(&mut user, &get("/d"), NOTHING).await);
        user.begin();
        ok(send(&mut user, &get("/e"), NOTHING).await);
    });
    assert_eq!(
        cookies(&server.recorded()),
        [
            "/a ",
            "/set ",
            "/b session=s-1; lang=en",
            "/clear session=s-1; lang=en",
            "/c session=s-1",
            "/refused session=s-1",
            "/d session=s-1; trace=t",
            "/e ",
        ]
    );
}

#[test]
fn a_user_keeps_its_own_and_without_a_jar_nothing_is_kept() {
    for (kept, expected) in [
        (Cookies::User, "/b session=s-1; lang=en"),
        (Cookies::Off, "/b "),
    ] {
        let server = shop();
        run(async {
            let mut user = user_of(&server.url(), &client(kept)).await;
            let mut other = user_of(&server.url(), &client(kept)).await;
            user.begin();
            ok(send(&mut user, &get("/set"), NOTHING).await);
            user.begin();
            ok(send(&mut user, &get("/b"), NOTHING).await);
            ok(send(&mut other, &get("/other"), NOTHING).await);
        });
        assert_eq!(cookies(&server.recorded()), ["/set ", expected, "/other "]);
    }
}

#[test]
fn cookies_that_a_step_sets_go_with_those_of_the_jar_and_in_the_place_of_their_like() {
    let server = shop();
    run(async {
        let mut user = user_of(&server.url(), &Client::DEFAULT).await;
        ok(send(&mut user, &get("/set"), NOTHING).await);
        for own in [
            "mine=1",
            "lang=de; mine=1",
            "a=1;session=;lang",
            "sessions=2",
            "",
        ] {
            let own = with_header(get("/own"), "cookie", own);
            ok(send(&mut user, &own, NOTHING).await);
        }
        let twice = with_header(get("/twice"), "cookie", "mine=1");
        let twice = with_header(twice, "cookie", "session=s-2");
        ok(send(&mut user, &twice, NOTHING).await);
        ok(follow(
            &mut user,
            &with_header(get("/hop"), "cookie", "mine=1"),
            NOTHING,
            1,
        )
        .await);
        // What is the step's alone changes nothing for later.
        ok(send(&mut user, &get("/end"), NOTHING).await);
    });
    assert_eq!(
        cookies(&server.recorded())[1..],
        [
            "/own session=s-1; lang=en; mine=1",
            "/own session=s-1; lang=de; mine=1",
            "/own a=1;session=;lang",
            "/own session=s-1; lang=en; sessions=2",
            "/own session=s-1; lang=en",
            "/twice lang=en; mine=1 | session=s-2",
            "/hop session=s-1; lang=en; mine=1",
            "/end session=s-1; lang=en; hop=1; mine=1",
            "/end session=s-1; lang=en; hop=1",
        ]
    );
}

#[test]
fn cookies_of_a_redirect_are_kept_and_those_of_another_host_are_not_sent() {
    let server = shop();
    run(async {
        let mut user = user_of(&server.url(), &Client::DEFAULT).await;
        ok(follow(&mut user, &get("/hop"), NOTHING, 1).await);
        let port = server.address().port();
        let elsewhere = get(&format!("http://localhost:{port}/elsewhere"));
        ok(send(&mut user, &elsewhere, NOTHING).await);
    });
    assert_eq!(
        cookies(&server.recorded()),
        ["/hop ", "/end hop=1", "/elsewhere "]
    );
}
