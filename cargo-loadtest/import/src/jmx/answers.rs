//! Assertions and extractors: what a plan expects of answers, and takes out of them.

use super::element::Element;
use super::variables::VariableScope;
use crate::migration::{Migration, find_between, find_in_pattern};
use crate::recording::{AnswerCheck, Confidence, JsonTest, Key, Origin, Text};
use std::time::Duration;

/// The bits of the type of an assertion.
const IS_EQUAL: u32 = 8;
const IS_SUBSTRING: u32 = 16;
const CONTAINS: u32 = 2;
const MATCHES: u32 = 1;
const NOT: u32 = 4;
const ANY: u32 = 32;

/// What an assertion expects: statuses, and other conditions.
type Expected = (Vec<u16>, Vec<AnswerCheck>);

/// Gives an assertion to an exchange. Returns false where it is code.
pub(super) fn apply_assertion(
    assertion: &Element,
    exchange: usize,
    scope: &mut VariableScope<'_>,
) -> bool {
    let expected = match assertion.class() {
        "ResponseAssertion" => read_response(assertion, scope),
        _ => read_other(assertion, scope).map(|check| (Vec::new(), vec![check])),
    };
    let Some((statuses, checks)) = expected else {
        return false;
    };
    let exchange = &mut scope.migration.recording.exchanges[exchange];
    if !statuses.is_empty() {
        exchange.expect = statuses;
    }
    for check in checks {
        if !exchange.settings.checks.contains(&check) {
            exchange.settings.checks.push(check);
        }
    }
    true
}

fn read_other(assertion: &Element, scope: &mut VariableScope<'_>) -> Option<AnswerCheck> {
    let mut literal = |name: &str| {
        let found = scope.text_of(assertion, name);
        found.as_literal().map(str::to_owned)
    };
    match assertion.class() {
        "DurationAssertion" => {
            let millis = literal("DurationAssertion.duration")?.trim().parse().ok()?;
            Some(AnswerCheck::Within(Duration::from_millis(millis)))
        }
        "JSONPathAssertion" => {
            let path = read_path(assertion.text_of("JSON_PATH"), 0);
            let is_pattern = assertion.is_set("ISREGEX");
            let test = match literal("EXPECTED_VALUE") {
                _ if assertion.is_set("EXPECT_NULL") => JsonTest::Is(serde_json::Value::Null),
                _ if !assertion.is_set("JSONVALIDATION") => JsonTest::Exists,
                value => {
                    let value = value.filter(|_| !is_pattern)?;
                    // A number is one in the plan too.
                    let number = serde_json::from_str(&value).ok();
                    let number = number.filter(serde_json::Value::is_number);
                    JsonTest::Is(number.unwrap_or(serde_json::Value::String(value)))
                }
            };
            let test = match (assertion.is_set("INVERT"), test) {
                (false, test) => test,
                (true, JsonTest::Is(value)) => JsonTest::IsNot(value),
                (true, _) => return None,
            };
            Some(AnswerCheck::json(&path?, test))
        }
        _ => None,
    }
}

fn read_response(assertion: &Element, scope: &mut VariableScope<'_>) -> Option<Expected> {
    let kind = match assertion.text_of("Assertion.test_type").trim() {
        "" => CONTAINS,
        kind => kind.parse().ok()?,
    };
    let field = assertion.text_of("Assertion.test_field");
    let field = field.rsplit('.').next().unwrap_or_default();
    // The name of the list is misspelt in plans.
    let list = match assertion.list("Asserion.test_strings") {
        [] => assertion.list("Assertion.test_strings"),
        list => list,
    };
    let texts = list.iter().map(|text| {
        let text = scope.resolve(text.text());
        text.as_literal().map(str::to_owned)
    });
    let texts: Vec<String> = texts.collect::<Option<_>>()?;
    let is_plain = |text: &String| {
        !text.is_empty() && !text.contains(['.', '*', '+', '[', '(', '\\', '^', '$', '|', '?', '{'])
    };
    let is_literal = kind & (IS_EQUAL | IS_SUBSTRING) != 0 || texts.iter().all(is_plain);
    let is_of_answer = is_of_answer(assertion, "Assertion.scope");
    let (is_any, holds) = (kind & ANY != 0, kind & NOT == 0);
    match field {
        _ if !is_literal || !is_of_answer || texts.is_empty() => None,
        "response_code" if holds && (is_any || texts.len() == 1) => {
            // The codes are those of success, whatever the plan takes for it otherwise.
            assertion.property("Assertion.assume_success");
            let codes = texts.iter().map(|text| {
                let code = text.parse().ok();
                code.filter(|code| (100..600).contains(code))
            });
            Some((codes.collect::<Option<_>>()?, Vec::new()))
        }
        "response_data" | "response_data_as_document"
            if kind & MATCHES == 0 && !(is_any && texts.len() > 1) =>
        {
            let is_contained = kind & (IS_SUBSTRING | CONTAINS) != 0;
            let checks = texts.into_iter().map(|text| match (is_contained, holds) {
                (true, is_there) => Some(AnswerCheck::Text { text, is_there }),
                (false, true) => Some(AnswerCheck::Body(text)),
                (false, false) => None,
            });
            Some((Vec::new(), checks.collect::<Option<_>>()?))
        }
        _ => None,
    }
}

