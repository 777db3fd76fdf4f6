//! Assertions and extractors: what a plan expects of answers, and takes out of them.

use super::element::Element;
use super::variables::{Variables, resolve};
use crate::import::migration::{Migration, find_between, find_in_pattern};
use crate::import::recording::{AnswerCheck, JsonTest, Key, Origin, PageFind, Text};
use std::time::Duration;

/// The bits of the type of an assertion.
const IS_EQUAL: u32 = 8;
const IS_SUBSTRING: u32 = 16;
const CONTAINS: u32 = 2;
const MATCHES: u32 = 1;
const NOT: u32 = 4;
const ANY: u32 = 32;

/// Gives an assertion to an exchange. Returns false where it is code.
pub(super) fn apply_assertion(
    assertion: &Element,
    exchange: usize,
    variables: &Variables,
    migration: &mut Migration,
) -> bool {
    let literal = |name: &str, migration: &mut Migration| {
        let found = resolve(assertion.text_of(name), variables, migration);
        found.as_literal().map(str::to_owned)
    };
    let checks = match assertion.class() {
        "ResponseAssertion" => return apply_response(assertion, exchange, variables, migration),
        "DurationAssertion" => {
            let millis = literal("DurationAssertion.duration", migration);
            let millis = millis.and_then(|millis| millis.trim().parse().ok());
            millis.map(|millis| AnswerCheck::Within(Duration::from_millis(millis)))
        }
        "JSONPathAssertion" => {
            let path = read_path(assertion.text_of("JSON_PATH"));
            let test = match literal("EXPECTED_VALUE", migration) {
                _ if assertion.is_set("EXPECT_NULL") => Some(JsonTest::Is(serde_json::Value::Null)),
                _ if !assertion.is_set("JSONVALIDATION") => Some(JsonTest::Exists),
                Some(_) if assertion.is_set("ISREGEX") => None,
                Some(value) => {
                    // A number is one in the plan too.
                    let value = serde_json::from_str(&value)
                        .ok()
                        .filter(serde_json::Value::is_number)
                        .unwrap_or(serde_json::Value::String(value));
                    Some(JsonTest::Is(value))
                }
                None => None,
            };
            let is_inverted = assertion.is_set("INVERT");
            let test = test.and_then(|test| match (is_inverted, test) {
                (false, test) => Some(test),
                (true, JsonTest::Is(value)) => Some(JsonTest::IsNot(value)),
                (true, _) => None,
            });
            path.zip(test)
                .map(|(path, test)| AnswerCheck::Json { path, test })
        }
        _ => None,
    };
    let Some(check) = checks else { return false };
    add_check(migration, exchange, check);
    true
}

fn add_check(migration: &mut Migration, exchange: usize, check: AnswerCheck) {
    let checks = &mut migration.recording.exchanges[exchange].settings.checks;
    if !checks.contains(&check) {
        checks.push(check);
    }
}

fn apply_response(
    assertion: &Element,
    exchange: usize,
    variables: &Variables,
    migration: &mut Migration,
) -> bool {
    let kind: u32 = assertion
        .text_of("Assertion.test_type")
        .trim()
        .parse()
        .unwrap_or(0);
    let field = assertion
        .text_of("Assertion.test_field")
        .rsplit('.')
        .next()
        .unwrap_or_default();
    // The name of the list is misspelt in plans.
    let list = match assertion.list("Asserion.test_strings") {
        [] => assertion.list("Assertion.test_strings"),
        list => list,
    };
    let texts = list.iter().map(|text| {
        let text = resolve(&text.text, variables, migration);
        text.as_literal().map(str::to_owned)
    });
    let Some(texts) = texts
        .collect::<Option<Vec<String>>>()
        .filter(|texts| !texts.is_empty())
    else {
        return false;
    };
    let is_plain = |text: &String| {
        !text.is_empty() && !text.contains(['.', '*', '+', '[', '(', '\\', '^', '$', '|', '?', '{'])
    };
    let is_literal = kind & (IS_EQUAL | IS_SUBSTRING) != 0 || texts.iter().all(is_plain);
    if !is_literal || kind & ANY != 0 && texts.len() > 1 && field != "response_code" {
        return false;
    }
    match field {
        "response_code" => {
            let codes = texts.iter().map(|text| text.parse::<u16>().ok());
            let codes: Option<Vec<u16>> = codes.collect();
            let is_list = kind & ANY != 0 || texts.len() == 1;
            match codes.filter(|_| is_list && kind & NOT == 0) {
                Some(codes) if codes.iter().all(|code| (100..600).contains(code)) => {
                    migration.recording.exchanges[exchange].expect = codes;
                    true
                }
                _ => false,
            }
        }
        "response_data" | "response_data_as_document" if kind & MATCHES == 0 => {
            let is_contained = kind & (IS_SUBSTRING | CONTAINS) != 0;
            for text in texts {
                let check = match (is_contained, kind & NOT == 0) {
                    (true, is_there) => AnswerCheck::Text { text, is_there },
                    (false, true) => AnswerCheck::Body(text),
                    (false, false) => return false,
                };
                add_check(migration, exchange, check);
            }
            true
        }
        _ => false,
    }
}

