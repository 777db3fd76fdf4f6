//! Paths that differ in one segment: `/items/1` and `/items/2` are `/items/{id}`, asked with a row of data.
//!
//! Requests that only read, and are alike but for the identifier of one thing, become one step, so that each journey
//! asks for one of the things. All that is asked about things of one name has to be about the same ones - a journey
//! that opens an item and its reviews has one row for both - and nothing else may know of them: neither an earlier
//! answer, from which the identifier can be had, nor another request. The first row is what was recorded first.

use super::super::marked::{Confidence, Data, Exchange, Header, Origin, Recording, Reference};
use super::super::source::{Input, Note};
use super::Kept;
use super::things::{Segment, pattern, segments, singular};
use super::values::{self, Named};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// What is the same in requests that are one step.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Alike {
    method: String,
    origin: String,
    before: String,
    after: String,
    headers: Vec<(String, Vec<u8>)>,
    expect: Vec<u16>,
    /// Which one of several requests for the same thing it is.
    round: usize,
}

/// Requests for things of one name: by what is the same in them, the numbers of exchanges and the identifiers.
#[derive(Debug, Default)]
struct Family {
    groups: Vec<(Alike, Vec<(usize, String)>)>,
}

/// Gives patterns to all, and makes one of those that are alike.
pub(super) fn fold(exchanges: &mut Vec<Kept>, input: &Input, recording: &mut Recording) {
    for kept in exchanges.iter_mut() {
        kept.exchange.pattern = pattern(&kept.exchange.target);
    }
    let families = families(exchanges);
    let members = families.iter().flat_map(|(_, family)| family.members());
    let all: HashSet<String> = members.map(|(_, id)| id.to_owned()).collect();
    let mut known: Option<Known> = None;
    let mut removed: HashSet<usize> = HashSet::new();
    let mut taken: HashSet<usize> = HashSet::new();
    for (word, family) in families {
        let ids = &family.groups[0].1;
        if ids.len() < 2 || !family.is_about_the_same() {
            continue;
        }
        let members: HashSet<usize> = family.members().map(|(number, _)| number).collect();
        if members.len() < family.members().count() || !members.is_disjoint(&taken) {
            continue;
        }
        let known = known.get_or_insert_with(|| Known::of(exchanges, &all));
        if !known.leaves_free(exchanges, &family, &word) {
            continue;
        }
        let name = unique(&singular(&word), &recording.data);
        let data = recording.data.len();
        let marker = marker(input, data);
        recording.data.push(Data {
            name: name.clone(),
            fields: vec!["id".to_owned()],
            rows: ids.iter().map(|(_, id)| vec![id.clone()]).collect(),
        });
        recording.references.push(Reference {
            marker: marker.clone(),
            from: Origin::Row {
                data,
                field: "id".to_owned(),
            },
            is_bare: false,
            confidence: Confidence::Certain,
            why: format!("{} values were recorded in its place", ids.len()),
        });
        let (first, count) = (ids[0].1.clone(), ids.len());
        for (alike, group) in &family.groups {
            for (number, id) in group {
                if *id != first {
                    removed.insert(*number);
                    continue;
                }
                let exchange = &mut exchanges[*number].exchange;
                exchange.target = format!("{}{marker}{}", alike.before, alike.after);
                let words = format!(
                    "it was recorded with {count} identifiers: each journey asks for one of them, a row of `{name}`"
                );
                recording
                    .notes
                    .push(Note::new(exchange.span.clone(), words));
            }
        }
        taken.extend(members);
    }
    let mut number = 0;
    exchanges.retain(|_| {
        number += 1;
        !removed.contains(&(number - 1))
    });
}

/// Requests that only read, by what they ask about, in the order in which that appears.
fn families(exchanges: &[Kept]) -> Vec<(String, Family)> {
    let mut families: Vec<(String, Family)> = Vec::new();
    let mut by_word: HashMap<String, usize> = HashMap::new();
    let mut rounds: HashMap<(Alike, String), usize> = HashMap::new();
    let mut by_alike: HashMap<Alike, usize> = HashMap::new();
    for (number, kept) in exchanges.iter().enumerate() {
        let exchange = &kept.exchange;
        if !matches!(exchange.method.as_str(), "GET" | "HEAD") || !exchange.body.bytes().is_empty()
        {
            continue;
        }
        for segment in segments(&exchange.target) {
            let mut alike = Alike::of(exchange, segment);
            let round = rounds
                .entry((alike.clone(), segment.id.to_owned()))
                .or_default();
            alike.round = *round;
            *round += 1;
            let at = *by_word.entry(segment.word.to_owned()).or_insert_with(|| {
                families.push((segment.word.to_owned(), Family::default()));
                families.len() - 1
            });
            let groups = &mut families[at].1.groups;
            let group = *by_alike.entry(alike.clone()).or_insert_with(|| {
                groups.push((alike, Vec::new()));
                groups.len() - 1
            });
            groups[group].1.push((number, segment.id.to_owned()));
        }
    }
    families
}

