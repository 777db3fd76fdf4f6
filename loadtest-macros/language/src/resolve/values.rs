//! The placeholders that are of no step: rows, states, setups and the virtual user.

use super::names::NotEarlier;
use super::request::{RequestResolver, ValueAccess, ValueOrigin, access_through};
use crate::signature;
use crate::suggest;
use crate::template::{PathSegment, PlaceholderPath};
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

impl RequestResolver<'_> {
    /// The row of a feed that gives several to each iteration, and the path through it.
    pub(super) fn settle_row<'p>(
        &self,
        path: &'p PlaceholderPath,
        origin: ValueOrigin,
    ) -> syn::Result<(ValueOrigin, &'p [(PathSegment, Span)])> {
        let ValueOrigin::Feed { at, .. } = origin else {
            return Ok((origin, path.segments.as_slice()));
        };
        let rows = self.scenario.feeds[at].rows;
        match path.segments.split_first() {
            _ if rows == 1 => Ok((origin, path.segments.as_slice())),
            Some(((PathSegment::Index(row), _), rest)) if *row < rows => {
                Ok((ValueOrigin::Feed { at, row: *row }, rest))
            }
            _ => {
                let (source, root, last) = (&path.source, &path.root, rows - 1);
                let message = format!(
                    "`{{{{{source}}}}}`: every iteration has {rows} rows of `{root}`: start with one of \
                     `{{{{{root}[0]..}}}}` to `{{{{{root}[{last}]..}}}}`"
                );
                Err(syn::Error::new(path.span, message))
            }
        }
    }

    /// Returns true for `{{OWNER}}`: a constant of the user's module, unless the scenario has that name.
    pub(super) fn names_constant(&self, path: &PlaceholderPath) -> bool {
        let is_letter = |letter: u8| matches!(letter, b'A'..=b'Z' | b'0'..=b'9' | b'_');
        path.segments.is_empty()
            && path
                .root
                .starts_with(|first: char| first.is_ascii_uppercase())
            && path.root.bytes().all(is_letter)
            && matches!(
                self.names.earlier_step(&path.root, self.at),
                Err(NotEarlier::Unknown)
            )
            && self.names.find_value(&path.root).is_none()
    }

    /// The path through the value of a feed, a state or a setup.
    pub(super) fn value_access(
        &self,
        path: &PlaceholderPath,
        origin: ValueOrigin,
        segments: &[(PathSegment, Span)],
    ) -> syn::Result<ValueAccess> {
        let scenario = self.scenario;
        let (what, is_untyped) = match origin {
            ValueOrigin::Feed { at, .. } => ("row", scenario.feeds[at].ty.is_untyped),
            ValueOrigin::State(at) => ("state", signature::is_untyped(&scenario.states[at].ty)),
            ValueOrigin::Setup(at) => {
                let made = &scenario.setups[at].made;
                if made.is_target {
                    let name = &path.root;
                    let message = format!(
                        "`{{{{{}}}}}`: `{name}` is the target, to which every path is sent: start the URL \
                         with `/`",
                        path.source
                    );
                    return Err(syn::Error::new(path.span, message));
                }
                ("value", signature::is_untyped(&made.ty))
            }
            ValueOrigin::Step(_) | ValueOrigin::Secret => ("response", true),
        };
        if let Some((PathSegment::Field(field), span)) = segments.first()
            && !is_untyped
            && matches!(field.as_str(), "response" | "headers" | "cookies")
        {
            let (source, root) = (&path.source, &path.root);
            let message = format!(
                "`{{{{{source}}}}}`: `{root}` is not a step and has no `{field}`: write `{{{{{root}.field}}}}`"
            );
            return Err(syn::Error::new(*span, message));
        }
        access_through(segments, path, is_untyped, what)
    }
}

/// The code of a constant, which rustc finds.
pub(super) fn constant(path: &PlaceholderPath) -> TokenStream {
    // With the span of the literal itself, rustc would propose to replace all of it.
    let span = if path.in_literal {
        Span::call_site().located_at(path.span)
    } else {
        path.span
    };
    let name = Ident::new(&path.root, span);
    quote!(#name)
}

/// The values of the virtual user: the path behind `vu.`, and its code.
fn user_values() -> [(&'static str, TokenStream); 8] {
    [
        ("id", quote!(__vu.id())),
        ("iteration", quote!(__vu.iteration())),
        ("uuid", quote!(__vu.uuid())),
        ("unique", quote!(__vu.unique())),
        ("origin", quote!(__vu.origin())),
        ("now", quote!(::loadtest::__private::now())),
        ("now.unix", quote!(::loadtest::__private::unix_seconds())),
        ("now.unix_ms", quote!(::loadtest::__private::unix_millis())),
    ]
}

/// The code of `{{vu.id}}` and the like.
pub(super) fn value_of_user(path: &PlaceholderPath) -> syn::Result<TokenStream> {
    let values = user_values();
    let wanted = path.source.strip_prefix("vu.").unwrap_or_default();
    if let Some((_, code)) = values.iter().find(|(name, _)| *name == wanted) {
        return Ok(code.clone());
    }
    let near = suggest::closest_word(wanted, values.iter().map(|(name, _)| *name));
    let hint = near.map_or_else(String::new, |near| {
        format!("; did you mean `{{{{vu.{near}}}}}`?")
    });
    let all = values
        .iter()
        .map(|(name, _)| format!("`{{{{vu.{name}}}}}`"));
    let all: Vec<String> = all.collect();
    let message = format!(
        "`{{{{{}}}}}`: the virtual user has no such value{hint}; available: {}",
        path.source,
        all.join(", ")
    );
    Err(syn::Error::new(path.span, message))
}
