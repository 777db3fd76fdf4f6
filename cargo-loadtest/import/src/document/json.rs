//! Reads JSON, with the place of each value.

use super::{Field, Mistake, Node, Value, make_object};
use jsonc_parser::ast;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::value::RawValue;

/// Reads a document.
pub(super) fn read(text: &str) -> Result<Node<'_>, Mistake> {
    // The parser that knows places would also take comments and the like.
    serde_json::from_str::<&RawValue>(text).map_err(|error| {
        let before = text.split_inclusive('\n').take(error.line() - 1);
        let start: usize = before.map(str::len).sum();
        let words = error.to_string();
        let words = words.split(" at line ").next().unwrap_or_default();
        refuse(text, start + error.column().saturating_sub(1), words)
    })?;
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    let parsed =
        parsed.map_err(|error| refuse(text, error.range().start, &error.kind().to_string()))?;
    let empty = || refuse(text, 0, "expected value");
    to_node(parsed.value.ok_or_else(empty)?)
}

fn refuse(text: &str, at: usize, words: &str) -> Mistake {
    let at = at.min(text.len().saturating_sub(1));
    Mistake::new(at..at + 1, format!("this is not JSON: {words}"))
}

fn to_node(parsed: ast::Value<'_>) -> Result<Node<'_>, Mistake> {
    let span = parsed.start()..parsed.end();
    let value = match parsed {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(boolean) => Value::Bool(boolean.value),
        ast::Value::NumberLit(number) => Value::Number(number.value.into()),
        ast::Value::StringLit(text) => Value::Text(text.value),
        ast::Value::Array(list) => {
            let items = list.elements.into_iter().map(to_node);
            Value::List(items.collect::<Result<_, _>>()?)
        }
        ast::Value::Object(object) => {
            let fields = object.properties.into_iter().map(to_field);
            make_object(fields.collect::<Result<_, _>>()?)?
        }
    };
    Ok(Node { span, value })
}

fn to_field(property: ast::ObjectProp<'_>) -> Result<Field<'_>, Mistake> {
    let span = property.name.start()..property.name.end();
    let name = match property.name {
        ast::ObjectPropName::String(name) => name.value,
        ast::ObjectPropName::Word(name) => name.value.into(),
    };
    Ok(Field {
        span,
        name,
        node: to_node(property.value)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_value_knows_its_place() {
        let text =
            "{ \"a\": [1, -2.5e3, null, true],\n \"b\\n\": {\"c\" : \"\\u00e9 x\"}, \"d\": {} }";
        let node = read(text).unwrap();
        assert_eq!(node.span, 0..text.len());
        let [first, second, third] = node.fields() else {
            panic!("{node:?}")
        };
        assert_eq!(&text[first.span.clone()], "\"a\"");
        assert_eq!(&text[first.node.items()[1].span.clone()], "-2.5e3");
        assert_eq!(second.name, "b\n");
        assert_eq!(&text[second.span.clone()], "\"b\\n\"");
        assert_eq!(second.node.text_of("c"), Some("é x"));
        assert_eq!(node.get("d"), Some(&third.node));
        assert_eq!(
            first.node.json(),
            "[1,-2.5e3,null,true]",
            "as it was but for the blanks"
        );
    }

    #[test]
    fn a_mistake_has_its_place() {
        for (text, at) in [
            ("{\"a\": }", 6),
            ("{\n \"a\": 1,\n}", 11),
            ("[1, 2", 4),
            ("[1,]", 3),
            ("[1 2]", 3),
            ("[01]", 2),
            ("{\"a\" 1}", 5),
            ("\"a\nb\"", 1),
            ("\"\\u12\"", 5),
            ("\"\\x\"", 2),
            ("\"é", 2),
            ("{} x", 3),
            ("{\"a\": 1, \"b\": {}, \"a\": 2}", 18),
        ] {
            let mistake = read(text).unwrap_err();
            assert_eq!(mistake.span.start, at, "{text}: {mistake:?}");
        }
    }

    #[test]
    fn depth_has_an_end() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(&nested(500)).is_ok());
        let mistake = read(&nested(100_000)).unwrap_err();
        assert_eq!(mistake.span, 512..513);
        assert!(mistake.words.contains("nesting depth"), "{mistake:?}");
    }

    proptest! {
        #[test]
        fn what_is_json_is_what_others_take_for_it(
            text in r#"([\[\]{},:"\\ ]|[0-9eE.+-]{1,3}|true|null|"(a|\\[nu"]|\\u00e9)*"|"a":){0,8}"#,
        ) {
            let theirs = serde_json::from_str::<&RawValue>(&text);
            let ours = read(&text);
            prop_assume!(!ours.as_ref().is_err_and(|mistake| mistake.words.contains("already")));
            prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{}: {:?} {:?}", text, ours, theirs);
        }
    }
}
