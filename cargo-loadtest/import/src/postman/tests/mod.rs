//! Whole collections as recordings.

mod any;
mod requests;
mod told;
mod variables;

use super::*;
use crate::recording::{Body, Exchange, Key, Origin, Piece, RunValue, Text, encode_multipart};
use std::fmt::Write as _;

const SHOP: &str = include_str!("../../../../../tests/fixtures/import/postman/shop.json");
const TICKETS: &str = include_str!("../../../../../tests/fixtures/import/postman/tickets.json");
const STAGING: &str =
    include_str!("../../../../../tests/fixtures/import/postman/tickets.environment.json");
const GLOBALS: &str = include_str!("../../../../../tests/fixtures/import/postman/globals.json");
const FAULTY: &str = include_str!("../../../../../tests/fixtures/import/postman/faulty.json");
const OLD: &str = include_str!("../../../../../tests/fixtures/import/postman/version-1.json");

fn input(text: &str) -> Input {
    Input::new("collection.json", text.to_owned())
}

fn read_with(
    text: &str,
    folders: &[&str],
    environment: Option<&str>,
) -> Result<Recording, Mistake> {
    let options = PostmanOptions {
        folders: folders.iter().map(|name| (*name).to_owned()).collect(),
        environment: environment.map(|text| read_environment(&input(text)).unwrap()),
    };
    read_postman(&input(text), &options)
}

fn read(text: &str) -> Recording {
    read_with(text, &[], None).unwrap()
}

/// A collection with these items, as JSON.
fn items(items: &str) -> String {
    format!("{{\"info\": {{\"name\": \"c\"}}, \"item\": [{items}]}}")
}

/// A collection of one request, its fields as JSON.
fn one(request: &str) -> Exchange {
    let recording = read(&items(&format!("{{\"request\": {{{request}}}}}")));
    recording.exchanges[0].clone()
}

/// A text with a name for each value.
fn resolved(text: &Text, recording: &Recording) -> String {
    text.shown(|piece| match piece {
        Piece::Secret(number) => format!("<{}>", recording.secrets[*number].name),
        Piece::Reference(number) => {
            let reference = &recording.references[*number];
            let from = match &reference.from {
                Origin::Body { exchange, path } => {
                    let keys = path.iter().map(|key| match key {
                        Key::Field(name) => format!(".{name}"),
                        Key::Item(number) => format!("[{number}]"),
                    });
                    format!("{exchange}{}", keys.collect::<String>())
                }
                Origin::Header { exchange, name } => format!("{exchange} header {name}"),
                other => format!("{other:?}"),
            };
            let bare = if reference.is_bare { " bare" } else { "" };
            format!("<{from}{bare}>")
        }
        Piece::Run(RunValue::Uuid) => "<uuid>".to_owned(),
        Piece::Run(RunValue::Row { feed, .. }) => format!("<{}>", recording.feeds[*feed].name),
        Piece::Run(value) => format!("<{value:?}>"),
        Piece::Constant(number) => format!("<{}>", recording.constants[*number].name),
        _ => unreachable!("a literal is shown as it is"),
    })
}

/// The header `name` of a request.
fn header(recording: &Recording, number: usize, name: &str) -> Option<String> {
    let value = recording.exchanges[number].header(name)?;
    Some(resolved(value, recording))
}

