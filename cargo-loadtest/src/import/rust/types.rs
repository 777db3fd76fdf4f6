//! The types of answers: what references need of them, as it was seen.

use super::super::marked::{Key, Origin, Recording};
use super::super::naming;
use super::comment;
use super::literal::text;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

/// Beyond it a value is looked up at run time.
const DEEPEST: usize = 16;
/// The most items of a list that are looked at.
const MOST_ITEMS: usize = 1000;
/// How many fields are told that nobody needs.
const MOST_TOLD: usize = 8;

/// What a value is read into.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    Struct(String, Vec<Field>),
    List(Box<Shape>),
    Text,
    /// `u64`, `i64`, `f64` or `bool`.
    Plain(&'static str),
    /// Whatever it is.
    Any,
}

/// A field of a type.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    /// Its key in JSON.
    pub(super) key: String,
    /// Its name in Rust, without `r#`.
    pub(super) name: String,
    /// Whether it was not in all that was seen.
    pub(super) is_optional: bool,
    pub(super) shape: Shape,
}

impl Shape {
    /// The type, as it is written.
    pub(super) fn ty(&self) -> String {
        match self {
            Self::Struct(name, _) => name.clone(),
            Self::List(item) => format!("Vec<{}>", item.ty()),
            Self::Text => "String".to_owned(),
            Self::Plain(ty) => (*ty).to_owned(),
            Self::Any => "Value".to_owned(),
        }
    }

    /// The same behind a `&`.
    pub(super) fn lent(&self) -> String {
        match self {
            Self::List(item) => format!("[{}]", item.ty()),
            Self::Text => "str".to_owned(),
            shape => shape.ty(),
        }
    }

    /// The field with that key.
    pub(super) fn field(&self, key: &str) -> Option<&Field> {
        match self {
            Self::Struct(_, fields) => fields.iter().find(|field| field.key == key),
            _ => None,
        }
    }
}

/// What is read of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Read {
    /// JSON.
    Json(Shape),
    /// Text, in which something is looked for.
    Text,
}

impl Read {
    pub(super) fn ty(&self) -> String {
        match self {
            Self::Json(shape) => shape.ty(),
            Self::Text => "String".to_owned(),
        }
    }

    pub(super) fn lent(&self) -> String {
        match self {
            Self::Json(shape) => shape.lent(),
            Self::Text => "str".to_owned(),
        }
    }
}

/// All types of a source.
#[derive(Default)]
pub(super) struct Types {
    /// What is read of which answer.
    pub(super) answers: HashMap<usize, Read>,
    /// Their definitions, in the order of the steps.
    pub(super) source: String,
}

/// What is being made.
struct Maker {
    used: HashSet<String>,
    /// The definitions that are there, without their names and comments.
    known: HashMap<(String, String), String>,
    source: String,
}

impl Types {
    /// The types that these references need; `names` are those of the steps, in their order.
    pub(super) fn new(
        recording: &Recording,
        references: &BTreeSet<usize>,
        names: &[(usize, String)],
    ) -> Self {
        let mut paths: HashMap<usize, Vec<&[Key]>> = HashMap::new();
        let mut texts = HashSet::new();
        for at in references {
            match recording.references[*at].from.root() {
                Origin::Body { exchange, path } => {
                    paths.entry(*exchange).or_default().push(path);
                }
                Origin::Between { exchange, .. } => {
                    texts.insert(*exchange);
                }
                Origin::Header { .. }
                | Origin::Part { .. }
                | Origin::Link { .. }
                | Origin::Within { .. }
                | Origin::Row { .. } => {}
            }
        }
        let mut maker = Maker {
            used: HashSet::new(),
            known: HashMap::new(),
            source: String::new(),
        };
        let mut answers = HashMap::new();
        for (exchange, name) in names {
            if texts.contains(exchange) {
                answers.insert(*exchange, Read::Text);
                continue;
            }
            let Some(paths) = paths.get(exchange) else {
                continue;
            };
            let exchange_answer = recording.exchanges[*exchange].answer.as_ref();
            let body: Option<Value> =
                exchange_answer.and_then(|answer| serde_json::from_slice(&answer.body).ok());
            let seen: Vec<&Value> = body.iter().collect();
            let method = recording.exchanges[*exchange].method.as_str();
            let is_one = method != "GET" || matches!(body, Some(Value::Array(_)));
            let wanted = naming::of_type(naming::unnumbered(name), is_one);
            let whose = match body {
                Some(Value::Array(_)) => format!("One of what `{name}` answers"),
                _ => format!("What `{name}` answers"),
            };
            let shape = if paths.iter().any(|path| path.len() > DEEPEST) {
                Shape::Any
            } else {
                maker.shape(paths, &seen, &wanted, &whose)
            };
            // Only JSON is read into these: text would have its quotes.
            let shape = match shape {
                Shape::Text | Shape::Plain(_) => Shape::Any,
                shape => shape,
            };
            answers.insert(*exchange, Read::Json(shape));
        }
        Self {
            answers,
            source: maker.source,
        }
    }
}

