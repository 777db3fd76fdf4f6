//! The XML of a plan as a tree in which every element knows its place.

use crate::source::{Input, Mistake, Span};
use crate::text::find_pair;
use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesStart, Event};
use std::cell::Cell;
use std::fmt::Write as _;

/// Deepest nesting of elements.
const DEEPEST: usize = 200;
/// Properties with the values that change nothing, besides an empty one, `false` and `0`. A `*` is any value.
const DEFAULTS: &str = include_str!("../data/jmx-defaults.tsv");

/// An element, which knows whether anybody has read it.
///
/// What is left unread at the end is told, so that nothing of a plan is lost in silence.
#[derive(Debug, Clone, Default)]
pub(super) struct Element {
    pub(super) tag: String,
    pub(super) attributes: Vec<(String, String)>,
    /// The text in it, without that of its children.
    text: String,
    pub(super) children: Vec<Element>,
    /// The place of its first tag.
    pub(super) span: Span,
    is_read: Cell<bool>,
}

/// An element of a plan, with those below it.
#[derive(Debug, Clone)]
pub(super) struct PlanItem<'e> {
    pub(super) element: &'e Element,
    pub(super) items: Vec<PlanItem<'e>>,
}

/// Reads the tree of a plan.
pub(super) fn read_plan(input: &Input) -> Result<Element, Mistake> {
    if input.text.trim().is_empty() {
        return Err(Mistake::new(0..0, "there is nothing in it"));
    }
    let root = read_element(&input.text)?;
    if root.tag != "jmeterTestPlan" {
        let words = "this is not a JMeter plan: there is no `jmeterTestPlan` in it";
        return Err(Mistake::new(root.span, words));
    }
    Ok(root)
}

fn read_element(text: &str) -> Result<Element, Mistake> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Element> = Vec::new();
    let place = |at: u64| {
        let start = usize::try_from(at).unwrap_or(0).min(text.len());
        start..(start + 1).min(text.len()).max(start)
    };
    let first = text.len() - text.trim_start().len();
    loop {
        let start = reader.buffer_position();
        let event = reader.read_event().map_err(|error| {
            let words = format!("this is not XML: {error}");
            Mistake::new(place(reader.error_position()), words)
        })?;
        let span = place(start).start..place(reader.buffer_position()).start;
        let mut done = None;
        match event {
            Event::Start(tag) => {
                if open.len() >= DEEPEST {
                    return Err(Mistake::new(span, "this is nested too deeply"));
                }
                open.push(make_element(&tag, span));
            }
            Event::Empty(tag) => done = Some(make_element(&tag, span)),
            Event::End(_) => done = open.pop(),
            Event::Text(words) => add_text(&mut open, &String::from_utf8_lossy(&words)),
            Event::CData(words) => add_text(&mut open, &String::from_utf8_lossy(&words)),
            Event::GeneralRef(reference) => {
                let letter = reference.resolve_char_ref().ok().flatten();
                let name = String::from_utf8_lossy(&reference);
                let entity = resolve_predefined_entity(&name).unwrap_or_default();
                let letter = letter.map(String::from);
                add_text(&mut open, letter.as_deref().unwrap_or(entity));
            }
            Event::Eof if open.is_empty() => {
                return Err(Mistake::new(first..first + 1, "this is not XML"));
            }
            Event::Eof => {
                let span = open.pop().map_or(0..0, |element| element.span);
                let words = "this is not XML: this element is not closed";
                return Err(Mistake::new(span, words));
            }
            _ => {}
        }
        if let Some(element) = done {
            match open.last_mut() {
                Some(parent) => parent.children.push(element),
                None => return Ok(element),
            }
        }
    }
}

fn add_text(open: &mut [Element], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
}

fn make_element(tag: &BytesStart<'_>, span: Span) -> Element {
    let mut all = Vec::new();
    for attribute in tag.attributes().with_checks(false).flatten() {
        let name = String::from_utf8_lossy(attribute.key.as_ref()).into_owned();
        let value = String::from_utf8_lossy(&attribute.value).into_owned();
        let unescaped = unescape(&value).map(std::borrow::Cow::into_owned);
        all.push((name, unescaped.unwrap_or(value)));
    }
    let name = String::from_utf8_lossy(tag.name().as_ref()).into_owned();
    let span = span.start..span.end.min(span.start + 1 + name.len());
    Element {
        tag: name,
        attributes: all,
        span,
        ..Element::default()
    }
}

impl Element {
    pub(super) fn attribute(&self, name: &str) -> &str {
        find_pair(&self.attributes, name).map_or("", String::as_str)
    }

    /// Returns the class of the element, without its package.
    pub(super) fn class(&self) -> &str {
        let class = match self.attribute("testclass") {
            "" => self.tag.as_str(),
            class => class,
        };
        class.rsplit('.').next().unwrap_or_default()
    }

    /// Returns the name that users gave it.
    pub(super) fn title(&self) -> &str {
        self.attribute("testname").trim()
    }

