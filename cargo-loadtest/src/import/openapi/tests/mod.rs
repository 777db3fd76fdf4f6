//! Whole documents as recordings.

mod any;
mod links;
mod requests;
mod told;
mod values;

use super::*;
use crate::import::marked::{Body, Exchange, Key};
use std::fmt::Write as _;

const SHOP: &str = include_str!("../../../../../tests/fixtures/import/openapi/shop-3.0.yaml");
const LIBRARY: &str = include_str!("../../../../../tests/fixtures/import/openapi/library-3.1.json");
const PETS: &str = include_str!("../../../../../tests/fixtures/import/openapi/pets-2.0.json");
const FAULTY: &str = include_str!("../../../../../tests/fixtures/import/openapi/faulty-3.0.yaml");
const BARE: &str = include_str!("../../../../../tests/fixtures/import/openapi/bare-2.0.yaml");

fn input(text: &str) -> Input {
    Input::new("openapi.yaml", text.to_owned())
}

fn read(text: &str) -> Recording {
    read_openapi(&input(text), &OpenApiOptions::default()).unwrap()
}

/// A recording in words, with the names of markers in their place.
fn told(text: &str, recording: &Recording) -> String {
    let mut told = format!(
        "{:?} at {:?}\n{:?}\n",
        recording.name, recording.base, recording.description
    );
    for group in &recording.groups {
        let _ = writeln!(told, "# {}: {:?}", group.name, group.description);
    }
    for exchange in &recording.exchanges {
        told.push_str(&exchange_told(exchange));
    }
    for reference in &recording.references {
        let from = match &reference.from {
            Origin::Body { exchange, path } => {
                let mut way = format!("{exchange}.body");
                for key in path {
                    match key {
                        Key::Field(name) => write!(way, ".{name}").unwrap(),
                        Key::Item(number) => write!(way, "[{number}]").unwrap(),
                    }
                }
                way
            }
            other => format!("{other:?}"),
        };
        let quotes = if reference.is_bare { " (bare)" } else { "" };
        let _ = writeln!(
            told,
            "<{}> = {from}{quotes}: {}, {}",
            reference.marker,
            reference.confidence.word(),
            reference.why
        );
    }
    for secret in &recording.secrets {
        let _ = writeln!(told, "<{}>: {}", secret.name, secret.what);
    }
    for note in &recording.notes {
        let (line, column) = input(text).place(note.span.start);
        let _ = writeln!(told, "{line}:{column}: {}", note.words);
    }
    for secret in &recording.secrets {
        told = told.replace(&secret.value, &format!("<{}>", secret.name));
    }
    for (number, reference) in recording.references.iter().enumerate() {
        let name = format!("<{number}>");
        told = told.replace(&format!("<{}>", reference.marker), &name);
        told = told.replace(&reference.marker, &name);
    }
    told
}

fn exchange_told(exchange: &Exchange) -> String {
    let mut told = format!(
        "\n{:?} in {:?}: {:?} {:?}\n{} {}{}\n",
        exchange.name,
        exchange.group,
        exchange.description,
        exchange.pattern,
        exchange.method,
        exchange.origin,
        exchange.target
    );
    if let Some(credentials) = &exchange.credentials {
        let user = String::from_utf8_lossy(&credentials.user);
        let password = String::from_utf8_lossy(&credentials.password);
        let _ = writeln!(told, "    as {user}:{password}");
    }
    for header in &exchange.headers {
        let value = String::from_utf8_lossy(&header.value);
        let _ = writeln!(told, "    {}: {value}", header.name);
    }
    if exchange.body != Body::None {
        let body = exchange.body.bytes();
        let body = String::from_utf8_lossy(&body);
        let _ = writeln!(told, "    {}", body.trim_end().replace("\r\n", "\n    "));
    }
    let _ = write!(told, "-> {:?}", exchange.expect);
    if let Some(answer) = &exchange.answer {
        let _ = write!(told, " {}", answer.status);
        for header in &answer.headers {
            let value = String::from_utf8_lossy(&header.value);
            let _ = write!(told, " {}: {value};", header.name);
        }
        let _ = write!(told, " {}", String::from_utf8_lossy(&answer.body));
    }
    told + "\n"
}

#[test]
fn a_document_of_version_3_0_is_a_journey() {
    insta::assert_snapshot!(told(SHOP, &read(SHOP)));
}

#[test]
fn a_document_of_version_3_1_is_read_as_it_means() {
    insta::assert_snapshot!(told(LIBRARY, &read(LIBRARY)));
}

#[test]
fn a_document_of_version_2_0_is_read_as_it_means() {
    insta::assert_snapshot!(told(PETS, &read(PETS)));
}

#[test]
fn what_is_wrong_with_a_document_is_told_and_left_out() {
    insta::assert_snapshot!(told(FAULTY, &read(FAULTY)));
}

#[test]
fn a_document_that_says_little_is_still_a_journey() {
    insta::assert_snapshot!(told(BARE, &read(BARE)));
}

/// Method and target of what is read with these options.
fn requests(text: &str, options: &OpenApiOptions) -> Vec<String> {
    let recording = read_openapi(&input(text), options).unwrap();
    let exchanges = recording.exchanges.iter();
    let requests = exchanges
        .map(|exchange| format!("{} {}{}", exchange.method, exchange.origin, exchange.target));
    requests.collect()
}

#[test]
fn a_document_without_its_version_is_read() {
    let recording = read("paths: {/a: {get: {}}}");
    assert!(recording.notes[0].words.contains("which version"));
}
