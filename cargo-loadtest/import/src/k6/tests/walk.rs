//! Where requests are found: functions, wrappers, classes, callbacks, loops, branches.

use super::*;
use crate::recording::Runs;
use loadtest_model::definition::Think;
use std::time::Duration;

const WRAPPERS: &str = include_str!("../../../../../tests/fixtures/import/k6/wrappers.js");
const CLIENT: &str = include_str!("../../../../../tests/fixtures/import/k6/client.ts");
const LOOPS: &str = include_str!("../../../../../tests/fixtures/import/k6/loops.js");
const METRICS: &str = include_str!("../../../../../tests/fixtures/import/k6/metrics.js");

/// The requests of a script: method, URL and scenario.
fn requests(text: &str) -> Vec<String> {
    let recording = read(text);
    let shown = recording.exchanges.iter().map(|exchange| {
        let target = exchange.target.shown(|_| "..".to_owned());
        format!("{} {target}", exchange.method)
    });
    shown.collect()
}

/// The shortest and the longest pause of all journeys together.
fn pauses(recording: &Recording) -> (Duration, Duration) {
    let mut all = (Duration::ZERO, Duration::ZERO);
    for exchange in &recording.exchanges {
        if let Some(Think::Uniform { min, max }) = exchange.settings.think {
            all = (all.0 + min, all.1 + max);
        }
    }
    all
}

#[test]
fn requests_and_pauses_of_scripts_are_those_of_their_text() {
    // Requests that are written, and those that are sent: more through wrappers and in several scenarios, and those of
    // a batch. Then the pauses that are written, from and to.
    for (name, text, written, sent, from, to) in [
        ("shop", SHOP, 11, 14, 2000, 4000),
        ("code", CODE, 5, 5, 500, 500),
        ("wrappers", WRAPPERS, 7, 7, 3000, 5000),
        ("client", CLIENT, 4, 4, 1000, 1000),
        ("loops", LOOPS, 9, 10, 1500, 1500),
        ("metrics", METRICS, 2, 2, 0, 0),
    ] {
        let calls = ["get", "post", "put", "del", "batch"].map(|method| format!("http.{method}("));
        let calls = calls.iter().map(|call| text.matches(call).count());
        assert_eq!(calls.sum::<usize>(), written, "{name}");
        let recording = read(text);
        assert_eq!(
            recording.exchanges.len(),
            sent,
            "{name} {:?}",
            requests(text)
        );
        let expected = (Duration::from_millis(from), Duration::from_millis(to));
        assert_eq!(pauses(&recording), expected, "{name}");
        let told = warnings(text);
        // Of `send`, the branch of `PUT` is one that no call takes.
        let left_out = told
            .iter()
            .filter(|words| words.contains("left out"))
            .count();
        assert_eq!(left_out, usize::from(name == "wrappers"), "{name} {told:?}");
    }
}

#[test]
fn scripts_with_wrappers_become_scenarios() {
    insta::assert_snapshot!(format!(
        "{}\n{}",
        warnings(WRAPPERS).join("\n"),
        written(WRAPPERS)
    ));
}

#[test]
fn scripts_with_classes_become_scenarios() {
    insta::assert_snapshot!(format!(
        "{}\n{}",
        warnings(CLIENT).join("\n"),
        written(CLIENT)
    ));
}

#[test]
fn loops_and_branches_are_warnings() {
    insta::assert_snapshot!(format!(
        "{}\n{}",
        warnings(LOOPS).join("\n"),
        written(LOOPS)
    ));
}

#[test]
fn metrics_and_their_limits_are_written() {
    insta::assert_snapshot!(format!(
        "{}\n{}",
        warnings(METRICS).join("\n"),
        written(METRICS)
    ));
}

#[test]
fn functions_are_followed_wherever_they_are_called() {
    for (statements, found) in [
        (
            "timed('a', () => http.get('http://h/a'), { ok: r => r.status });",
            "GET /a",
        ),
        (
            "[1, 2].forEach(() => { http.get('http://h/a'); });",
            "GET /a",
        ),
        (
            "const get = (path) => http.get('http://h' + path); get('/a');",
            "GET /a",
        ),
        (
            "const flows = { a: () => http.get('http://h/a') }; flows[__ENV.FLOW]();",
            "GET /a",
        ),
        (
            "function visit() { http.get('http://h/a'); } retry(visit);",
            "GET /a",
        ),
        ("for (;;) { http.get('http://h/a'); }", "GET /a"),
        (
            "do { http.get('http://h/a'); } while (pending());",
            "GET /a",
        ),
        (
            "switch (__VU % 2) { case 0: http.get('http://h/a'); }",
            "GET /a",
        ),
        (
            "try { plan(); } catch (e) { http.get('http://h/a'); }",
            "GET /a",
        ),
        (
            "if (__ENV.A) { if (__ENV.B) { http.get('http://h/a'); } }",
            "GET /a",
        ),
        (
            "const res = __ENV.A ? http.get('http://h/a') : null;",
            "GET /a",
        ),
        ("__ENV.A && http.get('http://h/a');", "GET /a"),
        (
            "http.asyncRequest('GET', 'http://h/').then((res) => http.get(`http://h/${res.json('id')}`));",
            "GET /..",
        ),
        (
            "const paths = []; paths.push('/a'); http.get('http://h' + paths[0]);",
            "GET /a",
        ),
        (
            "function go(how) { if (how) { return http.get('http://h/a'); } return null; } go(__ENV.HOW);",
            "GET /a",
        ),
        (
            "let url = 'http://h'; url += '/a'; http.get(url);",
            "GET /a",
        ),
    ] {
        let found_all = requests(&script(statements));
        assert_eq!(
            found_all.last().map(String::as_str),
            Some(found),
            "{statements}"
        );
    }
}

