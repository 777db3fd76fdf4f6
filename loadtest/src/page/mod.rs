//! HTML pages as answers: the links, forms, fields and rows that a browser would use.

mod form;
mod read;
#[cfg(test)]
mod tests;

use crate::Error;
use bytes::Bytes;
pub use form::PageForm;
pub(crate) use read::PageLimit;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// An HTML page, the answer of a step that returns `Page`.
///
/// ```
/// use loadtest::prelude::*;
///
/// #[scenario(base = "http://127.0.0.1:3000")]
/// fn edit() {
///     #[step(get = "/orders")]
///     fn orders() -> Page;
///
///     #[step]
///     fn open(orders: &Page) -> Result<Request<Page>, Error> {
///         Ok(Request::get(orders.row("Blue shirt")?.link("Edit")?))
///     }
///
///     #[step(expect = 303)]
///     fn save(open: &Page) -> Result<Request, Error> {
///         Ok(open.form("Save")?.with("quantity", "2").submit())
///     }
/// }
/// ```
///
/// The page is read as browsers read it, whatever its mistakes are. Nothing of its scripts runs. Texts are compared
/// without the blanks around and within them. Addresses are as the page has them, with entities decoded.
#[derive(Debug, Clone)]
pub struct Page {
    document: Arc<Document>,
    /// The part of it that this page is about.
    parts: Range<usize>,
    words: Range<usize>,
}

/// What a page has.
#[derive(Debug, Default)]
struct Document {
    /// The visible text, with single blanks.
    words: String,
    /// In their order.
    parts: Vec<PagePart>,
    /// The length of the visible text before each part.
    places: Vec<usize>,
    rows: Vec<TableRow>,
    /// The places of the texts of headings.
    headings: Vec<Range<usize>>,
    /// The page is read no further than to this bound.
    exceeded: Option<PageLimit>,
}

impl Document {
    fn push(&mut self, part: PagePart) {
        self.places.push(self.words.len());
        self.parts.push(part);
    }
}

/// A part of a page that a request can need.
#[derive(Debug)]
enum PagePart {
    Link(Link),
    Field(Field),
    Choice(Choice),
    Form(FormHead),
    /// An attribute that begins with `data-`.
    Data {
        name: String,
        value: String,
    },
}

/// A link of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The address, as the page has it: `/orders/42/edit`.
    pub href: String,
    /// The text, else the label or the title: `Edit`.
    pub text: String,
}

/// A field of a form, or a `<meta>` with its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The name: `_csrf`.
    pub name: String,
    /// The value with which it would be sent.
    pub value: String,
    /// True if a browser sends it as the page is, whatever button is pressed.
    pub is_sent: bool,
    /// True if users do not see it: `<input type=hidden>` and `<meta>`.
    pub is_hidden: bool,
    button: Option<Button>,
}

/// An option of a `<select>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The name of the `<select>`: `category`.
    pub name: String,
    /// The value with which it is sent: `7`.
    pub value: String,
    /// The visible text: `Teas`.
    pub text: String,
}

/// A button that sends a form.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Button {
    text: String,
    /// The action and the method in the place of those of the form.
    action: Option<String>,
    method: Option<String>,
}

/// The beginning of a form; its fields are the parts behind it.
#[derive(Debug)]
struct FormHead {
    /// Its `id` and its `name`.
    names: Vec<String>,
    action: String,
    method: String,
    is_multipart: bool,
    parts: Range<usize>,
}

/// A `<tr>`, `<li>`, `<article>` or `<figure>`, or an element with the role of a row or of an item of a list.
#[derive(Debug)]
struct TableRow {
    words: Range<usize>,
    parts: Range<usize>,
}

/// The most names that a message lists.
const MOST_NAMED: usize = 6;

impl Page {
    /// Reads a page. Pages within `<![CDATA[..]]>`, as partial answers have them, are read like others.
    ///
    /// A page that is too large is read up to the first bound that it is beyond, and the error for what is missing says
    /// so. As the answer of a step it fails the step.
    pub fn new(html: &str) -> Self {
        let document = if html.contains("<![CDATA[") {
            read::read_document(&html.replace("<![CDATA[", "").replace("]]>", ""))
        } else {
            read::read_document(html)
        };
        Self {
            parts: 0..document.parts.len(),
            words: 0..document.words.len(),
            document: Arc::new(document),
        }
    }

