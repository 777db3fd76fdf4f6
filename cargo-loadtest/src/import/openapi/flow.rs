//! Which values of a request come from the answers to others: what links say, and what paths and names tell.

use super::draft::{Draft, Piece};
use super::sample::singular;
use crate::import::document::{Node, Value};
use crate::import::marked::{Confidence, Key};
use std::collections::{HashMap, HashSet};

/// Objects that an answer is often put into.
const ENVELOPES: [&str; 7] = [
    "data",
    "result",
    "item",
    "payload",
    "response",
    "metadata",
    "attributes",
];
/// Lists that an answer often has its items in.
const LISTS: [&str; 6] = ["items", "data", "results", "content", "value", "records"];
/// What the token of a session is called.
const TOKENS: [&str; 7] = [
    "accesstoken",
    "token",
    "jwt",
    "idtoken",
    "authtoken",
    "bearertoken",
    "sessiontoken",
];
/// What an operation is called that answers with one.
const LOGINS: [&str; 9] = [
    "login",
    "signin",
    "token",
    "session",
    "sessions",
    "authenticate",
    "auth",
    "oauthtoken",
    "gettoken",
];

/// A value of a request that comes from the answer to another one.
#[derive(Debug, Clone)]
pub(super) struct Want {
    /// The request.
    pub(super) user: usize,
    pub(super) place: Place,
    /// The one whose answer has it.
    pub(super) origin: usize,
    pub(super) from: From,
    pub(super) is_bare: bool,
    pub(super) confidence: Confidence,
    pub(super) why: String,
}

/// Where in the request it stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// The piece of the path with this number.
    Piece(usize),
    /// A parameter of the query.
    Query(String),
    /// A parameter that is a header.
    Header(String),
    /// A field of the JSON that is sent.
    Field(String),
    /// The token.
    Bearer,
}

/// Where in the answer it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum From {
    Body(Vec<Key>),
    Header(String),
    /// What comes after a text at the end of a header.
    End {
        header: String,
        before: String,
    },
    /// It is none: the value is known, since the request sends it.
    Sent(String),
}

