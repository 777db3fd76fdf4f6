//! What answers have to offer.

use super::super::document::{self, Node, Value};
use super::super::recording::{Answer, Exchange, Header, Key, Origin};
use super::super::source::Input;
use super::kind::{Kind, kind};
use super::label::Label;
use super::page;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use url::Url;

/// The longest body that a run reads.
const LONGEST: usize = 16 * 1024 * 1024;
/// From how many places a value is taken at most: the first ones.
const MOST: usize = 32;
/// Headers that are no values to send back.
const SILENT_HEADERS: [&str; 16] = [
    "date",
    "server",
    "content-type",
    "content-length",
    "content-encoding",
    "cache-control",
    "vary",
    "connection",
    "expires",
    "transfer-encoding",
    "keep-alive",
    "accept-ranges",
    "alt-svc",
    "age",
    "set-cookie",
    "content-language",
];

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
}

/// What requests want, and what the answers so far have of it.
#[derive(Debug, Default)]
pub(super) struct Offers {
    /// All values that stand in requests, but for those that nobody looks for.
    pub(super) wanted: HashSet<String>,
    /// All targets of requests, and what they begin with.
    pub(super) wanted_targets: HashSet<String>,
    /// By the value.
    values: HashMap<String, Vec<Offer>>,
    /// By the target that a link leads to.
    links: HashMap<String, Offer>,
    /// What requests had: that of the user, and what answers have told before.
    sent: HashMap<String, Vec<Label>>,
    sent_targets: HashSet<String>,
}

impl Offers {
    /// The places from which a value could be.
    pub(super) fn of(&self, value: &str) -> &[Offer] {
        self.values.get(value).map_or(&[], Vec::as_slice)
    }

    /// The link that leads to a target.
    pub(super) fn link(&self, target: &str) -> Option<&Offer> {
        self.links.get(target)
    }

    /// Remembers that a value was sent, so that an answer that has it later is an echo.
    pub(super) fn sent(&mut self, value: &str, label: &Label) {
        let labels = self.sent.entry(value.to_owned()).or_default();
        if labels.len() < MOST && !labels.contains(label) {
            labels.push(label.clone());
        }
    }

    pub(super) fn sent_target(&mut self, target: &str) {
        self.sent_targets.insert(target.to_owned());
    }

    /// Takes what the answer of an exchange has.
    pub(super) fn take(&mut self, number: usize, exchange: &Exchange, answer: &Answer) {
        if answer.is_example {
            return;
        }
        let mut taker = Taker {
            offers: self,
            number,
            exchange,
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
            let value = std::str::from_utf8(&header.value).unwrap_or_default();
            if name == "set-cookie" {
                taker.cookie(header, value);
            } else if seen.insert(name.clone()) && !SILENT_HEADERS.contains(&&*name) {
                taker.header(&name, value);
            }
        }
    }

    /// Whether a value was sent before in such a place.
    pub(super) fn was_sent(&self, value: &str, label: &Label) -> bool {
        self.sent
            .get(value)
            .is_some_and(|labels| labels.contains(label))
    }

    /// Whether the answer repeats what was sent before.
    fn is_echo(&self, value: &str, label: &Label) -> bool {
        self.sent.get(value).is_some_and(|labels| {
            kind(value) >= Kind::Rare || labels.iter().any(|sent| sent.fits(label) > 0)
        })
    }
}

struct Taker<'a> {
    offers: &'a mut Offers,
    number: usize,
    exchange: &'a Exchange,
}

