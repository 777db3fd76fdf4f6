//! What a scenario, a step or a run is, field by field, in words that can be set beside one another.
//!
//! Each list takes its definition apart completely, so that a field which is new is not forgotten.

use crate::commands::words;
use loadtest_model::card::view;
use loadtest_model::definition::Letter;
use loadtest_model::definition::{BodyDef, BodyKind, ScenarioDef, StepDef, Threshold};
use loadtest_model::plan::{Plan, ScopedThreshold};
use loadtest_model::record::ScenarioRecord;
use std::time::Duration;

/// How the fields begin that are about the grading of each step.
pub(super) const GRADING: &str = "grading of";
/// How those begin that are about the conditions of a run.
pub(super) const IN_FORCE: &str = "thresholds in force";

/// A field and its value; what is not declared is no fact.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) field: String,
    pub(super) value: String,
}

/// Facts in their order.
#[derive(Default)]
struct Facts(Vec<Fact>);

impl Facts {
    fn add(&mut self, field: impl Into<String>, value: impl Into<String>) {
        let (field, value) = (field.into(), value.into());
        if !value.is_empty() {
            self.0.push(Fact { field, value });
        }
    }

    fn maybe(&mut self, field: &str, value: Option<impl Into<String>>) {
        if let Some(value) = value {
            self.add(field, value);
        }
    }

    fn when(&mut self, field: &str, holds: bool) {
        if holds {
            self.add(field, "yes");
        }
    }

    /// What both scenarios and steps may say of their grade.
    fn grading(&mut self, apdex: Option<Duration>, budget: Option<f64>, weight: Option<f64>) {
        self.maybe("apdex", apdex.map(view::span));
        self.maybe("budget", budget.map(view::exact_percent));
        self.maybe("grade_weight", weight.map(|weight| weight.to_string()));
    }
}

/// What a scenario declares, steps apart.
pub(super) fn of_scenario(scenario: &ScenarioDef) -> Vec<Fact> {
    let ScenarioDef {
        name,
        // Who it is, not what.
        function: _,
        module: _,
        package: _,
        file: _,
        line: _,
        description,
        tags,
        base,
        weight,
        client,
        load,
        thresholds,
        apdex,
        budget,
        grade_weight,
        fingerprint: _,
        // Told with the fingerprint.
        version: _,
        starts_target,
        keeps_state,
        feeds,
        secrets,
        steps: _,
    } = scenario;
    let mut facts = Facts::default();
    if *name != scenario.function {
        facts.add("name", &**name);
    }
    facts.add("description", &**description);
    facts.add("tags", tags.join(", "));
    facts.maybe("base", base.as_deref());
    facts.add("weight", weight.to_string());
    facts.maybe("client", words::client(client));
    facts.maybe("load", load.as_ref().map(view::load));
    facts.add("thresholds", words::thresholds(thresholds));
    facts.grading(*apdex, *budget, *grade_weight);
    facts.when("starts_target", *starts_target);
    facts.when("keeps_state", *keeps_state);
    let feeds: Vec<_> = feeds.iter().map(|feed| &*feed.name).collect();
    facts.add("feeds", feeds.join(", "));
    facts.add("secrets", secrets.join(", "));
    facts.0
}

/// What a step among `steps` declares.
pub(super) fn of_step(step: &StepDef, steps: &[StepDef]) -> Vec<Fact> {
    let StepDef {
        // By which it is found.
        name: _,
        line: _,
        description,
        method,
        url,
        headers,
        body,
        sends_itself,
        once,
        last,
        retry,
        until,
        redirects,
        weight,
        one_of,
        expect,
        think,
        timeout,
        thresholds,
        apdex,
        budget,
        grade_weight,
        dependencies,
        // What follows from the code.
        reads: _,
        fingerprint: _,
    } = step;
    let mut facts = Facts::default();
    facts.maybe("method", method.as_deref());
    facts.maybe("url", url.as_deref());
    for header in headers.iter() {
        facts.add(format!("header {}", header.name), &*header.value);
    }
    facts.maybe("body", body.as_ref().map(body_words));
    facts.when("async", *sends_itself);
    facts.when("once", *once);
    facts.when("last", *last);
    facts.maybe("retry", retry.as_ref().map(view::retry));
    facts.maybe("until", until.as_ref().map(view::until));
    facts.add("redirects", redirects.to_string());
    facts.add("weight", weight.to_string());
    facts.maybe("one_of", one_of.as_deref());
    facts.add("expect", expect.to_string());
    facts.maybe("think", think.as_ref().map(words::think));
    facts.add("timeout", view::span(*timeout));
    facts.add("thresholds", words::thresholds(thresholds));
    facts.grading(*apdex, *budget, *grade_weight);
    let uses = dependencies.iter().filter_map(|dependency| {
        let name = &steps.get(dependency.step)?.name;
        let or_without = if dependency.optional { "?" } else { "" };
        Some(format!("{name}{or_without}"))
    });
    facts.add("uses", uses.collect::<Vec<_>>().join(", "));
    facts.add("description", &**description);
    facts.0
}

fn body_words(body: &BodyDef) -> String {
    let kind = match body.kind {
        BodyKind::Json => "JSON",
        BodyKind::Form => "form",
        BodyKind::Text => "text",
        BodyKind::Bytes => "file",
        BodyKind::Multipart => "multipart",
    };
    format!("{kind} {}", body.template)
}

/// What a run did that its scenario does not decide alone.
pub(super) fn of_run(record: &ScenarioRecord) -> Vec<Fact> {
    let Plan {
        load,
        default_load: _,
        // Another one in each run.
        seed: _,
        max_users,
        graceful_stop,
        grading,
        thresholds,
        min_grade,
        rows: _,
    } = &record.plan;
    let steps = &record.definition.steps;
    let mut facts = Facts::default();
    facts.add("load", view::load(load));
    let target = record.base_url.as_deref().filter(|_| !record.own_target);
    facts.maybe("target", target);
    facts.when("own target", record.own_target);
    // That of closed loads is told with them.
    if load.is_open() {
        facts.add("max_users", max_users.to_string());
    }
    facts.add("graceful_stop", view::span(*graceful_stop));
    let journey = thresholds.iter().filter(|scoped| scoped.step.is_none());
    facts.add(IN_FORCE, in_force(journey));
    for (i, step) in steps.iter().enumerate() {
        let of_step = thresholds.iter().filter(|scoped| scoped.step == Some(i));
        facts.add(format!("{IN_FORCE} of {}", step.name), in_force(of_step));
    }
    for (step, policy) in steps.iter().zip(grading) {
        let words = format!(
            "T = {}, budget {}, weight {}",
            view::span(policy.target),
            view::exact_percent(policy.budget),
            policy.weight
        );
        facts.add(format!("{GRADING} {}", step.name), words);
    }
    facts.maybe("min_grade", min_grade.map(Letter::name));
    facts.0
}

fn in_force<'a>(thresholds: impl Iterator<Item = &'a ScopedThreshold>) -> String {
    let all: Vec<Threshold> = thresholds.map(|scoped| scoped.threshold.clone()).collect();
    words::thresholds(&all)
}
