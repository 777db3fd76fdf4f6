//! Scripts as recordings, and as the scenarios that are written of them.

mod loads;
mod values;
mod walk;

use super::*;
use crate::recording::Exchange;
use crate::{hide_secrets, write_source};

const SHOP: &str = include_str!("../../../../../tests/fixtures/import/k6/shop.ts");
const CODE: &str = include_str!("../../../../../tests/fixtures/import/k6/code.js");

fn read(text: &str) -> Recording {
    read_k6(&Input::new("script.js", text)).unwrap()
}

/// The scenarios of a script.
fn written(text: &str) -> String {
    let input = Input::new("script.js", text);
    let mut recording = read_k6(&input).unwrap();
    hide_secrets(&mut recording);
    write_source(&recording, &input, "k6").source
}

/// A script whose default function has these statements.
fn script(statements: &str) -> String {
    format!(
        "import http from 'k6/http';\nimport {{ check, group, sleep, fail }} from 'k6';\n\
         export default function () {{\n{statements}\n}}"
    )
}

/// The only scenario of a script with these statements.
fn body(statements: &str) -> String {
    let source = written(&script(statements));
    let (_, body) = source.split_once("fn ").unwrap();
    body.to_owned()
}

fn one(statements: &str) -> Exchange {
    read(&script(statements)).exchanges[0].clone()
}

/// The warnings of a script, and the parts that are code.
fn warnings(text: &str) -> Vec<String> {
    let input = Input::new("script.js", text);
    let recording = read_k6(&input).unwrap();
    let line = |span: &Span| {
        let (line, column) = input.place(span.start);
        format!("{line}:{column}")
    };
    let notes = recording.notes.iter();
    let notes = notes.map(|note| format!("{} {}", line(&note.span), note.words));
    let code = recording.code.iter();
    let code = code.map(|part| format!("{} {} is code", line(&part.span), part.what));
    notes.chain(code).collect()
}

#[test]
fn what_is_data_in_a_script_becomes_scenarios() {
    insta::assert_snapshot!(written(SHOP));
}

#[test]
fn what_is_code_in_a_script_is_left_as_a_comment() {
    insta::assert_snapshot!(format!("{}\n{}", warnings(CODE).join("\n"), written(CODE)));
}
