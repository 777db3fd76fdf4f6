//! Groups that are declared outside of scenarios; their steps take their place in each scenario that names them.
//!
//! `#[group]` on a free function becomes a `macro_rules!` that holds its tokens. A scenario with `#[group] use path;`
//! hands itself to that macro, which hands both to `place_group!`, and so on until every group is placed.

use crate::body::{self, BodyItem, Role, RoleFn, ScenarioFn};
use crate::crate_path::replace_crate_path;
use crate::options::GroupOptions;
use crate::statement::attribute_at;
use crate::suggest::MacroErrors;
use crate::{render, resolve, with_error};
use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{format_ident, quote};
use std::ops::Range;

/// `#[group] use path::to::group;` in the body of a scenario.
struct Placement {
    /// Its tokens.
    place: Range<usize>,
    path: TokenStream,
    /// The place of `use`.
    span: Span,
}

/// Expands `#[group]` on a free function: the macro that holds it, and its functions, which rustc and editors look at.
pub(crate) fn expand_group(options: &TokenStream, item: &TokenStream) -> TokenStream {
    let parse = |input: syn::parse::ParseStream<'_>| {
        body::parse_role_function(Role::Group, options.clone(), input)
    };
    let group: RoleFn = match syn::parse::Parser::parse2(parse, item.clone()) {
        Ok(group) => group,
        Err(error) => return with_error(item, &error),
    };
    let mut errors = MacroErrors::default();
    let crate_path = GroupOptions::parse(options.clone(), &mut errors).crate_path;
    resolve::check_group_function(&group, &mut errors);
    let items = split_group(&group, &mut errors);
    let items = items.iter().map(|item| render::render_item(item, true));
    let RoleFn {
        attributes,
        visibility,
        signature,
        ..
    } = &group;
    let name = &signature.ident;
    let holder = format_ident!("__group_{}", resolve::without_raw_prefix(name));
    let errors = errors.into_compile_errors();
    let code = quote! {
        #[doc(hidden)]
        #[allow(unused_macros)]
        macro_rules! #holder {
            ($($scenario:tt)*) => {
                ::loadtest::__private::place_group! { { #[group(#options)] #item } $($scenario)* }
            };
        }
        #[doc(hidden)]
        #[allow(unused_imports, clippy::redundant_pub_crate)]
        pub(crate) use #holder as #name;
        #(#attributes)*
        #[allow(dead_code)]
        #visibility fn #name() {
            #(#items)*
        }
        #errors
    };
    match &crate_path {
        Some(path) => replace_crate_path(code, path),
        None => code,
    }
}

fn split_group(group: &RoleFn, errors: &mut MacroErrors) -> Vec<BodyItem> {
    let inside = group.body.as_ref().map(Group::stream);
    body::split_items(inside.unwrap_or_default(), errors)
}

/// Notes the mistakes of a group that no scenario has to be known for.
pub(crate) fn check_group(options: &TokenStream, item: &TokenStream, errors: &mut MacroErrors) {
    let parse = |input: syn::parse::ParseStream<'_>| {
        body::parse_role_function(Role::Group, options.clone(), input)
    };
    if let Some(group) = errors.parse_or_note(parse, item.clone()) {
        GroupOptions::parse(options.clone(), errors);
        resolve::check_group_function(&group, errors);
        split_group(&group, errors);
    }
}

/// The path of the next group to be placed in a scenario.
pub(crate) fn next_group(scenario: &ScenarioFn) -> Option<TokenStream> {
    let tokens: Vec<TokenTree> = scenario.body.stream().into_iter().collect();
    find_placement(&tokens).map(|placement| placement.path)
}

/// The call of the macro that places the next group of a scenario, or nothing once all are placed.
pub(crate) fn hand_to_group(
    options: &TokenStream,
    item: &TokenStream,
    scenario: &ScenarioFn,
) -> Option<TokenStream> {
    let path = next_group(scenario)?;
    Some(quote!(#path ! { { #options } #item }))
}

/// The options and the item of a scenario in which the next group is placed: `{ group } { options } scenario`.
pub(crate) fn place_group(tokens: TokenStream) -> syn::Result<(TokenStream, TokenStream)> {
    let mut tokens = tokens.into_iter();
    let braces = |token: Option<TokenTree>| match token {
        Some(TokenTree::Group(group)) => Ok(group.stream()),
        _ => Err(syn::Error::new(
            Span::call_site(),
            "a group is placed with `#[group] use path::to::group;` in a scenario",
        )),
    };
    let (group, options) = (braces(tokens.next())?, braces(tokens.next())?);
    let mut item: Vec<TokenTree> = tokens.collect();
    let scenario: ScenarioFn = syn::parse2(item.iter().cloned().collect())?;
    let mut inside: Vec<TokenTree> = scenario.body.stream().into_iter().collect();
    if let (Some(Placement { place, path, span }), Some(TokenTree::Group(body))) =
        (find_placement(&inside), item.last_mut())
    {
        let mut group = at_home_in(group, scenario.signature.ident.span());
        // so that the lines of steps from another file are told to be elsewhere
        if let Some(word) = group.iter_mut().find(|token| is_word(token, "fn")) {
            word.set_span(span);
        }
        // an editor leads from the path to the group
        let import = quote!(#[allow(unused_imports)] use #path as _;);
        inside.splice(place, import.into_iter().chain(group));
        let mut placed = Group::new(Delimiter::Brace, inside.into_iter().collect());
        placed.set_span(body.span());
        *body = placed;
    }
    Ok((options, item.into_iter().collect()))
}

/// The tokens as if they were written in the scenario, which `macro_rules!` would keep from its mistakes.
fn at_home_in(tokens: TokenStream, scenario: Span) -> Vec<TokenTree> {
    let moved = tokens.into_iter().map(|token| match token {
        TokenTree::Group(group) => {
            let inside = at_home_in(group.stream(), scenario).into_iter().collect();
            let mut moved = Group::new(group.delimiter(), inside);
            moved.set_span(group.span().resolved_at(scenario));
            moved.into()
        }
        mut token => {
            token.set_span(token.span().resolved_at(scenario));
            token
        }
    });
    moved.collect()
}

/// The first group that is to be placed.
fn find_placement(tokens: &[TokenTree]) -> Option<Placement> {
    (0..tokens.len()).find_map(|start| {
        let attribute = attribute_at(tokens, start)?;
        let at = attribute.end;
        let is_group = attribute.name.is_some_and(|name| name == "group");
        if !is_group || !attribute.options.is_empty() || !is_word(tokens.get(at)?, "use") {
            return None;
        }
        let length = tokens[at..]
            .iter()
            .position(|token| matches!(token, TokenTree::Punct(end) if end.as_char() == ';'))?;
        let path = &tokens[at + 1..at + length];
        syn::parse2::<syn::Path>(path.iter().cloned().collect()).ok()?;
        Some(Placement {
            place: start..at + length + 1,
            path: path.iter().cloned().collect(),
            span: tokens[at].span(),
        })
    })
}

fn is_word(token: &TokenTree, wanted: &str) -> bool {
    matches!(token, TokenTree::Ident(word) if word == wanted)
}
