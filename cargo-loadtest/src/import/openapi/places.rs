//! The document and what is said about it: `$ref`s are followed when they are needed, so that one which leads
//! nowhere costs nothing but what it stands for.

use super::super::secrets::variable;
use super::notes::Notes;
use crate::import::document::{self, Node};
use crate::import::marked::Secret;
use crate::import::source::{Note, Span};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

/// How many `$ref`s may lead from one to the next.
const LONGEST_WAY: usize = 32;
/// How many values of secrets are looked for elsewhere.
const MOST_HIDDEN: usize = 1000;
/// How large all values of requests and answers may be together, in bytes.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// A document that is being read.
pub(super) struct Document<'a> {
    pub(super) root: &'a Node<'a>,
    text: &'a str,
    notes: RefCell<Notes>,
    known: RefCell<HashMap<&'a str, Option<&'a Node<'a>>>>,
    secrets: RefCell<Vec<Secret>>,
    /// The values that the document has for secrets.
    hidden: RefCell<Vec<Secret>>,
    /// The numbers of secrets by their names.
    names: RefCell<HashMap<String, usize>>,
    /// How many bytes values may still have.
    left: Cell<usize>,
    /// What markers begin with: nothing in the document has it.
    prefix: String,
}

impl<'a> Document<'a> {
    pub(super) fn new(root: &'a Node<'a>, text: &'a str) -> Self {
        let mut number = 0;
        let mut prefix = "ltq0".to_owned();
        while text.contains(&prefix) {
            number += 1;
            prefix = format!("ltq{number}");
        }
        Self {
            root,
            text,
            notes: RefCell::default(),
            known: RefCell::default(),
            secrets: RefCell::default(),
            hidden: RefCell::default(),
            names: RefCell::default(),
            left: Cell::new(MOST_BYTES),
            prefix,
        }
    }

    /// Where something is shown that is said of all of it.
    pub(super) fn start(&self) -> Span {
        document::told_by(self.root)
    }

    /// What stands in a place.
    pub(super) fn written(&self, span: &Span) -> Option<&'a str> {
        self.text.get(span.clone())
    }

    /// Says something about a place.
    pub(super) fn note(&self, span: &Span, words: impl Into<String>) {
        self.notes.borrow_mut().add(span, words);
    }

    /// What stands for a value that is not known yet; `kind` and `number` tell it from others.
    pub(super) fn marker(&self, kind: char, number: usize) -> String {
        format!("{}{kind}{number}e", self.prefix)
    }

    /// What stands for a secret of this name, which is written as variables are.
    pub(super) fn secret(&self, name: &str, what: &str) -> String {
        let name = variable(name, "SECRET");
        let mut secrets = self.secrets.borrow_mut();
        let mut names = self.names.borrow_mut();
        if let Some(known) = names.get(&name) {
            return secrets[*known].value.clone();
        }
        let value = self.marker('s', secrets.len());
        names.insert(name.clone(), secrets.len());
        secrets.push(Secret {
            name,
            what: what.to_owned(),
            value: value.clone(),
        });
        value
    }

    /// The same, where the document has a value for it, which may stand elsewhere, too.
    pub(super) fn hide(&self, value: &str, name: &str, what: &str) -> String {
        let marker = self.secret(name, what);
        let mut hidden = self.hidden.borrow_mut();
        if hidden.len() < MOST_HIDDEN && hidden.iter().all(|known| known.value != value) {
            let value = value.to_owned();
            let name = variable(name, "SECRET");
            let what = what.to_owned();
            hidden.push(Secret { name, what, value });
        }
        marker
    }

    /// What was hidden.
    pub(super) fn hidden(&self) -> Vec<Secret> {
        self.hidden.borrow().clone()
    }

    /// Whether a text is such a marker.
    pub(super) fn is_marker(&self, text: &str) -> bool {
        text.starts_with(&self.prefix)
    }

    /// The markers in some bytes.
    pub(super) fn markers(&self, bytes: &[u8], found: &mut HashSet<String>) {
        let prefix = self.prefix.as_bytes();
        let mut rest = bytes;
        while let Some(at) = rest
            .windows(prefix.len())
            .position(|window| window == prefix)
        {
            rest = &rest[at..];
            let end = rest.iter().position(|byte| *byte == b'e');
            let end = end.map_or(rest.len(), |end| end + 1);
            found.insert(String::from_utf8_lossy(&rest[..end]).into_owned());
            rest = &rest[end..];
        }
    }

    /// A value, if there is room for it beside all others: an example can be used again and again.
    pub(super) fn kept(&self, value: Node<'a>) -> Option<Node<'a>> {
        let left = self.left.get().checked_sub(size(&value));
        if left.is_none() {
            let most = MOST_BYTES / (1024 * 1024);
            let words = format!("values have more than {most} MiB together: the rest is left out");
            self.note(&self.start(), words);
        }
        self.left.set(left.unwrap_or(0));
        left.map(|_| value)
    }

    /// What was said, and which secrets there are.
    pub(super) fn finish(self) -> (Vec<Note>, Vec<Secret>) {
        (self.notes.into_inner().finish(), self.secrets.into_inner())
    }

    /// What a value is, or the one that it refers to; none where that leads nowhere, which is told.
    pub(super) fn follow(&self, node: &'a Node<'a>) -> Option<&'a Node<'a>> {
        let mut node = node;
        for _ in 0..LONGEST_WAY {
            let Some(reference) = node.get("$ref") else {
                return Some(node);
            };
            // A property may be called that.
            let Some(text) = reference.text() else {
                return Some(node);
            };
            node = self.find(text, &reference.span)?;
        }
        let words = "this `$ref` leads back to itself: it is left out";
        self.note(&node.span, words);
        None
    }

    /// What a reference names, which is not followed further.
    pub(super) fn find(&self, reference: &'a str, span: &Span) -> Option<&'a Node<'a>> {
        let Some(pointer) = reference.strip_prefix('#') else {
            let words = format!(
                "`{}` is in another document, which is not read: put all in one",
                shortened(reference)
            );
            self.note(span, words);
            return None;
        };
        let known = self.known.borrow().get(pointer).copied();
        let found = known.unwrap_or_else(|| {
            let found = self.pointed(pointer);
            self.known.borrow_mut().insert(pointer, found);
            found
        });
        if found.is_none() {
            let words = format!("there is no `{}` in this document", shortened(reference));
            self.note(span, words);
        }
        found
    }

    /// The value that a pointer names (RFC 6901), or one with that anchor.
    fn pointed(&self, pointer: &str) -> Option<&'a Node<'a>> {
        let pointer = decoded(pointer);
        if pointer.is_empty() {
            return Some(self.root);
        }
        let Some(path) = pointer.strip_prefix('/') else {
            let schemas = self.root.at(&["components", "schemas"])?;
            let mut schemas = schemas.fields().iter().map(|field| &field.node);
            return schemas.find(|schema| schema.text_of("$anchor") == Some(&pointer));
        };
        path.split('/').try_fold(self.root, |node, name| {
            let name = name.replace("~1", "/").replace("~0", "~");
            if node.is_list() {
                node.items().get(name.parse::<usize>().ok()?)
            } else {
                node.get(&name)
            }
        })
    }
}

