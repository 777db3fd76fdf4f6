//! The places of a request in which a value can stand.

use super::super::document::{self, Node, Value};
use super::super::recording::{Body, Exchange};
use super::super::source::Input;
use super::label::Label;
use super::layer::Layer;
use std::ops::Range;

/// The longest part of a request that is looked through.
const LONGEST: usize = 1024 * 1024;
/// How many places a request has at most.
const MOST: usize = 50_000;
/// How deep texts are within each other: JSON in a string of JSON in a query.
const DEEPEST: usize = 3;
/// What says nothing that an answer has told, or that is not the step's own.
const SILENT_HEADERS: [&str; 14] = [
    "cookie",
    "user-agent",
    "accept",
    "accept-encoding",
    "accept-language",
    "content-type",
    "content-length",
    "content-encoding",
    "host",
    "origin",
    "connection",
    "priority",
    "dnt",
    "upgrade-insecure-requests",
];

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
pub(super) struct Place {
    pub(super) slot: Slot,
    /// Where it stands there.
    pub(super) range: Range<usize>,
    /// What it says.
    pub(super) value: String,
    /// What it is called.
    pub(super) label: Label,
    pub(super) form: Form,
    /// As a person is told of it: `product_id` in the body.
    pub(super) name: String,
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

/// All places of a request, outer ones before those in them.
pub(super) fn places(exchange: &Exchange) -> Vec<Place> {
    let mut finder = Finder {
        places: Vec::new(),
        slot: Slot::Target,
        target: &exchange.target,
    };
    finder.target(&Layer::new(&exchange.target));
    for (number, header) in exchange.headers.iter().enumerate() {
        let name = header.name.to_ascii_lowercase();
        let is_silent = SILENT_HEADERS.contains(&&*name) || name.starts_with("sec-");
        if let (Ok(value), false) = (std::str::from_utf8(&header.value), is_silent) {
            finder.slot = Slot::Header(number);
            finder.header(&name, &Layer::new(value));
        }
    }
    if let Some(credentials) = &exchange.credentials {
        for (slot, bytes, name) in [
            (Slot::User, &credentials.user, "user"),
            (Slot::Password, &credentials.password, "password"),
        ] {
            if let Ok(value) = std::str::from_utf8(bytes) {
                finder.slot = slot;
                finder.whole(&Layer::new(value), &Label::name(name), name);
            }
        }
    }
    match &exchange.body {
        Body::None => {}
        Body::Bytes(bytes) => {
            if let (Ok(text), true) = (std::str::from_utf8(bytes), bytes.len() <= LONGEST) {
                finder.slot = Slot::Body;
                finder.body(&Layer::new(text), content_type(exchange));
            }
        }
        Body::Multipart(parts) => {
            for (number, part) in parts.iter().enumerate() {
                let is_short = part.content.len() <= LONGEST;
                if let (Ok(text), true) = (std::str::from_utf8(&part.content), is_short) {
                    finder.slot = Slot::Part(number);
                    let name = String::from_utf8_lossy(&part.name);
                    let label = Label::field(&name, [].into_iter(), finder.target);
                    finder.leaf(&Layer::new(text), &label, &name, 0);
                }
            }
        }
    }
    finder.places
}

/// What the body is said to be.
fn content_type(exchange: &Exchange) -> &str {
    let mut headers = exchange.headers.iter();
    let header = headers.find(|header| header.name.eq_ignore_ascii_case("content-type"));
    let value = header.and_then(|header| std::str::from_utf8(&header.value).ok());
    value.unwrap_or_default()
}

struct Finder<'a> {
    places: Vec<Place>,
    slot: Slot,
    target: &'a str,
}