impl Alike {
    fn of(exchange: &Exchange, segment: Segment<'_>) -> Self {
        let plain = |header: &Header| (header.name.clone(), header.value.clone());
        Self {
            method: exchange.method.clone(),
            origin: exchange.origin.clone(),
            before: segment.before.to_owned(),
            after: segment.after.to_owned(),
            headers: exchange.headers.iter().map(plain).collect(),
            expect: exchange.expect.clone(),
            round: 0,
        }
    }
}

impl Family {
    /// Whether each question is asked about the same things.
    fn is_about_the_same(&self) -> bool {
        let ids = |group: &[(usize, String)]| -> HashSet<String> {
            group.iter().map(|(_, id)| id.clone()).collect()
        };
        let first = ids(&self.groups[0].1);
        self.groups.iter().all(|(_, group)| ids(group) == first)
    }

    /// The numbers of its exchanges, and what each is about.
    fn members(&self) -> impl Iterator<Item = (usize, &str)> {
        let groups = self.groups.iter().flat_map(|(_, group)| group);
        groups.map(|(number, id)| (*number, id.as_str()))
    }
}

/// Which values are in which requests and answers.
struct Known {
    asked: HashMap<String, Vec<(usize, Named)>>,
    /// Of answers, the identifiers alone.
    answered: HashMap<String, Vec<(usize, Named)>>,
}

impl Known {
    fn of(exchanges: &[Kept], ids: &HashSet<String>) -> Self {
        let mut known = Self {
            asked: HashMap::new(),
            answered: HashMap::new(),
        };
        for (number, kept) in exchanges.iter().enumerate() {
            for named in values::asked(&kept.exchange) {
                let places = known.asked.entry(named.value.clone()).or_default();
                places.push((number, named));
            }
            let answered: HashSet<Named> = values::answered(&kept.exchange).into_iter().collect();
            for named in answered {
                if ids.contains(&named.value) {
                    let places = known.answered.entry(named.value.clone()).or_default();
                    places.push((number, named));
                }
            }
        }
        known
    }

    /// Whether nothing but the family has to do with its things.
    fn leaves_free(&self, exchanges: &[Kept], family: &Family, word: &str) -> bool {
        let word = singular(word);
        let about: HashMap<usize, &str> = family.members().collect();
        let is_known =
            |known: &HashMap<String, Vec<(usize, Named)>>, id: &str, is: &dyn Fn(usize) -> bool| {
                let places = known.get(id).map(Vec::as_slice).unwrap_or_default();
                let mut places = places.iter();
                places.any(|(number, named)| is(*number) && named.is_telling(&word))
            };
        let is_free = family.members().all(|(number, id)| {
            // What is asked about a thing may well answer with its name.
            let is_earlier = |other: usize| other < number && about.get(&other) != Some(&id);
            let is_elsewhere = |other: usize| !about.contains_key(&other);
            !is_known(&self.answered, id, &is_earlier) && !is_known(&self.asked, id, &is_elsewhere)
        });
        let first = &family.groups[0].1[0].1;
        is_free
            && family.groups.iter().all(|(_, group)| {
                let stays = group.iter().find(|(_, id)| id == first);
                let mut others = group.iter().filter(|(_, id)| id != first);
                stays.is_some_and(|(stays, _)| {
                    let stays = &exchanges[*stays].exchange;
                    others.all(|(other, _)| {
                        self.is_replaceable(&exchanges[*other].exchange, *other, stays, &about)
                    })
                })
            })
    }

    /// Whether nothing later needs what this answer has, and the one that stays has not.
    fn is_replaceable(
        &self,
        exchange: &Exchange,
        number: usize,
        stays: &Exchange,
        about: &HashMap<usize, &str>,
    ) -> bool {
        let known: HashSet<String> = values::answered(stays)
            .into_iter()
            .map(|named| named.value)
            .collect();
        let is_needed = values::answered(exchange).into_iter().any(|named| {
            let uses = self.asked.get(&named.value).map(Vec::as_slice);
            let mut uses = uses.unwrap_or_default().iter();
            !known.contains(&named.value)
                && named.is_telling("")
                && uses.any(|(later, _)| *later > number && !about.contains_key(later))
        });
        !is_needed && cookies(exchange).is_subset(&cookies(stays))
    }
}

/// The names of the cookies that an answer sets.
fn cookies(exchange: &Exchange) -> HashSet<&[u8]> {
    let headers = exchange.answer.iter().flat_map(|answer| &answer.headers);
    let set = headers.filter(|header| header.name == "set-cookie");
    set.map(|header| {
        let mut parts = header.value.split(|byte| *byte == b'=');
        parts.next().unwrap_or_default()
    })
    .collect()
}

/// A name that no other data has.
fn unique(name: &str, known: &[Data]) -> String {
    let mut unique = name.to_owned();
    let mut number = 1;
    while known.iter().any(|data| data.name == unique) {
        number += 1;
        unique = format!("{name}_{number}");
    }
    unique
}

/// What is like nothing else in the input, and the same at each import of it.
fn marker(input: &Input, number: usize) -> String {
    let mut hasher = DefaultHasher::new();
    input.text.hash(&mut hasher);
    let mut hash = hasher.finish();
    loop {
        let marker = format!("lt{hash:016x}r{number}e");
        if !input.text.contains(&marker) {
            return marker;
        }
        hash = hash.wrapping_add(1);
    }
}
