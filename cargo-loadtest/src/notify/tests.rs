use super::payload::gate_failed;
use super::*;
use crate::export::json::tests::{check_words, mistakes, objects};
use crate::export::samples;
use jsonschema::Validator;
use loadtest_model::card::{Report, Verdict};
use loadtest_model::comparison::{
    BaselineComparison, Change, Compared, Comparison, ComparisonOutcome, Figure, Margin, Subject,
};
use loadtest_model::exit_code::ExitCode;
use loadtest_model::record::Environment;
use loadtest_model::record::RunRecord;
use proptest::prelude::*;
use serde_json::Value;
use std::sync::LazyLock;

const SECRET_URL: &str = "https://hooks.example:8443/services/T000/B000/XXXX?token=hush";

/// The run of a report, as it was known at its start.
fn run(report: &Report) -> Run {
    let record = RunRecord {
        schema_version: 1,
        run_id: report.run_id.clone(),
        tool_version: report.tool_version.clone(),
        started_at: report.started_at.clone(),
        environment: report.environment.clone(),
        scenarios: Vec::new(),
        not_run: Vec::new(),
        capacity: None,
        telemetry: Vec::new(),
    };
    let ran = report.cards.iter().map(|card| Planned {
        identity: card.identity.clone(),
        name: card.name.clone(),
        tags: card.tags.clone(),
        fingerprint: card.setting.fingerprint.clone(),
        load: card.setting.load.clone(),
    });
    let others = report.not_run.iter().map(|not_run| Planned {
        identity: not_run.scenario.clone(),
        name: "other".to_owned(),
        tags: Vec::new(),
        fingerprint: "0123".to_owned(),
        load: "1 user for 10 s".to_owned(),
    });
    Run::new(&record, ran.chain(others).collect())
}

fn named(wanted: &str) -> Report {
    let found = samples().into_iter().find(|(name, _)| *name == wanted);
    found.unwrap().1
}

/// With a comparison in which one figure regressed.
fn compared() -> Report {
    let mut report = named("failed");
    let card = &mut report.cards[0];
    card.comparison = Some(BaselineComparison {
        baseline: "main".to_owned(),
        outcome: ComparisonOutcome::Compared(Comparison {
            scenario: card.identity.clone(),
            base: vec!["before".to_owned()],
            new: "now".to_owned(),
            margin: Margin::for_runs(1),
            is_closed: false,
            subjects: vec![Subject {
                step: Some("login".to_owned()),
                skipped: None,
                figures: vec![Compared {
                    figure: Figure::P95,
                    base: 218_000.0,
                    new: 268_000.0,
                    change: 0.23,
                    interval: (0.14, 0.33),
                    detectable: 0.12,
                    verdict: Change::Regressed,
                    needs: None,
                }],
            }],
            observed: Vec::new(),
        }),
    });
    report
}

/// What a webhook would be told of the end.
fn ended<'a>(run: &'a Run, report: &Report) -> Payload<'a> {
    let page = Some("target/loadtest/1/report.html".to_owned());
    let ended = Ended::new(report.exit_code(), page);
    let mut payload = Payload::ended(run, "2026-11-21T14:31:05Z".to_owned(), report, ended);
    payload.id = identifier();
    payload
}

/// What webhooks would be told of `report`, in both forms.
fn events(report: &Report) -> Vec<(Value, Value)> {
    let run = run(report);
    let mut started = Payload::started(&run, "2026-11-21T14:30:05Z".to_owned());
    started.id = identifier();
    let finished = ended(&run, report);
    let mut failed = finished.clone();
    failed.event = Event::GateFailed;
    let both = |payload: &Payload<'_>| {
        let json = serde_json::to_value(payload).unwrap();
        (json, slack::slack_message(payload))
    };
    [started, finished, failed].iter().map(both).collect()
}

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../docs/event.schema.json")).unwrap()
}

fn validator() -> Validator {
    jsonschema::draft202012::new(&schema()).unwrap()
}

