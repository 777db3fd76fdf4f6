//! Reads the signatures of a scenario's functions: parameters and response type.

use crate::body::{Role, RoleFn};
use crate::spelling::source_text;
use crate::suggest::MacroErrors;
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{FnArg, GenericArgument, Pat, PathArguments, ReturnType, Type};

/// A parameter and the name it asks for.
pub(crate) struct Parameter {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
}

/// The parameters of a function; `None` where one is broken, which is noted.
pub(crate) fn parse_parameters(
    function: &RoleFn,
    errors: &mut MacroErrors,
) -> Option<Vec<Parameter>> {
    let before = errors.len();
    let mut parameters = Vec::new();
    for input in &function.signature.inputs {
        let typed = match input {
            FnArg::Typed(typed) => typed,
            FnArg::Receiver(receiver) => {
                let role = function.role.name();
                errors.add_on(receiver, format!("a `#[{role}]` function has no `self`"));
                continue;
            }
        };
        let from = typed
            .attrs
            .iter()
            .find(|attribute| attribute.path().is_ident("from"));
        let ident = match (from, &*typed.pat) {
            (Some(from), _) => from.parse_args_with(Ident::parse_any).map_or_else(
                |_| {
                    errors.add_on(
                        from,
                        "write the name of a step without quotes: `#[from(login)]`",
                    );
                    None
                },
                Some,
            ),
            (None, Pat::Ident(pattern)) => Some(pattern.ident.clone()),
            (None, pattern) => {
                errors.add_on(
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
    /// `Vec<T>`, `Events<T>`: a path begins with an index.
    pub(crate) is_list: bool,
    /// An answer that is read while it comes.
    pub(crate) flow: Option<FlowType>,
    /// `T` of `Graph<T>`.
    pub(crate) graph_data: Option<TokenStream>,
}

/// An answer that is read while it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlowType {
    /// `Events<T>`.
    Events,
    /// `Events<Graph<T>>`: a subscription of GraphQL.
    Subscription,
    /// `Events<()>`, of which the times are kept alone.
    Times,
    /// `Socket<T>`: an open WebSocket.
    Socket,
}

impl ResponseType {
    /// Returns true for `Events<T>`.
    pub(crate) fn is_stream(&self) -> bool {
        matches!(
            self.flow,
            Some(FlowType::Events | FlowType::Subscription | FlowType::Times)
        )
    }

    /// Returns true for `Events<Graph<T>>`.
    pub(crate) fn is_subscription(&self) -> bool {
        self.flow == Some(FlowType::Subscription)
    }

    /// Returns true for `Socket<T>`.
    pub(crate) fn is_socket(&self) -> bool {
        self.flow == Some(FlowType::Socket)
    }

    /// Returns true if the data of an answer is kept, beyond its times.
    pub(crate) fn keeps_data(&self) -> bool {
        !self.is_unit && !matches!(self.flow, Some(FlowType::Times | FlowType::Socket))
    }

    pub(crate) fn unit(span: Span) -> Self {
        Self {
            ty: quote_spanned!(span=> ()),
            is_untyped: false,
            is_unit: true,
            is_list: false,
            flow: None,
            graph_data: None,
        }
    }

    /// Replaces a broken type, so that no further error follows from it.
    pub(crate) fn unknown() -> Self {
        Self {
            is_unit: false,
            ..Self::unit(Span::call_site())
        }
    }

    fn from_type(ty: &Type) -> Self {
        let is_named = |name: &str| last_segment(ty).is_some_and(|segment| segment.ident == name);
        if let (true, Some(data)) = (is_named("Graph"), first_argument(ty)) {
            // a path leads through the data
            return Self {
                ty: ty.to_token_stream(),
                graph_data: Some(data.to_token_stream()),
                ..Self::from_type(data)
            };
        }
        Self {
            ty: ty.to_token_stream(),
            is_untyped: is_named("Value"),
            is_unit: is_unit(ty),
            is_list: is_named("Vec") || is_named("Events"),
            flow: if is_named("Socket") {
                Some(FlowType::Socket)
            } else {
                is_named("Events").then(|| match first_argument(ty) {
                    Some(data) if last_segment(data).is_some_and(|one| one.ident == "Graph") => {
                        FlowType::Subscription
                    }
                    Some(data) if !is_unit(data) => FlowType::Events,
                    _ => FlowType::Times,
                })
            },
            graph_data: None,
        }
    }
}

/// The response type of a step, from its return type; a wrong one is noted.
pub(crate) fn parse_response_type(function: &RoleFn, errors: &mut MacroErrors) -> ResponseType {
    let name = &function.signature.ident;
    if function.signature.asyncness.is_some() {
        return async_step_response(function, errors);
    }
    match (&function.signature.output, &function.body) {
        (ReturnType::Default, None) => ResponseType::unit(Span::call_site()),
        (ReturnType::Default, Some(_)) => {
            errors.add_at(
                name.span(),
                format!(
                    "step `{name}` returns nothing: add `-> Request` (the body is not read) or \
                     `-> Request<T>` (it is read as JSON into `T`)"
                ),
            );
            ResponseType::unknown()
        }
        (ReturnType::Type(_, ty), None) => {
            match response_in_request(ty).or_else(|| response_in_answer(ty)) {
                Some(request) => {
                    let instead = if request.is_unit {
                        "leave the return type out".to_owned()
                    } else {
                        format!("write `-> {}`", source_text(&request.ty))
                    };
                    errors.add_on(
                        ty,
                        format!("a step without a body returns its answer's type: {instead}"),
                    );
                    request
                }
                None => ResponseType::from_type(ty),
            }
        }
        (ReturnType::Type(_, ty), Some(_)) => response_in_request(ty).unwrap_or_else(|| {
            let found = source_text(ty);
            let instead = match last_segment(ty).zip(first_argument(ty)) {
                Some((segment, answer)) if segment.ident == "Response" => {
                    format!(": write `-> Request<{}>`", source_text(answer))
                }
                _ => String::new(),
            };
            errors.add_on(
                ty,
                format!(
                    "a step returns `Request<T>`, `Option<Request<T>>` or `Result<Request<T>, E>` \
                     (spelled out, no alias), not `{found}`{instead}"
                ),
            );
            ResponseType::unknown()
        }),
    }
}

/// `T` of `Result<T, E>`, what a step that sends for itself returns.
fn async_step_response(function: &RoleFn, errors: &mut MacroErrors) -> ResponseType {
    if function.body.is_none() {
        // which is the mistake to report
        return ResponseType::unknown();
    }
    let name = &function.signature.ident;
    let ReturnType::Type(_, ty) = &function.signature.output else {
        errors.add_at(
            name.span(),
            format!(
                "an `async` step returns `Result<T, E>`: add `-> Result<(), Error>` to `{name}`"
            ),
        );
        return ResponseType::unknown();
    };
    let found = source_text(ty);
    match ok_type(ty) {
        Some(ok) if response_in_request(ok).is_some() => errors.add_on(
            ty,
            format!(
                "an `async` step sends for itself, so it returns what it read, `Result<T, E>`, \
                 not `{found}`: drop `async` to have the engine send the request"
            ),
        ),
        Some(ok) => return ResponseType::from_type(ok),
        None if response_in_request(ty).is_some() => errors.add_on(
            ty,
            format!(
                "an `async` step sends for itself and returns what it read, `Result<T, E>`, not \
                 `{found}`: drop `async` to have the engine send the request"
            ),
        ),
        None => errors.add_on(
            ty,
            format!("an `async` step returns `Result<T, E>`: write `-> Result<{found}, Error>`"),
        ),
    }
    ResponseType::unknown()
}

/// `T` of `Request<T>`, also inside `Option` or `Result`.
fn response_in_request(ty: &Type) -> Option<ResponseType> {
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
        ResponseType::from_type,
    ))
}

/// Returns true if paths through a value of type `ty` are resolved at run time.
pub(crate) fn is_untyped(ty: &TokenStream) -> bool {
    let parsed = syn::parse2::<Type>(ty.clone());
    parsed.is_ok_and(|ty| last_segment(&ty).is_some_and(|segment| segment.ident == "Value"))
}

/// The type of the rows of a `#[feed]` function.
pub(crate) struct FeedType {
    pub(crate) row: TokenStream,
    /// `Value`: paths through it are resolved at run time.
    pub(crate) is_untyped: bool,
    pub(crate) is_fallible: bool,
}

impl FeedType {
    /// Replaces a broken type, so that no further error follows from it.
    pub(crate) fn unknown() -> Self {
        Self {
            row: quote!(()),
            is_untyped: true,
            is_fallible: false,
        }
    }
}

/// Reads the type of a feed's rows from its return type; adds an error if it is wrong.
pub(crate) fn parse_feed_type(function: &RoleFn, errors: &mut MacroErrors) -> FeedType {
    let name = &function.signature.ident;
    let ReturnType::Type(_, returned) = &function.signature.output else {
        errors.add_at(
            name.span(),
            format!("feed `{name}` returns nothing: add `-> Feed<T>`, where a row is a `T`"),
        );
        return FeedType::unknown();
    };
    let ok = ok_type(returned);
    let feed = ok.unwrap_or(returned);
    let is_feed = last_segment(feed).is_some_and(|segment| segment.ident == "Feed");
    match first_argument(feed) {
        _ if returns_unnamed_type(function) => FeedType::unknown(),
        Some(row) if is_feed => FeedType {
            row: row.to_token_stream(),
            is_untyped: last_segment(row).is_some_and(|segment| segment.ident == "Value"),
            is_fallible: ok.is_some(),
        },
        _ => {
            let found = source_text(returned);
            errors.add_on(
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
fn response_in_answer(ty: &Type) -> Option<ResponseType> {
    let segment = last_segment(ty)?;
    if segment.ident != "Response" && segment.ident != "Result" {
        return None;
    }
    let answer = first_argument(ty)?;
    Some(response_in_answer(answer).unwrap_or_else(|| ResponseType::from_type(answer)))
}

/// The type that a `#[setup]` function returns.
pub(crate) struct SetupType {
    pub(crate) ty: TokenStream,
    pub(crate) is_fallible: bool,
    pub(crate) is_target: bool,
}

pub(crate) fn parse_setup_type(function: &RoleFn) -> SetupType {
    let returned = match &function.signature.output {
        ReturnType::Type(_, returned) if !returns_unnamed_type(function) => returned,
        _ => {
            return SetupType {
                ty: quote!(()),
                is_fallible: false,
                is_target: false,
            };
        }
    };
    let ok = ok_type(returned);
    let ty = ok.unwrap_or(returned);
    SetupType {
        ty: ty.to_token_stream(),
        is_fallible: ok.is_some(),
        is_target: last_segment(ty).is_some_and(|segment| segment.ident == "Target"),
    }
}

/// The return type as it is written.
pub(crate) fn return_type_tokens(function: &RoleFn) -> TokenStream {
    match &function.signature.output {
        ReturnType::Type(_, ty) if !returns_unnamed_type(function) => ty.to_token_stream(),
        _ => quote!(()),
    }
}

/// Returns true if the value of a feed, state or setup, which is kept, is of a type `impl Trait`.
pub(crate) fn returns_unnamed_type(function: &RoleFn) -> bool {
    let is_kept = matches!(function.role, Role::Feed | Role::State | Role::Setup);
    is_kept && contains_impl(function.signature.output.to_token_stream())
}

fn contains_impl(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "impl",
        TokenTree::Group(group) => contains_impl(group.stream()),
        _ => false,
    })
}

pub(crate) fn is_option(ty: &Type) -> bool {
    last_segment(ty).is_some_and(|segment| segment.ident == "Option")
}

/// Returns true if `ty` is an array.
pub(crate) fn is_array(ty: &Type) -> bool {
    matches!(unwrap_type_groups(ty), Type::Array(_))
}

/// The type within `&`, arrays and lists.
pub(crate) fn row_type(ty: &Type) -> &Type {
    match unwrap_type_groups(ty) {
        Type::Reference(reference) => row_type(&reference.elem),
        Type::Array(array) => row_type(&array.elem),
        Type::Slice(slice) => row_type(&slice.elem),
        other if last_segment(other).is_some_and(|segment| segment.ident == "Vec") => {
            first_argument(other).map_or(other, row_type)
        }
        other => other,
    }
}

/// The type within `Option`, `Result` and `&`.
pub(crate) fn innermost_type(ty: &Type) -> &Type {
    if let Type::Reference(reference) = unwrap_type_groups(ty) {
        return innermost_type(&reference.elem);
    }
    let wraps = |segment: &syn::PathSegment| segment.ident == "Option" || segment.ident == "Result";
    match last_segment(ty).filter(|segment| wraps(segment)) {
        Some(_) => first_argument(ty).map_or(ty, innermost_type),
        None => ty,
    }
}

/// The type behind `&`, and whether it is `&mut`; nothing is lent as `&'static`.
pub(crate) fn referenced_type(ty: &Type) -> Option<(&Type, bool)> {
    let Type::Reference(reference) = unwrap_type_groups(ty) else {
        return None;
    };
    let is_static = reference
        .lifetime
        .as_ref()
        .is_some_and(|one| one.ident == "static");
    (!is_static).then(|| (&*reference.elem, reference.mutability.is_some()))
}

/// `T` of `&T` or `Option<&T>`.
pub(crate) fn lent_type(ty: &Type) -> Option<&Type> {
    let lent = if is_option(ty) {
        first_argument(ty)?
    } else {
        ty
    };
    referenced_type(lent).and_then(|(ty, is_mutable)| (!is_mutable).then_some(ty))
}

fn is_unit(ty: &Type) -> bool {
    matches!(unwrap_type_groups(ty), Type::Tuple(tuple) if tuple.elems.is_empty())
}

/// Returns true if a step that reads no body can provide `ty`: `&()` or `&Response<()>`.
pub(crate) fn needs_no_body(ty: &Type) -> bool {
    lent_type(ty).is_none_or(|ty| {
        let is_response = last_segment(ty).is_some_and(|segment| segment.ident == "Response");
        is_unit(ty) || is_response && first_argument(ty).is_none_or(is_unit)
    })
}

/// Returns true if a parameter of type `ty` receives only the body of a response, of type `body`.
///
/// Compares the types as written; if that is not conclusive, returns false.
pub(crate) fn takes_body_alone(ty: &Type, body: &TokenStream) -> bool {
    lent_type(ty).is_some_and(|ty| ty.to_token_stream().to_string() == body.to_string())
}

/// `T` of `Result<T, E>`.
fn ok_type(ty: &Type) -> Option<&Type> {
    let is_result = last_segment(ty).is_some_and(|segment| segment.ident == "Result");
    first_argument(ty).filter(|_| is_result)
}

fn last_segment(ty: &Type) -> Option<&syn::PathSegment> {
    match unwrap_type_groups(ty) {
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
fn unwrap_type_groups(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => unwrap_type_groups(&group.elem),
        Type::Paren(paren) => unwrap_type_groups(&paren.elem),
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
