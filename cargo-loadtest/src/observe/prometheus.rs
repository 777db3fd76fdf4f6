//! Range queries of Prometheus: the question and its answer.

use serde::Deserialize;
use std::collections::BTreeMap;
use url::Url;

/// The most seconds of one question; Prometheus refuses more than 11,000 points.
pub(super) const LONGEST_RANGE: u64 = 10_000;

/// A series of an answer: its labels, and its values by second.
#[derive(Debug, PartialEq)]
pub(super) struct RangeSeries {
    pub(super) labels: BTreeMap<String, String>,
    pub(super) values: Vec<(f64, f64)>,
}

#[derive(Deserialize)]
struct QueryAnswer {
    data: Option<AnswerData>,
}

#[derive(Deserialize)]
struct AnswerData {
    #[serde(default)]
    result: Vec<AnswerSeries>,
}

#[derive(Deserialize)]
struct AnswerSeries {
    #[serde(default)]
    metric: BTreeMap<String, String>,
    #[serde(default)]
    values: Vec<(f64, String)>,
}

/// Returns the URL that asks a server for the values of a query, a point a second.
pub(super) fn range_url(server: &Url, query: &str, from: u64, until: u64) -> Url {
    let mut url = server.clone();
    let path = server.path().trim_end_matches('/');
    url.set_path(&format!("{path}/api/v1/query_range"));
    url.query_pairs_mut()
        .append_pair("query", query)
        .append_pair("start", &from.to_string())
        .append_pair("end", &until.to_string())
        .append_pair("step", "1");
    url
}

/// Reads an answer; values that are no finite numbers are left out.
///
/// # Errors
/// When it is no answer to a range query.
pub(super) fn parse_range(text: &str) -> Result<Vec<RangeSeries>, String> {
    let answer: Option<QueryAnswer> = serde_json::from_str(text).ok();
    let data = answer.and_then(|answer| answer.data);
    let data = data.ok_or("its answer is not in the format of Prometheus")?;
    let series = data.result.into_iter().map(|series| {
        let values = series.values.into_iter();
        let values = values.filter_map(|(time, value)| Some((time, value.parse().ok()?)));
        RangeSeries {
            labels: series.metric,
            values: values
                .filter(|(time, value): &(f64, f64)| time.is_finite() && value.is_finite())
                .collect(),
        }
    });
    Ok(series.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_keeps_the_path_of_the_server_and_escapes_the_query() {
        let ask = |server: &str| {
            let server = Url::parse(server).unwrap();
            range_url(&server, "sum(a{b=\"c&d\"})", 10, 15).to_string()
        };
        let question =
            "/api/v1/query_range?query=sum%28a%7Bb%3D%22c%26d%22%7D%29&start=10&end=15&step=1";
        assert_eq!(
            ask("http://127.0.0.1:9090"),
            format!("http://127.0.0.1:9090{question}")
        );
        assert_eq!(
            ask("https://mimir.example.com/prometheus/"),
            format!("https://mimir.example.com/prometheus{question}")
        );
    }

    const ANSWER: &str = r#"{"status":"success","data":{"resultType":"matrix","result":[
        {"metric":{"instance":"a"},"values":[[10,"1.5"],[11.5,"NaN"],[12,"+Inf"],[13,"2e3"]]},
        {"metric":{},"values":[]}]}}"#;

    #[test]
    fn an_answer_has_the_finite_values_of_each_series() {
        let series = parse_range(ANSWER).unwrap();
        assert_eq!(series[0].labels["instance"], "a");
        assert_eq!(series[0].values, [(10.0, 1.5), (13.0, 2_000.0)]);
        assert_eq!(series[1].values, []);
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for text in ["", "[]", "<html>", r#"{"status":"error","error":"hush"}"#] {
            let error = parse_range(text).unwrap_err();
            assert_eq!(
                error, "its answer is not in the format of Prometheus",
                "{text}"
            );
        }
        loadtest_tests::fuzz::fuzz_texts([ANSWER], |text| {
            let _ = parse_range(text);
        });
    }
}
