//! Makes editors complete names in a placeholder outside quotes: `{{login.response.|}}`.
//!
//! To complete a name, rust-analyzer expands the scenario twice: as it stands, and with a word of its
//! own at the cursor. What may stand there it takes from the place of that word in the second
//! expansion, and the types from the same place in the first. So this code is the first thing in the
//! scenario, and the same in both up to that word. No compiler sees it.

use super::at_call_site;
use super::request::raw_identifier;
use crate::body::{BodyItem, Role};
use crate::resolve::{ResolvedScenario, is_field_name, step_number, without_raw_prefix};
use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::quote;

/// A part of the word that rust-analyzer inserts at the cursor.
const MARKER: &str = "raCompletionMarker";

/// A piece of a path.
enum CompletionSegment {
    Field(Ident),
    /// A number or a text in brackets.
    Element(Literal),
    /// A segment that is not written yet.
    Open,
}

/// Code for every placeholder, whether it is complete or not.
pub(super) fn render_completions(resolved: &ResolvedScenario) -> TokenStream {
    let steps = resolved
        .items
        .iter()
        .filter(|item| item.role() == Some(Role::Step));
    steps
        .enumerate()
        .filter_map(|(at, item)| match item {
            BodyItem::Function(function) => {
                render_step_completions(at, function.options.clone(), resolved)
            }
            _ => None,
        })
        .collect()
}