#[test]
fn exported_functions_are_scenarios_where_the_options_are_code() {
    for (text, names) in [
        (
            "export const options = { scenarios: pick('load') };\nexport function token() { http.get('http://h/t'); }\nexport const order = () => { http.get('http://h/o'); };",
            vec!["token", "order"],
        ),
        (
            "export function token() { http.get('http://h/t'); }",
            vec!["token"],
        ),
        (
            "function visit() { http.get('http://h/t'); }\nexport { visit as default };",
            vec![""],
        ),
        (
            "import { wrap } from './wrap.js';\nexport default wrap(main);\nfunction main() { http.get('http://h/t'); }",
            vec![""],
        ),
    ] {
        let recording = read(&format!("import http from 'k6/http';\n{text}"));
        let groups: Vec<&str> = recording.groups.iter().map(|group| &*group.name).collect();
        assert_eq!(groups, names, "{text}");
    }
}

#[test]
fn a_pause_before_the_first_request_is_one_after_the_last() {
    let text = script(
        "sleep(5);\nhttp.get('http://h/a');\nif (Math.random() < 0.5) { http.get('http://h/b'); }\nsleep(1);",
    );
    let recording = read(&text);
    let think = |at: usize| recording.exchanges[at].settings.think;
    let six = Duration::from_secs(6);
    assert_eq!(think(0), Some(Think::Uniform { min: six, max: six }));
    assert_eq!(think(1), None);
    let alone = read(&script(
        "if (__ITER == 0) { http.get('http://h/a'); }\nhttp.get('http://h/b');\nsleep(1);",
    ));
    assert_eq!(alone.exchanges[0].settings.runs, Runs::Once);
    assert!(alone.exchanges[1].settings.think.is_some());
}

#[test]
fn a_failed_check_that_ends_the_journey_stops_it() {
    for statements in [
        "const res = http.get('http://h/a');\ncheck(res, { a: (r) => r.status === 200 }) || fail('no');\nhttp.get('http://h/b');",
        "const res = http.get('http://h/a');\nif (!check(res, { a: (r) => r.status === 200 })) { throw new Error('no'); }\nhttp.get('http://h/b');",
    ] {
        let body = body(statements);
        assert!(
            body.contains("get = \"/a\", expect = 200, stop_on_failure"),
            "{body}"
        );
    }
}

#[test]
fn two_hosts_that_are_not_known_stay_two() {
    let source = written(&script(
        "const env = __ENV.STAGE;\nhttp.get(`https://login.${env}.bank.example/start`);\n\
         http.post(`https://pay.${env}.bank.example/demo`, { a: 1 });\nhttp.get(`https://login.${env}.bank.example/end`);",
    ));
    assert!(source.contains("get = \"/start\""), "{source}");
    assert!(
        source.contains("post = \"{{PAY_STAGE_BANK_EXAMPLE}}/demo\""),
        "{source}"
    );
    let mixed = written(&script(
        "http.get(`${__ENV.PAY}/a`);\nhttp.get('http://h/b');\nhttp.get('http://h/c');",
    ));
    assert!(
        mixed.contains("get = \"{{PAY}}/a\"") && mixed.contains("base = \"http://h\""),
        "{mixed}"
    );
}

#[test]
fn a_varying_value_is_no_constant() {
    for (statements, written) in [
        (
            "let id = 1;\nif (__ENV.B) { id = 2; }\nhttp.get(`http://h/${id}`);",
            "/{{ID}}",
        ),
        (
            "for (let id = 1; id < 4; id++) { http.get(`http://h/${id}`); }",
            "/{{number}}",
        ),
        (
            "['a', 'b'].forEach((id) => http.get(`http://h/${id}`));",
            "/{{item}}",
        ),
        (
            "function pick() { if (__ENV.B) { return 'a'; } return 'b'; }\nhttp.get(`http://h/${pick()}`);",
            "/{{PICK}}",
        ),
        (
            "const id = __ENV.B === 'b' ? 1 : 2;\nhttp.get(`http://h/${id}`);",
            "/{{ID}}",
        ),
    ] {
        let body = body(statements);
        assert!(
            body.contains(&format!("get = \"{written}\"")),
            "{statements}\n{body}"
        );
    }
}

#[test]
fn data_is_read_from_a_field_of_a_file_and_cookies_from_answers() {
    let source = written(
        "import http from 'k6/http';\nconst users = JSON.parse(open('./data/all.json')).users;\n\
         export default function () {\nconst user = users[Math.floor(Math.random() * users.length)];\n\
         const res = http.get(`http://h/${user.name}`);\nhttp.get('http://h/b', { headers: { 'X-C': res.cookies['csrf'][0].value } });\n}",
    );
    assert!(
        source.contains("std::fs::read_to_string(\"data/all.json\")?.parse()?"),
        "{source}"
    );
    assert!(source.contains("file[\"users\"].as_array()"), "{source}");
    assert!(
        source.contains("\"set-cookie\", \"csrf=\", \";\""),
        "{source}"
    );
}

#[test]
fn what_is_not_used_of_a_scenario_is_told() {
    let text = format!(
        "export const options = {{ noCookiesReset: true, dns: {{}}, scenarios: {{ a: {{ executor: 'shared-iterations', maxDuration: '1m', gracefulStop: '3s' }} }} }};\n{}",
        script("http.get('http://h/a');")
    );
    let told = warnings(&text).join("\n");
    for words in [
        "a: `maxDuration` is not imported",
        "a: `gracefulStop` is not imported",
        "the option `dns` is not imported",
    ] {
        assert!(told.contains(words), "{told}");
    }
    assert!(written(&text).contains("cookies = user"));
}
