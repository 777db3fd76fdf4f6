//! Conversions between marked and typed recordings.

use super::{Answer, Body, Credentials, Exchange, Header, Part, Recording, Reference, Secret};
use crate::import::recording::{self as typed, Piece, Text};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};

/// Shorter values of variables are not looked for.
const SHORTEST: usize = 4;

/// The markers of a recording.
struct Markers(Vec<(String, Piece)>);

impl Markers {
    fn split(&self, bytes: &[u8]) -> Text {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Text::from_bytes(bytes);
        };
        let mut split = Text::default();
        let mut rest = text;
        loop {
            let found = self.0.iter().filter_map(|(marker, piece)| {
                let at = rest.find(marker.as_str())?;
                Some((at, usize::MAX - marker.len(), piece))
            });
            let Some((at, length, piece)) = found.min_by_key(|(at, length, _)| (*at, *length))
            else {
                break;
            };
            split.push_str(&rest[..at]);
            split.push(piece.clone());
            rest = &rest[at + (usize::MAX - length)..];
        }
        split.push_str(rest);
        split
    }

    /// Splits a body, in which bare values stand in quotes.
    fn split_body(&self, bytes: &[u8], references: &[typed::Reference]) -> Text {
        let pieces = self.split(bytes).pieces().to_vec();
        let is_literal = |at: Option<usize>, is: &dyn Fn(&str) -> bool| matches!(at.and_then(|at| pieces.get(at)), Some(Piece::Literal(text)) if is(text));
        let is_quoted = |at: usize| {
            matches!(pieces.get(at), Some(Piece::Reference(number)) if references[*number].is_bare)
                && is_literal(at.checked_sub(1), &|text| {
                    text.ends_with('"') && !text.ends_with("\\\"")
                })
                && is_literal(Some(at + 1), &|text| text.starts_with('"'))
        };
        let unquoted = pieces.iter().enumerate().map(|(at, piece)| match piece {
            Piece::Literal(text) => {
                let mut text = text.as_str();
                if at > 0 && is_quoted(at - 1) {
                    text = &text[1..];
                }
                if is_quoted(at + 1) {
                    text = &text[..text.len() - 1];
                }
                Piece::Literal(text.to_owned())
            }
            piece => piece.clone(),
        });
        unquoted.collect()
    }
}

impl Recording {
    /// Converts markers to typed values; `has_values` says that variables have their real values.
    pub(crate) fn typed(self, has_values: bool) -> typed::Recording {
        let secrets = self.secrets.iter().enumerate();
        let secrets = secrets.map(|(at, secret)| (secret.value.clone(), Piece::Secret(at)));
        let secrets = secrets.filter(|(value, _)| !has_values || value.len() >= SHORTEST);
        let references = self.references.iter().enumerate();
        let references = references.map(|(at, known)| (known.marker.clone(), Piece::Reference(at)));
        let markers = secrets.chain(references);
        let markers = Markers(markers.filter(|(marker, _)| !marker.is_empty()).collect());
        let variables = self.secrets.into_iter().map(|secret| {
            let value = has_values.then_some(secret.value);
            typed::Secret::variable(secret.name, secret.what, value)
        });
        let hidden = self.hidden.into_iter();
        let hidden =
            hidden.map(|secret| typed::Secret::known(secret.name, secret.what, secret.value));
        let secrets: Vec<_> = variables.chain(hidden).collect();
        let references = self.references.into_iter().map(|known| typed::Reference {
            from: known.from,
            is_bare: known.is_bare,
            confidence: known.confidence,
            why: known.why,
        });
        let references: Vec<_> = references.collect();
        let exchanges = self.exchanges.into_iter();
        let exchanges = exchanges.map(|exchange| exchange.typed(&markers, &references, &secrets));
        typed::Recording {
            exchanges: exchanges.collect(),
            notes: self.notes,
            secrets,
            keys: self.keys,
            client: self.client,
            name: self.name,
            description: self.description,
            groups: self.groups,
            dropped: self.dropped,
            references,
            base: self.base,
        }
    }
}

impl Exchange {
    fn typed(
        self,
        markers: &Markers,
        references: &[typed::Reference],
        secrets: &[typed::Secret],
    ) -> typed::Exchange {
        let header = |header: Header| typed::Header {
            value: markers.split(&header.value),
            name: header.name,
        };
        let show = |piece: &Piece| match piece {
            Piece::Reference(at) => format!("{{{}}}", references[*at].from.word()),
            Piece::Secret(at) => format!("{{{}}}", secrets[*at].name),
            _ => String::new(),
        };
        let part = |part: Part| typed::Part {
            name: markers.split(&part.name),
            file_name: part.file_name.map(|name| markers.split(&name)),
            content_type: part.content_type,
            headers: part
                .headers
                .iter()
                .map(|line| markers.split(line))
                .collect(),
            content: markers.split(&part.content),
        };
        typed::Exchange {
            span: self.span,
            method: self.method,
            origin: self.origin,
            target: markers.split(self.target.as_bytes()),
            headers: self.headers.into_iter().map(header).collect(),
            omitted: self.omitted,
            credentials: self.credentials.map(|both| typed::Credentials {
                user: markers.split(&both.user),
                password: markers.split(&both.password),
            }),
            body: match self.body {
                Body::None => typed::Body::None,
                Body::Bytes(bytes) => typed::Body::Text(markers.split_body(&bytes, references)),
                Body::Multipart(parts) => {
                    typed::Body::Multipart(parts.into_iter().map(part).collect())
                }
            },
            redirects: self.redirects,
            timeout: self.timeout,
            name: self.name,
            description: self.description,
            group: self.group,
            pattern: self
                .pattern
                .map(|pattern| markers.split(pattern.as_bytes()).shown(show)),
            expect: self.expect,
            think: self.think,
            answer: self.answer.map(|answer| typed::Answer {
                status: answer.status,
                headers: answer
                    .headers
                    .into_iter()
                    .map(|header| typed::Header {
                        value: Text::from_bytes(header.value),
                        name: header.name,
                    })
                    .collect(),
                body: answer.body,
                is_example: answer.is_example,
            }),
        }
    }
}

