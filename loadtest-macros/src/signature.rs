//! What the signatures of a scenario's functions say: parameters, and the type of the response.

use crate::body::RoleFn;
use crate::spelling::as_written;
use crate::suggest::Errors;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{FnArg, GenericArgument, Pat, PathArguments, ReturnType, Type};

/// A parameter and the name it asks for.
pub(crate) struct Parameter {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
}

/// The parameters of a function; `None` where one is broken, which is noted.
pub(crate) fn parameters(function: &RoleFn, errors: &mut Errors) -> Option<Vec<Parameter>> {
    let before = errors.len();
    let mut parameters = Vec::new();
    for input in &function.signature.inputs {
        let typed = match input {
            FnArg::Typed(typed) => typed,
            FnArg::Receiver(receiver) => {
                let role = function.role.name();
                errors.on(receiver, format!("a `#[{role}]` function has no `self`"));
                continue;
            }
        };
        for attribute in &typed.attrs {
            let path = attribute.path();
            if path.is_ident("cfg") || path.is_ident("cfg_attr") {
                errors.on(
                    attribute,
                    "`#[cfg]` cannot be used on a parameter: put it on the whole scenario",
                );
            }
        }
        let from = typed
            .attrs
            .iter()
            .find(|attribute| attribute.path().is_ident("from"));
        let ident = match (from, &*typed.pat) {
            (Some(from), _) => from.parse_args_with(Ident::parse_any).map_or_else(
                |_| {
                    errors.on(
                        from,
                        "the name of a step stands without quotes: `#[from(login)]`",
                    );
                    None
                },
                Some,
            ),
            (None, Pat::Ident(pattern)) => Some(pattern.ident.clone()),
            (None, pattern) => {
                errors.on(
                    pattern,
                    "the name of a parameter says which step it comes from; for a pattern write \
                     `#[from(step)] pattern: &T`",
                );
                None
            }
        };
        if let Some(ident) = ident {
            parameters.push(Parameter {
                ident,
                ty: (*typed.ty).clone(),
            });
        }
    }
    (errors.len() == before).then_some(parameters)
}

/// The type that a step's response is read into.
pub(crate) struct ResponseType {
    pub(crate) ty: TokenStream,
    /// `Value`: paths through it are resolved at run time.
    pub(crate) is_untyped: bool,
    /// `()`: the body is not read.
    pub(crate) is_unit: bool,
}

impl ResponseType {
    pub(crate) fn unit(span: Span) -> Self {
        Self {
            ty: quote_spanned!(span=> ()),
            is_untyped: false,
            is_unit: true,
        }
    }

    /// In place of one that is broken, without mistakes to follow.
    pub(crate) fn unknown() -> Self {
        Self {
            is_unit: false,
            ..Self::unit(Span::call_site())
        }
    }

    fn of(ty: &Type) -> Self {
        Self {
            ty: ty.to_token_stream(),
            is_untyped: last_segment(ty).is_some_and(|segment| segment.ident == "Value"),
            is_unit: matches!(plain(ty), Type::Tuple(tuple) if tuple.elems.is_empty()),
        }
    }
}

/// The response type of a step, from its return type; a wrong one is noted.
pub(crate) fn response_type(function: &RoleFn, errors: &mut Errors) -> ResponseType {
    let name = &function.signature.ident;
    if function.signature.asyncness.is_some() {
        return of_async_step(function, errors);
    }
    match (&function.signature.output, &function.body) {
        (ReturnType::Default, None) => ResponseType::unit(Span::call_site()),
        (ReturnType::Default, Some(_)) => {
            errors.at(
                name.span(),
                format!(
                    "step `{name}` returns nothing: add `-> Request` (the body is not read) or \
                     `-> Request<T>` (it is read as JSON into `T`)"
                ),
            );
            ResponseType::unknown()
        }
        (ReturnType::Type(_, ty), None) => match of_request(ty).or_else(|| of_answer(ty)) {
            Some(request) => {
                let instead = if request.is_unit {
                    "leave the return type out".to_owned()
                } else {
                    format!("write `-> {}`", as_written(&request.ty))
                };
                errors.on(
                    ty,
                    format!("a step without a body returns its answer's type: {instead}"),
                );
                request
            }
            None => ResponseType::of(ty),
        },
        (ReturnType::Type(_, ty), Some(_)) => of_request(ty).unwrap_or_else(|| {
            let found = as_written(ty);
            errors.on(
                ty,
                format!(
                    "a step returns `Request<T>`, `Option<Request<T>>` or `Result<Request<T>, E>` \
                     (spelled out, no alias), not `{found}`"
                ),
            );
            ResponseType::unknown()
        }),
    }
}

