//! Plans scenarios: their requests, in an order in which each follows those whose answers it needs, and their names.

use crate::import::naming;
use crate::import::recording::{Exchange, Piece, Recording, Text};
use std::collections::{BTreeSet, HashMap, HashSet};

/// A scenario to write.
#[derive(Debug, Default)]
pub(super) struct Scenario {
    /// The name of the function.
    pub(super) name: String,
    /// The title, where it says more than the name.
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    /// The numbers of its exchanges.
    pub(super) steps: Vec<usize>,
    /// The names of its steps.
    pub(super) names: HashMap<usize, String>,
}

impl Scenario {
    /// Returns the references whose values steps above have.
    pub(super) fn references(&self, recording: &Recording) -> BTreeSet<usize> {
        let mut above = HashSet::new();
        let mut references = BTreeSet::new();
        for step in &self.steps {
            let own = references_of(&recording.exchanges[*step]);
            references.extend(
                own.filter(|at| above.contains(&recording.references[*at].from.exchange())),
            );
            above.insert(*step);
        }
        references
    }
}

/// Returns the references of an exchange.
pub(super) fn references_of(exchange: &Exchange) -> impl Iterator<Item = usize> {
    exchange.texts().into_iter().flat_map(Text::references)
}

/// Returns the target of an exchange for people, with names in braces in the place of values.
pub(in crate::import) fn shown_target(recording: &Recording, exchange: &Exchange) -> String {
    if let Some(pattern) = &exchange.pattern {
        return pattern.clone();
    }
    exchange.target.shown(|piece| match piece {
        Piece::Reference(at) => format!("{{{}}}", recording.references[*at].from.word()),
        Piece::Secret(at) => format!("{{{}}}", recording.secrets[*at].name),
        _ => String::new(),
    })
}

/// Plans the scenarios of a recording, each with a name of its own.
pub(super) fn plan_scenarios(recording: &Recording) -> Vec<Scenario> {
    let needs: Vec<BTreeSet<usize>> = (0..recording.exchanges.len())
        .map(|number| needs_of(recording, number))
        .collect();
    let groups: HashSet<&str> = recording.groups.iter().map(|group| &*group.name).collect();
    let mut members: HashMap<Option<&str>, Vec<usize>> = HashMap::new();
    for (number, exchange) in recording.exchanges.iter().enumerate() {
        let group = exchange
            .group
            .as_deref()
            .filter(|name| groups.contains(name));
        members.entry(group).or_default().push(number);
    }
    let mut used = HashSet::new();
    let mut scenarios = Vec::new();
    let mut add = |name: Option<&str>, description: Option<&String>, own: Vec<usize>| {
        if !own.is_empty() {
            let scenario = plan_scenario(recording, &needs, name, description, &own, &mut used);
            scenarios.push(scenario);
        }
    };
    let alone = members.remove(&None).unwrap_or_default();
    add(
        recording.name.as_deref(),
        recording.description.as_ref(),
        alone,
    );
    for group in &recording.groups {
        // Of several groups with a name, the first has all members.
        let own = members
            .remove(&Some(group.name.as_str()))
            .unwrap_or_default();
        add(Some(&group.name), group.description.as_ref(), own);
    }
    scenarios
}

fn plan_scenario(
    recording: &Recording,
    needs: &[BTreeSet<usize>],
    title: Option<&str>,
    description: Option<&String>,
    own: &[usize],
    used: &mut HashSet<String>,
) -> Scenario {
    let steps = order_steps(needs, own);
    let exchanges = steps.iter().map(|at| &recording.exchanges[*at]);
    let targets: Vec<String> = exchanges
        .clone()
        .map(|exchange| shown_target(recording, exchange))
        .collect();
    let names = naming::name_steps(exchanges.zip(targets.iter().map(String::as_str)));
    let title = title.map(str::trim).filter(|name| !name.is_empty());
    let function = title.and_then(|title| naming::function_name(title, "scenario"));
    let has_title = function.is_none();
    let own_steps = steps.iter().zip(&names).filter(|(at, _)| own.contains(at));
    let own_steps = own_steps.map(|(at, name)| (&recording.exchanges[*at], name.as_str()));
    let name = function.unwrap_or_else(|| naming::name_scenario(own_steps));
    Scenario {
        name: naming::unique(&name, used),
        title: title.filter(|_| has_title).map(str::to_owned),
        description: description.cloned(),
        names: steps.iter().copied().zip(names).collect(),
        steps,
    }
}

/// Returns the exchanges whose answers an exchange needs.
fn needs_of(recording: &Recording, number: usize) -> BTreeSet<usize> {
    let references = references_of(&recording.exchanges[number]);
    let origins = references.map(|at| recording.references[at].from.exchange());
    origins
        .filter(|origin| *origin < recording.exchanges.len() && *origin != number)
        .collect()
}

/// Orders exchanges and those of other groups that they need: each after those that it needs.
fn order_steps(needs: &[BTreeSet<usize>], own: &[usize]) -> Vec<usize> {
    let (mut begun, mut order) = (HashSet::new(), Vec::new());
    for exchange in own {
        place_step(needs, *exchange, &mut begun, &mut order);
    }
    order
}

/// Places an exchange after those that it needs; of a circle, the first one comes last.
fn place_step(
    needs: &[BTreeSet<usize>],
    exchange: usize,
    begun: &mut HashSet<usize>,
    order: &mut Vec<usize>,
) {
    if begun.insert(exchange) {
        for needed in &needs[exchange] {
            place_step(needs, *needed, begun, order);
        }
        order.push(exchange);
    }
}