    /// Reads a page, unless it is too large.
    pub(crate) fn from_bytes(html: &Bytes) -> Result<Self, PageLimit> {
        if html.len() > read::MAX_BYTES {
            return Err(PageLimit::Bytes);
        }
        Self::new(&String::from_utf8_lossy(html)).within_limits()
    }

    /// Returns the error for something that this page lacks, with the bound that ended its reading.
    fn lacking(&self, error: Error) -> Error {
        match self.document.exceeded {
            Some(limit) => Error::msg(format!("{error}; {limit}, and is read no further")),
            None => error,
        }
    }

    fn within_limits(self) -> Result<Self, PageLimit> {
        match self.document.exceeded {
            Some(limit) => Err(limit),
            None => Ok(self),
        }
    }

    /// The visible text, with a single blank for each gap.
    pub fn visible_text(&self) -> &str {
        self.document.words[self.words.clone()].trim()
    }

    /// The links, in their order.
    pub fn links(&self) -> impl Iterator<Item = &Link> {
        self.parts().iter().filter_map(|part| match part {
            PagePart::Link(link) => Some(link),
            _ => None,
        })
    }

    /// The address of the first link with this text.
    ///
    /// # Errors
    /// When there is none.
    pub fn link(&self, text: &str) -> Result<&str, Error> {
        let wanted = join_words(text);
        let is_same = |link: &&Link| link.text.eq_ignore_ascii_case(&wanted);
        let link = self.links().find(is_same);
        let texts = || self.links().map(|link| link.text.as_str());
        link.map(|link| link.href.as_str())
            .ok_or_else(|| self.lacking(missing("link", text, texts())))
    }

    /// The different addresses of links and forms that match a pattern, in their order. `*` stands for any text within
    /// a segment: `addresses("/orders/*/edit")`. A pattern that begins with `/` is compared without the host, and one
    /// without `?` without the query.
    ///
    /// ```
    /// let page = loadtest::Page::new(r#"<a href="/orders/7/edit">Edit</a> <a href="/orders/9/edit">Edit</a>"#);
    /// assert_eq!(page.addresses("/orders/*/edit").nth(1), Some("/orders/9/edit"));
    /// ```
    pub fn addresses(&self, pattern: &str) -> impl Iterator<Item = &str> {
        let mut seen = HashSet::new();
        let pattern = pattern.to_owned();
        self.all_addresses()
            .filter(move |address| find_id(&pattern, address).is_some())
            .filter(move |address| seen.insert(*address))
    }

    /// The different texts that the last `*` of a pattern stands for in the [addresses](Self::addresses) that match.
    ///
    /// ```
    /// let page = loadtest::Page::new(r#"<a href="/orders/7/edit">Edit</a> <a href="/orders/9/edit">Edit</a>"#);
    /// assert_eq!(page.ids_in("/orders/*/edit").nth(1), Some("9"));
    /// ```
    pub fn ids_in(&self, pattern: &str) -> impl Iterator<Item = &str> {
        let mut seen = HashSet::new();
        let pattern = pattern.to_owned();
        self.all_addresses()
            .filter_map(move |address| find_id(&pattern, address))
            .filter(move |id| !id.is_empty() && seen.insert(*id))
    }

    /// The addresses of links, forms and their buttons, in their order.
    pub fn all_addresses(&self) -> impl Iterator<Item = &str> {
        self.parts().iter().filter_map(|part| match part {
            PagePart::Link(link) => Some(&*link.href),
            PagePart::Form(form) => Some(&*form.action),
            PagePart::Field(field) => field.button.as_ref()?.action.as_deref(),
            PagePart::Data { .. } | PagePart::Choice(_) => None,
        })
    }

    /// The fields of forms and the `<meta>` with names, in their order.
    pub fn fields(&self) -> impl Iterator<Item = &Field> + Clone {
        self.parts().iter().filter_map(|part| match part {
            PagePart::Field(field) => Some(field),
            _ => None,
        })
    }

    /// The value of the first field with this name; of a `<meta>` its content.
    ///
    /// # Errors
    /// When there is none.
    pub fn field(&self, name: &str) -> Result<&str, Error> {
        find_field(self.fields(), name).map_err(|error| self.lacking(error))
    }

