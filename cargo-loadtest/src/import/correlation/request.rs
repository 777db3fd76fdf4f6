//! The places of a request in which a value can stand.

use super::super::document::{self, Node, Value};
use super::super::recording::{Body, Exchange, Text};
use super::super::source::Input;
use super::label::Label;
use super::layer::Layer;
use super::{LISTS, has_word};
use std::ops::Range;
use std::rc::Rc;

/// The longest part of a request that is looked through.
const LONGEST: usize = 1024 * 1024;
/// How many places a request has at most.
const MOST: usize = 50_000;
/// How deep texts are within each other: JSON in a string of JSON in a query.
const DEEPEST: usize = 3;
/// The longest value between quotes of a text.
const LONGEST_QUOTED: usize = 512;

/// A part of a request that holds text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Slot {
    Target,
    Header(usize),
    User,
    Password,
    Body,
    Part(usize),
}

/// A value that might come from an answer.
#[derive(Debug, Clone)]
pub(super) struct ValuePlace {
    pub(super) slot: Slot,
    /// Where it stands there.
    pub(super) range: Range<usize>,
    /// What it says.
    pub(super) value: String,
    /// What it is called.
    pub(super) label: Rc<Label>,
    pub(super) form: Form,
    /// As a person is told of it: `product_id` in the body.
    pub(super) name: Rc<str>,
}

/// How a value stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// On its own: a segment of a path, a field, a header.
    Whole,
    /// A number in a body of JSON, whose marker gets quotes.
    Number,
    /// Within a longer text.
    Within,
}

/// What a value is called, here and by people.
type Called = (Rc<Label>, Rc<str>);

/// Returns all places of a request, outer ones before those in them. Without names where only the values are of
/// interest. Ranges are those of [flat](Text::flat) texts; values that a reader put in are no places.
pub(super) fn places(exchange: &Exchange, has_names: bool) -> Vec<ValuePlace> {
    let target = exchange.target.flat().text;
    let mut finder = Finder {
        places: Vec::new(),
        nameless: (!has_names).then(|| (Rc::default(), Rc::from(""))),
        slot: Slot::Target,
        target: &target,
    };
    finder.search(Slot::Target, &exchange.target, |finder, layer| {
        finder.target(layer);
    });
    for (number, header) in exchange.headers.iter().enumerate() {
        let name = header.name.to_ascii_lowercase();
        if !has_word(&LISTS.request_headers, &name) && !name.starts_with("sec-") {
            finder.search(Slot::Header(number), &header.value, |finder, layer| {
                finder.header(&name, layer);
            });
        }
    }
    if let Some(credentials) = &exchange.credentials {
        for (slot, text, name) in [
            (Slot::User, &credentials.user, "user"),
            (Slot::Password, &credentials.password, "password"),
        ] {
            let called = finder.called(|| (Label::name(name), name.to_owned()));
            finder.search(slot, text, |finder, layer| finder.whole(layer, &called));
        }
    }
    match &exchange.body {
        Body::None => {}
        Body::Text(text) => finder.search(Slot::Body, text, |finder, layer| {
            finder.body(layer, exchange.content_type().unwrap_or_default());
        }),
        Body::Multipart(parts) => {
            for (number, part) in parts.iter().enumerate() {
                let name = part.name.flat().text;
                let called = finder.called(|| {
                    let label = Label::field(&name, [].into_iter(), &target);
                    (label, name.clone())
                });
                finder.search(Slot::Part(number), &part.content, |finder, layer| {
                    finder.leaf(layer, &called, 0);
                });
            }
        }
    }
    finder.places
}

struct Finder<'a> {
    places: Vec<ValuePlace>,
    /// What all are called, where nobody wants to know.
    nameless: Option<Called>,
    slot: Slot,
    target: &'a str,
}

