//! Types of answers: the fields that references need, with the types of recorded values.

use super::comment;
use super::literal::quote_text;
use crate::import::naming;
use crate::import::recording::{Key, Origin, Recording};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

/// Deeper values are looked up at run time.
const DEEPEST: usize = 16;
/// The most items of a list that are looked at.
const MOST_ITEMS: usize = 1000;
/// The most unused fields that are listed.
const MOST_LISTED: usize = 8;

/// The type of a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    Struct(String, Vec<StructField>),
    List(Box<Shape>),
    Text,
    /// `u64`, `i64`, `f64` or `bool`.
    Plain(&'static str),
    /// `Value`.
    Any,
}

/// A field of a type.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StructField {
    /// Its key in JSON.
    pub(super) key: String,
    /// Its name in Rust, without `r#`.
    pub(super) name: String,
    /// True where a recorded value does not have it.
    pub(super) is_optional: bool,
    pub(super) shape: Shape,
}

impl Shape {
    /// Returns the name of the type.
    pub(super) fn type_name(&self) -> String {
        match self {
            Self::Struct(name, _) => name.clone(),
            Self::List(item) => format!("Vec<{}>", item.type_name()),
            Self::Text => "String".to_owned(),
            Self::Plain(ty) => (*ty).to_owned(),
            Self::Any => "Value".to_owned(),
        }
    }

    /// Returns the name of the type behind a `&`.
    pub(super) fn borrowed_type(&self) -> String {
        match self {
            Self::List(item) => format!("[{}]", item.type_name()),
            Self::Text => "str".to_owned(),
            shape => shape.type_name(),
        }
    }

    /// Returns the field with a key.
    pub(super) fn field(&self, key: &str) -> Option<&StructField> {
        match self {
            Self::Struct(_, fields) => fields.iter().find(|field| field.key == key),
            _ => None,
        }
    }
}

/// The type of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum AnswerType {
    /// JSON.
    Json(Shape),
    /// Text that is searched.
    Text,
}

impl AnswerType {
    /// Returns the name of the type.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Json(shape) => shape.type_name(),
            Self::Text => "String".to_owned(),
        }
    }
}

/// All types of a source.
#[derive(Default)]
pub(super) struct Types {
    /// The types of answers, by the number of the exchange.
    pub(super) answers: HashMap<usize, AnswerType>,
    /// Their definitions, in the order of the steps.
    pub(super) source: String,
}

/// Plans types, of which no two have one name.
struct TypePlanner {
    used: HashSet<String>,
    /// The names of definitions by their content.
    known: HashMap<(String, String), String>,
    source: String,
}

