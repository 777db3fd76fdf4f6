//! The options of `#[group(..)]`.

use super::scenario::require_not_empty;
use super::step::begins_step_threshold;
use super::threshold::parse_threshold_option;
use super::{note_given, parse_assigned, parse_each, parse_option_name};
use crate::crate_path;
use crate::suggest::MacroErrors;
use loadtest_model::threshold::{Metric, Part, Scope, Threshold};
use proc_macro2::{Ident, TokenStream};
use syn::parse::ParseStream;
use syn::{LitStr, Path, Token};

#[derive(Default)]
pub(crate) struct GroupOptions {
    pub(crate) name: Option<LitStr>,
    pub(crate) thresholds: Vec<Threshold>,
    pub(crate) crate_path: Option<Path>,
}

impl GroupOptions {
    pub(crate) fn parse(tokens: TokenStream, errors: &mut MacroErrors) -> Self {
        let mut options = Self::default();
        let mut given = Vec::new();
        parse_each(tokens, errors, |input| {
            options.parse_option(&mut given, input)
        });
        options
    }

    fn parse_option(&mut self, given: &mut Vec<Ident>, input: ParseStream<'_>) -> syn::Result<()> {
        let key = parse_option_name(input)?;
        match key.to_string().as_str() {
            "name" => {
                note_given(&key, given)?;
                self.name = Some(require_not_empty(parse_assigned(input)?)?);
            }
            "crate" => {
                note_given(&key, given)?;
                input.parse::<Token![=]>()?;
                self.crate_path = Some(crate_path::parse_crate_path(input)?);
            }
            name if begins_step_threshold(name, input) => {
                let threshold = parse_threshold_option(&key, Scope::Step, input)?.threshold;
                let is_of_group = matches!(
                    threshold.metric,
                    Metric::Time(Part::Whole, _) | Metric::Errors
                );
                if !(is_of_group && threshold.subject.is_whole()) {
                    let message = format!(
                        "a group has no `{}`: its limits are on `p50` to `p99_9`, `max`, `mean` and `errors`; \
                         give this one to a step",
                        format_args!("{}{}", threshold.subject, threshold.metric)
                    );
                    return Err(syn::Error::new(key.span(), message));
                }
                self.thresholds.push(threshold);
            }
            name => {
                let message = format!(
                    "unknown option `{name}`; a group takes limits, such as `p95 < 800ms` and `errors < 1%`, and \
                     `name = \"..\"`; other options are for its steps"
                );
                return Err(syn::Error::new(key.span(), message));
            }
        }
        Ok(())
    }
}
