//! A key of `loadtest.toml`: what it takes, and how that is read - from the file and from a variable alike.

use loadtest_console::suggestion::{find_similar, join_names};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// All keys: table, name, kind with its unit, example, and default. A default begins with `=` if it is a value, and
/// is `!` if the key is required.
const TABLE: &str = include_str!("keys.tsv");
static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| TABLE.lines().map(Key::parse).collect());

/// A key of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    /// The table.
    pub(crate) section: &'static str,
    /// Its name within the table.
    pub(crate) name: &'static str,
    /// The kind of TOML value.
    pub(crate) kind: ValueKind,
    /// A value as it stands in the file, after the equals sign.
    pub(crate) example: &'static str,
    /// The default.
    pub(crate) built_in: BuiltIn,
}

impl Key {
    fn parse(line: &'static str) -> Self {
        let fields: Vec<&str> = line.split('\t').collect();
        let [section, name, kind, example, built_in] = fields[..] else {
            panic!("five fields: {line}");
        };
        Self {
            section,
            name,
            kind: match kind.split_once(' ').unwrap_or((kind, "")) {
                ("private", "table") => ValueKind::Table { is_private: true },
                ("table", _) => ValueKind::Table { is_private: false },
                ("flag", _) => ValueKind::Flag,
                ("private", _) => ValueKind::Private,
                ("whole", _) => ValueKind::Whole,
                ("number", _) => ValueKind::Number,
                ("list", _) => ValueKind::List,
                (_, unit) => ValueKind::Text { unit },
            },
            example,
            built_in: match (built_in, built_in.strip_prefix('=')) {
                ("!", _) => BuiltIn::Required,
                (_, Some(value)) => BuiltIn::Value(value),
                (words, None) => BuiltIn::Nothing(words),
            },
        }
    }
}

/// Returns the keys of a table.
pub(super) fn keys_of(section: &str) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| key.section == section)
}

#[cfg(test)]
pub(super) fn all_keys() -> impl Iterator<Item = Key> {
    KEYS.iter().copied()
}

/// A table whose keys are read one by one.
pub(super) trait ConfigTable {
    /// The name of the table.
    const SECTION: &'static str;

    /// Sets the key `name`.
    ///
    /// # Errors
    /// The mistake in the value, which continues a sentence about it.
    fn set_key(&mut self, name: &str, given: &Given<'_>) -> Result<(), String>;
}

/// The kind of TOML value of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueKind {
    /// A text; of a quantity with this unit, where somebody leaves it out.
    Text {
        /// The unit.
        unit: &'static str,
    },
    /// A text that is not repeated in a message, as it may hold a secret.
    Private,
    /// A whole number.
    Whole,
    /// A number.
    Number,
    /// A list of texts.
    List,
    /// `true` or `false`.
    Flag,
    /// A table of texts: each word is `name=text`.
    Table {
        /// True if it is not repeated in a message, as it may hold a secret.
        is_private: bool,
    },
}

impl ValueKind {
    /// Returns true if a value has several words.
    pub(crate) fn is_several(self) -> bool {
        matches!(self, Self::List | Self::Table { .. })
    }
}

/// The default of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BuiltIn {
    /// This value.
    Value(&'static str),
    /// No value, which these words say.
    Nothing(&'static str),
    /// There is none: the key must be given.
    Required,
}

/// A value as somebody gave it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Given<'a> {
    /// The words: one, or those of a list.
    pub(crate) words: &'a [String],
    /// The folder that relative paths are relative to.
    pub(crate) base: &'a Path,
}

impl Given<'_> {
    /// The only word.
    pub(crate) fn text(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// The only word as it was given, which is not to be empty.
    pub(crate) fn name(&self) -> Result<String, String> {
        match self.text().trim() {
            "" => Err("is empty".to_owned()),
            text => Ok(text.to_owned()),
        }
    }

    /// `true` or `false`.
    pub(crate) fn flag(&self) -> Result<bool, String> {
        let flag = self.text().parse();
        flag.map_err(|_| "is neither `true` nor `false`".to_owned())
    }

    /// The names and texts of a table.
    pub(crate) fn pairs(&self) -> Result<Vec<(String, String)>, String> {
        let pair = |word: &String| {
            let (name, text) = word
                .split_once('=')
                .ok_or("is not a list of names and values; write `name=value,name=value`")?;
            Ok((name.trim().to_owned(), text.trim().to_owned()))
        };
        self.words.iter().map(pair).collect()
    }

    /// A path, made absolute.
    pub(crate) fn path(&self, text: &str) -> PathBuf {
        self.base.join(text)
    }
}

/// Formats the mistake of a word that is none of `known`.
pub(crate) fn suggest_known(word: &str, known: &[&str]) -> String {
    find_similar(word, known.iter().copied()).map_or_else(
        || format!("there is {}", join_names(known)),
        |name| format!("did you mean `{name}`?"),
    )
}
