//! What answers have to offer.

use super::super::document::{self, Node, Value};
use super::super::recording::{Answer, Exchange, Key, Origin};
use super::super::source::Input;
use super::kind::{ValueKind, kind};
use super::label::Label;
use super::page;
use super::wanted::Hashes;
use super::{LISTS, has_word};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::rc::Rc;

mod web;

/// The longest body that a run reads.
const LONGEST: usize = 16 * 1024 * 1024;
/// From how many places a value is taken at most: the first ones.
const MOST: usize = 32;
/// How many places are remembered at most.
const MOST_OFFERS: usize = 250_000;

/// A value that an answer has.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    pub(super) exchange: usize,
    pub(super) origin: Origin,
    pub(super) label: Label,
    /// Whether it is a number of JSON.
    pub(super) is_number: bool,
    /// As a person is told of it: `product.id`, in quotes.
    pub(super) name: String,
    /// Which item of how many it is in, where there are several: the first is 1.
    pub(super) item: Option<(usize, usize)>,
    /// Whether it is a URL with its host.
    pub(super) is_absolute: bool,
}

impl Offer {
    /// Returns true for a part of a link.
    pub(super) fn is_of_link(&self) -> bool {
        matches!(self.origin, Origin::Part { .. })
    }
}

/// What requests want, and what the answers so far have of it.
#[derive(Debug, Default)]
pub(super) struct Offers {
    /// All values that stand in requests, but for those that nobody looks for.
    pub(super) wanted: Hashes,
    /// All URLs of requests, and what they begin with.
    pub(super) wanted_targets: Hashes,
    /// By the value.
    values: HashMap<String, Vec<Offer>>,
    /// How many these are.
    count: usize,
    /// By the URL that a link leads to.
    links: HashMap<String, Offer>,
    /// What requests had: that of the user, and what answers have told before; by the hash of the value.
    sent: HashMap<u64, Vec<Rc<Label>>>,
    /// What no answer has told.
    users: HashMap<u64, Vec<Rc<Label>>>,
    sent_targets: Hashes,
}

impl Offers {
    /// Whether more places can be remembered.
    pub(super) fn has_room(&self) -> bool {
        self.count < MOST_OFFERS
    }

    /// The places from which a value could be.
    pub(super) fn of(&self, value: &str) -> &[Offer] {
        self.values.get(value).map_or(&[], Vec::as_slice)
    }

    /// The link that leads to a URL.
    pub(super) fn link(&self, url: &str) -> Option<&Offer> {
        self.links.get(url)
    }

    /// Remembers that a value was sent, so that an answer that has it later is an echo.
    pub(super) fn sent(&mut self, value: &str, label: &Rc<Label>, is_users: bool) {
        let hash = self.wanted.hash(value);
        for known in [
            Some(&mut self.sent),
            Some(&mut self.users).filter(|_| is_users),
        ]
        .into_iter()
        .flatten()
        {
            let labels = known.entry(hash).or_default();
            if labels.len() < MOST && !labels.contains(label) {
                labels.push(Rc::clone(label));
            }
        }
    }

    pub(super) fn sent_target(&mut self, url: &str) {
        self.sent_targets.insert(url);
    }

    /// Takes what the answer of an exchange has.
    pub(super) fn take(&mut self, number: usize, exchange: &Exchange, answer: &Answer) {
        if answer.is_example {
            return;
        }
        let mut taker = Taker {
            offers: self,
            number,
            origin: &exchange.origin,
            target: exchange.target.flat().text,
            items: Vec::new(),
        };
        let text = match std::str::from_utf8(&answer.body) {
            Ok(text) if text.len() <= LONGEST => text.trim_start_matches('\u{feff}'),
            _ => "",
        };
        if !taker.json(text) {
            taker.page(text);
        }
        let mut seen = HashSet::new();
        for header in &answer.headers {
            let name = header.name.to_ascii_lowercase();
            let value = header.value.as_literal().unwrap_or_default();
            if name == "set-cookie" {
                taker.cookie(value);
            } else if name == "link" {
                taker.links(value);
            } else if seen.insert(name.clone()) && !has_word(&LISTS.answer_headers, &name) {
                taker.header(&name, value);
            }
        }
    }

