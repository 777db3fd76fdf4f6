//! The headers of steps, and those of the scenario, which are as if they were written on its steps.

use super::names::Names;
use super::request::{Access, Piece, Placeholder, Resolver, Sink};
use super::{Resolved, shown};
use crate::fingerprint::Fingerprint;
use crate::options;
use crate::suggest::Errors;
use quote::quote;

/// A header, all its placeholders resolved.
pub(crate) struct Header {
    /// In lower case.
    pub(crate) name: String,
    pub(crate) value: HeaderValue,
}

pub(crate) enum HeaderValue {
    Text(Vec<Piece>),
    Basic(Basic),
}

/// User name and password.
pub(crate) struct Basic {
    pub(crate) user: Vec<Piece>,
    pub(crate) password: Vec<Piece>,
}

impl Header {
    pub(crate) fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        let (first, second) = match &self.value {
            HeaderValue::Text(pieces) => (pieces.as_slice(), [].as_slice()),
            HeaderValue::Basic(basic) => (basic.user.as_slice(), basic.password.as_slice()),
        };
        first.iter().chain(second).filter_map(Piece::placeholder)
    }
}

impl Resolver<'_> {
    pub(super) fn headers(&mut self, headers: &[options::Header]) -> Vec<Header> {
        headers.iter().map(|header| self.header(header)).collect()
    }

    fn header(&mut self, header: &options::Header) -> Header {
        let value = match &header.value {
            options::HeaderValue::Text(text) => HeaderValue::Text(self.pieces(text, Sink::Raw)),
            options::HeaderValue::Basic(user, password) => HeaderValue::Basic(Basic {
                user: self.pieces(user, Sink::Raw),
                password: self.pieces(password, Sink::Raw),
            }),
        };
        Header {
            name: header.name.clone(),
            value,
        }
    }
}

impl Resolved {
    /// Writes the headers of the scenario on the steps that they go on. A wrong one goes on none, so
    /// that it is noted once.
    pub(super) fn spread_headers(&mut self, names: &Names, errors: &mut Errors) {
        let all = self.steps.len();
        for header in &self.options.headers {
            let before = errors.len();
            let mut resolver = Resolver {
                at: all,
                steps: &self.steps,
                feeds: &self.feeds,
                names,
                errors,
            };
            let one = resolver.header(header);
            if errors.len() > before {
                continue;
            }
            let of_steps = one.placeholders().filter_map(|placeholder| {
                let step = placeholder.origin.step()?;
                Some((step, placeholder.span))
            });
            let of_steps: Vec<_> = of_steps.collect();
            let named_last = of_steps
                .iter()
                .find(|(step, _)| self.steps[*step].runs_last());
            if let Some((step, span)) = named_last {
                let name = &self.steps[*step].name;
                errors.at(
                    *span,
                    format!(
                        "`{name}` runs `last`, after all journeys of a user, so that its answer would be \
                         missing in each of them"
                    ),
                );
                continue;
            }
            let last = of_steps.into_iter().max_by_key(|(step, _)| *step);
            if let Some((step, span)) = last
                && step + 1 == all
            {
                let name = &self.steps[step].name;
                errors.at(
                    span,
                    format!(
                        "no step comes after `{name}`, so that this header would be on none: a \
                         header goes on the steps below those that it names"
                    ),
                );
                continue;
            }
            let first = last.map_or(0, |(step, _)| step + 1);
            let (name, value) = shown::header(header, all, names);
            for step in &mut self.steps[first..] {
                if step.options.sets(&header.name) {
                    continue;
                }
                let source = &step.fingerprint;
                step.fingerprint = Fingerprint::of([quote!(#source), quote!(#name #value)]);
                step.options.headers.push(header.clone());
            }
        }
    }

    /// What the step with the number `at` reads for its headers and all else that it declares.
    pub(super) fn note_reads(&mut self, at: usize) {
        let reads: Vec<_> = self.steps[at]
            .placeholders()
            .filter_map(|placeholder| {
                let is_header = matches!(placeholder.access, Access::Header { .. });
                Some((placeholder.origin.step()?, is_header, placeholder.place()))
            })
            .collect();
        for (step, is_header, place) in reads {
            self.steps[at].depends_on(step, false, place);
            self.steps[step].reads_headers |= is_header;
        }
    }
}
