//! What a text takes of answers, as references.

use super::super::marked::{Body, Confidence, Exchange, Origin, Recording, Reference};
use super::super::shell::Output;

/// Makes references of outputs, each with how many requests there are up to that whose answer has it; of those that
/// are sent again.
pub(super) fn refer(outputs: &[(&Output, usize)], recording: &mut Recording) {
    for (output, count) in outputs {
        let Some(exchange) = count.checked_sub(1) else {
            continue;
        };
        let mut reference = Reference {
            marker: output.marker.clone(),
            from: Origin::Body {
                exchange,
                path: output.path.clone(),
            },
            is_bare: false,
            confidence: Confidence::Certain,
            why: "the commands take it from there with `jq`".to_owned(),
        };
        let later = &mut recording.exchanges[*count..];
        let bare = format!("{}v", output.marker.trim_end_matches('e'));
        let mut has_bare = false;
        for exchange in later.iter_mut() {
            has_bare |= quote(&mut exchange.body, &output.marker, &bare);
        }
        let is_sent = |marker: &str| later.iter().any(|exchange| has(exchange, marker));
        let is_quoted = is_sent(&output.marker);
        if is_quoted {
            recording.references.push(reference.clone());
        }
        if has_bare {
            reference.marker = bare;
            reference.is_bare = true;
            recording.references.push(reference);
        }
    }
}

/// Puts quotes around a value that stands without them in JSON, as a number does, and its other marker; whether it
/// stood so.
fn quote(body: &mut Body, marker: &str, bare: &str) -> bool {
    let Body::Bytes(bytes) = body else {
        return false;
    };
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    let is_json = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    if !text.contains(marker) || is_json(text) {
        return false;
    }
    let quoted = text.replace(marker, &format!("\"{bare}\""));
    if !is_json(&quoted) {
        return false;
    }
    *bytes = quoted.into_bytes();
    true
}

/// Whether a marker stands in a request.
fn has(exchange: &Exchange, marker: &str) -> bool {
    let is_in = |bytes: &[u8]| {
        bytes
            .windows(marker.len())
            .any(|part| part == marker.as_bytes())
    };
    exchange.target.contains(marker)
        || exchange.headers.iter().any(|header| is_in(&header.value))
        || is_in(&exchange.body.bytes())
        || exchange
            .credentials
            .iter()
            .any(|pair| is_in(&pair.user) || is_in(&pair.password))
}
