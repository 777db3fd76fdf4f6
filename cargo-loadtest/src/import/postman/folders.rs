//! Which requests are taken, and what scenarios they make.

use super::super::document::Node;
use super::super::marked::{Exchange, Group, Origin, Recording};
use super::super::source::{Mistake, Note};
use super::collection::{Collection, shown};
use super::names::unique;
use super::request::description;
use std::collections::{BTreeSet, HashMap, HashSet};

/// How different the name of a folder may be that was meant.
const NEAR: usize = 3;

/// The numbers of the folders that are asked for.
///
/// # Errors
/// A name that no folder has.
pub(super) fn selected(
    collection: &Collection<'_, '_>,
    names: &[String],
    root: &Node<'_>,
) -> Result<Vec<usize>, Mistake> {
    let mut selected = Vec::new();
    for wanted in names {
        let same = |name: &str, exactly: bool| {
            name == wanted || !exactly && name.to_lowercase() == wanted.trim().to_lowercase()
        };
        let find = |exactly: bool| -> Vec<usize> {
            let folders = collection.folders.iter().enumerate().skip(1);
            let found = folders.filter(|(_, folder)| same(&folder.name, exactly));
            found.map(|(number, _)| number).collect()
        };
        let mut found = find(true);
        if found.is_empty() {
            found = find(false);
        }
        if found.is_empty() {
            return Err(no_folder(collection, wanted, root));
        }
        selected.extend(found);
    }
    Ok(selected)
}

fn no_folder(collection: &Collection<'_, '_>, wanted: &str, root: &Node<'_>) -> Mistake {
    let names: Vec<&str> = collection.folders[1..]
        .iter()
        .map(|folder| folder.name.as_str())
        .collect();
    let distance =
        |name: &str| strsim::damerau_levenshtein(&name.to_lowercase(), &wanted.to_lowercase());
    let near = names
        .iter()
        .min_by_key(|name| distance(name))
        .filter(|name| distance(name) <= NEAR);
    let mut folders = collection.folders[1..].iter();
    let place = folders.find(|folder| near.is_none_or(|near| folder.name == *near));
    let place = place
        .map(|folder| shown(folder.node))
        .or_else(|| root.name("item"));
    let mistake = Mistake::new(
        place.unwrap_or_else(|| root.beginning()),
        format!("there is no folder `{wanted}` in it"),
    );
    match near {
        Some(near) => mistake.help(format!("there is one that is called `{near}`")),
        None if names.is_empty() => mistake.help("there are none: leave `--folder` out"),
        None => {
            let some: Vec<String> = names
                .iter()
                .take(10)
                .map(|name| format!("`{name}`"))
                .collect();
            mistake.help(format!("it has {}", some.join(", ")))
        }
    }
}

/// Says why nothing can be sent: `left` is what was left out.
pub(super) fn nothing_left(
    collection: &Collection<'_, '_>,
    selected: &[usize],
    left: &[Note],
    root: &Node<'_>,
) -> Mistake {
    let within = |note: &&Note| {
        let mut folders = selected.iter().map(|number| &collection.folders[*number]);
        selected.is_empty() || folders.any(|folder| folder.node.span.contains(&note.span.start))
    };
    let left: Vec<&Note> = left.iter().chain(&collection.left).filter(within).collect();
    let Some(first) = left.iter().min_by_key(|note| note.span.start) else {
        let folder = selected
            .first()
            .map(|number| collection.folders[*number].node);
        let place = folder.map(shown).or_else(|| root.name("item"));
        let words = "there is no request in it that can be sent";
        return Mistake::new(place.unwrap_or_else(|| root.beginning()), words);
    };
    let words = match left.len() {
        1 => format!("{}, and there is no other request", first.words),
        number => format!(
            "{}, and none of the {number} requests can be sent",
            first.words
        ),
    };
    Mistake::new(first.span.clone(), words)
}

/// Leaves out what is not asked for, and puts requests into scenarios: one for each folder at the top, one for the
/// requests beside them. `entries` are the numbers of the entries that the exchanges are of.
pub(super) fn group(
    recording: &mut Recording,
    entries: &[usize],
    collection: &Collection<'_, '_>,
    selected: &[usize],
    prefix: &str,
) {
    let way = |exchange: usize| collection.numbers(collection.entries[entries[exchange]].folder);
    let has_folders = (0..entries.len()).any(|exchange| way(exchange).len() > 1);
    if !has_folders {
        return;
    }
    // The folder whose scenario each exchange belongs to.
    let mut folders: Vec<Option<usize>> = (0..entries.len())
        .map(|exchange| {
            let way = way(exchange);
            if selected.is_empty() {
                return Some(if way.len() > 1 { way[way.len() - 2] } else { 0 });
            }
            selected.iter().copied().find(|folder| way.contains(folder))
        })
        .collect();
    let used: Vec<HashSet<String>> = recording
        .exchanges
        .iter()
        .map(|exchange| markers(exchange, prefix))
        .collect();
    let from: HashMap<&str, usize> = recording
        .references
        .iter()
        .filter_map(|reference| Some((reference.marker.as_str(), source(&reference.from)?)))
        .collect();
    // What a request needs comes before it, so one way back sees all.
    for exchange in (0..entries.len()).rev() {
        let Some(folder) = folders[exchange] else {
            continue;
        };
        for needed in used[exchange]
            .iter()
            .filter_map(|marker| from.get(marker.as_str()))
        {
            folders[*needed].get_or_insert(folder);
        }
    }
    name(recording, entries, collection, &folders);
    if !selected.is_empty() {
        leave_out(recording, entries, collection, &folders, &used);
    }
}