/// Reads a path such as `$.items[0].id`; `[*]` is its first item.
fn read_path(path: &str) -> Option<Vec<Key>> {
    let mut rest = path.trim().strip_prefix('$')?;
    let mut keys = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('[') {
            let (inner, after) = after.split_once(']')?;
            let name = inner.trim_matches(['\'', '"']);
            keys.push(match inner {
                "*" => Key::Item(0),
                _ if name.len() < inner.len() => Key::Field(name.to_owned()),
                _ => Key::Item(inner.parse().ok()?),
            });
            rest = after;
            continue;
        }
        let after = rest.strip_prefix('.')?;
        let end = after.find(['.', '[']).unwrap_or(after.len());
        let (name, after) = after.split_at(end);
        let is_plain = |letter: char| letter.is_alphanumeric() || "_-$@:".contains(letter);
        if name.is_empty() || !name.chars().all(is_plain) {
            return None;
        }
        keys.push(Key::Field(name.to_owned()));
        rest = after;
    }
    Some(keys)
}

/// Returns the variables that an extractor sets, with the values where these are known. None at all are code.
pub(super) fn apply_extractor(
    extractor: &Element,
    exchange: usize,
    migration: &mut Migration,
) -> Vec<(String, Option<Text>)> {
    let text = |name: &str| extractor.text_of(name);
    let split = |name: &str| {
        text(name)
            .split(';')
            .map(|part| part.trim().to_owned())
            .collect::<Vec<_>>()
    };
    let is_first = |number: &str| ["", "0", "1"].contains(&number.trim());
    let one = |name: &str, origin: Option<Origin>, migration: &mut Migration| {
        let value = origin.map(|origin| migration.refer(origin, false));
        vec![(name.trim().to_owned(), value)]
    };
    match extractor.class() {
        "JSONPostProcessor" => {
            let names = split("JSONPostProcessor.referenceNames");
            let paths = split("JSONPostProcessor.jsonPathExprs");
            let numbers = split("JSONPostProcessor.match_numbers");
            let found = names
                .into_iter()
                .zip(paths)
                .enumerate()
                .map(|(at, (name, path))| {
                    let number = numbers.get(at).map_or("", String::as_str);
                    let path = read_path(&path).filter(|_| is_first(number));
                    let origin = path.map(|path| Origin::Body { exchange, path });
                    (name, origin.map(|origin| migration.refer(origin, false)))
                });
            found.collect()
        }
        "RegexExtractor" => {
            let pattern = text("RegexExtractor.regex");
            let is_fit = is_first(text("RegexExtractor.match_number"))
                && ["$1$", ""].contains(&text("RegexExtractor.template").trim());
            let origin = match text("RegexExtractor.useHeaders") {
                "" | "false" | "unescaped" => find_in_pattern(exchange, pattern),
                "true" => header_of(exchange, pattern),
                _ => None,
            };
            one(
                text("RegexExtractor.refname"),
                origin.filter(|_| is_fit),
                migration,
            )
        }
        "BoundaryExtractor" => {
            let (before, after) = (
                text("BoundaryExtractor.lboundary"),
                text("BoundaryExtractor.rboundary"),
            );
            let origin = find_between(exchange, before, after);
            let is_fit = is_first(text("BoundaryExtractor.match_number"))
                && ["", "false"].contains(&text("BoundaryExtractor.useHeaders"));
            one(
                text("BoundaryExtractor.refname"),
                origin.filter(|_| is_fit),
                migration,
            )
        }
        "HtmlExtractor" => {
            let selector = text("HtmlExtractor.expr");
            let name = selector
                .split_once("[name=")
                .and_then(|(_, rest)| rest.split_once(']'));
            let name = name.filter(|(_, rest)| rest.is_empty());
            let is_value = ["value", "content"].contains(&text("HtmlExtractor.attribute"));
            let origin = name.filter(|_| is_value).map(|(name, _)| Origin::Page {
                exchange,
                part: None,
                find: PageFind::Field {
                    name: name.trim_matches(['"', '\'']).to_owned(),
                    number: 0,
                },
            });
            one(text("HtmlExtractor.refname"), origin, migration)
        }
        _ => Vec::new(),
    }
}

/// Returns the header that a pattern such as `Location: (.*)` takes.
fn header_of(exchange: usize, pattern: &str) -> Option<Origin> {
    let (name, rest) = pattern.split_once(':')?;
    let is_whole = ["(.*)", "(.+)", "(.*?)$", "(.*)\\n", "(.+?)\\n"].contains(&rest.trim());
    (is_whole && crate::import::text::is_token(name)).then(|| Origin::Header {
        exchange,
        name: name.to_owned(),
    })
}
