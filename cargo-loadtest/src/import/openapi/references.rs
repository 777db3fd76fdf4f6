//! Puts values of earlier answers into drafts.

use super::document::{ApiDocument, shorten};
use super::draft::{PathPiece, RequestDraft};
use super::example::ExampleValue;
use super::wants::{SourceValue, WantedPlace, WantedValue};
use crate::import::recording::{Origin, Reference, ReferenceNumbers};

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
                draft.set_path_value(*piece, text);
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
        SourceValue::Body(path) => Some(Origin::Body {
            exchange,
            path: path.clone(),
        }),
        SourceValue::Location(before) => Some(Origin::Part {
            exchange,
            name: "location".to_owned(),
            before: before.clone(),
            after: String::new(),
        }),
        SourceValue::Sent(_) => None,
    }
}

/// Warns of values of paths that no answer has, and that are no constants.
pub(super) fn warn_of_made_up(document: &ApiDocument<'_>, drafts: &[RequestDraft<'_>]) {
    for draft in drafts {
        for (at, piece) in draft.path.iter().enumerate() {
            if let PathPiece::Value {
                name,
                text,
                is_fixed: false,
            } = piece
                && !draft.answered.contains(&at)
                && !text.has_constant()
            {
                let name = shorten(name);
                let value = text.as_literal().map_or("<secret>".to_owned(), shorten);
                let words =
                    format!("nothing here answers with `{{{name}}}`: `{value}` is sent for it");
                document.warn(&draft.operation.span, words);
            }
        }
    }
}
