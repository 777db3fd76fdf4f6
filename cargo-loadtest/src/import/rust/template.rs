//! Text with places in it that a run fills, and how these are found: by markers in what was recorded.

use super::super::marked::{Body, Exchange, Recording};
use std::collections::{BTreeSet, HashMap};

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Piece {
    /// As it is.
    Text(String),
    /// The secret with that name.
    Secret(String),
    /// The reference with that number.
    Value(usize),
}

/// Text with places in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Template(pub(super) Vec<Piece>);

impl Template {
    /// All of it a secret.
    pub(super) fn secret(name: String) -> Self {
        Self(vec![Piece::Secret(name)])
    }

    /// The text, where that is all.
    pub(super) fn text(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Adds text to its end.
    pub(super) fn push(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.0.push(Piece::Text(text.to_owned())),
        }
    }

    /// Adds another one to its end.
    pub(super) fn extend(&mut self, other: Self) {
        for piece in other.0 {
            match piece {
                Piece::Text(text) => self.push(&text),
                piece => self.0.push(piece),
            }
        }
    }
}

/// What stands for values in a recording.
#[derive(Debug, Default)]
pub(super) struct Markers {
    /// Where one of them may begin.
    begin: String,
    /// How long they are, the longest first.
    lengths: Vec<usize>,
    known: HashMap<String, Piece>,
}

impl Markers {
    pub(super) fn new(recording: &Recording) -> Self {
        let secrets = recording.secrets.iter().map(|secret| {
            let piece = Piece::Secret(secret.name.clone());
            (secret.value.clone(), piece)
        });
        let references = recording.references.iter().enumerate();
        let references =
            references.map(|(at, reference)| (reference.marker.clone(), Piece::Value(at)));
        let known: HashMap<String, Piece> = secrets
            .chain(references)
            .filter(|(marker, _)| !marker.is_empty())
            .collect();
        let lengths: BTreeSet<usize> = known.keys().map(String::len).collect();
        Self {
            begin: common_beginning(known.keys()),
            lengths: lengths.into_iter().rev().collect(),
            known,
        }
    }

    /// The text with places for the markers in it.
    pub(super) fn split(&self, text: &str) -> Template {
        let mut template = Template::default();
        if self.known.is_empty() {
            template.push(text);
            return template;
        }
        let (mut done, mut at) = (0, 0);
        while let Some(found) = text[at..].find(&self.begin) {
            let start = at + found;
            let rest = &text[start..];
            let marker = self.lengths.iter().find_map(|length| {
                let marker = rest.get(..*length)?;
                Some((self.known.get(marker)?, *length))
            });
            if let Some((piece, length)) = marker {
                template.push(&text[done..start]);
                template.0.push(piece.clone());
                at = start + length;
                done = at;
            } else {
                let Some(first) = rest.chars().next() else {
                    break;
                };
                at = start + first.len_utf8();
            }
        }
        template.push(&text[done..]);
        template
    }

    /// Whether one of them is in it.
    pub(super) fn are_in(&self, text: &str) -> bool {
        let template = self.split(text);
        template
            .0
            .iter()
            .any(|piece| !matches!(piece, Piece::Text(_)))
    }

    /// The references of an exchange, by their number.
    pub(super) fn references(&self, exchange: &Exchange) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut look = |bytes: &[u8]| {
            if self.known.is_empty() {
                return;
            }
            for piece in self.split(&String::from_utf8_lossy(bytes)).0 {
                if let Piece::Value(at) = piece {
                    found.insert(at);
                }
            }
        };
        look(exchange.target.as_bytes());
        for header in &exchange.headers {
            look(&header.value);
        }
        if let Some(credentials) = &exchange.credentials {
            look(&credentials.user);
            look(&credentials.password);
        }
        match &exchange.body {
            Body::None => {}
            Body::Bytes(bytes) => look(bytes),
            Body::Multipart(parts) => {
                for part in parts {
                    look(&part.content);
                }
            }
        }
        found
    }
}

fn common_beginning<'a>(mut texts: impl Iterator<Item = &'a String>) -> String {
    let Some(first) = texts.next() else {
        return String::new();
    };
    let mut common = first.as_str();
    for text in texts {
        let same = common
            .char_indices()
            .zip(text.chars())
            .find(|((_, one), other)| one != other);
        let end = same.map_or(common.len().min(text.len()), |((at, _), _)| at);
        common = &common[..end];
    }
    common.to_owned()
}