    /// The values of the fields with this name, in their order.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.fields()
            .filter(move |field| field.name == name)
            .map(|field| field.value.as_str())
    }

    /// The options of all `<select>`s, in their order.
    pub fn choices(&self) -> impl Iterator<Item = &Choice> {
        self.parts().iter().filter_map(|part| match part {
            PagePart::Choice(choice) => Some(choice),
            _ => None,
        })
    }

    /// The value of the option with this text, in a `<select>` with this name.
    ///
    /// ```
    /// let page = loadtest::Page::new("<select name=kind><option value=7>Tea<option value=9>Coffee</select>");
    /// assert_eq!(page.option("kind", "Coffee")?, "9");
    /// # Ok::<(), loadtest::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is none.
    pub fn option(&self, name: &str, text: &str) -> Result<&str, Error> {
        let wanted = join_words(text);
        let named = || self.choices().filter(|choice| choice.name == name);
        let found = named().find(|choice| choice.text.eq_ignore_ascii_case(&wanted));
        let texts = || named().map(|choice| choice.text.as_str());
        found
            .map(|choice| choice.value.as_str())
            .ok_or_else(|| self.lacking(missing("option", text, texts())))
    }

    /// The values of the options of a `<select>`, in their order: `options("kind").nth(1)`.
    pub fn options(&self, name: &str) -> impl Iterator<Item = &str> {
        self.choices()
            .filter(move |choice| choice.name == name)
            .map(|choice| choice.value.as_str())
    }

    /// The values of an attribute that begins with `data-`, in their order: `data("data-id").next()`.
    pub fn data(&self, attribute: &str) -> impl Iterator<Item = &str> {
        self.data_attributes()
            .filter(move |(name, _)| *name == attribute)
            .map(|(_, value)| value)
    }

    /// The names and values of all attributes that begin with `data-`, in their order.
    pub fn data_attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parts().iter().filter_map(|part| match part {
            PagePart::Data { name, value } => Some((name.as_str(), value.as_str())),
            _ => None,
        })
    }

    /// The form with a button of this text, or with this `id` or `name`.
    ///
    /// # Errors
    /// When there is none.
    pub fn form(&self, button: &str) -> Result<PageForm<'_>, Error> {
        PageForm::find(self, button).map_err(|error| self.lacking(error))
    }

    /// The smallest row that has this text: a `<tr>`, `<li>`, `<article>` or `<figure>`, or an element with the role `row`
    /// or `listitem`. It is a page of its own, so `row("Blue shirt")?.link("Edit")?` never takes the link of another row.
    ///
    /// # Errors
    /// When there is none.
    pub fn row(&self, text: &str) -> Result<Self, Error> {
        let wanted = join_words(text);
        // Rows lie within each other: in the order of their beginnings each text is searched once, not once for each
        // row around it.
        let mut rows: Vec<_> = self.inner_rows().collect();
        rows.sort_by_key(|row| row.words.start);
        let mut place = None;
        let with_text = rows.into_iter().filter(|row| {
            let Range { start, end } = row.words;
            let at = match place {
                Some(at) if at >= start => at,
                _ => {
                    let found = self.document.words[start..].find(&wanted);
                    found.map_or(usize::MAX, |at| start + at)
                }
            };
            place = Some(at);
            at.saturating_add(wanted.len()) <= end
        });
        let row = with_text.min_by_key(|row| (row.words.len(), row.words.start));
        let row = row.ok_or_else(|| {
            self.lacking(Error::msg(format!("the page has no row with `{text}`")))
        })?;
        Ok(self.part(row.parts.clone(), row.words.clone()))
    }

    /// All rows, each a page of its own; a row comes after those within it.
    pub fn rows(&self) -> impl Iterator<Item = Self> {
        self.inner_rows()
            .map(|row| self.part(row.parts.clone(), row.words.clone()))
    }

    fn inner_rows(&self) -> impl Iterator<Item = &TableRow> {
        self.document.rows.iter().filter(|row| {
            let TableRow { words, parts } = row;
            words.start >= self.words.start
                && words.end <= self.words.end
                && parts.start >= self.parts.start
                && parts.end <= self.parts.end
        })
    }

    /// The page behind the first place of a text, such as a heading: `after("Latest orders")?.link("Edit")?`.
    ///
    /// ```
    /// let page = loadtest::Page::new("<a href=/1>Edit</a><h2>Latest orders</h2><a href=/2>Edit</a>");
    /// assert_eq!(page.after("Latest orders")?.link("Edit")?, "/2");
    /// # Ok::<(), loadtest::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the text is missing.
    pub fn after(&self, text: &str) -> Result<Self, Error> {
        let wanted = join_words(text);
        let words = &self.document.words[self.words.clone()];
        let at = words.find(&wanted);
        let at =
            at.ok_or_else(|| self.lacking(Error::msg(format!("the page has no text `{text}`"))))?;
        let from = self.words.start + at + wanted.len();
        let places = &self.document.places;
        let part = places.partition_point(|place| *place < from);
        let part = part.clamp(self.parts.start, self.parts.end);
        Ok(self.part(part..self.parts.end, from..self.words.end))
    }

    /// The texts of `<h1>` to `<h6>`, `<caption>`, `<legend>`, `<summary>` and `<dt>`, in their order.
    pub fn headings(&self) -> impl Iterator<Item = &str> {
        let headings = self.document.headings.iter();
        let inner =
            headings.filter(|words| words.start >= self.words.start && words.end <= self.words.end);
        inner.map(|words| self.document.words[words.clone()].trim())
    }

    fn part(&self, parts: Range<usize>, words: Range<usize>) -> Self {
        Self {
            document: Arc::clone(&self.document),
            parts,
            words,
        }
    }

    fn parts(&self) -> &[PagePart] {
        &self.document.parts[self.parts.clone()]
    }
}

