//! The mistakes of a scenario, collected, and what may have been meant instead.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::parse::Parser;

/// All mistakes found so far; they are reported together.
#[derive(Default)]
pub(crate) struct MacroErrors(Vec<syn::Error>);

impl MacroErrors {
    /// A mistake at one token.
    pub(crate) fn add_at(&mut self, span: Span, message: impl std::fmt::Display) {
        self.0.push(syn::Error::new(span, message));
    }

    pub(crate) fn add(&mut self, error: syn::Error) {
        self.0.push(error);
    }

    /// A mistake that spans all of `tokens`.
    pub(crate) fn add_on(&mut self, tokens: impl ToTokens, message: impl std::fmt::Display) {
        self.0.push(syn::Error::new_spanned(tokens, message));
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value, or the mistake is noted.
    pub(crate) fn ok_or_note<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.0.push(error)).ok()
    }

    /// Parses all of `tokens`, or notes why not.
    pub(crate) fn parse_or_note<P: Parser>(
        &mut self,
        parser: P,
        tokens: TokenStream,
    ) -> Option<P::Output> {
        self.ok_or_note(parser.parse2(tokens))
    }

    pub(crate) fn into_errors(self) -> Vec<syn::Error> {
        self.0.into_iter().flatten().collect()
    }

    pub(crate) fn into_compile_errors(self) -> TokenStream {
        self.0
            .into_iter()
            .map(syn::Error::into_compile_error)
            .collect()
    }
}

/// `` ; did you mean `login`? ``, or nothing.
pub(crate) fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    closest_word(word, known).map_or_else(String::new, |one| format!("; did you mean `{one}`?"))
}

/// The word of `known` that is at most a third away.
pub(crate) fn closest_word<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    known
        .into_iter()
        .map(|one| {
            let distance = strsim::damerau_levenshtein(&word.to_lowercase(), &one.to_lowercase());
            (distance, one.len().abs_diff(word.len()), one)
        })
        .filter(|(distance, _, one)| *distance <= one.len().max(word.len()) / 3)
        .min()
        .map(|(.., one)| one)
}

/// `` `login`, `browse` ``.
pub(crate) fn list_names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names = names.into_iter().filter(|name| !name.is_empty());
    let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_word_is_proposed_and_a_far_one_is_not() {
        let known = ["login", "browse", "vu"];
        assert_eq!(closest_word("logn", known), Some("login"));
        assert_eq!(closest_word("LOGIN", known), Some("login"));
        assert_eq!(closest_word("brwose", known), Some("browse"));
        assert_eq!(closest_word("order", known), None);
    }
}
