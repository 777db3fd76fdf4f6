//! Finds values of requests that come from the answers to others, by what paths and names say.

use super::draft::{PathPiece, RequestDraft};
use super::example::ExampleValue;
use super::style::escape_url;
use crate::recording::{Confidence, Key, Text};
use crate::text::singular;
use std::collections::HashMap;

/// Objects that often wrap an answer.
const ENVELOPES: &str = "data result item payload response metadata attributes";
/// Lists that often hold the items of an answer.
const LISTS: &str = "items data results content value records";
/// Names of session tokens.
const TOKENS: &str = "accesstoken token jwt idtoken authtoken bearertoken sessiontoken";
/// Last segments of paths that answer with a token.
const LOGINS: &str = "login signin token session sessions authenticate auth oauthtoken gettoken";

/// A value of a request that comes from another operation.
#[derive(Debug, Clone)]
pub(super) struct WantedValue {
    /// Number of the draft that uses the value.
    pub(super) user: usize,
    pub(super) place: WantedPlace,
    pub(super) source: ValueSource,
}

/// Place in a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum WantedPlace {
    /// Number of a piece of the path.
    Path(usize),
    /// Name of a field of the JSON body.
    Field(String),
    Bearer,
}

/// Source of a value.
#[derive(Debug, Clone)]
pub(super) struct ValueSource {
    /// Number of the draft that has the value.
    pub(super) draft: usize,
    pub(super) value: SourceValue,
    /// JSON has the value without quotes.
    pub(super) is_bare: bool,
    pub(super) confidence: Confidence,
    pub(super) why: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SourceValue {
    /// Path through the JSON of the answer.
    Body(Vec<Key>),
    /// End of the `location` of the answer, after this text.
    Location(String),
    /// The value that the request itself sends.
    Sent(Text),
}

/// Finds the values that come from other operations, at most one for each place.
pub(super) fn find_wanted_values(drafts: &[RequestDraft<'_>]) -> Vec<WantedValue> {
    let mut creators: HashMap<String, usize> = HashMap::new();
    let mut lists: HashMap<String, usize> = HashMap::new();
    for (number, draft) in drafts.iter().enumerate() {
        match draft.operation.method.as_str() {
            "POST" => creators.entry(draft.shape()).or_insert(number),
            "GET" => lists.entry(draft.shape()).or_insert(number),
            _ => continue,
        };
    }
    let mut wanted = Vec::new();
    for (user, piece, name, collection) in list_path_values(drafts) {
        let creator = creators.get(&collection).filter(|one| **one != user);
        let creator =
            creator.and_then(|number| find_in_creator(drafts, *number, name, &collection));
        let in_list = || {
            let number = lists.get(&collection).filter(|number| **number != user)?;
            find_in_list(drafts, *number, name, &collection)
        };
        wanted.extend(creator.or_else(in_list).map(|source| WantedValue {
            user,
            place: WantedPlace::Path(piece),
            source,
        }));
    }
    wanted.extend(find_fields(drafts, &creators));
    wanted.extend(find_tokens(drafts));
    wanted
}

/// Lists the replaceable values of all paths: draft, piece, name, collection.
fn list_path_values<'d>(
    drafts: &'d [RequestDraft<'_>],
) -> impl Iterator<Item = (usize, usize, &'d str, String)> {
    drafts.iter().enumerate().flat_map(|(user, draft)| {
        let pieces = draft.path.iter().enumerate();
        pieces.filter_map(move |(piece, value)| match value {
            PathPiece::Value {
                name,
                is_fixed: false,
                ..
            } => Some((user, piece, name.as_str(), draft.collection(piece)?)),
            _ => None,
        })
    })
}

