//! Controllers of a plan: which requests a journey has, how often, and in which order.

use super::configuration::is_config;
use super::element::{Element, PlanItem, texts_of};
use super::plan::{Around, PlanReader, is_silent};
use super::variables::{Variable, Variables};
use crate::naming::unique;
use crate::recording::Runs;
use loadtest_model::definition::{Share, Think};
use std::fmt::Write as _;
use std::time::Duration;

/// Most repetitions of a loop that are written.
const MOST_LOOPS: f64 = 10.0;
/// Most modules within modules.
const MOST_MODULES: usize = 10;

impl<'e> PlanReader<'e> {
    pub(super) fn run_item(
        &mut self,
        item: &PlanItem<'e>,
        around: &Around<'e>,
        variables: &mut Variables,
    ) {
        let element = item.element;
        let class = element.class();
        if class == "DebugSampler" {
            let around = self.around_sampler(item, around, variables);
            self.run_timers(&around, false);
        }
        // A fragment is followed where a module names it.
        if is_config(class) || is_silent(class) || class == "TestFragmentController" {
            return;
        }
        element.mark();
        match class {
            "HTTPSamplerProxy" | "HTTPSampler" | "HTTPSampler2" => {
                self.run_sampler(item, around, variables);
            }
            "GenericController" | "RecordingController" | "CriticalSectionController" => {
                self.run_below(item, around, variables);
            }
            "TransactionController" => {
                let name = unique(element.title(), &mut self.taken);
                self.transactions.push(name);
                self.run_below(item, around, variables);
                self.transactions.pop();
            }
            "OnceOnlyController" => {
                let before = std::mem::replace(&mut self.runs, Runs::Once);
                self.run_part(item, around, variables);
                self.runs = before;
            }
            "LoopController" => {
                let loops = self
                    .scope(variables)
                    .number_of(element, "LoopController.loops");
                let count = loops.filter(|loops| (0.0..=MOST_LOOPS).contains(loops));
                if count.is_none() {
                    self.run_once(item, around, variables);
                } else if count == Some(0.0) {
                    self.leave_out(item, "in a loop of none");
                }
                for _ in 0..count.unwrap_or(0.0) as u32 {
                    self.run_below(item, around, variables);
                }
            }
            "ThroughputController" if element.text_of("ThroughputController.style") == "1" => {
                self.run_share(item, around, variables);
            }
            "RandomController" | "InterleaveControl" | "InterleaveController" => {
                if class != "RandomController" {
                    let words = "its requests take turns in the plan, and are drawn here";
                    self.migration.note(&element.span, words);
                }
                self.choose(item, around, variables);
            }
            "ModuleController" if self.modules < MOST_MODULES => {
                match self.find_module(element.list("ModuleController.node_path")) {
                    Some(module) => {
                        module.element.mark();
                        self.modules += 1;
                        self.run_below(module, around, variables);
                        self.modules -= 1;
                    }
                    None => self.leave_code(item),
                }
            }
            _ if item.has_requests() => {
                begin_each(element, variables);
                self.run_once(item, around, variables);
            }
            _ => self.run_other(item, around, variables),
        }
    }

    /// Follows what stands in a loop or a condition, once, and says so.
    fn run_once(&mut self, item: &PlanItem<'e>, around: &Around<'e>, variables: &mut Variables) {
        let element = item.element;
        let mut words = format!("`{}` is code: its requests are there once", element.class());
        for (at, (name, text)) in texts_of(element).into_iter().enumerate() {
            let separator = if at == 0 { " (" } else { ", " };
            let _ = write!(words, "{separator}{name}: `{text}`");
        }
        words.push_str(if words.ends_with('`') { ")" } else { "" });
        self.migration.note(&element.span, words);
        self.run_below(item, around, variables);
    }

    /// Follows a sampler of another kind: its timers, and a pause that it is.
    fn run_other(&mut self, item: &PlanItem<'e>, around: &Around<'e>, variables: &Variables) {
        let element = item.element;
        let around = self.around_sampler(item, around, variables);
        self.run_timers(&around, false);
        let is_pause =
            element.class() == "TestAction" && element.text_of("ActionProcessor.action") == "1";
        let millis = self
            .scope(variables)
            .number_of(element, "ActionProcessor.duration");
        match millis.filter(|millis| is_pause && (0.0..1e9).contains(millis)) {
            Some(millis) => {
                let time = Duration::from_secs_f64(millis / 1e3);
                let (min, max) = (time, time);
                self.pause(Think::Uniform { min, max }, false);
            }
            None => self.leave_code(item),
        }
    }

