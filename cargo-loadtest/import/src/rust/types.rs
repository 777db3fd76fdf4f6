//! Types of answers: the fields that references need, with the types of recorded values.

use super::checks::checked_shape;
use super::comment;
use super::feeds::{RowType, plan_rows};
use super::layout::quote_text;
use super::partition::Scenario;
use crate::naming;
use crate::recording::{Exchange, Key, Origin, Recording};
use heck::ToLowerCamelCase as _;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

/// The type of a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    Struct(String, Vec<StructField>),
    List(Box<Shape>),
    Text,
    /// `Page`.
    Page,
    /// `Events<Value>` or `Events<String>`.
    Events(&'static str),
    /// `Socket<Value>` or `Socket<String>`.
    Socket(&'static str),
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
            Self::Page => "Page".to_owned(),
            Self::Events(item) => format!("Events<{item}>"),
            Self::Socket(item) => format!("Socket<{item}>"),
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

    /// Returns the type of an answer that goes on.
    fn of_messages(exchange: &Exchange) -> Option<Self> {
        let item = |is_text| if is_text { "String" } else { "Value" };
        let socket = exchange.socket.as_ref();
        let socket = socket.map(|socket| Self::Socket(item(socket.is_text)));
        let stream = exchange.stream.as_ref();
        socket.or_else(|| stream.map(|stream| Self::Events(item(stream.is_text))))
    }

    /// Returns the field with a key.
    pub(super) fn field(&self, key: &str) -> Option<&StructField> {
        match self {
            Self::Struct(_, fields) => fields.iter().find(|field| field.key == key),
            _ => None,
        }
    }
}

/// All types of a source.
#[derive(Default)]
pub(super) struct Types {
    /// The types of answers, by the number of the exchange; those of texts that are searched are [`Shape::Text`] and
    /// [`Shape::Page`].
    pub(super) answers: HashMap<usize, Shape>,
    /// The exchanges whose checks read the body.
    pub(super) checked: HashSet<usize>,
    /// The types of rows, by the number of the feed.
    pub(super) rows: HashMap<usize, RowType>,
    /// Their definitions, in the order of the steps.
    pub(super) source: String,
}

/// Plans types, of which no two have one name.
#[derive(Default)]
struct TypePlanner {
    used: HashSet<String>,
    source: String,
}

impl Types {
    /// Plans the types that the references of scenarios need.
    pub(super) fn new(recording: &Recording, scenarios: &[Scenario]) -> Self {
        let references = scenarios
            .iter()
            .flat_map(|scenario| scenario.references(recording));
        let references: BTreeSet<usize> = references.collect();
        let mut paths: HashMap<usize, Vec<&[Key]>> = HashMap::new();
        let mut answers = HashMap::new();
        for at in references {
            match &recording.references[at].from {
                Origin::Body { exchange, path } => paths.entry(*exchange).or_default().push(path),
                Origin::Page { exchange, .. } => {
                    answers.insert(*exchange, Shape::Page);
                }
                Origin::Between { exchange, .. } => {
                    answers.entry(*exchange).or_insert(Shape::Text);
                }
                Origin::Header { .. } | Origin::Part { .. } => {}
            }
        }
        let numbers = scenarios.iter().flat_map(|scenario| &scenario.steps);
        let going_on = numbers.filter_map(|number| {
            let exchange = &recording.exchanges[*number];
            Some((*number, Shape::of_messages(exchange)?))
        });
        answers.extend(going_on);
        let mut checked = HashSet::new();
        for number in scenarios.iter().flat_map(|scenario| &scenario.steps) {
            if let Some(shape) = checked_shape(&recording.exchanges[*number]) {
                checked.insert(*number);
                if shape == Shape::Any && paths.contains_key(number) || !paths.contains_key(number)
                {
                    answers.entry(*number).or_insert(shape);
                }
            }
        }
        let steps = scenarios.iter().flat_map(|scenario| {
            let steps = scenario.steps.iter();
            steps.map(|number| (number, &scenario.names[number]))
        });
        let mut planner = TypePlanner::default();
        for (number, name) in steps {
            let Some(paths) = paths.get(number).filter(|_| !answers.contains_key(number)) else {
                continue;
            };
            let exchange = &recording.exchanges[*number];
            let body = exchange.answer.as_ref().map(|answer| &*answer.body);
            let body: Option<Value> = body.and_then(|body| serde_json::from_slice(body).ok());
            let is_list = matches!(body, Some(Value::Array(_)));
            let is_one = is_list || exchange.method != "GET";
            let wanted = naming::type_name(naming::unnumbered(name), is_one);
            let begin = if is_list { "An item of the" } else { "The" };
            let whose = format!("{begin} answer to `{name}`");
            let seen: Vec<&Value> = body.iter().collect();
            let shape = match planner.shape(paths, &seen, &wanted, &whose) {
                // Only JSON is read into these: text would have its quotes.
                Shape::Text | Shape::Page | Shape::Plain(_) => Shape::Any,
                shape => shape,
            };
            answers.insert(*number, shape);
        }
        let rows = plan_rows(recording, &mut planner.used, &mut planner.source);
        Self {
            answers,
            checked,
            rows,
            source: planner.source,
        }
    }
}

impl TypePlanner {
    fn shape(&mut self, paths: &[&[Key]], seen: &[&Value], wanted: &str, whose: &str) -> Shape {
        if paths.iter().all(|path| path.is_empty()) {
            return leaf_shape(seen);
        }
        let all_begin =
            |is: fn(&Key) -> bool| paths.iter().all(|path| path.first().is_some_and(is));
        let are_fields = all_begin(|key| matches!(key, Key::Field(_)));
        if are_fields && seen.iter().all(|value| value.is_object()) {
            return self.structure(paths, seen, wanted, whose);
        }
        let are_items = all_begin(|key| matches!(key, Key::Item(_)));
        if are_items && seen.iter().all(|value| value.is_array()) {
            let rest: Vec<&[Key]> = paths.iter().map(|path| &path[1..]).collect();
            let items = items_of(seen);
            let item = if items.iter().any(|item| item.is_null()) {
                Shape::Any
            } else {
                self.shape(&rest, &items, wanted, whose)
            };
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
            let values = seen.iter().filter_map(|value| value.get(key));
            let found: Vec<&Value> = values.filter(|value| !value.is_null()).collect();
            let mut paths_begin = paths.iter().map(|path| path.first());
            let is_list = paths_begin.any(|key| matches!(key, Some(Key::Item(_))));
            let field = naming::field_name(key);
            let ty = naming::type_name(&field, is_list);
            let begin = if is_list { "An item of `" } else { "The `" };
            let whose = format!("{begin}{field}` of `{name}`");
            fields.push(StructField {
                key: (*key).to_owned(),
                name: naming::unique(&field, &mut names),
                is_optional: found.len() < seen.len(),
                shape: self.shape(paths, &found, &ty, &whose),
            });
        }
        let (attribute, body) = render_fields(&fields);
        let mut source = String::new();
        comment::write_comment(&mut source, "///", &format!("{whose}."));
        let definition = format!("struct {name} {{\n{body}}}\n\n");
        let _ = write!(source, "#[response]\n{attribute}{definition}");
        self.source.insert_str(place, &source);
        Shape::Struct(name, fields)
    }
}

/// Returns the type of a value that is used as a whole.
fn leaf_shape(seen: &[&Value]) -> Shape {
    let all = |is: fn(&Value) -> bool| seen.iter().all(|value| is(value));
    match () {
        () if seen.is_empty() => Shape::Any,
        () if all(Value::is_string) => Shape::Text,
        () if all(Value::is_boolean) => Shape::Plain("bool"),
        () if all(Value::is_u64) => Shape::Plain("u64"),
        () if all(Value::is_i64) => Shape::Plain("i64"),
        () if all(Value::is_number) => Shape::Plain("f64"),
        () if all(Value::is_array) => match leaf_shape(&items_of(seen)) {
            Shape::Any => Shape::Any,
            item => Shape::List(Box::new(item)),
        },
        () => Shape::Any,
    }
}

/// Returns the items of all lists.
fn items_of<'v>(seen: &[&'v Value]) -> Vec<&'v Value> {
    let lists = seen.iter().filter_map(|value| value.as_array());
    lists.flatten().collect()
}

