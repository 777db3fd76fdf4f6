//! Plans of JMeter (<https://jmeter.apache.org/>), as far as they are data.
//!
//! Scripts are never run, and files never read. What depends on the run, such as a condition, is left as a comment.

mod answers;
mod configuration;
mod controllers;
mod element;
mod load;
mod plan;
mod sampler;
#[cfg(test)]
mod tests;
mod timers;
mod variables;

use super::recording::{Client, Recording};
use super::source::{Input, Mistake};
use element::{Element, pair_items, read_plan};
use plan::PlanReader;

/// Reads a plan.
///
/// # Errors
/// The place where it is no plan, or why it has no request.
pub(crate) fn read_jmx(input: &Input) -> Result<Recording, Mistake> {
    let root = read_plan(input)?;
    let trees = root.children.iter().filter(|child| child.tag == "hashTree");
    let mut reader = PlanReader::new();
    let mut title = None;
    for tree in trees {
        let items = pair_items(tree);
        let plan = items.iter().find(|item| item.element.class() == "TestPlan");
        title = title.or(plan.map(|plan| plan.element));
        reader.run_plan(&items);
    }
    let disabled = reader.disabled;
    let mut migration = reader.migration;
    if migration.recording.exchanges.is_empty() {
        let words = "there is no HTTP request in it that can be imported";
        let place = title.map_or(&root.span, |plan| &plan.span);
        return Err(Mistake::new(place.clone(), words));
    }
    if disabled > 0 {
        let place = title.map_or(&root.span, |plan| &plan.span);
        let are = if disabled == 1 { " is" } else { "s are" };
        let words = format!("{disabled} disabled element{are} left out");
        migration.note(place, words);
    }
    let first = migration.recording.exchanges.first();
    migration.recording.client = Client {
        keeps_cookies: true,
        redirects: first.map_or(0, |first| first.redirects),
        ..Client::default()
    };
    migration.recording.name = title
        .map(Element::title)
        .filter(|name| *name != "Test Plan")
        .map(str::to_owned);
    let description = title.map_or("", |plan| plan.text_of("TestPlan.comments"));
    migration.recording.description = Some(description.to_owned()).filter(|text| !text.is_empty());
    Ok(migration.finish())
}
