//! Code that writes a declared request.

use super::header::{header, name_of};
use super::payload;
use crate::resolve::{Access, Origin, Piece, Placeholder, Request, Resolved, Sink, Step};
use crate::template::Segment;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use std::collections::BTreeSet;

/// The arm of `build` for the step with the number `at`: what is constant costs nothing at run time, and
/// without the answers that it `follows` there is no request.
pub(super) fn build(at: usize, request: &Request, follows: Option<&TokenStream>) -> TokenStream {
    let roots = request
        .placeholders()
        .filter_map(|placeholder| placeholder.root.as_ref())
        .map(|(name, span)| identifier(name, *span));
    let method = format_ident!("{}", request.method);
    let url = without_rows(&request.url, url(&request.url));
    let headers = request.headers.iter().map(header);
    let body = payload::body(at, request);
    quote! {
        {
            #(let _ = #roots;)*
            #follows
            __request.start(::loadtest::__private::Method::#method);
            #url
            #(#headers)*
            #body
            ::core::result::Result::Ok(())
        }
    }
}

fn url(pieces: &[Piece]) -> TokenStream {
    match constant(pieces) {
        Some(path) if path.starts_with('/') => quote! {
            __request.path(const { ::loadtest::__private::PathAndQuery::from_static(#path) });
        },
        Some(url) => quote!(__request.url_static(#url)?;),
        None => text(pieces, &quote!(__request.url_text(__text)?)),
    }
}

/// A URL with a value of a feed or a secret is not shown when it is invalid.
fn without_rows(pieces: &[Piece], write: TokenStream) -> TokenStream {
    let is_private = |piece: &Piece| match piece {
        Piece::Value(placeholder, _) => placeholder.origin.is_private(),
        _ => false,
    };
    if !pieces.iter().any(is_private) {
        return write;
    }
    let shown = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Value(placeholder, _) => format!("{{{{{}}}}}", placeholder.variable),
        Piece::Rust(..) | Piece::File(_) | Piece::FileType(_) => "{..}".to_owned(),
        Piece::BeginQuery => "?".to_owned(),
    });
    let shown = shown.collect::<String>();
    quote! {
        ::loadtest::__private::without_row(
            (|| {
                #write
                ::core::result::Result::Ok(())
            })(),
            #shown,
        )?;
    }
}

pub(super) fn constant(pieces: &[Piece]) -> Option<&str> {
    match pieces {
        [] => Some(""),
        [Piece::Text(text)] => Some(text),
        _ => None,
    }
}

/// Writes `pieces` into `__text`, then does `end`.
pub(super) fn text(pieces: &[Piece], end: &TokenStream) -> TokenStream {
    let pieces = pieces.iter().map(piece);
    quote! {
        let mut __text = __request.text();
        #(#pieces)*
        #end;
    }
}

/// Writes a piece to the end of `__text`.
pub(super) fn piece(piece: &Piece) -> TokenStream {
    match piece {
        Piece::Text(text) => quote!(__text.push_str(#text);),
        Piece::Value(placeholder, sink) => write(placeholder, *sink),
        Piece::Rust(expression, sink) => {
            let (write, infer) = (writer(*sink), super::infer(expression));
            quote!(::loadtest::__private::#write::<#infer>(&(#expression), &mut __text)?;)
        }
        Piece::BeginQuery => quote!(::loadtest::__private::begin_query(&mut __text);),
        // in forms with parts only, and written there
        Piece::File(_) | Piece::FileType(_) => TokenStream::new(),
    }
}

fn writer(sink: Sink) -> TokenStream {
    match sink {
        Sink::Raw => quote!(text),
        Sink::Url => quote!(url_text),
        Sink::Query => quote!(query_text),
        Sink::Form => quote!(form_text),
        Sink::JsonText => quote!(json_text),
        Sink::JsonValue => quote!(json_value),
    }
}

fn write(placeholder: &Placeholder, sink: Sink) -> TokenStream {
    let Placeholder {
        origin,
        variable,
        span,
        ..
    } = placeholder;
    let write = writer(sink);
    if let Some(name) = placeholder.secret() {
        return quote! {
            ::loadtest::__private::#write::<str>(
                ::loadtest::__private::secret_text(#name).expose(),
                &mut __text,
            )?;
        };
    }
    let access = access(placeholder);
    let infer = quote_spanned!(*span=> _);
    let present = match origin {
        Origin::Step(step) => quote!(::loadtest::__private::present(#access, #step, #variable)?),
        Origin::Feed(_) | Origin::Secret => {
            quote!(::loadtest::__private::in_feed(#access, #variable)?)
        }
    };
    quote! {
        ::loadtest::__private::#write::<#infer>(#present, &mut __text)?;
    }
}

/// An `Option` of a reference to the value.
fn access(placeholder: &Placeholder) -> TokenStream {
    let variable = &placeholder.variable;
    let body = match placeholder.origin {
        Origin::Step(step) => {
            let slot = super::slot(step);
            quote!(self.#slot.body(#step, #variable)?)
        }
        Origin::Feed(at) => {
            let (row, feed) = (super::row(at), super::feed(at));
            quote!(self.#row.get(&self.shared.#feed))
        }
        // written as it is
        Origin::Secret => TokenStream::new(),
    };
    match &placeholder.access {
        Access::Secret(_) => TokenStream::new(),
        Access::Header { step, name } => {
            let slot = super::slot(*step);
            let name = name_of(name);
            quote!(self.#slot.header(#step, #variable, &#name)?)
        }
        Access::Untyped(segments) => {
            let segments = segments.iter().map(|segment| match segment {
                Segment::Field(key) | Segment::Key(key) => {
                    quote!(::loadtest::__private::Segment::Key(#key))
                }
                Segment::Index(index) => quote!(::loadtest::__private::Segment::Index(#index)),
            });
            quote! {
                ::loadtest::__private::json_path(
                    #body,
                    &[#(#segments),*],
                )
            }
        }
        Access::Typed {
            segments,
            in_literal,
        } => {
            let steps = segments
                .iter()
                .map(|(segment, span)| typed_segment(segment, *span, *in_literal));
            quote! {{
                use ::loadtest::__private::{OpenPlain as _, OpenValue as _};
                use ::loadtest::__private::{PeelOption as _, PeelPlain as _};
                let __value = #body;
                (|| {
                    let __value = (&::loadtest::__private::Peel(__value)).peel()?;
                    #(#steps)*
                    ::core::option::Option::Some(__value)
                })()
            }}
        }
    }
}

/// A field for every name in a typed path, since the path may lead through untyped JSON: the access
/// to a field of that compiles as well, and finds the key to look up.
pub(super) fn names(resolved: &Resolved) -> TokenStream {
    let names: BTreeSet<&str> = resolved
        .steps
        .iter()
        .flat_map(Step::placeholders)
        .filter_map(|placeholder| match &placeholder.access {
            Access::Typed { segments, .. } => Some(segments),
            _ => None,
        })
        .flatten()
        .filter_map(|(segment, _)| match segment {
            Segment::Field(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    if names.is_empty() {
        return TokenStream::new();
    }
    let names: Vec<&str> = names.into_iter().collect();
    let fields: Vec<Ident> = names
        .iter()
        .map(|name| identifier(name, Span::call_site()))
        .collect();
    quote! {
        #[allow(non_snake_case)]
        struct __Names { #(#fields: ::loadtest::__private::Name,)* }
        const __NAMES: __Names = __Names {
            #(#fields: ::loadtest::__private::Name(#names),)*
        };
    }
}

/// A field access that rustc checks; an index that does not panic.
fn typed_segment(segment: &Segment, span: Span, in_literal: bool) -> TokenStream {
    // with the span of the literal itself, rustc would propose to replace all of it by a field name
    let span = if in_literal {
        Span::call_site().located_at(span)
    } else {
        span
    };
    let infer = quote_spanned!(span=> _);
    let next = match segment {
        Segment::Field(name) => {
            let field = identifier(name, span);
            quote! {{
                let __owner = (&::loadtest::__private::Owner(__value, &__NAMES)).open();
                ::loadtest::__private::take(__owner, &__owner.#field)?
            }}
        }
        Segment::Index(index) => {
            quote!(::loadtest::__private::index::<#infer, _>(__value, #index)?)
        }
        Segment::Key(key) => quote!(::loadtest::__private::key::<#infer, _>(__value, #key)?),
    };
    quote! {
        let __value = #next;
        let __value = (&::loadtest::__private::Peel(__value)).peel()?;
    }
}

/// `type` becomes `r#type`.
pub(super) fn identifier(name: &str, span: Span) -> Ident {
    match syn::parse_str::<Ident>(name) {
        Ok(mut ident) => {
            ident.set_span(span);
            ident
        }
        Err(_) => Ident::new_raw(name, span),
    }
}
