//! Reads the parts of a page out of its tokens.

use super::{Button, Choice, Document, Field, FormHead, Link, Part, Row, join_words};
use html5gum::{DefaultEmitter, HtmlString, StartTag, Token, Tokenizer};
use std::collections::BTreeMap;

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
/// How far an end tag looks for its start.
const DEEPEST: usize = 512;
/// Elements whose text is a heading of what comes after it.
const HEADINGS: [&str; 10] = [
    "caption", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "legend", "summary",
];

type Attributes = BTreeMap<HtmlString, html5gum::Spanned<HtmlString, ()>>;

/// What is read so far.
#[derive(Default)]
struct Reader {
    document: Document,
    open: Vec<Open>,
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
    name: String,
    is_row: bool,
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

pub(super) fn read_document(html: &str) -> Document {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut reader = Reader::default();
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        match token {
            Token::StartTag(tag) => reader.start(&tag),
            Token::EndTag(tag) => reader.end(&String::from_utf8_lossy(&tag.name)),
            Token::String(text) => reader.text(&String::from_utf8_lossy(&text.value)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    reader.finish()
}

/// The beginning of an element.
struct Tag<'t> {
    name: &'t str,
    attributes: &'t Attributes,
}

impl Tag<'_> {
    fn get(&self, name: &str) -> Option<String> {
        let value = self.attributes.get(name.as_bytes())?;
        Some(String::from_utf8_lossy(&value.value).into_owned())
    }

    fn get_or_empty(&self, name: &str) -> String {
        self.get(name).unwrap_or_default()
    }

    fn has(&self, name: &str) -> bool {
        self.attributes.contains_key(name.as_bytes())
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

impl Reader {
    fn start(&mut self, tag: &StartTag<()>) {
        let name = &*String::from_utf8_lossy(&tag.name);
        match name {
            "tr" => self.end_within("tr", &["table"]),
            "li" => self.end_within("li", &["ul", "ol", "menu"]),
            "option" | "optgroup" => self.end_option(),
            _ => {}
        }
        if !INLINE.contains(&name) {
            self.space();
        }
        let has_end = !VOID.contains(&name) && !tag.self_closing;
        let attributes = &tag.attributes;
        let tag = Tag { name, attributes };
        if has_end {
            self.open.push(Open {
                name: name.to_owned(),
                is_row: tag.is_row(),
                words: self.document.words.len(),
                parts: self.document.parts.len(),
            });
        }
        let data = attributes
            .iter()
            .filter(|(key, _)| key.starts_with(b"data-"));
        for (key, value) in data {
            self.document.push(Part::Data {
                name: String::from_utf8_lossy(key).into_owned(),
                value: String::from_utf8_lossy(&value.value).into_owned(),
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
        self.document.push(Part::Link(Link { href, text }));
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
        self.document.push(Part::Form(FormHead {
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
        if let Some(Part::Field(field)) = self.document.parts.last_mut() {
            field.is_hidden = true;
        }
    }

    fn field(&mut self, name: String, value: String, is_sent: bool, button: Option<Button>) {
        if !name.is_empty() || button.is_some() {
            self.document.push(Part::Field(Field {
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
        let from = self.open.len().saturating_sub(DEEPEST);
        let inner = self.open[from..].iter().rev();
        let inner = inner.take_while(|open| !borders.contains(&open.name.as_str()));
        let Some(depth) = inner.map(|open| open.name == name).position(|is_it| is_it) else {
            return;
        };
        let ended = self.open.split_off(self.open.len() - 1 - depth);
        ended.into_iter().rev().for_each(|open| self.end_row(&open));
    }

    fn end_row(&mut self, open: &Open) {
        if open.is_row {
            self.document.rows.push(Row {
                words: open.words..self.document.words.len(),
                parts: open.parts..self.document.parts.len(),
            });
        } else if HEADINGS.contains(&&*open.name) {
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
            if let Some(Part::Link(link)) = self.document.parts.get_mut(open.part) {
                link.text = words;
            }
        }
    }

    fn end_button(&mut self) {
        if let Some(open) = self.button.take() {
            let words = self.text_of(&open);
            if let Some(Part::Field(Field {
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
            self.document.push(Part::Choice(choice));
        }
    }

    fn end_form(&mut self) {
        if let Some(at) = self.form.take() {
            let end = self.document.parts.len();
            if let Some(Part::Form(form)) = self.document.parts.get_mut(at) {
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
