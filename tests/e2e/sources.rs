//! What the tool reads in source files is what the compiled load tests declare.

use crate::call::{Call, tool};
use crate::shop::shop;
use crate::site::site;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::definition::{ScenarioDef, StepDef, Think};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        the_source_of_every_fixture_reads_as_it_is_compiled,
        the_source_of_the_shop_reads_as_it_is_compiled,
    ]
}

fn the_source_of_every_fixture_reads_as_it_is_compiled() {
    let project = site();
    let call = project.tool("list", "--format json");
    let (scenarios, options) = compare_all(call, project.root());
    assert!(scenarios > 30, "{scenarios}");
    assert!(options > 60, "{options}");
}

fn the_source_of_the_shop_reads_as_it_is_compiled() {
    let shop = shop("read_shop");
    let call = shop.tool("list", "--format json");
    let (scenarios, options) = compare_all(call, shop.root());
    assert_eq!(scenarios, 3);
    assert!(options > 20, "{options}");
}

/// Compares each scenario that is listed with its source; returns how many there were, and how many options.
fn compare_all(list: Call, root: &Path) -> (usize, usize) {
    let listed = list.run().exits(0);
    let listed: Vec<ScenarioDef> = serde_json::from_str(&listed.stdout).expect("a list");
    let mut files: BTreeMap<String, Value> = BTreeMap::new();
    let (mut scenarios, mut options) = (0, 0);
    for definition in &listed {
        let file = files.entry(definition.file.to_string()).or_insert_with(|| {
            let path = root.join(&*definition.file);
            let shown = Call::program(tool(), root).arg("__source").arg(path);
            serde_json::from_str(&shown.run().exits(0).stdout).expect("JSON")
        });
        let all = file["scenarios"].as_array().expect("scenarios");
        let is_same = |source: &&Value| source["line"] == definition.line;
        // a macro made the others
        let Some(source) = all.iter().find(is_same) else {
            continue;
        };
        assert_eq!(source["function"], *definition.function);
        assert_eq!(
            read_description(source),
            read_lines(&definition.description)
        );
        scenarios += 1;
        options += compare_scenario(source, definition);
    }
    (scenarios, options)
}

fn read_description(source: &Value) -> Vec<&str> {
    read_lines(source["description"]["text"].as_str().expect("a text"))
}

/// The lines of a text without blank ones, which a definition does not keep.
fn read_lines(text: &str) -> Vec<&str> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty()).collect()
}

fn compare_scenario(source: &Value, definition: &ScenarioDef) -> usize {
    let mut compared = 0;
    for option in options_of(source) {
        let value = &option["value"];
        match option["key"].as_str() {
            Some("name") => assert_eq!(value["text"], *definition.name),
            Some("base") => assert_eq!(value["text"].as_str(), definition.base.as_deref()),
            Some("version") => assert_eq!(value["text"].as_str(), definition.version.as_deref()),
            Some("tags") => {
                let tags = value["texts"].as_array().expect("tags");
                let has = |tag: &Value| definition.tags.iter().any(|other| *tag == **other);
                assert!(tags.iter().all(has), "{option}");
            }
            _ => continue,
        }
        compared += 1;
    }
    let parts = source["parts"].as_array().expect("parts");
    let is_step = |part: &&Value| part["role"] == "step";
    let names = parts.iter().filter(is_step).map(|part| &part["name"]);
    let names: Vec<&str> = names.filter_map(Value::as_str).collect();
    for part in parts.iter().filter(is_step) {
        let is_same = |step: &&StepDef| part["line"] == step.line;
        let step = definition.steps.iter().find(is_same);
        let step = step.unwrap_or_else(|| panic!("{} {part}", definition.name));
        compared += compare_step(part, step, &names);
    }
    let of_groups = parts.iter().any(|part| part["role"] == "group");
    let steps = parts.iter().filter(is_step).count();
    assert!(
        steps == definition.steps.len() || of_groups,
        "{}",
        definition.name
    );
    compared
}

fn options_of(source: &Value) -> impl Iterator<Item = &Value> {
    source["options"].as_array().expect("options").iter()
}

