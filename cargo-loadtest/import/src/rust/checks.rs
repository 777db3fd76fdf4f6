//! Conditions on answers, as closures.

use super::layout::quote_code;
use super::types::Shape;
use crate::recording::{
    AnswerCheck, AnswerTest, Exchange, JsonTest, Key, Metric, MetricKind, MetricValue,
};
use serde_json::Value;
use std::fmt::Write as _;

/// Returns the type that the checks of an exchange need of its answer.
pub(super) fn checked_shape(exchange: &Exchange) -> Option<Shape> {
    let settings = &exchange.settings;
    let tests = settings.metrics.iter().flat_map(|metric| {
        let test = match &metric.value {
            MetricValue::Test(test) => Some(test),
            _ => None,
        };
        test.into_iter().chain(&metric.when)
    });
    let checks = settings.checks.iter();
    let checks = checks.chain(tests.flat_map(|test| &test.checks));
    let reads_json = |metric: &Metric| matches!(metric.value, MetricValue::Json(_));
    let reads_json = settings.metrics.iter().any(reads_json);
    let mut shape = reads_json.then_some(Shape::Any);
    for check in checks {
        match check {
            AnswerCheck::Json { .. } => shape = Some(Shape::Any),
            AnswerCheck::Text { .. } | AnswerCheck::Body(_) | AnswerCheck::NotEmpty => {
                shape.get_or_insert(Shape::Text);
            }
            _ => {}
        }
    }
    shape
}

/// Returns the checks of an exchange as options.
pub(super) fn render_checks(exchange: &Exchange, answer: Option<&Shape>) -> Vec<String> {
    let checks = exchange.settings.checks.iter();
    let rendered = checks.map(|check| format!("check = |answer| {}", render(check, answer)));
    rendered.collect()
}

fn render(check: &AnswerCheck, answer: Option<&Shape>) -> String {
    let on_text = |condition: String| {
        if answer == Some(&Shape::Text) {
            condition.replacen("text", "answer", 1)
        } else {
            format!("answer.text().is_ok_and(|text| {condition})")
        }
    };
    match check {
        AnswerCheck::Text { text, is_there } => {
            let not = if *is_there { "" } else { "!" };
            on_text(format!("{not}text.contains({})", quote_code(text)))
        }
        AnswerCheck::Body(body) if answer == Some(&Shape::Text) => {
            format!("answer.as_str() == {}", quote_code(body))
        }
        AnswerCheck::Body(body) => on_text(format!("text == {}", quote_code(body))),
        AnswerCheck::NotEmpty => on_text("!text.is_empty()".to_owned()),
        AnswerCheck::Json { path, test } => render_json(path, test),
        AnswerCheck::Header { name, text } if text.is_empty() => {
            format!("answer.headers().contains_key({})", quote_code(name))
        }
        AnswerCheck::Header { name, text } => {
            on_header(name, &format!("value.contains({})", quote_code(text)))
        }
        AnswerCheck::HeaderIs { name, text } => {
            on_header(name, &format!("value == {}", quote_code(text)))
        }
        AnswerCheck::Within(time) => {
            let millis = time.as_millis();
            format!("answer.time() < std::time::Duration::from_millis({millis})")
        }
    }
}

/// Writes a function that adds to the metrics of a step.
pub(super) fn write_metrics(
    source: &mut String,
    step: &str,
    exchange: &Exchange,
    answer: Option<&Shape>,
) {
    let metrics = &exchange.settings.metrics;
    if metrics.is_empty() {
        return;
    }
    let ty = answer.map_or_else(String::new, |shape| format!("<{}>", shape.type_name()));
    let _ = write!(
        source,
        "\n    #[check]\n    fn measure_{step}({step}: &Response{ty}, vu: &mut Vu) -> bool {{\n"
    );
    let mut body = String::new();
    for metric in metrics {
        let _ = writeln!(body, "        {}", render_metric(metric, answer));
    }
    let subject = Some("answer").filter(|name| body.contains(name));
    let subject = subject.unwrap_or("_");
    let _ = write!(
        source,
        "        let {subject} = {step};\n{body}        true\n    }}\n"
    );
}

