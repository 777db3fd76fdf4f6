//! Plans as the scenarios that are written of them.

mod whole;

use super::*;
use crate::source::Span;
use crate::{hide_secrets, write_source};

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

#[test]
fn groups_of_one_name_stay_apart() {
    let group = |users: &str, path: &str| {
        let group = threads(&[("ThreadGroup.num_threads", users)]);
        format!("{group}<hashTree>{}</hashTree>", request(path, ""))
    };
    let both = format!("{}{}", group("90", "/browse"), group("10", "/buy"));
    let text = plan("", "").replace("<hashTree></hashTree>", &both);
    let source = written(&text);
    for part in [
        "load = users(90, for = 10m)",
        "fn users() {\n    #[step(get = \"/browse\")]",
        "load = users(10, for = 10m)",
        "fn users_2() {\n    #[step(get = \"/buy\")]",
    ] {
        assert!(source.contains(part), "{part}\n{source}");
    }
    assert!(warnings(&text)[0].contains("run the scenarios with `--mix`"));
}

#[test]
fn a_pause_is_made_as_often_as_its_request() {
    let timer = |millis: &str| {
        format!(
            "<ConstantTimer>{}</ConstantTimer><hashTree/>",
            property("ConstantTimer.delay", millis)
        )
    };
    let share = |items: &str| {
        format!(
            "<ThroughputController>{}{}</ThroughputController><hashTree>{items}</hashTree>",
            property("ThroughputController.style", "1"),
            property("ThroughputController.percentThroughput", "50")
        )
    };
    let wait = format!(
        "<TestAction>{}{}</TestAction><hashTree/>",
        property("ActionProcessor.action", "1"),
        property("ActionProcessor.duration", "700")
    );
    let once = |items: &str| format!("<OnceOnlyController/><hashTree>{items}</hashTree>");
    let (a, b) = (request("/a", &timer("2000")), request("/b", ""));
    for (items, thinks) in [
        // In a loop, one before the first request follows the last one.
        (a.clone(), vec![2000]),
        (format!("{a}{b}"), vec![0, 2000]),
        (format!("{b}{a}"), vec![2000, 0]),
        (format!("{}{a}{b}", timer("100")), vec![100, 2100]),
        (format!("{b}{}", share(&a)), vec![0, 2000]),
        (
            format!("{b}{}{b}", share(&format!("{b}{wait}"))),
            vec![0, 700, 0],
        ),
        (format!("{b}{}", share(&format!("{wait}{b}"))), vec![0, 700]),
        (format!("{}{b}", once(&a)), vec![2000, 0]),
        (format!("{wait}{b}{wait}"), vec![1400]),
    ] {
        let text = plan(&threads(&[]), &items);
        let recording = read_jmx(&Input::new("plan.jmx", text)).unwrap();
        let exchanges = recording.exchanges.iter();
        let pauses = exchanges.map(|exchange| {
            let think = exchange.settings.think;
            think.map_or(0, |think| think.mean().as_millis())
        });
        assert_eq!(pauses.collect::<Vec<_>>(), thinks, "{items}");
    }
}

#[test]
fn an_error_ends_a_journey_where_it_ends_a_loop() {
    for (action, words) in [
        ("continue", None),
        ("startnextloop", None),
        ("stopthread", Some("an error ends the user in the plan")),
        ("stoptestnow", Some("an error ends the test in the plan")),
    ] {
        let group = threads(&[("ThreadGroup.on_sample_error", action)]);
        let text = plan(&group, &request("/a", ""));
        let source = written(&text);
        assert_eq!(
            source.contains("stop_on_failure"),
            action != "continue",
            "{source}"
        );
        let told = warnings(&text);
        let is_told = |words: &&str| told.iter().any(|told| told.contains(words));
        assert_eq!(
            words.is_some(),
            words.as_ref().is_some_and(is_told),
            "{told:?}"
        );
    }
}

#[test]
fn hosts_that_only_a_run_knows_stay_apart() {
    let to = |host: &str, path: &str| {
        request(path, "")
            .replace(">h<", &format!(">{host}<"))
            .replace(
                "</HTTPSamplerProxy>",
                &(property("HTTPSampler.protocol", "https") + "</HTTPSamplerProxy>"),
            )
    };
    let items = [
        to("login.${__P(stage)}.example", "/start"),
        to("pay.${__P(stage)}.example", "/pay"),
        to("login.${__P(stage)}.example", "/end"),
    ];
    let text = plan(&threads(&[]), &items.concat());
    let source = written(&text);
    for part in [
        "const PAY_STAGE_EXAMPLE: &str = \"https://pay.unknown.example\";",
        "base = \"http://127.0.0.1:8080\"",
        "get = \"/start\"",
        "get = \"{{PAY_STAGE_EXAMPLE}}/pay\"",
        "get = \"/end\"",
    ] {
        assert!(source.contains(part), "{part}\n{source}");
    }
    let told = warnings(&text).join("\n");
    assert!(
        told.contains("write it into the constant `PAY_STAGE_EXAMPLE`"),
        "{told}"
    );
    // The host of most requests is the base, whether it is known or not.
    let mixed = [items[0].clone(), items[2].clone(), to("cdn.example", "/x")];
    let source = written(&plan(&threads(&[]), &mixed.concat()));
    assert!(
        source.contains("get = \"https://cdn.example/x\""),
        "{source}"
    );
    assert!(
        source.contains("base = \"http://127.0.0.1:8080\""),
        "{source}"
    );
}

#[test]
fn a_number_beside_a_text_is_read_as_one() {
    let json = format!(
        "<JSONPostProcessor>{}{}</JSONPostProcessor><hashTree/>",
        property("JSONPostProcessor.referenceNames", "id"),
        property("JSONPostProcessor.jsonPathExprs", "$.id")
    );
    let between = format!(
        "<BoundaryExtractor>{}{}{}</BoundaryExtractor><hashTree/>",
        property("BoundaryExtractor.refname", "key"),
        property("BoundaryExtractor.lboundary", "key="),
        property("BoundaryExtractor.rboundary", ";")
    );
    let items = request("/a", &format!("{json}{between}")) + &request("/b/${id}/${key}", "");
    let source = written(&plan(&threads(&[]), &items));
    assert!(
        source.contains("value_text(answer.get(\"id\")?)?"),
        "{source}"
    );
}

#[test]
fn a_refusal_says_what_hides_the_requests() {
    for (items, words) in [
        (
            "<JSR223Sampler/><hashTree/>".to_owned(),
            ": `JSR223Sampler` is code",
        ),
        (
            request("/a", "").replace(
                "<HTTPSamplerProxy>",
                "<HTTPSamplerProxy testname=\"A\" enabled=\"false\">",
            ),
            ": `A` is disabled",
        ),
    ] {
        let mistake = read_jmx(&Input::new("plan.jmx", plan(&threads(&[]), &items))).unwrap_err();
        assert!(mistake.words.ends_with(words), "{mistake:?}");
    }
}
