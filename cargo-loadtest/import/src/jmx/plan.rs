//! Follows a plan: its groups of threads and their samplers, in their order.

use super::answers::{apply_assertion, apply_extractor};
use super::configuration::{define, is_config};
use super::element::{Element, PlanItem, describe};
use super::load::read_load;
use super::sampler::{Settings, read_sampler};
use super::variables::{Variable, VariableScope, Variables};
use crate::migration::Migration;
use crate::recording::{Dropped, Group, Runs, ScenarioSettings};
use crate::source::Span;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::Duration;

/// Most requests.
const MOST_REQUESTS: usize = 2000;
/// Returns true for an element that no journey has: it shows or stores results, or changes nothing.
pub(super) fn is_silent(class: &str) -> bool {
    matches!(
        class,
        "BackendListener" | "Summariser" | "DebugSampler" | "DebugPostProcessor" | "WorkBench"
    ) || class.ends_with("ResultCollector")
}

/// The state of a plan.
#[derive(Default)]
pub(super) struct PlanReader<'e> {
    pub(super) migration: Migration,
    pub(super) plan: &'e [PlanItem<'e>],
    /// The groups of threads that share what is configured.
    pub(super) groups: usize,
    pub(super) transactions: Vec<String>,
    /// The names of transactions that are taken.
    pub(super) taken: HashSet<String>,
    pub(super) runs: Runs,
    pub(super) choices: usize,
    /// The first exchange of the innermost part that some journeys do not have.
    pub(super) part: usize,
    /// Modules around the current element.
    pub(super) modules: usize,
    /// The cookie manager of the group.
    pub(super) cookies: Option<&'e Element>,
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

