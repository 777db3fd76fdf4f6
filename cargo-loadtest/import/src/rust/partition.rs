//! Plans scenarios: their requests, in an order in which each follows those whose answers it needs, and their names.

use crate::naming;
use crate::recording::{Recording, ScenarioSettings, order_by_needs};
use std::collections::{BTreeSet, HashMap, HashSet};

/// A scenario to write.
#[derive(Debug, Default)]
pub(super) struct Scenario {
    /// The name of the function.
    pub(super) name: String,
    /// The title, where it says more than the name.
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) settings: ScenarioSettings,
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
            let own = recording.references_of(&recording.exchanges[*step]);
            references.extend(
                own.into_iter()
                    .filter(|at| above.contains(&recording.references[*at].from.exchange())),
            );
            above.insert(*step);
        }
        references
    }
}

/// Plans the scenarios of a recording, each with a name of its own.
pub(super) fn plan_scenarios(recording: &Recording) -> Vec<Scenario> {
    let needs: Vec<Vec<usize>> = (0..recording.exchanges.len())
        .map(|number| needs_of(recording, number))
        .collect();
    let exchanges = recording.exchanges.iter();
    let members: Vec<Option<usize>> = exchanges.map(|exchange| exchange.group).collect();
    let groups = recording.groups.iter().enumerate();
    let groups = groups.map(|(at, group)| (Some(at), Some(&*group.name), &group.description));
    let alone = (None, recording.name.as_deref(), &recording.description);
    let mut used = HashSet::new();
    let mut scenarios = Vec::new();
    for (group, title, description) in std::iter::once(alone).chain(groups) {
        let own = (0..members.len()).filter(|number| members[*number] == group);
        let own: Vec<usize> = own.collect();
        if !own.is_empty() {
            let mut scenario = plan_scenario(recording, &needs, title, &own, &mut used);
            scenario.description.clone_from(description);
            if let Some(at) = group {
                scenario.settings = recording.groups[at].settings.clone();
            }
            scenarios.push(scenario);
        }
    }
    scenarios
}

fn plan_scenario(
    recording: &Recording,
    needs: &[Vec<usize>],
    title: Option<&str>,
    own: &[usize],
    used: &mut HashSet<String>,
) -> Scenario {
    let steps = order_by_needs(own, |number| &needs[number]);
    let exchanges = steps.iter().map(|at| &recording.exchanges[*at]);
    let names = naming::name_steps(recording, exchanges);
    let title = title.map(str::trim).filter(|name| !name.is_empty());
    let function = title.and_then(|title| naming::function_name(title, "scenario"));
    let has_title = function.is_none();
    let own_steps = steps.iter().zip(&names).filter(|(at, _)| own.contains(at));
    let own_steps = own_steps.map(|(at, name)| (&recording.exchanges[*at], name.as_str()));
    let name = function.unwrap_or_else(|| naming::name_scenario(own_steps));
    Scenario {
        name: naming::unique(&name, used),
        title: title.filter(|_| has_title).map(str::to_owned),
        description: None,
        settings: ScenarioSettings::default(),
        names: steps.iter().copied().zip(names).collect(),
        steps,
    }
}

/// Returns the exchanges whose answers an exchange needs.
fn needs_of(recording: &Recording, number: usize) -> Vec<usize> {
    let references = recording.references_of(&recording.exchanges[number]);
    let origins = references
        .into_iter()
        .map(|at| recording.references[at].from.exchange());
    let needs: BTreeSet<usize> = origins
        .filter(|origin| *origin < recording.exchanges.len() && *origin != number)
        .collect();
    needs.into_iter().collect()
}