    pub(super) fn is_enabled(&self) -> bool {
        self.attribute("enabled") != "false"
    }

    /// Notes that it has been read.
    pub(super) fn mark(&self) {
        self.is_read.set(true);
    }

    pub(super) fn is_read(&self) -> bool {
        self.is_read.get()
    }

    /// Notes that it has been read, with all in it.
    pub(super) fn mark_all(&self) {
        self.mark();
        self.children.iter().for_each(Self::mark_all);
    }

    /// Returns the property with a name.
    pub(super) fn property(&self, name: &str) -> Option<&Element> {
        self.mark();
        let found = self.children.iter().find(|child| child.name() == name);
        found.inspect(|found| found.mark())
    }

    /// Returns the name of a property; that of an object is a child.
    fn name(&self) -> &str {
        match self.child("name") {
            Some(name) => &name.text,
            None => self.attribute("name"),
        }
    }

    fn child(&self, tag: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.tag == tag)
    }

    /// Returns the text of a property; that of an object is in its `value`.
    pub(super) fn text(&self) -> &str {
        self.mark();
        self.value()
    }

    fn value(&self) -> &str {
        &self.child("value").unwrap_or(self).text
    }

    /// Returns the text of a property.
    pub(super) fn text_of(&self, name: &str) -> &str {
        self.property(name).map_or("", Element::text)
    }

    /// Returns true where a property is `true`.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.text_of(name).trim() == "true"
    }

    /// Returns the properties that nobody has read, and that are not as usual; `list` is the name of what they are in.
    pub(super) fn unread<'e>(&'e self, list: &'e str) -> Vec<(&'e str, &'e Span)> {
        let mut unread = Vec::new();
        for child in &self.children {
            // The items of a list have numbers, or no names.
            let name = child.name();
            let is_number = name
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-');
            let name = if is_number { list } else { name };
            if !child.children.is_empty() && child.child("value").is_none() {
                unread.extend(child.unread(name));
            } else if !child.is_read() && !is_default(name, child.value().trim()) {
                unread.push((name, &child.span));
            }
        }
        unread
    }

    /// Returns the elements of a collection.
    pub(super) fn list(&self, name: &str) -> &[Element] {
        self.property(name).map_or(&[], |list| &list.children)
    }

    /// Returns the arguments of an element, each with its name and its value.
    pub(super) fn arguments(&self, name: &str) -> &[Element] {
        self.property(name)
            .map_or(&[], |arguments| arguments.list("Arguments.arguments"))
    }
}

impl PlanItem<'_> {
    /// Notes that all of it has been read.
    pub(super) fn mark_all(&self) {
        self.element.mark_all();
        self.items.iter().for_each(PlanItem::mark_all);
    }

    /// Returns true where requests are below it, also by way of another part of the plan.
    pub(super) fn has_requests(&self) -> bool {
        self.items.iter().any(|below| {
            let class = below.element.class();
            class.starts_with("HTTPSampler") || class == "ModuleController" || below.has_requests()
        })
    }
}

/// Pairs the elements of a `hashTree` with those below them.
pub(super) fn pair_items(tree: &Element) -> Vec<PlanItem<'_>> {
    let mut items: Vec<PlanItem<'_>> = Vec::new();
    for child in &tree.children {
        if child.tag != "hashTree" {
            items.push(PlanItem {
                element: child,
                items: Vec::new(),
            });
        } else if let Some(last) = items.last_mut() {
            last.items = pair_items(child);
        }
    }
    items
}

/// Returns true for a value that changes nothing.
pub(super) fn is_default(name: &str, value: &str) -> bool {
    let mut rows = DEFAULTS.lines().map(|row| row.split('\t'));
    let row = rows.find_map(|mut row| (row.next() == Some(name)).then_some(row));
    match row {
        Some(mut usual) => value.is_empty() || usual.any(|usual| usual == "*" || usual == value),
        None => ["", "false", "0"].contains(&value),
    }
}

/// Returns the name of an element and its texts: conditions, scripts.
pub(super) fn describe(element: &Element) -> String {
    let mut words = format!("{} {}", element.class(), element.title());
    for (name, text) in texts_of(element) {
        let _ = write!(words, "\n{name}: {text}");
    }
    words
}

/// Returns the texts of an element, each with the last word of its name.
pub(super) fn texts_of(element: &Element) -> Vec<(&str, &str)> {
    element.mark_all();
    let mut texts = Vec::new();
    let mut open: Vec<&Element> = element.children.iter().rev().collect();
    while let Some(child) = open.pop() {
        let (name, text) = (child.name(), child.value().trim());
        let is_leaf = child.children.is_empty() || child.child("value").is_some();
        if is_leaf && !is_default(name, text) {
            texts.push((name.rsplit('.').next().unwrap_or_default(), text));
        }
        if !is_leaf {
            open.extend(child.children.iter().rev());
        }
    }
    texts
}