impl<'e> PlanReader<'e> {
    pub(super) fn new(plan: &'e [PlanItem<'e>]) -> Self {
        Self {
            plan,
            ..Self::default()
        }
    }

    /// Returns the scope of texts with these variables.
    pub(super) fn scope<'s>(&'s mut self, variables: &'s Variables) -> VariableScope<'s> {
        let migration = &mut self.migration;
        VariableScope {
            variables,
            migration,
        }
    }

    /// Follows all groups of threads of a plan.
    pub(super) fn run_plan(&mut self) {
        for item in self.plan {
            let element = item.element;
            if element.class() == "TestPlan" && element.is_enabled() {
                let mut around = Around::default();
                let defined = element.arguments("TestPlan.user_defined_variables");
                define(&mut around.variables, defined);
                self.run_groups(item, around);
            } else if element.class() == "WorkBench" {
                self.migration
                    .note(&element.span, "the workbench is left out");
            }
        }
    }

    fn run_groups(&mut self, plan: &PlanItem<'e>, mut around: Around<'e>) {
        let is_group = |item: &&PlanItem<'e>| {
            item.element.class().ends_with("ThreadGroup") && item.element.is_enabled()
        };
        let groups = plan.items.iter().filter(is_group);
        let measured = groups
            .clone()
            .filter(|item| when_alone(item.element).is_none());
        self.groups = measured.count();
        if !plan.element.is_set("TestPlan.serialize_threadgroups") && self.groups > 1 {
            let words =
                "its groups of threads run at the same time: run the scenarios with `--mix`";
            self.migration.note(&plan.element.span, words);
        }
        self.configure(&plan.items, &mut around);
        self.groups = 1;
        let cookies = self.cookies;
        for item in groups {
            self.cookies = cookies;
            self.run_group(item, around.clone());
        }
    }

    fn run_group(&mut self, item: &PlanItem<'e>, mut around: Around<'e>) {
        let element = item.element;
        self.migration.begin_scenario();
        self.taken.clear();
        self.part = self.migration.recording.exchanges.len();
        self.configure(&item.items, &mut around);
        let (mut load, notes) = read_load(element, &mut self.scope(&around.variables));
        let title = element.title();
        for words in notes {
            self.migration
                .note(&element.span, format!("{title}: {words}"));
        }
        if let Some(when) = when_alone(element) {
            let words = format!("`{title}` is a scenario of its own: run it {when} the others");
            self.migration.note(&element.span, words);
        }
        let on_error = element.text_of("ThreadGroup.on_sample_error");
        if !["", "continue", "startnextloop"].contains(&on_error) {
            let what = match on_error {
                "stopthread" => "the user",
                "stoptest" | "stoptestnow" => "the test",
                _ => "a part that is not known",
            };
            let words = format!("{title}: an error ends {what} in the plan, and the journey here");
            self.migration.note(&element.span, words);
        }
        let mut variables = around.variables.clone();
        self.run_items(&item.items, &around, &mut variables);
        self.set_throughput(&around, load.as_mut());
        let name = "ThreadGroup.delay";
        let delay = self.scope(&variables).number_of(element, name);
        if delay.is_none() && !element.text_of(name).trim().is_empty() {
            let words = format!("{title}: `{name}` is not known");
            self.migration.note(&element.span, words);
        }
        let start = delay
            .filter(|delay| (0.001..1e8).contains(delay) && element.is_set("ThreadGroup.scheduler"))
            .map(Duration::from_secs_f64);
        let is_same_user = element.text_of("ThreadGroup.same_user_on_next_iteration") != "false";
        let cookies = self.cookies.filter(|cookies| {
            cookies.text_of("CookieManager.policy").to_lowercase() != "ignorecookies"
        });
        let keeps_cookies = cookies.is_some_and(|cookies| {
            let is_cleared = cookies.is_set("CookieManager.clearEachIteration");
            if cookies.is_set("CookieManager.controlledByThreadGroup") {
                is_same_user
            } else {
                !is_cleared
            }
        });
        let drops_cookies = cookies.is_none() && self.migration.scenario_mut().len() > 1;
        self.migration.end_scenario(Group {
            name: title.to_owned(),
            description: Some(element.text_of("TestPlan.comments").to_owned()),
            settings: ScenarioSettings {
                load,
                start,
                keeps_cookies,
                drops_cookies,
                stops_on_failure: !["", "continue"].contains(&on_error),
                ..ScenarioSettings::default()
            },
        });
    }

    /// Notes each kind of element and property that nobody has read. Returns how many elements are switched off.
    pub(super) fn note_unread(&mut self) -> usize {
        let is_full = self.migration.recording.exchanges.len() >= MOST_REQUESTS;
        let mut unread: Vec<(String, &Span, usize)> = Vec::new();
        let mut disabled = 0;
        let mut open: Vec<&PlanItem<'e>> = self.plan.iter().rev().collect();
        while let Some(item) = open.pop() {
            let (element, class) = (item.element, item.element.class());
            if !element.is_enabled() {
                disabled += 1;
                self.drop_samplers(item, "disabled");
                continue;
            }
            if is_silent(class) || is_full {
                continue;
            }
            let mut found: Vec<(String, &Span)> = Vec::new();
            if element.is_read() {
                let properties = element.unread(class).into_iter();
                let named = |(name, span)| (format!("`{name}` of `{class}`"), span);
                found.extend(properties.map(named));
                open.extend(item.items.iter().rev());
            } else {
                found.push((format!("`{class}`"), &element.span));
                self.drop_samplers(item, "in no group of threads");
            }
            for (what, span) in found {
                match unread.iter_mut().find(|(known, ..)| *known == what) {
                    Some((_, _, more)) => *more += 1,
                    None => unread.push((what, span, 0)),
                }
            }
        }
        for (what, span, more) in unread {
            let words = match more {
                0 => format!("{what} is not imported"),
                more => format!("{what} is not imported, here and at {more} more"),
            };
            self.migration.note(span, words);
        }
        disabled
    }

    pub(super) fn drop_samplers(&mut self, item: &PlanItem<'_>, why: &str) {
        if item.element.class().starts_with("HTTPSampler") {
            self.migration.recording.dropped.push(Dropped {
                span: item.element.span.clone(),
                what: item.element.title().to_owned(),
                why: why.to_owned(),
            });
        }
        for below in &item.items {
            self.drop_samplers(below, why);
        }
    }

    /// Follows the samplers and controllers of one level.
    pub(super) fn run_items(
        &mut self,
        items: &[PlanItem<'e>],
        around: &Around<'e>,
        variables: &mut Variables,
    ) {
        for item in items.iter().filter(|item| item.element.is_enabled()) {
            if self.migration.recording.exchanges.len() >= MOST_REQUESTS {
                self.migration
                    .note_once(&item.element.span, "it has more requests than are imported");
                return;
            }
            self.run_item(item, around, variables);
        }
    }

    pub(super) fn run_sampler(
        &mut self,
        item: &PlanItem<'e>,
        around: &Around<'e>,
        variables: &mut Variables,
    ) {
        let around = self.around_sampler(item, around, variables);
        for below in item.items.iter().filter(|item| item.element.is_enabled()) {
            let class = below.element.class();
            if !is_config(class) && !is_silent(class) {
                self.leave_code(below);
            }
        }
        let element = item.element;
        let mut scope = self.scope(&around.variables);
        let mut exchange = match read_sampler(element, &around.settings, &mut scope) {
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
        self.run_timers(&around, true);
        let number = self.migration.push(exchange);
        for assertion in &around.assertions {
            if !apply_assertion(assertion, number, &mut self.scope(&around.variables)) {
                self.leave_element(assertion);
                self.migration.place_last(number);
            }
        }
        for extractor in &around.extractors {
            let found = apply_extractor(extractor, number, &mut self.migration);
            if found.is_empty() || found.iter().any(|(_, value)| value.is_none()) {
                self.leave_element(extractor);
                self.migration.place_last(number);
            }
            for (name, value) in found {
                let value = value.map_or(Variable::Unknown, Variable::Value);
                variables.insert(name, value);
            }
        }
    }

    /// Returns what the elements around a sampler, and those below it, say about it.
    pub(super) fn around_sampler(
        &mut self,
        item: &PlanItem<'e>,
        around: &Around<'e>,
        variables: &Variables,
    ) -> Around<'e> {
        let mut around = around.clone();
        around.variables.clone_from(variables);
        self.configure(&item.items, &mut around);
        around
    }

    pub(super) fn leave_element(&mut self, element: &Element) {
        let text = describe(element);
        let what = format!("`{}`", element.class());
        self.migration
            .leave_code(element.span.clone(), &text, &what);
    }

    /// Leaves an element and those below it as a comment.
    pub(super) fn leave_code(&mut self, item: &PlanItem<'_>) {
        item.mark_all();
        let mut text = describe(item.element);
        let mut open: Vec<(usize, &PlanItem<'_>)> =
            item.items.iter().rev().map(|below| (1, below)).collect();
        while let Some((depth, below)) = open.pop() {
            let element = below.element;
            let margin = "  ".repeat(depth);
            let _ = write!(text, "\n{margin}{} {}", element.class(), element.title());
            open.extend(below.items.iter().rev().map(|below| (depth + 1, below)));
        }
        let what = format!("`{}`", item.element.class());
        self.migration
            .leave_code(item.element.span.clone(), &text, &what);
    }
}

/// Returns when a group runs that is no part of the load.
fn when_alone(group: &Element) -> Option<&'static str> {
    match group.class() {
        "SetupThreadGroup" => Some("before"),
        "PostThreadGroup" => Some("after"),
        _ => None,
    }
}
