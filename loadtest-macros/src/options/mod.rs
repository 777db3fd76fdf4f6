//! The options of `#[scenario(..)]` and `#[step(..)]`.

mod body;
mod client;
mod defaults;
mod fields;
mod header;
mod json;
mod load;
mod repeat;
mod scenario;
mod step;
mod threshold;
mod value;
mod weight;
mod wording;

pub(crate) use body::BodyOption;
pub(crate) use client::ClientOptions;
pub(crate) use defaults::StepDefaults;
pub(crate) use fields::{Field, FieldValue};
pub(crate) use header::{HeaderOption, HeaderOptionValue};
pub(crate) use json::{JsonTemplate, escape_json, json_string};
pub(crate) use load::{LoadOption, LoadShape, StageOption};
pub(crate) use repeat::{RepeatOptions, RetryTrigger};
pub(crate) use scenario::{ScenarioOptions, scenario_keys as of_scenarios};
pub(crate) use step::{METHODS, StepOptions, step_keys as of_steps};
pub(crate) use threshold::ThresholdOption;
pub(crate) use value::check_header_name;
pub(crate) use weight::{ROUNDING, WEIGHT_RANGE, WeightOption};

use crate::suggest::MacroErrors;
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use scenario::require_not_empty;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::{Token, parenthesized};

/// Parses `item, item, ..`; a mistake in one item is noted and the next one is looked at.
fn parse_each(
    tokens: TokenStream,
    errors: &mut MacroErrors,
    mut parse: impl FnMut(ParseStream<'_>) -> syn::Result<()>,
) {
    for item in split_at_commas(tokens) {
        if errors
            .ok_or_note(wording::refuse_comparison(&item))
            .is_none()
        {
            continue;
        }
        let written = wording::WrittenOption::from_tokens(&item);
        let last = item.clone().into_iter().last();
        // in a group, a value that is missing is blamed on the last token before it
        let mut group = Group::new(Delimiter::Parenthesis, item);
        group.set_span(last.map_or_else(Span::call_site, |token| token.span()));
        let item = |input: ParseStream<'_>| {
            let content;
            parenthesized!(content in input);
            parse(&content).map_err(|error| written.explain_error(error))?;
            if content.peek(Ident::peek_any) {
                let next = content.call(Ident::parse_any)?;
                skip_rest(&content);
                return Err(syn::Error::new(
                    next.span(),
                    format!("a `,` is missing before `{next}`"),
                ));
            }
            Ok(())
        };
        errors.parse_or_note(item, TokenTree::Group(group).into());
    }
}

/// Splits at commas, but not within a closure: `check = |r| r.list.iter().collect::<Map<_, _>>()`.
///
/// Where the closure does not parse - it is half written - its bars alone are respected.
pub(crate) fn split_at_commas(tokens: TokenStream) -> Vec<TokenStream> {
    let is = |token: Option<&TokenTree>, wanted: char| matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == wanted);
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut items = Vec::new();
    let mut item: Vec<TokenTree> = Vec::new();
    let mut in_bars = false;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if is(item.last(), '=')
            && let Some(length) = closure_length(&tokens[at..])
        {
            item.extend(tokens[at..at + length].iter().cloned());
            at += length;
            continue;
        }
        at += 1;
        if is(Some(token), '|') {
            let starts_closure = is(item.last(), '=')
                || matches!(item.last(), Some(TokenTree::Ident(word)) if word == "move");
            in_bars = !in_bars && starts_closure;
        } else if is(Some(token), ',') && !in_bars {
            items.push(item.drain(..).collect());
            continue;
        }
        item.push(token.clone());
    }
    items.push(item.into_iter().collect());
    items.retain(|item: &TokenStream| !item.is_empty());
    items
}

/// The number of tokens of the closure at the start, if there is one, and it ends where an option may.
fn closure_length(tokens: &[TokenTree]) -> Option<usize> {
    let starts = match tokens.first()? {
        TokenTree::Punct(punct) => punct.as_char() == '|',
        TokenTree::Ident(word) => word == "move",
        _ => false,
    };
    if !starts {
        return None;
    }
    let rest = |input: ParseStream<'_>| {
        input.parse::<syn::ExprClosure>()?;
        input.parse::<TokenStream>()
    };
    let rest = rest.parse2(tokens.iter().cloned().collect()).ok()?;
    let at_end = match rest.clone().into_iter().next() {
        Some(TokenTree::Punct(punct)) => punct.as_char() == ',',
        Some(_) => false,
        None => true,
    };
    at_end.then(|| tokens.len() - rest.into_iter().count())
}

/// The names of the options that were given, so that none is given twice.
#[derive(Default)]
struct GivenOptions(Vec<String>);

impl GivenOptions {
    fn refuse_repeated(&mut self, key: &Ident) -> syn::Result<()> {
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

fn parse_option_name(input: ParseStream<'_>) -> syn::Result<Ident> {
    if !input.peek(Ident::peek_any) {
        return Err(wording::not_an_option_name(input));
    }
    input.call(Ident::parse_any)
}

/// The value after `=`.
fn parse_assigned<T: Parse>(input: ParseStream<'_>) -> syn::Result<T> {
    input.parse::<Token![=]>()?;
    input.parse()
}

fn unknown_option<'a>(key: &Ident, known: impl IntoIterator<Item = &'a str>) -> syn::Error {
    let known: Vec<&str> = known.into_iter().collect();
    let hint = wording::suggest_option(key, &known);
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
        let closures = [
            "check = |a| -> Result<(), String> { a.ok() }",
            "check = |a| a.x.iter().collect::<Result<Vec<_>, _>>().is_ok()",
            "check = move |a: &Response<Map<A, B>>| a.n < 5 && a.m > f::<A, B>(a, a)",
        ];
        for closure in closures {
            assert_eq!(items(closure), 1, "{closure}");
            assert_eq!(items(&format!("{closure}, p95 < 1s, check = || a")), 3);
        }
        assert_eq!(items("check = |a| a., weight = 1"), 2, "half written");
        assert_eq!(items("json = { \"a\": 1, \"b\": 2 },"), 1);
        assert_eq!(items(""), 0);
    }
}
