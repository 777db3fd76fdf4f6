//! The card as data: every figure unrounded, its unit in its key.

use loadtest::card::Report;
use serde::Serialize;

/// The version of the shape of this export.
const SCHEMA_VERSION: u32 = 1;

#[derive(Serialize)]
struct Export<'a> {
    schema_version: u32,
    exit_code: u8,
    #[serde(flatten)]
    report: &'a Report,
}

/// The report as indented JSON.
pub(crate) fn render(report: &Report) -> String {
    let export = Export {
        schema_version: SCHEMA_VERSION,
        exit_code: report.exit_code(),
        report,
    };
    let mut json = serde_json::to_string_pretty(&export).expect("a card has no maps with odd keys");
    json.push('\n');
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::sample;

    #[test]
    fn every_figure_of_the_card_is_there_with_its_unit() {
        let json: serde_json::Value = serde_json::from_str(&render(&sample::failed())).unwrap();
        assert_eq!(json["exit_code"], 99);
        let card = &json["cards"][0];
        assert_eq!(card["verdict"], "failed");
        assert_eq!(card["steps"][0]["grade"]["letter"], "B+");
        assert_eq!(card["steps"][0]["grade"]["version"], 1);
        assert!(card["headline"]["time"]["p95_us"].as_u64().unwrap() > 1_000);
        assert_eq!(card["dependency_failures"][0]["cause"], "failed");
        assert_eq!(card["errors"][0]["kind"], "status");
    }

    #[test]
    fn what_was_kept_or_left_out_is_there_where_something_was() {
        let mut report = sample::failed();
        let step = &mut report.cards[0].steps[0];
        (step.kept, step.left_out) = (4, 2);
        let json: serde_json::Value = serde_json::from_str(&render(&report)).unwrap();
        let steps = &json["cards"][0]["steps"];
        assert_eq!(
            (&steps[0]["kept"], &steps[0]["left_out"]),
            (&4.into(), &2.into())
        );
        assert!(steps[1].get("kept").is_none() && steps[1].get("left_out").is_none());
    }

    #[test]
    fn the_requests_of_a_step_that_sends_for_itself_are_there() {
        let json: serde_json::Value = serde_json::from_str(&render(&sample::sender())).unwrap();
        let rows = &json["cards"][0]["steps"][4]["inner"];
        assert_eq!(rows[0]["name"], "GET /orders/{}");
        assert_eq!(rows[0]["requests"], 200);
        assert!(rows[0]["service"]["p95_us"].as_u64().unwrap() > 180_000);
        assert_eq!(rows[1]["failed"], 2);
        assert_eq!(rows[1]["statuses"]["404"], 1);
    }

    #[test]
    fn what_the_scenario_counted_and_timed_is_there() {
        let json: serde_json::Value =
            serde_json::from_str(&render(&sample::own_metrics())).unwrap();
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
    fn what_did_not_run_is_there() {
        let json: serde_json::Value =
            serde_json::from_str(&render(&sample::nothing_run())).unwrap();
        assert_eq!(json["exit_code"], 100);
        assert_eq!(json["not_run"][0]["scenario"], "shop::load::pay");
    }
}