impl Maker {
    fn shape(&mut self, paths: &[&[Key]], seen: &[&Value], wanted: &str, whose: &str) -> Shape {
        if paths.iter().any(|path| path.is_empty()) {
            return if paths.iter().all(|path| path.is_empty()) {
                leaf(seen)
            } else {
                Shape::Any
            };
        }
        let begins_with_field = |path: &&[Key]| matches!(path.first(), Some(Key::Field(_)));
        if paths.iter().all(begins_with_field) && seen.iter().all(|value| value.is_object()) {
            return self.structure(paths, seen, wanted, whose);
        }
        let is_list = !paths.iter().any(begins_with_field);
        if is_list && seen.iter().all(|value| value.is_array()) {
            let rest: Vec<&[Key]> = paths.iter().map(|path| &path[1..]).collect();
            let items = seen.iter().filter_map(|value| value.as_array()).flatten();
            let items: Vec<&Value> = items.take(MOST_ITEMS).collect();
            if items.iter().any(|item| item.is_null()) {
                return Shape::List(Box::new(Shape::Any));
            }
            let item = self.shape(&rest, &items, wanted, whose);
            return Shape::List(Box::new(item));
        }
        Shape::Any
    }

    fn structure(&mut self, paths: &[&[Key]], seen: &[&Value], wanted: &str, whose: &str) -> Shape {
        let mut needed: Vec<(&str, Vec<&[Key]>)> = Vec::new();
        for path in paths {
            let Some((Key::Field(key), rest)) = path.split_first() else {
                continue;
            };
            match needed.iter_mut().find(|(known, _)| known == key) {
                Some((_, paths)) => paths.push(rest),
                None => needed.push((key, vec![rest])),
            }
        }
        let mut names = HashSet::new();
        let mut fields = Vec::new();
        // The type itself has its name before those of its fields, and is written above them.
        let name = naming::unique_type(wanted, &mut self.used);
        let place = self.source.len();
        for (key, paths) in &needed {
            let values = || seen.iter().map(|value| value.get(key));
            let found: Vec<&Value> = values()
                .flatten()
                .filter(|value| !value.is_null())
                .collect();
            let is_list = paths
                .iter()
                .any(|path| matches!(path.first(), Some(Key::Item(_))));
            let field = naming::field(key);
            let ty = naming::of_type(&field, is_list);
            let whose = if is_list {
                format!("One of the `{field}` of `{name}`")
            } else {
                format!("The `{field}` of `{name}`")
            };
            fields.push(Field {
                key: (*key).to_owned(),
                name: naming::unique(&field, &mut names),
                is_optional: found.len() < seen.len(),
                shape: self.shape(paths, &found, &ty, &whose),
            });
        }
        let (begin, body) = (attributes(&fields), definition(&fields));
        let key = (wanted.to_owned(), format!("{begin}{body}"));
        let name = if let Some(known) = self.known.get(&key) {
            self.used.remove(&name);
            known.clone()
        } else {
            let mut source = String::new();
            let others = others(seen, &needed);
            let also = if others.is_empty() {
                String::new()
            } else {
                format!("; {} there too", others_are(&others))
            };
            comment::write(&mut source, "///", &format!("{whose}{also}."));
            let _ = write!(source, "{begin}struct {name} {{\n{body}}}\n\n");
            self.source.insert_str(place, &source);
            self.known.insert(key, name.clone());
            name
        };
        Shape::Struct(name, fields)
    }
}

/// What a value that is used as it is, is read into.
fn leaf(seen: &[&Value]) -> Shape {
    let all = |is: fn(&Value) -> bool| seen.iter().all(|value| is(value));
    if seen.is_empty() {
        Shape::Any
    } else if all(Value::is_string) {
        Shape::Text
    } else if all(Value::is_boolean) {
        Shape::Plain("bool")
    } else if all(Value::is_u64) {
        Shape::Plain("u64")
    } else if all(|value| value.is_i64() || value.is_u64()) && all(|value| value.as_i64().is_some())
    {
        Shape::Plain("i64")
    } else if all(Value::is_number) {
        Shape::Plain("f64")
    } else if all(Value::is_array) {
        let items = seen.iter().filter_map(|value| value.as_array()).flatten();
        let items: Vec<&Value> = items.take(MOST_ITEMS).collect();
        match leaf(&items) {
            Shape::Any => Shape::Any,
            item => Shape::List(Box::new(item)),
        }
    } else {
        Shape::Any
    }
}

