//! The places of a request in which a value can stand, and what is put there; all else stays, byte for byte.

use super::label::Label;
use super::layer::Layer;
use super::{LISTS, parts_by, url_parts};
use crate::document::{self, Node, Value};
use crate::recording::{Body, Exchange, Text};
use crate::source::Input;
use crate::text::{form_decode, has_word};
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

/// The longest part of a request that is looked through.
const LONGEST: usize = 1024 * 1024;
/// The most places of a request.
const MOST: usize = 50_000;
/// The name of a form.
const FORM: &str = "the form";
/// The name of a body of JSON.
const BODY: &str = "the body";
/// The deepest text within another: JSON in a string of JSON in a query.
const DEEPEST: usize = 3;

/// A value that might come from an answer.
#[derive(Debug, Clone)]
pub(super) struct ValuePlace {
    /// The number of the text in [`Exchange::texts`].
    pub(super) slot: usize,
    /// Its place in the [flat](Text::flat) text.
    pub(super) range: Range<usize>,
    /// The decoded value.
    pub(super) value: String,
    pub(super) label: Rc<Label>,
    pub(super) form: ValueForm,
    /// The name for people: `product_id` in the body.
    pub(super) name: Rc<str>,
    /// The field of a form or of JSON whose whole value it is.
    pub(super) field: Option<Rc<str>>,
}

/// The relation of a value to the text around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueForm {
    /// On its own: a segment of a path, a field, a header.
    Whole,
    /// A number in a body of JSON, whose marker gets quotes.
    Number,
    /// Within a longer text.
    Within,
}

/// The names of a value: for comparison and for people.
type Called = (Rc<Label>, Rc<str>);

/// Returns all places of a request, outer ones before those in them. Values that a reader put in are no places.
pub(super) fn places(exchange: &Exchange) -> Vec<ValuePlace> {
    let target = exchange.target.flat().text;
    let mut finder = Finder {
        places: Vec::new(),
        slot: 0,
        texts: exchange.texts(),
        target: &target,
        field: None,
    };
    finder.search(&exchange.target, |finder, layer| {
        finder.url(layer);
    });
    for header in &exchange.headers {
        let name = header.name.to_ascii_lowercase();
        if !has_word(&LISTS.request_headers, &name) && !name.starts_with("sec-") {
            finder.search(&header.value, |finder, layer| finder.header(&name, layer));
        }
    }
    if let Some(credentials) = &exchange.credentials {
        for (text, name) in [
            (&credentials.user, "user"),
            (&credentials.password, "password"),
        ] {
            let called = (Rc::new(Label::name(name)), Rc::from(name));
            finder.search(text, |finder, layer| finder.whole(layer, &called));
        }
    }
    match &exchange.body {
        Body::None => {}
        Body::Text(text) => finder.search(text, |finder, layer| {
            finder.body(layer, exchange.content_type().unwrap_or_default());
        }),
        Body::Multipart(parts) => {
            for part in parts {
                let name = part.name.flat().text;
                let called = (Rc::new(Label::parameter(&name, &target)), Rc::from(&*name));
                finder.search(&part.content, |finder, layer| {
                    finder.field = Some(name.into());
                    finder.leaf(layer, &called, 0);
                });
            }
        }
    }
    finder.places
}

struct Finder<'a> {
    places: Vec<ValuePlace>,
    slot: usize,
    texts: Vec<&'a Text>,
    target: &'a str,
    /// The field whose value comes next.
    field: Option<Rc<str>>,
}

