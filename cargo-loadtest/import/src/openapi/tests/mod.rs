//! Whole documents as recordings.

mod any;
mod requests;
mod told;
mod values;

use super::*;
use crate::recording::{Body, Exchange, Key, Origin, Piece, Text, encode_multipart};
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

/// Returns a text with names for its values.
fn show_text(text: &Text, recording: &Recording) -> String {
    text.shown(|piece| match piece {
        Piece::Secret(number) => format!("<{}>", recording.secrets[*number].name),
        Piece::Reference(number) => format!("<{number}>"),
        Piece::Constant(number) => format!("<{}>", recording.constants[*number].name),
        piece => panic!("{piece:?}"),
    })
}

/// Returns the body of a request with names for its values.
fn show_body(exchange: &Exchange, recording: &Recording) -> String {
    match &exchange.body {
        Body::None => String::new(),
        Body::Text(text) => show_text(text, recording),
        Body::Multipart(parts) => {
            let body = encode_multipart(parts, |text| show_text(text, recording).into_bytes());
            String::from_utf8(body).unwrap()
        }
    }
}

/// Returns the body of the first request.
fn first_body(text: &str) -> String {
    let recording = read(text);
    show_body(&recording.exchanges[0], &recording)
}

/// Returns a whole recording for a snapshot.
fn show_recording(text: &str, recording: &Recording) -> String {
    let mut shown = format!(
        "{:?} at {:?}\n{:?}\n",
        recording.name, recording.base, recording.description
    );
    for group in &recording.groups {
        let _ = writeln!(shown, "# {}: {:?}", group.name, group.description);
    }
    for exchange in &recording.exchanges {
        shown.push_str(&show_exchange(exchange, recording));
    }
    for (number, reference) in recording.references.iter().enumerate() {
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
            shown,
            "<{number}> = {from}{quotes}: {}, {}",
            reference.confidence.word(),
            reference.why
        );
    }
    for secret in recording.secrets.iter().filter(|secret| secret.is_variable) {
        let _ = writeln!(shown, "<{}>: {}", secret.name, secret.what);
    }
    for note in &recording.notes {
        let (line, column) = input(text).place(note.span.start);
        let _ = writeln!(shown, "{line}:{column}: {}", note.words);
    }
    shown
}

fn show_exchange(exchange: &Exchange, recording: &Recording) -> String {
    let show = |text: &Text| show_text(text, recording);
    let mut shown = format!(
        "\n{:?} in {:?}: {:?} {:?}\n{} {}{}\n",
        exchange.name,
        exchange.group.map(|group| &recording.groups[group].name),
        exchange.description,
        exchange.pattern,
        exchange.method,
        exchange.origin,
        show(&exchange.target)
    );
    if let Some(credentials) = &exchange.credentials {
        let (user, password) = (show(&credentials.user), show(&credentials.password));
        let _ = writeln!(shown, "    as {user}:{password}");
    }
    for header in &exchange.headers {
        let _ = writeln!(shown, "    {}: {}", header.name, show(&header.value));
    }
    if exchange.body != Body::None {
        let body = show_body(exchange, recording);
        let _ = writeln!(shown, "    {}", body.trim_end().replace("\r\n", "\n    "));
    }
    let _ = write!(shown, "-> {:?}", exchange.expect);
    if let Some(answer) = &exchange.answer {
        let _ = write!(shown, " {}", answer.status);
        for header in &answer.headers {
            let _ = write!(shown, " {}: {};", header.name, show(&header.value));
        }
        let _ = write!(shown, " {}", String::from_utf8_lossy(&answer.body));
    }
    shown + "\n"
}

#[test]
fn a_document_of_version_3_0_is_a_journey() {
    insta::assert_snapshot!(show_recording(SHOP, &read(SHOP)));
}

#[test]
fn a_document_of_version_3_1_is_read_as_it_means() {
    insta::assert_snapshot!(show_recording(LIBRARY, &read(LIBRARY)));
}

#[test]
fn a_document_of_version_2_0_is_read_as_it_means() {
    insta::assert_snapshot!(show_recording(PETS, &read(PETS)));
}

#[test]
fn what_is_wrong_with_a_document_is_told_and_left_out() {
    insta::assert_snapshot!(show_recording(FAULTY, &read(FAULTY)));
}

#[test]
fn a_document_that_says_little_is_still_a_journey() {
    insta::assert_snapshot!(show_recording(BARE, &read(BARE)));
}

/// Method and target of what is read with these options.
fn requests(text: &str, options: &OpenApiOptions) -> Vec<String> {
    let recording = read_openapi(&input(text), options).unwrap();
    let exchanges = recording.exchanges.iter();
    let requests = exchanges.map(|exchange| {
        let target = show_text(&exchange.target, &recording);
        format!("{} {}{target}", exchange.method, exchange.origin)
    });
    requests.collect()
}
