//! Which requests become which scenario, and in which order: none comes before one whose answer it needs.

use super::super::marked::{Exchange, Origin, Reading, Recording, Reference};
use super::super::naming;
use super::template::{Markers, Piece, Template};
use super::types::last_key;
use std::collections::{BTreeSet, HashMap, HashSet};

/// A scenario that is to be written.
#[derive(Debug, Default)]
pub(super) struct Scenario {
    /// The function.
    pub(super) name: String,
    /// What its part of the input is called, if that says more than the name of the function.
    pub(super) title: Option<String>,
    /// What is said about it.
    pub(super) description: Option<String>,
    /// Its steps: the numbers of their exchanges.
    pub(super) steps: Vec<usize>,
    /// The functions of these.
    pub(super) names: HashMap<usize, String>,
    /// The rows of data that they need, and what these are called.
    pub(super) feeds: HashMap<usize, String>,
}

/// What the requests have from elsewhere.
pub(super) struct Needs {
    /// The references of each exchange.
    pub(super) references: Vec<BTreeSet<usize>>,
    /// Its target, with names in braces in the place of values.
    targets: Vec<String>,
}

impl Needs {
    pub(super) fn of(recording: &Recording, markers: &Markers) -> Self {
        let exchanges = || recording.exchanges.iter();
        let target = |exchange: &Exchange| {
            let target = exchange.pattern.as_ref().unwrap_or(&exchange.target);
            shown(recording, &markers.split(target))
        };
        Self {
            references: exchanges()
                .map(|exchange| markers.references(exchange))
                .collect(),
            targets: exchanges().map(target).collect(),
        }
    }

    /// The exchanges whose answers this one needs.
    fn of_exchange(&self, recording: &Recording, exchange: usize) -> BTreeSet<usize> {
        let references = self.references[exchange].iter();
        let origins = references.filter_map(|at| exchange_of(&recording.references[*at].from));
        origins
            .filter(|origin| *origin < recording.exchanges.len() && *origin != exchange)
            .collect()
    }
}

impl Scenario {
    /// The references of its steps whose values are there: from steps above, or from rows.
    pub(super) fn references(&self, recording: &Recording, needs: &Needs) -> BTreeSet<usize> {
        let mut above = HashSet::new();
        let mut references = BTreeSet::new();
        for step in &self.steps {
            for at in &needs.references[*step] {
                let origin = exchange_of(&recording.references[*at].from);
                if origin.is_none_or(|origin| above.contains(&origin)) {
                    references.insert(*at);
                }
            }
            above.insert(*step);
        }
        references
    }
}

/// A template as people see it: names in braces in the place of values.
pub(super) fn shown(recording: &Recording, template: &Template) -> String {
    let pieces = template.0.iter().map(|piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Secret(name) => format!("{{{name}}}"),
        Piece::Value(at) => format!("{{{}}}", word(&recording.references[*at])),
    });
    pieces.collect()
}

/// A word for the value of a reference.
pub(super) fn word(reference: &Reference) -> &str {
    word_of(&reference.from)
}

fn word_of(origin: &Origin) -> &str {
    match origin {
        Origin::Body { path, .. } => last_key(path).unwrap_or("value"),
        Origin::Link { rel, .. } => rel,
        Origin::Within { outer, reading } => match reading {
            Reading::Json(path) => last_key(path).unwrap_or_else(|| word_of(outer)),
            Reading::Between { before, .. } => word_before(before),
            Reading::Decoded(_) => word_of(outer),
        },
        Origin::Between { before, .. } | Origin::Part { before, .. } => word_before(before),
        Origin::Header { name, .. } => name,
        Origin::Row { field, .. } => field,
    }
}

/// What a value is called by the text before it: `csrf` of `name="csrf" value="`.
fn word_before(before: &str) -> &str {
    const SILENT: [&str; 9] = [
        "content", "data", "hidden", "id", "input", "meta", "name", "type", "value",
    ];
    let words =
        before.split(|letter: char| !letter.is_ascii_alphanumeric() && !"_-".contains(letter));
    words
        .rev()
        .find(|word| word.len() > 1 && word.len() < 40 && !SILENT.contains(word))
        .unwrap_or("value")
}

/// The exchange whose answer has the value.
pub(super) fn exchange_of(origin: &Origin) -> Option<usize> {
    match origin.root() {
        Origin::Body { exchange, .. }
        | Origin::Link { exchange, .. }
        | Origin::Between { exchange, .. }
        | Origin::Header { exchange, .. }
        | Origin::Part { exchange, .. } => Some(*exchange),
        Origin::Row { .. } | Origin::Within { .. } => None,
    }
}

