//! Which values a form can edit, and what they are.

use super::*;
use crate::source::{Field, FieldValue, ParameterList};

/// The options of a step, or of the scenario.
fn options_of(owner: &str, options: &str) -> Vec<crate::source::OptionSource> {
    let text = match owner {
        "step" => format!("#[scenario] fn visit() {{ #[step({options})] fn one(); }}"),
        _ => format!("#[scenario({options})] fn visit() {{ #[step] fn one(); }}"),
    };
    let scenario = FileSource::read(&text).unwrap().scenarios.remove(0);
    match owner {
        "step" => scenario.parts[0].options.clone(),
        _ => scenario.options,
    }
}

fn parameters(word: &str, first: &str, named: &[(&str, &str)]) -> ParameterList {
    let named = named
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    ParameterList {
        word: word.to_owned(),
        first: first.to_owned(),
        named: named.collect(),
    }
}

/// Checks that an option has this key and value, which survives the way to a page and back.
#[track_caller]
fn assert_value(owner: &str, option: &str, key: &str, value: &OptionValue) {
    let options = options_of(owner, option);
    assert_eq!(options.len(), 1, "{option}");
    assert_eq!(
        (options[0].key.as_str(), options[0].locked),
        (key, None),
        "{option}"
    );
    assert_eq!(options[0].value.as_ref(), Some(value), "{option}");
    let json = serde_json::to_string(value).unwrap();
    assert_eq!(
        serde_json::from_str::<OptionValue>(&json).unwrap(),
        *value,
        "{json}"
    );
}

fn text(text: &str) -> OptionValue {
    OptionValue::Text(text.to_owned())
}

fn field(name: &str, value: FieldValue) -> Field {
    let name = name.to_owned();
    Field { name, value }
}

#[test]
fn options_of_steps_are_read_as_forms_show_them() {
    for (option, key, value) in [
        (
            "get = \"/a?b={{c.response}}\"",
            "request",
            request("get", "/a?b={{c.response}}"),
        ),
        ("header(\"x-a\", \"\\\"\")", "header", pair("x-a", "\"")),
        ("basic = (\"ada\", \"b\")", "basic", pair("ada", "b")),
        ("bearer = \"t\"", "bearer", text("t")),
        (
            "expect = 2xx | 404..=410",
            "expect",
            source_value("2xx | 404..=410"),
        ),
        ("weight = 80%", "weight", source_value("80%")),
        ("weight = 4/5", "weight", source_value("4/5")),
        (
            "think = normal(2s, 500ms)",
            "think",
            source_value("normal(2s, 500ms)"),
        ),
        (
            "p95 < 100ms or abort",
            "limit",
            source_value("p95 < 100ms or abort"),
        ),
        (
            "row(\"a b\").p95 < 1s",
            "limit",
            source_value("row(\"a b\").p95 < 1s"),
        ),
        ("once", "once", OptionValue::Flag),
        ("body = \"a\\nb\"", "body", text("a\nb")),
        (
            "body = file(\"a.bin\")",
            "body",
            OptionValue::File("a.bin".to_owned()),
        ),
        (
            "json = [{{a.response[\"x\"].b}}, null]",
            "json",
            source_value("[{{a.response[\"x\"].b}}, null]"),
        ),
        (
            "retry(2, backoff = 1s, on = 503 | timeout)",
            "retry",
            OptionValue::Call(parameters(
                "retry",
                "2",
                &[("backoff", "1s"), ("on", "503 | timeout")],
            )),
        ),
        ("rendezvous = 50", "rendezvous", source_value("50")),
        (
            "rendezvous(50, within = 10s)",
            "rendezvous",
            OptionValue::Call(parameters("rendezvous", "50", &[("within", "10s")])),
        ),
        (
            "multipart = { \"a\": \"{{b.response}}\", \"c\": {{b.response.id}}, \"d\": file(\"e\"), \"f\": -1, }",
            "multipart",
            OptionValue::Fields(vec![
                field("a", FieldValue::Text("{{b.response}}".to_owned())),
                field("c", FieldValue::Source("{{b.response.id}}".to_owned())),
                field("d", FieldValue::File("e".to_owned())),
                field("f", FieldValue::Source("-1".to_owned())),
            ]),
        ),
    ] {
        assert_value("step", option, key, &value);
    }
}

