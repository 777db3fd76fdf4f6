//! Reads the parts of a page out of its tokens.

use super::{Button, Choice, Document, Field, FormHead, Link, PagePart, TableRow, join_words};
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::{fmt, mem};

/// The most bytes of a page. It is read without a pause, and all users of the worker wait meanwhile.
pub(super) const MAX_BYTES: usize = 4 << 20;
/// The most tags, those of ends too.
pub(super) const MAX_TAGS: usize = 200_000;
/// The most attributes of a tag, all of which are kept until it ends.
pub(super) const MAX_ATTRIBUTES: usize = 1_000;
/// The most links, fields, options, forms and `data-` attributes. They are what a page keeps.
pub(super) const MAX_PARTS: usize = 100_000;
/// The most elements within each other. Paragraphs and options do not count, which many pages do not end.
pub(super) const MAX_DEPTH: usize = 10_000;

/// Elements within a line: no blank stands between them and the text around.
const INLINE: [&str; 16] = [
    "a", "abbr", "b", "bdi", "code", "em", "font", "i", "mark", "s", "small", "span", "strong",
    "sub", "sup", "u",
];
/// Elements without an end.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];
/// Elements whose end is seldom written, and says nothing about rows.
const UNENDED: [&str; 3] = ["p", "option", "optgroup"];
/// Elements whose text is a heading of what comes after it.
const HEADINGS: [&str; 10] = [
    "caption", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "legend", "summary",
];

/// The bound that a page is beyond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageLimit {
    Bytes,
    Tags,
    Attributes,
    Parts,
    Depth,
    OptionNames,
}

impl fmt::Display for PageLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the page has more than ")?;
        match self {
            Self::Bytes => write!(f, "{} MiB", MAX_BYTES >> 20),
            Self::Tags => write!(f, "{MAX_TAGS} tags"),
            Self::Attributes => write!(f, "{MAX_ATTRIBUTES} attributes of one tag"),
            Self::Parts => write!(f, "{MAX_PARTS} links, fields and options"),
            Self::Depth => write!(f, "{MAX_DEPTH} elements within each other"),
            Self::OptionNames => write!(f, "{} MiB of names of options", MAX_BYTES >> 20),
        }
    }
}

type Attributes = BTreeMap<String, String>;

/// What is read so far.
#[derive(Default)]
struct Reader {
    document: Document,
    /// The tag that is being read.
    name: String,
    attributes: Attributes,
    /// The attribute that its value is for; empty for one that the tag has already.
    attribute: String,
    tags: usize,
    /// Each option has the name of its `<select>`, which is in the page once.
    option_names: usize,
    open: Vec<Open>,
    /// The places in `open` by name, so that an end finds its start at once.
    places: HashMap<u64, Vec<usize>>,
    /// The text of a `<script>` or `<style>` is not visible.
    is_hidden: bool,
    link: Option<OpenText>,
    button: Option<OpenText>,
    area: Option<(String, String, bool)>,
    select: Option<Select>,
    option: Option<OpenOption>,
    form: Option<usize>,
}

/// An element that has not ended.
struct Open {
    /// The hash of its name.
    name: u64,
    is_row: bool,
    is_heading: bool,
    words: usize,
    parts: usize,
}

/// A link or a button whose text goes on.
struct OpenText {
    part: usize,
    words: usize,
    label: String,
}

struct Select {
    name: String,
    is_multiple: bool,
    is_disabled: bool,
    options: Vec<(Choice, bool)>,
}

struct OpenOption {
    value: Option<String>,
    is_selected: bool,
    words: usize,
}

/// Reads a page, or what is before the first bound that it is beyond.
pub(super) fn read_document(html: &str) -> Document {
    let mut reader = Reader::default();
    let is_too_large = html.len() > MAX_BYTES;
    let html = &html.as_bytes()[..html.len().min(MAX_BYTES)];
    let on_event = |event: CallbackEvent<'_>, _: Span<()>| reader.event(&event).err();
    let mut emitter = CallbackEmitter::new(on_event);
    emitter.naively_switch_states(true);
    let exceeded = Tokenizer::new_with_emitter(html, emitter).next();
    let exceeded = exceeded.map(|Ok(limit)| limit);
    let exceeded = exceeded.or(is_too_large.then_some(PageLimit::Bytes));
    let mut document = reader.finish();
    document.exceeded = exceeded;
    document
}

