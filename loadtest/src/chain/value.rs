//! The values of templates: paths through a response, and how a value is written.

#![expect(clippy::missing_errors_doc, reason = "only generated code calls this")]

use super::Unmet;
use super::write::URL;
use crate::secrets::Secret;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// Looks through `Option` between the segments of a path, by autoref specialisation: the methods of
/// [`PeelOption`] are found before those of [`PeelPlain`].
#[derive(Debug)]
pub struct Peel<'a, T: ?Sized>(pub &'a T);

/// A value that may be absent: an `Option`, or JSON whose `null` counts as missing.
pub trait PeelOption<'a> {
    /// The inner type.
    type Inside: ?Sized;

    /// Returns the inner value, if there is one.
    fn peel(&self) -> Option<&'a Self::Inside>;
}

impl<'a, T> PeelOption<'a> for Peel<'a, Option<T>> {
    type Inside = T;

    fn peel(&self) -> Option<&'a T> {
        self.0.as_ref()
    }
}

impl<'a> PeelOption<'a> for Peel<'a, Value> {
    type Inside = Value;

    fn peel(&self) -> Option<&'a Value> {
        (!self.0.is_null()).then_some(self.0)
    }
}

/// Everything else.
pub trait PeelPlain<'a> {
    /// The value itself.
    type Inside: ?Sized;

    /// The value itself.
    fn peel(&self) -> Option<&'a Self::Inside>;
}

impl<'a, T: ?Sized> PeelPlain<'a> for &Peel<'a, T> {
    type Inside = T;

    fn peel(&self) -> Option<&'a T> {
        Some(self.0)
    }
}

/// What `[0]` can be taken from.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list, so `[0]` cannot be taken from it",
    label = "not a list"
)]
pub trait IndexPath<Item> {
    /// The element, where the list is that long.
    fn at(&self, index: usize) -> Option<&Item>;
}

#[diagnostic::do_not_recommend]
impl<T> IndexPath<T> for Vec<T> {
    fn at(&self, index: usize) -> Option<&T> {
        self.get(index)
    }
}

#[diagnostic::do_not_recommend]
impl<T, const N: usize> IndexPath<T> for [T; N] {
    fn at(&self, index: usize) -> Option<&T> {
        self.get(index)
    }
}

#[diagnostic::do_not_recommend]
impl IndexPath<Self> for Value {
    fn at(&self, index: usize) -> Option<&Self> {
        self.get(index)
    }
}

/// What `['key']` can be taken from.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no keys, so `['key']` cannot be taken from it",
    label = "not a map"
)]
pub trait KeyPath<Item> {
    /// The value of the key, where there is one.
    fn at_key(&self, key: &str) -> Option<&Item>;
}

#[diagnostic::do_not_recommend]
impl<T, S: std::hash::BuildHasher> KeyPath<T> for HashMap<String, T, S> {
    fn at_key(&self, key: &str) -> Option<&T> {
        self.get(key)
    }
}

#[diagnostic::do_not_recommend]
impl<T> KeyPath<T> for BTreeMap<String, T> {
    fn at_key(&self, key: &str) -> Option<&T> {
        self.get(key)
    }
}

#[diagnostic::do_not_recommend]
impl KeyPath<Self> for Value {
    fn at_key(&self, key: &str) -> Option<&Self> {
        self.get(key)
    }
}

/// A segment of a path through untyped JSON.
#[derive(Debug, Clone, Copy)]
pub enum Segment {
    /// `.field` or `['key']`.
    Key(&'static str),
    /// `[0]`.
    Index(usize),
}

/// Returns the value at the end of `path`; `null` counts as missing.
pub fn json_path<'a>(value: &'a Value, path: &[Segment]) -> Option<&'a Value> {
    let end = path
        .iter()
        .try_fold(value, |value, segment| match *segment {
            Segment::Key(key) => value.get(key),
            Segment::Index(index) => value.get(index),
        })?;
    (!end.is_null()).then_some(end)
}

/// What can be written into text: strings, numbers and `bool`s.
#[diagnostic::on_unimplemented(
    message = "a value of type `{Self}` cannot be written into text",
    label = "not text, a number or a `bool`",
    note = "continue to one of its fields, e.g. `.id`, or to an element of a list, e.g. `[0]`"
)]
pub trait Text {
    /// Writes the value.
    fn text(&self, out: &mut dyn fmt::Write) -> fmt::Result;

    /// Writes the value as it is: into a header, or as the start of a URL.
    fn write_raw(&self, out: &mut String) -> Result<(), Unmet> {
        self.text(out).map_err(unwritable)
    }