/// All of a recording, to be looked at.
fn shown(recording: &Recording) -> String {
    let mut shown = format!(
        "{:?} {:?} {:?}\n",
        recording.name, recording.description, recording.base
    );
    for group in &recording.groups {
        let _ = writeln!(shown, "group {:?} {:?}", group.name, group.description);
    }
    for (number, exchange) in recording.exchanges.iter().enumerate() {
        let Exchange {
            method,
            origin,
            target,
            ..
        } = exchange;
        let target = resolved(target, recording);
        let _ = writeln!(shown, "{number} {method} {origin} {target}");
        let _ = writeln!(
            shown,
            "  {:?} in {:?}, {:?}, {:?}, {:?}, {} redirects",
            exchange.name,
            exchange.group.map(|group| &recording.groups[group].name),
            exchange.pattern,
            exchange.description,
            exchange.expect,
            exchange.redirects
        );
        for header in &exchange.headers {
            let value = resolved(&header.value, recording);
            let _ = writeln!(shown, "  {}: {value}", header.name);
        }
        if let Some(credentials) = &exchange.credentials {
            let _ = writeln!(
                shown,
                "  {} : {}",
                resolved(&credentials.user, recording),
                resolved(&credentials.password, recording)
            );
        }
        let body = match &exchange.body {
            Body::None => None,
            Body::Text(text) => Some(resolved(text, recording)),
            Body::Multipart(parts) => {
                let bytes = encode_multipart(parts, |text| resolved(text, recording).into_bytes());
                Some(String::from_utf8(bytes).unwrap())
            }
        };
        if let Some(body) = body {
            let _ = writeln!(shown, "  {body:?}");
        }
        if let Some(answer) = &exchange.answer {
            let body = String::from_utf8_lossy(&answer.body).into_owned();
            let _ = writeln!(
                shown,
                "  -> {} {:?} {body:?}",
                answer.status, answer.is_example
            );
        }
    }
    for secret in &recording.secrets {
        let _ = writeln!(shown, "secret {}: {}", secret.name, secret.what);
    }
    for note in &recording.notes {
        let _ = writeln!(shown, "note {}: {}", note.span.start, note.words);
    }
    for dropped in &recording.dropped {
        let _ = writeln!(shown, "dropped {} ({})", dropped.what, dropped.why);
    }
    shown
}

#[test]
fn a_collection_is_read_as_postman_sends_it() {
    insta::assert_snapshot!(shown(&read(SHOP)));
}

#[test]
fn an_older_collection_is_read_with_its_environment() {
    let recording = read_with(TICKETS, &[], Some(STAGING)).unwrap();
    let shown = shown(&recording);
    assert!(!shown.contains("canary"), "{shown}");
    insta::assert_snapshot!(shown);
}

#[test]
fn a_collection_with_faults_is_read_around_them() {
    insta::assert_snapshot!(shown(&read(FAULTY)));
}

#[test]
fn what_is_no_collection_is_told_what_it_is() {
    for (text, words, help) in [
        (OLD, "has no `item`", "Collection v2.1"),
        (STAGING, "variables of an environment", "--environment"),
        (GLOBALS, "variables of an environment", "--environment"),
        (r#"{"info": {}}"#, "has no `item`", "Collection v2.1"),
        (
            r#"{"info": {}, "item": {}}"#,
            "`item` is an object",
            "Collection v2.1",
        ),
    ] {
        let mistake = read_with(text, &[], None).unwrap_err();
        assert!(mistake.words.contains(words), "{text}: {mistake:?}");
        assert!(mistake.help.unwrap_or_default().contains(help), "{text}");
    }
    let mistake = read_with(&items(""), &[], None).unwrap_err();
    assert!(mistake.words.contains("no request in it"), "{mistake:?}");
    let mistake = read_environment(&input(r#"{"values": 7}"#)).unwrap_err();
    assert_eq!(mistake.span, 11..12);
}

#[test]
fn one_folder_is_taken_with_what_it_needs() {
    let recording = read_with(SHOP, &["Catalogue"], None).unwrap();
    let names: Vec<_> = recording
        .exchanges
        .iter()
        .map(|exchange| exchange.name.as_deref().unwrap())
        .collect();
    assert_eq!(names, ["Log in", "Search teas", "A tea", "List", "Add"]);
    let mut exchanges = recording.exchanges.iter();
    assert!(exchanges.all(|exchange| exchange.group == Some(0)));
    let groups = recording.groups.iter().map(|group| group.name.as_str());
    assert_eq!(groups.collect::<Vec<_>>(), ["Catalogue"]);
    assert_eq!(
        resolved(&recording.exchanges[2].target, &recording),
        "/v1/teas/<1.items[0].id>"
    );
    let secrets: Vec<_> = recording
        .secrets
        .iter()
        .map(|secret| &secret.name)
        .collect();
    assert_eq!(secrets, ["PASSWORD"], "those of others are not asked for");
    assert!(recording.dropped.is_empty());
    // A folder in another one, in other letters.
    let recording = read_with(SHOP, &["payment", "session"], None).unwrap();
    let names: Vec<_> = recording
        .groups
        .iter()
        .map(|group| group.name.as_str())
        .collect();
    assert_eq!(names, ["Session", "Payment"]);
    assert_eq!(
        recording.exchanges.len(),
        5,
        "the order and the tea it is for are needed"
    );
    let mistake = read_with(SHOP, &["Catalog"], None).unwrap_err();
    assert!(mistake.help.unwrap().contains("`Catalogue`"));
}
