//! Values that answers offer to later requests.

use super::kind::{ValueKind, kind};
use super::label::Label;
use super::page::text_before;
use super::request::{Replacements, ValuePlace, places};
use super::texts::{KnownTexts, names_a_thing};
use super::{LISTS, beginnings, parts_by, url_parts};
use crate::document::{self, Node, Value};
use crate::recording::{Answer, Exchange, Key, Origin, Text};
use crate::source::Input;
use crate::text::has_word;
use loadtest::Page;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::rc::Rc;

/// The longest body that a run reads.
const LONGEST: usize = 16 * 1024 * 1024;
/// The most places of one value: the first ones.
const MOST: usize = 32;
/// A value that an answer has.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    pub(super) exchange: usize,
    pub(super) origin: Origin,
    pub(super) label: Label,
    /// True for a number of JSON.
    pub(super) is_number: bool,
    /// The name for people, in backticks: `product.id`.
    pub(super) name: String,
    /// The item that it is in, of how many, where there are several: the first is 1.
    pub(super) item: Option<(usize, usize)>,
}

/// The values that requests have, and those that the answers so far have of them.
#[derive(Debug, Default)]
pub(super) struct Offers {
    /// All values in requests that are looked for.
    pub(super) wanted: HashSet<String>,
    /// All URLs of requests, and their beginnings.
    wanted_targets: HashSet<String>,
    values: HashMap<String, Vec<Offer>>,
    /// The links by the URLs that they lead to.
    links: HashMap<String, Offer>,
    /// The labels of values that requests had before, and true where no answer had given the value.
    sent: HashMap<String, Vec<(Rc<Label>, bool)>>,
    /// The URLs that requests went to, and their beginnings.
    pub(super) sent_targets: HashSet<String>,
    /// The pages so far, with the numbers of their exchanges.
    pub(super) pages: Vec<(usize, Page)>,
    pub(super) names: KnownTexts,
    pub(super) texts: KnownTexts,
}

impl Offers {
    /// Prepares for the answers to exchanges.
    pub(super) fn new(names: KnownTexts, exchanges: &[Exchange]) -> Self {
        let mut offers = Self {
            names,
            ..Self::default()
        };
        for exchange in exchanges {
            let wanted = places(exchange).into_iter().map(|place| place.value);
            let wanted = wanted.filter(|value| kind(value) > ValueKind::Plain);
            offers.wanted.extend(wanted);
            let targets = beginnings(exchange).map(|(_, url)| url);
            offers.wanted_targets.extend(targets);
        }
        offers
    }

    /// Returns the places from which a value could be.
    pub(super) fn of(&self, value: &str) -> &[Offer] {
        self.values.get(value).map_or(&[], Vec::as_slice)
    }

    /// Returns the link that leads to a URL.
    pub(super) fn link(&self, url: &str) -> Option<&Offer> {
        self.links.get(url)
    }

    /// Remembers the values of a request: an answer that has one later is an echo, and a name finds its row.
    pub(super) fn sent(&mut self, places: &[ValuePlace], replacements: &Replacements) {
        for place in places {
            let labels = self.sent.entry(place.value.clone()).or_default();
            let sent = (Rc::clone(&place.label), !replacements.overlap(place));
            if labels.len() < MOST && !labels.contains(&sent) {
                labels.push(sent);
            }
            if names_a_thing(place) {
                let text = replacements.text_of(place).cloned();
                let literal = || Text::literal(&place.value);
                let text = text.unwrap_or_else(literal);
                self.texts.insert(&place.value, text);
            }
        }
    }

    /// Returns true if a value that no answer had given was sent before in such a place.
    pub(super) fn is_users(&self, value: &str, label: &Label) -> bool {
        let labels = self.sent.get(value);
        let mut labels = labels.into_iter().flatten();
        labels.any(|(known, is_users)| *is_users && **known == *label)
    }

    /// Returns true if a value that no answer had given was sent before.
    pub(super) fn is_users_own(&self, value: &str) -> bool {
        let mut labels = self.sent.get(value).into_iter().flatten();
        labels.any(|(_, is_users)| *is_users)
    }

