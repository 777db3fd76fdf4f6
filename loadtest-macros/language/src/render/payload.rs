//! Code that writes what a declared request carries, and code that reads its files before the load.

use super::header::render_header_name;
use super::request::{constant_text, render_piece, render_text_then};
use crate::resolve::{RequestPiece, ResolvedBody, ResolvedRequest, ResolvedScenario, StepForm};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

/// The body of the step with the number `at`, and its type unless a header names one.
pub(super) fn render_body(at: usize, request: &ResolvedRequest) -> TokenStream {
    let Some(body) = &request.body else {
        return TokenStream::new();
    };
    let explicit = request
        .headers
        .iter()
        .any(|header| header.name == "content-type");
    let content_type = match body {
        _ if request.is_graphql_by_get => quote!(__request.move_graphql_to_query()?;),
        ResolvedBody::Multipart { boundary, .. } if explicit => {
            quote!(__request.keep_boundary(#boundary)?;)
        }
        _ if explicit => TokenStream::new(),
        _ => render_content_type(at, body),
    };
    let write = match body {
        ResolvedBody::Text { pieces, .. } => match constant_text(pieces) {
            Some(text) => render_constant_body(text),
            None => render_text_then(pieces, &quote!(__request.body_text(__text))),
        },
        ResolvedBody::File(file) => {
            let file = file_field(at, *file);
            quote!(__request.body(self.shared.#file.bytes());)
        }
        ResolvedBody::Multipart { pieces, boundary } => match constant_text(pieces) {
            Some(text) => render_constant_body(text),
            None if body.is_made_once() => {
                let body = body_field(at);
                quote!(__request.body(::core::clone::Clone::clone(&self.shared.#body));)
            }
            None => render_multipart(at, pieces, boundary),
        },
    };
    quote!(#write #content_type)
}

fn render_content_type(at: usize, body: &ResolvedBody) -> TokenStream {
    let constant =
        |text: &str| quote!(const { ::loadtest::__private::HeaderValue::from_static(#text) });
    let value = match body {
        ResolvedBody::Text { content_type, .. } => constant(content_type),
        ResolvedBody::Multipart { boundary, .. } => {
            constant(&format!("multipart/form-data; boundary={boundary}"))
        }
        ResolvedBody::File(file) => {
            let file = file_field(at, *file);
            quote! {
                ::loadtest::__private::HeaderValue::from_static(self.shared.#file.content_type())
            }
        }
    };
    let name = render_header_name("content-type");
    quote!(__request.header(#name, #value);)
}

fn render_constant_body(text: &str) -> TokenStream {
    quote!(__request.body(::loadtest::__private::Bytes::from_static(#text.as_bytes()));)
}

/// A body with values: the text between files is written into `__text`, all into `__body`.
fn render_multipart(at: usize, pieces: &[RequestPiece], boundary: &str) -> TokenStream {
    let files = pieces.iter().filter_map(|piece| match piece {
        RequestPiece::File(file) => Some(file_field(at, *file)),
        _ => None,
    });
    let pieces = pieces.iter().map(|part| match part {
        RequestPiece::File(file) => {
            let file = file_field(at, *file);
            quote! {
                __body.extend_from_slice(__text.as_bytes());
                __text.clear();
                __body.extend_from_slice(&self.shared.#file.bytes());
            }
        }
        RequestPiece::FileType(file) => {
            let file = file_field(at, *file);
            quote!(__text.push_str(self.shared.#file.content_type());)
        }
        RequestPiece::Value(..) | RequestPiece::Rust(..) => {
            let write = render_piece(part);
            quote! {
                let __begin = __text.len();
                #write
                ::loadtest::__private::outside_boundary(&__text[__begin..], #boundary)?;
            }
        }
        RequestPiece::Text(_) | RequestPiece::BeginQuery => render_piece(part),
    });
    quote! {
        let mut __text = __request.text();
        let mut __body = ::std::vec::Vec::<u8>::with_capacity(
            1024 #(+ self.shared.#files.bytes().len())*
        );
        #(#pieces)*
        __request.body_parts(__body, __text);
    }
}

/// A value that is made before the load for a declared request.
pub(super) struct PreparedValue {
    pub(super) name: Ident,
    pub(super) ty: TokenStream,
    pub(super) value: TokenStream,
    /// True if users need the value during the load; false if only another value needs it.
    pub(super) is_shared: bool,
}

/// The values to prepare before the load for the declared requests, in order.
pub(super) fn prepared_values(resolved: &ResolvedScenario) -> impl Iterator<Item = PreparedValue> {
    resolved
        .steps
        .iter()
        .enumerate()
        .flat_map(|(at, step)| match &step.form {
            StepForm::Declared(request) => prepared_for_step(at, &step.display_name(), request),
            _ => Vec::new(),
        })
}

fn prepared_for_step(at: usize, step: &str, request: &ResolvedRequest) -> Vec<PreparedValue> {
    let is_made_once = request
        .body
        .as_ref()
        .is_some_and(ResolvedBody::is_made_once);
    let boundary = match &request.body {
        Some(ResolvedBody::Multipart { boundary, .. }) => Some(boundary),
        _ => None,
    };
    let files = request.files.0.iter().enumerate().map(|(number, path)| {
        let path = path.value();
        let check = boundary.map(|boundary| {
            quote!(::loadtest::__private::without_boundary(&__file, #step, #path, #boundary)?;)
        });
        let value = quote! {{
            let __file = ::loadtest::__private::open_file(#step, #path, __context)?;
            #check
            __file
        }};
        PreparedValue {
            name: file_field(at, number),
            ty: quote!(::loadtest::__private::File),
            value,
            is_shared: !is_made_once,
        }
    });
    let mut made: Vec<PreparedValue> = files.collect();
    if let Some(ResolvedBody::Multipart { pieces, .. }) = &request.body
        && is_made_once
    {
        let pieces = pieces.iter().map(|piece| match piece {
            RequestPiece::Text(text) => quote!(__body.extend_from_slice(#text.as_bytes());),
            RequestPiece::File(file) => {
                let file = file_field(at, *file);
                quote!(__body.extend_from_slice(&#file.bytes());)
            }
            RequestPiece::FileType(file) => {
                let file = file_field(at, *file);
                quote!(__body.extend_from_slice(#file.content_type().as_bytes());)
            }
            // it would not be made once
            RequestPiece::Value(..) | RequestPiece::Rust(..) | RequestPiece::BeginQuery => {
                TokenStream::new()
            }
        });
        let value = quote! {{
            let mut __body = ::std::vec::Vec::<u8>::new();
            #(#pieces)*
            ::loadtest::__private::made_once(__body)
        }};
        made.push(PreparedValue {
            name: body_field(at),
            ty: quote!(::loadtest::__private::Bytes),
            value,
            is_shared: true,
        });
    }
    made
}

fn file_field(step: usize, file: usize) -> Ident {
    format_ident!("file_{step}_{file}")
}

fn body_field(step: usize) -> Ident {
    format_ident!("body_{step}")
}
