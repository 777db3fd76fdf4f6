//! What holds for every recording, whatever is in it.

use super::rich::{exchange, header, reference};
use super::*;
use crate::recording::{
    Answer, Body, Confidence, Credentials, Exchange, Group, Key, Origin, Part, Recording,
    Reference, Text,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Groups, which may have one name.
const GROUPS: usize = 2;

/// Texts that would be something else, if nobody took care.
fn text() -> impl Strategy<Value = String> {
    let odd = prop_oneof![any::<String>(), Just("é订\u{202e}".to_owned())];
    let evil = prop_oneof![
        Just("\n".to_owned()),
        Just("*/".to_owned()),
        Just("{{".to_owned()),
        Just("}}".to_owned()),
        Just("{".to_owned()),
        Just("\"".to_owned()),
        Just("\\".to_owned()),
        Just("login.response".to_owned()),
        Just("fn x() {}".to_owned()),
        Just("self".to_owned()),
        Just("ltm0e".to_owned()),
        Just("ltm1e".to_owned()),
        Just("ltm2e".to_owned()),
        Just("a=b&c=%20".to_owned()),
        Just("/a/1".to_owned()),
        odd,
        "[a-z]{0,12}",
    ];
    vec(evil, 0..5).prop_map(|parts| parts.concat())
}

fn content() -> impl Strategy<Value = Body> {
    let part = (text(), text(), option::of(text()), option::of(text()));
    let part = part.prop_map(|(name, content, file_name, content_type)| Part {
        name: name.into(),
        content: content.into(),
        file_name: file_name.map(Text::literal),
        content_type,
    });
    let json = (text(), text()).prop_map(|(key, value)| {
        Body::Text(serde_json::json!({ key: [value, 1] }).to_string().into())
    });
    prop_oneof![
        Just(Body::None),
        text().prop_map(|text| Body::Text(text.into())),
        vec(any::<u8>(), 0..9).prop_map(|bytes| Body::Text(Text::from_bytes(bytes))),
        json,
        vec(part, 0..3).prop_map(Body::Multipart),
    ]
}

fn sent() -> impl Strategy<Value = Exchange> {
    let method = prop_oneof![Just("GET".to_owned()), Just("POST".to_owned()), text()];
    let ty = prop_oneof![
        Just("application/json".to_owned()),
        Just("application/x-www-form-urlencoded".to_owned()),
        text()
    ];
    let words = (
        option::of(text()),
        option::of(text()),
        option::of(0..GROUPS),
    );
    let answer = prop_oneof![
        text(),
        text().prop_map(|key| format!("{{{key:?}:[{{{key:?}:1}}]}}"))
    ];
    let headers = vec((text(), text()), 0..3);
    let login = option::of((text(), text()));
    (method, text(), ty, words, content(), answer, headers, login).prop_map(
        |(method, target, ty, (name, description, group), body, answered, headers, login)| {
            let mut made = exchange(&method, &target, 200);
            made.headers = vec![header("content-type", &ty)];
            let headers = headers.iter().map(|(name, value)| header(name, value));
            made.headers.extend(headers);
            made.body = body;
            made.name = name;
            made.description = description;
            made.group = group;
            made.credentials = login.map(|(user, password)| Credentials {
                user: user.into(),
                password: password.into(),
            });
            made.answer = Some(Answer {
                status: 200,
                body: answered.into_bytes(),
                ..Answer::default()
            });
            made
        },
    )
}

fn link() -> impl Strategy<Value = Reference> {
    let key = prop_oneof![
        text().prop_map(Key::Field),
        (0..3_usize).prop_map(Key::Item)
    ];
    let from = prop_oneof![
        (0..5_usize, vec(key, 0..4)).prop_map(|(exchange, path)| Origin::Body { exchange, path }),
        (0..5_usize, text(), text()).prop_map(|(exchange, before, after)| Origin::Between {
            exchange,
            before,
            after
        }),
        (0..5_usize, text()).prop_map(|(exchange, name)| Origin::Header { exchange, name }),
    ];
    (from, any::<bool>(), text()).prop_map(move |(from, is_bare, why)| {
        let mut link = reference(from, is_bare);
        link.confidence = Confidence::Likely;
        link.why = why;
        link
    })
}

fn recordings() -> impl Strategy<Value = Recording> {
    let words = (option::of(text()), option::of(text()), text(), text());
    let groups = vec(text(), GROUPS);
    (vec(sent(), 0..5), groups, (link(), link(), link()), words).prop_map(
        |(exchanges, groups, links, (name, description, note, base))| Recording {
            groups: groups
                .into_iter()
                .map(|name| Group {
                    description: Some(name.clone()),
                    name,
                    ..Group::default()
                })
                .collect(),
            exchanges,
            references: vec![links.0, links.1, links.2],
            name,
            description,
            notes: vec![crate::source::Note::new(100..110, note)],
            base: Some(base),
            ..Recording::default()
        },
    )
}

/// The functions and types of a source, and those within the functions.
fn items(source: &str) -> Vec<String> {
    let file = syn::parse_file(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    let mut names = Vec::new();
    for item in file.items {
        match item {
            syn::Item::Fn(function) => names.push(function.sig.ident.to_string()),
            syn::Item::Struct(of) => names.push(of.ident.to_string()),
            syn::Item::Use(_) | syn::Item::Macro(_) => {}
            _ => panic!("something else is written\n{source}"),
        }
    }
    names
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_recording_is_a_source(recording in recordings()) {
        let written = made(&recording);
        let names = items(&written.source);
        let mut known: Vec<_> = names.clone();
        known.sort();
        known.dedup();
        prop_assert_eq!(known.len(), names.len(), "{}", written.source);
        // No words of others are code: all functions are those that the recording asks for.
        let functions = names.iter().filter(|name| name.starts_with(|first: char| first.is_lowercase()));
        let ours = ["between", "encoded", "value_text"];
        let scenarios = functions.filter(|name| !ours.contains(&name.as_str())).count();
        prop_assert!(scenarios <= recording.groups.len() + 1, "{}", written.source);
        for letter in ['\u{202e}', '\r', '\u{0}'] {
            prop_assert!(!written.source.contains(letter), "{}", written.source);
        }
    }

}
