use super::*;

const PORT: u16 = 23_456;

fn guard(is_read_only: bool) -> Guard {
    let secret = "s3cret".to_owned();
    Guard::new(Door::Cookie { port: PORT, secret }, is_read_only)
}

fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in all {
        headers.append(*name, value.parse().unwrap());
    }
    headers
}

/// The headers of our own page: with a change, a value replaced, added, or (empty) left out.
fn own(changes: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = headers(&[
        ("host", "127.0.0.1:23456"),
        ("cookie", "other=1; loadtest_23456=s3cret"),
        ("sec-fetch-site", "same-origin"),
        ("sec-fetch-mode", "navigate"),
        ("content-type", "application/x-www-form-urlencoded"),
    ]);
    for (name, value) in changes {
        headers.remove(*name);
        if !value.is_empty() {
            headers.append(*name, value.parse().unwrap());
        }
    }
    headers
}

fn check(route: &Route, headers: &HeaderMap) -> Result<(), RequestRefusal> {
    let user = guard(false).check(&route.method(), headers, Some(route))?;
    assert_eq!(user, None);
    Ok(())
}

#[test]
fn our_own_page_may_do_everything() {
    for route in Route::samples() {
        assert_eq!(check(&route, &own(&[])), Ok(()), "{route:?}");
        for host in ["[::1]:23456", "localhost:23456", "LOCALHOST:23456"] {
            assert_eq!(check(&route, &own(&[("host", host)])), Ok(()), "{route:?}");
        }
    }
}

#[test]
fn another_host_is_refused_everywhere() {
    for route in Route::samples() {
        for host in [
            "evil.example:23456",
            "127.0.0.1",
            "127.0.0.1:80",
            "127.0.0.1.evil.example:23456",
            "",
        ] {
            assert_eq!(
                check(&route, &own(&[("host", host)])),
                Err(RequestRefusal::Host),
                "{host}"
            );
        }
        let mut twice = own(&[]);
        twice.append("host", "evil.example".parse().unwrap());
        assert_eq!(check(&route, &twice), Err(RequestRefusal::Host));
    }
}

#[test]
fn without_the_cookie_there_are_no_data() {
    for route in Route::samples() {
        for cookie in [
            "",
            "loadtest_23456=",
            "loadtest_23456=S3CRET",
            "loadtest_1=s3cret",
            "s3cret",
        ] {
            let expected = match route.access() {
                Access::Public => Ok(()),
                Access::Read | Access::Change => Err(RequestRefusal::Secret),
            };
            assert_eq!(
                check(&route, &own(&[("cookie", cookie)])),
                expected,
                "{cookie} {route:?}"
            );
        }
    }
    let unknown = guard(false).check(&Method::GET, &own(&[("cookie", "")]), None);
    assert_eq!(unknown, Err(RequestRefusal::Secret));
}

#[test]
fn another_page_changes_nothing_and_reads_nothing() {
    for route in Route::samples() {
        let is_change = route.access() == Access::Change;
        for site in ["cross-site", "same-site"] {
            let navigation = check(&route, &own(&[("sec-fetch-site", site)]));
            assert_eq!(navigation.is_err(), is_change, "{route:?}");
            let part = [("sec-fetch-site", site), ("sec-fetch-mode", "no-cors")];
            assert_eq!(
                check(&route, &own(&part)),
                Err(RequestRefusal::Origin),
                "{route:?}"
            );
        }
        if is_change {
            assert_eq!(
                check(&route, &own(&[("sec-fetch-site", "none")])),
                Err(RequestRefusal::Origin)
            );
            let origin = |origin| own(&[("sec-fetch-site", ""), ("origin", origin)]);
            assert_eq!(check(&route, &origin("http://127.0.0.1:23456")), Ok(()));
            for foreign in [
                "",
                "null",
                "http://127.0.0.1:3000",
                "https://127.0.0.1:23456",
                "http://evil.example",
            ] {
                assert_eq!(
                    check(&route, &origin(foreign)),
                    Err(RequestRefusal::Origin),
                    "{foreign}"
                );
            }
        }
    }
}

#[test]
fn a_change_has_the_type_of_a_form() {
    for route in Route::samples()
        .iter()
        .filter(|route| route.access() == Access::Change)
    {
        for kind in ["", "text/plain", "multipart/form-data"] {
            assert_eq!(
                check(route, &own(&[("content-type", kind)])),
                Err(RequestRefusal::Type)
            );
        }
    }
}

#[test]
fn a_read_only_dashboard_changes_nothing() {
    for route in Route::samples() {
        let checked = guard(true).check(&route.method(), &own(&[]), Some(&route));
        let checked = checked.map(drop);
        let expected = match route.access() {
            Access::Change => Err(RequestRefusal::ReadOnly),
            Access::Public | Access::Read => Ok(()),
        };
        assert_eq!(checked, expected, "{route:?}");
    }
}