/// Reads a page that is a string of JSON, as answers with a part of a page have it.
impl<'de> serde::Deserialize<'de> for Page {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let page = Self::new(&String::deserialize(deserializer)?).within_limits();
        page.map_err(serde::de::Error::custom)
    }
}

/// Compares the texts and the links.
impl PartialEq for Page {
    fn eq(&self, other: &Self) -> bool {
        self.visible_text() == other.visible_text() && self.links().eq(other.links())
    }
}

fn find_field<'p>(
    fields: impl Iterator<Item = &'p Field> + Clone,
    name: &str,
) -> Result<&'p str, Error> {
    let field = fields.clone().find(|field| field.name == name);
    field
        .map(|field| field.value.as_str())
        .ok_or_else(|| missing("field", name, fields.map(|field| field.name.as_str())))
}

/// Returns the error for something that a page lacks, with what it has instead.
fn missing<'p>(what: &str, wanted: &str, there: impl Iterator<Item = &'p str>) -> Error {
    let mut names: Vec<&str> = Vec::new();
    for name in there.filter(|name| !name.is_empty()) {
        if !names.contains(&name) {
            names.push(name);
        }
        // A hostile page has very many, each of which would be compared with all.
        if names.len() > MOST_NAMED {
            break;
        }
    }
    let more = if names.len() > MOST_NAMED { ", .." } else { "" };
    names.truncate(MOST_NAMED);
    let there = match names.as_slice() {
        [] => format!("it has no {what}"),
        names => format!("it has `{}`{more}", names.join("`, `")),
    };
    Error::msg(format!("the page has no {what} `{wanted}`: {there}"))
}

/// Returns a text with single blanks.
fn join_words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns what the last `*` of a pattern stands for in an address that matches it; nothing stands for no `*`.
fn find_id<'a>(pattern: &str, address: &'a str) -> Option<&'a str> {
    let mut address = address.split('#').next().unwrap_or_default();
    if pattern.starts_with('/')
        && let Some((_, rest)) = address.split_once("://")
    {
        address = &rest[rest.find('/')?..];
    }
    if !pattern.contains('?') {
        address = address.split('?').next().unwrap_or_default();
    }
    let is_delimiter = |letter: char| "/?&=".contains(letter);
    let delimiters =
        |text: &str| -> String { text.chars().filter(|one| is_delimiter(*one)).collect() };
    if delimiters(pattern) != delimiters(address) {
        return None;
    }
    let mut last = "";
    for (pattern, part) in pattern.split(is_delimiter).zip(address.split(is_delimiter)) {
        let id = find_id_in_part(pattern, part)?;
        last = if id.is_empty() { last } else { id };
    }
    Some(last)
}

/// The same within a segment.
fn find_id_in_part<'p>(pattern: &str, part: &'p str) -> Option<&'p str> {
    let Some((before, after)) = pattern.split_once('*') else {
        return (pattern == part).then_some("");
    };
    let rest = part.strip_prefix(before)?;
    let mut ends = rest
        .char_indices()
        .map(|(at, letter)| at + letter.len_utf8());
    ends.find_map(|end| match find_id_in_part(after, &rest[end..])? {
        "" => Some(&rest[..end]),
        last => Some(last),
    })
}
