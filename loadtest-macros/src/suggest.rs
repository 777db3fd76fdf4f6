//! The mistakes of a scenario, collected, and what may have been meant instead.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::parse::Parser;

/// All mistakes found so far; they are reported together.
#[derive(Default)]
pub(crate) struct Errors(Vec<syn::Error>);

impl Errors {
    /// A mistake at one token.
    pub(crate) fn at(&mut self, span: Span, message: impl std::fmt::Display) {
        self.0.push(syn::Error::new(span, message));
    }

    /// A mistake that spans all of `tokens`.
    pub(crate) fn on(&mut self, tokens: impl ToTokens, message: impl std::fmt::Display) {
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
    pub(crate) fn note<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.0.push(error)).ok()
    }

    /// Parses all of `tokens`, or notes why not.
    pub(crate) fn parse<P: Parser>(&mut self, parser: P, tokens: TokenStream) -> Option<P::Output> {
        self.note(parser.parse2(tokens))
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
    closest(word, known).map_or_else(String::new, |one| format!("; did you mean `{one}`?"))
}

/// The word of `known` that is at most a third away.
pub(crate) fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|one| {
            let distance = strsim::damerau_levenshtein(&word.to_lowercase(), &one.to_lowercase());
            (distance, one)
        })
        .filter(|(distance, one)| *distance <= one.len().max(word.len()) / 3)
        .min()
        .map(|(_, one)| one)
}

/// `` `login`, `browse` ``.
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_word_is_proposed_and_a_far_one_is_not() {
        let known = ["login", "browse", "vu"];
        assert_eq!(closest("logn", known), Some("login"));
        assert_eq!(closest("LOGIN", known), Some("login"));
        assert_eq!(closest("brwose", known), Some("browse"));
        assert_eq!(closest("order", known), None);
    }
}
