//! The card as data, in the shape of `docs/report.schema.json`: every figure unrounded, its unit in its key.

use loadtest_model::card::Report;
use loadtest_model::exit_code::ExitCode;
use serde::Serialize;

/// The version of the shape of this export, which grows when a field goes or means something else.
const SCHEMA_VERSION: u32 = 1;

#[derive(Serialize)]
struct JsonExport<'a> {
    schema_version: u32,
    exit_code: ExitCode,
    #[serde(flatten)]
    report: &'a Report,
}

/// The report as indented JSON.
pub(crate) fn render(report: &Report) -> String {
    let export = JsonExport {
        schema_version: SCHEMA_VERSION,
        exit_code: report.exit_code(),
        report,
    };
    let mut json = serde_json::to_string_pretty(&export).expect("a card has no maps with odd keys");
    json.push('\n');
    json
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::export::sample;
    use jsonschema::Validator;
    use serde_json::Value;

    #[test]
    fn golden_reports() {
        let huge = ("huge", sample::huge());
        for (name, report) in sample::golden().into_iter().chain([huge]) {
            let mut json: Value = serde_json::from_str(&render(&report)).unwrap();
            for card in json["cards"].as_array_mut().unwrap() {
                // The first of each are enough to review.
                for list in ["/course/points", "/spectrum", "/slowest", "/steps"] {
                    let list = card.pointer_mut(list).and_then(Value::as_array_mut);
                    list.unwrap().truncate(2);
                }
            }
            let text = serde_json::to_string_pretty(&json).unwrap();
            insta::assert_snapshot!(format!("json_{name}"), text);
        }
    }

    fn schema() -> Value {
        serde_json::from_str(include_str!("../../../docs/report.schema.json")).unwrap()
    }

    pub(crate) fn mistakes(validator: &Validator, value: &Value) -> Vec<String> {
        let errors = validator.iter_errors(value);
        errors
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect()
    }

    fn parsed(report: &Report) -> Value {
        serde_json::from_str(&render(report)).unwrap()
    }

    fn all() -> impl Iterator<Item = (&'static str, Value)> {
        let all = sample::all().into_iter();
        all.map(|(name, report)| (name, parsed(&report)))
    }

    #[test]
    fn every_report_has_the_published_shape() {
        let schema = schema();
        jsonschema::meta::validate(&schema).unwrap();
        assert_eq!(
            schema["properties"]["schema_version"]["const"],
            SCHEMA_VERSION
        );
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        for (name, value) in all() {
            assert_eq!(mistakes(&validator, &value), [""; 0], "{name}");
        }
    }

    /// Every object in `value`, by the pointers to it.
    pub(crate) fn objects(value: &Value, at: String, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    objects(value, format!("{at}/{key}"), found);
                }
                found.push(at);
            }
            // The rows of a list are alike.
            Value::Array(rows) => {
                for (i, row) in rows.iter().enumerate().take(2) {
                    objects(row, format!("{at}/{i}"), found);
                }
            }
            _ => {}
        }
    }

    #[test]
    fn a_field_more_or_less_is_noticed_everywhere() {
        /// Objects whose keys are data, and fields that are not always there.
        const OPEN: [&str; 2] = ["/statuses", "/errors_per_second"];
        const OPTIONAL: [&str; 15] = [
            "group",
            "groups",
            "left_out",
            "kept",
            "counters",
            "timings",
            "gauges",
            "capacity",
            "abort_after_us",
            "min_grade",
            "regraded",
            "comparison",
            "needs",
            "permits",
            "offline",
        ];
        let validator = jsonschema::draft202012::new(&schema()).unwrap();
        for wanted in [
            "failed",
            "sender",
            "own_metrics",
            "grouped",
            "partly_run",
            "search",
            "doomed",
            "compared",
            "refused",
            "absent",
            "graded_too_low",
            "kept",
        ] {
            let mut reports = sample::all().into_iter();
            let (_, report) = reports.find(|(name, _)| *name == wanted).unwrap();
            let mut value = parsed(&report);
            // One point says what all say, and each further one takes its time.
            for card in value["cards"].as_array_mut().unwrap() {
                card["course"]["points"].as_array_mut().unwrap().truncate(2);
                card["spectrum"].as_array_mut().unwrap().truncate(1);
                card["slowest"].as_array_mut().unwrap().truncate(1);
            }
            let mut found = Vec::new();
            objects(&value, String::new(), &mut found);
            found.retain(|at| !OPEN.iter().any(|open| at.ends_with(open)));
            assert!(found.len() > 10, "{wanted}: {found:?}");
            for at in found {
                let fields = value.pointer(&at).unwrap().as_object().unwrap().clone();
                // Changed in its place and back: copies of the whole take most of the time.
                let mut with = |changed: serde_json::Map<String, Value>| {
                    *value.pointer_mut(&at).unwrap() = Value::Object(changed);
                    let is_valid = validator.is_valid(&value);
                    *value.pointer_mut(&at).unwrap() = Value::Object(fields.clone());
                    is_valid
                };
                assert!(with(fields.clone()), "{wanted}: {at} as it is");
                let mut more = fields.clone();
                more.insert("more".to_owned(), Value::Null);
                assert!(!with(more), "{wanted}: a field more at {at}");
                let is_optional = |key: &str| {
                    OPTIONAL.contains(&key) || (key == "observed" && at.ends_with("/comparison"))
                };
                for key in fields.keys().filter(|key| !is_optional(key)) {
                    let mut less = fields.clone();
                    less.remove(key);
                    assert!(!with(less), "{wanted}: {at} without `{key}`");
                }
            }
        }
    }

    /// Every field is described, and a number has its unit.
    pub(crate) fn check_words(schema: &Value, at: &str) {
        let Some(fields) = schema.as_object() else {
            return;
        };
        for (name, field) in fields
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let words = field["description"].as_str().unwrap_or_default();
            assert!(words.ends_with('.'), "{at}/{name} is not described");
            if name.ends_with("_us") {
                assert!(words.contains("in microseconds"), "{at}/{name}: {words}");
            }
            assert!(field.get("unevaluatedProperties").is_none());
        }
        if fields.contains_key("properties") {
            assert_eq!(fields["additionalProperties"], false, "{at}");
        }
        for (name, part) in fields {
            match part {
                Value::Array(parts) => parts.iter().for_each(|part| check_words(part, at)),
                part => check_words(part, &format!("{at}/{name}")),
            }
        }
    }

    #[test]
    fn every_field_is_described_and_a_number_has_its_unit() {
        check_words(&schema(), "");
    }

    #[test]
    fn every_figure_of_the_card_is_there_with_its_unit() {
        let json: Value = serde_json::from_str(&render(&sample::failed())).unwrap();
        assert_eq!(json["exit_code"], 99);
        let card = &json["cards"][0];
        assert_eq!(card["verdict"], "failed");
        assert_eq!(card["steps"][0]["grade"]["letter"], "B+");
        assert_eq!(card["steps"][0]["grade"]["version"], 2);
        assert!(card["headline"]["time"]["p95_us"].as_u64().unwrap() > 1_000);
        assert_eq!(card["dependency_failures"][0]["cause"], "failed");
        assert_eq!(card["errors"][0]["kind"], "status");
    }

    #[test]
    fn what_was_kept_or_left_out_is_there_where_something_was() {
        let mut report = sample::failed();
        let step = &mut report.cards[0].steps[0];
        (step.kept, step.left_out) = (4, 2);
        let json: Value = serde_json::from_str(&render(&report)).unwrap();
        let steps = &json["cards"][0]["steps"];
        assert_eq!(
            (&steps[0]["kept"], &steps[0]["left_out"]),
            (&4.into(), &2.into())
        );
        assert!(steps[1].get("kept").is_none() && steps[1].get("left_out").is_none());
    }

    #[test]
    fn the_requests_of_a_step_that_sends_for_itself_are_there() {
        let json: Value = serde_json::from_str(&render(&sample::sender())).unwrap();
        let rows = &json["cards"][0]["steps"][4]["inner"];
        assert_eq!(rows[0]["name"], "GET /orders/{}");
        assert_eq!(rows[0]["requests"], 200);
        assert!(rows[0]["service"]["p95_us"].as_u64().unwrap() > 180_000);
        assert_eq!(rows[1]["failed"], 2);
        assert_eq!(rows[1]["statuses"]["404"], 1);
    }

    #[test]
    fn what_the_scenario_counted_and_timed_is_there() {
        let json: Value = serde_json::from_str(&render(&sample::own_metrics())).unwrap();
        let card = &json["cards"][0];
        assert_eq!(
            card["counters"],
            serde_json::json!([{ "name": "sold_out", "count": 1_234, "per_second": 123.4 }])
        );
        let row = &card["timings"][0];
        assert_eq!(
            (&row["name"], &row["count"]),
            (&"queued".into(), &100.into())
        );
        assert_eq!(row["time"]["max_us"], 100_000);
    }

    #[test]
    fn what_keeps_a_run_from_passing_is_there_for_programs() {
        for (report, code, reasons) in [
            (sample::kept(), 0, vec![]),
            (sample::absent(), 0, vec![]),
            (
                sample::regressed(),
                99,
                vec![
                    ("regression", None),
                    ("regression", Some("create_order")),
                    ("regression", Some("create_order")),
                    ("regression", Some("create_order")),
                ],
            ),
            (
                sample::refused(),
                99,
                vec![("not_compared", None), ("not_compared", None)],
            ),
            (sample::graded_too_low(), 99, vec![("min_grade", None)]),
            (sample::interrupted(), 105, vec![("interrupted", None)]),
        ] {
            let json: Value = serde_json::from_str(&render(&report)).unwrap();
            assert_eq!(json["exit_code"], code);
            let found: Vec<_> = json["cards"][0]["reasons"]
                .as_array()
                .unwrap()
                .iter()
                .map(|reason| {
                    assert!(!reason["words"].as_str().unwrap().is_empty());
                    (reason["kind"].as_str().unwrap(), reason["step"].as_str())
                })
                .collect();
            assert_eq!(found, reasons);
        }
    }

    #[test]
    fn what_a_run_was_graded_anew_by_is_there() {
        let validator = jsonschema::draft202012::new(&schema()).unwrap();
        let mut report = sample::graded_too_low();
        report.cards[0].regraded = Some(loadtest_model::plan::GradingDefaults {
            min_grade: report.cards[0].min_grade,
            ..Default::default()
        });
        let json: Value = serde_json::from_str(&render(&report)).unwrap();
        assert_eq!(mistakes(&validator, &json), [""; 0]);
        assert_eq!(json["cards"][0]["regraded"]["min_grade"], "A");
        assert_eq!(json["cards"][0]["min_grade"], "A");
    }

    #[test]
    fn what_did_not_run_is_there() {
        let json: Value = serde_json::from_str(&render(&sample::nothing_run())).unwrap();
        assert_eq!(json["exit_code"], 100);
        assert_eq!(json["not_run"][0]["scenario"], "shop::load::pay");
    }
}
