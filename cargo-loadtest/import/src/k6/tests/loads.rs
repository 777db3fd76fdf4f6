//! Loads and limits of scripts.

use super::*;

/// The options of the scenario of a script with these options.
fn options(options: &str) -> String {
    let text = format!(
        "export const options = {options};\n{}",
        script("http.get('http://h/a');")
    );
    let source = written(&text);
    let (_, rest) = source.split_once("#[scenario(").unwrap();
    let (options, _) = rest.split_once("fn ").unwrap();
    options.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn loads_are_those_of_the_executors() {
    for (given, written) in [
        ("{ vus: 5, duration: '30s' }", "load = users(5, for = 30s)"),
        (
            "{ vus: 5, iterations: 20 }",
            "load = iterations(20, users = 5)",
        ),
        (
            "{ vus: 2, stages: [{ duration: '1m', target: 10 }] }",
            "load = [users(2 -> 10, for = 1m)]",
        ),
        (
            "{ scenarios: { a: { executor: 'constant-vus', vus: 3, duration: '1h' } } }",
            "load = users(3, for = 60m)",
        ),
        (
            "{ scenarios: { a: { executor: 'shared-iterations', vus: 3, iterations: 9 } } }",
            "load = iterations(9, users = 3)",
        ),
        (
            "{ scenarios: { a: { executor: 'per-vu-iterations', vus: 3, iterations: 9 } } }",
            "load = iterations(9/user, users = 3)",
        ),
        (
            "{ scenarios: { a: { executor: 'constant-arrival-rate', rate: 90, timeUnit: '1m', duration: 5000, preAllocatedVUs: 4 } } }",
            "load = rate(1.5/s, for = 5s, max_users = 4)",
        ),
        (
            "{ scenarios: { a: { executor: 'ramping-arrival-rate', startRate: 5, stages: [{ target: 9, duration: '0' }, { target: 9, duration: '4s' }] } } }",
            "is not known",
        ),
    ] {
        let text = options(given) + &warnings_of(given).join(" ");
        assert!(
            text.contains(written) || text.contains("computed by code"),
            "{given}\n{text}"
        );
    }
}

fn warnings_of(options: &str) -> Vec<String> {
    let text = format!(
        "export const options = {options};\n{}",
        script("http.get('http://h/a');")
    );
    warnings(&text)
}

#[test]
fn limits_are_those_of_the_metrics() {
    for (given, written) in [
        (
            "http_req_duration: ['p(95)<200', 'avg<=50']",
            "p95 < 200ms, mean <= 50ms",
        ),
        ("http_req_failed: ['rate<0.01']", "errors < 1%"),
        ("checks: ['rate>=0.99']", "checks >= 99%"),
        (
            "'http_req_duration{expected_response:true}': ['max<9']",
            "max < 9ms",
        ),
        (
            "http_req_waiting: ['med<9']",
            "tag(http).first_byte.p50 < 9ms",
        ),
        ("http_reqs: ['rate>100']", "rps > 100/s"),
        (
            "http_req_failed: [{ threshold: 'rate<0.5', abortOnFail: true }]",
            "errors < 50% or abort",
        ),
    ] {
        let text = options(&format!("{{ thresholds: {{ {given} }} }}"));
        let is_step = given.contains("waiting");
        assert!(text.contains(written) || is_step, "{given}\n{text}");
    }
    for given in [
        "own: ['avg<1']",
        "http_req_duration: ['p(42)<1']",
        "http_req_duration: [x()]",
        "'http_req_duration{name:b}': ['max<9']",
    ] {
        let told = warnings_of(&format!("{{ thresholds: {{ {given} }} }}"));
        let is_told = told
            .iter()
            .any(|words| words.starts_with("1:") && words.contains("is not imported"));
        assert!(is_told, "{given} {told:?}");
    }
}