/// Reads a path such as `$.items[0].id`; `[*]` is the item with this number.
fn read_path(path: &str, item: usize) -> Option<Vec<Key>> {
    let mut rest = path.trim().strip_prefix('$')?;
    let mut keys = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('[') {
            let (inner, after) = after.split_once(']')?;
            let name = inner.trim_matches(['\'', '"']);
            keys.push(match inner {
                "*" => Key::Item(item),
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

/// The match of several that an extractor takes.
#[derive(Debug, Clone, Copy)]
enum Match {
    /// A random one, which is the first one here.
    Random,
    /// All, each with a number behind the name of the variable; the first one is known here.
    All,
    /// The one with this number, from zero.
    Nth(usize),
}

impl Match {
    /// Reads a number of a plan. Without one, the match is random.
    fn read(number: &str) -> Option<Self> {
        match number.trim() {
            "" | "0" => Some(Self::Random),
            "-1" => Some(Self::All),
            number => Some(Self::Nth(number.parse::<usize>().ok()?.checked_sub(1)?)),
        }
    }

    /// Returns the variable with a value that is the only one, or one of several.
    fn variable(
        self,
        name: &str,
        origin: Option<Origin>,
        is_one: bool,
        migration: &mut Migration,
    ) -> (String, Option<Text>) {
        let name = match self {
            Self::All => format!("{}_1", name.trim()),
            _ => name.trim().to_owned(),
        };
        let value = origin.map(|origin| match self {
            Self::Random if !is_one => {
                let why = "the plan takes a random one of several";
                migration.refer_because(origin, false, Confidence::Possible, why)
            }
            _ => migration.refer(origin, false),
        });
        (name, value)
    }
}

/// Returns the variables that an extractor sets, with the values where these are known. None at all are code.
pub(super) fn apply_extractor(
    extractor: &Element,
    exchange: usize,
    migration: &mut Migration,
) -> Vec<(String, Option<Text>)> {
    let text = |name: &str| extractor.text_of(name);
    let list = |name: &str| text(name).split(';').map(str::trim).collect::<Vec<_>>();
    let is_of_answer = is_of_answer(extractor, "Sample.scope");
    if extractor.class() == "JSONPostProcessor" {
        let paths = list("JSONPostProcessor.jsonPathExprs");
        let numbers = list("JSONPostProcessor.match_numbers");
        let names = list("JSONPostProcessor.referenceNames")
            .into_iter()
            .zip(paths);
        let found = names.enumerate().map(|(at, (name, path))| {
            let number = Match::read(numbers.get(at).copied().unwrap_or_default());
            let item = match number {
                Some(Match::Nth(item)) => item,
                _ => 0,
            };
            let is_one = !path.contains('*');
            // Of one value, there is no second one.
            let is_fit = number.is_some()
                && is_of_answer
                && (is_one && item == 0 || path.matches('*').count() == 1);
            let path = read_path(path, item).filter(|_| is_fit);
            let origin = path.map(|path| Origin::Body { exchange, path });
            let number = number.unwrap_or(Match::Nth(0));
            number.variable(name, origin, is_one, migration)
        });
        return found.collect();
    }
    let (kind, origin) = match extractor.class() {
        "RegexExtractor" => {
            let pattern = text("RegexExtractor.regex");
            let is_whole = ["$1$", ""].contains(&text("RegexExtractor.template").trim());
            let origin = match text("RegexExtractor.useHeaders") {
                "" | "false" | "unescaped" => find_in_pattern(exchange, pattern),
                "true" => header_of(exchange, pattern),
                _ => None,
            };
            ("RegexExtractor", origin.filter(|_| is_whole))
        }
        "BoundaryExtractor" => {
            let before = text("BoundaryExtractor.lboundary");
            let after = text("BoundaryExtractor.rboundary");
            let is_body = ["", "false"].contains(&text("BoundaryExtractor.useHeaders"));
            let origin = find_between(exchange, before, after);
            ("BoundaryExtractor", origin.filter(|_| is_body))
        }
        "HtmlExtractor" => {
            let selector = text("HtmlExtractor.expr");
            let name = selector
                .split_once("[name=")
                .and_then(|(_, rest)| rest.split_once(']'));
            let name = name.filter(|(_, rest)| rest.is_empty());
            let is_value = ["value", "content"].contains(&text("HtmlExtractor.attribute"));
            let name = name.filter(|_| is_value);
            let origin =
                name.map(|(name, _)| Origin::field(exchange, name.trim_matches(['"', '\''])));
            ("HtmlExtractor", origin)
        }
        _ => return Vec::new(),
    };
    let number = Match::read(text(&format!("{kind}.match_number")));
    let is_first = !matches!(number, None | Some(Match::Nth(1..)));
    let number = number.unwrap_or(Match::Nth(0));
    // A header, or a field of a page, is one.
    let is_one = !matches!(origin, Some(Origin::Between { .. }));
    let origin = origin.filter(|_| is_first && is_of_answer);
    let name = text(&format!("{kind}.refname"));
    vec![number.variable(name, origin, is_one, migration)]
}

/// Returns true where an assertion or an extractor looks at the answer, and not at a variable.
fn is_of_answer(element: &Element, scope: &str) -> bool {
    ["", "parent", "all"].contains(&element.text_of(scope))
}

/// Returns the header that a pattern such as `Location: (.*)` takes.
fn header_of(exchange: usize, pattern: &str) -> Option<Origin> {
    let (name, rest) = pattern.split_once(':')?;
    let is_whole = ["(.*)", "(.+)", "(.*?)$", "(.*)\\n", "(.+?)\\n"].contains(&rest.trim());
    (is_whole && crate::text::is_token(name)).then(|| Origin::header(exchange, name))
}
