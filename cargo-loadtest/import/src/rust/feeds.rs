//! Test data: the types of rows, and the functions that give them.

use super::layout::{quote_code, quote_text};
use super::scope::Scope;
use super::types::identifier;
use crate::naming;
use crate::recording::{Exchange, FeedOrder, FeedSource, Piece, Recording, RunValue, Text};
use crate::text::{find_pair, quote_name};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

/// The type of the rows of a feed.
#[derive(Debug)]
pub(super) enum RowType {
    /// The whole row is the value.
    Whole(&'static str),
    /// A type with a field for each column that is used.
    Columns {
        name: String,
        /// Columns, each with its field.
        fields: Vec<(String, String)>,
        is_text: bool,
    },
}

impl RowType {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Whole(name) => name,
            Self::Columns { name, .. } => name,
        }
    }

    /// Returns a row as an expression.
    fn literal(&self, row: &[(String, String)]) -> String {
        let Self::Columns { name, fields, .. } = self else {
            return "json!(null)".to_owned();
        };
        let fields = fields.iter().map(|(column, field)| {
            let value = find_pair(row, column).map_or("", String::as_str);
            format!("{}: {}.to_owned()", identifier(field), quote_code(value))
        });
        format!("{name} {{ {} }}", fields.collect::<Vec<_>>().join(", "))
    }

    /// Returns the field of a column.
    fn field(&self, column: Option<&str>) -> Option<&str> {
        let Self::Columns { fields, .. } = self else {
            return None;
        };
        find_pair(fields, column?).map(String::as_str)
    }

    /// Returns the path of a column between the braces of a template.
    pub(super) fn path(&self, feed: &str, column: Option<&str>) -> String {
        match (self.field(column), column) {
            (Some(field), _) => format!("{feed}.{field}"),
            (None, Some(column)) => format!("{feed}['{column}']"),
            (None, None) => feed.to_owned(),
        }
    }

    /// Returns an expression for a column, and true where it is a `&str`.
    pub(super) fn code(&self, feed: &str, column: Option<&str>) -> (String, bool) {
        match (self, self.field(column), column) {
            (Self::Columns { is_text: true, .. }, Some(field), _) => {
                (format!("{feed}.{}.as_str()", identifier(field)), true)
            }
            (_, Some(field), _) => (format!("{feed}.{}.as_str()?", identifier(field)), true),
            (_, None, Some(column)) => (
                format!("{feed}.get({})?.as_str()?", quote_code(column)),
                true,
            ),
            (Self::Whole("Value"), None, None) => (format!("{feed}.as_str()?"), true),
            (Self::Whole("String"), None, None) => (format!("{feed}.as_str()"), true),
            _ => (feed.to_owned(), false),
        }
    }
}

/// Returns the feeds of exchanges, each with the columns that these use.
fn used_columns<'a>(
    exchanges: impl IntoIterator<Item = &'a Exchange>,
) -> BTreeMap<usize, Vec<Option<&'a str>>> {
    let texts = exchanges.into_iter().flat_map(Exchange::texts);
    let mut used: BTreeMap<usize, Vec<Option<&str>>> = BTreeMap::new();
    for piece in texts.flat_map(Text::pieces) {
        if let Piece::Run(RunValue::Row { feed, column }) = piece {
            let columns = used.entry(*feed).or_default();
            let column = column.as_deref();
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
    }
    used
}

/// Plans the types of rows, and writes their definitions.
pub(super) fn plan_rows(
    recording: &Recording,
    used: &mut HashSet<String>,
    source: &mut String,
) -> HashMap<usize, RowType> {
    let mut types = HashMap::new();
    for (number, columns) in used_columns(&recording.exchanges) {
        let feed = &recording.feeds[number];
        let columns: Option<Vec<&str>> = columns.into_iter().collect();
        let ty = match (&feed.source, columns) {
            (FeedSource::Numbers(..), _) => RowType::Whole("i64"),
            (FeedSource::Texts(_), _) => RowType::Whole("String"),
            (FeedSource::JsonField(..), _) | (_, None) => RowType::Whole("Value"),
            (from, Some(columns)) => {
                let is_text = !matches!(from, FeedSource::Json(_));
                let mut names = HashSet::new();
                let fields = columns.iter().map(|column| {
                    let field = naming::unique(&naming::field_name(column), &mut names);
                    ((*column).to_owned(), field)
                });
                let fields: Vec<_> = fields.collect();
                let wanted = naming::type_name(&naming::field_name(&feed.name), true);
                let name = naming::unique_type(&wanted, used);
                write_type(source, &name, &feed.source, &fields, is_text);
                RowType::Columns {
                    name,
                    fields,
                    is_text,
                }
            }
        };
        types.insert(number, ty);
    }
    types
}

