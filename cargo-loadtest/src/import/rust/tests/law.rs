//! What holds for every recording, whatever is in it.

use super::rich::{exchange, header, reference};
use super::*;
use crate::import::marked::{
    Answer, Body, Confidence, Credentials, Data, Group, Key, Origin, Part, Reference,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Which letters texts have.
#[derive(Debug, Clone, Copy)]
enum Letters {
    All,
    /// Those whose width nobody disputes.
    Ascii,
}

/// Texts that would be something else, if nobody took care.
fn text(of: Letters) -> impl Strategy<Value = String> {
    let odd = match of {
        Letters::All => prop_oneof![any::<String>(), Just("é订\u{202e}".to_owned())].boxed(),
        Letters::Ascii => "[ -~]{0,20}".boxed(),
    };
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

fn content(of: Letters) -> impl Strategy<Value = Body> {
    let part = (
        text(of),
        text(of),
        option::of(text(of)),
        option::of(text(of)),
        text(of),
    );
    let part = part.prop_map(|(name, content, file_name, content_type, line)| Part {
        name: name.into_bytes(),
        content: content.into_bytes(),
        file_name: file_name.map(String::into_bytes),
        content_type,
        headers: vec![line.into_bytes()],
    });
    let json = (text(of), text(of)).prop_map(|(key, value)| {
        Body::Bytes(
            serde_json::json!({ key: [value, 1] })
                .to_string()
                .into_bytes(),
        )
    });
    prop_oneof![
        Just(Body::None),
        text(of).prop_map(|text| Body::Bytes(text.into_bytes())),
        vec(any::<u8>(), 0..9).prop_map(Body::Bytes),
        json,
        vec(part, 0..3).prop_map(Body::Multipart),
    ]
}

fn sent(of: Letters) -> impl Strategy<Value = Exchange> {
    let method = prop_oneof![Just("GET".to_owned()), Just("POST".to_owned()), text(of)];
    let ty = prop_oneof![
        Just("application/json".to_owned()),
        Just("application/x-www-form-urlencoded".to_owned()),
        text(of)
    ];
    let words = (
        option::of(text(of)),
        option::of(text(of)),
        option::of(text(of)),
    );
    let answer = prop_oneof![
        text(of),
        text(of).prop_map(|key| format!("{{{key:?}:[{{{key:?}:1}}]}}"))
    ];
    let headers = vec((text(of), text(of)), 0..3);
    let login = option::of((text(of), text(of)));
    (
        method,
        text(of),
        ty,
        words,
        content(of),
        answer,
        headers,
        login,
    )
        .prop_map(
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
                    user: user.into_bytes(),
                    password: password.into_bytes(),
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

fn link(at: usize, of: Letters) -> impl Strategy<Value = Reference> {
    let key = prop_oneof![
        text(of).prop_map(Key::Field),
        (0..3_usize).prop_map(Key::Item)
    ];
    let from = prop_oneof![
        (0..5_usize, vec(key, 0..4)).prop_map(|(exchange, path)| Origin::Body { exchange, path }),
        (0..5_usize, text(of), text(of)).prop_map(|(exchange, before, after)| Origin::Between {
            exchange,
            before,
            after
        }),
        (0..5_usize, text(of)).prop_map(|(exchange, name)| Origin::Header { exchange, name }),
        (0..2_usize, text(of)).prop_map(|(data, field)| Origin::Row { data, field }),
    ];
    (from, any::<bool>(), text(of)).prop_map(move |(from, is_bare, why)| {
        let mut link = reference(&format!("ltm{at}e"), from, is_bare);
        link.confidence = Confidence::Likely;
        link.why = why;
        link
    })
}

fn recordings(of: Letters) -> impl Strategy<Value = Recording> {
    let words = (
        option::of(text(of)),
        option::of(text(of)),
        text(of),
        text(of),
    );
    let data = (text(of), text(of), text(of)).prop_map(|(name, field, value)| Data {
        name,
        fields: vec![field],
        rows: vec![vec![value]],
    });
    (
        vec(sent(of), 0..5),
        (link(0, of), link(1, of), link(2, of)),
        words,
        data,
    )
        .prop_map(
            |(exchanges, links, (name, description, note, base), data)| Recording {
                // Every second group that an exchange names is one.
                groups: exchanges
                    .iter()
                    .step_by(2)
                    .filter_map(|exchange| exchange.group.clone())
                    .map(|name| Group {
                        description: Some(name.clone()),
                        name,
                    })
                    .collect(),
                exchanges,
                references: vec![links.0, links.1, links.2],
                name,
                description,
                notes: vec![crate::import::source::Note::new(100..110, note)],
                base: Some(base),
                data: vec![data],
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
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_recording_is_a_source(recording in recordings(Letters::All)) {
        let written = made(&recording);
        let names = items(&written.source);
        let mut known: Vec<_> = names.clone();
        known.sort();
        known.dedup();
        prop_assert_eq!(known.len(), names.len(), "{}", written.source);
        // No words of others are code: all functions are those that the recording asks for.
        let functions = names.iter().filter(|name| name.starts_with(|first: char| first.is_lowercase()));
        let ours = ["between", "encoded"];
        let scenarios = functions.filter(|name| !ours.contains(&name.as_str())).count();
        prop_assert!(scenarios <= recording.groups.len() + 1, "{}", written.source);
        for letter in ['\u{202e}', '\r', '\u{0}'] {
            prop_assert!(!written.source.contains(letter), "{}", written.source);
        }
    }

}

proptest! {
    // Each asks a process of its own. They are the same ones each time: a formatter may have rules for rare cases that
    // the layout does not know, and these cost nobody more than a change of blanks.
    #![proptest_config(ProptestConfig {
        cases: 48,
        rng_seed: proptest::test_runner::RngSeed::Fixed(8),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_recording_is_as_a_formatter_has_it(recording in recordings(Letters::Ascii)) {
        let source = made(&recording).source;
        if let Some(formatted) = formatted(&source) {
            prop_assert_eq!(&formatted, &source);
        }
    }
}