#[test]
fn every_event_has_the_published_shape() {
    jsonschema::meta::validate(&schema()).unwrap();
    check_words(&schema(), "");
    let validator = validator();
    for (name, report) in samples().into_iter().chain([("compared", compared())]) {
        for (event, _) in events(&report) {
            assert_eq!(mistakes(&validator, &event), [""; 0], "{name}: {event:#}");
        }
    }
}

#[test]
fn a_field_more_or_less_is_noticed_everywhere() {
    let validator = validator();
    for report in [compared(), named("search"), named("partly_run")] {
        let (mut value, _) = events(&report).swap_remove(1);
        let mut found = Vec::new();
        objects(&value, String::new(), &mut found);
        assert!(found.len() > 4, "{found:?}");
        for at in found {
            let fields = value.pointer(&at).unwrap().as_object().unwrap().clone();
            let mut with = |changed: serde_json::Map<String, Value>| {
                *value.pointer_mut(&at).unwrap() = Value::Object(changed);
                let is_valid = validator.is_valid(&value);
                *value.pointer_mut(&at).unwrap() = Value::Object(fields.clone());
                is_valid
            };
            assert!(with(fields.clone()), "{at} as it is");
            let mut more = fields.clone();
            more.insert("more".to_owned(), Value::Null);
            assert!(!with(more), "a field more at {at}");
            for key in fields.keys() {
                let mut less = fields.clone();
                less.remove(key);
                assert!(!with(less), "{at} without `{key}`");
            }
        }
    }
}

#[test]
fn the_examples_in_the_documentation_have_the_published_shape() {
    let page = include_str!("../../../docs/events.md");
    let examples: Vec<Value> = page
        .split("```json\n")
        .skip(1)
        .map(|rest| serde_json::from_str(rest.split("```").next().unwrap()).unwrap())
        .collect();
    let told: Vec<_> = examples.iter().map(|example| &example["event"]).collect();
    assert_eq!(told, ["run.started", "gate.failed"]);
    let validator = validator();
    for example in &examples {
        assert_eq!(mistakes(&validator, example), [""; 0]);
    }
}

#[test]
fn what_a_run_came_to_is_in_the_event_of_its_end() {
    let report = compared();
    let events = events(&report);
    let (started, _) = &events[0];
    assert_eq!(started["event"], "run.started");
    assert!(started["outcome"].is_null() && started["scenarios"][0]["result"].is_null());
    let (finished, _) = &events[1];
    let ended = serde_json::json!({
        "verdict": "failed", "exit_code": 99, "report": "target/loadtest/1/report.html",
    });
    assert_eq!(finished["outcome"], ended);
    let result = &finished["scenarios"][0]["result"];
    let card = &report.cards[0];
    assert_eq!(result["verdict"], "failed");
    assert_eq!(result["grade"], card.grade.letter.unwrap().to_string());
    let p95 = card.headline.time.p95.unwrap();
    assert_eq!(result["p95_us"], (p95.as_nanos() as u64 + 500) / 1_000);
    assert_eq!(
        result["reasons"].as_array().unwrap().len(),
        card.reasons.len()
    );
    let broken = card.thresholds.iter().filter(|row| !row.passed).count();
    assert_eq!(
        result["broken_thresholds"].as_array().unwrap().len(),
        broken
    );
    let regression = &result["comparison"]["regressions"][0];
    assert_eq!(
        (&regression["step"], &regression["figure"]),
        (&"login".into(), &"p95".into())
    );
    let ids: std::collections::HashSet<_> = events.iter().map(|(event, _)| &event["id"]).collect();
    assert!(ids.len() > 1);
}

#[test]
fn the_gate_fails_where_a_scenario_or_a_search_fails_it_and_for_nothing_else() {
    for (name, report) in samples() {
        let expected = report
            .cards
            .iter()
            .any(|card| card.verdict == Verdict::Failed);
        let expected = expected && report.capacity.is_none();
        assert_eq!(gate_failed(&report), expected, "{name}");
    }
    assert!(gate_failed(&named("failed")));
    for other in [
        "interrupted",
        "invalid",
        "empty",
        "nothing_run",
        "passed",
        "search",
    ] {
        assert!(!gate_failed(&named(other)), "{other}");
    }
}