#[test]
fn a_code_is_good_once_and_for_five_minutes() {
    let (mut guard, now) = (guard(false), Instant::now());
    let code = guard.new_code(now);
    assert_eq!(guard.use_code("other", now), None);
    let cookie = guard.use_code(&code, now + CODE_LIFE - Duration::from_millis(1));
    assert_eq!(
        cookie.unwrap(),
        "loadtest_23456=s3cret; HttpOnly; SameSite=Strict; Path=/"
    );
    assert_eq!(guard.use_code(&code, now), None);
    let old = guard.new_code(now);
    assert_eq!(guard.use_code(&old, now + CODE_LIFE), None);
}

#[test]
fn many_refusals_in_a_minute_are_told() {
    let (mut guard, now) = (guard(false), Instant::now());
    let told: Vec<_> = (0..45).map(|_| guard.note_refusal(now)).collect();
    assert_eq!(told.iter().filter(|told| **told).count(), 2);
    for minutes in 1..40 {
        assert!(!guard.note_refusal(now + minutes * REFUSAL_TIME));
    }
}

const PROXY_SECRET: &str = "0123456789abcdef0123456789abcdef";

fn proxy(url: &str, secret: &str) -> Result<Proxy, loadtest_console::error::Error> {
    Proxy::new(url, "x-user", Some(secret.to_owned()))
}

#[test]
fn behind_a_proxy_only_its_secret_and_a_name_let_in() {
    let door = Door::Proxy(proxy("https://tests.acme.example", PROXY_SECRET).unwrap());
    let guard = Guard::new(door, false);
    let own = |changes: &[(&'static str, &str)]| {
        let mut all = own(&[
            ("host", "tests.acme.example"),
            ("cookie", ""),
            ("x-loadtest-proxy-secret", PROXY_SECRET),
            ("x-user", "ada@acme.example"),
        ]);
        for (name, value) in changes {
            all.remove(*name);
            if !value.is_empty() {
                all.append(*name, value.parse().unwrap());
            }
        }
        all
    };
    for route in Route::samples() {
        let check = |headers: &HeaderMap| guard.check(&route.method(), headers, Some(&route));
        let is_public = route.access() == Access::Public;
        let ada = (!is_public).then(|| "ada@acme.example".to_owned());
        assert_eq!(check(&own(&[])), Ok(ada.clone()), "{route:?}");
        for host in [
            "127.0.0.1:23456",
            "evil.example",
            "tests.acme.example:8443",
            "",
        ] {
            assert_eq!(check(&own(&[("host", host)])), Err(RequestRefusal::Host));
        }
        let mut twice = own(&[]);
        twice.append("x-user", "grace@acme.example".parse().unwrap());
        let unproved = [
            own(&[("x-loadtest-proxy-secret", "")]),
            own(&[("x-loadtest-proxy-secret", "0123456789abcdef")]),
            own(&[("x-user", "")]),
            own(&[("x-user", " ")]),
            twice,
        ];
        for headers in &unproved {
            let expected = if is_public {
                Ok(None)
            } else {
                Err(RequestRefusal::Proxy)
            };
            assert_eq!(check(headers), expected, "{route:?}");
        }
        if route.access() == Access::Change {
            let origin = |origin| own(&[("sec-fetch-site", ""), ("origin", origin)]);
            assert_eq!(check(&origin("https://tests.acme.example")), Ok(ada));
            for foreign in [
                "http://tests.acme.example",
                "http://127.0.0.1:23456",
                "null",
            ] {
                assert_eq!(
                    check(&origin(foreign)),
                    Err(RequestRefusal::Origin),
                    "{foreign}"
                );
            }
        }
    }
}

#[test]
fn a_proxy_has_an_origin_a_header_and_a_long_secret() {
    assert_eq!(
        proxy("https://tests.acme.example:443/", PROXY_SECRET)
            .unwrap()
            .origin(),
        "https://tests.acme.example"
    );
    for url in [
        "tests.acme.example",
        "ftp://tests.acme.example",
        "https://tests.acme.example/load",
        "https://tests.acme.example/?x",
        "https://ada@tests.acme.example",
    ] {
        let error = proxy(url, PROXY_SECRET).unwrap_err();
        assert!(error.to_string().contains(url), "{error}");
    }
    let error = proxy("https://tests.acme.example", &PROXY_SECRET[1..]).unwrap_err();
    assert!(
        error.to_string().contains("LOADTEST_PROXY_SECRET"),
        "{error}"
    );
    let error = Proxy::new(
        "https://tests.acme.example",
        "a b",
        Some(PROXY_SECRET.to_owned()),
    );
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("`a b` is not a header")
    );
}
