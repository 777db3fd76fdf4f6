//! Code that writes the headers of a request, and those of the scenario that a function's lacks.

use super::request::{constant_text, render_piece, render_text_then};
use super::slot_ident;
use crate::resolve::{
    BasicCredentials, RequestPiece, ResolvedHeader, ResolvedHeaderValue, ResolvedStep, ValueOrigin,
};
use proc_macro2::TokenStream;
use quote::quote;

pub(super) fn render_header(header: &ResolvedHeader) -> TokenStream {
    match &header.value {
        ResolvedHeaderValue::Text(pieces) => render_named_header(&header.name, pieces),
        ResolvedHeaderValue::Basic(credentials) => render_basic(credentials),
    }
}

fn render_named_header(name: &str, pieces: &[RequestPiece]) -> TokenStream {
    let key = render_header_name(name);
    let value = match constant_text(pieces) {
        Some(value) => quote! {
            __request.header(
                #key,
                const { ::loadtest::__private::HeaderValue::from_static(#value) },
            );
        },
        None => render_text_then(pieces, &quote!(__request.header_text(#key, __text)?)),
    };
    let is_secret = |piece: &RequestPiece| {
        piece
            .placeholder()
            .is_some_and(|one| one.secret_name().is_some())
    };
    let is_sensitive = matches!(name, "authorization" | "proxy-authorization" | "cookie")
        || pieces.iter().any(is_secret);
    let sensitive = is_sensitive.then(|| quote!(__request.sensitive();));
    quote!(#value #sensitive)
}

/// A constant by value: a reference to one would be E0492, since a header name may hold shared bytes.
pub(super) fn render_header_name(name: &str) -> TokenStream {
    quote!(const { ::loadtest::__private::HeaderName::from_static(#name) })
}

/// `authorization: Basic ..`
fn render_basic(basic: &BasicCredentials) -> TokenStream {
    if let (Some(user), Some(password)) =
        (constant_text(&basic.user), constant_text(&basic.password))
    {
        use base64::prelude::{BASE64_STANDARD, Engine as _};
        let credentials = BASE64_STANDARD.encode(format!("{user}:{password}"));
        let value = RequestPiece::Text(format!("Basic {credentials}"));
        return render_named_header("authorization", &[value]);
    }
    let (user, password) = (
        basic.user.iter().map(render_piece),
        basic.password.iter().map(render_piece),
    );
    quote! {
        let mut __text = __request.text();
        #(#user)*
        ::loadtest::__private::user_name(&__text)?;
        __text.push_str(":");
        #(#password)*
        __request.basic_text(__text)?;
        __request.sensitive();
    }
}

/// `write`, which is the request that the function of a step built, and then what it lacks. The steps
/// that a header needs are looked at first, as those of its parameters are.
pub(super) fn render_missing_headers(write: TokenStream, step: &ResolvedStep) -> TokenStream {
    if step.defaults.is_empty() {
        return write;
    }
    let needed = step.placeholders().filter_map(|placeholder| {
        let (ValueOrigin::Step(at), variable) = (placeholder.origin, &placeholder.variable) else {
            return None;
        };
        let slot = slot_ident(at);
        Some(quote!(self.#slot.get(#at, #variable)?;))
    });
    let added = step.defaults.iter().map(|default| {
        let (name, header) = (&default.name, render_header(default));
        quote!(if __request.lacks(#name) { #header })
    });
    quote! {
        {
            #(#needed)*
            let () = #write?;
            #(#added)*
            ::core::result::Result::Ok(())
        }
    }
}

/// Hands a step that sends for itself what its requests get where they lack it.
pub(super) fn render_async_headers(step: &ResolvedStep) -> TokenStream {
    if step.defaults.is_empty() {
        return TokenStream::new();
    }
    let headers = step.defaults.iter().map(render_header);
    quote! {
        {
            let mut __request =
                <::loadtest::__private::RequestBuf as ::core::default::Default>::default();
            #(#headers)*
            __http.set_defaults(__request);
        }
    }
}