#[test]
fn options_of_scenarios_are_read_as_forms_show_them() {
    for (option, key, value) in [
        (
            "load = rate(50/s, ramp_up = 2s, for = 8s)",
            "load",
            OptionValue::Call(parameters(
                "rate",
                "50/s",
                &[("ramp_up", "2s"), ("for", "8s")],
            )),
        ),
        (
            "load = users(100, spawn = 5/s, for = 1m)",
            "load",
            OptionValue::Call(parameters(
                "users",
                "100",
                &[("spawn", "5/s"), ("for", "1m")],
            )),
        ),
        (
            "load = [users(0 -> 50, for = 1m), users(50, for = 2m),]",
            "load",
            OptionValue::Stages(vec![
                parameters("users", "0 -> 50", &[("for", "1m")]),
                parameters("users", "50", &[("for", "2m")]),
            ]),
        ),
        (
            "load = iterations(20/user, users = 10)",
            "load",
            OptionValue::Call(parameters("iterations", "20/user", &[("users", "10")])),
        ),
        (
            "thresholds(\n  p95 < 1s,\n  count(\"a, b\") < 3,\n)",
            "thresholds",
            OptionValue::Conditions(vec![
                "p95 < 1s".to_owned(),
                "count(\"a, b\") < 3".to_owned(),
            ]),
        ),
        (
            "tags = [\"a\", \"b\",]",
            "tags",
            OptionValue::Texts(vec!["a".to_owned(), "b".to_owned()]),
        ),
        ("http = 1.1", "http", source_value("1.1")),
        ("cookies = off", "cookies", source_value("off")),
        ("weight = 3", "weight", source_value("3")),
    ] {
        assert_value("scenario", option, key, &value);
    }
}

#[test]
fn what_a_form_would_change_is_shown_with_its_reason() {
    for (owner, option, words) in [
        ("step", "check = |a| a.b, once", "closure"),
        ("step", "until = |a| a.b == \"c, d\"", "closure"),
        ("step", "weight = W", "would change"),
        ("step", "get = r\"/raw\"", "would change"),
        ("step", "get = \"\\u{2f}\"", "would change"),
        ("step", "get = concat!(\"/\", \"a\")", "would change"),
        ("step", "json = { \"a\": (f()) }", "would change"),
        ("step", "json = { \"a\": /* b */ 1 }", "comment"),
        ("step", "form = { \"a\": (f()) }", "would change"),
        ("step", "surprise = 1", "does not know"),
        ("step", "surprise < 1", "would change"),
        ("step", "p95 <", "would change"),
        ("step", "once = true", "would change"),
        ("scenario", "load = rate(wave, for = 1m)", "would change"),
        ("scenario", "crate = acme::loadtest", "does not know"),
        ("scenario", "check = |a| a.ok()", "closure"),
    ] {
        let options = options_of(owner, option);
        assert_eq!(options[0].value, None, "{option}");
        let reason = options[0].locked.unwrap_or_default();
        assert!(reason.contains(words), "{option}: {reason}");
        assert!(option.starts_with(&options[0].source), "{option}");
    }
}

#[test]
fn a_body_of_several_lines_begins_where_its_option_does() {
    let text = "#[scenario]\nfn visit() {\n    #[step(\n        json = {\n            \"a\": 1,\n        },\n    )]\n    fn one();\n}\n";
    for text in [text.to_owned(), text.replace('\n', "\r\n")] {
        let part = part_of(&text, "one");
        assert_eq!(
            part.options[0].value,
            Some(source_value("{\n    \"a\": 1,\n}"))
        );
        assert_eq!((part.options[0].line, part.options[0].last_line), (4, 6));
    }
}

#[test]
fn parameters_name_what_they_take() {
    let text = "#[scenario] fn visit() { #[step] fn one(vu: &mut Vu, _login: &HashMap<A, B>, #[from(r#match)] T { x, .. }: &T, mut a: Option<&Response<C>>) -> Result<Request<A>, B> where B: C { x } }";
    let part = part_of(text, "one");
    assert_eq!(part.needs, ["a", "login", "match", "vu"]);
    assert_eq!(part.returns.as_deref(), Some("Result<Request<A>, B>"));
    assert!(part.has_body && !part.is_async);
}
