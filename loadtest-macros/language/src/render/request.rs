//! Code that writes a declared request.

use super::header::{render_header, render_header_name};
use super::payload;
use crate::resolve::{
    Placeholder, RequestPiece, ResolvedRequest, ResolvedScenario, ResolvedStep, ValueAccess,
    ValueEncoding, ValueOrigin,
};
use crate::template::PathSegment;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use std::collections::BTreeSet;

/// The arm of `build` for the step with the number `at`: what is constant costs nothing at run time, and
/// without the answers that it `follows` there is no request.
pub(super) fn render_request(
    at: usize,
    request: &ResolvedRequest,
    follows: Option<&TokenStream>,
) -> TokenStream {
    let roots = request
        .placeholders()
        .filter_map(|placeholder| placeholder.root.as_ref())
        .map(|(name, span)| raw_identifier(name, *span));
    let method = format_ident!("{}", request.method);
    let url = render_url(&request.url, request.opens_websocket);
    let url = hide_private_values(&request.url, url);
    let headers = request.headers.iter().map(render_header);
    let body = payload::render_body(at, request);
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

fn render_url(pieces: &[RequestPiece], opens_websocket: bool) -> TokenStream {
    match constant_text(pieces) {
        Some(path) if path.starts_with('/') => quote! {
            __request.path(const { ::loadtest::__private::PathAndQuery::from_static(#path) });
        },
        Some(url) => quote!(__request.url_static(#url)?;),
        None if opens_websocket => {
            render_text_then(pieces, &quote!(__request.websocket_text(__text)?))
        }
        None => render_text_then(pieces, &quote!(__request.url_text(__text)?)),
    }
}

/// A URL with a value that is of no answer is not shown when it is invalid.
fn hide_private_values(pieces: &[RequestPiece], write: TokenStream) -> TokenStream {
    let is_private = |piece: &RequestPiece| match piece {
        RequestPiece::Value(placeholder, _) => placeholder.origin.is_private(),
        _ => false,
    };
    if !pieces.iter().any(is_private) {
        return write;
    }
    let shown = pieces.iter().map(|piece| match piece {
        RequestPiece::Text(text) => text.clone(),
        RequestPiece::Value(placeholder, _) => format!("{{{{{}}}}}", placeholder.variable),
        RequestPiece::Rust(..) | RequestPiece::File(_) | RequestPiece::FileType(_) => {
            "{..}".to_owned()
        }
        RequestPiece::BeginQuery => "?".to_owned(),
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

pub(super) fn constant_text(pieces: &[RequestPiece]) -> Option<&str> {
    match pieces {
        [] => Some(""),
        [RequestPiece::Text(text)] => Some(text),
        _ => None,
    }
}

/// Writes `pieces` into `__text`, then does `end`.
pub(super) fn render_text_then(pieces: &[RequestPiece], end: &TokenStream) -> TokenStream {
    let pieces = pieces.iter().map(render_piece);
    quote! {
        let mut __text = __request.text();
        #(#pieces)*
        #end;
    }
}

/// Writes a piece to the end of `__text`.
pub(super) fn render_piece(piece: &RequestPiece) -> TokenStream {
    match piece {
        RequestPiece::Text(text) => quote!(__text.push_str(#text);),
        RequestPiece::Value(placeholder, sink) => render_placeholder(placeholder, *sink),
        RequestPiece::Rust(expression, sink) => {
            let infer = super::inferred_type_at(expression);
            render_write(*sink, &infer, &quote!(&(#expression)))
        }
        RequestPiece::BeginQuery => quote!(::loadtest::__private::begin_query(&mut __text);),
        // in forms with parts only, and written there
        RequestPiece::File(_) | RequestPiece::FileType(_) => TokenStream::new(),
    }
}

/// Writes `value`, a reference to a `ty`, to the end of `__text`.
fn render_write(sink: ValueEncoding, ty: &TokenStream, value: &TokenStream) -> TokenStream {
    let method = match sink {
        ValueEncoding::Raw => quote!(write_raw),
        ValueEncoding::Url => quote!(write_url),
        ValueEncoding::Query => quote!(write_query),
        ValueEncoding::Form => quote!(write_form),
        ValueEncoding::JsonText => quote!(write_json),
        ValueEncoding::JsonValue => {
            return quote!(::loadtest::__private::json_value::<#ty>(#value, &mut __text)?;);
        }
    };
    quote!(<#ty as ::loadtest::__private::Text>::#method(#value, &mut __text)?;)
}

fn render_placeholder(placeholder: &Placeholder, sink: ValueEncoding) -> TokenStream {
    let Placeholder {
        origin,
        variable,
        span,
        ..
    } = placeholder;
    if let Some(name) = placeholder.secret_name() {
        let value = quote!(::loadtest::__private::secret(#name).expose());
        return render_write(sink, &quote!(str), &value);
    }
    let access = render_access(placeholder);
    let infer = quote_spanned!(*span=> _);
    let missing = if let ValueOrigin::Step(step) = origin {
        quote!(Missing { step: #step, variable: #variable })
    } else {
        quote!(NotInFeed { variable: #variable })
    };
    let present = quote!(#access.ok_or(::loadtest::__private::Unmet::#missing)?);
    render_write(sink, &infer, &present)
}

/// An `Option` of a reference to the value.
fn render_access(placeholder: &Placeholder) -> TokenStream {
    let variable = &placeholder.variable;
    let body = match placeholder.origin {
        ValueOrigin::Step(step) => {
            let slot = super::slot_ident(step);
            let body = quote!(self.#slot.body(#step, #variable)?);
            if placeholder.is_graph {
                quote!(#body.data())
            } else {
                body
            }
        }
        ValueOrigin::Feed { at, row } => {
            let (rows, feed) = (super::row_ident(at), super::feed_ident(at));
            quote!(self.#rows[#row].get(&self.shared.#feed))
        }
        ValueOrigin::State(at) => {
            let state = super::state_ident(at);
            quote!(self.#state.get())
        }
        ValueOrigin::Setup(at) => super::hooks::setup_in_chain(at),
        // written as it is
        ValueOrigin::Secret => TokenStream::new(),
    };
    match &placeholder.access {
        ValueAccess::Secret(_) => TokenStream::new(),
        ValueAccess::Header { step, name } => {
            let slot = super::slot_ident(*step);
            let name = render_header_name(name);
            quote!(self.#slot.header(#step, #variable, &#name)?)
        }
        ValueAccess::Cookie { step, name } => {
            let slot = super::slot_ident(*step);
            quote!(self.#slot.cookie(#step, #variable, #name)?)
        }
        ValueAccess::Untyped(segments) => {
            let segments = segments.iter().map(|segment| match segment {
                PathSegment::Field(key) | PathSegment::Key(key) => {
                    quote!(::loadtest::__private::Segment::Key(#key))
                }
                PathSegment::Index(index) => quote!(::loadtest::__private::Segment::Index(#index)),
            });
            quote! {
                ::loadtest::__private::json_path(
                    #body,
                    &[#(#segments),*],
                )
            }
        }
        ValueAccess::Typed {
            segments,
            in_literal,
        } => {
            let steps = segments
                .iter()
                .map(|(segment, span)| render_typed_segment(segment, *span, *in_literal));
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
pub(super) fn render_field_names(resolved: &ResolvedScenario) -> TokenStream {
    let names: BTreeSet<&str> = resolved
        .steps
        .iter()
        .flat_map(ResolvedStep::placeholders)
        .filter_map(|placeholder| match &placeholder.access {
            ValueAccess::Typed { segments, .. } => Some(segments),
            _ => None,
        })
        .flatten()
        .filter_map(|(segment, _)| match segment {
            PathSegment::Field(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    if names.is_empty() {
        return TokenStream::new();
    }
    let names: Vec<&str> = names.into_iter().collect();
    let fields: Vec<Ident> = names
        .iter()
        .map(|name| raw_identifier(name, Span::call_site()))
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
fn render_typed_segment(segment: &PathSegment, span: Span, in_literal: bool) -> TokenStream {
    // with the span of the literal itself, rustc would propose to replace all of it by a field name
    let span = if in_literal {
        Span::call_site().located_at(span)
    } else {
        span
    };
    let infer = quote_spanned!(span=> _);
    let next = match segment {
        PathSegment::Field(name) => {
            let field = raw_identifier(name, span);
            quote! {{
                let __owner = (&::loadtest::__private::Owner(__value, &__NAMES)).open();
                ::loadtest::__private::Take::take(__owner, &__owner.#field)?
            }}
        }
        PathSegment::Index(index) => {
            quote!(<#infer as ::loadtest::__private::IndexPath<_>>::at(__value, #index)?)
        }
        PathSegment::Key(key) => {
            quote!(<#infer as ::loadtest::__private::KeyPath<_>>::at_key(__value, #key)?)
        }
    };
    quote! {
        let __value = #next;
        let __value = (&::loadtest::__private::Peel(__value)).peel()?;
    }
}

/// `type` becomes `r#type`.
pub(super) fn raw_identifier(name: &str, span: Span) -> Ident {
    match syn::parse_str::<Ident>(name) {
        Ok(mut ident) => {
            ident.set_span(span);
            ident
        }
        Err(_) => Ident::new_raw(name, span),
    }
}
