//! Error messages for common mistakes in options, with the right option.

use crate::spelling::source_text;
use crate::suggest::did_you_mean;
use loadtest_model::threshold::is_metric_word;
use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use syn::parse::ParseStream;
use syn::{Lit, LitInt, LitStr, Token};

/// Words of other tools, and the option that does the same.
const OPTION_SYNONYMS: [(&str, &str); 29] = [
    ("status", "expect"),
    ("status_code", "expect"),
    ("expected", "expect"),
    ("delay", "think"),
    ("pause", "think"),
    ("sleep", "think"),
    ("wait", "think"),
    ("think_time", "think"),
    ("probability", "weight"),
    ("chance", "weight"),
    ("branch", "one_of"),
    ("choice", "one_of"),
    ("either", "one_of"),
    ("switch", "one_of"),
    ("random_switch", "one_of"),
    ("auth", "bearer"),
    ("authorization", "bearer"),
    ("token", "bearer"),
    ("assert", "check"),
    ("limit", "thresholds"),
    ("limits", "thresholds"),
    ("slo", "thresholds"),
    ("host", "base"),
    ("url", "base"),
    ("base_url", "base"),
    ("target", "base"),
    ("vus", "users"),
    ("title", "name"),
    ("duration", "for"),
];

/// Words that are part of a larger option.
const PARTS_OF_OPTIONS: [(&str, &str, &str); 11] = [
    ("method", "get", REQUEST),
    ("url", "get", REQUEST),
    ("uri", "get", REQUEST),
    ("path", "get", REQUEST),
    ("rate", "load", LOAD),
    ("users", "load", LOAD),
    ("vus", "load", LOAD),
    ("iterations", "load", LOAD),
    ("stages", "load", LOAD),
    ("duration", "load", LOAD),
    ("ramp_up", "load", LOAD),
];

const REQUEST: &str = "; method and path are one option: `get = \"/path\"`";
const LOAD: &str = "; a load is one option: `load = rate(200/s, ramp_up = 10s, for = 1m)`";

/// Returns true if `word` looks like an attempt to declare a request.
pub(super) fn names_request(word: &str) -> bool {
    PARTS_OF_OPTIONS
        .iter()
        .any(|(part, _, hint)| *part == word && *hint == REQUEST)
}

/// Suggests an option for `key`, which is none of `known`.
pub(super) fn suggest_option(key: &Ident, known: &[&str]) -> String {
    let word = key.to_string();
    if let Some((_, _, hint)) = PARTS_OF_OPTIONS
        .iter()
        .find(|(part, whole, _)| *part == word && known.contains(whole))
    {
        return (*hint).to_owned();
    }
    let synonym = OPTION_SYNONYMS
        .iter()
        .find(|(other, option)| *other == word && known.contains(option));
    match synonym {
        Some((_, option)) => format!("; did you mean `{option}`?"),
        None => did_you_mean(&word, known.iter().copied()),
    }
}

/// The error for something that is not the name of an option.
pub(super) fn not_an_option_name(input: ParseStream<'_>) -> syn::Error {
    const NO_NAME: &str = "expected the name of an option";
    let message = match input.fork().parse::<Lit>() {
        Ok(Lit::Str(text)) => {
            let text = text.value();
            if text.contains(['<', '>']) {
                format!("write a limit without quotes: `{text}`")
            } else if text.starts_with('/') || text.contains("://") {
                format!("an option has a name: `get = {text:?}`")
            } else {
                format!("an option has a name: `name = {text:?}`")
            }
        }
        Ok(Lit::Int(number)) if is_status(&number) => {
            format!("{NO_NAME}; several statuses are joined by `|`: `200 | {number}`")
        }
        Ok(Lit::Int(number)) if ["s", "m", "min", "h"].contains(&number.suffix()) => {
            format!("{NO_NAME}; how long a load is: `for = {number}`")
        }
        _ => NO_NAME.to_owned(),
    };
    input.error(message)
}

fn is_status(number: &LitInt) -> bool {
    let status = number.base10_parse::<u16>();
    number.suffix().is_empty() && status.is_ok_and(|status| (100..600).contains(&status))
}

/// The error for something that is not a status.
pub(super) fn not_a_status(input: ParseStream<'_>, otherwise: &str) -> syn::Error {
    if let Ok(text) = input.fork().parse::<LitStr>() {
        let text = text.value();
        return input.error(if text.starts_with(|c: char| c.is_ascii_digit()) {
            format!("write a status without quotes: `{text}`")
        } else {
            otherwise.to_owned()
        });
    }
    if input.peek(syn::token::Bracket)
        && let Ok(TokenTree::Group(list)) = input.fork().parse()
    {
        let joined = source_text(list.stream()).replace(',', " |");
        return input.error(format!("statuses are joined by `|`: `{joined}`"));
    }
    input.error(otherwise)
}

/// Refuses what looks like a range of times and is none; `first` is its lower bound.
pub(super) fn refuse_broken_range(input: ParseStream<'_>, first: &str) -> syn::Result<()> {
    if input.peek(Token![..=]) || input.peek(Token![...]) || input.peek(Token![-]) {
        let rest: TokenStream = input.fork().parse()?;
        let second = source_text(rest.clone());
        let second = second.trim_start_matches(['.', '=', '-', ' ']);
        return Err(syn::Error::new_spanned(
            rest,
            format!("the bounds of a think time are written `{first}..{second}`"),
        ));
    }
    Ok(())
}