    /// Writes the value into a URL: everything is percent-encoded but the unreserved characters of
    /// RFC 3986 section 2.3 and `/`. In the path it makes no segment `.` or `..`, which would lead
    /// elsewhere; encoded ones do as well (<https://url.spec.whatwg.org/#double-dot-path-segment>).
    fn write_url(&self, out: &mut String) -> Result<(), Unmet> {
        let segment = out.rfind('/').map_or(0, |slash| slash + 1);
        let kept = b"-._~/";
        self.text(&mut PercentEncoded { out, kept })
            .map_err(unwritable)?;
        let mut segments = out.get(segment..).unwrap_or_default().split('/');
        match segments.find(|segment| [".", ".."].contains(segment)) {
            Some(dots) if !out.contains('?') => Err(Unmet::Invalid {
                reason: format!(
                    "{URL}{out}`: a value makes `{dots}` a segment, which leads elsewhere"
                ),
            }),
            _ => Ok(()),
        }
    }

    /// Writes the value into a query as the value of a name: everything is percent-encoded but the
    /// unreserved characters of RFC 3986 section 2.3.
    fn write_query(&self, out: &mut String) -> Result<(), Unmet> {
        let kept = b"-._~";
        self.text(&mut PercentEncoded { out, kept })
            .map_err(unwritable)
    }

    /// Writes the value into a form, as `application/x-www-form-urlencoded`.
    fn write_form(&self, out: &mut String) -> Result<(), Unmet> {
        self.text(&mut FormEncoded(out)).map_err(unwritable)
    }

    /// Writes the value into a JSON string.
    fn write_json(&self, out: &mut String) -> Result<(), Unmet> {
        self.text(&mut JsonEscaped(out)).map_err(unwritable)
    }
}

macro_rules! display_as_text {
    ($($number:ty)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Text for $number {
            fn text(&self, out: &mut dyn fmt::Write) -> fmt::Result {
                write!(out, "{self}")
            }
        }
    )*};
}
display_as_text!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 bool char);

#[diagnostic::do_not_recommend]
impl Text for str {
    fn text(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        out.write_str(self)
    }
}

#[diagnostic::do_not_recommend]
impl Text for String {
    fn text(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        out.write_str(self)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Text + ?Sized> Text for &T {
    fn text(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        (**self).text(out)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Text + ?Sized> Text for Box<T> {
    fn text(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        (**self).text(out)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Text + ToOwned + ?Sized> Text for std::borrow::Cow<'_, T> {
    fn text(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        (**self).text(out)
    }
}

#[diagnostic::do_not_recommend]
impl Text for Value {
    fn text(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        match self {
            Self::String(text) => out.write_str(text),
            other => write!(out, "{other}"),
        }
    }
}

#[diagnostic::do_not_recommend]
impl Text for Secret {
    fn text(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        out.write_str(self.expose())
    }
}

/// Writes a value as JSON.
pub fn json_value<T: serde::Serialize + ?Sized>(value: &T, out: &mut String) -> Result<(), Unmet> {
    let mut bytes = std::mem::take(out).into_bytes();
    let written = serde_json::to_writer(&mut bytes, value);
    *out = String::from_utf8(bytes).map_err(unwritable)?;
    written.map_err(unwritable)
}

fn unwritable(error: impl fmt::Display) -> Unmet {
    Unmet::Invalid {
        reason: error.to_string(),
    }
}

struct PercentEncoded<'a> {
    out: &'a mut String,
    /// The characters that stay besides letters and digits.
    kept: &'static [u8],
}

impl fmt::Write for PercentEncoded<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        const HEX: &[u8; 16] = b"0123456789ABCDEF";
        let mut plain = 0;
        for (at, byte) in text.bytes().enumerate() {
            if byte.is_ascii_alphanumeric() || self.kept.contains(&byte) {
                continue;
            }
            // what lies between is ASCII, so both of its ends are boundaries of characters
            self.out.push_str(text.get(plain..at).unwrap_or_default());
            self.out.push('%');
            for digit in [byte >> 4, byte & 15] {
                self.out.push(char::from(HEX[usize::from(digit)]));
            }
            plain = at + 1;
        }
        self.out.push_str(text.get(plain..).unwrap_or_default());
        Ok(())
    }
}

struct FormEncoded<'a>(&'a mut String);

impl fmt::Write for FormEncoded<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0
            .extend(form_urlencoded::byte_serialize(text.as_bytes()));
        Ok(())
    }
}

struct JsonEscaped<'a>(&'a mut String);