    /// Whether a value that no answer has told was sent before in such a place.
    pub(super) fn is_users(&self, value: &str, label: &Label) -> bool {
        let labels = self.users.get(&self.wanted.hash(value));
        labels.is_some_and(|labels| labels.iter().any(|known| **known == *label))
    }

    /// Whether the answer repeats what was sent before.
    fn is_echo(&self, value: &str, label: &Label) -> bool {
        let labels = self.sent.get(&self.wanted.hash(value));
        labels.is_some_and(|labels| {
            kind(value) >= ValueKind::Rare || labels.iter().any(|sent| sent.fits(label) > 0)
        })
    }
}

struct Taker<'a> {
    offers: &'a mut Offers,
    number: usize,
    /// The origin of the request.
    origin: &'a str,
    /// The target of the request.
    target: String,
    /// The lists that are gone through: which item of how many.
    items: Vec<(usize, usize)>,
}

impl Taker<'_> {
    fn put(&mut self, value: &str, origin: Origin, label: Label, is_number: bool, name: String) {
        // Where only text is known of it, what an answer repeats as a number is more than an echo.
        let known = self.offers.of(value);
        let is_news = is_number && !known.is_empty() && known.iter().all(|offer| !offer.is_number);
        if self.offers.is_echo(value, &label) && !is_news {
            return;
        }
        let item = self.items.iter().rev().find(|(_, of)| *of > 1).copied();
        let has_room = self.offers.has_room();
        let offers = self.offers.values.entry(value.to_owned()).or_default();
        if offers.len() < MOST && has_room {
            self.offers.count += 1;
            offers.push(Offer {
                exchange: self.number,
                origin,
                label,
                is_number,
                name,
                item,
                is_absolute: false,
            });
        }
    }

    /// A link, where requests went there later.
    fn link(&mut self, url: &str, origin: impl FnOnce() -> Origin, name: impl FnOnce() -> String) {
        let url = url.split('#').next().unwrap_or_default();
        let is_absolute = web::is_absolute(url);
        let whole = match url {
            _ if is_absolute => url.to_owned(),
            _ if url.starts_with('/') && !url.starts_with("//") => {
                format!("{}{url}", self.origin)
            }
            _ => return,
        };
        let offers = &mut *self.offers;
        let is_known = offers.links.contains_key(&whole) || offers.sent_targets.has(&whole);
        if is_known || !offers.wanted_targets.has(&whole) || !offers.has_room() {
            return;
        }
        offers.count += 1;
        let offer = Offer {
            exchange: self.number,
            origin: origin(),
            label: Label::default(),
            is_number: false,
            name: name(),
            item: None,
            is_absolute,
        };
        offers.links.insert(whole, offer);
    }

    /// Takes the leaves of JSON; returns false where it is none.
    fn json(&mut self, text: &str) -> bool {
        if !text.trim_start().starts_with(['{', '[']) {
            return false;
        }
        let input = Input::new(String::new(), text.to_owned());
        let Ok(node) = document::read(&input) else {
            return false;
        };
        self.node(&node, &mut Vec::new());
        true
    }

    fn node(&mut self, node: &Node<'_>, path: &mut Vec<Key>) {
        let (value, is_number) = match &node.value {
            Value::List(items) => {
                for (number, item) in items.iter().enumerate() {
                    path.push(Key::Item(number));
                    self.items.push((number + 1, items.len()));
                    self.node(item, path);
                    self.items.pop();
                    path.pop();
                }
                return;
            }
            Value::Object(fields) => {
                // Of two with one name, the last is the one that is read.
                let names = fields.iter().enumerate();
                let last: HashMap<&str, usize> =
                    names.map(|(at, field)| (&*field.name, at)).collect();
                for (at, field) in fields.iter().enumerate() {
                    if last.get(&*field.name) == Some(&at) {
                        path.push(Key::Field(field.name.to_string()));
                        self.node(&field.node, path);
                        path.pop();
                    }
                }
                return;
            }
            Value::Text(text) => (&**text, false),
            Value::Number(number) => (&**number, true),
            Value::Null | Value::Bool(_) => return,
        };
        let exchange = self.number;
        let origin = |path: &[Key]| Origin::Body {
            exchange,
            path: path.to_vec(),
        };
        if self.offers.wanted.has(value) {
            let names: Vec<_> = path.iter().filter_map(Key::name).collect();
            let (last, outer) = names
                .split_last()
                .map_or(("", &[][..]), |(last, outer)| (*last, outer));
            let label = Label::field(last, outer.iter().copied(), &self.target);
            let name = format!("`{}`", spelled(path));
            self.put(value, origin(path), label, is_number, name);
        }
        if !is_number && value.contains('/') {
            let name = || format!("the link `{}`", spelled(path));
            self.link(value, || origin(path), name);
        }
    }

    /// What a page has in its forms, its head and its scripts.
    fn page(&mut self, text: &str) {
        let wanted = &self.offers.wanted;
        let found = page::found(text, &|value| wanted.has(value));
        for found in found {
            let origin = Origin::Between {
                exchange: self.number,
                before: found.before.to_owned(),
                after: found.after.to_owned(),
            };
            let label = Label::field(found.name, [].into_iter(), &self.target);
            let name = format!("`{}`", found.name);
            self.put(found.value, origin, label, false, name);
        }
    }

    fn header(&mut self, name: &str, value: &str) {
        let exchange = self.number;
        let told = format!("the header `{name}`");
        let whole = Origin::Header {
            exchange,
            name: name.to_owned(),
        };
        let part = |before: &str, after: &str| Origin::Part {
            exchange,
            name: name.to_owned(),
            before: before.to_owned(),
            after: after.to_owned(),
        };
        if self.offers.wanted.has(value) {
            self.put(value, whole.clone(), Label::name(name), false, told);
        }
        if name == "etag" {
            // Some send it on without its quotes.
            let tag = value.split('"').nth(1).unwrap_or_default();
            if self.offers.wanted.has(tag) {
                let told = format!("a part of the header `{name}`");
                self.put(tag, part("\"", "\""), Label::name(name), false, told);
            }
        }
        if matches!(name, "location" | "content-location") {
            self.link(value, || whole, || format!("the link `{name}`"));
            self.url(value, &format!("a part of the header `{name}`"), &part);
        }
    }

    /// The value of a cookie, which some requests repeat elsewhere.
    fn cookie(&mut self, value: &str) {
        let pair = value.split(';').next().unwrap_or_default();
        let Some((name, content)) = pair.split_once('=') else {
            return;
        };
        let is_ended = value.len() > pair.len();
        let origin = Origin::Part {
            exchange: self.number,
            name: "set-cookie".to_owned(),
            before: format!("{name}="),
            after: if is_ended { ";" } else { "" }.to_owned(),
        };
        let told = || format!("the cookie `{name}`");
        if self.offers.wanted.has(content) && kind(content) >= ValueKind::Rare {
            self.put(content, origin, Label::name(name), false, told());
        }
    }
}

impl Key {
    fn name(&self) -> Option<&str> {
        match self {
            Self::Field(name) => Some(name),
            Self::Item(_) => None,
        }
    }
}

/// A path as templates have it.
fn spelled(path: &[Key]) -> String {
    let mut text = String::new();
    for key in path {
        match key {
            Key::Field(name) if text.is_empty() => text.push_str(name),
            Key::Field(name) => {
                text.push('.');
                text.push_str(name);
            }
            Key::Item(number) => {
                let _ = write!(text, "[{number}]");
            }
        }
    }
    text
}