/// `T` of `Result<T, E>`, what a step that sends for itself returns.
fn of_async_step(function: &RoleFn, errors: &mut Errors) -> ResponseType {
    if function.body.is_none() {
        // which is the mistake to report
        return ResponseType::unknown();
    }
    let name = &function.signature.ident;
    let ReturnType::Type(_, ty) = &function.signature.output else {
        errors.at(
            name.span(),
            format!(
                "an `async` step returns `Result<T, E>`: add `-> Result<(), Error>` to `{name}`"
            ),
        );
        return ResponseType::unknown();
    };
    let found = as_written(ty);
    let returned = last_segment(ty)
        .filter(|segment| segment.ident == "Result")
        .and_then(|_| first_argument(ty));
    match returned {
        Some(ok) if of_request(ok).is_some() => errors.on(
            ty,
            format!(
                "an `async` step sends for itself, so it returns what it read, `Result<T, E>`, \
                 not `{found}`: drop `async` to have the engine send the request"
            ),
        ),
        Some(ok) => return ResponseType::of(ok),
        None => errors.on(
            ty,
            format!("an `async` step returns `Result<T, E>`, not `{found}`"),
        ),
    }
    ResponseType::unknown()
}

/// `T` of `Request<T>`, also inside `Option` or `Result`.
fn of_request(ty: &Type) -> Option<ResponseType> {
    let request = match last_segment(ty) {
        Some(segment) if segment.ident == "Option" || segment.ident == "Result" => {
            first_argument(ty)?
        }
        _ => ty,
    };
    let segment = last_segment(request)?;
    if segment.ident != "Request" {
        return None;
    }
    Some(first_argument(request).map_or_else(
        || ResponseType::unit(segment.ident.span()),
        ResponseType::of,
    ))
}

/// What the rows of a `#[feed]` function are.
pub(crate) struct FeedType {
    pub(crate) row: TokenStream,
    /// `Value`: paths through it are resolved at run time.
    pub(crate) is_untyped: bool,
    pub(crate) is_fallible: bool,
}

impl FeedType {
    /// In place of one that is broken, without mistakes to follow.
    pub(crate) fn unknown() -> Self {
        Self {
            row: quote!(()),
            is_untyped: true,
            is_fallible: false,
        }
    }
}

/// What the rows of a feed are, from its return type; a wrong one is noted.
pub(crate) fn feed_type(function: &RoleFn, errors: &mut Errors) -> FeedType {
    let name = &function.signature.ident;
    let ReturnType::Type(_, returned) = &function.signature.output else {
        errors.at(
            name.span(),
            format!("feed `{name}` returns nothing: add `-> Feed<T>`, where a row is a `T`"),
        );
        return FeedType::unknown();
    };
    let ok = last_segment(returned)
        .filter(|segment| segment.ident == "Result")
        .and_then(|_| first_argument(returned));
    let feed = ok.unwrap_or(returned);
    let is_feed = last_segment(feed).is_some_and(|segment| segment.ident == "Feed");
    match first_argument(feed) {
        Some(row) if is_feed => FeedType {
            row: row.to_token_stream(),
            is_untyped: last_segment(row).is_some_and(|segment| segment.ident == "Value"),
            is_fallible: ok.is_some(),
        },
        _ => {
            let found = as_written(returned);
            errors.on(
                returned,
                format!(
                    "a feed returns `Feed<T>` or `Result<Feed<T>, E>` (spelled out, no alias), not \
                     `{found}`"
                ),
            );
            FeedType::unknown()
        }
    }
}

/// `T` of `Response<T>` or `Result<T, E>`, which a beginner takes for the type of an answer.
fn of_answer(ty: &Type) -> Option<ResponseType> {
    let segment = last_segment(ty)?;
    if segment.ident != "Response" && segment.ident != "Result" {
        return None;
    }
    let answer = first_argument(ty)?;
    Some(of_answer(answer).unwrap_or_else(|| ResponseType::of(answer)))
}

