//! The document, with its references, its secrets, and the warnings about it.
//!
//! A `$ref` is followed when its value is needed, so a broken one costs only what it stands for.

use super::warnings::Warnings;
use crate::document::{self, Field, Node};
use crate::recording::{Secret, Text};
use crate::secrets::variable;
use crate::source::{Mistake, Note, Span};
use crate::text::percent_decode;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// Most references that may lead from one to the next.
const LONGEST_CHAIN: usize = 32;
/// Largest size of all values together, in bytes.
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// Longest text that a warning quotes, in characters.
const LONGEST_QUOTE: usize = 80;
/// Help for a document of several files.
const BUNDLE: &str = "bundle it first: `npx @redocly/cli bundle api.yaml -o bundled.yaml`";

/// A document that is being read.
pub(super) struct ApiDocument<'a> {
    pub(super) root: &'a Node<'a>,
    text: &'a str,
    warnings: RefCell<Warnings>,
    targets: RefCell<HashMap<&'a str, Option<&'a Node<'a>>>>,
    secrets: RefCell<Vec<Secret>>,
    /// Names and values of parameters that the user gave.
    given: &'a [(String, String)],
    /// The first reference to another file, and its place.
    other_file: RefCell<Option<(Span, String)>>,
    bytes_left: Cell<usize>,
}

impl<'a> ApiDocument<'a> {
    /// Begins to read a document, with the names and values of parameters that the user gave.
    pub(super) fn new(root: &'a Node<'a>, text: &'a str, given: &'a [(String, String)]) -> Self {
        Self {
            root,
            text,
            warnings: RefCell::default(),
            targets: RefCell::default(),
            secrets: RefCell::default(),
            given,
            other_file: RefCell::default(),
            bytes_left: Cell::new(MOST_BYTES),
        }
    }

