//! Values of a script, as far as they are known without running it.

use super::script::Script;
use crate::recording::{AnswerCheck, FeedOrder, Key, Origin, Piece, RunValue, Text};
use crate::source::Span;
use crate::text::{escape_json, find_pair};
use std::collections::BTreeSet;
use std::rc::Rc;
use tree_sitter::Node;

/// The longest text, in bytes.
const LONGEST: usize = 256 * 1024;
/// Most items and fields of a value.
const MOST_ITEMS: usize = 10_000;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Js<'t> {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Text(Text),
    List(Rc<Vec<Js<'t>>>),
    Object(Rc<Vec<(String, Js<'t>)>>),
    /// A function of the script, the frame around it, and what `this` is in it.
    Function(Node<'t>, usize, Option<Rc<Js<'t>>>),
    /// A class of the script, and the frame around it.
    Class(Node<'t>, usize),
    /// An object of a class, with the frame of its constructor.
    Instance(Node<'t>, usize),
    /// Something of k6 or JavaScript, by its path: `http.get`.
    Native(String),
    /// A variable of the environment, and what the script has without one.
    Variable(String, Option<Rc<Js<'t>>>),
    /// A metric of the script: its kind, and its name.
    Metric(String, String),
    /// The answer to the exchange with this number.
    Response(usize),
    /// A part of an answer that is no value by itself.
    Part(usize, ResponsePart),
    /// A value in the JSON of an answer.
    Json(usize, Vec<Key>),
    /// A value of an answer that is text.
    Found(Origin),
    /// The length of a value.
    Length(Box<Js<'t>>),
    /// A file of data.
    Data(Data),
    /// The number of a row.
    Index(FeedOrder),
    /// A row, or a part of one.
    Row(usize, Option<String>),
    /// A number that is drawn.
    Random(Random),
    /// A number that a run knows.
    Counter(RunValue),
    /// True with this probability.
    Chance(f64),
    /// True in the first journey of a user.
    FirstIteration,
    /// Conditions on answers, all of which have to hold.
    Tests(Vec<(usize, Test)>),
    /// The opposite of conditions.
    Fails(Vec<(usize, Test)>),
    /// A regular expression.
    Pattern(String),
    /// Only code knows it.
    Unknown(Span),
}

/// A number that is drawn between two others, the second of which is not included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Random {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) is_whole: bool,
}

impl Random {
    /// Returns a whole number from one to another.
    pub(super) fn whole(low: f64, high: f64) -> Self {
        let (low, high, is_whole) = (low.floor(), high.ceil(), true);
        Self {
            low,
            high,
            is_whole,
        }
    }
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ResponsePart {
    Status,
    Body,
    Headers,
    Timings,
    Duration,
    Cookies,
    Html,
    /// What a selector finds in a page.
    Selection(String),
}

/// A condition on an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Test {
    /// The status is one of these.
    Status(BTreeSet<u16>),
    Check(AnswerCheck),
}

/// A file of data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Data {
    pub(super) file: String,
    pub(super) kind: DataKind,
    /// The field of the JSON that has the rows, where that is not all of it.
    pub(super) field: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataKind {
    /// Its text.
    Text,
    /// A list of JSON.
    Json,
    /// What a parser of CSV returns.
    CsvParsed,
    /// Rows of CSV.
    Csv,
}

/// Writes a number as JavaScript does.
pub(super) fn show_number(number: f64) -> String {
    number.to_string()
}

impl Js<'_> {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(Text::literal(text))
    }

    pub(super) fn object(fields: Vec<(String, Self)>) -> Self {
        Self::Object(Rc::new(fields))
    }

    pub(super) fn list(items: Vec<Self>) -> Self {
        Self::List(Rc::new(items))
    }

    /// Returns the literal of a text.
    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => text.as_literal(),
            Self::Variable(_, Some(value)) => value.as_str(),
            _ => None,
        }
    }

    pub(super) fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.as_literal()?.trim().parse().ok(),
            Self::Variable(_, Some(value)) => value.as_number(),
            _ => None,
        }
    }

    pub(super) fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown(_))
    }

    /// Returns true for what a variable begins with before it has a value.
    pub(super) fn is_nothing(&self) -> bool {
        let is_empty = self.fields().is_empty() && self.items().is_empty();
        match self {
            Self::List(_) | Self::Object(_) => is_empty,
            value => value.truth() == Some(false),
        }
    }

    /// Returns the field of an object.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(fields) => find_pair(fields, name),
            Self::Variable(_, Some(value)) => value.get(name),
            _ => None,
        }
    }

    /// Returns true for more than is worth writing.
    pub(super) fn is_too_large(&self) -> bool {
        match self {
            Self::Text(text) => text.pieces().len() > MOST_ITEMS || text.start().len() > LONGEST,
            Self::List(items) => items.len() > MOST_ITEMS,
            Self::Object(fields) => fields.len() > MOST_ITEMS,
            _ => false,
        }
    }

    /// Returns the fields of an object.
    pub(super) fn fields(&self) -> &[(String, Self)] {
        match self {
            Self::Object(fields) => fields,
            Self::Variable(_, Some(value)) => value.fields(),
            _ => &[],
        }
    }

    pub(super) fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            Self::Variable(_, Some(value)) => value.items(),
            _ => &[],
        }
    }

    /// Returns true or false, where that is known.
    pub(super) fn truth(&self) -> Option<bool> {
        match self {
            Self::Undefined | Self::Null => Some(false),
            Self::Bool(value) => Some(*value),
            Self::Number(number) => Some(*number != 0.0 && !number.is_nan()),
            Self::Text(text) => text.as_literal().map(|text| !text.is_empty()),
            Self::List(_) | Self::Object(_) | Self::Function(..) | Self::Instance(..) => Some(true),
            _ => None,
        }
    }
}