    /// Takes the values of the answer to an exchange.
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
            if text.trim_start().starts_with('<') {
                taker.html(text);
            }
            taker.page(text);
        }
        let mut seen = HashSet::new();
        for header in &answer.headers {
            let name = header.name.to_ascii_lowercase();
            let value = header.value.as_literal().unwrap_or_default();
            if name == "set-cookie" {
                taker.cookie(value);
            } else if seen.insert(name.clone()) && !has_word(&LISTS.answer_headers, &name) {
                taker.header(&name, value);
            }
        }
    }

    /// Returns true if the answer repeats a value that was sent before.
    fn is_echo(&self, value: &str, label: &Label) -> bool {
        self.sent.get(value).is_some_and(|labels| {
            kind(value) >= ValueKind::Rare || labels.iter().any(|(sent, _)| sent.fits(label) > 0)
        })
    }
}

pub(super) struct Taker<'a> {
    pub(super) offers: &'a mut Offers,
    pub(super) number: usize,
    /// The origin of the request.
    origin: &'a str,
    /// The target of the request.
    pub(super) target: String,
    /// The open lists: which item of how many.
    pub(super) items: Vec<(usize, usize)>,
}

impl Taker<'_> {
    fn offer(&self, origin: Origin, label: Label, is_number: bool, name: String) -> Offer {
        Offer {
            exchange: self.number,
            origin,
            label,
            is_number,
            name,
            item: self.items.iter().rev().find(|(_, of)| *of > 1).copied(),
        }
    }

    /// Offers a text, where requests had it.
    pub(super) fn put(&mut self, value: &str, origin: Origin, label: Label, name: String) {
        self.put_json(value, origin, label, false, name);
    }

    fn put_json(
        &mut self,
        value: &str,
        origin: Origin,
        label: Label,
        is_number: bool,
        name: String,
    ) {
        if !self.offers.wanted.contains(value) {
            return;
        }
        // A number is more than an echo where only text is known of it.
        let known = self.offers.of(value);
        let is_news = is_number && !known.is_empty() && known.iter().all(|offer| !offer.is_number);
        if self.offers.is_echo(value, &label) && !is_news {
            return;
        }
        let offer = self.offer(origin, label, is_number, name);
        let offers = self.offers.values.entry(value.to_owned()).or_default();
        if offers.len() < MOST {
            offers.push(offer);
        }
    }

    /// Offers a link, where requests went there later.
    pub(super) fn link(&mut self, url: &str, origin: Origin, name: &str) {
        if let Some(whole) = self.wanted_target(url) {
            let offer = self.offer(origin, Label::default(), false, name.to_owned());
            self.offers.links.insert(whole, offer);
        }
    }

    /// Returns the URL that a link leads to, where requests went there later and no link is known.
    pub(super) fn wanted_target(&self, url: &str) -> Option<String> {
        let url = url.split('#').next().unwrap_or_default();
        let whole = match url {
            _ if url.starts_with("http://") || url.starts_with("https://") => url.to_owned(),
            _ if url.starts_with('/') && !url.starts_with("//") => format!("{}{url}", self.origin),
            _ => return None,
        };
        let is_known =
            self.offers.links.contains_key(&whole) || self.offers.sent_targets.contains(&whole);
        let is_wanted = !is_known && self.offers.wanted_targets.contains(&whole);
        is_wanted.then_some(whole)
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
        for field in node.fields() {
            path.push(Key::Field(field.name.to_string()));
            self.node(&field.node, path);
            path.pop();
        }
        for (number, item) in node.items().iter().enumerate() {
            path.push(Key::Item(number));
            self.items.push((number + 1, node.items().len()));
            self.node(item, path);
            self.items.pop();
            path.pop();
        }
        let (value, is_number) = match &node.value {
            Value::Text(text) => (&**text, false),
            Value::Number(number) => (&**number, true),
            _ => return,
        };
        let exchange = self.number;
        let origin = || Origin::body(exchange, path);
        if self.offers.wanted.contains(value) {
            let names = path.iter().filter_map(|key| match key {
                Key::Field(name) => Some(name.as_str()),
                Key::Item(_) => None,
            });
            let label = Label::field(&names.collect::<Vec<_>>(), &self.target);
            let name = format!("`{}`", spell_path(path));
            self.put_json(value, origin(), label, is_number, name);
        }
        if !is_number && value.contains('/') {
            self.link(value, origin(), &format!("the link `{}`", spell_path(path)));
        }
    }

    fn part(&self, name: &str, before: &str, after: &str) -> Origin {
        Origin::Part {
            exchange: self.number,
            name: name.to_owned(),
            before: before.to_owned(),
            after: after.to_owned(),
        }
    }

    fn header(&mut self, name: &str, value: &str) {
        let label = || Label::name(name);
        let whole = Origin::header(self.number, name);
        let words = format!("the header `{name}`");
        self.put(value, whole.clone(), label(), words);
        if let Some(tag) = value.split('"').nth(1) {
            // Some send an entity tag on without its quotes.
            let origin = self.part(name, "\"", "\"");
            let words = format!("a part of the header `{name}`");
            self.put(tag, origin, label(), words);
        }
        if name == "link" {
            self.links(value);
        } else if matches!(name, "location" | "content-location") {
            self.link(value, whole, &format!("the link `{name}`"));
            self.url(value, name);
        }
    }

    /// Takes the values in the URL of a header, each by the text before it.
    fn url(&mut self, url: &str, header: &str) {
        let (path, query) = url_parts(url);
        let mut parts = Vec::new();
        let mut label = Label::default();
        for segment in parts_by(&url[path.clone()], |letter| letter == '/') {
            let segment = segment.start + path.start..segment.end + path.start;
            if kind(&url[segment.clone()]) <= ValueKind::Word {
                label = Label::segment(&url[segment]);
            } else {
                label.key = vec!["id".to_owned()];
                parts.push((segment, label.clone()));
            }
        }
        for pair in parts_by(&url[query.clone()], |letter| letter == '&') {
            if let Some((key, value)) = url[query.clone()][pair.clone()].split_once('=') {
                let end = query.start + pair.end;
                parts.push((end - value.len()..end, Label::parameter(key, "")));
            }
        }
        for (part, label) in parts {
            let value = &url[part.clone()];
            let is_fit =
                matches!(kind(value), ValueKind::Number(_)) || kind(value) >= ValueKind::Rare;
            let marks = ['/', '?', '&'];
            let before = text_before(url, path.start, part.start, &marks).filter(|_| is_fit);
            if let Some(before) = before {
                let after: String = url[part.end..].chars().take(1).collect();
                let origin = self.part(header, before, &after);
                let name = format!("a part of the header `{header}`");
                self.put(value, origin, label, name);
            }
        }
    }

    /// Takes the links of a header (<https://www.rfc-editor.org/rfc/rfc8288>), each by the parameters of the one before.
    fn links(&mut self, value: &str) {
        let mut end = 0;
        for (open, _) in value.match_indices('<') {
            let target = &value[open + 1..];
            let target = target.split('>').next().unwrap_or_default();
            let before = &value[end..=open];
            if value.find(before) == Some(end) {
                self.link(target, self.part("link", before, ">"), "the link `link`");
            }
            end = open + 1 + target.len();
        }
    }

    /// Takes the value of a cookie, which some requests repeat elsewhere.
    fn cookie(&mut self, value: &str) {
        let pair = value.split(';').next().unwrap_or_default();
        let Some((name, content)) = pair.split_once('=') else {
            return;
        };
        let after = if value.len() > pair.len() { ";" } else { "" };
        if kind(content) >= ValueKind::Rare {
            let origin = self.part("set-cookie", &format!("{name}="), after);
            let cookie = format!("the cookie `{name}`");
            self.put(content, origin, Label::name(name), cookie);
        }
    }
}

/// Spells a path as templates have it.
fn spell_path(path: &[Key]) -> String {
    let mut text = String::new();
    for key in path {
        let _ = match key {
            Key::Field(name) if text.is_empty() => write!(text, "{name}"),
            Key::Field(name) => write!(text, ".{name}"),
            Key::Item(number) => write!(text, "[{number}]"),
        };
    }
    text
}