/// What values of requests come from others, at most one for each place.
pub(super) fn wants(drafts: &[Draft<'_>], links: Vec<Want>) -> Vec<Want> {
    let mut wants = links;
    let mut creators: HashMap<String, usize> = HashMap::new();
    let mut lists: HashMap<String, usize> = HashMap::new();
    for (number, draft) in drafts.iter().enumerate() {
        match draft.operation.method.as_str() {
            "POST" => creators.entry(draft.shape()).or_insert(number),
            "GET" => lists.entry(draft.shape()).or_insert(number),
            _ => continue,
        };
    }
    let told = wants.iter();
    let told: HashSet<(usize, Place)> = told.map(|want| (want.user, want.place.clone())).collect();
    for (user, draft) in drafts.iter().enumerate() {
        for (number, piece) in draft.pieces.iter().enumerate() {
            let place = Place::Piece(number);
            if told.contains(&(user, place.clone())) {
                continue;
            }
            let Piece::Value {
                name,
                is_chosen: false,
                ..
            } = piece
            else {
                continue;
            };
            let Some(collection) = draft.collection(number) else {
                continue;
            };
            let created = creators
                .get(&collection)
                .or_else(|| creators.get(&of_one(&collection)?))
                .filter(|origin| **origin != user);
            let created = created.and_then(|origin| of_creator(drafts, *origin, name, &collection));
            let listed = lists.get(&collection).filter(|origin| **origin != user);
            let listed = || listed.and_then(|origin| of_list(drafts, *origin, name, &collection));
            if let Some(found) = created.or_else(listed) {
                wants.push(Want {
                    user,
                    place,
                    ..found
                });
            }
        }
    }
    shared(drafts, &mut wants);
    wants.extend(fields(drafts, &creators));
    wants.extend(tokens(drafts));
    wants
}

/// `/user` of `/users`: some services make a thing there.
fn of_one(collection: &str) -> Option<String> {
    let (before, last) = collection.rsplit_once('/')?;
    let one = singular(last);
    (one != last && last != "{}").then(|| format!("{before}/{one}"))
}

/// What is known of a value of one path is so of those that begin with the same.
fn shared(drafts: &[Draft<'_>], wants: &mut Vec<Want>) {
    let mut known: HashMap<(String, &str), Want> = HashMap::new();
    let place = |user: usize, piece: usize| match &drafts[user].pieces[piece] {
        Piece::Value { name, .. } => Some((drafts[user].collection(piece)?, name.as_str())),
        Piece::Text(_) => None,
    };
    let mut told = HashSet::new();
    for want in wants.iter() {
        if let Place::Piece(piece) = want.place
            && let Some(place) = place(want.user, piece)
        {
            told.insert((want.user, piece));
            known.entry(place).or_insert_with(|| want.clone());
        }
    }
    for (user, draft) in drafts.iter().enumerate() {
        for (piece, value) in draft.pieces.iter().enumerate() {
            if !matches!(
                value,
                Piece::Value {
                    is_chosen: false,
                    ..
                }
            ) {
                continue;
            }
            let Some(want) = place(user, piece).and_then(|place| known.get(&place)) else {
                continue;
            };
            if want.origin != user && !told.contains(&(user, piece)) {
                wants.push(Want {
                    user,
                    place: Place::Piece(piece),
                    confidence: want.confidence.min(Confidence::Likely),
                    why: format!(
                        "`{}` has the same value",
                        drafts[want.user].operation.title()
                    ),
                    ..want.clone()
                });
            }
        }
    }
}

/// What is sent in fields such as `customerId`, where there is an operation that makes a customer.
fn fields(drafts: &[Draft<'_>], creators: &HashMap<String, usize>) -> Vec<Want> {
    let mut makers: HashMap<String, (&str, usize)> = HashMap::new();
    let mut collections: Vec<_> = creators.iter().collect();
    collections.sort();
    for (collection, origin) in collections {
        let last = collection.rsplit('/').next().unwrap_or_default();
        if last != "{}" {
            let maker = (collection.as_str(), *origin);
            makers.entry(one_of(last)).or_insert(maker);
        }
    }
    let mut wants = Vec::new();
    for (user, draft) in drafts.iter().enumerate() {
        let sent = draft.sent.value.as_ref().filter(|_| draft.sent.is_json);
        for field in sent.map_or(&[][..], Node::fields) {
            let name = plain(&field.name);
            let maker = name.strip_suffix("id").and_then(|one| makers.get(one));
            let Some((collection, origin)) = maker.filter(|(_, origin)| *origin != user) else {
                continue;
            };
            let found = of_creator(drafts, *origin, &field.name, collection);
            let found = found.filter(|want| matches!(want.from, From::Body(_)));
            wants.extend(found.map(|found| Want {
                user,
                place: Place::Field(field.name.to_string()),
                ..found
            }));
        }
    }
    wants
}

/// A value that whoever makes an item is told, or tells.
fn of_creator(drafts: &[Draft<'_>], origin: usize, name: &str, collection: &str) -> Option<Want> {
    let draft = &drafts[origin];
    let names = names_of(name, collection);
    let want = |from, is_bare, confidence, why: String| Want {
        user: 0,
        place: Place::Bearer,
        origin,
        from,
        is_bare,
        confidence,
        why,
    };
    let answer = draft.answers.value.as_ref();
    if let Some((path, value)) = answer.and_then(|answer| within(answer, &names, collection)) {
        let why = format!("`{}` answers with such a value", draft.operation.title());
        return Some(want(
            From::Body(path),
            is_bare(value),
            Confidence::Likely,
            why,
        ));
    }
    let headers = draft
        .answers
        .example
        .iter()
        .flat_map(|answer| &answer.headers);
    let mut headers = headers.filter(|header| header.name == "location");
    if headers.next().is_some() {
        let segment = collection
            .rsplit('/')
            .next()
            .filter(|segment| *segment != "{}")?;
        let from = From::End {
            header: "location".to_owned(),
            before: format!("/{segment}/"),
        };
        let why = format!(
            "the `location` of `{}` ends with such a value",
            draft.operation.title()
        );
        return Some(want(from, false, Confidence::Likely, why));
    }
    // Whoever makes it gives it its name.
    let sent = draft.sent.value.as_ref()?;
    let (_, value) = within(sent, &names, collection)?;
    let text = super::style::escaped(&value.scalar()?, false);
    let is_segment = !matches!(text.as_str(), "" | "." | "..");
    is_segment.then(|| want(From::Sent(text), false, Confidence::Likely, String::new()))
}

/// A value of the first item of a list.
fn of_list(drafts: &[Draft<'_>], origin: usize, name: &str, collection: &str) -> Option<Want> {
    let draft = &drafts[origin];
    let answer = draft.answers.value.as_ref()?;
    let names = names_of(name, collection);
    let (mut path, items) = list(answer, collection)?;
    let (within, value) = within(items.first()?, &names, collection)?;
    path.push(Key::Item(0));
    path.extend(within);
    Some(Want {
        user: 0,
        place: Place::Bearer,
        origin,
        from: From::Body(path),
        is_bare: is_bare(value),
        confidence: Confidence::Possible,
        why: format!("`{}` lists such values", draft.operation.title()),
    })
}

/// The tokens that an operation gets by logging in.
fn tokens(drafts: &[Draft<'_>]) -> Vec<Want> {
    let login = drafts.iter().enumerate().find_map(|(number, draft)| {
        if draft.access.bearer.is_some() || draft.operation.method != "POST" {
            return None;
        }
        let id = draft.operation.id.map(plain).unwrap_or_default();
        let path = draft.shape();
        let last = plain(path.rsplit('/').next().unwrap_or_default());
        let is_login = LOGINS.iter().any(|name| last == *name || id == *name)
            || [
                "login",
                "signin",
                "authenticate",
                "createsession",
                "createtoken",
            ]
            .iter()
            .any(|name| id.contains(name));
        let answer = draft.answers.value.as_ref().filter(|_| is_login)?;
        let names: Vec<String> = TOKENS.map(str::to_owned).to_vec();
        let (token, value) = within(answer, &names, "")?;
        value.text().is_some().then_some((number, token))
    });
    let Some((origin, path)) = login else {
        return Vec::new();
    };
    let users = drafts.iter().enumerate();
    let users = users.filter(|(_, draft)| draft.access.bearer.is_some());
    users
        .map(|(user, _)| Want {
            user,
            place: Place::Bearer,
            origin,
            from: From::Body(path.clone()),
            is_bare: false,
            confidence: Confidence::Likely,
            why: format!(
                "`{}` answers with a token",
                drafts[origin].operation.title()
            ),
        })
        .collect()
}

/// What a value for a parameter may be called, the most certain first.
fn names_of(parameter: &str, collection: &str) -> Vec<String> {
    let parameter = plain(parameter);
    let last = collection.rsplit('/').find(|segment| *segment != "{}");
    let one = one_of(last.unwrap_or_default());
    let mut names = vec![parameter.clone()];
    // `userId` and `userName` are the `id` and the `name` of a user.
    if let Some(rest) = parameter.strip_prefix(&one).filter(|rest| !rest.is_empty()) {
        names.push(rest.to_owned());
    }
    for end in ["id", "uuid", "guid"] {
        if parameter == end {
            names.push(format!("{one}{end}"));
        }
        if parameter.ends_with(end) || parameter == one {
            names.push(end.to_owned());
        }
    }
    if parameter.ends_with("id") {
        names.push("uuid".to_owned());
    }
    if parameter == one {
        names.extend(["name", "slug", "key", "code"].map(str::to_owned));
    }
    names
}

/// What an item of a collection is called.
fn one_of(collection: &str) -> String {
    let name = plain(collection);
    match name.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => singular(&name).to_owned(),
    }
}

/// The first of these names that a scalar has, in an object or in what it is put into.
fn within<'n, 'a>(
    value: &'n Node<'a>,
    names: &[String],
    collection: &str,
) -> Option<(Vec<Key>, &'n Node<'a>)> {
    if let Some((key, found)) = field(value, names) {
        return Some((vec![key], found));
    }
    let last = plain(collection.rsplit('/').next().unwrap_or_default());
    let mut fields = value.fields().iter();
    fields.find_map(|envelope| {
        let name = plain(&envelope.name);
        let is_one = ENVELOPES.contains(&name.as_str()) || name == last || name == singular(&last);
        let (key, found) = field(&envelope.node, names).filter(|_| is_one)?;
        Some((vec![Key::Field(envelope.name.to_string()), key], found))
    })
}

fn field<'n, 'a>(value: &'n Node<'a>, names: &[String]) -> Option<(Key, &'n Node<'a>)> {
    names.iter().find_map(|name| {
        let mut fields = value.fields().iter();
        let field = fields.find(|field| plain(&field.name) == *name)?;
        field.node.scalar()?;
        Some((Key::Field(field.name.to_string()), &field.node))
    })
}

/// The list of an answer, and the way to it.
fn list<'n, 'a>(answer: &'n Node<'a>, collection: &str) -> Option<(Vec<Key>, &'n [Node<'a>])> {
    if answer.is_list() {
        return Some((Vec::new(), answer.items()));
    }
    let last = plain(collection.rsplit('/').next().unwrap_or_default());
    let is_usual = |name: &str| name == last || LISTS.contains(&name);
    let lists = answer.fields().iter();
    let mut lists: Vec<_> = lists.filter(|field| field.node.is_list()).collect();
    lists.sort_by_key(|field| !is_usual(&plain(&field.name)));
    let first = lists.first()?;
    Some((vec![Key::Field(first.name.to_string())], first.node.items()))
}

/// Whether JSON has it without quotes.
pub(super) fn is_bare(value: &Node<'_>) -> bool {
    !matches!(value.value, Value::Text(_))
}

/// A name as others are compared with it.
pub(super) fn plain(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}
