//! Takes what is secret out of the words around the requests: names, descriptions, comments, warnings.
//!
//! What is sent is left as it is: the writer of a source has names of variables for it.

use super::marked::{Credentials, Exchange, Recording, Secret};
use super::rust;
use super::secrecy::{is_secret_segment, without};
use base64::prelude::{BASE64_STANDARD, Engine as _};

/// What stands in a path for a secret, where steps are named after it.
const HIDDEN: &str = "{token}";
/// A known value is looked for in paths if it is as long.
const SHORTEST: usize = 8;

/// Makes all words of a recording fit to be read by everybody; what was found to be secret.
pub(crate) fn silence(recording: &mut Recording) -> Vec<Secret> {
    for exchange in &mut recording.exchanges {
        tell_user(exchange);
    }
    let secrets = rust::secrets(recording);
    let known: Vec<String> = secrets.iter().map(|secret| secret.value.clone()).collect();
    let clean = |text: &mut String| *text = without(text, &known);
    let clean_some = |text: &mut Option<String>| {
        if let Some(text) = text {
            clean(text);
        }
    };
    clean_some(&mut recording.name);
    clean_some(&mut recording.description);
    for group in &mut recording.groups {
        clean(&mut group.name);
        clean_some(&mut group.description);
    }
    for note in &mut recording.notes {
        clean(&mut note.words);
    }
    for dropped in &mut recording.dropped {
        clean(&mut dropped.what);
        clean(&mut dropped.why);
    }
    for data in &mut recording.data {
        clean(&mut data.name);
    }
    for exchange in &mut recording.exchanges {
        clean_some(&mut exchange.name);
        clean_some(&mut exchange.description);
        clean_some(&mut exchange.group);
        let shown = exchange.pattern.as_ref().unwrap_or(&exchange.target);
        let hidden = without_segments(shown, &known);
        if hidden != *shown {
            exchange.pattern = Some(hidden);
        }
    }
    secrets
}

/// Says who asks with basic credentials, which only looks as if it were one secret: the user is none.
fn tell_user(exchange: &mut Exchange) {
    let is_named = |name: &str| name.eq_ignore_ascii_case("authorization");
    let mut named = exchange.headers.iter().enumerate();
    let mut named = named.by_ref().filter(|(_, header)| is_named(&header.name));
    let (Some((at, header)), None, None) = (named.next(), named.next(), &exchange.credentials)
    else {
        return;
    };
    let pair = header.value.strip_prefix(b"Basic ");
    let Some(pair) = pair.and_then(|pair| BASE64_STANDARD.decode(pair).ok()) else {
        return;
    };
    let mut parts = pair.splitn(2, |byte| *byte == b':').map(<[u8]>::to_vec);
    let (Some(user), Some(password)) = (parts.next(), parts.next()) else {
        return;
    };
    let credentials = Credentials { user, password };
    if credentials.basic() == header.value && std::str::from_utf8(&pair).is_ok() {
        exchange.headers.remove(at);
        exchange.credentials = Some(credentials);
    }
}

/// A target without the segments of its path that are secret.
fn without_segments(target: &str, known: &[String]) -> String {
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (target, None),
    };
    let mut before = "";
    let segments = path.split('/').map(|segment| {
        let is_known = |value: &String| value.len() >= SHORTEST && segment.contains(value.as_str());
        let is_hidden = is_secret_segment(before, segment) || known.iter().any(is_known);
        before = segment;
        if is_hidden { HIDDEN } else { segment }
    });
    let mut shown = segments.collect::<Vec<_>>().join("/");
    if let Some(query) = query {
        shown.push('?');
        shown.push_str(query);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::super::marked::{Group, Header};
    use super::super::source::Note;
    use super::*;

    const CANARY: &str = "q7Rb2xVn9KzLm4Tp8Ws1";

    #[test]
    fn words_around_requests_have_no_secret_in_them() {
        let said = || format!("with {CANARY} of ada");
        let mut recording = Recording {
            name: Some(said()),
            description: Some(said()),
            groups: vec![Group {
                name: said(),
                description: Some(said()),
            }],
            notes: vec![Note::new(0..1, said())],
            exchanges: vec![Exchange {
                method: "GET".to_owned(),
                target: format!("/reset/{CANARY}/a"),
                name: Some(said()),
                description: Some("the password is `tiny-1`".to_owned()),
                group: Some(said()),
                headers: vec![Header {
                    name: "X-Pin".to_owned(),
                    value: b"tiny-1".to_vec(),
                }],
                ..Exchange::default()
            }],
            ..Recording::default()
        };
        let secrets = silence(&mut recording);
        let shown = format!(
            "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            recording.name,
            recording.description,
            recording.groups,
            recording.notes,
            recording.exchanges[0].name,
            recording.exchanges[0].description,
            recording.exchanges[0].group,
            recording.exchanges[0].pattern,
        );
        assert!(
            !shown.contains(CANARY) && !shown.contains("tiny-1"),
            "{shown}"
        );
        assert_eq!(
            Some(&recording.groups[0].name),
            recording.exchanges[0].group.as_ref()
        );
        assert_eq!(
            recording.exchanges[0].pattern.as_deref(),
            Some("/reset/{token}/a")
        );
        // What is sent stays.
        assert_eq!(recording.exchanges[0].target, format!("/reset/{CANARY}/a"));
        let values: Vec<_> = secrets.iter().map(|secret| &*secret.value).collect();
        assert_eq!(values, [CANARY, "tiny-1"]);
    }

    #[test]
    fn a_key_in_the_place_of_a_user_is_found_in_basic_credentials() {
        let pair = BASE64_STANDARD.encode(format!("{CANARY}:x"));
        let mut recording = Recording {
            exchanges: vec![Exchange {
                method: "GET".to_owned(),
                target: "/".to_owned(),
                headers: vec![Header {
                    name: "authorization".to_owned(),
                    value: format!("Basic {pair}").into_bytes(),
                }],
                ..Exchange::default()
            }],
            ..Recording::default()
        };
        let secrets = silence(&mut recording);
        assert!(secrets.iter().any(|secret| secret.value == CANARY));
    }

    #[test]
    fn of_basic_credentials_the_user_is_told() {
        for (value, user) in [
            ("Basic YWRhOmh1bnRlcjI=", Some("ada")),
            ("Basic YWRh", None),
            ("Basic ???", None),
            ("Digest username=\"ada\"", None),
        ] {
            let mut exchange = Exchange {
                headers: vec![Header {
                    name: "authorization".to_owned(),
                    value: value.as_bytes().to_vec(),
                }],
                ..Exchange::default()
            };
            tell_user(&mut exchange);
            let told = exchange.credentials.as_ref();
            assert_eq!(
                told.map(|told| &*told.user),
                user.map(str::as_bytes),
                "{value}"
            );
            assert_eq!(exchange.headers.is_empty(), user.is_some(), "{value}");
        }
    }
}
