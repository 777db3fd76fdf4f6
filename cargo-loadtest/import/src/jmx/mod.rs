//! Plans of JMeter (<https://jmeter.apache.org/>), as far as they are data.
//!
//! Scripts are never run, and files never read. What depends on the run, such as a condition, is a warning or a comment.
//! An element knows which of its properties were read: the others become warnings.

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
use super::source::{Input, Mistake, Span};
use element::{Element, PlanItem, pair_items, read_plan};
use plan::PlanReader;

/// Reads a plan.
///
/// # Errors
/// The first thing that is no such input, and where it stands.
pub fn read_jmx(input: &Input) -> Result<Recording, Mistake> {
    let root = read_plan(input)?;
    let trees = root.children.iter().filter(|child| child.tag == "hashTree");
    let items: Vec<PlanItem<'_>> = trees.flat_map(pair_items).collect();
    let mut plans = items.iter().map(|item| item.element);
    let plan = plans.find(|element| element.class() == "TestPlan");
    let place = plan.map_or(&root.span, |plan| &plan.span);
    let mut reader = PlanReader::new(&items);
    reader.run_plan();
    let disabled = reader.note_unread();
    let mut migration = reader.migration;
    if migration.recording.exchanges.is_empty() {
        return Err(explain_nothing(&migration.recording, place));
    }
    if disabled > 0 {
        let are = if disabled == 1 { " is" } else { "s are" };
        let words = format!("{disabled} disabled element{are} left out");
        migration.note(place, words);
    }
    let first = migration.recording.exchanges.first();
    migration.recording.quotes_are_text = true;
    migration.recording.client = Client {
        keeps_cookies: true,
        redirects: first.map_or(0, |first| first.redirects),
        ..Client::default()
    };
    let title = plan.map(Element::title).filter(|name| *name != "Test Plan");
    migration.recording.name = title.map(str::to_owned);
    let description = plan.map_or("", |plan| plan.text_of("TestPlan.comments"));
    migration.recording.description = Some(description.to_owned()).filter(|text| !text.is_empty());
    Ok(migration.finish())
}

/// Says why a plan has no request: those that it has are left out, or all is code.
fn explain_nothing(recording: &Recording, place: &Span) -> Mistake {
    let words = "there is no HTTP request in it that can be imported";
    let dropped = recording.dropped.first().map(|dropped| {
        let words = format!("`{}` is {}", dropped.what, dropped.why);
        (&dropped.span, words)
    });
    let code = recording.code.first();
    let code = code.map(|part| (&part.span, format!("{} is code", part.what)));
    let note = recording.notes.first();
    let note = note.map(|note| (&note.span, note.words.clone()));
    match dropped.or(code).or(note) {
        Some((span, why)) => Mistake::new(span.clone(), format!("{words}: {why}")),
        None => Mistake::new(place.clone(), words),
    }
}
