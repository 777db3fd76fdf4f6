//! Values that Postman makes up anew for each request, and the words that stand for a kind of value.

use jiff::Timestamp;

/// A value of the kind that `{{$name}}` stands for; `number` tells one from another.
pub(super) fn value(name: &str, number: usize) -> String {
    let pick = |words: &[&str]| words[number % words.len()].to_owned();
    let first = || pick(&["Ada", "Grace", "Alan", "Edsger", "Barbara"]);
    let last = || pick(&["Lovelace", "Hopper", "Turing", "Dijkstra", "Liskov"]);
    match name {
        "guid" | "randomUUID" => format!("3f2504e0-4f89-41d3-9a0c-{number:012x}"),
        "timestamp" => Timestamp::now().as_second().to_string(),
        "isoTimestamp" | "randomDateRecent" | "randomDatePast" => {
            let now = Timestamp::now().as_second();
            Timestamp::from_second(now).map_or_else(|_| String::new(), |now| now.to_string())
        }
        "randomDateFuture" => "2038-01-01T00:00:00Z".to_owned(),
        "randomInt" => (number * 37 % 1000 + 1).to_string(),
        "randomPrice" | "randomBankAccountBalance" => format!("{}.95", number * 37 % 1000),
        "randomBoolean" => "true".to_owned(),
        "randomFirstName" => first(),
        "randomLastName" => last(),
        "randomFullName" => format!("{} {}", first(), last()),
        "randomUserName" => format!("{}{number}", first().to_lowercase()),
        "randomEmail" | "randomExampleEmail" => {
            format!("{}.{number}@example.com", first().to_lowercase())
        }
        "randomPassword" => format!("Pass-{number:04}-word"),
        "randomPhoneNumber" => format!("555-010-{:04}", number % 10_000),
        "randomPhoneNumberExt" => format!("1-555-010-{:04}", number % 10_000),
        "randomCity" => pick(&["Lisbon", "Oslo", "Kyoto", "Quito"]),
        "randomCountry" => pick(&["Portugal", "Norway", "Japan", "Ecuador"]),
        "randomCountryCode" => pick(&["PT", "NO", "JP", "EC"]),
        "randomCurrencyCode" => pick(&["EUR", "NOK", "JPY", "USD"]),
        "randomStreetName" => "Analytical Street".to_owned(),
        "randomStreetAddress" => format!("{number} Analytical Street"),
        "randomLatitude" => "38.7223".to_owned(),
        "randomLongitude" => "-9.1393".to_owned(),
        "randomIP" => format!("192.0.2.{}", number % 250 + 1),
        "randomIPV6" => format!("2001:db8::{:x}", number % 0xffff + 1),
        "randomUrl" | "randomImageUrl" => format!("https://example.com/{number}"),
        "randomDomainName" => "example.com".to_owned(),
        "randomColor" => pick(&["red", "green", "blue", "orange"]),
        "randomHexColor" => "#3366cc".to_owned(),
        "randomCompanyName" => "Analytical Engines".to_owned(),
        "randomProductName" | "randomProduct" => "Difference Engine".to_owned(),
        "randomAlphaNumeric" => pick(&["k", "7", "q", "3"]),
        "randomBankAccount" => format!("{:08}", 20_000_000 + number),
        "randomLoremSentence" | "randomLoremSentences" | "randomPhrase" => {
            "A sentence of several words.".to_owned()
        }
        "randomLoremParagraph" | "randomLoremParagraphs" | "randomLoremText" => {
            "A sentence of several words. And a second one.".to_owned()
        }
        _ => format!("word{number}"),
    }
}

/// A kind of value as converters write it, `"<integer>"`, as a value of that kind: in JSON.
pub(super) fn of_kind(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "<integer>" | "<long>" | "<int32>" | "<int64>" => "1",
        "<number>" | "<float>" | "<double>" => "1.5",
        "<boolean>" => "true",
        "<string>" => "\"string\"",
        "<uuid>" => "\"3f2504e0-4f89-41d3-9a0c-0305e82c3301\"",
        "<date>" => "\"2026-01-31\"",
        "<dateTime>" => "\"2026-01-31T12:00:00Z\"",
        "<email>" => "\"ada@example.com\"",
        "<uri>" => "\"https://example.com/\"",
        "<object>" => "{}",
        "<array>" => "[]",
        _ => return None,
    })
}

/// A text of JSON with values in the place of kinds; nothing where there are none.
pub(super) fn without_kinds(json: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = json;
    while let Some(at) = rest.find("\"<") {
        let (before, found) = rest.split_at(at);
        text.push_str(before);
        let end = found[1..].find('"').map(|end| end + 1);
        let value = end.and_then(|end| of_kind(&found[1..end]));
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
        for name in [
            "guid",
            "randomEmail",
            "randomUserName",
            "randomInt",
            "nobodyKnows",
        ] {
            assert_ne!(value(name, 1), value(name, 2), "{name}");
        }
        assert!(value("timestamp", 0).parse::<u64>().unwrap() > 1_700_000_000);
        assert!(value("isoTimestamp", 0).ends_with('Z'));
    }

    #[test]
    fn kinds_become_values() {
        assert_eq!(
            without_kinds(r#"{"a": "<integer>", "b": ["<string>", "<x>", "a <string>"], "c": "<"#)
                .as_deref(),
            Some(r#"{"a": 1, "b": ["string", "<x>", "a <string>"], "c": "<"#)
        );
        assert_eq!(without_kinds("{}"), None);
    }
}
