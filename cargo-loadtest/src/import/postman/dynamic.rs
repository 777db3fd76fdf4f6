//! Values that Postman makes up for each request, and values of kinds such as `<integer>`.

use jiff::Timestamp;

/// Names with their values, in which `#` is the number, and kinds with their values in JSON.
const VALUES: &str = include_str!("../data/postman-values.tsv");

/// Makes a value for `{{$name}}`; `number` tells one from another.
pub(super) fn make_value(name: &str, number: usize) -> String {
    match name {
        "timestamp" => Timestamp::now().as_second().to_string(),
        "isoTimestamp" | "randomDateRecent" | "randomDatePast" => {
            let now = Timestamp::from_second(Timestamp::now().as_second());
            now.map_or_else(|_| String::new(), |now| now.to_string())
        }
        "randomInt" => (number * 37 % 1000 + 1).to_string(),
        "randomIP" => format!("192.0.2.{}", number % 250 + 1),
        name => {
            let value = find_value(name).unwrap_or("word#");
            value.replace('#', &number.to_string())
        }
    }
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
    fn values_differ_where_they_should() {
        for name in ["randomUrl", "randomInt", "nobodyKnows"] {
            assert_ne!(make_value(name, 1), make_value(name, 2), "{name}");
        }
        assert!(make_value("timestamp", 0).parse::<u64>().unwrap() > 1_700_000_000);
        assert!(make_value("isoTimestamp", 0).ends_with('Z'));
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