#[test]
fn secrets_in_what_happened_stay_out_of_both_forms() {
    let mut report = named("partly_run");
    report.not_run[0].message = "refused: token=hunter2".into();
    report.cards[0].reasons = named("failed").cards[0].reasons.clone();
    report.cards[0].reasons[0].words = "got `{\"password\": \"hunter2\"}`".to_owned();
    for (json, slack) in events(&report) {
        assert!(!json.to_string().contains("hunter2"), "{json:#}");
        assert!(!slack.to_string().contains("hunter2"), "{slack:#}");
    }
}

#[test]
fn a_signature_is_that_of_github() {
    // The example of its documentation.
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"It's a Secret to Everybody");
    assert_eq!(
        signature(&key, b"Hello, World!"),
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    );
}

fn notify(secret_env: Option<&str>) -> Notify {
    Notify {
        url: SECRET_URL.to_owned(),
        secret_env: secret_env.map(str::to_owned),
        ..Notify::default()
    }
}

#[test]
fn a_key_that_is_missing_or_empty_is_told_without_any_secret() {
    let held = |name: &str| match name {
        "HELD" => Some("hush".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    };
    let new = |notify: &Notify| Webhook::new(2, notify, held).err();
    assert_eq!(new(&notify(None)), None);
    assert_eq!(new(&notify(Some("HELD"))), None);
    for name in ["EMPTY", "MISSING"] {
        let errors = new(&notify(Some(name))).unwrap();
        let told =
            format!("webhook 2: its `secret_env` names the variable `{name}`, which holds no key");
        assert_eq!(errors, [told]);
    }
    let neither = Notify {
        url: "$MISSING_URL".to_owned(),
        ..notify(Some("MISSING"))
    };
    let errors = new(&neither).unwrap();
    assert!(errors[0].contains("`MISSING_URL`") && errors[1].contains("`MISSING`"));
    let all = [
        notify(Some("LOADTEST_NO_KEY_1")),
        notify(Some("LOADTEST_NO_KEY_2")),
    ];
    let error = Webhooks::from_config(&all).err().unwrap();
    assert_eq!(error.exit_code(), ExitCode::Usage);
    assert_eq!(error.to_string().lines().count(), 2);
    assert!(error.help().unwrap().contains("[[notify]]"));
}

#[test]
fn a_url_may_come_from_the_environment() {
    let configured = Notify {
        url: "$SLACK_URL".to_owned(),
        ..notify(None)
    };
    let new = |held: Option<&'static str>| {
        let variable = |name: &str| held.filter(|_| name == "SLACK_URL").map(str::to_owned);
        Webhook::new(1, &configured, variable).map(|webhook| webhook.place())
    };
    assert_eq!(new(Some(SECRET_URL)).unwrap(), "https://hooks.example:8443");
    let begin = "webhook 1: its `url` names the variable `SLACK_URL`, which ";
    for (held, told) in [
        (None, "holds nothing"),
        (Some(""), "holds nothing"),
        (Some("hooks.example/hush"), "is not a URL"),
        (Some("ftp://hooks.example/hush"), "starts with neither"),
    ] {
        let error = new(held).unwrap_err().concat();
        assert!(error.starts_with(&format!("{begin}{told}")), "{error}");
        assert!(!error.contains("hush"), "{error}");
    }
}

#[test]
fn of_a_webhook_only_scheme_and_host_are_shown() {
    let webhook = Webhook::new(1, &notify(None), |_| None).unwrap();
    assert_eq!(webhook.place(), "https://hooks.example:8443");
    let mistaken = Notify {
        url: "https://hooks.example:x/hush".to_owned(),
        ..notify(None)
    };
    let error = Webhook::new(1, &mistaken, |_| None).err().unwrap().concat();
    assert!(!error.contains("hush"), "{error}");
}

