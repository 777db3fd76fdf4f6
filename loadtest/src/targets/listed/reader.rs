//! Reads the entries of `[[targets]]` from the events of a TOML parser, each with its line.

use super::Mistake;
use toml_parser::decoder::{Encoding, ScalarKind};
use toml_parser::parser::{EventReceiver, RecursionGuard, parse_document};
use toml_parser::{ErrorSink, ParseError, Source, Span};

/// The most lists and tables within each other, as the reader of the tool has it: the parser takes stack for each.
const MAX_DEPTH: u32 = 80;

/// Reads the entries in the text of a `loadtest.toml`, and all that is wrong as TOML.
pub(super) fn read_entries(text: &str) -> (Vec<TargetEntry>, Vec<Mistake>) {
    let source = Source::new(text);
    let mut reader = TargetsReader {
        source,
        line_ends: text.match_indices('\n').map(|(at, _)| at).collect(),
        place: TomlPosition::Root,
        header: None,
        key: Vec::new(),
        array: None,
        depth: 0,
        entries: Vec::new(),
        mistakes: Vec::new(),
    };
    let tokens = source.lex().into_vec();
    let mut broken: Vec<ParseError> = Vec::new();
    let mut guard = RecursionGuard::new(&mut reader, MAX_DEPTH);
    parse_document(&tokens, &mut guard, &mut broken);
    for error in broken {
        let span = error.unexpected().or(error.context());
        reader.add_mistake(span.unwrap_or_default(), error.description());
    }
    (reader.entries, reader.mistakes)
}

/// A value, as far as targets have such.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum EntryValue {
    Text(String),
    Number(String),
    List(Vec<EntryValue>),
    Other(&'static str),
}

/// An entry while it is read.
#[derive(Debug, Default)]
pub(super) struct TargetEntry {
    pub(super) line: usize,
    /// Keys with their values and lines.
    pub(super) values: Vec<(String, EntryValue, usize)>,
}

/// The position of the parser in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TomlPosition {
    /// Before the first table.
    Root,
    /// Within another table.
    Elsewhere,
    /// Within the last entry.
    TargetEntry,
}

struct TargetsReader<'i> {
    source: Source<'i>,
    /// The places of all ends of lines: each key has a line, and counting from the beginning for each is quadratic.
    line_ends: Vec<usize>,
    place: TomlPosition,
    /// The header being read: whether it is a table of an array, and its names so far.
    header: Option<(bool, Vec<String>, Span)>,
    /// The key before the value.
    key: Vec<(String, Span)>,
    /// The list that is being read.
    array: Option<Vec<EntryValue>>,
    /// The depth of nested lists and inline tables.
    depth: usize,
    entries: Vec<TargetEntry>,
    mistakes: Vec<Mistake>,
}

impl TargetsReader<'_> {
    fn line_of(&self, span: Span) -> usize {
        self.line_ends.partition_point(|end| *end < span.start()) + 1
    }

    fn add_mistake(&mut self, span: Span, message: impl Into<String>) {
        let line = self.line_of(span);
        self.mistakes.push(Mistake {
            line,
            message: message.into(),
        });
    }

    fn close_header(&mut self) {
        let Some((is_array, names, span)) = self.header.take() else {
            return;
        };
        let is_ours = names.first().is_some_and(|name| name == "targets");
        self.place = TomlPosition::Elsewhere;
        if is_ours && is_array && names.len() == 1 {
            self.place = TomlPosition::TargetEntry;
            let line = self.line_of(span);
            self.entries.push(TargetEntry {
                line,
                values: Vec::new(),
            });
        } else if is_ours {
            self.add_mistake(
                span,
                "a target is an entry of a list; write `[[targets]]` on a line of its own, and its keys below",
            );
        }
    }

    /// A list or a table ends. After mistakes the parser ends some that it has not begun.
    fn end_value(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    fn store_value(&mut self, value: EntryValue) {
        if self.depth > 1 {
            return;
        }
        if let Some(list) = &mut self.array {
            list.push(value);
            return;
        }
        let key = std::mem::take(&mut self.key);
        let Some((name, span)) = key.first().cloned() else {
            return;
        };
        if self.place == TomlPosition::TargetEntry {
            let line = self.line_of(span);
            let whole: Vec<_> = key.into_iter().map(|(name, _)| name).collect();
            if let Some(entry) = self.entries.last_mut() {
                entry.values.push((whole.join("."), value, line));
            }
        } else if name == "targets" && self.place == TomlPosition::Root {
            self.add_mistake(
                span,
                "a target is an entry of a list; write `[[targets]]` on a line of its own, and its keys below",
            );
        }
    }
}

impl EventReceiver for TargetsReader<'_> {
    fn std_table_open(&mut self, span: Span, _: &mut dyn ErrorSink) {
        self.header = Some((false, Vec::new(), span));
    }

    fn std_table_close(&mut self, _: Span, _: &mut dyn ErrorSink) {
        self.close_header();
    }

    fn array_table_open(&mut self, span: Span, _: &mut dyn ErrorSink) {
        self.header = Some((true, Vec::new(), span));
    }

    fn array_table_close(&mut self, _: Span, _: &mut dyn ErrorSink) {
        self.close_header();
    }

    fn simple_key(&mut self, span: Span, encoding: Option<Encoding>, error: &mut dyn ErrorSink) {
        let mut name = String::new();
        if let Some(raw) = self.source.get(span) {
            let raw = toml_parser::Raw::new_unchecked(raw.as_str(), encoding, span);
            raw.decode_key(&mut name, error);
        }
        if let Some((_, names, _)) = &mut self.header {
            names.push(name);
        } else if self.depth == 0 {
            self.key.push((name, span));
        }
    }

    fn scalar(&mut self, span: Span, encoding: Option<Encoding>, error: &mut dyn ErrorSink) {
        let Some(raw) = self.source.get(span) else {
            return;
        };
        let raw = toml_parser::Raw::new_unchecked(raw.as_str(), encoding, span);
        let mut text = String::new();
        let value = match raw.decode_scalar(&mut text, error) {
            ScalarKind::String => EntryValue::Text(text),
            ScalarKind::Integer(_) | ScalarKind::Float => EntryValue::Number(text),
            ScalarKind::Boolean(_) => EntryValue::Other("a boolean"),
            ScalarKind::DateTime => EntryValue::Other("a date"),
        };
        self.store_value(value);
    }

    fn array_open(&mut self, _: Span, _: &mut dyn ErrorSink) -> bool {
        if self.depth == 0 {
            self.array = Some(Vec::new());
        }
        self.depth += 1;
        true
    }

    fn array_close(&mut self, _: Span, _: &mut dyn ErrorSink) {
        self.end_value();
        if self.depth == 0 {
            let list = self.array.take().unwrap_or_default();
            self.store_value(EntryValue::List(list));
        } else {
            self.store_value(EntryValue::Other("a list"));
        }
    }

    fn inline_table_open(&mut self, _: Span, _: &mut dyn ErrorSink) -> bool {
        self.depth += 1;
        true
    }

    fn inline_table_close(&mut self, _: Span, _: &mut dyn ErrorSink) {
        self.end_value();
        self.store_value(EntryValue::Other("a table"));
    }
}
