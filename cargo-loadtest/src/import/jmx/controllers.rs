//! Follows the controllers of a plan, which say how often and when their samplers run.

use super::configuration::is_config;
use super::element::{Element, Item};
use super::plan::{Around, PlanReader, SILENT};
use super::variables::{Variables, read_number};
use crate::import::recording::Runs;
use loadtest_model::definition::{Share, Think};
use std::collections::HashMap;
use std::time::Duration;

/// Most repetitions of a loop that are written.
const MOST_LOOPS: f64 = 10.0;

impl PlanReader {
    pub(super) fn run_item<'e>(
        &mut self,
        item: &Item<'e>,
        around: &Around<'e>,
        variables: &mut Variables,
    ) {
        let element = item.element;
        let class = element.class();
        match class {
            "HTTPSamplerProxy" | "HTTPSampler" | "HTTPSampler2" => {
                self.run_sampler(item, around, variables);
            }
            "TestAction" if element.text_of("ActionProcessor.action") == "1" => {
                self.pause(item, variables);
            }
            "GenericController" | "RecordingController" | "CriticalSectionController" => {
                self.run_below(item, around, variables);
            }
            "TransactionController" => {
                self.transactions.push(element.title().to_owned());
                self.run_below(item, around, variables);
                self.transactions.pop();
            }
            "OnceOnlyController" => {
                let before = std::mem::replace(&mut self.runs, Runs::Once);
                self.run_below(item, around, variables);
                self.runs = before;
            }
            "LoopController" => {
                let name = "LoopController.loops";
                let loops = read_number(element, name, variables, &mut self.migration);
                let count = loops.filter(|loops| (0.0..=MOST_LOOPS).contains(loops));
                if count.is_none() {
                    let words = "a loop without a small, fixed number: its steps are there once";
                    self.migration.note(&element.span, words);
                }
                for _ in 0..count.unwrap_or(1.0) as u32 {
                    self.run_below(item, around, variables);
                }
            }
            "ThroughputController" if element.text_of("ThroughputController.style") == "1" => {
                let first = self.migration.recording.exchanges.len();
                self.run_below(item, around, variables);
                self.weigh_by_share(element, first);
            }
            "RandomController" | "InterleaveControl" | "InterleaveController" => {
                if class != "RandomController" {
                    let words = "its requests take turns in the plan, and are drawn here";
                    self.migration.note(&element.span, words);
                }
                self.choose(item, around, variables);
            }
            "RandomOrderController" => {
                let words = "its requests have a random order in the plan";
                self.migration.note(&element.span, words);
                self.run_below(item, around, variables);
            }
            _ if is_config(class) || SILENT.contains(&class) => {}
            _ => self.leave_code(item),
        }
    }

    /// Adds the pause of an action.
    fn pause(&mut self, action: &Item<'_>, variables: &Variables) {
        let name = "ActionProcessor.duration";
        let millis = read_number(action.element, name, variables, &mut self.migration);
        let millis = millis.filter(|millis| (0.0..1e9).contains(millis));
        match millis.filter(|_| !self.migration.scenario_mut().is_empty()) {
            Some(millis) => {
                let time = Duration::from_secs_f64(millis / 1e3);
                self.think(&Think::Uniform {
                    min: time,
                    max: time,
                });
            }
            None => self.leave_code(action),
        }
    }

    /// Gives the exchanges since one the share of a controller.
    fn weigh_by_share(&mut self, controller: &Element, first: usize) {
        let mut children = controller.children.iter();
        let share = controller.property("ThroughputController.percentThroughput");
        let share = share.or(children.find(|child| child.tag == "FloatProperty"));
        let share = share.map(|share| share.children.last().unwrap_or(share).text.trim());
        match share.and_then(|share| share.parse::<f64>().ok()) {
            Some(share) if (0.0..100.0).contains(&share) => {
                let share = Share::percent(share).as_fraction();
                self.weigh(first, &share.to_string(), None);
            }
            Some(_) => {}
            None => {
                let words = "its share is not known: write a `weight`";
                self.migration.note(&controller.span, words);
            }
        }
    }

    /// Follows the items of a controller as a choice.
    fn choose<'e>(&mut self, item: &Item<'e>, around: &Around<'e>, variables: &mut Variables) {
        self.choices += 1;
        let choice = format!("choice_{}", self.choices);
        let mut inner = around.clone();
        self.configure(&item.items, &mut inner);
        for below in &item.items {
            let first = self.migration.recording.exchanges.len();
            if self.is_enabled(below) {
                self.run_item(below, &inner, variables);
            }
            self.weigh(first, "1", Some(&choice));
        }
    }

    fn run_below<'e>(&mut self, item: &Item<'e>, around: &Around<'e>, variables: &mut Variables) {
        let mut inner = around.clone();
        inner.variables.clone_from(variables);
        self.configure(&item.items, &mut inner);
        let mut own = inner.variables.clone();
        self.run_items(&item.items, &inner, &mut own);
        *variables = own;
    }

    /// Gives the exchanges since one a weight: the first has it, the others follow that.
    fn weigh(&mut self, first: usize, weight: &str, choice: Option<&str>) {
        let exchanges = &mut self.migration.recording.exchanges;
        for (at, exchange) in exchanges.iter_mut().enumerate().skip(first) {
            if at > first {
                exchange.settings.after.get_or_insert(first);
            } else if exchange.settings.runs == Runs::Always {
                exchange.settings.weight = Some(weight.to_owned());
                exchange.settings.choice = choice.map(str::to_owned);
            }
        }
    }

    /// Removes choices with one step, which is then in every journey.
    pub(super) fn drop_lonely_choices(&mut self) {
        let mut counts: HashMap<String, usize> = HashMap::new();
        let scenario = self.migration.scenario_mut();
        for choice in scenario
            .iter()
            .filter_map(|exchange| exchange.settings.choice.clone())
        {
            *counts.entry(choice).or_default() += 1;
        }
        for exchange in scenario {
            let settings = &mut exchange.settings;
            if settings
                .choice
                .as_ref()
                .is_some_and(|choice| counts[choice] == 1)
            {
                (settings.choice, settings.weight) = (None, None);
            }
        }
    }
}