fn write_type(
    source: &mut String,
    name: &str,
    from: &FeedSource,
    fields: &[(String, String)],
    is_text: bool,
) {
    let from = match from {
        FeedSource::Csv(file) | FeedSource::Json(file) => quote_name(file),
        _ => "the data".to_owned(),
    };
    let ty = if is_text { "String" } else { "Value" };
    let _ = writeln!(
        source,
        "/// A row of {from}.\n#[response]\nstruct {name} {{"
    );
    for (column, field) in fields {
        if column != field {
            let _ = writeln!(source, "    #[serde(rename = {})]", quote_text(column));
        }
        let _ = writeln!(source, "    {}: {ty},", identifier(field));
    }
    source.push_str("}\n\n");
}

/// Names the feeds that the steps of a scenario use.
pub(super) fn name_feeds(
    recording: &Recording,
    steps: &[usize],
    steps_named: impl Iterator<Item = String>,
) -> BTreeMap<usize, String> {
    let mut taken: HashSet<String> = steps_named.collect();
    let used: BTreeSet<usize> = used_columns(steps.iter().map(|at| &recording.exchanges[*at]))
        .into_keys()
        .collect();
    let feeds = used.into_iter().map(|number| {
        let wanted = naming::field_name(&recording.feeds[number].name);
        let wanted = if naming::is_keyword(&wanted) {
            "row"
        } else {
            &wanted
        };
        (number, naming::variable(wanted, &mut taken))
    });
    feeds.collect()
}

/// Writes the feeds of a scenario, but for those that steps draw from by themselves.
pub(super) fn write_feeds(body: &mut String, scope: &Scope<'_>, drawn: &BTreeSet<usize>) {
    let feeds = scope.feeds.iter();
    for (number, name) in feeds.filter(|(number, _)| !drawn.contains(number)) {
        let feed = &scope.recording.feeds[*number];
        let rows = match &feed.source {
            FeedSource::Csv(file) => format!("Feed::csv({})", quote_code(file)),
            FeedSource::Json(file) => format!("Feed::json({})", quote_code(file)),
            FeedSource::JsonField(_, field) => {
                let field = quote_code(field);
                format!("Feed::iter(file[{field}].as_array().cloned().unwrap_or_default())")
            }
            FeedSource::Numbers(low, high) => format!("Feed::iter({low}..={high})"),
            FeedSource::Texts(texts) => {
                let texts: Vec<_> = texts.iter().map(|text| quote_code(text)).collect();
                format!("Feed::iter([{}].map(String::from))", texts.join(", "))
            }
            FeedSource::Rows(rows) => {
                let rows = rows.iter().map(|row| scope.types.rows[number].literal(row));
                format!("Feed::iter([{}])", rows.collect::<Vec<_>>().join(", "))
            }
        };
        let order = match feed.order {
            FeedOrder::Sequential => "",
            FeedOrder::Random => ".random()",
            FeedOrder::PerUser => ".unique().cycle()",
        };
        let stop = if feed.stops { ".stop()" } else { "" };
        let ty = scope.types.rows[number].name();
        let mut returned = format!("Feed<{ty}>");
        let mut rows = format!("{rows}{order}{stop}");
        if let FeedSource::JsonField(file, _) = &feed.source {
            returned = format!("Result<{returned}, Box<dyn std::error::Error>>");
            let file = quote_code(file);
            rows = format!(
                "let file: Value = std::fs::read_to_string({file})?.parse()?;\n        Ok({rows})"
            );
        }
        let _ = write!(
            body,
            "    #[feed]\n    fn {name}() -> {returned} {{\n        {rows}\n    }}\n\n"
        );
    }
}
