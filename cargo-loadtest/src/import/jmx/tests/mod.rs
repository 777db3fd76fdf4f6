//! Plans as the scenarios that are written of them.

use super::*;
use crate::import::source::Span;
use crate::import::{hide_secrets, write_source};

const SHOP: &str = include_str!("../../../../../tests/fixtures/import/jmx/shop.jmx");
const CODE: &str = include_str!("../../../../../tests/fixtures/import/jmx/code.jmx");

/// The scenarios of a plan.
fn written(text: &str) -> String {
    let input = Input::new("plan.jmx", text);
    let mut recording = read_jmx(&input).unwrap();
    hide_secrets(&mut recording);
    write_source(&recording, &input, "jmx").source
}

/// The warnings of a plan, and the parts that are code.
fn warnings(text: &str) -> Vec<String> {
    let input = Input::new("plan.jmx", text);
    let recording = read_jmx(&input).unwrap();
    let place = |span: &Span| {
        let (line, column) = input.place(span.start);
        format!("{line}:{column}")
    };
    let notes = recording.notes.iter();
    let notes = notes.map(|note| format!("{} {}", place(&note.span), note.words));
    let code = recording.code.iter();
    let code = code.map(|part| format!("{} {} is code", place(&part.span), part.what));
    notes.chain(code).collect()
}

/// A plan of one group of threads with these properties, and these elements in it.
fn plan(group: &str, items: &str) -> String {
    format!(
        "<jmeterTestPlan><hashTree><TestPlan testname=\"Test Plan\"/><hashTree>{group}<hashTree>{items}</hashTree></hashTree></hashTree></jmeterTestPlan>"
    )
}

fn property(name: &str, value: &str) -> String {
    format!("<stringProp name=\"{name}\">{value}</stringProp>")
}

/// A group of threads.
fn threads(properties: &[(&str, &str)]) -> String {
    let properties: String = properties
        .iter()
        .map(|(name, value)| property(name, value))
        .collect();
    format!("<ThreadGroup testname=\"Users\">{properties}</ThreadGroup>")
}

/// A request to a path, with these elements below it.
fn request(path: &str, below: &str) -> String {
    let parts = property("HTTPSampler.domain", "h") + &property("HTTPSampler.path", path);
    format!("<HTTPSamplerProxy>{parts}</HTTPSamplerProxy><hashTree>{below}</hashTree>")
}

#[test]
fn what_is_data_in_a_plan_becomes_a_scenario() {
    insta::assert_snapshot!(format!("{}\n{}", warnings(SHOP).join("\n"), written(SHOP)));
}

#[test]
fn what_is_code_in_a_plan_is_left_as_a_comment() {
    insta::assert_snapshot!(format!("{}\n{}", warnings(CODE).join("\n"), written(CODE)));
}

#[test]
fn loads_are_those_of_the_groups() {
    let loops = |loops: &str| {
        format!(
            "<ThreadGroup testname=\"Users\"><stringProp name=\"ThreadGroup.num_threads\">4</stringProp>\
             <elementProp name=\"ThreadGroup.main_controller\">{}</elementProp></ThreadGroup>",
            property("LoopController.loops", loops)
        )
    };
    let duration = |ramp: &str, duration: &str| {
        threads(&[
            ("ThreadGroup.num_threads", "${__P(users,4)}"),
            ("ThreadGroup.ramp_time", ramp),
            ("ThreadGroup.scheduler", "true"),
            ("ThreadGroup.duration", duration),
        ])
    };
    let other = |class: &str, properties: &[(&str, &str)]| {
        let properties: String = properties
            .iter()
            .map(|(name, value)| property(name, value))
            .collect();
        format!(
            "<com.blazemeter.{class} testclass=\"com.blazemeter.{class}\" testname=\"Users\">{properties}</com.blazemeter.{class}>"
        )
    };
    for (group, load) in [
        (loops("3"), "load = iterations(3/user, users = 4)"),
        (loops("-1"), "load = users(4, for = 10m)"),
        (
            duration("10", "90"),
            "load = users(4, ramp_up = 10s, for = 90s)",
        ),
        (duration("90", "90"), "load = [users(0 -> 4, for = 90s)]"),
        (
            other(
                "ConcurrencyThreadGroup",
                &[
                    ("TargetLevel", "8"),
                    ("RampUp", "1"),
                    ("Hold", "2"),
                    ("Unit", "M"),
                ],
            ),
            "load = [users(0 -> 8, for = 1m), users(8, for = 2m)]",
        ),
        (
            other(
                "ArrivalsThreadGroup",
                &[
                    ("TargetLevel", "120"),
                    ("RampUp", "30"),
                    ("Hold", "60"),
                    ("Unit", "S"),
                ],
            ),
            "load = [rate(0/s -> 120/s, for = 30s), rate(120/s, for = 1m)]",
        ),
    ] {
        let source = written(&plan(&group, &request("/a", "")));
        let source = source.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(source.contains(load), "{load}\n{source}");
    }
}