#[test]
fn every_attempt_of_a_delivery_is_signed_and_named() {
    let report = named("passed");
    let run = run(&report);
    let payload = ended(&run, &report);
    let configured = notify(Some("KEY"));
    let webhook = Webhook::new(1, &configured, |_| Some("hush".to_owned())).unwrap();
    let letter = webhook.letter(&payload);
    let header = |wanted: &str| {
        let mut all = letter.headers.iter();
        all.find(|(name, _)| *name == wanted)
            .map(|(_, value)| value.as_str())
    };
    assert_eq!(header("loadtest-event"), Some("run.finished"));
    assert_eq!(header("loadtest-delivery"), Some(&*payload.id));
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"hush");
    assert_eq!(
        header("x-hub-signature-256"),
        Some(&*signature(&key, &letter.body))
    );
    let unsigned = Webhook::new(1, &notify(None), |_| None).unwrap();
    assert_eq!(unsigned.letter(&payload).headers.len(), 2);
}

#[test]
fn undelivered_events_have_a_line_for_each_webhook_and_reason() {
    let webhook = || Notify {
        url: "http://127.0.0.1:9/hush".to_owned(),
        ..Notify::default()
    };
    let webhooks = Webhooks::from_config(&[webhook(), webhook()]).unwrap();
    let mut told = webhooks.started(run(&named("passed")));
    // Nobody has asked yet what came of them.
    told.posted = vec![(1, Event::RunStarted), (0, Event::RunStarted)];
    let line = |number| {
        format!("webhook {number}, http://127.0.0.1:9: run.started not delivered: no answer yet")
    };
    assert_eq!(told.undelivered(), [line(1), line(2)]);
}

#[test]
fn golden_messages_for_slack() {
    for name in ["passed", "failed", "partly_run", "search", "invalid"] {
        let mut report = named(name);
        report.environment = Environment {
            git_commit: Some("0123456789abcdef".to_owned()),
            git_dirty: Some(true),
            ..report.environment
        };
        let (_, message) = events(&report).swap_remove(1);
        let text = serde_json::to_string_pretty(&message).unwrap();
        insta::assert_snapshot!(format!("slack_{name}"), text);
    }
}

/// No mention, no channel, no link, and every part within Slack's limits.
fn assert_harmless(message: &Value) {
    let section = &message["blocks"][0]["text"];
    assert_eq!(section["verbatim"], true);
    for text in [&message["text"], &section["text"]] {
        let text = text.as_str().unwrap();
        let length = text.encode_utf16().count();
        assert!((1..=3_000).contains(&length), "{length}: {text}");
        assert!(!text.contains(['<', '>']), "{text}");
        assert!(!text.contains(|letter: char| letter.is_control() && letter != '\n'));
    }
}

#[test]
fn messages_for_slack_stay_within_its_limits() {
    let mut many = named("failed");
    let card = many.cards[0].clone();
    // More than a message has room for: each name and each reason is cut at 200 letters, all at 3,000.
    many.cards = (0..40)
        .map(|i| {
            let mut card = card.clone();
            card.identity = format!("{}{i}", "n".repeat(500));
            card.reasons = vec![card.reasons[0].clone(); 20];
            card.reasons[0].words = "<&>".repeat(1_000);
            card
        })
        .collect();
    for (name, report) in samples().into_iter().chain([("many", many)]) {
        for (_, message) in events(&report) {
            assert_harmless(&message);
            assert!(message.to_string().len() < 100_000, "{name}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_from_outside_mentions_anybody(
        text in "(<!channel>|<@U1>|<http://x\\|y>|&|&amp;|<|>|`|\\*|\\PC|\u{202e}|\n|x{60}){0,40}",
    ) {
        static FAILED: LazyLock<Report> = LazyLock::new(|| named("failed"));
        let mut report = FAILED.clone();
        report.run_id.clone_from(&text);
        report.environment.git_commit = Some(text.clone());
        let card = &mut report.cards[0];
        card.identity.clone_from(&text);
        card.name.clone_from(&text);
        card.setting.load.clone_from(&text);
        for reason in &mut card.reasons {
            reason.words.clone_from(&text);
        }
        for (_, message) in events(&report) {
            assert_harmless(&message);
        }
    }
}