/// An option as written in the attribute.
pub(super) struct WrittenOption {
    name: String,
    /// The punctuation between name and value.
    sign: Option<TokenTree>,
    value: String,
}

impl WrittenOption {
    pub(super) fn from_tokens(option: &TokenStream) -> Self {
        let mut tokens = option.clone().into_iter();
        let name = tokens.next().map_or_else(String::new, |t| t.to_string());
        let sign = tokens.next();
        let rest: TokenStream = tokens.collect();
        let value = match &sign {
            Some(TokenTree::Group(group)) => source_text(group.stream()),
            Some(TokenTree::Literal(literal)) => source_text(literal),
            _ => source_text(&rest),
        };
        Self { name, sign, value }
    }

    fn is_assigned(&self) -> bool {
        matches!(&self.sign, Some(TokenTree::Punct(punct)) if punct.as_char() == '=')
    }

    /// The words of the parser library, as words about this option.
    pub(super) fn explain_error(&self, error: syn::Error) -> syn::Error {
        let Self { name, value, .. } = self;
        let message = match error.to_string().as_str() {
            "expected `=`" if !self.is_assigned() => {
                let value = match (name.as_str(), value.as_str()) {
                    (_, "") => "...",
                    ("tags", value) if !value.starts_with('[') => &format!("[{value}]"),
                    (_, value) => value,
                };
                format!("an option is set with `=`: `{name} = {value}`")
            }
            "expected parentheses" if self.is_assigned() => {
                format!(
                    "an option with several parts has no `=`: `{name}({})`",
                    strip_brackets(value)
                )
            }
            "expected string literal" if self.is_assigned() && !value.starts_with(['(', '{']) => {
                let text = if value.starts_with('[') {
                    "[\"...\"]"
                } else {
                    "\"...\""
                };
                format!("this is a text in quotes: `{name} = {text}`")
            }
            message => match message.strip_prefix("unexpected end of input, ") {
                Some(wanted) => wanted.to_owned(),
                None => return error,
            },
        };
        syn::Error::new(error.span(), message)
    }
}

/// Without the brackets around all of it.
fn strip_brackets(value: &str) -> String {
    let tokens: Option<Vec<TokenTree>> = value
        .parse::<TokenStream>()
        .ok()
        .map(|tokens| tokens.into_iter().collect());
    match tokens.as_deref() {
        Some([TokenTree::Group(_)]) => value[1..value.len() - 1].trim().to_owned(),
        _ => value.to_owned(),
    }
}

/// Refuses `name == value`, where a second `=` would count as part of the value.
pub(super) fn refuse_comparison(tokens: &TokenStream) -> syn::Result<()> {
    let mut tokens = tokens.clone().into_iter();
    if let (
        Some(TokenTree::Ident(name)),
        Some(TokenTree::Punct(first)),
        Some(TokenTree::Punct(second)),
    ) = (tokens.next(), tokens.next(), tokens.next())
        && (first.as_char(), second.as_char()) == ('=', '=')
        && !is_metric_word(&name.to_string())
    {
        let value = source_text(tokens.collect::<TokenStream>());
        return Err(syn::Error::new(
            second.span(),
            format!("an option is set with one `=`: `{name} = {value}`"),
        ));
    }
    Ok(())
}

/// A whole JSON document in quotes, or in `json!`, which would be sent as a string or is no value.
pub(super) fn refuse_quoted_json(input: ParseStream<'_>) -> syn::Result<()> {
    let ahead = input.fork();
    if let Ok(text) = ahead.parse::<LitStr>()
        && ahead.is_empty()
    {
        let value = text.value();
        let value = value.trim();
        let is_document =
            |open: char, close: char| value.starts_with(open) && value.ends_with(close);
        if (is_document('{', '}') && !value.starts_with("{{")) || is_document('[', ']') {
            return Err(syn::Error::new(
                text.span(),
                format!(
                    "this would send a JSON string; write the value without quotes: `json = {value}`"
                ),
            ));
        }
        return Ok(());
    }
    let ahead = input.fork();
    if let (Ok(name), Ok(bang), Ok(TokenTree::Group(value))) = (
        ahead.parse::<Ident>(),
        ahead.parse::<Token![!]>(),
        ahead.parse(),
    ) && name == "json"
        && value.delimiter() != Delimiter::None
    {
        let text = source_text(value.stream());
        return Err(syn::Error::new_spanned(
            quote::quote!(#name #bang),
            format!("write the value without `json!`: `json = {text}`"),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_synonym_leads_to_an_option_of_its_attribute_alone() {
        let key = |word: &str| Ident::new(word, proc_macro2::Span::call_site());
        assert_eq!(
            suggest_option(&key("status"), &["expect", "think"]),
            "; did you mean `expect`?"
        );
        assert_eq!(suggest_option(&key("status"), &["load"]), "");
        assert_eq!(suggest_option(&key("url"), &["get"]), REQUEST);
        assert_eq!(
            suggest_option(&key("url"), &["base"]),
            "; did you mean `base`?"
        );
    }
}
