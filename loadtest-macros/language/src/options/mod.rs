//! The options of `#[scenario(..)]`, `#[step(..)]`, `#[feed(..)]` and `#[setup(..)]`.

mod body;
mod client;
mod defaults;
mod documented;
mod feed;
mod fields;
mod graphql;
mod group;
mod header;
mod json;
mod load;
mod rendezvous;
mod repeat;
mod scenario;
mod setup;
mod step;
mod stream;
mod think;
mod threshold;
mod value;
mod websocket;
mod weight;

pub(crate) use body::BodyOption;
pub(crate) use client::ClientOptions;
pub(crate) use defaults::StepDefaults;
pub use documented::{DocumentedOption, documented_scenario_options, documented_step_options};
pub(crate) use documented::{
    FEED_TABLE, SCENARIO_TABLE, SETUP_TABLE, STEP_TABLE, documented_options,
};
pub(crate) use feed::FeedOptions;
pub(crate) use fields::Field;
pub(crate) use graphql::{GRAPHQL_PATH, check_given, check_structure};
pub(crate) use group::GroupOptions;
pub(crate) use header::{HeaderOption, HeaderOptionValue};
pub(crate) use json::{TemplateValue, escape_json, json_string};
pub(crate) use load::{LoadOption, LoadShape, StageOption};
pub(crate) use rendezvous::RendezvousOption;
pub(crate) use repeat::{RepeatOptions, RetryTrigger};
pub(crate) use scenario::ScenarioOptions;
pub(crate) use setup::SetupOptions;
pub use step::METHODS;
pub(crate) use step::StepOptions;
pub(crate) use stream::{EndOption, STREAM_OPTIONS, StreamOptions};
pub(crate) use think::ThinkOption;
pub(crate) use value::check_header_name;
pub use websocket::OPEN_OPTION;
pub(crate) use websocket::{SOCKET_OPTIONS, WebSocketOptions, opening_url};
pub(crate) use weight::{ROUNDING, WEIGHT_RANGE, WeightOption};

use crate::suggest::{MacroErrors, closest_word, list_names};
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use scenario::require_not_empty;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::{Lit, Token, parenthesized};

/// Parses `item, item, ..`; a mistake in one item is noted and the next one is looked at.
fn parse_each(
    tokens: TokenStream,
    errors: &mut MacroErrors,
    mut parse: impl FnMut(ParseStream<'_>) -> syn::Result<()>,
) {
    for item in split_at_commas(tokens) {
        let name = item.clone().into_iter().next();
        let name = name.map_or_else(String::new, |name| name.to_string());
        let last = item.clone().into_iter().last();
        // in a group, a value that is missing is blamed on the last token before it
        let mut group = Group::new(Delimiter::Parenthesis, item);
        group.set_span(last.map_or_else(Span::call_site, |token| token.span()));
        let item = |input: ParseStream<'_>| {
            let content;
            parenthesized!(content in input);
            parse(&content).map_err(|error| explain_error(&name, error))?;
            match content.cursor().token_tree() {
                None => Ok(()),
                Some((TokenTree::Ident(next), _)) => {
                    Err(content.error(format!("a `,` is missing before `{next}`")))
                }
                Some((next, _)) => Err(content.error(format!("`{next}` is out of place here"))),
            }
        };
        errors.parse_or_note(item, TokenTree::Group(group).into());
    }
}

/// The words of the parser library, as words about the option `name`.
fn explain_error(name: &str, error: syn::Error) -> syn::Error {
    let message = error.to_string();
    let wanted = message.strip_prefix("unexpected end of input, ");
    let explained = match wanted.unwrap_or(&message) {
        "expected `=`" => format!("an option is set with `=`: `{name} = ..`"),
        "expected parentheses" => {
            format!("write the parts of `{name}` in parentheses: `{name}(..)`")
        }
        "expected string literal" => format!("this is a text in quotes: `{name} = \"..\"`"),
        _ if wanted.is_none() => return error,
        wanted => wanted.to_owned(),
    };
    syn::Error::new(error.span(), explained)
}

/// Splits at commas, but not within a closure: `check = |r| r.list.iter().collect::<Map<_, _>>()`.
pub(crate) fn split_at_commas(tokens: TokenStream) -> Vec<TokenStream> {
    let is = |token: Option<&TokenTree>, wanted: char| matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == wanted);
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut items = Vec::new();
    let mut item: Vec<TokenTree> = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let closure = is(item.last(), '=').then(|| closure_length(&tokens[at..]));
        let length = closure.flatten().unwrap_or(1);
        if is(Some(token), ',') {
            items.push(item.drain(..).collect());
        } else {
            item.extend(tokens[at..at + length].iter().cloned());
        }
        at += length;
    }
    items.push(item.into_iter().collect());
    items.retain(|item: &TokenStream| !item.is_empty());
    items
}

