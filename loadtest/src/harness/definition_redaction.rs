//! Removes the secrets that a source spells out from its definition, before it is recorded or shown.

use crate::redact::{self, REDACTED};
use loadtest_model::definition::{AutomaticReply, BodyDef, BodyKind, HeaderDef, ScenarioDef};
use std::borrow::Cow;

/// The definition as it may be kept; its placeholders stay.
pub fn redact_definition(definition: &ScenarioDef) -> ScenarioDef {
    let mut definition = definition.clone();
    if let Some(base) = &mut definition.base {
        *base = redact::redact_url_template(base).into_owned().into();
    }
    for step in definition.steps.to_mut() {
        if let Some(url) = &mut step.url {
            *url = redact::redact_url_template(url).into_owned().into();
        }
        for HeaderDef { name, value } in step.headers.to_mut() {
            *value = redact_header_template(name, value).into();
        }
        if let Some(BodyDef { kind, template }) = &mut step.body {
            *template = match kind {
                BodyKind::Json | BodyKind::Form | BodyKind::Multipart => {
                    redact_json_template(template)
                }
                BodyKind::Text | BodyKind::Bytes => redact_literals(template, false),
            }
            .into();
        }
        if let Some(websocket) = &mut step.websocket {
            if let Some(heartbeat) = &mut websocket.heartbeat {
                redact_text(&mut heartbeat.message);
                heartbeat.answer.iter_mut().for_each(redact_text);
            }
            for AutomaticReply { to, with } in websocket.replies.to_mut() {
                redact_text(to);
                redact_text(with);
            }
        }
    }
    definition
}

/// Removes what is secret from a text that is sent as it is written.
fn redact_text(text: &mut Cow<'static, str>) {
    *text = redact::redact(text).to_string().into();
}

/// The value of a header: of a secret one no more than the scheme is left.
fn redact_header_template(name: &str, value: &str) -> String {
    if !redact::is_secret_name(name) {
        return redact_literals(value, false);
    }
    let scheme = ["Bearer ", "Basic "]
        .into_iter()
        .find(|scheme| value.starts_with(scheme))
        .unwrap_or_default();
    format!("{scheme}{}", redact_literals(&value[scheme.len()..], true))
}

/// The text between placeholders, without what is secret in it.
fn redact_literals(template: &str, is_secret: bool) -> String {
    let mut shown = String::with_capacity(template.len());
    let mut rest = template;
    while !rest.is_empty() {
        let (literal, after) = rest.split_at(rest.find("{{").unwrap_or(rest.len()));
        if !is_secret {
            shown.push_str(&redact::redact(literal));
        } else if !literal.trim_matches([' ', ':']).is_empty() {
            shown.push_str(REDACTED);
        } else {
            shown.push_str(literal);
        }
        let (placeholder, after) = after.split_at(placeholder_end(after));
        shown.push_str(placeholder);
        rest = after;
    }
    shown
}

/// The length of the placeholder that `text` begins with.
fn placeholder_end(text: &str) -> usize {
    text.find("}}").map_or(text.len(), |close| close + 2)
}

/// An object or array that is being read.
#[derive(Clone, Copy)]
struct JsonLevel {
    is_object: bool,
    is_secret: bool,
}

/// JSON with placeholders, which is what bodies are declared in, as it may be kept.
fn redact_json_template(template: &str) -> String {
    let mut shown = String::with_capacity(template.len());
    let mut levels: Vec<JsonLevel> = Vec::new();
    let mut is_key = false;
    let mut is_secret = false;
    let mut rest = template;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '"' => {
                let end = string_end(rest);
                let inside = rest.get(1..end - 1).unwrap_or_default();
                if is_key {
                    is_secret |= redact::is_secret_name(inside);
                    shown.push_str(&rest[..end]);
                } else {
                    shown.push('"');
                    shown.push_str(&redact_literals(inside, is_secret));
                    shown.push('"');
                }
                end
            }
            '{' if rest.starts_with("{{") => placeholder_end(rest),
            '(' => rest.find(')').map_or(rest.len(), |close| close + 1),
            '{' | '[' => {
                is_key = c == '{';
                levels.push(JsonLevel {
                    is_object: is_key,
                    is_secret,
                });
                1
            }
            '}' | ']' => {
                levels.pop();
                1
            }
            ',' => {
                let level = levels.last().copied();
                is_key = level.is_some_and(|level| level.is_object);
                is_secret = level.is_some_and(|level| level.is_secret);
                1
            }
            ':' => {
                is_key = false;
                1
            }
            c if c == ')' || c.is_whitespace() => c.len_utf8(),
            _ => {
                let end = rest
                    .find(|c: char| c.is_whitespace() || "\"{}[](),:".contains(c))
                    .unwrap_or(rest.len());
                shown.push_str(if is_secret {
                    "\"[redacted]\""
                } else {
                    &rest[..end]
                });
                rest = &rest[end..];
                continue;
            }
        };
        let (piece, after) = rest.split_at(length);
        if c != '"' {
            shown.push_str(piece);
        }
        rest = after;
    }
    shown
}