    /// Returns the value that the user gave for parameters of this name.
    pub(super) fn given_value(&self, name: &str) -> Option<&'a str> {
        let mut given = self.given.iter().rev();
        given.find_map(|(known, value)| (known == name).then_some(value.as_str()))
    }

    /// Returns the place for a warning about the whole document.
    pub(super) fn start(&self) -> Span {
        document::told_by(self.root)
    }

    /// Returns the source text of a place.
    pub(super) fn source_text(&self, span: &Span) -> Option<&'a str> {
        self.text.get(span.clone())
    }

    /// Adds a warning.
    pub(super) fn warn(&self, span: &Span, words: impl Into<String>) {
        self.warnings.borrow_mut().add(span, words);
    }

    /// Returns the secret of this name, which becomes the name of a variable.
    pub(super) fn add_secret(&self, name: &str, what: &str) -> Text {
        let name = variable(name, "SECRET");
        let mut secrets = self.secrets.borrow_mut();
        let mut known = secrets.iter();
        let known = known.position(|secret| secret.value.is_none() && secret.name == name);
        Text::secret(known.unwrap_or_else(|| {
            secrets.push(Secret::variable(name, what, None));
            secrets.len() - 1
        }))
    }

    /// Returns the secret of this name, and hides its value wherever else the document has it.
    pub(super) fn hide_value(&self, value: &str, name: &str, what: &str) -> Text {
        let secret = self.add_secret(name, what);
        let mut secrets = self.secrets.borrow_mut();
        let is_known = |secret: &Secret| secret.value.as_deref() == Some(value);
        if !secrets.iter().any(is_known) {
            secrets.push(Secret::known(variable(name, "SECRET"), what, value));
        }
        secret
    }

    /// Returns whether there is room for a value of this size; large examples may be used again and again.
    pub(super) fn reserve_bytes(&self, size: usize) -> bool {
        let left = self.bytes_left.get().checked_sub(size);
        if left.is_none() {
            let most = MOST_BYTES / (1024 * 1024);
            let words = format!("values have more than {most} MiB together: the rest is left out");
            self.warn(&self.start(), words);
        }
        self.bytes_left.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Notes a reference to another file, of which only the first is told.
    fn note_other_file(&self, reference: &str, span: &Span) {
        let mut first = self.other_file.borrow_mut();
        if first
            .as_ref()
            .is_none_or(|(known, _)| span.start < known.start)
        {
            let words = format!(
                "`{}` is in another file, which is not read",
                shorten(reference)
            );
            *first = Some((span.clone(), words));
        }
    }

    /// Returns the refusal of a document that is in several files.
    pub(super) fn refuse_other_file(&self) -> Option<Mistake> {
        let (span, words) = self.other_file.borrow().clone()?;
        Some(Mistake::new(span, words).help(BUNDLE))
    }

    /// Returns all warnings and secrets.
    pub(super) fn finish(self) -> (Vec<Note>, Vec<Secret>) {
        if let Some((span, words)) = self.other_file.take() {
            self.warn(&span, format!("{words}: {BUNDLE}"));
        }
        let notes = self.warnings.into_inner().finish();
        (notes, self.secrets.into_inner())
    }

    /// Returns the items of a list in a field. Warns of anything else there.
    pub(super) fn items(&self, node: &'a Node<'a>, key: &str) -> &'a [Node<'a>] {
        let Some(list) = node.get(key) else {
            return &[];
        };
        if !list.is_list() {
            let words = format!("`{key}` is a list, and this is {}", list.kind());
            self.warn(&list.beginning(), words);
        }
        list.items()
    }

    /// Returns the fields of an object in a field. Warns of anything else there.
    pub(super) fn fields(&self, node: &'a Node<'a>, key: &str) -> &'a [Field<'a>] {
        let object = node.get(key).and_then(|one| self.object(one, key));
        object.map_or(&[], Node::fields)
    }

    /// Follows the references to an object. Warns of anything else.
    pub(super) fn object(&self, node: &'a Node<'a>, what: &str) -> Option<&'a Node<'a>> {
        let object = self.follow(node)?;
        if !object.is_object() {
            let words = format!("`{what}` is an object, and this is {}", object.kind());
            self.warn(&object.beginning(), words);
            return None;
        }
        Some(object)
    }

    /// Follows the references of a value to the end. Warns of those that lead nowhere.
    pub(super) fn follow(&self, node: &'a Node<'a>) -> Option<&'a Node<'a>> {
        let mut node = node;
        for _ in 0..LONGEST_CHAIN {
            // A property may be called `$ref`.
            let reference = node.get("$ref");
            let Some((reference, text)) = reference.and_then(|one| Some((one, one.text()?))) else {
                return Some(node);
            };
            node = self.find_target(text, &reference.span)?;
        }
        let words = "this `$ref` leads back to itself: it is left out";
        self.warn(&node.span, words);
        None
    }

    /// Returns the value that a reference names.
    pub(super) fn find_target(&self, reference: &'a str, span: &Span) -> Option<&'a Node<'a>> {
        let Some(pointer) = reference.strip_prefix('#') else {
            self.note_other_file(reference, span);
            return None;
        };
        let known = self.targets.borrow().get(pointer).copied();
        let target = known.unwrap_or_else(|| {
            let target = self.resolve_pointer(pointer);
            self.targets.borrow_mut().insert(pointer, target);
            target
        });
        if target.is_none() {
            let words = format!("there is no `{}` in this document", shorten(reference));
            self.warn(span, words);
        }
        target
    }

    /// Resolves a pointer (RFC 6901).
    fn resolve_pointer(&self, pointer: &str) -> Option<&'a Node<'a>> {
        let pointer = percent_decode(pointer);
        if pointer.is_empty() {
            return Some(self.root);
        }
        let path = pointer.strip_prefix('/')?;
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

/// Shortens a text to what a line can hold.
pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(LONGEST_QUOTE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document;
    use crate::source::Input;

    #[test]
    fn references_are_followed_and_broken_ones_are_warned_of() {
        let text = r##"{
            "a": {"$ref": "#/b~1c/0/%64%7E0"},
            "b/c": [{"d~": {"$ref": "#/e"}}],
            "e": {"x": 1},
            "round": {"$ref": "#/round"},
            "away": {"$ref": "other.yaml#/x"},
            "further": {"$ref": "other.yaml#/y"},
            "nothing": {"$ref": "#/f/1"}
        }"##;
        let input = Input::new("x", text.to_owned());
        let root = document::read(&input).unwrap();
        let document = ApiDocument::new(&root, text, &[]);
        let follow = |name: &str| document.follow(root.get(name).unwrap());
        assert_eq!(follow("a"), root.get("e"));
        for name in ["round", "further", "away", "nothing"] {
            assert_eq!(follow(name), None, "{name}");
        }
        let (notes, _) = document.finish();
        let warnings: Vec<_> = notes
            .iter()
            .map(|note| (&text[note.span.clone()], note.words.as_str()))
            .collect();
        assert_eq!(
            warnings,
            [
                (
                    r##"{"$ref": "#/round"}"##,
                    "this `$ref` leads back to itself: it is left out"
                ),
                (
                    r#""other.yaml#/x""#,
                    "`other.yaml#/x` is in another file, which is not read: bundle it first: \
                     `npx @redocly/cli bundle api.yaml -o bundled.yaml`"
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