fn compare_step(source: &Value, step: &StepDef, names: &[&str]) -> usize {
    let mut compared = 0;
    assert_eq!(read_description(source), read_lines(&step.description));
    assert_eq!(source["is_async"], step.sends_itself);
    let has = |key: &str| options_of(source).any(|option| option["key"] == key);
    assert_eq!(
        (has("once"), has("last")),
        (step.once, step.last),
        "{source}"
    );
    if !has("name") {
        assert_eq!(source["name"], *step.name);
    }
    if !has("weight") {
        assert!(step.weight >= 1.0 || has("one_of"), "{source}");
    }
    for option in options_of(source) {
        let value = &option["value"];
        if value.is_null() {
            assert!(option["locked"].is_string(), "{option}");
            continue;
        }
        let text = |value: &Value| name_steps(value.as_str().expect("a text"), names);
        match text(&option["key"]).as_str() {
            "name" => assert_eq!(value["text"], *step.name),
            "request" => {
                let request = &value["request"];
                let method = text(&request["method"]).to_uppercase();
                assert_eq!(step.method.as_deref(), Some(method.as_str()));
                let url = step.url.as_deref().expect("a URL");
                assert!(
                    text(&request["url"]) == url || url.contains("[redacted]"),
                    "{option} {url}"
                );
            }
            "header" => has_header(step, &text(&value["pair"][0]), &text(&value["pair"][1])),
            "bearer" => has_header(
                step,
                "authorization",
                &format!("Bearer {}", text(&value["text"])),
            ),
            "expect" => assert_eq!(
                read_statuses(&text(&value["source"])),
                expected(step),
                "{option}"
            ),
            "weight" if !has("one_of") => {
                let weight = read_weight(&text(&value["source"]));
                assert!((weight - step.weight).abs() < 1e-9, "{option}");
            }
            "think" => assert_eq!(
                read_think(&text(&value["source"])),
                think_of(step),
                "{option}"
            ),
            "once" | "last" | "stop_on_failure" => assert_eq!(*value, "flag"),
            _ => continue,
        }
        compared += 1;
    }
    compared
}

/// The text with names in the place of numbers of steps, as a definition has it.
fn name_steps(text: &str, names: &[&str]) -> String {
    let text = text.replace("{{ ", "{{").replace(" }}", "}}");
    let numbered = names.iter().enumerate();
    numbered.fold(text, |text, (number, name)| {
        text.replace(&format!("{{{{step{}.", number + 1), &format!("{{{{{name}."))
    })
}

#[track_caller]
fn has_header(step: &StepDef, name: &str, value: &str) {
    let is_same = |shown: &str| shown == value || shown.contains("[redacted]");
    let mut headers = step.headers.iter();
    let name = name.to_lowercase();
    let found = headers.any(|header| header.name == name && is_same(&header.value));
    assert!(found, "{name}: {value} {:?}", step.headers);
}

fn expected(step: &StepDef) -> Vec<(u16, u16)> {
    step.expect
        .0
        .iter()
        .map(|range| (range.from, range.to))
        .collect()
}

/// `2xx | 404 | 200..300` as ranges.
fn read_statuses(text: &str) -> Vec<(u16, u16)> {
    let number = |text: &str| text.trim().parse::<u16>().expect("a status");
    let range = |text: &str| {
        let text = text.trim();
        if let Some(class) = text.strip_suffix("xx") {
            let from = 100 * number(class);
            (from, from + 99)
        } else if let Some((from, to)) = text.split_once("..=") {
            (number(from), number(to))
        } else if let Some((from, to)) = text.split_once("..") {
            (number(from), number(to) - 1)
        } else {
            (number(text), number(text))
        }
    };
    text.split('|').map(range).collect()
}

/// `0.8`, `80%` or `4/5` as a share of one.
fn read_weight(text: &str) -> f64 {
    let number = |text: &str| text.trim().parse::<f64>().expect("a number");
    match (text.strip_suffix('%'), text.split_once('/')) {
        (Some(percent), _) => number(percent) / 100.0,
        (_, Some((parts, all))) => number(parts) / number(all),
        _ => number(text),
    }
}

/// `500ms..2s` as two times; nothing for a law.
fn read_think(text: &str) -> Option<(Duration, Duration)> {
    let units = [
        ("us", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
        ("m", 60.0),
        ("h", 3600.0),
    ];
    let time = |text: &str| {
        let text = text.trim();
        let (number, unit) = text.split_at(text.find(|c: char| c.is_alphabetic())?);
        let (_, seconds) = units.iter().find(|(name, _)| *name == unit)?;
        Some(Duration::from_secs_f64(
            number.parse::<f64>().ok()? * seconds,
        ))
    };
    let (min, max) = text.split_once("..").unwrap_or((text, text));
    Some((time(min)?, time(max)?))
}

fn think_of(step: &StepDef) -> Option<(Duration, Duration)> {
    match step.think {
        Some(Think::Uniform { min, max }) => Some((min, max)),
        _ => None,
    }
}
