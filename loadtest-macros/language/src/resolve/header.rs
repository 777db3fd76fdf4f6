//! The headers of steps, and those of the scenario, which are as if they were written on its steps.

use super::names::ScenarioNames;
use super::request::{Placeholder, RequestPiece, RequestResolver, ValueAccess, ValueEncoding};
use super::{ResolvedScenario, shown};
use crate::fingerprint::Fingerprint;
use crate::options;
use crate::suggest::MacroErrors;
use quote::quote;

/// A header, all its placeholders resolved.
pub(crate) struct ResolvedHeader {
    /// Lower case.
    pub(crate) name: String,
    pub(crate) value: ResolvedHeaderValue,
}

pub(crate) enum ResolvedHeaderValue {
    Text(Vec<RequestPiece>),
    Basic(BasicCredentials),
}

/// User name and password.
pub(crate) struct BasicCredentials {
    pub(crate) user: Vec<RequestPiece>,
    pub(crate) password: Vec<RequestPiece>,
}

impl ResolvedHeader {
    pub(crate) fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        let (first, second) = match &self.value {
            ResolvedHeaderValue::Text(pieces) => (pieces.as_slice(), [].as_slice()),
            ResolvedHeaderValue::Basic(basic) => (basic.user.as_slice(), basic.password.as_slice()),
        };
        first
            .iter()
            .chain(second)
            .filter_map(RequestPiece::placeholder)
    }
}

impl RequestResolver<'_> {
    pub(super) fn resolve_headers(
        &mut self,
        headers: &[options::HeaderOption],
    ) -> Vec<ResolvedHeader> {
        headers
            .iter()
            .map(|header| self.resolve_header(header))
            .collect()
    }

    fn resolve_header(&mut self, header: &options::HeaderOption) -> ResolvedHeader {
        let value = match &header.value {
            options::HeaderOptionValue::Text(text) => {
                ResolvedHeaderValue::Text(self.resolve_template(text, ValueEncoding::Raw))
            }
            options::HeaderOptionValue::Basic(user, password) => {
                ResolvedHeaderValue::Basic(BasicCredentials {
                    user: self.resolve_template(user, ValueEncoding::Raw),
                    password: self.resolve_template(password, ValueEncoding::Raw),
                })
            }
        };
        ResolvedHeader {
            name: header.name.clone(),
            value,
        }
    }
}

impl ResolvedScenario {
    /// Writes the headers of the scenario on the steps that they go on. A wrong one goes on none, so
    /// that it is noted once.
    pub(super) fn apply_scenario_headers(
        &mut self,
        names: &ScenarioNames,
        errors: &mut MacroErrors,
    ) {
        let all = self.steps.len();
        for header in &self.options.headers {
            let before = errors.len();
            let mut resolver = RequestResolver {
                at: all,
                scenario: self,
                names,
                errors,
            };
            let one = resolver.resolve_header(header);
            if errors.len() > before {
                continue;
            }
            let of_steps = one.placeholders().filter_map(|placeholder| {
                let step = placeholder.origin.step_index()?;
                Some((step, placeholder.span))
            });
            let of_steps: Vec<_> = of_steps.collect();
            let named_last = of_steps
                .iter()
                .find(|(step, _)| self.steps[*step].runs_last());
            if let Some((step, span)) = named_last {
                let name = &self.steps[*step].name;
                errors.add_at(
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
                errors.add_at(
                    span,
                    format!(
                        "no step follows `{name}`, so this header would be on none: a \
                         header is sent with the steps below the steps that it names"
                    ),
                );
                continue;
            }
            let first = last.map_or(0, |(step, _)| step + 1);
            let (name, value) = shown::declared_header(header, all, names);
            for step in &mut self.steps[first..] {
                if step.options.sets_header(&header.name) {
                    continue;
                }
                let source = &step.fingerprint;
                step.fingerprint =
                    Fingerprint::from_streams([quote!(#source), quote!(#name #value)]);
                step.options.headers.push(header.clone());
            }
        }
    }

    /// Records the steps that the declared request and headers of step `at` read.
    pub(super) fn note_reads(&mut self, at: usize) {
        let reads: Vec<_> = self.steps[at]
            .placeholders()
            .filter_map(|placeholder| {
                let is_header = matches!(
                    placeholder.access,
                    ValueAccess::Header { .. } | ValueAccess::Cookie { .. }
                );
                Some((
                    placeholder.origin.step_index()?,
                    is_header,
                    placeholder.name_span(),
                ))
            })
            .collect();
        for (step, is_header, place) in reads {
            self.steps[at].add_dependency(step, false, place);
            self.steps[step].reads_headers |= is_header;
        }
    }
}
