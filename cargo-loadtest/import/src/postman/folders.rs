//! Selects requests, and groups them into scenarios.

use super::collection::{PostmanCollection, item_place};
use super::request::read_description;
use crate::document::Node;
use crate::recording::{Group, Recording};
use crate::source::{Mistake, Note};
use loadtest_console::suggestion::{find_similar, join_names};
use std::collections::HashMap;

/// Returns the numbers of the folders that are asked for.
pub(super) fn select_folders(
    collection: &PostmanCollection<'_, '_>,
    names: &[String],
    root: &Node<'_>,
) -> Result<Vec<usize>, Mistake> {
    let mut selected = Vec::new();
    for wanted in names {
        let name = wanted.trim().to_lowercase();
        let folders = collection.folders.iter().enumerate().skip(1);
        let found = folders.filter(|(_, folder)| folder.name.to_lowercase() == name);
        let count = selected.len();
        selected.extend(found.map(|(number, _)| number));
        if selected.len() == count {
            return Err(no_folder(collection, wanted, root));
        }
    }
    Ok(selected)
}

fn no_folder(collection: &PostmanCollection<'_, '_>, wanted: &str, root: &Node<'_>) -> Mistake {
    let folders = collection.folders[1..].iter();
    let names: Vec<&str> = folders.clone().map(|folder| folder.name.as_str()).collect();
    let near = find_similar(wanted, names.iter().copied());
    let place = folders.filter(|folder| near.is_none_or(|near| folder.name == near));
    let place = place.map(|folder| item_place(folder.node)).next();
    let place = place.or_else(|| root.name("item"));
    let words = format!("there is no folder `{wanted}` in it");
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("it has {}", join_names(&names[..names.len().min(10)])),
    };
    Mistake::new(place.unwrap_or_else(|| root.beginning()), words).help(help)
}

/// Explains why no request can be sent; `left` are those that were left out.
pub(super) fn explain_nothing_left(
    collection: &PostmanCollection<'_, '_>,
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
        let place = folder.map(item_place).or_else(|| root.name("item"));
        let words = "there is no request in it that can be sent";
        return Mistake::new(place.unwrap_or_else(|| root.beginning()), words);
    };
    let words = format!("{}, and no request is left", first.words);
    Mistake::new(first.span.clone(), words)
}

/// Returns the folder whose scenario each exchange belongs to: a folder at the top, or one that is selected. The others
/// have none, unless a selected one needs their answer. `entries` are the numbers of the exchanges' entries.
pub(super) fn assign_folders(
    recording: &Recording,
    entries: &[usize],
    collection: &PostmanCollection<'_, '_>,
    selected: &[usize],
) -> Vec<Option<usize>> {
    let ways = entries.iter().map(|entry| {
        let folder = collection.entries[*entry].folder;
        collection.numbers_around(folder)
    });
    let folder = |way: Vec<usize>| match selected {
        // The last one is the collection.
        [] => way.iter().rev().nth(1).or(way.last()).copied(),
        selected => selected.iter().copied().find(|folder| way.contains(folder)),
    };
    let mut folders: Vec<Option<usize>> = ways.map(folder).collect();
    // A request comes after all that it needs, so one way back sees all.
    for exchange in (0..entries.len()).rev() {
        let Some(folder) = folders[exchange] else {
            continue;
        };
        for text in recording.exchanges[exchange].texts() {
            for number in text.references() {
                let needed = recording.references[number].from.exchange();
                folders[needed].get_or_insert(folder);
            }
        }
    }
    folders
}

/// Names the groups, and the steps of each so that no two are alike for want of a word.
pub(super) fn name_groups(
    recording: &mut Recording,
    entries: &[usize],
    collection: &PostmanCollection<'_, '_>,
    folders: &[usize],
) {
    let own_folder = |exchange: usize| collection.entries[entries[exchange]].folder;
    if (0..entries.len()).all(|exchange| own_folder(exchange) == 0) {
        return;
    }
    let mut groups = HashMap::new();
    let mut counts: HashMap<(usize, Option<String>), usize> = HashMap::new();
    for (exchange, number) in recording.exchanges.iter_mut().zip(folders) {
        *counts.entry((*number, exchange.name.clone())).or_default() += 1;
        let group = groups.entry(*number).or_insert_with(|| {
            let folder = &collection.folders[*number];
            let description = read_description(folder.node.get("info").unwrap_or(folder.node));
            recording.groups.push(Group {
                name: folder.name.clone(),
                description,
                ..Group::default()
            });
            recording.groups.len() - 1
        });
        exchange.group = Some(*group);
    }
    for (number, exchange) in recording.exchanges.iter_mut().enumerate() {
        let (folder, own) = (folders[number], own_folder(number));
        if counts[&(folder, exchange.name.clone())] > 1 && own != folder && own > 0 {
            let folder = &collection.folders[own].name;
            let name = exchange.name.take();
            exchange.name = name.map(|name| format!("{folder} {name}"));
        }
    }
}