impl Finder<'_> {
    /// Finds the places in the text of a slot.
    fn search(&mut self, slot: Slot, text: &Text, find: impl FnOnce(&mut Self, &Layer<'_>)) {
        let flat = text.flat();
        if text.is_binary() || flat.text.len() > LONGEST {
            return;
        }
        self.slot = slot;
        let before = self.places.len();
        find(self, &Layer::new(&flat.text));
        let found = self.places.split_off(before).into_iter();
        self.places
            .extend(found.filter(|place| !flat.has_values(&place.value)));
    }

    fn called(&self, call: impl FnOnce() -> (Label, String)) -> Called {
        if let Some(nameless) = &self.nameless {
            return nameless.clone();
        }
        let (label, name) = call();
        (Rc::new(label), Rc::from(name))
    }

    fn put(&mut self, layer: &Layer<'_>, range: &Range<usize>, called: &Called, form: Form) {
        if range.is_empty() || self.places.len() >= MOST {
            return;
        }
        self.places.push(ValuePlace {
            slot: self.slot,
            range: layer.place(range),
            value: layer.text[range.clone()].to_owned(),
            label: Rc::clone(&called.0),
            form,
            name: Rc::clone(&called.1),
        });
    }

    fn whole(&mut self, layer: &Layer<'_>, called: &Called) {
        self.put(layer, &(0..layer.text.len()), called, Form::Whole);
    }

    /// A path and its query.
    fn target(&mut self, layer: &Layer<'_>) {
        let text = &*layer.text;
        let end = text.find('#').unwrap_or(text.len());
        let path = text[..end].find('?').unwrap_or(end);
        self.path(&layer.part(0..path), Form::Whole);
        if path < end {
            self.pairs(&layer.part(path + 1..end), "the query", Form::Whole, 0);
        }
    }

    fn path(&mut self, layer: &Layer<'_>, form: Form) {
        let mut before = "";
        for segment in parts(&layer.text, '/') {
            let raw = &layer.text[segment.clone()];
            let called = self.called(|| {
                let name = format!("the path after `{before}`");
                (Label::segment(before), name)
            });
            let part = layer.part(segment.clone());
            if let Some(decoded) = part.percent_decoded(false) {
                let is_whole = !decoded.text.contains('/');
                if is_whole {
                    self.put(&decoded, &(0..decoded.text.len()), &called, form);
                }
                // `17.json`.
                let stem = decoded.text.rfind('.').filter(|at| *at > 0);
                if let Some(stem) = stem.filter(|at| decoded.text.len() - at <= 6 && is_whole) {
                    self.put(&decoded, &(0..stem), &called, form);
                }
                self.words(&decoded, &called);
            }
            let is_number = raw.bytes().all(|byte| byte.is_ascii_digit());
            if !raw.is_empty() && !is_number {
                before = &layer.text[segment];
            }
        }
    }

    /// `name=value&name=value`.
    fn pairs(&mut self, layer: &Layer<'_>, of: &str, form: Form, depth: usize) {
        for pair in parts(&layer.text, '&') {
            let text = &layer.text[pair.clone()];
            let Some((name, value)) = text.split_once('=') else {
                continue;
            };
            let name = Layer::new(name);
            let Some(name) = name.percent_decoded(true) else {
                continue;
            };
            let name = name.text.trim_end_matches("[]");
            let inner: Vec<_> = name
                .split(['[', ']', '.'])
                .filter(|part| !part.is_empty())
                .collect();
            let (last, outer) = inner
                .split_last()
                .map_or((name, &[][..]), |(last, outer)| (*last, outer));
            let called = self.called(|| {
                let label = Label::field(last, outer.iter().copied(), self.target);
                (label, format!("`{name}` in {of}"))
            });
            let part = layer.part(pair.end - value.len()..pair.end);
            let Some(decoded) = part.percent_decoded(true) else {
                continue;
            };
            if form == Form::Within {
                self.put(&decoded, &(0..decoded.text.len()), &called, form);
                continue;
            }
            self.leaf(&decoded, &called, depth);
            // Base64 that was not encoded as it should be.
            if value.contains('+')
                && let Some(decoded) = part.percent_decoded(false)
            {
                self.put(&decoded, &(0..decoded.text.len()), &called, form);
            }
        }
    }

    fn header(&mut self, name: &str, layer: &Layer<'_>) {
        let called = self.called(|| (Label::name(name), format!("the header `{name}`")));
        let text = &*layer.text;
        self.whole(layer, &called);
        let scheme = text.find(' ').filter(|at| {
            let is_word = text[..*at].bytes().all(|byte| byte.is_ascii_alphabetic());
            is_word && !text[at + 1..].contains([' ', ','])
        });
        if let Some(at) = scheme {
            self.put(layer, &(at + 1..text.len()), &called, Form::Whole);
        }
        if !self.json(layer, false, &called.1, 0) {
            self.inside(layer, &called, 0);
        }
    }

    fn body(&mut self, layer: &Layer<'_>, content_type: &str) {
        let content_type = content_type.to_ascii_lowercase();
        let is_form = content_type.starts_with("application/x-www-form-urlencoded");
        if content_type.contains("json") && self.json(layer, true, "the body", 0) {
            return;
        }
        if is_form {
            self.pairs(layer, "the form", Form::Whole, 0);
        } else if !self.json(layer, false, "the body", 0) {
            let called = self.called(|| (Label::name("body"), "the body".to_owned()));
            self.inside(layer, &called, 0);
        }
    }

    /// The leaves of JSON; whether it is that.
    fn json(&mut self, layer: &Layer<'_>, is_body: bool, of: &str, depth: usize) -> bool {
        if depth >= DEEPEST || !layer.text.trim_start().starts_with(['{', '[']) {
            return false;
        }
        let input = Input::new(String::new(), layer.text.to_string());
        let Ok(node) = document::read(&input) else {
            return false;
        };
        self.node(&node, layer, &mut Vec::new(), None, (is_body, of, depth));
        true
    }

    /// The leaves of a part of JSON; those of a list are called as it is.
    fn node<'n>(
        &mut self,
        node: &'n Node<'_>,
        layer: &Layer<'_>,
        outer: &mut Vec<&'n str>,
        called: Option<&Called>,
        of: (bool, &str, usize),
    ) {
        let (is_body, told, depth) = of;
        for field in node.fields() {
            outer.push(&field.name);
            self.node(&field.node, layer, outer, None, of);
            outer.pop();
        }
        if matches!(node.value, Value::Object(_) | Value::Null | Value::Bool(_)) {
            return;
        }
        let called = match called {
            Some(called) => called.clone(),
            None => self.called(|| {
                let (name, outer) = outer
                    .split_last()
                    .map_or(("", &[][..]), |(last, outer)| (*last, outer));
                let label = Label::field(name, outer.iter().copied(), self.target);
                (label, format!("`{name}` in {told}"))
            }),
        };
        for item in node.items() {
            self.node(item, layer, outer, Some(&called), of);
        }
        match &node.value {
            Value::Text(_) => {
                let part = layer.part(node.span.start + 1..node.span.end - 1);
                if let Some(text) = part.unescaped() {
                    self.leaf(&text, &called, depth + 1);
                }
            }
            Value::Number(_) => {
                let form = if is_body { Form::Number } else { Form::Whole };
                self.put(layer, &node.span, &called, form);
            }
            _ => {}
        }
    }

    /// A text on its own, and what is in it.
    fn leaf(&mut self, layer: &Layer<'_>, called: &Called, depth: usize) {
        self.whole(layer, called);
        if !self.json(layer, false, &called.1, depth) {
            self.inside(layer, called, depth);
        }
    }

    /// What is in a text.
    fn inside(&mut self, layer: &Layer<'_>, called: &Called, depth: usize) {
        let text = &*layer.text;
        let is_web = text.starts_with("http://") || text.starts_with("https://");
        let path = if is_web {
            text.find("://")
                .and_then(|at| text[at + 3..].find('/').map(|slash| at + 3 + slash))
        } else {
            text.starts_with('/').then_some(0)
        };
        if let Some(path) = path.filter(|_| !text.contains(char::is_whitespace)) {
            let end = text.find('#').unwrap_or(text.len());
            let query = text[..end].find('?').unwrap_or(end);
            if path < query {
                self.path(&layer.part(path..query), Form::Within);
            }
            if query < end {
                self.pairs(&layer.part(query + 1..end), &called.1, Form::Within, depth);
            }
        }
        self.quoted(layer, called);
        self.words(layer, called);
    }

    /// What is between two quotes: what the word before says it is, as in the text of a query.
    fn quoted(&mut self, layer: &Layer<'_>, called: &Called) {
        let text = &*layer.text;
        let mut begin = None;
        for (at, _) in text.match_indices('"') {
            let gap = begin.replace(at + 1).map(|begin: usize| begin..at);
            let Some(gap) = gap.filter(|gap| (4..=LONGEST_QUOTED).contains(&gap.len())) else {
                continue;
            };
            if text[gap.clone()].contains(char::is_whitespace) {
                continue;
            }
            let before = text[..gap.start - 1].trim_end();
            let Some(before) = before.strip_suffix([':', '=']).map(str::trim_end) else {
                self.put(layer, &gap, called, Form::Within);
                continue;
            };
            let start = before.rfind(|letter: char| !letter.is_alphanumeric() && letter != '_');
            let word = start.map_or(before, |start| {
                before[start..].trim_start_matches(|letter: char| !letter.is_alphanumeric())
            });
            let called = self.called(|| {
                let label = Label::field(word, [].into_iter(), self.target);
                (label, format!("`{word}` in {}", called.1))
            });
            self.put(layer, &gap, &called, Form::Whole);
        }
    }

    /// What is between delimiters: first with what tokens may have in them, then without.
    fn words(&mut self, layer: &Layer<'_>, called: &Called) {
        let all = layer.text.len();
        if all < 8 || layer.text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return;
        }
        for more in ["-_.~+/=", "-_", ""] {
            let is_inner = |letter: char| letter.is_alphanumeric() || more.contains(letter);
            for word in parts_by(&layer.text, |letter| !is_inner(letter)) {
                if word.len() >= 8 && word.len() < all {
                    self.put(layer, &word, called, Form::Within);
                }
            }
        }
    }
}

fn parts(text: &str, delimiter: char) -> impl Iterator<Item = Range<usize>> {
    parts_by(text, move |letter| letter == delimiter)
}

/// The parts of a text, by their places.
fn parts_by(
    text: &str,
    is_delimiter: impl FnMut(char) -> bool,
) -> impl Iterator<Item = Range<usize>> {
    let start = text.as_ptr() as usize;
    text.split(is_delimiter).map(move |part| {
        let from = part.as_ptr() as usize - start;
        from..from + part.len()
    })
}