impl Types {
    /// Plans the types that references need; `names` are those of the steps, in their order.
    pub(super) fn new(
        recording: &Recording,
        references: &BTreeSet<usize>,
        names: &[(usize, String)],
    ) -> Self {
        let mut paths: HashMap<usize, Vec<&[Key]>> = HashMap::new();
        let mut texts = HashSet::new();
        for at in references {
            match &recording.references[*at].from {
                Origin::Body { exchange, path } => {
                    paths.entry(*exchange).or_default().push(path);
                }
                Origin::Between { exchange, .. } => {
                    texts.insert(*exchange);
                }
                Origin::Header { .. } | Origin::Part { .. } | Origin::Link { .. } => {}
            }
        }
        let mut planner = TypePlanner {
            used: HashSet::new(),
            known: HashMap::new(),
            source: String::new(),
        };
        let mut answers = HashMap::new();
        for (exchange, name) in names {
            if texts.contains(exchange) {
                answers.insert(*exchange, AnswerType::Text);
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
            let wanted = naming::type_name(naming::unnumbered(name), is_one);
            let whose = match body {
                Some(Value::Array(_)) => format!("An item of the answer to `{name}`"),
                _ => format!("The answer to `{name}`"),
            };
            let shape = if paths.iter().any(|path| path.len() > DEEPEST) {
                Shape::Any
            } else {
                planner.shape(paths, &seen, &wanted, &whose)
            };
            // Only JSON is read into these: text would have its quotes.
            let shape = match shape {
                Shape::Text | Shape::Plain(_) => Shape::Any,
                shape => shape,
            };
            answers.insert(*exchange, AnswerType::Json(shape));
        }
        Self {
            answers,
            source: planner.source,
        }
    }
}

impl TypePlanner {
    fn shape(&mut self, paths: &[&[Key]], seen: &[&Value], wanted: &str, whose: &str) -> Shape {
        if paths.iter().any(|path| path.is_empty()) {
            return if paths.iter().all(|path| path.is_empty()) {
                leaf_shape(seen)
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
            let field = naming::field_name(key);
            let ty = naming::type_name(&field, is_list);
            let whose = if is_list {
                format!("An item of `{field}` of `{name}`")
            } else {
                format!("The `{field}` of `{name}`")
            };
            fields.push(StructField {
                key: (*key).to_owned(),
                name: naming::unique(&field, &mut names),
                is_optional: found.len() < seen.len(),
                shape: self.shape(paths, &found, &ty, &whose),
            });
        }
        let (begin, body) = (render_attributes(&fields), render_fields(&fields));
        let key = (wanted.to_owned(), format!("{begin}{body}"));
        let name = if let Some(known) = self.known.get(&key) {
            self.used.remove(&name);
            known.clone()
        } else {
            let mut source = String::new();
            let others = unused_fields(seen, &needed);
            let also = if others.is_empty() {
                String::new()
            } else {
                format!("; not used: {}", comment::list_names(&others, MOST_LISTED))
            };
            comment::write_comment(&mut source, "///", &format!("{whose}{also}."));
            let _ = write!(source, "{begin}struct {name} {{\n{body}}}\n\n");
            self.source.insert_str(place, &source);
            self.known.insert(key, name.clone());
            name
        };
        Shape::Struct(name, fields)
    }
}

/// Returns the type of a value that is used as a whole.
fn leaf_shape(seen: &[&Value]) -> Shape {
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
        match leaf_shape(&items) {
            Shape::Any => Shape::Any,
            item => Shape::List(Box::new(item)),
        }
    } else {
        Shape::Any
    }
}

/// Renders the fields of a type.
fn render_fields(fields: &[StructField]) -> String {
    let mut body = String::new();
    let is_camel = is_camel(fields);
    for field in fields {
        if field.key != field.name && !is_camel {
            let _ = writeln!(body, "    #[serde(rename = {})]", quote_text(&field.key));
        }
        let ty = field.shape.type_name();
        let ty = if field.is_optional {
            format!("Option<{ty}>")
        } else {
            ty
        };
        let _ = writeln!(body, "    {}: {ty},", identifier(&field.name));
    }
    body
}

fn render_attributes(fields: &[StructField]) -> &'static str {
    if is_camel(fields) {
        "#[response]\n#[serde(rename_all = \"camelCase\")]\n"
    } else {
        "#[response]\n"
    }
}

/// Returns true where all keys are the names in camel case, and some differ from the names.
fn is_camel(fields: &[StructField]) -> bool {
    fields
        .iter()
        .all(|field| camel_case(&field.name) == field.key)
        && fields.iter().any(|field| field.name != field.key)
}

/// Returns a name in camel case, as serde does.
fn camel_case(name: &str) -> String {
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

/// Returns a name as it is written in code.
pub(super) fn identifier(name: &str) -> String {
    if naming::is_keyword(name) {
        format!("r#{name}")
    } else {
        name.to_owned()
    }
}

/// Returns the recorded fields that no reference needs.
fn unused_fields(seen: &[&Value], needed: &[(&str, Vec<&[Key]>)]) -> Vec<String> {
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
        if order.len() > 10 * MOST_LISTED {
            break;
        }
    }
    order
}

/// Returns a path through an answer as templates have it, where they can.
pub(super) fn path_in_template(shape: &Shape, path: &[Key], is_in_text: bool) -> Option<String> {
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
                written.push_str(&quote_key(key, is_free, is_in_text)?);
                shape = None;
            }
        }
    }
    Some(written)
}

/// Returns a key as templates have it: `.key`, `['a key']`.
pub(super) fn quote_key(key: &str, is_free: bool, is_in_text: bool) -> Option<String> {
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
    let literal = quote_text(key);
    (literal.len() == key.len() + 2).then(|| format!("[{literal}]"))
}