    /// Follows what a share of the journeys has.
    fn run_share(&mut self, item: &PlanItem<'e>, around: &Around<'e>, variables: &mut Variables) {
        let name = "ThroughputController.percentThroughput";
        let share = self.scope(variables).number_of(item.element, name);
        if share.is_some_and(|share| share <= 0.0) {
            return self.leave_out(item, "in 0 % of the journeys");
        }
        let first = self.migration.recording.exchanges.len();
        self.run_part(item, around, variables);
        match share {
            Some(share) if share < 100.0 => {
                let share = Share::percent(share).as_fraction();
                self.weigh(item.element, first, &share.to_string(), None);
            }
            Some(_) => {}
            None => {
                let words = "its share is not known: write a `weight`";
                self.migration.note(&item.element.span, words);
            }
        }
    }

    /// Leaves out what no journey has.
    fn leave_out(&mut self, item: &PlanItem<'e>, why: &str) {
        item.mark_all();
        self.drop_samplers(item, why);
        let words = format!("`{}` is left out: {why}", item.element.title());
        self.migration.note(&item.element.span, words);
    }

    /// Finds an element by its names and those of the elements around it, of which the first is that of the tree.
    fn find_module(&self, path: &[Element]) -> Option<&'e PlanItem<'e>> {
        let mut items = self.plan;
        let mut found = None;
        for name in path.iter().skip(1) {
            let mut named = items.iter();
            let item = named.find(|item| item.element.title() == name.text().trim())?;
            (items, found) = (&item.items, Some(item));
        }
        path.iter().for_each(Element::mark);
        found
    }

    /// Follows the items of a controller as a choice.
    fn choose(&mut self, item: &PlanItem<'e>, around: &Around<'e>, variables: &mut Variables) {
        self.choices += 1;
        let choice = format!("choice_{}", self.choices);
        let mut inner = around.clone();
        self.configure(&item.items, &mut inner);
        let part = self.part;
        for below in item.items.iter().filter(|item| item.element.is_enabled()) {
            self.part = self.migration.recording.exchanges.len();
            self.run_item(below, &inner, variables);
            self.weigh(below.element, self.part, "1", Some(&choice));
        }
        self.part = part;
        // The only step of a choice is in every journey.
        let exchanges = self.migration.recording.exchanges.iter_mut();
        let all = exchanges.map(|exchange| &mut exchange.settings);
        let mut chosen = all.filter(|settings| settings.choice.as_ref() == Some(&choice));
        if let (Some(only), None) = (chosen.next(), chosen.next()) {
            (only.choice, only.weight) = (None, None);
        }
    }

    /// Follows the items of a controller that some journeys do not have.
    fn run_part(&mut self, item: &PlanItem<'e>, around: &Around<'e>, variables: &mut Variables) {
        let first = self.migration.recording.exchanges.len();
        let part = std::mem::replace(&mut self.part, first);
        self.run_below(item, around, variables);
        self.part = part;
    }

    fn run_below(&mut self, item: &PlanItem<'e>, around: &Around<'e>, variables: &mut Variables) {
        let mut inner = self.around_sampler(item, around, variables);
        let mut own = std::mem::take(&mut inner.variables);
        inner.variables.clone_from(&own);
        self.run_items(&item.items, &inner, &mut own);
        *variables = own;
    }

    /// Gives the exchanges since one a weight: the first has it, the others follow that.
    fn weigh(&mut self, element: &Element, first: usize, weight: &str, choice: Option<&str>) {
        let exchanges = &mut self.migration.recording.exchanges;
        let mut weighed = exchanges.iter().skip(first);
        if weighed
            .next()
            .is_some_and(|first| first.settings.weight.is_some())
        {
            let words =
                "a share within a share is not imported: write the `weight` of its requests";
            return self.migration.note(&element.span, words);
        }
        for (at, exchange) in exchanges.iter_mut().enumerate().skip(first) {
            if at > first {
                exchange.settings.after.get_or_insert(first);
            } else if exchange.settings.runs == Runs::Always {
                exchange.settings.weight = Some(weight.to_owned());
                exchange.settings.choice = choice.map(str::to_owned);
            }
        }
    }
}

/// Gives the variable of a loop over values the first of these.
fn begin_each(element: &Element, variables: &mut Variables) {
    if element.class() == "ForeachController" {
        let separator = match element.text_of("ForeachController.useSeparator") {
            "false" => "",
            _ => "_",
        };
        let input = element.text_of("ForeachController.inputVal");
        let first = format!("{input}{separator}1");
        let value = variables.get(&first).cloned().unwrap_or(Variable::Unknown);
        let name = element.text_of("ForeachController.returnVal");
        variables.insert(name.to_owned(), value);
    }
}