/// Markers for typed values.
struct Marking {
    seed: u64,
    bare: HashMap<usize, bool>,
    values: Vec<Option<String>>,
}

impl Marking {
    fn marker(&self, piece: &Piece) -> Vec<u8> {
        let marker = match piece {
            Piece::Literal(text) => text.clone(),
            Piece::Bytes(bytes) => return bytes.clone(),
            Piece::Reference(at) => format!("mk{:016x}r{at}e", self.seed),
            Piece::Secret(at) => match &self.values[*at] {
                Some(value) => value.clone(),
                None => format!("mk{:016x}s{at}e", self.seed),
            },
        };
        marker.into_bytes()
    }

    fn mark(&self, text: &Text) -> Vec<u8> {
        text.pieces()
            .iter()
            .flat_map(|piece| self.marker(piece))
            .collect()
    }

    fn mark_body(&self, text: &Text) -> Vec<u8> {
        let quoted = |piece: &Piece| match piece {
            Piece::Reference(at) if self.bare[at] => {
                [&b"\""[..], &self.marker(piece), b"\""].concat()
            }
            piece => self.marker(piece),
        };
        text.pieces().iter().flat_map(quoted).collect()
    }
}

impl typed::Recording {
    /// Converts typed values to markers.
    pub(crate) fn marked(self) -> Recording {
        let bare = self
            .references
            .iter()
            .map(|known| known.is_bare)
            .enumerate();
        let marking = Marking {
            seed: RandomState::new().hash_one("marker"),
            bare: bare.collect(),
            values: self
                .secrets
                .iter()
                .map(|secret| secret.value.clone().filter(|_| secret.is_variable))
                .collect(),
        };
        let texts = self.exchanges.iter().flat_map(typed::Exchange::texts);
        let used: HashSet<Piece> = texts.flat_map(Text::pieces).cloned().collect();
        let mut secrets = Vec::new();
        let mut hidden = Vec::new();
        for (at, secret) in self.secrets.into_iter().enumerate() {
            let marker = marking.marker(&Piece::Secret(at));
            let with_value = |value| Secret {
                name: secret.name.clone(),
                what: secret.what.clone(),
                value,
            };
            if secret.is_variable || used.contains(&Piece::Secret(at)) {
                secrets.push(with_value(String::from_utf8_lossy(&marker).into_owned()));
            }
            if let Some(value) = secret.value.clone().filter(|_| !secret.is_variable) {
                hidden.push(with_value(value));
            }
        }
        let references = self.references.into_iter().enumerate();
        let references = references.map(|(at, known)| Reference {
            marker: String::from_utf8_lossy(&marking.marker(&Piece::Reference(at))).into_owned(),
            from: known.from,
            is_bare: known.is_bare,
            confidence: known.confidence,
            why: known.why,
        });
        let references = references.collect();
        let exchanges = self.exchanges.into_iter();
        Recording {
            exchanges: exchanges
                .map(|exchange| exchange.marked(&marking))
                .collect(),
            notes: self.notes,
            secrets,
            hidden,
            keys: self.keys,
            client: self.client,
            name: self.name,
            description: self.description,
            groups: self.groups,
            dropped: self.dropped,
            references,
            base: self.base,
        }
    }
}

impl typed::Exchange {
    fn marked(self, marking: &Marking) -> Exchange {
        let header = |header: typed::Header| Header {
            value: marking.mark(&header.value),
            name: header.name,
        };
        let part = |part: typed::Part| Part {
            name: marking.mark(&part.name),
            file_name: part.file_name.map(|name| marking.mark(&name)),
            content_type: part.content_type,
            headers: part.headers.iter().map(|line| marking.mark(line)).collect(),
            content: marking.mark(&part.content),
        };
        Exchange {
            span: self.span,
            method: self.method,
            origin: self.origin,
            target: String::from_utf8_lossy(&marking.mark(&self.target)).into_owned(),
            headers: self.headers.into_iter().map(header).collect(),
            omitted: self.omitted,
            credentials: self.credentials.map(|both| Credentials {
                user: marking.mark(&both.user),
                password: marking.mark(&both.password),
            }),
            body: match self.body {
                typed::Body::None => Body::None,
                typed::Body::Text(text) => Body::Bytes(marking.mark_body(&text)),
                typed::Body::Multipart(parts) => {
                    Body::Multipart(parts.into_iter().map(part).collect())
                }
            },
            redirects: self.redirects,
            timeout: self.timeout,
            name: self.name,
            description: self.description,
            group: self.group,
            pattern: self.pattern,
            expect: self.expect,
            think: self.think,
            answer: self.answer.map(|answer| Answer {
                status: answer.status,
                headers: answer.headers.into_iter().map(header).collect(),
                body: answer.body,
                is_example: answer.is_example,
            }),
        }
    }
}
