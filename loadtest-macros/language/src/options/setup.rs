//! The options of `#[setup(..)]`.

use super::documented::{SETUP_TABLE, option_names};
use super::step::parse_expect;
use super::value::parse_positive_duration;
use super::{note_given, parse_each, parse_option_name, unknown_option};
use crate::body::RoleFn;
use crate::suggest::MacroErrors;
use std::time::Duration;
use syn::Token;

/// When the value of a setup is fetched again.
#[derive(Default)]
pub(crate) struct SetupOptions {
    /// `for = 50m`
    pub(crate) keeps_for: Option<Duration>,
    /// The statuses of `refresh = 401`, inclusive ranges.
    pub(crate) refresh: Vec<(u16, u16)>,
}

impl SetupOptions {
    /// Parses the options of `function`, which has to be one that fetches.
    pub(crate) fn parse(function: &RoleFn, errors: &mut MacroErrors) -> Self {
        let mut options = Self::default();
        let mut given = Vec::new();
        parse_each(function.options.clone(), errors, |input| {
            let key = parse_option_name(input)?;
            let known = option_names(SETUP_TABLE);
            if !known.contains(&key.to_string().as_str()) {
                return Err(unknown_option(&key, &known));
            }
            note_given(&key, &mut given)?;
            input.parse::<Token![=]>()?;
            if key == "for" {
                options.keeps_for = Some(parse_positive_duration(input)?);
            } else {
                options.refresh = parse_expect(input)?;
            }
            Ok(())
        });
        let signature = &function.signature;
        if let (Some(key), None) = (given.first(), &signature.asyncness) {
            let name = &signature.ident;
            let message = format!(
                "a setup that runs again during the load does not block: write `async fn {name}(http: &mut Http) -> \
                 Result<T, Error>`, or leave out `{key}`"
            );
            errors.add_at(key.span(), message);
        }
        options
    }

    /// Returns true if the value is fetched again.
    pub(crate) fn is_renewed(&self) -> bool {
        self.keeps_for.is_some() || !self.refresh.is_empty()
    }
}