/// The scenarios of a recording, with names of which no two are alike.
pub(super) fn scenarios(recording: &Recording, needs: &Needs) -> Vec<Scenario> {
    let mut scenarios = Vec::new();
    let mut used = HashSet::new();
    let mut add = |name: Option<&str>, description: Option<&str>, own: &[usize]| {
        if own.is_empty() {
            return;
        }
        let steps = ordered(recording, needs, own);
        let feeds = feeds(recording, needs, &steps);
        let taken: Vec<String> = feeds.values().cloned().collect();
        let exchanges = steps
            .iter()
            .map(|at| (&recording.exchanges[*at], needs.targets[*at].as_str()));
        let names = naming::steps(exchanges, &taken);
        let title = name.map(str::trim).filter(|name| !name.is_empty());
        let titled = title.and_then(|title| naming::titled(title, "scenario"));
        let is_told = titled.is_some();
        let is_own: HashSet<usize> = own.iter().copied().collect();
        let own_steps = steps.iter().zip(&names);
        let own_steps = own_steps.filter(|(at, _)| is_own.contains(at));
        let own_steps = own_steps.map(|(at, name)| (&recording.exchanges[*at], name.as_str()));
        let name = titled.unwrap_or_else(|| naming::journey(own_steps));
        scenarios.push(Scenario {
            name: naming::unique(&name, &mut used),
            title: title.filter(|_| !is_told).map(str::to_owned),
            description: description.map(str::to_owned),
            names: steps.iter().copied().zip(names).collect(),
            steps,
            feeds,
        });
    };
    let (name, description) = (recording.name.as_deref(), recording.description.as_deref());
    let exchanges = recording.exchanges.iter();
    let mut members = members(
        recording.groups.iter().map(|group| group.name.as_str()),
        exchanges.map(|exchange| exchange.group.as_deref()),
    );
    add(
        name,
        description,
        &members.remove(&None).unwrap_or_default(),
    );
    for group in &recording.groups {
        // Of several groups with a name, the first has them all.
        if let Some(own) = members.remove(&Some(group.name.as_str())) {
            add(Some(&group.name), group.description.as_deref(), &own);
        }
    }
    scenarios
}

/// The numbers of the exchanges that are in each group, by the names that these say, and of those in none.
fn members<'a>(
    groups: impl Iterator<Item = &'a str>,
    said: impl Iterator<Item = Option<&'a str>>,
) -> HashMap<Option<&'a str>, Vec<usize>> {
    let groups: HashSet<&str> = groups.collect();
    let mut members: HashMap<Option<&str>, Vec<usize>> = HashMap::new();
    for (at, name) in said.enumerate() {
        let group = name.filter(|name| groups.contains(name));
        members.entry(group).or_default().push(at);
    }
    members
}

/// What others have to answer first, then the own ones, each behind what it needs.
fn ordered(recording: &Recording, needs: &Needs, own: &[usize]) -> Vec<usize> {
    let is_own: HashSet<usize> = own.iter().copied().collect();
    let mut others = BTreeSet::new();
    let mut open = own.to_vec();
    let mut seen = is_own.clone();
    while let Some(exchange) = open.pop() {
        for needed in needs.of_exchange(recording, exchange) {
            if !is_own.contains(&needed) {
                others.insert(needed);
            }
            if seen.insert(needed) {
                open.push(needed);
            }
        }
    }
    let mut order = Vec::new();
    let mut begun = HashSet::new();
    for exchange in others.into_iter().chain(own.iter().copied()) {
        place(recording, needs, exchange, &mut begun, &mut order);
    }
    order
}

/// Puts an exchange behind those that it needs; of a circle, the one that was begun with is the last.
fn place(
    recording: &Recording,
    needs: &Needs,
    exchange: usize,
    begun: &mut HashSet<usize>,
    order: &mut Vec<usize>,
) {
    if !begun.insert(exchange) {
        return;
    }
    let mut open = vec![(exchange, needs.of_exchange(recording, exchange))];
    while let Some((exchange, needed)) = open.last_mut() {
        if let Some(next) = needed.pop_first() {
            if begun.insert(next) {
                open.push((next, needs.of_exchange(recording, next)));
            }
        } else {
            order.push(*exchange);
            open.pop();
        }
    }
}

/// The data that the steps need, and what its rows are called.
fn feeds(recording: &Recording, needs: &Needs, steps: &[usize]) -> HashMap<usize, String> {
    let mut used = HashSet::new();
    let mut feeds = HashMap::new();
    for at in steps.iter().flat_map(|step| &needs.references[*step]) {
        if let Origin::Row { data, .. } = &recording.references[*at].from
            && let Some(rows) = recording.data.get(*data)
            && !feeds.contains_key(data)
        {
            let name = naming::titled(&rows.name, "row").unwrap_or_else(|| "row".to_owned());
            feeds.insert(*data, naming::unique(&name, &mut used));
        }
    }
    feeds
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn groups_find_their_exchanges_in_one_look_at_each() {
        let names: Vec<String> = (0..1_000).map(|number| format!("g{number}")).collect();
        let looks = Cell::new(0);
        let look = || looks.set(looks.get() + 1);
        let said = names.iter().chain(&names).map(|name| Some(name.as_str()));
        let said = said.chain([None, Some("nowhere")]);
        let groups = names.iter().map(String::as_str);
        let groups = groups.inspect(|_| look());
        let members = members(groups, said.inspect(|_| look()));
        assert_eq!(looks.get(), 3_002);
        assert_eq!(members[&Some("g7")], [7, 1_007]);
        assert_eq!(members[&None], [2_000, 2_001]);
        assert_eq!(members.len(), 1_001);
    }
}
