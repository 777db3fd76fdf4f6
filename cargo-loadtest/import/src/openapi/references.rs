//! Puts values of earlier answers into drafts.

use super::document::{ApiDocument, shorten};
use super::draft::{PathPiece, RequestDraft};
use super::example::ExampleValue;
use super::style::escape_url;
use super::wants::{SourceValue, WantedPlace, WantedValue};
use crate::recording::{Origin, Reference, ReferenceNumbers};
use loadtest_console::suggestion::join_some;
use std::collections::BTreeSet;

/// Replaces values by references, where their source comes earlier.
pub(super) fn fill_references(
    drafts: &mut [RequestDraft<'_>],
    wanted: &[WantedValue],
    order: &[usize],
) -> Vec<Reference> {
    let mut positions = vec![0; drafts.len()];
    for (position, number) in order.iter().enumerate() {
        positions[*number] = position;
    }
    let (mut numbers, mut references) = (ReferenceNumbers::default(), Vec::new());
    for value in wanted {
        let source = &value.source;
        if positions[source.draft] >= positions[value.user] {
            continue;
        }
        let from = find_origin(&source.value, positions[source.draft]);
        let text = match (from, &source.value) {
            (None, SourceValue::Sent(text)) => text.clone(),
            (None, _) => continue,
            (Some(from), _) => {
                let reference = Reference {
                    from,
                    is_bare: source.is_bare,
                    confidence: source.confidence,
                    why: source.why.clone(),
                };
                numbers.refer(reference, &mut references)
            }
        };
        let draft = &mut drafts[value.user];
        match &value.place {
            WantedPlace::Path(piece) => {
                if let PathPiece::Value { text: known, .. } = &mut draft.path[*piece] {
                    *known = text;
                }
                draft.answered.insert(*piece);
            }
            WantedPlace::Field(name) if source.is_bare => {
                draft.body.set_field(name, ExampleValue::Bare(text));
            }
            WantedPlace::Field(name) => draft.body.set_field(name, ExampleValue::Text(text)),
            WantedPlace::Bearer => draft.access.bearer = Some(text),
        }
    }
    references
}

fn find_origin(value: &SourceValue, exchange: usize) -> Option<Origin> {
    match value {
        SourceValue::Body(path) => Some(Origin::body(exchange, path)),
        SourceValue::Location(before) => Some(Origin::Part {
            exchange,
            name: "location".to_owned(),
            before: before.clone(),
            after: String::new(),
        }),
        SourceValue::Sent(_) => None,
    }
}

/// Warns of values that no answer has and that the document only makes up.
pub(super) fn warn_of_made_up<'a>(document: &ApiDocument<'a>, drafts: &[RequestDraft<'a>]) {
    let mut names = BTreeSet::new();
    for draft in drafts {
        let pieces = draft.path.iter().enumerate();
        let pieces = pieces.filter(|(at, _)| !draft.answered.contains(at));
        names.extend(pieces.filter_map(|(_, piece)| match piece {
            PathPiece::Value {
                name,
                text,
                is_fixed,
            } => (!is_fixed && !text.has_values()).then(|| shorten(name)),
            PathPiece::Fixed(_) => None,
        }));
        for parameter in draft
            .parameters
            .iter()
            .filter(|one| one.is_made_up(document))
        {
            let sent_as = [parameter.name.to_owned(), escape_url(parameter.name)];
            let mut sent = draft.query.iter().chain(&draft.headers);
            if sent.any(|(name, value)| sent_as.contains(name) && !value.has_values()) {
                names.insert(shorten(parameter.name));
            }
        }
    }
    if !names.is_empty() {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let words = format!(
            "nothing here answers with {}: examples are sent, and `--param` sets other values",
            join_some(&names)
        );
        document.warn(&document.start(), words);
    }
}