impl Finder<'_> {
    /// Finds the places in a text of the request.
    fn search(&mut self, text: &Text, find: impl FnOnce(&mut Self, &Layer<'_>)) {
        let flat = text.flat();
        if text.is_binary() || flat.text.len() > LONGEST {
            return;
        }
        let mut texts = self.texts.iter();
        self.slot = texts
            .position(|known| std::ptr::eq(*known, text))
            .unwrap_or(0);
        let before = self.places.len();
        find(self, &Layer::new(&flat.text));
        let found = self.places.split_off(before).into_iter();
        let found = found.filter(|place| !flat.has_values(&place.value));
        self.places.extend(found);
    }

    fn put(&mut self, layer: &Layer<'_>, range: &Range<usize>, called: &Called, form: ValueForm) {
        let field = self.field.take();
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
            field,
        });
    }

    fn whole(&mut self, layer: &Layer<'_>, called: &Called) {
        self.put(layer, &(0..layer.text.len()), called, ValueForm::Whole);
    }

    /// Finds the places in a path and its query.
    fn url(&mut self, layer: &Layer<'_>) {
        let (path, query) = url_parts(&layer.text);
        let mut before = "";
        for segment in parts_by(&layer.text[path.clone()], |letter| letter == '/') {
            let segment = segment.start + path.start..segment.end + path.start;
            let raw = &layer.text[segment.clone()];
            let name = format!("the path after `{before}`");
            let called = (Rc::new(Label::segment(before)), name.into());
            if let Some(decoded) = layer.part(segment.clone()).percent_decoded(false) {
                if !decoded.text.contains('/') {
                    self.put(
                        &decoded,
                        &(0..decoded.text.len()),
                        &called,
                        ValueForm::Whole,
                    );
                    // `17.json`.
                    let stem = decoded
                        .text
                        .rfind('.')
                        .filter(|at| decoded.text.len() - at <= 6);
                    self.put(&decoded, &(0..stem.unwrap_or(0)), &called, ValueForm::Whole);
                }
                self.words(&decoded, &called);
            }
            let is_number = raw.bytes().all(|byte| byte.is_ascii_digit());
            if !is_number {
                before = &layer.text[segment];
            }
        }
        self.pairs(&layer.part(query), "the query");
    }

    /// Finds the values of `name=value&name=value`.
    fn pairs(&mut self, layer: &Layer<'_>, of: &str) {
        for pair in parts_by(&layer.text, |letter| letter == '&') {
            let Some((name, value)) = layer.text[pair.clone()].split_once('=') else {
                continue;
            };
            let field = form_decode(name);
            let name = field.trim_end_matches("[]");
            let label = Label::parameter(name, self.target);
            let called = (Rc::new(label), format!("`{name}` in {of}").into());
            let part = layer.part(pair.end - value.len()..pair.end);
            if let Some(decoded) = part.percent_decoded(true) {
                self.field = (of == FORM).then(|| field.as_str().into());
                self.leaf(&decoded, &called, 0);
            }
        }
    }

    fn header(&mut self, name: &str, layer: &Layer<'_>) {
        let words = format!("the header `{name}`");
        let called = (Rc::new(Label::name(name)), words.into());
        let text = &*layer.text;
        // `Bearer ..`
        if let Some((scheme, value)) = text.split_once(' ')
            && scheme.bytes().all(|byte| byte.is_ascii_alphabetic())
            && !value.contains([' ', ','])
        {
            self.put(
                layer,
                &(scheme.len() + 1..text.len()),
                &called,
                ValueForm::Whole,
            );
        }
        self.leaf(layer, &called, 0);
    }

    fn body(&mut self, layer: &Layer<'_>, content_type: &str) {
        let content_type = content_type.to_ascii_lowercase();
        if content_type.starts_with("application/x-www-form-urlencoded") {
            self.pairs(layer, FORM);
        } else if !self.json(layer, content_type.contains("json"), BODY, 0) {
            let called = (Rc::new(Label::name("body")), "the body".into());
            self.words(layer, &called);
        }
    }

    /// Finds the leaves of JSON; returns false where it is none.
    fn json(&mut self, layer: &Layer<'_>, is_body: bool, of: &str, depth: usize) -> bool {
        if depth >= DEEPEST || !layer.text.trim_start().starts_with(['{', '[']) {
            return false;
        }
        let input = Input::new(String::new(), layer.text.to_string());
        let Ok(node) = document::read(&input) else {
            return false;
        };
        self.node(&node, layer, &mut Vec::new(), (is_body, of, depth));
        true
    }

    fn node<'n>(
        &mut self,
        node: &'n Node<'_>,
        layer: &Layer<'_>,
        path: &mut Vec<&'n str>,
        of: (bool, &str, usize),
    ) {
        let (is_body, whole, depth) = of;
        for field in node.fields() {
            path.push(&field.name);
            self.node(&field.node, layer, path, of);
            path.pop();
        }
        for item in node.items() {
            self.node(item, layer, path, of);
        }
        let called = || {
            let name = path.last().unwrap_or(&"");
            let label = Label::field(path, self.target);
            (Rc::new(label), format!("`{name}` in {whole}").into())
        };
        // The field of a body, not of JSON within it.
        let field = path
            .last()
            .filter(|_| whole == BODY)
            .map(|name| Rc::from(*name));
        match &node.value {
            Value::Text(_) => {
                let called = called();
                self.field = field;
                let part = layer.part(node.span.start + 1..node.span.end - 1);
                if let Some(text) = part.unescaped() {
                    self.leaf(&text, &called, depth + 1);
                }
            }
            Value::Number(_) => {
                let form = if is_body {
                    ValueForm::Number
                } else {
                    ValueForm::Whole
                };
                self.field = field;
                self.put(layer, &node.span, &called(), form);
            }
            _ => {}
        }
    }

    /// Finds a text on its own, and the values in it.
    fn leaf(&mut self, layer: &Layer<'_>, called: &Called, depth: usize) {
        self.whole(layer, called);
        if !self.json(layer, false, &called.1, depth) {
            self.words(layer, called);
        }
    }

    /// Finds the texts between delimiters: first with what tokens may have in them, then without.
    fn words(&mut self, layer: &Layer<'_>, called: &Called) {
        let all = layer.text.len();
        if all < 8 || layer.text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return;
        }
        for more in ["-_.~+/=:", "-_", ""] {
            let is_inner = |letter: char| letter.is_alphanumeric() || more.contains(letter);
            for word in parts_by(&layer.text, |letter| !is_inner(letter)) {
                if word.len() >= 8 && word.len() < all {
                    self.put(layer, &word, called, ValueForm::Within);
                }
            }
        }
    }
}

