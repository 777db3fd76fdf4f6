//! `loadtest.toml` key by key: every mistake with its line, all of them at once.

use super::key::{BuiltIn, ConfigTable, Given, Key, ValueKind, keys_of, suggest_known};
use loadtest_console::console::clean;
use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A key in the file.
pub(super) type Name<'k, 'i> = &'k Spanned<Cow<'i, str>>;
/// The value of a key.
pub(super) type Value<'v, 'i> = &'v Spanned<DeValue<'i>>;

/// Reads one file, and keeps what is wrong with it.
#[derive(Debug)]
pub(super) struct ConfigReader<'a> {
    text: &'a str,
    /// The places of all ends of lines, of which a file of many mistakes or entries asks for many.
    line_ends: Vec<usize>,
    /// The folder of the file.
    folder: &'a Path,
    mistakes: Vec<(usize, String)>,
}

/// A value that was read, as it may be shown, and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Read {
    /// The name of the key within its table.
    pub(super) name: &'static str,
    /// The words: one, or those of a list.
    pub(super) words: Vec<String>,
    /// The line.
    pub(super) line: usize,
}

impl<'a> ConfigReader<'a> {
    pub(super) fn new(text: &'a str, folder: &'a Path) -> Self {
        Self {
            text,
            line_ends: text.match_indices('\n').map(|(at, _)| at).collect(),
            folder,
            mistakes: Vec::new(),
        }
    }

    /// Returns the mistakes, in the order of their lines.
    pub(super) fn finish(mut self) -> Vec<String> {
        self.mistakes.sort_by_key(|(line, _)| *line);
        let told = |(line, mistake)| format!("line {line}: {mistake}");
        self.mistakes.into_iter().map(told).collect()
    }

    /// The line of a place.
    pub(super) fn line(&self, at: usize) -> usize {
        self.line_ends.partition_point(|end| *end < at) + 1
    }

    /// Keeps a mistake.
    pub(super) fn mistake(&mut self, at: usize, message: impl AsRef<str>) {
        self.mistake_in(self.line(at), message);
    }

    /// The same, of a line.
    pub(super) fn mistake_in(&mut self, line: usize, message: impl AsRef<str>) {
        self.mistakes.push((line, clean(message.as_ref())));
    }

    /// Keeps that there is no such key.
    pub(super) fn unknown(&mut self, name: Name<'_, '_>, known: &[&str]) {
        let instead = suggest_known(name.get_ref(), known);
        self.mistake(
            name.span().start,
            format!("unknown key `{}`; {instead}", name.get_ref()),
        );
    }