/// How large a value is, about.
fn size(value: &Node<'_>) -> usize {
    let items: usize = value.items().iter().map(size).sum();
    let fields = value.fields().iter();
    let fields: usize = fields
        .map(|field| field.name.len() + size(&field.node))
        .sum();
    let text = value.scalar().map_or(0, |text| text.len());
    items + fields + text + size_of::<Node<'_>>()
}

/// The last name of a reference: that of a schema.
pub(super) fn last_name(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or_default()
}

/// So much of a text that a line can hold it.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A fragment of a URL without its escapes.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::document;
    use crate::import::source::Input;

    #[test]
    fn references_are_followed_and_those_that_lead_nowhere_are_told() {
        let text = r##"{
            "a": {"$ref": "#/b~1c/0/%64%7E0"},
            "b/c": [{"d~": {"$ref": "#/e"}}],
            "e": {"x": 1},
            "round": {"$ref": "#/round"},
            "away": {"$ref": "other.yaml#/x"},
            "nothing": {"$ref": "#/f/1"}
        }"##;
        let input = Input::new("x", text.to_owned());
        let root = document::read(&input).unwrap();
        let document = Document::new(&root, text);
        let follow = |name: &str| document.follow(root.get(name).unwrap());
        assert_eq!(follow("a"), root.get("e"));
        for name in ["round", "away", "nothing"] {
            assert_eq!(follow(name), None, "{name}");
        }
        let (notes, _) = document.finish();
        let told: Vec<_> = notes
            .iter()
            .map(|note| (&text[note.span.clone()], note.words.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                (
                    r##"{"$ref": "#/round"}"##,
                    "this `$ref` leads back to itself: it is left out"
                ),
                (
                    r#""other.yaml#/x""#,
                    "`other.yaml#/x` is in another document, which is not read: put all in one"
                ),
                (r##""#/f/1""##, "there is no `#/f/1` in this document"),
            ]
        );
    }

    #[test]
    fn variables_are_named_as_usual() {
        for (name, expected) in [
            ("petstore_auth", "PETSTORE_AUTH"),
            ("apiKey", "API_KEY"),
            ("X-API-Key", "X_API_KEY"),
            ("é1", "SECRET_1"),
            ("", "SECRET"),
        ] {
            assert_eq!(variable(name, "SECRET"), expected);
        }
    }
}