impl fmt::Write for JsonEscaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut plain = 0;
        for (at, byte) in text.bytes().enumerate() {
            if byte >= b' ' && byte != b'"' && byte != b'\\' {
                continue;
            }
            // what is escaped is ASCII, so both ends are boundaries of characters
            self.0.push_str(text.get(plain..at).unwrap_or_default());
            match byte {
                b'"' => self.0.push_str("\\\""),
                b'\\' => self.0.push_str("\\\\"),
                _ => write!(self.0, "\\u{byte:04x}")?,
            }
            plain = at + 1;
        }
        self.0.push_str(text.get(plain..).unwrap_or_default());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_value_climbs_out_of_its_place_in_a_path() {
        let write = |before: &str, value: &str| {
            let mut out = before.to_owned();
            value.write_url(&mut out).map(|()| out)
        };
        for (before, value) in [
            ("/orders/", ".."),
            ("/orders/", "../../admin"),
            ("/orders/", "a/./b"),
            ("/orders/.", "."),
            ("http://host/", "a/.."),
        ] {
            let written = write(before, value);
            assert!(matches!(written, Err(Unmet::Invalid { .. })), "{written:?}");
        }
        assert_eq!(
            write("/files/", "a..b/.c/..."),
            Ok("/files/a..b/.c/...".to_owned())
        );
        assert_eq!(
            write("/files/", "%2e%2e"),
            Ok("/files/%252e%252e".to_owned())
        );
        assert_eq!(
            write("/files?up=", "../.."),
            Ok("/files?up=../..".to_owned())
        );
    }

    fn percent_decoded(text: &str) -> String {
        // `+` is itself in a path
        let pair = format!("={}", text.replace('+', "%2B"));
        let (_, value) = form_urlencoded::parse(pair.as_bytes()).next().unwrap();
        value.into_owned()
    }

    const KEYS: [&str; 3] = ["a", "b", "a b"];

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-c]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 3, |inside| {
            let object = proptest::collection::vec(
                (proptest::sample::select(KEYS.as_slice()), inside.clone()),
                0..3,
            );
            prop_oneof![
                proptest::collection::vec(inside, 0..3).prop_map(Value::from),
                object.prop_map(|fields| {
                    let fields = fields
                        .into_iter()
                        .map(|(key, value)| (key.to_owned(), value));
                    Value::Object(fields.collect())
                }),
            ]
        })
    }

    fn segment() -> impl Strategy<Value = Segment> {
        prop_oneof![
            proptest::sample::select(KEYS.as_slice()).prop_map(Segment::Key),
            (0..3_usize).prop_map(Segment::Index),
        ]
    }

    fn walk<'a>(value: &'a Value, path: &[Segment]) -> Option<&'a Value> {
        let Some((first, rest)) = path.split_first() else {
            return if *value == Value::Null {
                None
            } else {
                Some(value)
            };
        };
        match (first, value) {
            (Segment::Key(key), Value::Object(fields)) => {
                let (_, inside) = fields.iter().find(|(name, _)| name == key)?;
                walk(inside, rest)
            }
            (Segment::Index(index), Value::Array(values)) => walk(values.get(*index)?, rest),
            _ => None,
        }
    }

    proptest! {
        #[test]
        fn text_in_a_json_string_reads_back_as_itself(text in any::<String>()) {
            let mut out = String::from("\"");
            text.write_json(&mut out).unwrap();
            out.push('"');
            prop_assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text);
        }

        #[test]
        fn a_value_in_a_query_reads_back_as_itself(before in any::<String>(), text in any::<String>()) {
            let mut url = String::from("http://host/p?a=");
            before.write_query(&mut url).unwrap();
            url.push_str("&b=");
            text.write_query(&mut url).unwrap();
            prop_assert!(http::Uri::try_from(url.as_str()).is_ok());
            let url = reqwest::Url::parse(&url).unwrap();
            let pairs: Vec<_> = url.query_pairs().into_owned().collect();
            prop_assert_eq!(pairs, [("a".to_owned(), before), ("b".to_owned(), text)]);
            prop_assert_eq!(url.fragment(), None);
        }

        #[test]
        fn a_value_in_the_url_of_a_step_stays_in_its_place(text in any::<String>()) {
            prop_assume!(!text.split('/').any(|segment| [".", ".."].contains(&segment)));
            let mut url = String::from("http://host/p/");
            text.write_url(&mut url).unwrap();
            url.push_str("?b=");
            text.write_url(&mut url).unwrap();
            let url = reqwest::Url::parse(&url).unwrap();
            let back = percent_decoded(url.path());
            prop_assert_eq!(back, format!("/p/{text}"));
            let pairs: Vec<_> = url.query_pairs().into_owned().collect();
            prop_assert_eq!(pairs, [("b".to_owned(), text)]);
        }

        #[test]
        fn a_value_in_a_form_reads_back_as_itself(text in any::<String>()) {
            let mut form = String::from("a=");
            text.write_form(&mut form).unwrap();
            form.push_str("&b=1");
            let pairs: Vec<_> = form_urlencoded::parse(form.as_bytes()).into_owned().collect();
            prop_assert_eq!(
                pairs,
                [("a".to_owned(), text), ("b".to_owned(), "1".to_owned())]
            );
        }

        #[test]
        fn a_path_ends_where_a_walk_by_hand_does(
            value in json(),
            path in proptest::collection::vec(segment(), 0..4),
        ) {
            prop_assert_eq!(json_path(&value, &path), walk(&value, &path));
        }

        #[test]
        fn text_in_a_url_is_always_a_valid_path(text in any::<String>()) {
            let mut out = String::from("/");
            prop_assume!(!text.split('/').any(|segment| [".", ".."].contains(&segment)));
            text.write_url(&mut out).unwrap();
            prop_assert!(http::uri::PathAndQuery::try_from(out.as_str()).is_ok());
            prop_assert!(!out.contains(['?', '#', '&', ' ']));
        }
    }
}