/// What a `#[setup]` function makes.
pub(crate) struct SetupType {
    pub(crate) ty: TokenStream,
    pub(crate) is_fallible: bool,
    pub(crate) is_target: bool,
}

pub(crate) fn setup_type(function: &RoleFn) -> SetupType {
    let ReturnType::Type(_, returned) = &function.signature.output else {
        return SetupType {
            ty: quote!(()),
            is_fallible: false,
            is_target: false,
        };
    };
    let ok = last_segment(returned)
        .filter(|segment| segment.ident == "Result")
        .and_then(|_| first_argument(returned));
    let ty = ok.unwrap_or(returned);
    SetupType {
        ty: ty.to_token_stream(),
        is_fallible: ok.is_some(),
        is_target: last_segment(ty).is_some_and(|segment| segment.ident == "Target"),
    }
}

/// The return type as it is written.
pub(crate) fn returned(function: &RoleFn) -> TokenStream {
    match &function.signature.output {
        ReturnType::Type(_, ty) => ty.to_token_stream(),
        ReturnType::Default => quote!(()),
    }
}

pub(crate) fn is_result(ty: &Type) -> bool {
    last_segment(ty).is_some_and(|segment| segment.ident == "Result")
}

pub(crate) fn is_option(ty: &Type) -> bool {
    last_segment(ty).is_some_and(|segment| segment.ident == "Option")
}

/// The type within `Option`.
pub(crate) fn inside_option(ty: &Type) -> Option<&Type> {
    first_argument(ty).filter(|_| is_option(ty))
}

/// The type behind `&`, and whether it is `&mut`.
pub(crate) fn referent(ty: &Type) -> Option<(&Type, bool)> {
    match plain(ty) {
        Type::Reference(reference) => Some((&reference.elem, reference.mutability.is_some())),
        _ => None,
    }
}

/// `'static` of a reference, also within `Option`.
pub(crate) fn static_lifetime(ty: &Type) -> Option<&syn::Lifetime> {
    match plain(ty) {
        Type::Reference(reference) => reference
            .lifetime
            .as_ref()
            .filter(|lifetime| lifetime.ident == "static"),
        _ => static_lifetime(first_argument(ty).filter(|_| is_option(ty))?),
    }
}

/// Whether `ty` is what a step that is not read can lend: `&()`, or `&Response<()>`.
pub(crate) fn needs_no_body(ty: &Type) -> bool {
    let lent = if is_option(ty) {
        first_argument(ty)
    } else {
        Some(ty)
    };
    match lent.and_then(referent).map(|(ty, _)| plain(ty)) {
        Some(Type::Tuple(tuple)) => tuple.elems.is_empty(),
        Some(ty) => {
            let is_unit = |ty: &Type| matches!(plain(ty), Type::Tuple(t) if t.elems.is_empty());
            last_segment(ty).is_some_and(|segment| segment.ident == "Response")
                && first_argument(ty).is_none_or(is_unit)
        }
        None => true,
    }
}

/// Whether a parameter of type `ty` gets nothing of a response but its body, a `body`.
///
/// Types are compared as they are written: where that does not tell, the answer is no.
pub(crate) fn takes_body_alone(ty: &Type, body: &TokenStream) -> bool {
    let lent = if is_option(ty) {
        first_argument(ty)
    } else {
        Some(ty)
    };
    lent.and_then(referent)
        .is_some_and(|(ty, _)| ty.to_token_stream().to_string() == body.to_string())
}

fn last_segment(ty: &Type) -> Option<&syn::PathSegment> {
    match plain(ty) {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}

fn first_argument(ty: &Type) -> Option<&Type> {
    match &last_segment(ty)?.arguments {
        PathArguments::AngleBracketed(arguments) => match arguments.args.first()? {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        },
        _ => None,
    }
}

/// The type without parentheses and the invisible groups that `macro_rules!` leaves.
fn plain(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => plain(&group.elem),
        Type::Paren(paren) => plain(&paren.elem),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_alone_is_recognised_by_its_spelling() {
        let alone = |ty: &str, body: &str| {
            takes_body_alone(&syn::parse_str(ty).unwrap(), &body.parse().unwrap())
        };
        assert!(alone("&Login", "Login"));
        assert!(alone("Option<&Vec<u8>>", "Vec<u8>"));
        assert!(!alone("&Response<Login>", "Login"));
        assert!(!alone("&Alias", "Login"));
    }
}