/// Texts in the place of values, in one request.
#[derive(Default)]
pub(super) struct Replacements {
    /// By the slot and the end of the value: its start, and the text.
    places: BTreeMap<(usize, usize), (usize, Text)>,
}

impl Replacements {
    /// Returns true if a part of the place is replaced already.
    pub(super) fn overlap(&self, place: &ValuePlace) -> bool {
        let mut after = self.places.range((place.slot, place.range.start + 1)..);
        after
            .next()
            .is_some_and(|((slot, _), (start, _))| *slot == place.slot && *start < place.range.end)
    }

    /// Returns the text in the place of a value.
    pub(super) fn text_of(&self, place: &ValuePlace) -> Option<&Text> {
        let (start, text) = self.places.get(&(place.slot, place.range.end))?;
        (*start == place.range.start).then_some(text)
    }

    /// Replaces `range` of the [flat](Text::flat) text in `slot`.
    pub(super) fn insert(&mut self, slot: usize, range: Range<usize>, text: Text) {
        self.places.insert((slot, range.end), (range.start, text));
    }

    /// Writes the texts into the request.
    pub(super) fn apply(self, exchange: &mut Exchange) {
        for (slot, text) in exchange.texts_mut().into_iter().enumerate() {
            let places = self.places.range((slot, 0)..(slot + 1, 0));
            let flat = text.flat();
            let mut replaced = Text::default();
            let mut from = 0;
            for ((_, end), (start, text)) in places {
                replaced.append(flat.restore(&flat.text[from..*start]));
                replaced.append(text.clone());
                from = *end;
            }
            if from > 0 {
                replaced.append(flat.restore(&flat.text[from..]));
                *text = replaced;
            }
        }
    }
}
