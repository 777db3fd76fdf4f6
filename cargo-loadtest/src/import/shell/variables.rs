//! Variables that a text sets, or that the environment has.

use super::super::marked::Secret;
use super::super::source::{Mistake, Span};
use std::collections::{HashMap, HashSet};

const MIB: usize = 1024 * 1024;
/// Most bytes that variables may add to one word, line or here-document.
pub(super) const LONGEST_VALUE: usize = MIB;
/// Most bytes that variables may add to a text.
pub(super) const MOST_VALUES: usize = 16 * MIB;

/// The variables of a text, and those of the environment that it used.
pub(in crate::import) struct Variables<'a> {
    lookup: &'a mut dyn FnMut(&str) -> Option<String>,
    /// Values that the text sets; none where a program would print the value.
    set: HashMap<String, Option<Vec<u8>>>,
    /// Variables of the environment that were used.
    pub(in crate::import) used: Vec<Secret>,
    names: HashSet<String>,
    /// Whether `${BASE:-http://..}` is the URL, whatever the environment has.
    prefers_default_urls: bool,
    /// Bytes put in since [`Variables::begin`].
    here: usize,
    /// Bytes put in altogether.
    pub(super) spent: usize,
}

impl<'a> Variables<'a> {
    pub(in crate::import) fn new(
        lookup: &'a mut dyn FnMut(&str) -> Option<String>,
        prefers_default_urls: bool,
    ) -> Self {
        Self {
            lookup,
            set: HashMap::new(),
            used: Vec::new(),
            names: HashSet::new(),
            prefers_default_urls,
            here: 0,
            spent: 0,
        }
    }

    /// Begins a word, a line or a here-document.
    pub(super) fn begin(&mut self) {
        self.here = 0;
    }

    pub(super) fn set(&mut self, name: &str, value: Vec<u8>) {
        self.set.insert(name.to_owned(), Some(value));
    }

    /// Sets a variable to a program's output, so that the environment has to have it.
    pub(super) fn set_unknown(&mut self, name: &str) {
        self.set.insert(name.to_owned(), None);
    }

    /// Whether the text sets the variable.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.set.contains_key(name)
    }

    /// Whether a default with a URL goes before the environment.
    pub(super) fn prefers_default_url(&self, name: &str) -> bool {
        self.prefers_default_urls && !self.is_set(name)
    }

    /// Returns the value of a variable, to be put where `span` is.
    ///
    /// # Errors
    /// Values that come to more than the limits: a few lines can double a value again and again.
    pub(super) fn value(&mut self, name: &str, span: &Span) -> Result<Option<Vec<u8>>, Mistake> {
        if let Some(Some(value)) = self.set.get(name) {
            let value = value.clone();
            self.spend(value.len(), span)?;
            return Ok(Some(value));
        }
        let Some(value) = (self.lookup)(name) else {
            return Ok(None);
        };
        self.spend(value.len(), span)?;
        if !value.is_empty() && self.names.insert(name.to_owned()) {
            self.used.push(Secret {
                name: name.to_owned(),
                what: "a variable of the copied command".to_owned(),
                value: value.clone(),
            });
        }
        Ok(Some(value.into_bytes()))
    }

    fn spend(&mut self, length: usize, span: &Span) -> Result<(), Mistake> {
        let words = if self.here + length > LONGEST_VALUE {
            let most = LONGEST_VALUE / MIB;
            format!("with this variable the text here comes to more than {most} MiB")
        } else if self.spent + length > MOST_VALUES {
            let most = MOST_VALUES / MIB;
            format!("with this variable all values in the text come to more than {most} MiB")
        } else {
            self.here += length;
            self.spent += length;
            return Ok(());
        };
        let help = "write a shorter value, or the text itself in the place of the variable";
        Err(Mistake::new(span.clone(), words).help(help))
    }

    /// Explains why a variable has no value.
    pub(super) fn missing(&self, name: &str, span: &Span) -> Mistake {
        let (words, help) = if self.is_set(name) {
            (
                format!("`{name}` is set to what a program prints, and none is run"),
                format!("export `{name}` with its value first: that is taken"),
            )
        } else {
            (
                format!("the variable `{name}` is not in the environment"),
                "export it first; it is never sent with an empty value".to_owned(),
            )
        };
        Mistake::new(span.clone(), words).help(help)
    }
}