impl<'t> Script<'_, 't> {
    /// Returns a value as text, as JavaScript joins it to another.
    pub(super) fn text_of_value(&mut self, value: &Js<'t>) -> Text {
        match value {
            Js::Text(text) => text.clone(),
            Js::Undefined => Text::literal("undefined"),
            Js::Null => Text::literal("null"),
            Js::Bool(value) => Text::literal(value.to_string()),
            Js::Number(number) => Text::literal(show_number(*number)),
            Js::Variable(_, Some(value)) => self.text_of_value(value),
            Js::Variable(name, None) => self.migration.variable(name),
            Js::List(items) => Text::join(items.iter().map(|item| self.text_of_value(item)), ","),
            value => match self.piece_of_value(value, false) {
                Some(text) => text,
                None => self.unknown_text(value),
            },
        }
    }

    /// Returns a value that a run fills in.
    fn piece_of_value(&mut self, value: &Js<'t>, is_bare: bool) -> Option<Text> {
        Some(match value {
            Js::Json(exchange, path) => {
                self.migration.refer(Origin::body(*exchange, path), is_bare)
            }
            Js::Found(origin) => self.migration.refer(origin.clone(), false),
            Js::Row(feed, column) => Text::row(*feed, column.clone()),
            Js::Counter(value) => Piece::Run(value.clone()).into(),
            Js::Random(drawn) if drawn.is_whole => {
                let feed = self.number_feed(drawn.low, drawn.high, FeedOrder::Random)?;
                Text::row(feed, None)
            }
            Js::Part(exchange, ResponsePart::Selection(name)) => {
                self.migration.refer(Origin::field(*exchange, name), false)
            }
            _ => return None,
        })
    }

    /// Returns a constant for a value that only code knows.
    fn unknown_text(&mut self, value: &Js<'t>) -> Text {
        let expression = match value {
            Js::Unknown(span) => self.source_of(span).to_owned(),
            Js::Native(name) => name.clone(),
            Js::Data(Data {
                file,
                field: Some(field),
                ..
            }) => format!("{field} of {file}"),
            _ => "value".to_owned(),
        };
        self.migration.unknown(&expression)
    }

    /// Returns a value as JSON. A value of an answer, alone in its quotes, is written without them.
    pub(super) fn json_of_value(&mut self, value: &Js<'t>) -> Text {
        match value {
            Js::Number(number) if !number.is_finite() => "null".into(),
            Js::Undefined => "null".into(),
            Js::Null | Js::Bool(_) | Js::Number(_) => self.text_of_value(value),
            Js::List(items) => {
                let items = items.iter().map(|item| self.json_of_value(item));
                Text::join(items, ",").between("[", "]")
            }
            Js::Object(fields) => {
                let fields = fields.iter();
                let fields = fields.filter(|(_, value)| !matches!(value, Js::Undefined));
                let fields = fields.map(|(name, value)| {
                    let name = format!("\"{}\":", escape_json(name));
                    self.json_of_value(value).between(&name, "")
                });
                Text::join(fields, ",").between("{", "}")
            }
            Js::Variable(_, Some(value)) => self.json_of_value(value),
            value => {
                let text = match self.piece_of_value(value, true) {
                    Some(text) => text,
                    None => self.text_of_value(value).map_literals(escape_json),
                };
                text.between("\"", "\"")
            }
        }
    }
}