fn render_metric(metric: &Metric, answer: Option<&Shape>) -> String {
    let name = quote_code(&metric.name);
    let add = |number: String| match metric.kind {
        MetricKind::Count => format!("vu.count({name}, {number});"),
        MetricKind::Gauge => format!("vu.gauge({name}, {number});"),
        MetricKind::Time => {
            format!("vu.time({name}, std::time::Duration::from_secs_f64({number} / 1e3));")
        }
    };
    let added = match (&metric.value, metric.kind) {
        (MetricValue::Number(number), MetricKind::Count) => add(number.to_string()),
        (MetricValue::Number(number), _) => add(format!("{number}.0")),
        (MetricValue::Time, MetricKind::Time) => format!("vu.time({name}, answer.time());"),
        (MetricValue::Time, _) => add("answer.time().as_secs_f64() * 1e3".to_owned()),
        (MetricValue::Json(path), _) => {
            let number = if metric.kind == MetricKind::Time {
                "number.max(0.0)"
            } else {
                "number"
            };
            let (place, add) = (render_place(path), add(number.to_owned()));
            format!("if let Some(number) = {place}.as_f64() {{ {add} }}")
        }
        (MetricValue::Test(test), MetricKind::Count) => {
            add(format!("u64::from({})", render_test(test, answer)))
        }
        (MetricValue::Test(test), _) => add(format!(
            "f64::from(u8::from({}))",
            render_test(test, answer)
        )),
    };
    match &metric.when {
        Some(test) => format!("if {} {{ {added} }}", render_test(test, answer)),
        None => added,
    }
}

fn render_test(test: &AnswerTest, answer: Option<&Shape>) -> String {
    let checks = test.checks.iter().map(|check| render(check, answer));
    let checks: Vec<String> = checks.collect();
    match (checks.join(" && "), test.holds) {
        (all, true) => all,
        (all, false) => format!("!({all})"),
    }
}

fn on_header(name: &str, condition: &str) -> String {
    let name = quote_code(name);
    format!(
        "answer.headers().get({name}).is_some_and(|value| value.to_str().is_ok_and(|value| {condition}))"
    )
}

/// Returns a value of the JSON of an answer.
fn render_place(path: &[Key]) -> String {
    let mut place = String::from(if path.is_empty() {
        "answer.body()"
    } else {
        "answer"
    });
    for key in path {
        let _ = match key {
            Key::Field(name) => write!(place, "[{}]", quote_code(name)),
            Key::Item(at) => write!(place, "[{at}]"),
        };
    }
    place
}

fn render_json(path: &[Key], test: &JsonTest) -> String {
    let place = render_place(path);
    match test {
        JsonTest::Is(Value::Null) => format!("{place}.is_null()"),
        JsonTest::Exists | JsonTest::IsNot(Value::Null) => format!("!{place}.is_null()"),
        JsonTest::Is(value) => format!("{} == {}", compared(&place, path), render_value(value)),
        JsonTest::IsNot(value) => {
            format!("{} != {}", compared(&place, path), render_value(value))
        }
        JsonTest::Compares {
            is_length: true,
            operator,
            number,
        } => format!(
            "{place}.as_array().map(Vec::len).or({place}.as_str().map(str::len))\
             .is_some_and(|length| length {operator} {number})"
        ),
        JsonTest::Compares {
            operator, number, ..
        } => {
            format!("{place}.as_f64().is_some_and(|number| number {operator} {number}_f64)")
        }
    }
}

fn compared(place: &str, path: &[Key]) -> String {
    let star = if path.is_empty() { "*" } else { "" };
    format!("{star}{place}")
}

fn render_value(value: &Value) -> String {
    match value {
        Value::String(text) => quote_code(text),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) if number.is_i64() => format!("{number}_i64"),
        Value::Number(number) if number.is_u64() => format!("{number}_u64"),
        Value::Number(number) => format!("{number}_f64"),
        other => format!("json!({other})"),
    }
}