#[test]
fn variables_and_functions_have_values() {
    let group = threads(&[("ThreadGroup.num_threads", "1")]);
    let variables = "<Arguments><collectionProp name=\"Arguments.arguments\"><elementProp name=\"id\">\
                     <stringProp name=\"Argument.name\">id</stringProp><stringProp name=\"Argument.value\">7${tail}</stringProp>\
                     </elementProp><elementProp name=\"tail\"><stringProp name=\"Argument.name\">tail</stringProp>\
                     <stringProp name=\"Argument.value\">1</stringProp></elementProp></collectionProp></Arguments>";
    for (value, written_as) in [
        ("${id}", "71"),
        ("${__P(id,9)}", "9"),
        ("${__P(id)}", "{{secret.ID}}"),
        ("${__UUID}", "{{vu.uuid}}"),
        ("${__time()}", "{{vu.now.unix_ms}}"),
        ("${__time(/1000,)}", "{{vu.now.unix}}"),
        ("${__threadNum}", "{{vu.id}}"),
        ("${__Random(1,9)}", "{{number}}"),
        ("${other}", "{{OTHER}}"),
        ("${__groovy(1 + 1)}", "{{GROOVY_1_1}}"),
    ] {
        let source = written(&plan(
            &group,
            &format!("{variables}{}", request(&format!("/a/{value}"), "")),
        ));
        assert!(
            source.contains(&format!("get = \"/a/{written_as}\"")),
            "{value}\n{source}"
        );
    }
}

#[test]
fn a_throughput_of_all_threads_is_a_rate() {
    let group = threads(&[
        ("ThreadGroup.num_threads", "9"),
        ("ThreadGroup.scheduler", "true"),
        ("ThreadGroup.duration", "60"),
    ]);
    let timer = "<ConstantThroughputTimer><intProp name=\"calcMode\">1</intProp><doubleProp><name>throughput</name>\
                 <value>600.0</value></doubleProp></ConstantThroughputTimer>";
    let items = format!("{timer}{}{}", request("/a", ""), request("/b", ""));
    let source = written(&plan(&group, &items));
    assert!(
        source.contains("load = rate(5/s, for = 1m, max_users = 9)"),
        "{source}"
    );
}

#[test]
fn a_disabled_group_is_left_out_and_counted() {
    let group = threads(&[("ThreadGroup.num_threads", "1")]);
    let off = request("/off", "").replace(
        "<HTTPSamplerProxy>",
        "<HTTPSamplerProxy testname=\"Off\" enabled=\"false\">",
    );
    let text = plan(&group, &format!("{}{off}", request("/a", "")));
    let source = written(&text);
    assert!(
        !source.contains("/off") && source.contains("1 request is left out: disabled"),
        "{source}"
    );
    assert!(
        warnings(&text)
            .iter()
            .any(|words| words.contains("1 disabled element is left out"))
    );
}
