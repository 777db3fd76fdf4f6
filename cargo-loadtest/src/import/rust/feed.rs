//! Rows of data, as a feed.

use super::super::marked::{Data, Origin, Recording};
use super::layout::{Code, variable};
use super::literal::{code_text, text};
use super::secrets::Vault;
use super::{comment, json, partition::Scenario};
use crate::import::secrecy::is_secret_value;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The most rows that are written.
const MOST_ROWS: usize = 1000;

/// Writes the feeds of a scenario, in the order of the data.
pub(super) fn write(
    source: &mut String,
    recording: &Recording,
    scenario: &Scenario,
    references: &BTreeSet<usize>,
    vault: &mut Vault,
) {
    let mut feeds: Vec<_> = scenario.feeds.iter().collect();
    feeds.sort();
    for (at, name) in feeds {
        let Some(data) = recording.data.get(*at) else {
            continue;
        };
        let bare: BTreeSet<&str> = references
            .iter()
            .map(|reference| &recording.references[*reference])
            .filter(|reference| reference.is_bare)
            .filter_map(|reference| match &reference.from {
                Origin::Row { data, field } if data == at => Some(field.as_str()),
                _ => None,
            })
            .collect();
        source.push_str("    /// A row for each journey.\n");
        let more = data.rows.len().saturating_sub(MOST_ROWS);
        if more > 0 {
            let _ = writeln!(source, "    // {more} more rows are left out.");
        }
        let rows = data.rows.iter().take(MOST_ROWS);
        let rows = rows.map(|values| Code::atom(row(data, values, &bare, vault)));
        let rows = Code::list(rows.collect());
        let _ = writeln!(source, "    #[feed]\n    fn {name}() -> Feed<Value> {{");
        source.push_str(&variable("rows", &rows, 8));
        source.push_str("        Feed::iter(rows)\n    }\n\n");
    }
}

fn row(data: &Data, values: &[String], bare: &BTreeSet<&str>, vault: &mut Vault) -> String {
    let fields = data.fields.iter().zip(values).map(|(field, value)| {
        let value = if is_secret_value(field, value) || vault.knows(value) {
            let what = format!(
                "{} of the data {}",
                comment::quoted(field),
                comment::quoted(&data.name)
            );
            let name = vault.name(value.as_bytes(), field, &what);
            format!("secret({}).expose()", text(&name))
        } else if bare.contains(field.as_str()) && is_plain(value) {
            json::code(value)
        } else {
            code_text(value)
        };
        format!("{}: {value}", code_text(field))
    });
    let fields: Vec<_> = fields.collect();
    format!("json!({{ {} }})", fields.join(", "))
}

/// Whether it is a number or the like, which a row can have without quotes.
fn is_plain(value: &str) -> bool {
    match serde_json::from_str(value) {
        Ok(Value::Bool(_)) => true,
        Ok(Value::Number(number)) => number.to_string() == value,
        _ => false,
    }
}
