//! Code that writes the headers of a request, and those of the scenario that a function's lacks.

use super::request::{constant, piece, text};
use super::slot;
use crate::resolve::{Basic, Header, HeaderValue, Origin, Piece, Step};
use proc_macro2::TokenStream;
use quote::quote;

pub(super) fn header(header: &Header) -> TokenStream {
    match &header.value {
        HeaderValue::Text(pieces) => named(&header.name, pieces),
        HeaderValue::Basic(credentials) => basic(credentials),
    }
}

fn named(name: &str, pieces: &[Piece]) -> TokenStream {
    let key = name_of(name);
    let value = match constant(pieces) {
        Some(value) => quote! {
            __request.header(
                #key,
                const { ::loadtest::__private::HeaderValue::from_static(#value) },
            );
        },
        None => text(pieces, &quote!(__request.header_text(#key, __text)?)),
    };
    let is_secret = |piece: &Piece| {
        piece
            .placeholder()
            .is_some_and(|one| one.secret().is_some())
    };
    let is_sensitive = matches!(name, "authorization" | "proxy-authorization" | "cookie")
        || pieces.iter().any(is_secret);
    let sensitive = is_sensitive.then(|| quote!(__request.sensitive();));
    quote!(#value #sensitive)
}

/// A constant by value: a reference to one would be E0492, since a header name may hold shared bytes.
pub(super) fn name_of(name: &str) -> TokenStream {
    quote!(const { ::loadtest::__private::HeaderName::from_static(#name) })
}

/// `authorization: Basic ..`
fn basic(basic: &Basic) -> TokenStream {
    if let (Some(user), Some(password)) = (constant(&basic.user), constant(&basic.password)) {
        use base64::prelude::{BASE64_STANDARD, Engine as _};
        let credentials = BASE64_STANDARD.encode(format!("{user}:{password}"));
        let value = Piece::Text(format!("Basic {credentials}"));
        return named("authorization", &[value]);
    }
    let (user, password) = (
        basic.user.iter().map(piece),
        basic.password.iter().map(piece),
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
pub(super) fn after(write: TokenStream, step: &Step) -> TokenStream {
    if step.defaults.is_empty() {
        return write;
    }
    let needed = step.placeholders().filter_map(|placeholder| {
        let (Origin::Step(at), variable) = (placeholder.origin, &placeholder.variable) else {
            return None;
        };
        let slot = slot(at);
        Some(quote!(self.#slot.get(#at, #variable)?;))
    });
    let added = step.defaults.iter().map(|default| {
        let (name, header) = (&default.name, header(default));
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
pub(super) fn of_sender(step: &Step) -> TokenStream {
    if step.defaults.is_empty() {
        return TokenStream::new();
    }
    let headers = step.defaults.iter().map(header);
    quote! {
        {
            let __request = &mut <::loadtest::__private::RequestBuf as ::core::default::Default>::default();
            #(#headers)*
            __http.set_defaults(::core::mem::take(&mut __request.headers));
        }
    }
}
