//! GraphQL requests that steps build, as far as the source shows them; and options of GraphQL where they have no effect.

use super::ResolvedStep;
use super::source::single_literal;
use crate::options::{GRAPHQL_PATH, check_given, check_structure, split_at_commas};
use crate::spelling::source_text;
use crate::suggest::MacroErrors;
use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use syn::{LitStr, Token};

/// The argument of a call in a chain.
#[derive(Default)]
enum CallArgument<T> {
    /// There is no such call.
    #[default]
    Missing,
    /// It is no literal.
    Computed,
    Literal(T),
}

impl<T> CallArgument<T> {
    fn new(literal: Option<T>) -> Self {
        literal.map_or(Self::Computed, Self::Literal)
    }
}

/// `Request::graphql(..)` and the calls that follow it.
#[derive(Default)]
struct BuiltCall {
    document: Option<LitStr>,
    /// The name in `.operation("..")`.
    operation: CallArgument<LitStr>,
    url: CallArgument<LitStr>,
    /// True for `.by_get()`.
    is_by_get: bool,
    /// The names in `.variables(&json!({ .. }))`.
    variables: CallArgument<Vec<(String, Span)>>,
}

/// Checks the documents in a body of a step. Returns kind and name of the operation, where there is one.
pub(super) fn check_built(body: TokenStream, errors: &mut MacroErrors) -> Option<String> {
    let mut calls = Vec::new();
    collect_calls(body.clone(), &mut calls);
    let gives_later = has_word(body, "variables");
    let mut labels: Vec<String> = Vec::new();
    for call in &calls {
        // what the source does not show is not checked
        let Some(document) = &call.document else {
            continue;
        };
        let name = match &call.operation {
            CallArgument::Missing => None,
            CallArgument::Computed => continue,
            CallArgument::Literal(name) => Some(name.value()),
        };
        let checked = check_structure(&document.value(), name.as_deref());
        let checked = checked.map_err(|message| syn::Error::new(document.span(), message));
        let Some((parsed, operation)) = errors.ok_or_note(checked) else {
            continue;
        };
        labels.push(operation.label());
        let given: &[_] = match &call.variables {
            CallArgument::Missing if !gives_later => &[],
            CallArgument::Literal(given) => given,
            _ => continue,
        };
        check_given(&parsed, &operation, given, document.span(), errors);
    }
    match labels.as_mut_slice() {
        [label] if calls.len() == 1 => Some(std::mem::take(label)),
        _ => None,
    }
}

/// Method and URL of `::graphql(..)` and the calls that follow it; the URL where it is a literal.
pub(super) fn built_request(tokens: &[TokenTree]) -> Option<(String, Option<String>)> {
    let call = parse_call(tokens)?;
    let method = if call.is_by_get { "GET" } else { "POST" };
    let url = match call.url {
        CallArgument::Missing => Some(GRAPHQL_PATH.to_owned()),
        CallArgument::Computed => None,
        CallArgument::Literal(url) => Some(url.value()),
    };
    Some((method.to_owned(), url))
}

fn collect_calls(tokens: TokenStream, calls: &mut Vec<BuiltCall>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(word) if word == "Request" => {
                calls.extend(parse_call(&tokens[at + 1..]));
            }
            TokenTree::Group(group) => collect_calls(group.stream(), calls),
            _ => {}
        }
    }
}

/// Parses `::graphql(document).variables(..)`.
fn parse_call(tokens: &[TokenTree]) -> Option<BuiltCall> {
    let [
        TokenTree::Punct(_),
        TokenTree::Punct(_),
        TokenTree::Ident(constructor),
        TokenTree::Group(document),
        rest @ ..,
    ] = tokens
    else {
        return None;
    };
    if constructor != "graphql" {
        return None;
    }
    let mut call = BuiltCall {
        document: single_literal(document.stream()),
        ..BuiltCall::default()
    };
    let mut rest = rest;
    while let [
        TokenTree::Punct(dot),
        TokenTree::Ident(method),
        TokenTree::Group(arguments),
        after @ ..,
    ] = rest
    {
        if dot.as_char() != '.' {
            break;
        }
        let literal = single_literal(arguments.stream());
        match method.to_string().as_str() {
            "operation" => call.operation = CallArgument::new(literal),
            "by_get" => call.is_by_get = true,
            "url" => call.url = CallArgument::new(literal),
            "variables" => {
                call.variables = CallArgument::new(names_in_json(arguments.stream()));
            }
            _ => {}
        }
        rest = after;
    }
    Some(call)
}

/// The names of the fields in `&json!({ "id": .. })`.
fn names_in_json(arguments: TokenStream) -> Option<Vec<(String, Span)>> {
    let tokens: Vec<TokenTree> = arguments.into_iter().collect();
    let [
        TokenTree::Punct(_),
        TokenTree::Ident(json),
        TokenTree::Punct(_),
        TokenTree::Group(arguments),
    ] = tokens.as_slice()
    else {
        return None;
    };
    if json != "json" {
        return None;
    }
    let object: Group = syn::parse2(arguments.stream()).ok()?;
    let fields = split_at_commas(object.stream()).into_iter();
    let names = fields.map(|field| {
        let name = |input: syn::parse::ParseStream<'_>| {
            let name: LitStr = input.parse()?;
            input.parse::<Token![:]>()?;
            input.parse::<TokenStream>()?;
            Ok((name.value(), name.span()))
        };
        syn::parse::Parser::parse2(name, field).ok()
    });
    let is_object = object.delimiter() == Delimiter::Brace;
    names.collect::<Option<_>>().filter(|_| is_object)
}

fn has_word(tokens: TokenStream, wanted: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == wanted,
        TokenTree::Group(group) => has_word(group.stream(), wanted),
        _ => false,
    })
}

/// Refuses `partial` on a step whose answer has no place for errors.
pub(super) fn check_partial(step: &ResolvedStep, errors: &mut MacroErrors) {
    let Some(key) = step.options.find_key("partial") else {
        return;
    };
    let message = if step.is_async {
        let name = &step.name;
        format!(
            "the body of `{name}` makes its requests, so `partial` has no effect: read the answer of \
             `http.post(..).json(..)` yourself"
        )
    } else if step.response.graph_data.is_some() {
        return;
    } else if step.response.is_unit {
        "`partial` needs `Graph<T>`, and the answer of this step is not read: write `-> Graph<Value>`"
            .to_owned()
    } else {
        let answer = source_text(&step.response.ty);
        format!("`partial` needs `Graph<T>`, which has errors and data: write `-> Graph<{answer}>`")
    };
    errors.add_at(key.span(), message);
}
