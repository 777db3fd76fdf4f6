//! Values that Postman makes for each request, and values of kinds such as `<integer>`.

use crate::naming::field_name;
use crate::recording::{FeedSource, Piece, RunValue, Text};

/// Names with their values: several between `|`, in which `#` is a number and `*` a UUID. Kinds with theirs in JSON.
const VALUES: &str = include_str!("../data/postman-values.tsv");
/// Numbers for `#`, the last of which fits an address.
const NUMBERS: FeedSource = FeedSource::Numbers(1, 250);

/// Makes a value for `{{$name}}` that each journey has anew; `feed` returns the number of test data with a name.
pub(super) fn make_value(name: &str, mut feed: impl FnMut(&str, FeedSource) -> usize) -> Text {
    let mut row = |name: &str, source: FeedSource| {
        let (feed, column) = (feed(name, source), None);
        Piece::Run(RunValue::Row { feed, column })
    };
    let template = match name {
        "timestamp" => return Piece::Run(RunValue::UnixSeconds).into(),
        "isoTimestamp" | "randomDateRecent" | "randomDatePast" => {
            return Piece::Run(RunValue::Now).into();
        }
        "randomInt" => return row("integer", FeedSource::Numbers(0, 1000)).into(),
        name => find_value(name).unwrap_or("word#"),
    };
    if template.contains('|') {
        let texts = template.split('|').map(str::to_owned).collect();
        let name = field_name(name.trim_start_matches("random"));
        return row(&name, FeedSource::Texts(texts)).into();
    }
    let letters = template.chars().map(|letter| match letter {
        '#' => row("number", NUMBERS),
        '*' => Piece::Run(RunValue::Uuid),
        letter => Piece::Literal(letter.to_string()),
    });
    letters.collect()
}

/// Returns the value of a name, or of a kind as converters write it: `<integer>`.
fn find_value(name: &str) -> Option<&'static str> {
    let mut rows = VALUES.lines().filter_map(|row| row.split_once('\t'));
    rows.find_map(|(known, value)| (known == name).then_some(value))
}

fn kind_value(kind: &str) -> Option<&'static str> {
    find_value(kind).filter(|_| kind.starts_with('<'))
}

/// Replaces a kind of value, such as `<string>`, by a value without quotes.
pub(super) fn replace_kind(value: &str) -> String {
    let known = kind_value(value).map(|known| known.trim_matches('"'));
    known.unwrap_or(value).to_owned()
}

/// Replaces the kinds in a text of JSON by values; returns nothing where there are none.
pub(super) fn replace_kinds(json: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = json;
    while let Some(at) = rest.find("\"<") {
        let (before, found) = rest.split_at(at);
        text.push_str(before);
        let end = found[1..].find('"').map(|end| end + 1);
        let value = end.and_then(|end| kind_value(&found[1..end]));
        if let (Some(end), Some(value)) = (end, value) {
            text.push_str(value);
            rest = &found[end + 1..];
        } else {
            text.push_str("\"<");
            rest = &found[2..];
        }
    }
    text.push_str(rest);
    (text != json).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_made_anew() {
        let rows = VALUES.lines().filter_map(|row| row.split_once('\t'));
        let names = rows
            .map(|(name, _)| name)
            .filter(|name| !name.starts_with('<'));
        for name in names.chain(["timestamp", "isoTimestamp", "randomInt", "nobodyKnows"]) {
            assert!(make_value(name, |_, _| 0).has_values(), "{name}");
        }
    }

    #[test]
    fn kinds_become_values() {
        assert_eq!(
            replace_kinds(r#"{"a": "<integer>", "b": ["<string>", "<x>", "a <string>"], "c": "<"#)
                .as_deref(),
            Some(r#"{"a": 1, "b": ["string", "<x>", "a <string>"], "c": "<"#)
        );
        assert_eq!(replace_kinds("{}"), None);
    }
}
