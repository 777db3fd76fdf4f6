//! Redacts the words around requests: names, descriptions, warnings and patterns of paths.

use super::pass::SHORTEST_KNOWN;
use super::redact_text;
use super::rules::is_secret_segment;
use crate::import::recording::Recording;

/// The segment of a path that names a secret.
const HIDDEN: &str = "{token}";

/// Redacts names, descriptions and warnings.
pub(super) fn redact_words(recording: &mut Recording) {
    let values = recording
        .secrets
        .iter()
        .filter(|secret| !secret.is_variable);
    let known: Vec<String> = values.filter_map(|secret| secret.value.clone()).collect();
    let clean = |text: &mut String| *text = redact_text(text, &known);
    let clean_all = |texts: &mut [&mut Option<String>]| {
        texts
            .iter_mut()
            .filter_map(|text| text.as_mut())
            .for_each(clean);
    };
    clean_all(&mut [&mut recording.name, &mut recording.description]);
    for group in &mut recording.groups {
        clean(&mut group.name);
        clean_all(&mut [&mut group.description]);
    }
    recording
        .notes
        .iter_mut()
        .for_each(|note| clean(&mut note.words));
    for dropped in &mut recording.dropped {
        clean(&mut dropped.what);
        clean(&mut dropped.why);
    }
    for exchange in &mut recording.exchanges {
        clean_all(&mut [
            &mut exchange.name,
            &mut exchange.description,
            &mut exchange.group,
        ]);
        if let Some(pattern) = &mut exchange.pattern {
            *pattern = hide_segments(pattern, &known);
        }
    }
}

/// Hides the secret segments of a path that names are made of.
fn hide_segments(target: &str, known: &[String]) -> String {
    let (path, query) = match target.find('?') {
        Some(at) => target.split_at(at),
        None => (target, ""),
    };
    let mut before = "";
    let segments = path.split('/').map(|segment| {
        let is_known = |value: &String| value.len() >= SHORTEST_KNOWN && segment.contains(value);
        let is_hidden = is_secret_segment(before, segment) || known.iter().any(is_known);
        before = segment;
        if is_hidden { HIDDEN } else { segment }
    });
    segments.collect::<Vec<_>>().join("/") + query
}