/// The length of the string that `text` begins with, its quotes included.
fn string_end(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadtest_model::definition::StepDef;
    use proptest::prelude::*;

    #[test]
    fn of_a_header_the_placeholders_stay_and_secrets_go() {
        for (name, value, shown) in [
            ("authorization", "Bearer hunter2", "Bearer [redacted]"),
            (
                "authorization",
                "Bearer {{login.response.token}}",
                "Bearer {{login.response.token}}",
            ),
            (
                "authorization",
                "Basic ada:{{login.response.password}}",
                "Basic [redacted]{{login.response.password}}",
            ),
            (
                "authorization",
                "Basic {{login.response.name}}:{{login.response.password}}",
                "Basic {{login.response.name}}:{{login.response.password}}",
            ),
            (
                "cookie",
                "session={{login.headers.id}}; theme=dark",
                "[redacted]{{login.headers.id}}[redacted]",
            ),
            ("x-api-key", "hunter2", "[redacted]"),
            ("referer", "http://h/?token=t", "http://h/?token=[redacted]"),
            ("accept", "text/html", "text/html"),
        ] {
            assert_eq!(
                redact_header_template(name, value),
                shown,
                "{name}: {value}"
            );
        }
    }

    #[test]
    fn of_a_body_the_placeholders_stay_and_secrets_go() {
        for (template, shown) in [
            (
                r#"{"user":"ada","password":"hunter2","n":1}"#,
                r#"{"user":"ada","password":"[redacted]","n":1}"#,
            ),
            (
                r#"{"token":{{login.response.token}},"api_key":"{{login.response.key}}"}"#,
                r#"{"token":{{login.response.token}},"api_key":"{{login.response.key}}"}"#,
            ),
            (
                r#"{"secret":{"a":["x",2,null],"b":{{a.response}}},"c":"d"}"#,
                r#"{"secret":{"a":["[redacted]","[redacted]","[redacted]"],"b":{{a.response}}},"c":"d"}"#,
            ),
            (
                r#"{"password":"a\"b,{{x.response['k']}}c","id":7,"sum":(..)}"#,
                r#"{"password":"[redacted]{{x.response['k']}}[redacted]","id":7,"sum":(..)}"#,
            ),
            (
                r#"[{"token":5},{"note":"password=hunter2&x=1"}]"#,
                r#"[{"token":"[redacted]"},{"note":"password=[redacted]&x=1"}]"#,
            ),
            (r#"{"a":{},"b":[]}"#, r#"{"a":{},"b":[]}"#),
        ] {
            assert_eq!(redact_json_template(template), shown);
        }
    }

    #[test]
    fn every_part_of_a_definition_is_looked_through() {
        let step = StepDef {
            url: Some("/a?api_key=hunter2&page={{login.response.page}}".into()),
            headers: vec![HeaderDef {
                name: "cookie".into(),
                value: "hunter2".into(),
            }]
            .into(),
            body: Some(BodyDef {
                kind: BodyKind::Text,
                template: "password=hunter2&user={{login.response.name}}".into(),
            }),
            ..StepDef::new("login")
        };
        let definition = redact_definition(&ScenarioDef {
            base: Some("http://ada:hunter2@127.0.0.1/?token=hunter2".into()),
            ..ScenarioDef::new("visit", vec![step])
        });
        let text = serde_json::to_string(&definition).unwrap();
        assert!(!text.contains("hunter2"), "{text}");
        assert!(text.contains("{{login.response.page}}"), "{text}");
        assert!(text.contains("{{login.response.name}}"), "{text}");
    }

    proptest! {
        #[test]
        fn any_template_can_be_looked_through(any in "\\PC*") {
            redact_json_template(&any);
            redact_literals(&any, false);
            redact_header_template("authorization", &any);
        }

        #[test]
        fn no_secret_of_an_object_survives(
            before in "[a-z\"\\\\{}:,]{0,8}",
            secret in "[a-z\"\\\\\\[\\],:= ]{0,12}",
        ) {
            let secret = format!("SECRET{secret}SECRET");
            let body = serde_json::json!({ "a": before, "my_token": [secret.clone()], "z": {"password": secret} });
            let shown = redact_json_template(&body.to_string());
            prop_assert!(!shown.contains("SECRET"), "{}", shown);
            prop_assert!(serde_json::from_str::<serde_json::Value>(&shown).is_ok(), "{}", shown);
        }
    }
}
