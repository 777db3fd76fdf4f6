//! Settings of a request or its folders: `protocolProfileBehavior`, a proxy, a certificate.

use super::CollectionReader;
use crate::document::Node;
use crate::recording::Exchange;

/// Most redirects that can be followed.
const MOST_REDIRECTS: u32 = 50;
/// Settings that are not honoured: name, usual value, behaviour here.
const IGNORED: &str = include_str!("../data/postman-settings.tsv");

/// Returns a setting of the nearest of an item and its folders.
pub(super) fn find_setting<'n, 'a>(items: &[&'n Node<'a>], name: &str) -> Option<&'n Node<'a>> {
    let mut items = items.iter();
    items.find_map(|item| item.at(&["protocolProfileBehavior", name]))
}

/// Applies the settings of an item and its folders, and notes those that are not honoured.
pub(super) fn apply_settings(
    items: &[&Node<'_>],
    exchange: &mut Exchange,
    reader: &mut CollectionReader<'_>,
) {
    let is_off = |name: &str| {
        let setting = find_setting(items, name);
        setting.filter(|node| node.boolean() == Some(false))
    };
    if is_off("followRedirects").is_some() {
        exchange.redirects = 0;
    } else if let Some(node) = find_setting(items, "maxRedirects")
        && let Some(most) = node.number()
    {
        exchange.redirects = most.clamp(0.0, f64::from(MOST_REDIRECTS)) as u32;
        if most > f64::from(MOST_REDIRECTS) {
            let words = format!("not more than {MOST_REDIRECTS} redirects can be followed");
            reader.variables.note_place_once(&node.span, words);
        }
    }
    if let Some(node) = is_off("strictSSL") {
        reader.recording().client.insecure = true;
        let words = "certificates go unchecked for all requests, since they do for this one";
        reader.variables.migration.note_once(&node.span, words);
    }
    for row in IGNORED.lines() {
        let mut fields = row.split('\t');
        let (Some(name), Some(usual), Some(instead)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let Some(node) = find_setting(items, name) else {
            continue;
        };
        let value = node.text().map_or_else(|| node.json(), str::to_owned);
        if value != usual && value != "null" {
            let words = format!("`{name}` is not applied: {instead}");
            reader.variables.note_place_once(&node.beginning(), words);
        }
    }
}