/// Names the groups, and the steps of each so that no two are alike for want of a word.
fn name(
    recording: &mut Recording,
    entries: &[usize],
    collection: &Collection<'_, '_>,
    folders: &[Option<usize>],
) {
    let mut groups: HashMap<usize, String> = HashMap::new();
    let mut seen: HashMap<(usize, Option<String>), usize> = HashMap::new();
    for (exchange, folder) in recording.exchanges.iter_mut().zip(folders) {
        let Some(number) = *folder else { continue };
        *seen.entry((number, exchange.name.clone())).or_default() += 1;
        let group = groups.entry(number).or_insert_with(|| {
            let folder = &collection.folders[number];
            let names: HashSet<&str> = recording
                .groups
                .iter()
                .map(|group| group.name.as_str())
                .collect();
            let group = Group {
                name: unique(&folder.name, " ", |name| names.contains(name)),
                description: description(folder.node.get("info").unwrap_or(folder.node)),
            };
            recording.groups.push(group.clone());
            group.name
        });
        exchange.group = Some(group.clone());
    }
    for ((exchange, folder), entry) in recording.exchanges.iter_mut().zip(folders).zip(entries) {
        let Some(number) = *folder else { continue };
        let own = collection.entries[*entry].folder;
        if seen[&(number, exchange.name.clone())] > 1 && own != number && own > 0 {
            let folder = &collection.folders[own].name;
            exchange.name = exchange
                .name
                .as_ref()
                .map(|name| format!("{folder} {name}"));
        }
    }
}

/// Takes away the exchanges without a folder, and all that is said about them.
fn leave_out(
    recording: &mut Recording,
    entries: &[usize],
    collection: &Collection<'_, '_>,
    folders: &[Option<usize>],
    used: &[HashSet<String>],
) {
    let kept: BTreeSet<usize> = (0..entries.len())
        .filter(|exchange| folders[*exchange].is_some())
        .collect();
    let mut numbers = HashMap::new();
    let mut markers: HashSet<&str> = HashSet::new();
    let (mut kept_folders, mut kept_entries) = (HashSet::from([0]), HashSet::new());
    for exchange in &kept {
        numbers.insert(*exchange, numbers.len());
        markers.extend(used[*exchange].iter().map(String::as_str));
        kept_entries.insert(entries[*exchange]);
        kept_folders.extend(collection.numbers(collection.entries[entries[*exchange]].folder));
    }
    let mut number = 0;
    recording.exchanges.retain(|_| {
        number += 1;
        kept.contains(&(number - 1))
    });
    recording.references.retain_mut(|reference| {
        let is_used = markers.contains(reference.marker.as_str());
        if let Origin::Body { exchange, .. } | Origin::Header { exchange, .. } = &mut reference.from
        {
            match numbers.get(exchange) {
                Some(number) if is_used => *exchange = *number,
                _ => return false,
            }
        }
        is_used
    });
    recording
        .secrets
        .retain(|secret| markers.contains(secret.value.as_str()));
    let folders = collection.folders.iter().enumerate();
    let folders = folders
        .filter(|(number, _)| !kept_folders.contains(number))
        .map(|(_, folder)| &folder.node.span);
    let entries = collection.entries.iter().enumerate();
    let entries = entries
        .filter(|(number, _)| !kept_entries.contains(number))
        .map(|(_, entry)| &entry.item.span);
    let left: Vec<_> = folders.chain(entries).collect();
    let is_left = |at: usize| left.iter().any(|span| span.contains(&at));
    recording.notes.retain(|note| !is_left(note.span.start));
    recording
        .dropped
        .retain(|dropped| !is_left(dropped.span.start));
}

/// The exchange whose answer a value is from.
fn source(origin: &Origin) -> Option<usize> {
    // The only two that scripts make.
    if let Origin::Body { exchange, .. } | Origin::Header { exchange, .. } = origin {
        return Some(*exchange);
    }
    None
}

/// The markers in a request.
fn markers(exchange: &Exchange, prefix: &str) -> HashSet<String> {
    let mut text = exchange.target.clone();
    for header in &exchange.headers {
        text.push_str(&header.name);
        text.push(' ');
        text.push_str(&String::from_utf8_lossy(&header.value));
        text.push(' ');
    }
    if let Some(credentials) = &exchange.credentials {
        text.push_str(&String::from_utf8_lossy(&credentials.user));
        text.push(' ');
        text.push_str(&String::from_utf8_lossy(&credentials.password));
    }
    text.push_str(&String::from_utf8_lossy(&exchange.body.bytes()));
    text.push_str(&exchange.method);
    let pieces = text.split(prefix).skip(1);
    let markers = pieces.filter_map(|piece| Some(format!("{prefix}{}e", piece.split_once('e')?.0)));
    markers.collect()
}

/// The base is where most requests go; those whose target says where go there too.
pub(super) fn base(recording: &mut Recording) {
    let mut counts: Vec<(String, usize)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for exchange in recording
        .exchanges
        .iter()
        .filter(|exchange| !exchange.origin.is_empty())
    {
        let place = *places.entry(exchange.origin.clone()).or_insert_with(|| {
            counts.push((exchange.origin.clone(), 0));
            counts.len() - 1
        });
        counts[place].1 += 1;
    }
    // The first of those with the most.
    let most = counts.iter().rev().max_by_key(|(_, count)| *count);
    let base = most.map_or_else(
        || super::url::SOMEWHERE.to_owned(),
        |(origin, _)| origin.clone(),
    );
    for exchange in recording
        .exchanges
        .iter_mut()
        .filter(|exchange| exchange.origin.is_empty())
    {
        exchange.origin.clone_from(&base);
    }
    recording.base = Some(base);
}
