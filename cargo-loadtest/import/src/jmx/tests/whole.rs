//! What holds for every plan: no request, no pause and no property of it is lost in silence.

use super::*;
use crate::jmx::element::{Element, PlanItem, is_default, pair_items, read_plan};
use std::time::Duration;

const PARTS: &str = include_str!("../../../../../tests/fixtures/import/jmx/parts.jmx");
const PLANS: [&str; 3] = [SHOP, CODE, PARTS];

#[test]
fn parts_that_some_journeys_have_are_taken_where_they_stand() {
    insta::assert_snapshot!(format!(
        "{}\n{}",
        warnings(PARTS).join("\n"),
        written(PARTS)
    ));
}

/// Requests and milliseconds of pauses of a plan: each timer is one before each sampler at its level and below.
fn count(items: &[PlanItem<'_>], around: f64) -> (usize, f64) {
    let number = |element: &Element, name: &str| element.text_of(name).parse().unwrap_or(0.0);
    let pause = |item: &PlanItem<'_>| {
        let element = item.element;
        let (delay, range) = (
            number(element, "ConstantTimer.delay"),
            number(element, "RandomTimer.range"),
        );
        match element.class() {
            "ConstantTimer" | "GaussianRandomTimer" => delay,
            "UniformRandomTimer" => delay + range / 2.0,
            _ => 0.0,
        }
    };
    let around = around + items.iter().map(pause).sum::<f64>();
    let (mut requests, mut pauses) = (0, 0.0);
    for item in items.iter().filter(|item| item.element.is_enabled()) {
        let element = item.element;
        let class = element.class();
        // Of shares, a pause is as rare as its request.
        let (more, longer) = match class {
            "ModuleController" => count(&module().items, around),
            "TestFragmentController" => (0, 0.0),
            _ => count(&item.items, around),
        };
        let own = item.items.iter().map(pause).sum::<f64>();
        let times = match class {
            "LoopController" => number(element, "LoopController.loops"),
            "ThroughputController"
                if element.text_of("ThroughputController.percentThroughput") == "0.0" =>
            {
                0.0
            }
            _ => 1.0,
        };
        let is_request = class == "HTTPSamplerProxy";
        if is_request
            || class.ends_with("Sampler")
            || class == "TestAction"
            || class == "JDBCRequest"
        {
            requests += usize::from(is_request);
            pauses += around + own + number(element, "ActionProcessor.duration");
        } else {
            requests += more * times as usize;
            pauses += longer * times;
        }
    }
    (requests, pauses)
}

/// The only fragment that a module of these plans names.
fn module() -> PlanItem<'static> {
    let root: &'static Element = Box::leak(Box::new(read_plan(&Input::new("", PARTS)).unwrap()));
    let plan = pair_items(&root.children[0]).remove(0);
    let mut items = plan.items.into_iter();
    items
        .find(|item| item.element.title() == "Fragment")
        .unwrap()
}

#[test]
fn requests_and_pauses_of_a_plan_are_those_of_its_scenarios() {
    for text in PLANS {
        let input = Input::new("plan.jmx", text);
        let root = read_plan(&input).unwrap();
        let (requests, pauses) = count(&pair_items(&root.children[0]), 0.0);
        let recording = read_jmx(&input).unwrap();
        assert_eq!(recording.exchanges.len(), requests);
        let thinks = recording.exchanges.iter();
        let thinks = thinks.filter_map(|exchange| exchange.settings.think);
        let sum: Duration = thinks.map(|think| think.mean()).sum();
        assert_eq!(sum, Duration::from_secs_f64(pauses / 1e3));
    }
}

/// Properties whose other values mean the same in these plans: any key of one group, a body without names, the name of the
/// tree.
const SAME: [&str; 3] = ["shareMode", "HTTPSampler.postBodyRaw", "1"];

/// The places of the values of properties, but for those that change nothing, and those of elements that are left out.
fn values(items: &[PlanItem<'_>], recording: &Recording, text: &str) -> Vec<Span> {
    let mut found = Vec::new();
    let is_left = |item: &&PlanItem<'_>| {
        let element = item.element;
        let mut dropped = recording.dropped.iter();
        element.is_enabled() && element.is_read() && dropped.all(|one| one.span != element.span)
    };
    for item in items.iter().filter(is_left) {
        let mut open: Vec<&Element> = item.element.children.iter().collect();
        while let Some(element) = open.pop() {
            open.extend(&element.children);
            let name = element.attribute("name");
            let start = element.span.start + text[element.span.start..].find('>').unwrap() + 1;
            let place = start..start + text[start..].find('<').unwrap();
            let is_leaf = element.children.is_empty() && element.tag.ends_with("Prop");
            let is_empty = text[place.clone()].trim().is_empty();
            if is_leaf && !is_empty && !is_default(name, "odd") && !SAME.contains(&name) {
                found.push(place);
            }
        }
        found.extend(values(&item.items, recording, text));
    }
    found
}

#[test]
fn every_property_of_a_plan_is_used_or_named() {
    let mut lost = Vec::new();
    for text in PLANS {
        let whole = |text: &str| {
            let is_read = read_jmx(&Input::new("plan.jmx", text)).is_ok();
            is_read.then(|| (warnings(text), written(text)))
        };
        let usual = whole(text);
        let input = Input::new("plan.jmx", text);
        let root = read_plan(&input).unwrap();
        let items = pair_items(&root.children[0]);
        let mut reader = PlanReader::new(&items);
        reader.run_plan();
        reader.note_unread();
        let found = values(&items, &reader.migration.recording, text);
        assert!(found.len() > 30);
        for place in found {
            let other = match &text[place.clone()] {
                "true" => "false",
                "false" => "true",
                _ => "odd",
            };
            let mut changed = text.to_owned();
            changed.replace_range(place.clone(), other);
            if whole(&changed) == usual {
                lost.push(text[place.start - 60..place.end].to_owned());
            }
        }
    }
    assert_eq!(lost, [""; 0]);
}
