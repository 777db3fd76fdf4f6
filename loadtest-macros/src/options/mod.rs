//! The options of `#[scenario(..)]` and `#[step(..)]`.

mod json;
mod load;
mod scenario;
mod step;
mod value;

pub(crate) use json::{Json, escape};
pub(crate) use load::{Load, Shape, Stage};
pub(crate) use scenario::ScenarioOptions;
pub(crate) use step::{StepOptions, WEIGHT_RANGE, Weight};
pub(crate) use value::{Bound, Limit, header_name};

use crate::suggest::{Errors, did_you_mean};
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Token, parenthesized};

/// Parses `item, item, ..`; a mistake in one item is noted and the next one is looked at.
fn each(
    tokens: TokenStream,
    errors: &mut Errors,
    mut parse: impl FnMut(ParseStream<'_>) -> syn::Result<()>,
) {
    for item in split_at_commas(tokens) {
        let last = item.clone().into_iter().last();
        // in a group, a value that is missing is blamed on the last token before it
        let mut group = Group::new(Delimiter::Parenthesis, item);
        group.set_span(last.map_or_else(Span::call_site, |token| token.span()));
        let item = |input: ParseStream<'_>| {
            let content;
            parenthesized!(content in input);
            parse(&content)
        };
        errors.parse(item, TokenTree::Group(group).into());
    }
}

/// Splits at commas, but not between the bars of a closure: `check = |a, b| ..`.
fn split_at_commas(tokens: TokenStream) -> Vec<TokenStream> {
    let is = |token: Option<&TokenTree>, wanted: char| matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == wanted);
    let mut items = Vec::new();
    let mut item: Vec<TokenTree> = Vec::new();
    let mut in_bars = false;
    for token in tokens {
        if is(Some(&token), '|') {
            let starts_closure = is(item.last(), '=')
                || matches!(item.last(), Some(TokenTree::Ident(word)) if word == "move");
            in_bars = !in_bars && starts_closure;
        } else if is(Some(&token), ',') && !in_bars {
            items.push(item.drain(..).collect());
            continue;
        }
        item.push(token);
    }
    items.push(item.into_iter().collect());
    items.retain(|item: &TokenStream| !item.is_empty());
    items
}

/// The names of the options that were given, so that none is given twice.
#[derive(Default)]
struct Given(Vec<String>);

impl Given {
    fn once(&mut self, key: &Ident) -> syn::Result<()> {
        let name = key.to_string();
        if self.0.contains(&name) {
            return Err(syn::Error::new(
                key.span(),
                format!("`{name}` is given twice"),
            ));
        }
        self.0.push(name);
        Ok(())
    }
}

fn key(input: ParseStream<'_>) -> syn::Result<Ident> {
    input
        .call(Ident::parse_any)
        .map_err(|error| syn::Error::new(error.span(), "expected the name of an option"))
}

/// The value after `=`.
fn assigned<T: Parse>(input: ParseStream<'_>) -> syn::Result<T> {
    input.parse::<Token![=]>()?;
    input.parse()
}

fn unknown_option<'a>(key: &Ident, known: impl IntoIterator<Item = &'a str>) -> syn::Error {
    let hint = did_you_mean(&key.to_string(), known);
    syn::Error::new(key.span(), format!("unknown option `{key}`{hint}"))
}

/// Takes what is left of a broken item, so that only the first mistake in it is reported.
fn skip_rest(input: ParseStream<'_>) {
    let _ = input.parse::<TokenStream>();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_closures_and_groups_do_not_split() {
        let items = |text: &str| split_at_commas(text.parse().unwrap()).len();
        assert_eq!(items("check = |a, b| a, weight = 1"), 2);
        assert_eq!(items("expect = 201 | 202, p99 < 1s, expect = 1"), 3);
        assert_eq!(
            items("check = || true, check = move |r, s| r || s, name = \"a\""),
            3
        );
        assert_eq!(items("json = { \"a\": 1, \"b\": 2 },"), 1);
        assert_eq!(items(""), 0);
    }
}
