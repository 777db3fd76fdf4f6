//! The order of a journey: what belongs together, and in it what makes things before what looks at them, changes
//! them and takes them away.

use super::draft::{Draft, Piece};
use super::flow::{Place, Want, plain};
use crate::import::document::Node;
use crate::import::marked::Group;
use std::collections::{HashMap, HashSet};

/// How many operations without any tag are one scenario.
const FEW: usize = 12;
/// Segments that say nothing of what a path is about.
const SILENT: [&str; 4] = ["api", "rest", "public", "v"];

/// The requests in their order, and the groups that they are in.
pub(super) struct Journey {
    /// The numbers of the drafts.
    pub(super) order: Vec<usize>,
    pub(super) groups: Vec<Group>,
    /// The name of the group of each draft.
    pub(super) group_of: Vec<Option<String>>,
}

/// Finds an order in which each request comes after those whose answers it needs, and says which of these needs
/// are met.
pub(super) fn journey(root: &Node<'_>, drafts: &[Draft<'_>], wants: &[Want]) -> Journey {
    let (groups, group_of) = groups(root, drafts);
    let places: HashMap<&str, usize> = groups
        .iter()
        .enumerate()
        .map(|(number, group)| (group.name.as_str(), number))
        .collect();
    let place = |draft: usize| {
        let group = group_of[draft].as_deref();
        group
            .and_then(|group| places.get(group))
            .copied()
            .unwrap_or(0)
    };
    let collections: HashSet<String> = drafts
        .iter()
        .flat_map(|draft| {
            (0..draft.pieces.len()).filter_map(|piece| match draft.pieces[piece] {
                Piece::Value { .. } => draft.collection(piece),
                Piece::Text(_) => None,
            })
        })
        .collect();
    let logins: HashSet<usize> = wants
        .iter()
        .filter(|want| want.place == Place::Bearer)
        .map(|want| want.origin)
        .collect();
    let sessions: HashSet<String> = logins.iter().map(|login| drafts[*login].shape()).collect();
    let mut usual: Vec<usize> = (0..drafts.len()).collect();
    usual.sort_by_key(|number| {
        let draft = &drafts[*number];
        let rank = if logins.contains(number) {
            Rank::Login
        } else {
            match rank(draft, &collections) {
                // Whoever takes the session away ends it.
                Rank::Delete if sessions.contains(&draft.shape()) => Rank::Logout,
                rank => rank,
            }
        };
        let depth = draft.pieces.len();
        let depth = if rank == Rank::Delete {
            usize::MAX - depth
        } else {
            depth
        };
        let is_ordered = matches!(rank, Rank::Create | Rank::Delete);
        (place(*number), rank, if is_ordered { depth } else { 0 })
    });
    let mut needs: HashMap<usize, Vec<usize>> = HashMap::new();
    for want in wants {
        needs.entry(want.user).or_default().push(want.origin);
    }
    let mut visit = Visit {
        needs: &needs,
        order: Vec::new(),
        seen: HashSet::new(),
    };
    for number in usual {
        visit.add(number);
    }
    Journey {
        order: visit.order,
        groups,
        group_of,
    }
}

struct Visit<'n> {
    needs: &'n HashMap<usize, Vec<usize>>,
    order: Vec<usize>,
    seen: HashSet<usize>,
}

impl Visit<'_> {
    /// Adds a request after all that it needs; where that goes round, some come later than they are needed.
    fn add(&mut self, first: usize) {
        let mut open = vec![(first, 0)];
        if !self.seen.insert(first) {
            return;
        }
        while let Some((number, done)) = open.pop() {
            let needed = self.needs.get(&number).and_then(|needs| needs.get(done));
            match needed {
                Some(needed) => {
                    open.push((number, done + 1));
                    if self.seen.insert(*needed) {
                        open.push((*needed, 0));
                    }
                }
                None => self.order.push(number),
            }
        }
    }
}

/// When in a journey a request comes.
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

fn rank(draft: &Draft<'_>, collections: &HashSet<String>) -> Rank {
    let shape = draft.shape();
    let last = plain(shape.rsplit('/').next().unwrap_or_default());
    if ["logout", "signout"].contains(&last.as_str()) {
        return Rank::Logout;
    }
    let is_login = ["login", "signin", "authenticate"].contains(&last.as_str());
    if is_login && draft.operation.method == "POST" {
        return Rank::Login;
    }
    match draft.operation.method.as_str() {
        "POST" if collections.contains(&shape) => Rank::Create,
        "GET" if draft.is_of_item() => Rank::Get,
        "GET" => Rank::List,
        "HEAD" | "OPTIONS" | "TRACE" | "QUERY" => Rank::Get,
        "PUT" | "PATCH" => Rank::Update,
        "DELETE" => Rank::Delete,
        _ => Rank::Act,
    }
}

/// The groups, in the order of the document, and the one of each draft.
fn groups(root: &Node<'_>, drafts: &[Draft<'_>]) -> (Vec<Group>, Vec<Option<String>>) {
    let has_tags = drafts.iter().any(|draft| !draft.operation.tags.is_empty());
    if !has_tags && drafts.len() <= FEW {
        return (Vec::new(), vec![None; drafts.len()]);
    }
    let described = root.get("tags").map_or(&[][..], Node::items);
    let names: Vec<String> = drafts
        .iter()
        .map(|draft| {
            let tag = draft.operation.tags.iter().map(|tag| tag.trim());
            tag.filter(|tag| !tag.is_empty())
                .map(str::to_owned)
                .next()
                .unwrap_or_else(|| segment(&draft.operation.path))
        })
        .collect();
    let used: HashSet<&str> = names.iter().map(String::as_str).collect();
    let mut groups: Vec<Group> = Vec::new();
    let mut known: HashSet<&str> = HashSet::new();
    for tag in described {
        if let Some(name) = tag.text_of("name").map(str::trim)
            && used.contains(name)
            && known.insert(name)
        {
            let description = tag
                .text_of("description")
                .or_else(|| tag.text_of("summary"));
            groups.push(Group {
                name: name.to_owned(),
                description: description.map(|text| text.trim().to_owned()),
            });
        }
    }
    for name in &names {
        if known.insert(name) {
            groups.push(Group {
                name: name.clone(),
                description: None,
            });
        }
    }
    if groups.len() == 1 {
        // One tag that all have says no more than none.
        let group = groups.remove(0);
        let of_each = names.iter().map(|_| Some(group.name.clone())).collect();
        return (vec![group], of_each);
    }
    (groups, names.into_iter().map(Some).collect())
}

/// The first segment of a path that says what it is about.
fn segment(path: &str) -> String {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let mut segments = path.split('/').filter(|segment| {
        let letters =
            segment.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        !segment.is_empty() && !segment.contains('{') && !SILENT.contains(&letters)
    });
    segments.next().unwrap_or("root").to_owned()
}