/// Finds fields such as `customerId`, where an operation creates a customer.
fn find_fields(drafts: &[RequestDraft<'_>], creators: &HashMap<String, usize>) -> Vec<WantedValue> {
    let mut makers: HashMap<String, (&str, usize)> = HashMap::new();
    let mut collections: Vec<_> = creators.iter().collect();
    collections.sort();
    for (collection, draft) in collections {
        let last = last_segment(collection);
        if last != "{}" {
            let maker = (collection.as_str(), *draft);
            makers.entry(item_name(last)).or_insert(maker);
        }
    }
    let mut wanted = Vec::new();
    for (user, draft) in drafts.iter().enumerate() {
        let sent = draft.body.value.as_ref().filter(|_| draft.body.is_json);
        for (name, _) in sent.map_or(&[][..], ExampleValue::fields) {
            let plain = plain_name(name);
            let maker = plain.strip_suffix("id").and_then(|one| makers.get(one));
            let Some((collection, creator)) = maker.filter(|(_, creator)| *creator != user) else {
                continue;
            };
            let source = find_in_creator(drafts, *creator, name, collection);
            let source = source.filter(|source| matches!(source.value, SourceValue::Body(_)));
            wanted.extend(source.map(|source| WantedValue {
                user,
                place: WantedPlace::Field(name.clone()),
                source,
            }));
        }
    }
    wanted
}

/// Finds a value in the answer to a creating operation, or else in its request.
fn find_in_creator(
    drafts: &[RequestDraft<'_>],
    number: usize,
    name: &str,
    collection: &str,
) -> Option<ValueSource> {
    let draft = &drafts[number];
    let names = possible_names(name, collection);
    let title = draft.operation.title();
    let source = |value, is_bare, why| ValueSource {
        draft: number,
        value,
        is_bare,
        confidence: Confidence::Likely,
        why,
    };
    let answer = draft.answers.value.as_ref();
    if let Some((path, value)) = answer.and_then(|answer| find_scalar(answer, &names, collection)) {
        let why = format!("`{title}` answers with such a value");
        return Some(source(SourceValue::Body(path), is_bare(value), why));
    }
    if draft.answers.has_header("location") {
        let segment = Some(last_segment(collection)).filter(|segment| *segment != "{}")?;
        let why = format!("the `location` of `{title}` ends with such a value");
        let location = SourceValue::Location(format!("/{segment}/"));
        return Some(source(location, false, why));
    }
    // The client names what it creates.
    let (_, value) = find_scalar(draft.body.value.as_ref()?, &names, collection)?;
    let text = value.scalar()?.map_literals(escape_url);
    let is_segment = !matches!(text.as_literal(), Some("" | "." | ".."));
    is_segment.then(|| source(SourceValue::Sent(text), false, String::new()))
}

/// Finds a value in the first item of a list.
fn find_in_list(
    drafts: &[RequestDraft<'_>],
    number: usize,
    name: &str,
    collection: &str,
) -> Option<ValueSource> {
    let draft = &drafts[number];
    let answer = draft.answers.value.as_ref()?;
    let (mut path, items) = find_items(answer, collection)?;
    let names = possible_names(name, collection);
    let (within, value) = find_scalar(items.first()?, &names, collection)?;
    path.push(Key::Item(0));
    path.extend(within);
    Some(ValueSource {
        draft: number,
        value: SourceValue::Body(path),
        is_bare: is_bare(value),
        confidence: Confidence::Possible,
        why: format!("`{}` lists such values", draft.operation.title()),
    })
}

/// Finds the token of the first login, for all requests that send a bearer token.
fn find_tokens(drafts: &[RequestDraft<'_>]) -> Vec<WantedValue> {
    let mut logins = drafts.iter().enumerate().filter_map(|(number, draft)| {
        let path = find_login_token(draft)?;
        Some(ValueSource {
            draft: number,
            value: SourceValue::Body(path),
            is_bare: false,
            confidence: Confidence::Likely,
            why: format!("`{}` answers with a token", draft.operation.title()),
        })
    });
    let Some(source) = logins.next() else {
        return Vec::new();
    };
    let users = drafts.iter().enumerate();
    let users = users.filter(|(_, draft)| draft.access.bearer.is_some());
    let wanted = users.map(|(user, _)| WantedValue {
        user,
        place: WantedPlace::Bearer,
        source: source.clone(),
    });
    wanted.collect()
}

fn find_login_token(draft: &RequestDraft<'_>) -> Option<Vec<Key>> {
    if draft.access.bearer.is_some() || draft.operation.method != "POST" {
        return None;
    }
    let id = draft.operation.id.map(plain_name).unwrap_or_default();
    let last = plain_name(last_segment(&draft.shape()));
    let is_login = is_word(LOGINS, &last) || id.contains("login");
    let answer = draft.answers.value.as_ref().filter(|_| is_login)?;
    let names: Vec<String> = TOKENS.split(' ').map(str::to_owned).collect();
    let (path, value) = find_scalar(answer, &names, "")?;
    matches!(value, ExampleValue::Text(_)).then_some(path)
}

/// Returns the names that a value for a parameter may have, the most certain first.
fn possible_names(parameter: &str, collection: &str) -> Vec<String> {
    let parameter = plain_name(parameter);
    let last = collection.rsplit('/').find(|segment| *segment != "{}");
    let one = item_name(last.unwrap_or_default());
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

/// Returns the name of one item of a collection.
fn item_name(collection: &str) -> String {
    singular(&plain_name(collection))
}

fn last_segment(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

fn is_word(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known == word)
}

/// Finds the first of these names with a scalar, in an object or in its envelope.
fn find_scalar<'v>(
    value: &'v ExampleValue,
    names: &[String],
    collection: &str,
) -> Option<(Vec<Key>, &'v ExampleValue)> {
    if let Some((key, found)) = find_field(value, names) {
        return Some((vec![key], found));
    }
    let last = plain_name(last_segment(collection));
    let mut fields = value.fields().iter();
    fields.find_map(|(name, envelope)| {
        let plain = plain_name(name);
        let is_envelope = is_word(ENVELOPES, &plain) || plain == last || plain == singular(&last);
        let (key, found) = find_field(envelope, names).filter(|_| is_envelope)?;
        Some((vec![Key::Field(name.clone()), key], found))
    })
}

fn find_field<'v>(value: &'v ExampleValue, names: &[String]) -> Option<(Key, &'v ExampleValue)> {
    names.iter().find_map(|wanted| {
        let mut fields = value.fields().iter();
        let (name, value) = fields.find(|(name, _)| plain_name(name) == *wanted)?;
        value.scalar()?;
        Some((Key::Field(name.clone()), value))
    })
}

/// Finds the list of an answer, and the path to it.
fn find_items<'v>(
    answer: &'v ExampleValue,
    collection: &str,
) -> Option<(Vec<Key>, &'v [ExampleValue])> {
    if let ExampleValue::List(items) = answer {
        return Some((Vec::new(), items));
    }
    let last = plain_name(last_segment(collection));
    let is_usual = |name: &str| name == last || is_word(LISTS, name);
    let fields = answer.fields().iter();
    let lists = fields.filter(|(_, value)| matches!(value, ExampleValue::List(_)));
    let (name, items) = lists.min_by_key(|(name, _)| !is_usual(&plain_name(name)))?;
    Some((vec![Key::Field(name.clone())], items.items()))
}

fn is_bare(value: &ExampleValue) -> bool {
    !matches!(value, ExampleValue::Text(_))
}

/// Returns the letters and digits of a name, in lower case.
pub(super) fn plain_name(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}