impl Finder<'_> {
    fn put(
        &mut self,
        layer: &Layer<'_>,
        range: &Range<usize>,
        label: &Label,
        form: Form,
        name: &str,
    ) {
        if range.is_empty() || self.places.len() >= MOST {
            return;
        }
        self.places.push(Place {
            slot: self.slot,
            range: layer.place(range),
            value: layer.text[range.clone()].to_owned(),
            label: label.clone(),
            form,
            name: name.to_owned(),
        });
    }

    fn whole(&mut self, layer: &Layer<'_>, label: &Label, name: &str) {
        self.put(layer, &(0..layer.text.len()), label, Form::Whole, name);
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
            let label = Label::segment(before);
            let name = format!("the path after `{before}`");
            let part = layer.part(segment.clone());
            if let Some(decoded) = part.percent_decoded(false) {
                let is_whole = !decoded.text.contains('/');
                if is_whole {
                    self.put(&decoded, &(0..decoded.text.len()), &label, form, &name);
                }
                // `17.json`.
                let stem = decoded.text.rfind('.').filter(|at| *at > 0);
                if let Some(stem) = stem.filter(|at| decoded.text.len() - at <= 6 && is_whole) {
                    self.put(&decoded, &(0..stem), &label, form, &name);
                }
                self.words(&decoded, &label, &name);
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
            let label = Label::field(last, outer.iter().copied(), self.target);
            let told = format!("`{name}` in {of}");
            let part = layer.part(pair.end - value.len()..pair.end);
            let Some(decoded) = part.percent_decoded(true) else {
                continue;
            };
            if form == Form::Within {
                self.put(&decoded, &(0..decoded.text.len()), &label, form, &told);
                continue;
            }
            self.leaf(&decoded, &label, &told, depth);
            // Base64 that was not encoded as it should be.
            if value.contains('+')
                && let Some(decoded) = part.percent_decoded(false)
            {
                self.put(&decoded, &(0..decoded.text.len()), &label, form, &told);
            }
        }
    }

    fn header(&mut self, name: &str, layer: &Layer<'_>) {
        let label = Label::name(name);
        let told = format!("the header `{name}`");
        let text = &*layer.text;
        self.whole(layer, &label, &told);
        let scheme = text.find(' ').filter(|at| {
            let is_word = text[..*at].bytes().all(|byte| byte.is_ascii_alphabetic());
            is_word && !text[at + 1..].contains([' ', ','])
        });
        if let Some(at) = scheme {
            self.put(layer, &(at + 1..text.len()), &label, Form::Whole, &told);
        }
        if !self.json(layer, false, &told, 0) {
            self.inside(layer, &label, &told, 0);
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
            self.inside(layer, &Label::name("body"), "the body", 0);
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
        self.node(&node, layer, &mut Vec::new(), is_body, of, depth);
        true
    }

    fn node<'n>(
        &mut self,
        node: &'n Node<'_>,
        layer: &Layer<'_>,
        outer: &mut Vec<&'n str>,
        is_body: bool,
        of: &str,
        depth: usize,
    ) {
        for item in node.items() {
            self.node(item, layer, outer, is_body, of, depth);
        }
        for field in node.fields() {
            outer.push(&field.name);
            self.node(&field.node, layer, outer, is_body, of, depth);
            outer.pop();
        }
        let (name, outer) = outer
            .split_last()
            .map_or(("", &[][..]), |(last, outer)| (*last, outer));
        let label = || Label::field(name, outer.iter().copied(), self.target);
        let told = || format!("`{name}` in {of}");
        match &node.value {
            Value::Text(_) => {
                let part = layer.part(node.span.start + 1..node.span.end - 1);
                if let Some(text) = part.unescaped() {
                    self.leaf(&text, &label(), &told(), depth + 1);
                }
            }
            Value::Number(_) => {
                let form = if is_body { Form::Number } else { Form::Whole };
                self.put(layer, &node.span, &label(), form, &told());
            }
            _ => {}
        }
    }

    /// A text on its own, and what is in it.
    fn leaf(&mut self, layer: &Layer<'_>, label: &Label, name: &str, depth: usize) {
        self.whole(layer, label, name);
        if !self.json(layer, false, name, depth) {
            self.inside(layer, label, name, depth);
        }
    }

    /// What is in a text.
    fn inside(&mut self, layer: &Layer<'_>, label: &Label, name: &str, depth: usize) {
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
                self.pairs(&layer.part(query + 1..end), name, Form::Within, depth);
            }
        }
        self.words(layer, label, name);
    }

    /// What is between delimiters: first with what tokens may have in them, then without.
    fn words(&mut self, layer: &Layer<'_>, label: &Label, name: &str) {
        let all = layer.text.len();
        for more in ["-_.~+/=", "-_", ""] {
            let is_inner = |letter: char| letter.is_alphanumeric() || more.contains(letter);
            for word in parts_by(&layer.text, |letter| !is_inner(letter)) {
                if word.len() >= 8 && word.len() < all {
                    self.put(layer, &word, label, Form::Within, name);
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