/// Renders the attribute of a type and its fields.
fn render_fields(fields: &[StructField]) -> (&'static str, String) {
    let is_camel = fields
        .iter()
        .all(|field| field.name.to_lower_camel_case() == field.key)
        && fields.iter().any(|field| field.name != field.key);
    let mut body = String::new();
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
    let attribute = if is_camel {
        "#[serde(rename_all = \"camelCase\")]\n"
    } else {
        ""
    };
    (attribute, body)
}

/// Returns a name as it is written in code.
pub(super) fn identifier(name: &str) -> String {
    if naming::is_keyword(name) {
        format!("r#{name}")
    } else {
        name.to_owned()
    }
}

/// Returns a path through an answer as templates have it, where they can.
pub(super) fn path_in_template(shape: &Shape, path: &[Key], is_in_text: bool) -> Option<String> {
    let mut written = String::new();
    let mut shape = Some(shape);
    // In an answer that is not typed at all, a field may have any name.
    let is_free = shape == Some(&Shape::Any);
    for key in path {
        shape = match (key, shape) {
            (Key::Field(key), Some(known @ Shape::Struct(..))) => {
                let field = known.field(key)?;
                let _ = write!(written, ".{}", field.name);
                Some(&field.shape)
            }
            (Key::Field(key), _) => {
                written.push_str(&quote_key(key, is_free, is_in_text)?);
                None
            }
            (Key::Item(at), list) => {
                let _ = write!(written, "[{at}]");
                match list {
                    Some(Shape::List(item)) => Some(item),
                    _ => None,
                }
            }
        };
    }
    Some(written)
}

/// Returns a key as templates have it: `.key`, `['a key']`.
fn quote_key(key: &str, is_free: bool, is_in_text: bool) -> Option<String> {
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