/// The beginning of an element.
struct Tag<'t> {
    name: &'t str,
    attributes: &'t Attributes,
}

impl Tag<'_> {
    fn get(&self, name: &str) -> Option<String> {
        self.attributes.get(name).cloned()
    }

    fn get_or_empty(&self, name: &str) -> String {
        self.get(name).unwrap_or_default()
    }

    fn has(&self, name: &str) -> bool {
        self.attributes.contains_key(name)
    }

    fn is_row(&self) -> bool {
        let role = self.get_or_empty("role");
        matches!(self.name, "tr" | "li" | "article" | "figure")
            || role == "row"
            || role == "listitem"
    }

    fn label(&self) -> String {
        let label = self.get("aria-label").or_else(|| self.get("title"));
        label.unwrap_or_default()
    }

    fn button(&self, text: String) -> Button {
        Button {
            text,
            action: self.get("formaction"),
            method: self.get("formmethod"),
        }
    }
}

fn hash_name(name: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(name)
}

impl Reader {
    fn event(&mut self, event: &CallbackEvent<'_>) -> Result<(), PageLimit> {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.name = String::from_utf8_lossy(name).into_owned();
                self.attributes.clear();
            }
            CallbackEvent::AttributeName { name } => {
                self.attribute.clear();
                let name = String::from_utf8_lossy(name);
                if let Entry::Vacant(free) = self.attributes.entry(name.clone().into_owned()) {
                    self.attribute.push_str(&name);
                    free.insert(String::new());
                }
            }
            CallbackEvent::AttributeValue { value } => {
                if let Some(known) = self.attributes.get_mut(&self.attribute) {
                    known.push_str(&String::from_utf8_lossy(value));
                }
            }
            CallbackEvent::CloseStartTag { self_closing } => {
                self.tags += 1;
                self.start(*self_closing);
            }
            CallbackEvent::EndTag { name } => {
                self.tags += 1;
                self.end(&String::from_utf8_lossy(name));
            }
            CallbackEvent::String { value } => self.text(&String::from_utf8_lossy(value)),
            CallbackEvent::Comment { .. }
            | CallbackEvent::Doctype { .. }
            | CallbackEvent::Error(_) => {}
        }
        self.check_limits()
    }

    fn check_limits(&self) -> Result<(), PageLimit> {
        let options = self
            .select
            .as_ref()
            .map_or(0, |select| select.options.len());
        if self.document.parts.len() + options > MAX_PARTS {
            Err(PageLimit::Parts)
        } else if self.tags > MAX_TAGS {
            Err(PageLimit::Tags)
        } else if self.attributes.len() > MAX_ATTRIBUTES {
            Err(PageLimit::Attributes)
        } else if self.open.len() > MAX_DEPTH {
            Err(PageLimit::Depth)
        } else if self.option_names > MAX_BYTES {
            Err(PageLimit::OptionNames)
        } else {
            Ok(())
        }
    }

    fn start(&mut self, is_self_closing: bool) {
        let (name, attributes) = (mem::take(&mut self.name), mem::take(&mut self.attributes));
        let (name, attributes) = (&*name, &attributes);
        match name {
            "tr" => self.end_within("tr", &["table"]),
            "li" => self.end_within("li", &["ul", "ol", "menu"]),
            "option" | "optgroup" => self.end_option(),
            _ => {}
        }
        if !INLINE.contains(&name) {
            self.space();
        }
        let has_end = !VOID.contains(&name) && !is_self_closing;
        let tag = Tag { name, attributes };
        if has_end && (!UNENDED.contains(&name) || tag.is_row()) {
            let places = self.places.entry(hash_name(name)).or_default();
            places.push(self.open.len());
            self.open.push(Open {
                name: hash_name(name),
                is_row: tag.is_row(),
                is_heading: HEADINGS.contains(&name),
                words: self.document.words.len(),
                parts: self.document.parts.len(),
            });
        }
        let data = attributes
            .iter()
            .filter(|(key, _)| key.starts_with("data-"));
        for (name, value) in data {
            self.document.push(PagePart::Data {
                name: name.clone(),
                value: value.clone(),
            });
        }
        match name {
            "script" | "style" | "template" => self.is_hidden = true,
            "a" | "area" => self.start_link(&tag),
            "img" => self.name_link(&tag),
            "form" => self.start_form(&tag),
            "meta" => {
                let named = tag.get("name").or_else(|| tag.get("property"));
                if let (Some(name), Some(value)) = (named, tag.get("content")) {
                    self.field(name, value, false, None);
                    self.hide_field();
                }
            }
            "input" => self.input(&tag),
            "button" => self.start_button(&tag),
            "textarea" => {
                self.area = Some((
                    tag.get_or_empty("name"),
                    String::new(),
                    !tag.has("disabled"),
                ));
            }
            "select" => {
                self.end_select();
                self.select = Some(Select {
                    name: tag.get_or_empty("name"),
                    is_multiple: tag.has("multiple"),
                    is_disabled: tag.has("disabled"),
                    options: Vec::new(),
                });
            }
            "option" if self.select.is_some() => {
                self.option = Some(OpenOption {
                    value: tag.get("value"),
                    is_selected: tag.has("selected"),
                    words: self.document.words.len(),
                });
            }
            _ => {}
        }
    }

    fn start_link(&mut self, tag: &Tag<'_>) {
        self.end_link();
        let Some(href) = tag.get("href") else { return };
        let part = self.document.parts.len();
        let href = href.trim().to_owned();
        let text = tag.get_or_empty("alt");
        self.document.push(PagePart::Link(Link { href, text }));
        if tag.name == "a" {
            self.link = Some(self.open_text(part, tag));
        }
    }

    fn open_text(&self, part: usize, tag: &Tag<'_>) -> OpenText {
        OpenText {
            part,
            words: self.document.words.len(),
            label: tag.label(),
        }
    }

    /// Takes the description of a picture for the text of its link.
    fn name_link(&mut self, picture: &Tag<'_>) {
        if let (Some(link), Some(text)) = (&mut self.link, picture.get("alt"))
            && link.label.is_empty()
        {
            link.label = text;
        }
    }

    fn start_form(&mut self, tag: &Tag<'_>) {
        self.end_form();
        self.form = Some(self.document.parts.len());
        let names = ["id", "name"].map(|name| tag.get(name));
        self.document.push(PagePart::Form(FormHead {
            names: names.into_iter().flatten().collect(),
            action: tag.get_or_empty("action").trim().to_owned(),
            method: tag.get_or_empty("method"),
            is_multipart: tag.get_or_empty("enctype") == "multipart/form-data",
            parts: 0..0,
        }));
    }

    fn start_button(&mut self, tag: &Tag<'_>) {
        let kind = tag.get_or_empty("type").to_ascii_lowercase();
        if kind == "button" || kind == "reset" || tag.has("disabled") {
            return;
        }
        self.button = Some(self.open_text(self.document.parts.len(), tag));
        let (name, value) = (tag.get_or_empty("name"), tag.get_or_empty("value"));
        self.field(name, value, false, Some(tag.button(String::new())));
    }

    fn input(&mut self, tag: &Tag<'_>) {
        let kind = tag.get_or_empty("type").to_ascii_lowercase();
        let is_choice = kind == "checkbox" || kind == "radio";
        let is_sender = kind == "submit" || kind == "image";
        let is_disabled = tag.has("disabled");
        let is_silent = is_sender || matches!(&*kind, "button" | "reset" | "file");
        let is_sent = !is_disabled && !is_silent && (!is_choice || tag.has("checked"));
        let default = if is_choice { "on" } else { "" };
        let value = tag.get("value");
        let text = || value.clone().or_else(|| tag.get("alt"));
        let text = || join_words(&text().unwrap_or_else(|| "Submit".to_owned()));
        let button = (is_sender && !is_disabled).then(|| tag.button(text()));
        let value = value.unwrap_or_else(|| default.to_owned());
        self.field(tag.get_or_empty("name"), value, is_sent, button);
        if kind == "hidden" {
            self.hide_field();
        }
    }

    fn hide_field(&mut self) {
        if let Some(PagePart::Field(field)) = self.document.parts.last_mut() {
            field.is_hidden = true;
        }
    }

    fn field(&mut self, name: String, value: String, is_sent: bool, button: Option<Button>) {
        if !name.is_empty() || button.is_some() {
            self.document.push(PagePart::Field(Field {
                name,
                value,
                is_sent,
                is_hidden: false,
                button,
            }));
        }
    }

    fn text(&mut self, text: &str) {
        if let Some((_, value, _)) = &mut self.area {
            value.push_str(text);
        } else if !self.is_hidden {
            for letter in text.chars() {
                if letter.is_whitespace() {
                    self.space();
                } else {
                    self.document.words.push(letter);
                }
            }
        }
    }

    fn space(&mut self) {
        let words = &mut self.document.words;
        if !words.is_empty() && !words.ends_with(' ') {
            words.push(' ');
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "script" | "style" | "template" => self.is_hidden = false,
            "a" => self.end_link(),
            "button" => self.end_button(),
            "form" => self.end_form(),
            "option" => self.end_option(),
            "select" => self.end_select(),
            "textarea" => self.end_area(),
            _ => {}
        }
        self.end_within(name, &[]);
        if !INLINE.contains(&name) {
            self.space();
        }
    }

    /// Ends the newest element of this name, and those in it, unless one of `borders` is in between.
    fn end_within(&mut self, name: &str, borders: &[&str]) {
        let place = |name: &str| self.places.get(&hash_name(name))?.last().copied();
        let Some(at) = place(name) else { return };
        if borders.iter().any(|border| place(border) > Some(at)) {
            return;
        }
        let ended = self.open.split_off(at);
        ended.into_iter().rev().for_each(|open| self.end_row(&open));
    }

    fn end_row(&mut self, open: &Open) {
        if let Some(places) = self.places.get_mut(&open.name) {
            places.pop();
        }
        if open.is_row {
            self.document.rows.push(TableRow {
                words: open.words..self.document.words.len(),
                parts: open.parts..self.document.parts.len(),
            });
        } else if open.is_heading {
            let words = open.words..self.document.words.len();
            self.document.headings.push(words);
        }
    }

    /// Returns the text since an element began, else its label.
    fn text_of(&self, open: &OpenText) -> String {
        let text = self
            .document
            .words
            .get(open.words..)
            .unwrap_or_default()
            .trim();
        join_words(if text.is_empty() { &open.label } else { text })
    }

    fn end_link(&mut self) {
        if let Some(open) = self.link.take() {
            let words = self.text_of(&open);
            if let Some(PagePart::Link(link)) = self.document.parts.get_mut(open.part) {
                link.text = words;
            }
        }
    }

    fn end_button(&mut self) {
        if let Some(open) = self.button.take() {
            let words = self.text_of(&open);
            if let Some(PagePart::Field(Field {
                button: Some(button),
                ..
            })) = self.document.parts.get_mut(open.part)
            {
                button.text = words;
            }
        }
    }

    fn end_area(&mut self) {
        if let Some((name, value, is_sent)) = self.area.take() {
            let value = value
                .strip_prefix('\n')
                .map_or(value.clone(), str::to_owned);
            self.field(name, value, is_sent, None);
        }
    }

    fn end_option(&mut self) {
        if let (Some(option), Some(select)) = (self.option.take(), &mut self.select) {
            let text = self.document.words.get(option.words..).unwrap_or_default();
            let text = join_words(text);
            let value = option.value.unwrap_or_else(|| text.clone());
            let name = select.name.clone();
            self.option_names += name.len();
            select
                .options
                .push((Choice { name, value, text }, option.is_selected));
        }
    }

    fn end_select(&mut self) {
        self.end_option();
        let Some(select) = self.select.take() else {
            return;
        };
        let Select {
            name,
            is_multiple,
            is_disabled,
            options,
        } = select;
        let mut chosen: Vec<_> = options
            .iter()
            .filter(|(_, is_selected)| *is_selected)
            .collect();
        if !is_multiple {
            // The last one wins; without one it is the first.
            chosen = chosen
                .last()
                .copied()
                .or(options.first())
                .into_iter()
                .collect();
        }
        for (choice, _) in chosen {
            self.field(name.clone(), choice.value.clone(), !is_disabled, None);
        }
        for (choice, _) in options {
            self.document.push(PagePart::Choice(choice));
        }
    }

    fn end_form(&mut self) {
        if let Some(at) = self.form.take() {
            let end = self.document.parts.len();
            if let Some(PagePart::Form(form)) = self.document.parts.get_mut(at) {
                form.parts = at + 1..end;
            }
        }
    }

    fn finish(mut self) -> Document {
        self.end_link();
        self.end_button();
        self.end_area();
        self.end_select();
        self.end_form();
        while let Some(open) = self.open.pop() {
            self.end_row(&open);
        }
        self.document
    }
}
