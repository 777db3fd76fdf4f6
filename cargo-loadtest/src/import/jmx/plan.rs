//! Follows a plan: its groups of threads and their samplers, in their order.

use super::answers::{apply_assertion, apply_extractor};
use super::configuration::{define, is_config};
use super::element::{Element, Item, describe};
use super::load::read_load;
use super::sampler::{Settings, read_sampler};
use super::variables::{Variable, Variables, read_number};
use crate::import::migration::Migration;
use crate::import::recording::{Dropped, Group, Runs, ScenarioSettings};
use std::fmt::Write as _;
use std::time::Duration;

/// Most requests.
const MOST_REQUESTS: usize = 2000;
/// Elements that show or store results, or change nothing.
pub(super) const SILENT: [&str; 9] = [
    "ResultCollector",
    "BackendListener",
    "Summariser",
    "DebugSampler",
    "DebugPostProcessor",
    "CacheManager",
    "DNSCacheManager",
    "TestPlan",
    "MailerResultCollector",
];

/// The state of a plan.
pub(super) struct PlanReader {
    pub(super) migration: Migration,
    /// Elements that are switched off.
    pub(super) disabled: usize,
    pub(super) transactions: Vec<String>,
    pub(super) runs: Runs,
    pub(super) choices: usize,
}

/// What the elements around an item say about it.
#[derive(Debug, Clone, Default)]
pub(super) struct Around<'e> {
    pub(super) settings: Settings<'e>,
    pub(super) variables: Variables,
    pub(super) timers: Vec<&'e Element>,
    pub(super) assertions: Vec<&'e Element>,
    pub(super) extractors: Vec<&'e Element>,
}

impl PlanReader {
    pub(super) fn new() -> Self {
        Self {
            migration: Migration::default(),
            disabled: 0,
            transactions: Vec::new(),
            runs: Runs::Always,
            choices: 0,
        }
    }