/// The fields, as they are written.
fn definition(fields: &[Field]) -> String {
    let mut body = String::new();
    let is_camel = is_camel(fields);
    for field in fields {
        if field.key != field.name && !is_camel {
            let _ = writeln!(body, "    #[serde(rename = {})]", text(&field.key));
        }
        let ty = field.shape.ty();
        let ty = if field.is_optional {
            format!("Option<{ty}>")
        } else {
            ty
        };
        let _ = writeln!(body, "    {}: {ty},", identifier(&field.name));
    }
    body
}

fn attributes(fields: &[Field]) -> &'static str {
    if is_camel(fields) {
        "#[response]\n#[serde(rename_all = \"camelCase\")]\n"
    } else {
        "#[response]\n"
    }
}

/// Whether all keys are those of the names in camel case, and some differ from these.
fn is_camel(fields: &[Field]) -> bool {
    fields.iter().all(|field| camel(&field.name) == field.key)
        && fields.iter().any(|field| field.name != field.key)
}

/// As serde has it.
fn camel(name: &str) -> String {
    let mut camel = String::new();
    let mut begins = false;
    for letter in name.chars() {
        if letter == '_' {
            begins = !camel.is_empty();
        } else if begins {
            camel.push(letter.to_ascii_uppercase());
            begins = false;
        } else {
            camel.push(letter);
        }
    }
    camel
}

/// A name as it stands in code.
pub(super) fn identifier(name: &str) -> String {
    if naming::is_keyword(name) {
        format!("r#{name}")
    } else {
        name.to_owned()
    }
}

/// The fields that were seen, and that nobody needs.
fn others(seen: &[&Value], needed: &[(&str, Vec<&[Key]>)]) -> Vec<String> {
    let mut others: BTreeSet<&str> = BTreeSet::new();
    let mut order = Vec::new();
    for value in seen.iter().filter_map(|value| value.as_object()) {
        for key in value.keys() {
            let is_needed = needed.iter().any(|(known, _)| known == key);
            let is_short = key.chars().count() <= 40 && !key.contains('`');
            if !is_needed && is_short && others.insert(key) {
                order.push(format!("`{key}`"));
            }
        }
        if order.len() > 10 * MOST_TOLD {
            break;
        }
    }
    order
}

fn others_are(others: &[String]) -> String {
    let verb = if others.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", comment::listed(others, MOST_TOLD))
}

/// How a path through an answer is written in a template; nothing where it cannot be.
pub(super) fn template_path(shape: &Shape, path: &[Key], is_in_text: bool) -> Option<String> {
    let mut written = String::new();
    let mut shape = Some(shape);
    // In an answer that is not typed at all, a field may have any name.
    let is_free = shape == Some(&Shape::Any);
    for key in path {
        match (key, shape) {
            (Key::Item(at), Some(Shape::List(item))) => {
                let _ = write!(written, "[{at}]");
                shape = Some(item);
            }
            (Key::Item(at), _) => {
                let _ = write!(written, "[{at}]");
                shape = None;
            }
            (Key::Field(key), Some(known @ Shape::Struct(..))) => {
                let field = known.field(key)?;
                let _ = write!(written, ".{}", field.name);
                shape = Some(&field.shape);
            }
            (Key::Field(key), _) => {
                written.push_str(&key_path(key, is_free, is_in_text)?);
                shape = None;
            }
        }
    }
    Some(written)
}

/// `.key`, `['a key']`.
pub(super) fn key_path(key: &str, is_free: bool, is_in_text: bool) -> Option<String> {
    let is_word = key.starts_with(|first: char| first.is_ascii_alphabetic())
        && key
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if is_word && is_free {
        return Some(format!(".{key}"));
    }
    if key.contains([']', '\n', '\r']) || key.contains("{{") || key.contains("}}") {
        return None;
    }
    if is_in_text {
        return Some(format!("['{key}']"));
    }
    let literal = text(key);
    (literal.len() == key.len() + 2).then(|| format!("[{literal}]"))
}

/// A word for a value, for names and for people: the last key on the way to it.
pub(super) fn last_key(path: &[Key]) -> Option<&str> {
    path.iter().rev().find_map(|key| match key {
        Key::Field(key) => Some(key.as_str()),
        Key::Item(_) => None,
    })
}