impl Taker<'_> {
    fn put(&mut self, value: &str, origin: Origin, label: Label, is_number: bool, name: String) {
        // Where only text is known of it, what an answer repeats as a number is more than an echo.
        let known = self.offers.of(value);
        let is_news = is_number && !known.is_empty() && known.iter().all(|offer| !offer.is_number);
        if self.offers.is_echo(value, &label) && !is_news {
            return;
        }
        let offers = self.offers.values.entry(value.to_owned()).or_default();
        if offers.len() < MOST {
            offers.push(Offer {
                exchange: self.number,
                origin,
                label,
                is_number,
                name,
            });
        }
    }

    /// A link, where requests went there later.
    fn link(&mut self, url: &str, origin: impl FnOnce() -> Origin, path: &[Key]) {
        let target = if url.starts_with('/') && !url.starts_with("//") {
            url.split('#').next().unwrap_or_default()
        } else if let Some(rest) = url.strip_prefix(self.exchange.origin.as_str()) {
            rest.split('#')
                .next()
                .filter(|rest| rest.starts_with('/'))
                .unwrap_or_default()
        } else {
            return;
        };
        let offers = &mut *self.offers;
        let is_known = offers.links.contains_key(target) || offers.sent_targets.contains(target);
        if is_known || !offers.wanted_targets.contains(target) {
            return;
        }
        let offer = Offer {
            exchange: self.number,
            origin: origin(),
            label: Label::default(),
            is_number: false,
            name: format!("the link `{}`", spelled(path)),
        };
        offers.links.insert(target.to_owned(), offer);
    }

    /// The leaves of JSON; whether it is that.
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
                    self.node(item, path);
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
        if self.offers.wanted.contains(value) {
            let names: Vec<_> = path.iter().filter_map(Key::name).collect();
            let (last, outer) = names
                .split_last()
                .map_or(("", &[][..]), |(last, outer)| (*last, outer));
            let label = Label::field(last, outer.iter().copied(), &self.exchange.target);
            let name = format!("`{}`", spelled(path));
            self.put(value, origin(path), label, is_number, name);
        }
        if !is_number && value.contains('/') {
            self.link(value, || origin(path), path);
        }
    }

    /// What a page has in its forms, its head and its scripts.
    fn page(&mut self, text: &str) {
        let wanted = &self.offers.wanted;
        let found = page::found(text, &|value| wanted.contains(value));
        for found in found {
            let origin = Origin::Between {
                exchange: self.number,
                before: found.before.to_owned(),
                after: found.after.to_owned(),
            };
            let label = Label::field(found.name, [].into_iter(), &self.exchange.target);
            let name = format!("`{}`", found.name);
            self.put(found.value, origin, label, false, name);
        }
    }

    fn header(&mut self, name: &str, value: &str) {
        let exchange = self.number;
        let whole = Origin::Header {
            exchange,
            name: name.to_owned(),
        };
        if self.offers.wanted.contains(value) {
            self.put(
                value,
                whole.clone(),
                Label::name(name),
                false,
                format!("the header `{name}`"),
            );
        }
        if !matches!(name, "location" | "content-location") {
            return;
        }
        self.link(value, || whole, &[Key::Field(name.to_owned())]);
        let url = Url::parse(&self.exchange.origin).and_then(|base| base.join(value));
        let Ok(url) = url else { return };
        let mut label = Label::default();
        for segment in url.path_segments().into_iter().flatten() {
            if !label.around.is_empty() || kind(segment) > Kind::Word {
                label.key = vec!["id".to_owned()];
                self.part(name, value, segment, &label);
            }
            if kind(segment) <= Kind::Word {
                label = Label::segment(segment);
            }
        }
        for pair in url.query().unwrap_or_default().split('&') {
            if let Some((key, part)) = pair.split_once('=') {
                self.part(name, value, part, &Label::field(key, [].into_iter(), ""));
            }
        }
    }

    /// A part of a header: what is before it has to be there for the first time.
    fn part(&mut self, name: &str, value: &str, part: &str, label: &Label) {
        let is_number = matches!(kind(part), Kind::Number(_));
        if !(is_number || kind(part) >= Kind::Rare) || !self.offers.wanted.contains(part) {
            return;
        }
        let is_bound =
            |letter: Option<char>| letter.is_none_or(|letter| "/?&=;# ".contains(letter));
        let at = value.match_indices(part).map(|(at, _)| at).find(|at| {
            is_bound(value[..*at].chars().next_back())
                && is_bound(value[at + part.len()..].chars().next())
        });
        let Some(at) = at else { return };
        let Some(before) = leading(value, at) else {
            return;
        };
        let after = value[at + part.len()..].chars().next();
        let origin = Origin::Part {
            exchange: self.number,
            name: name.to_owned(),
            before: before.to_owned(),
            after: after.map_or_else(String::new, String::from),
        };
        let told = format!("a part of the header `{name}`");
        self.put(part, origin, label.clone(), false, told);
    }

    /// The value of a cookie, which some requests repeat elsewhere.
    fn cookie(&mut self, header: &Header, value: &str) {
        let pair = value.split(';').next().unwrap_or_default();
        let Some((name, content)) = pair.split_once('=') else {
            return;
        };
        let is_wanted = self.offers.wanted.contains(content) && kind(content) >= Kind::Rare;
        if !is_wanted || pair.len() > header.value.len() {
            return;
        }
        let origin = Origin::Part {
            exchange: self.number,
            name: "set-cookie".to_owned(),
            before: format!("{name}="),
            after: if value.len() > pair.len() {
                ";".to_owned()
            } else {
                String::new()
            },
        };
        let told = format!("the cookie `{name}`");
        self.put(content, origin, Label::name(name), false, told);
    }
}

/// The shortest text that leads to a part of a location and nowhere else, without a value in it; neither host nor
/// port, which differ from one target to the next.
fn leading(value: &str, at: usize) -> Option<&str> {
    let path = value.find("://").map_or(Some(0), |scheme| {
        let slash = value[scheme + 3..].find('/')?;
        Some(scheme + 3 + slash)
    })?;
    let mut starts = value.get(path..at)?.rmatch_indices(['/', '?', '&', ';']);
    let before = starts.find_map(|(start, _)| {
        let before = &value[path + start..at];
        let is_named = before.bytes().any(|byte| byte.is_ascii_alphabetic());
        (is_named && value.find(before) == Some(path + start)).then_some(before)
    })?;
    let mut words = before.split(['/', '?', '&', '=', ';']);
    words.all(|word| kind(word) < Kind::Rare).then_some(before)
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