/// The placeholders of the step with the number `at` lead through what is above it.
fn render_step_completions(
    at: usize,
    options: TokenStream,
    resolved: &ResolvedScenario,
) -> Option<TokenStream> {
    let mut placeholders = Vec::new();
    find_placeholders(options, &mut placeholders);
    let paths: Vec<_> = placeholders
        .into_iter()
        .filter_map(|placeholder| parse_partial_path(placeholder, resolved))
        .map(|path| {
            path.into_iter()
                .map(render_segment)
                .collect::<TokenStream>()
        })
        .collect();
    if paths.is_empty() {
        return None;
    }
    let typed = |ty: &TokenStream, is_untyped| if is_untyped { quote!(()) } else { ty.clone() };
    let steps = resolved.steps[..at].iter().map(|step| {
        let name = at_call_site(&step.ident);
        let ty = typed(&step.response.ty, step.response.is_untyped);
        quote!(#name: ::loadtest::__private::Answer<#ty>)
    });
    let feeds = resolved.feeds.iter().map(|feed| {
        let name = at_call_site(&feed.ident);
        let ty = typed(&feed.ty.row, feed.ty.is_untyped);
        match feed.rows {
            1 => quote!(#name: #ty),
            rows => quote!(#name: [#ty; #rows]),
        }
    });
    let states = resolved.states.iter().map(|state| {
        let (name, ty) = (at_call_site(&state.ident), &state.ty);
        quote!(#name: #ty)
    });
    let setups = resolved.setups.iter().map(|setup| {
        let (name, ty) = (at_call_site(&setup.ident), &setup.made.ty);
        quote!(#name: #ty)
    });
    Some(quote! {
        #[cfg(rust_analyzer)]
        const _: () = {
            struct __Above {
                #(#steps,)*
                #(#feeds,)*
                #(#states,)*
                #(#setups,)*
            }
            fn __placeholders(__value: &__Above) {
                use ::loadtest::__private::{PeelOption as _, PeelPlain as _};
                #(
                    let _ = || -> ::core::option::Option<()> {
                        #paths
                        ::core::option::Option::None
                    };
                )*
            }
        };
    })
}

/// Finds the contents of double braces.
fn find_placeholders(tokens: TokenStream, found: &mut Vec<TokenStream>) {
    let is_brace = |group: &Group| group.delimiter() == Delimiter::Brace;
    for token in tokens {
        let TokenTree::Group(group) = token else {
            continue;
        };
        let mut inside = group.stream().into_iter();
        match (inside.next(), inside.next()) {
            (Some(TokenTree::Group(inner)), None) if is_brace(&group) && is_brace(&inner) => {
                found.push(inner.stream());
            }
            _ => find_placeholders(group.stream(), found),
        }
    }
}

/// A path up to the cursor, or as far as it is one.
fn parse_partial_path(
    tokens: TokenStream,
    resolved: &ResolvedScenario,
) -> Option<Vec<CompletionSegment>> {
    let mut tokens = tokens.into_iter();
    let root = match tokens.next() {
        Some(TokenTree::Ident(root)) if is_field_name(&without_raw_prefix(&root)) => {
            CompletionSegment::Field(resolve_step_number(root, resolved))
        }
        Some(_) => return None,
        None => CompletionSegment::Open,
    };
    let mut path = vec![root];
    while !path.last().is_some_and(ends_path) {
        let segment = match tokens.next() {
            Some(TokenTree::Punct(dot)) if dot.as_char() == '.' => match tokens.next() {
                Some(TokenTree::Ident(field)) if is_field_name(&without_raw_prefix(&field)) => {
                    CompletionSegment::Field(field)
                }
                _ => CompletionSegment::Open,
            },
            Some(TokenTree::Group(brackets)) if brackets.delimiter() == Delimiter::Bracket => {
                match brackets.stream().into_iter().next() {
                    Some(TokenTree::Literal(at)) => CompletionSegment::Element(at),
                    _ => break,
                }
            }
            _ => break,
        };
        path.push(segment);
    }
    Some(path)
}

/// `step1` is the first step.
fn resolve_step_number(root: Ident, resolved: &ResolvedScenario) -> Ident {
    let number = step_number(&without_raw_prefix(&root)).and_then(|number| number.checked_sub(1));
    match number.and_then(|at| resolved.steps.get(at)) {
        Some(step) => step.ident.clone(),
        None => root,
    }
}

/// Returns true if later segments do not matter.
fn ends_path(segment: &CompletionSegment) -> bool {
    match segment {
        CompletionSegment::Field(field) => is_at_cursor(field),
        CompletionSegment::Element(_) => false,
        CompletionSegment::Open => true,
    }
}

fn is_at_cursor(field: &Ident) -> bool {
    field.to_string().contains(MARKER)
}

fn render_segment(segment: CompletionSegment) -> TokenStream {
    match segment {
        CompletionSegment::Field(field) => {
            let field = if is_at_cursor(&field) {
                field
            } else {
                // it would turn up twice in its hover
                raw_identifier(&without_raw_prefix(&field), Span::call_site())
            };
            quote! {
                let __value = &__value.#field;
                let __value = (&::loadtest::__private::Peel(__value)).peel()?;
            }
        }
        CompletionSegment::Element(at) if at.to_string().starts_with('"') => {
            quote!(let __value = ::loadtest::__private::KeyPath::at_key(__value, #at)?;)
        }
        CompletionSegment::Element(at) => {
            quote!(let __value = ::loadtest::__private::IndexPath::at(__value, #at)?;)
        }
        // every reference has it, so that no mistake is found here
        CompletionSegment::Open => quote!(let __value = &__value.clone();),
    }
}

#[cfg(test)]
mod tests {
    use crate::body::ScenarioFn;
    use crate::suggest::MacroErrors;

    /// The expansion of a scenario with `placeholder`, up to `word`.
    fn before(word: &str, placeholder: &str) -> String {
        let text = format!(
            "fn shop() {{
                #[step(get = \"/\")] fn login() -> Login;
                #[step(post = \"/\", json = {{ \"id\": {{{{{placeholder}}}}} }})] fn order();
            }}"
        );
        let function: ScenarioFn = syn::parse_str(&text).unwrap();
        let mut errors = MacroErrors::default();
        let options = proc_macro2::TokenStream::new();
        let resolved = crate::resolve::resolve_scenario(options, &function, &mut errors);
        let code = crate::render::render_scenario(&function, &resolved, errors).to_string();
        syn::parse_str::<syn::File>(&code).unwrap_or_else(|error| panic!("{error}\n{code}"));
        code.split(word).next().unwrap_or_default().to_owned()
    }

    #[test]
    fn both_expansions_are_the_same_up_to_the_cursor() {
        for (written, with_marker) in [
            ("", "raCompletionMarker"),
            ("lo", "loraCompletionMarker"),
            ("login.", "login.raCompletionMarker"),
            ("login.response.", "login.response.raCompletionMarker"),
            ("login.response.id", "login.response.idraCompletionMarker"),
            ("step1.response.", "step1.response.raCompletionMarker"),
            (
                "login.response.a[0].",
                "login.response.a[0].raCompletionMarker",
            ),
            ("login.response..b", "login.response.raCompletionMarker.b"),
        ] {
            let word = with_marker
                .rsplit('.')
                .find(|word| word.ends_with("Marker"));
            let with_marker = before(word.unwrap(), with_marker);
            assert!(with_marker.contains("__placeholders"), "{with_marker}");
            let length = with_marker.len();
            let written = before("raCompletionMarker", written);
            assert_eq!(written.get(..length), Some(&*with_marker));
        }
    }

    #[test]
    fn words_of_rust_are_no_mistake() {
        for path in [
            "login.response.match",
            "login.response.self",
            "login.response._",
            "self._",
        ] {
            before("no such word", path);
        }
    }
}