/// The number of tokens of the closure at the start, if there is one, and it ends where an option may.
fn closure_length(tokens: &[TokenTree]) -> Option<usize> {
    if !matches!(tokens.first()?.to_string().as_str(), "|" | "move") {
        return None;
    }
    let rest = |input: ParseStream<'_>| {
        input.parse::<syn::ExprClosure>()?;
        input.parse::<TokenStream>()
    };
    let rest = rest.parse2(tokens.iter().cloned().collect()).ok()?;
    let next = rest.clone().into_iter().next();
    let at_end = next.is_none_or(|next| next.to_string() == ",");
    at_end.then(|| tokens.len() - rest.into_iter().count())
}

/// Notes an option that may be given once.
fn note_given(key: &Ident, given: &mut Vec<Ident>) -> syn::Result<()> {
    let is_repeated = given.contains(key);
    given.push(key.clone());
    if is_repeated {
        return Err(syn::Error::new(
            key.span(),
            format!("`{key}` is given twice"),
        ));
    }
    Ok(())
}

fn parse_option_name(input: ParseStream<'_>) -> syn::Result<Ident> {
    if input.peek(Ident::peek_any) {
        return input.call(Ident::parse_any);
    }
    let refused = input.fork();
    if input.peek(Token![=]) {
        return Err(input.error("the options are in parentheses: `(name = \"..\")`"));
    }
    Err(refused.error(match input.parse::<Lit>() {
        Ok(Lit::Str(limit)) if limit.value().contains(['<', '>']) => {
            format!("write a limit without quotes: `{}`", limit.value())
        }
        Ok(Lit::Str(path)) if path.value().starts_with('/') => {
            format!("a path follows its method: `get = \"{}\"`", path.value())
        }
        Ok(Lit::Int(int)) if int.suffix().is_empty() => {
            "several statuses are joined by `|`: `expect = 200 | 201`".to_owned()
        }
        _ => "expected the name of an option, such as `name = \"..\"`".to_owned(),
    }))
}

/// The value after `=`.
fn parse_assigned<T: Parse>(input: ParseStream<'_>) -> syn::Result<T> {
    input.parse::<Token![=]>()?;
    input.parse()
}

/// Words of other tools, and the option that does the same.
const WORDS_OF_OTHER_TOOLS: [(&str, &[&str]); 12] = [
    ("base", &["host", "url", "base_url"]),
    ("bearer", &["auth", "authorization", "token"]),
    ("check", &["assert"]),
    ("expect", &["status", "status_code"]),
    ("for", &["duration"]),
    ("name", &["title"]),
    ("one_of", &["branch", "choice"]),
    ("retry", &["retries"]),
    ("spawn", &["hatch_rate", "spawn_rate"]),
    ("think", &["delay", "pause", "sleep", "wait"]),
    ("thresholds", &["limits", "slo"]),
    ("weight", &["chance", "probability"]),
];

/// The error for an option of a scenario at a step, or the reverse, if `key` is one.
fn misplaced_option(key: &Ident, table: &'static str, owner: &str) -> Option<syn::Error> {
    let word = key.to_string();
    let (_, sample) = documented_options(table).find(|(name, _)| *name == word)?;
    // the first of the samples that is about this option
    let samples = sample.split('`').skip(1).step_by(2);
    let mut samples = samples.filter(|sample| sample.starts_with(&word));
    let sample = samples.next().unwrap_or(&word);
    let message = format!("`{word}` is an option of {owner}s: `#[{owner}({sample})]`");
    Some(syn::Error::new(key.span(), message))
}

/// The error for an option that is none of `known`.
fn unknown_option(key: &Ident, known: &[&str]) -> syn::Error {
    let word = key.to_string();
    let same = WORDS_OF_OTHER_TOOLS
        .iter()
        .find(|(option, words)| known.contains(option) && words.contains(&word.as_str()));
    let near = same
        .map(|(option, _)| *option)
        .or_else(|| closest_word(&word, known.iter().copied()));
    let hint = match word.as_str() {
        "method" | "path" | "url" if known.contains(&"get") => {
            "method and path are one option: `get = \"/path\"`".to_owned()
        }
        "rate" | "users" | "iterations" | "duration" | "ramp_up" if known.contains(&"load") => {
            "a load is one option: `load = rate(200/s, ramp_up = 10s, for = 1m)`".to_owned()
        }
        _ => match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the options are {}", list_names(known.iter().copied())),
        },
    };
    syn::Error::new(key.span(), format!("unknown option `{word}`; {hint}"))
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
