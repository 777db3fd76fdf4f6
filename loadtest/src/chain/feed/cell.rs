//! How serde reads a row of cells.
//!
//! `csv` has a deserializer of its own, but that one takes `007` for the number 7 where the type does
//! not say, and its errors do not name the column that a row type objected to.

use csv::StringRecord;
use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use std::fmt;

/// A mismatch of a row and its type; the message may hold a value.
#[derive(Debug)]
pub(super) struct CellError {
    /// The zero-based number of the column, where it is one cell's fault.
    pub(super) column: Option<usize>,
    /// The field for which there is no column.
    pub(super) missing: Option<&'static str>,
    pub(super) message: String,
}

impl CellError {
    fn new(message: impl Into<String>) -> Self {
        Self {
            column: None,
            missing: None,
            message: message.into(),
        }
    }

    fn in_column(mut self, column: usize) -> Self {
        self.column.get_or_insert(column);
        self
    }
}

impl fmt::Display for CellError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CellError {}

impl Error for CellError {
    fn custom<M: fmt::Display>(message: M) -> Self {
        Self::new(message.to_string())
    }

    fn missing_field(field: &'static str) -> Self {
        Self {
            missing: Some(field),
            ..Self::new("")
        }
    }
}

/// A row and the names of its columns.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    header: &'a StringRecord,
    cells: &'a StringRecord,
    /// The next column.
    at: usize,
}

impl<'a> Record<'a> {
    pub(super) fn new(header: &'a StringRecord, cells: &'a StringRecord) -> Self {
        Self {
            header,
            cells,
            at: 0,
        }
    }

    /// The cell of the current column.
    fn cell(&self) -> Cell<'a> {
        Cell(self.cells.get(self.at).unwrap_or_default())
    }

    /// The only cell, where a row is to be one value.
    fn only(self) -> Result<Cell<'a>, CellError> {
        match self.cells.len() {
            1 => Ok(self.cell()),
            count => Err(CellError::new(format!(
                "this row has {count} columns, and the type of the feed is one value: use a struct \
                 with a field for each column, or `Value`"
            ))),
        }
    }
}

macro_rules! only_cell {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CellError> {
            self.only()?.$method(visitor).map_err(|error| error.in_column(0))
        }
    )*};
}

impl<'de> Deserializer<'de> for Record<'_> {
    type Error = CellError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CellError> {
        visitor.visit_map(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CellError> {
        visitor.visit_seq(self)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, CellError> {
        let columns = self.cells.len();
        if columns != length {
            return Err(CellError::new(format!(
                "this row has {columns} columns, and the tuple of the feed has {length} values"
            )));
        }
        visitor.visit_seq(self)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, CellError> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, CellError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CellError> {
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, CellError> {
        self.only()?
            .deserialize_enum(name, variants, visitor)
            .map_err(|error| error.in_column(0))
    }

    only_cell! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_u128 deserialize_f32 deserialize_f64 deserialize_char deserialize_str
        deserialize_string deserialize_bytes deserialize_byte_buf
    }

    forward_to_deserialize_any! { unit unit_struct map struct identifier ignored_any }
}

impl<'de> MapAccess<'de> for Record<'_> {
    type Error = CellError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, CellError> {
        self.header
            .get(self.at)
            .map(|name| seed.deserialize(StrDeserializer::new(name)))
            .transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, CellError> {
        let column = self.at;
        let value = seed.deserialize(self.cell());
        self.at += 1;
        value.map_err(|error| error.in_column(column))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.cells.len() - self.at)
    }
}

impl<'de> SeqAccess<'de> for Record<'_> {
    type Error = CellError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, CellError> {
        if self.at == self.cells.len() {
            return Ok(None);
        }
        self.next_value_seed(seed).map(Some)
    }
}

/// The text of one cell.
struct Cell<'a>(&'a str);

impl Cell<'_> {
    fn parse<N: std::str::FromStr<Err: fmt::Display>>(&self) -> Result<N, CellError> {
        self.0.parse().map_err(|error: N::Err| {
            let spaces = if self.0.trim() == self.0 {
                ""
            } else {
                " (spaces count: nothing is trimmed)"
            };
            CellError::new(format!("{error}{spaces}"))
        })
    }
}

macro_rules! parsed {
    ($($method:ident $visit:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CellError> {
            visitor.$visit(self.parse()?)
        }
    )*};
}

macro_rules! one_value {
    ($($method:ident($($ignored:ty),*))*) => {$(
        fn $method<V: Visitor<'de>>(self, $(_: $ignored,)* _: V) -> Result<V::Value, CellError> {
            Err(CellError::new(
                "a cell holds one value, and this field is a list, a map or a struct: keep such rows \
                 in JSON, and read them with `Feed::json`",
            ))
        }
    )*};
}

impl<'de> Deserializer<'de> for Cell<'_> {
    type Error = CellError;

    /// Reads a cell without a type hint. It is a number only if its text is the canonical form of that
    /// number: `007`, `+49` and `1.10` stay text.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CellError> {
        let text = self.0;
        if let Ok(number) = text.parse::<u64>()
            && number.to_string() == text
        {
            return visitor.visit_u64(number);
        }
        if let Ok(number) = text.parse::<i64>()
            && number.to_string() == text
        {
            return visitor.visit_i64(number);
        }
        if let Ok(number) = text.parse::<f64>()
            && serde_json::Number::from_f64(number).is_some_and(|json| json.to_string() == text)
        {
            return visitor.visit_f64(number);
        }
        match text {
            "" => visitor.visit_unit(),
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            _ => visitor.visit_str(text),
        }
    }

    parsed! {
        deserialize_bool visit_bool
        deserialize_i8 visit_i8
        deserialize_i16 visit_i16
        deserialize_i32 visit_i32
        deserialize_i64 visit_i64
        deserialize_i128 visit_i128
        deserialize_u8 visit_u8
        deserialize_u16 visit_u16
        deserialize_u32 visit_u32
        deserialize_u64 visit_u64
        deserialize_u128 visit_u128
        deserialize_f32 visit_f32
        deserialize_f64 visit_f64
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CellError> {
        visitor.visit_str(self.0)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CellError> {
        visitor.visit_str(self.0)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CellError> {
        visitor.visit_str(self.0)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CellError> {
        visitor.visit_bytes(self.0.as_bytes())
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CellError> {
        visitor.visit_bytes(self.0.as_bytes())
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CellError> {
        if self.0.is_empty() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CellError> {
        if self.0.is_empty() {
            visitor.visit_unit()
        } else {
            Err(CellError::new("the cell is not empty"))
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, CellError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, CellError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, CellError> {
        let variant: StrDeserializer<'_, CellError> = self.0.into_deserializer();
        visitor.visit_enum(variant)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CellError> {
        visitor.visit_str(self.0)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CellError> {
        visitor.visit_unit()
    }

    one_value! {
        deserialize_seq()
        deserialize_tuple(usize)
        deserialize_tuple_struct(&'static str, usize)
        deserialize_map()
        deserialize_struct(&'static str, &'static [&'static str])
    }
}