    /// Follows all groups of threads of a plan.
    pub(super) fn run_plan(&mut self, items: &[Item<'_>]) {
        let mut around = Around::default();
        for item in items {
            let element = item.element;
            if element.class() == "TestPlan" && element.is_enabled() {
                define(
                    &mut around.variables,
                    element.arguments("TestPlan.user_defined_variables"),
                );
                self.run_groups(&item.items, &around);
            } else if element.class() == "WorkBench" {
                self.migration
                    .note(&element.span, "the workbench is left out");
            }
        }
    }

    fn run_groups<'e>(&mut self, items: &[Item<'e>], around: &Around<'e>) {
        let mut around = around.clone();
        self.configure(items, &mut around);
        for item in items
            .iter()
            .filter(|item| item.element.class().ends_with("ThreadGroup"))
        {
            if self.is_enabled(item) {
                self.run_group(item, &around);
            }
        }
    }

    fn run_group<'e>(&mut self, item: &Item<'e>, around: &Around<'e>) {
        let element = item.element;
        self.migration.begin_scenario();
        let mut around = around.clone();
        self.configure(&item.items, &mut around);
        let (mut load, notes) = read_load(element, &around.variables, &mut self.migration);
        let title = element.title();
        for words in notes {
            self.migration
                .note(&element.span, format!("{title}: {words}"));
        }
        if ["SetupThreadGroup", "PostThreadGroup"].contains(&element.class()) {
            let when = if element.class() == "SetupThreadGroup" {
                "before"
            } else {
                "after"
            };
            let words = format!("`{title}` is a scenario of its own: run it {when} the others");
            self.migration.note(&element.span, words);
        }
        let mut variables = around.variables.clone();
        self.run_items(&item.items, &around, &mut variables);
        self.drop_lonely_choices();
        self.set_throughput(&around, load.as_mut());
        let name = "ThreadGroup.delay";
        let delay = read_number(element, name, &variables, &mut self.migration);
        let start = delay
            .filter(|delay| (0.001..1e8).contains(delay))
            .map(Duration::from_secs_f64);
        self.migration.end_scenario(Group {
            name: title.to_owned(),
            description: Some(element.text_of("TestPlan.comments").to_owned()),
            settings: ScenarioSettings {
                load,
                start,
                keeps_cookies: around.settings.keeps_cookies,
                ..ScenarioSettings::default()
            },
        });
    }

    /// Returns true for an element that is not switched off, and counts those that are.
    pub(super) fn is_enabled(&mut self, item: &Item<'_>) -> bool {
        if !item.element.is_enabled() {
            self.disabled += 1;
            self.drop_samplers(item);
        }
        item.element.is_enabled()
    }

    fn drop_samplers(&mut self, item: &Item<'_>) {
        if item.element.class().starts_with("HTTPSampler") {
            self.migration.recording.dropped.push(Dropped {
                span: item.element.span.clone(),
                what: item.element.title().to_owned(),
                why: "disabled".to_owned(),
            });
        }
        for below in &item.items {
            self.drop_samplers(below);
        }
    }

    /// Follows the samplers and controllers of one level.
    pub(super) fn run_items<'e>(
        &mut self,
        items: &[Item<'e>],
        around: &Around<'e>,
        variables: &mut Variables,
    ) {
        for item in items {
            if self.migration.recording.exchanges.len() >= MOST_REQUESTS {
                self.migration
                    .note_once(&item.element.span, "it has more requests than are imported");
                return;
            }
            if self.is_enabled(item) {
                self.run_item(item, around, variables);
            }
        }
    }

    pub(super) fn run_sampler<'e>(
        &mut self,
        item: &Item<'e>,
        around: &Around<'e>,
        variables: &mut Variables,
    ) {
        let mut around = around.clone();
        around.variables.clone_from(variables);
        self.configure(&item.items, &mut around);
        for below in &item.items {
            let is_known = self.is_enabled(below) && !is_config(below.element.class());
            if is_known && !SILENT.contains(&below.element.class()) {
                self.leave_code(below);
            }
        }
        let element = item.element;
        let read = read_sampler(
            element,
            &around.settings,
            &around.variables,
            &mut self.migration,
        );
        let mut exchange = match read {
            Ok(exchange) => exchange,
            Err(reason) => {
                let words = format!("`{}` is left out: {reason}", element.title());
                self.migration.note(&element.span, words);
                return;
            }
        };
        exchange.settings.runs = self.runs;
        let transaction = self.transactions.join(" / ");
        exchange.settings.transaction = Some(transaction).filter(|name| !name.is_empty());
        for timer in &around.timers {
            self.run_timer(timer, &around.variables);
        }
        let number = self.migration.push(exchange);
        for assertion in &around.assertions {
            if !apply_assertion(assertion, number, &around.variables, &mut self.migration) {
                self.leave_element(assertion);
                self.migration.place_last(number);
            }
        }
        for extractor in &around.extractors {
            let found = apply_extractor(extractor, number, &mut self.migration);
            if found.is_empty() {
                self.leave_element(extractor);
                self.migration.place_last(number);
            }
            for (name, value) in found {
                let value = value.map_or(Variable::Unknown, Variable::Value);
                variables.insert(name, value);
            }
        }
    }

    pub(super) fn leave_element(&mut self, element: &Element) {
        let text = describe(element);
        let what = format!("`{}`", element.class());
        self.migration
            .leave_code(element.span.clone(), &text, &what);
    }

    /// Leaves an element and those below it as a comment.
    pub(super) fn leave_code(&mut self, item: &Item<'_>) {
        let mut text = describe(item.element);
        let mut open: Vec<(usize, &Item<'_>)> =
            item.items.iter().rev().map(|below| (1, below)).collect();
        while let Some((depth, below)) = open.pop() {
            let element = below.element;
            let method = element.text_of("HTTPSampler.method");
            let path = element.text_of("HTTPSampler.path");
            let margin = "  ".repeat(depth);
            let _ = write!(
                text,
                "\n{margin}{} {} {method} {path}",
                element.class(),
                element.title()
            );
            open.extend(below.items.iter().rev().map(|below| (depth + 1, below)));
        }
        let what = format!("`{}`", item.element.class());
        self.migration
            .leave_code(item.element.span.clone(), &text, &what);
    }
}
