//! Example values: JSON in which texts hold secrets and values of earlier answers.

use crate::document::{Node, Value};
use crate::recording::Text;
use crate::text::escape_json;

/// A value of a request or an answer.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::openapi) enum ExampleValue {
    Null,
    Bool(bool),
    /// A number as JSON writes it.
    Number(String),
    Text(Text),
    /// A value of an earlier answer that JSON has without quotes.
    Bare(Text),
    List(Vec<ExampleValue>),
    Object(Vec<(String, ExampleValue)>),
}

impl ExampleValue {
    /// Copies a value of the document.
    pub(in crate::openapi) fn from_node(node: &Node<'_>) -> Self {
        match &node.value {
            Value::Null => Self::Null,
            Value::Bool(is_true) => Self::Bool(*is_true),
            Value::Number(number) => Self::Number(number.to_string()),
            Value::Text(text) => Self::text(text.as_ref()),
            Value::List(items) => Self::List(items.iter().map(Self::from_node).collect()),
            Value::Object(fields) => {
                let fields = fields.iter();
                let fields =
                    fields.map(|field| (field.name.to_string(), Self::from_node(&field.node)));
                Self::Object(fields.collect())
            }
        }
    }

    pub(in crate::openapi) fn text(text: impl Into<Text>) -> Self {
        Self::Text(text.into())
    }

    /// Returns the fields of an object; none for other values.
    pub(in crate::openapi) fn fields(&self) -> &[(String, Self)] {
        match self {
            Self::Object(fields) => fields,
            _ => &[],
        }
    }

    /// Returns the items of a list; none for other values.
    pub(in crate::openapi) fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    pub(in crate::openapi) fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    /// Returns the text of a scalar.
    pub(in crate::openapi) fn scalar(&self) -> Option<Text> {
        match self {
            Self::Bool(is_true) => Some(Text::literal(is_true.to_string())),
            Self::Number(number) => Some(Text::literal(number.as_str())),
            Self::Text(text) | Self::Bare(text) => Some(text.clone()),
            Self::Null | Self::List(_) | Self::Object(_) => None,
        }
    }

    /// Returns the text of a scalar, and JSON of a list or an object.
    pub(in crate::openapi) fn to_text(&self) -> Text {
        match self {
            Self::Null => Text::default(),
            value => value.scalar().unwrap_or_else(|| value.to_json()),
        }
    }

    /// Writes JSON without blanks, fields in their order.
    pub(in crate::openapi) fn to_json(&self) -> Text {
        match self {
            Self::Null => "null".into(),
            Self::Bool(_) | Self::Number(_) | Self::Bare(_) => self.to_text(),
            Self::Text(text) => text.map_literals(escape_json).between("\"", "\""),
            Self::List(items) => Text::join(items.iter().map(Self::to_json), ",").between("[", "]"),
            Self::Object(fields) => {
                let fields = fields.iter().map(|(name, value)| {
                    let name = format!("\"{}\":", escape_json(name));
                    value.to_json().between(&name, "")
                });
                Text::join(fields, ",").between("{", "}")
            }
        }
    }

    /// Returns about how many bytes the value takes.
    pub(in crate::openapi) fn size(&self) -> usize {
        let items: usize = self.items().iter().map(Self::size).sum();
        let fields = self.fields().iter();
        let fields: usize = fields.map(|(name, value)| name.len() + value.size()).sum();
        let text = match self {
            Self::Number(number) => number.len(),
            Self::Text(text) => text.as_literal().unwrap_or_default().len(),
            _ => 0,
        };
        items + fields + text + size_of::<Self>()
    }
}
