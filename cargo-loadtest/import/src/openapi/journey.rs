//! Orders requests into journeys: grouped by tag, and what creates a thing before what uses it.

use super::draft::{PathPiece, RequestDraft};
use super::wants::{WantedPlace, WantedValue, plain_name};
use crate::document::Node;
use crate::recording::{Group, order_by_needs};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// Most operations without tags that are one scenario.
const FEW_OPERATIONS: usize = 12;
/// First segments of paths that name no topic.
const SILENT_SEGMENTS: [&str; 4] = ["api", "rest", "public", "v"];

/// The order of requests, and their groups.
pub(super) struct Journey {
    /// Numbers of the drafts.
    pub(super) order: Vec<usize>,
    pub(super) groups: Vec<Group>,
    /// Number of the group of each draft.
    pub(super) group_of: Vec<Option<usize>>,
}

/// Finds an order in which each request comes after those whose answers it needs.
pub(super) fn order_journey(
    root: &Node<'_>,
    drafts: &[RequestDraft<'_>],
    wanted: &[WantedValue],
) -> Journey {
    let (groups, group_of) = group_drafts(root, drafts);
    let of_pieces = drafts.iter().flat_map(|draft| {
        let pieces = draft.path.iter().enumerate();
        let values = pieces.filter(|(_, piece)| matches!(piece, PathPiece::Value { .. }));
        values.filter_map(|(piece, _)| draft.collection(piece))
    });
    let collections: HashSet<String> = of_pieces.collect();
    let of_bearer = wanted
        .iter()
        .filter(|value| value.place == WantedPlace::Bearer);
    let logins: HashSet<usize> = of_bearer.map(|value| value.source.draft).collect();
    let sessions: HashSet<String> = logins.iter().map(|login| drafts[*login].shape()).collect();
    let mut usual: Vec<usize> = (0..drafts.len()).collect();
    usual.sort_by_cached_key(|number| {
        let draft = &drafts[*number];
        let rank = match rank_draft(draft, &collections) {
            _ if logins.contains(number) => Rank::Login,
            // Deleting the session ends it.
            Rank::Delete if sessions.contains(&draft.shape()) => Rank::Logout,
            rank => rank,
        };
        let depth = draft.path.len();
        let created = (rank == Rank::Create).then_some(depth);
        let deleted = (rank == Rank::Delete).then_some(Reverse(depth));
        (group_of[*number], rank, created, deleted)
    });
    let mut needs: HashMap<usize, Vec<usize>> = HashMap::new();
    for value in wanted {
        needs
            .entry(value.user)
            .or_default()
            .push(value.source.draft);
    }
    Journey {
        order: order_by_needs(&usual, |number| {
            needs.get(&number).map_or(&[], Vec::as_slice)
        }),
        groups,
        group_of,
    }
}

/// Place of a request in a journey.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Login,
    Create,
    List,
    Get,
    Act,
    Update,
    Delete,
    Logout,
}

fn rank_draft(draft: &RequestDraft<'_>, collections: &HashSet<String>) -> Rank {
    let shape = draft.shape();
    let last = plain_name(shape.rsplit('/').next().unwrap_or_default());
    let method = draft.operation.method.as_str();
    match (method, last.as_str()) {
        (_, "logout" | "signout") => Rank::Logout,
        ("POST", "login" | "signin" | "authenticate") => Rank::Login,
        ("POST", _) if collections.contains(&shape) => Rank::Create,
        ("GET", _) if !draft.is_of_item() => Rank::List,
        ("GET" | "HEAD" | "OPTIONS" | "TRACE" | "QUERY", _) => Rank::Get,
        ("PUT" | "PATCH", _) => Rank::Update,
        ("DELETE", _) => Rank::Delete,
        _ => Rank::Act,
    }
}

/// Groups the drafts by their tags, or else by the first segments of their paths.
fn group_drafts(root: &Node<'_>, drafts: &[RequestDraft<'_>]) -> (Vec<Group>, Vec<Option<usize>>) {
    let has_tags = drafts.iter().any(|draft| !draft.operation.tags.is_empty());
    if !has_tags && drafts.len() <= FEW_OPERATIONS {
        return (Vec::new(), vec![None; drafts.len()]);
    }
    let names = drafts.iter().map(|draft| {
        let mut tags = draft.operation.tags.iter().map(|tag| tag.trim());
        let tag = tags.find(|tag| !tag.is_empty());
        tag.map_or_else(|| topic_of_path(&draft.operation.path), str::to_owned)
    });
    let names: Vec<String> = names.collect();
    let used: HashSet<&str> = names.iter().map(String::as_str).collect();
    let described = root.get("tags").map_or(&[][..], Node::items).iter();
    let described = described.filter_map(|tag| {
        let name = tag.text_of("name")?.trim();
        let text = tag
            .text_of("description")
            .or_else(|| tag.text_of("summary"));
        used.contains(name).then_some((name, text))
    });
    let others = names.iter().map(|name| (name.as_str(), None));
    let mut known: HashSet<&str> = HashSet::new();
    let mut groups: Vec<Group> = Vec::new();
    for (name, description) in described.chain(others) {
        if known.insert(name) {
            groups.push(Group {
                name: name.to_owned(),
                description: description.map(|text| text.trim().to_owned()),
                ..Group::default()
            });
        }
    }
    let number_of = |name: &String| groups.iter().position(|group| group.name == *name);
    let group_of = names.iter().map(number_of).collect();
    (groups, group_of)
}

/// Returns the first segment of a path that names a topic.
fn topic_of_path(path: &str) -> String {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let mut segments = path.split('/').filter(|segment| {
        let is_version = |letter: char| letter.is_ascii_digit() || letter == '.';
        let letters = segment.trim_end_matches(is_version);
        !segment.is_empty() && !segment.contains('{') && !SILENT_SEGMENTS.contains(&letters)
    });
    segments.next().unwrap_or("root").to_owned()
}