    /// Returns the entries of a table; none if it is not a table.
    pub(super) fn table<'v, 'i>(
        &mut self,
        path: &str,
        value: Value<'v, 'i>,
    ) -> Option<&'v DeTable<'i>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.mistake(
                value.span().start,
                format!("`{path}` is a table; write `[{path}]` on a line of its own"),
            );
        }
        table
    }

    /// The tables of a list of them, each with the place where it begins.
    pub(super) fn tables<'v, 'i>(
        &mut self,
        path: &str,
        value: Value<'v, 'i>,
    ) -> Vec<(Range<usize>, &'v DeTable<'i>)> {
        let mut tables = Vec::new();
        let wrong = |at: usize| {
            (
                at,
                format!("`{path}` is a list of tables; write `[[{path}]]` on a line of its own"),
            )
        };
        let mut mistakes = Vec::new();
        match value.get_ref().as_array() {
            Some(array) => {
                for entry in array {
                    match entry.get_ref().as_table() {
                        Some(table) => tables.push((entry.span(), table)),
                        None => mistakes.push(wrong(entry.span().start)),
                    }
                }
            }
            None => mistakes.push(wrong(value.span().start)),
        }
        for (at, message) in mistakes {
            self.mistake(at, message);
        }
        tables
    }

    /// Reads the table at `path` into `target`.
    pub(super) fn keys_of<T: ConfigTable>(
        &mut self,
        path: &str,
        value: Value<'_, '_>,
        target: &mut T,
    ) -> Vec<Read> {
        match self.table(path, value) {
            Some(table) => self.keys(table, target),
            None => Vec::new(),
        }
    }

    /// Reads a list of tables; each with its line.
    pub(super) fn entries<T: ConfigTable + Default>(
        &mut self,
        path: &str,
        value: Value<'_, '_>,
    ) -> Vec<(usize, T)> {
        let mut entries = Vec::new();
        for entry in self.tables(path, value) {
            let mut target = T::default();
            self.entry(path, &entry, &mut target);
            entries.push((self.line(entry.0.start), target));
        }
        entries
    }

    /// Reads the keys of a table into `target`.
    pub(super) fn keys<T: ConfigTable>(
        &mut self,
        table: &DeTable<'_>,
        target: &mut T,
    ) -> Vec<Read> {
        let mut read = Vec::new();
        for (name, value) in table {
            if let Some(key) = keys_of(T::SECTION).find(|key| key.name == &**name.get_ref()) {
                read.extend(self.key(key, value, target));
            } else {
                let known: Vec<_> = keys_of(T::SECTION).map(|key| key.name).collect();
                self.unknown(name, &known);
            }
        }
        read
    }

    /// The same of an entry of a list, in which some keys must stand.
    fn entry<T: ConfigTable>(
        &mut self,
        path: &str,
        (place, table): &(Range<usize>, &DeTable<'_>),
        target: &mut T,
    ) {
        self.keys(table, target);
        for key in keys_of(T::SECTION) {
            if key.built_in == BuiltIn::Required && !table.contains_key(key.name) {
                let Key { name, example, .. } = key;
                self.mistake(
                    place.start,
                    format!("`[[{path}]]` has no `{name}`; write `{name} = {example}`"),
                );
            }
        }
    }

    /// Reads the value of one key into `target`.
    pub(super) fn key<T: ConfigTable>(
        &mut self,
        key: &Key,
        value: Value<'_, '_>,
        target: &mut T,
    ) -> Option<Read> {
        let name = key.name;
        let words = match self.words(key, value) {
            Ok(words) => words,
            Err(mistake) => {
                self.mistake(value.span().start, mistake);
                return None;
            }
        };
        let given = Given {
            words: &words,
            base: self.folder,
        };
        if let Err(mistake) = target.set_key(name, &given) {
            let message = match (key.kind, self.text.get(value.span())) {
                (ValueKind::List | ValueKind::Table { .. }, _) => format!("`{name}`: {mistake}"),
                (ValueKind::Private, _) | (_, None) => format!("`{name}` {mistake}"),
                (_, Some(source)) => format!("`{name} = {source}` {mistake}"),
            };
            self.mistake(value.span().start, message);
            return None;
        }
        Some(Read {
            name,
            words,
            line: self.line(value.span().start),
        })
    }

    /// The words of a value of the right kind.
    fn words(&self, key: &Key, value: Value<'_, '_>) -> Result<Vec<String>, String> {
        let Key {
            name,
            example,
            kind,
            ..
        } = key;
        let found = value.get_ref();
        let source = self.text.get(value.span()).unwrap_or_default();
        let a_number = matches!(found.type_str(), "integer" | "float");
        let whole = found.type_str() == "integer";
        let (is, instead) = match kind {
            ValueKind::Text { unit } => {
                if let Some(text) = found.as_str() {
                    return Ok(vec![text.to_owned()]);
                }
                let instead = if a_number && !unit.is_empty() {
                    format!("write it in quotes: `{name} = \"{source}{unit}\"`")
                } else {
                    format!("write `{name} = {example}`")
                };
                ("text", instead)
            }
            ValueKind::Private => {
                if let Some(text) = found.as_str() {
                    return Ok(vec![text.to_owned()]);
                }
                ("text", format!("write `{name} = {example}`"))
            }
            ValueKind::Flag => {
                if let Some(flag) = found.as_bool() {
                    return Ok(vec![flag.to_string()]);
                }
                ("`true` or `false`", format!("write `{name} = {example}`"))
            }
            ValueKind::Table { .. } => {
                let pairs = found.as_table().and_then(|table| {
                    let pairs = table.iter().map(|(name, text)| {
                        let text = text.get_ref().as_str()?;
                        Some(format!("{}={text}", name.get_ref()))
                    });
                    pairs.collect()
                });
                if let Some(pairs) = pairs {
                    return Ok(pairs);
                }
                ("a table of texts", format!("write `{name} = {example}`"))
            }
            ValueKind::Whole | ValueKind::Number => {
                let wanted = if *kind == ValueKind::Whole {
                    whole
                } else {
                    a_number
                };
                if wanted {
                    return Ok(vec![source.replace('_', "")]);
                }
                let is = if *kind == ValueKind::Whole {
                    "a whole number"
                } else {
                    "a number"
                };
                (is, format!("write `{name} = {example}`"))
            }
            ValueKind::List => {
                let texts = found.as_array().and_then(|array| {
                    let texts = array.iter().map(|entry| entry.get_ref().as_str());
                    texts.map(|text| text.map(str::to_owned)).collect()
                });
                if let Some(texts) = texts {
                    return Ok(texts);
                }
                ("a list of texts", format!("write `{name} = {example}`"))
            }
        };
        Err(format!(
            "`{name}` is {is}, not {}; {instead}",
            found.type_str()
        ))
    }
}
