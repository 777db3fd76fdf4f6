//! The attributes of `loadtest`; use them through that crate.
//!
//! Tokens go three ways: `body` and `options` parse them, `resolve` finds out what every name means
//! and collects all mistakes, `render` writes the code. The user's own items always come out again,
//! so that an editor keeps working in half-written code.

mod body;
mod crate_path;
mod fingerprint;
mod group;
mod module;
mod options;
mod render;
mod resolve;
mod signature;
mod spelling;
mod statement;
mod suggest;
mod template;

use proc_macro2::{Span, TokenStream};
use quote::quote;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Declares a load test: a function whose body holds `#[step]` functions.
///
/// ```ignore
/// #[scenario(load = rate(200/s, ramp_up = 10s, for = 1m), thresholds(p95 < 300ms, errors < 1%))]
/// fn checkout() {
///     #[step(post = "/login", json = { "user": "ada" })]
///     fn login() -> Login;
///
///     #[step(weight = 0.8, think = 500ms..2s)]
///     fn browse(login: &Login) -> Request<Catalog> {
///         Request::get("/products").bearer_auth(&login.token)
///     }
/// }
/// ```
///
/// Options:
///
#[doc = include_str!("options/scenario.md")]
///
/// The function itself becomes a handle: it returns the `Scenario`.
#[proc_macro_attribute]
pub fn scenario(
    options: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    expand(options, item, expand_scenario)
}

/// Declares what the scenarios of a module share: options of `#[scenario]`, except `name`, `version` and `weight`, and
/// the functions with `#[setup]`, `#[feed]`, `#[state]` and `#[teardown]` that stand beside the scenarios.
///
/// ```ignore
/// #[scenarios(timeout = 2s, header("x-client", "loadtest"), thresholds(errors < 1%))]
/// mod shop {
///     use super::*;
///
///     #[setup]
///     fn server() -> Result<Target, TargetError> { .. }
///
///     #[scenario]
///     fn browse() { .. }
///
///     #[scenario(timeout = 5s)]
///     fn buy() { .. }
/// }
/// ```
///
/// An option or a function that a scenario gives itself takes the place of the shared one. Checks, headers, tags and
/// thresholds add up.
#[proc_macro_attribute]
pub fn scenarios(
    options: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    expand(options, item, module::expand_module)
}

/// Declares a group: steps that have a row of their own together in the report, with limits on the sum of their
/// response times and on their errors.
///
/// It stands in a scenario. Outside of one it can be shared: `#[group] use path::to::sign_in;` in a scenario puts its
/// steps in that place.
///
/// ```ignore
/// #[group(p95 < 800ms, errors < 1%)]
/// fn sign_in() {
///     #[step(get = "/login")]
///     fn page() -> String;
///
///     #[step]
///     fn login(page: &str, user: &User) -> Request<Login> { .. }
/// }
///
/// #[scenario]
/// fn buyers() {
///     #[feed]
///     fn user() -> Feed<User> { .. }
///
///     #[group]
///     use sign_in;
///
///     #[step]
///     fn orders(login: &Login) -> Request { .. }
/// }
/// ```
///
/// Options: limits, such as `p95 < 800ms` and `errors < 1%`; `name = ".."`; `crate = acme::loadtest`.
#[proc_macro_attribute]
pub fn group(
    options: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    expand(options, item, group::expand_group)
}

/// The code of a scenario in which a shared group is placed; only the macro of such a group calls it.
#[doc(hidden)]
#[proc_macro]
pub fn place_group(tokens: proc_macro::TokenStream) -> proc_macro::TokenStream {
    match group::place_group(tokens.into()) {
        Ok((options, item)) => expand(options.into(), item.into(), expand_scenario),
        Err(error) => error.into_compile_error().into(),
    }
}

/// Expands an attribute; a panic becomes an error beside the item.
fn expand(
    options: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
    expand: fn(&TokenStream, &TokenStream) -> TokenStream,
) -> proc_macro::TokenStream {
    let (options, item) = (TokenStream::from(options), TokenStream::from(item));
    let expanded = catch_unwind(AssertUnwindSafe(|| expand(&options, &item)));
    expanded
        .unwrap_or_else(|_| {
            let error = syn::Error::new(
                Span::call_site(),
                "the macro failed here: that is a mistake in `loadtest`, please report it",
            );
            with_error(&item, &error)
        })
        .into()
}

fn expand_scenario(options: &TokenStream, item: &TokenStream) -> TokenStream {
    match syn::parse2::<body::ScenarioFn>(item.clone()) {
        Ok(function) => {
            if let Some(call) = group::hand_to_group(options, item, &function) {
                return call;
            }
            let mut errors = suggest::MacroErrors::default();
            let resolved = resolve::resolve_scenario(options.clone(), &function, &mut errors);
            let code = render::render_scenario(&function, &resolved, errors);
            match &resolved.options.crate_path {
                Some(path) => crate_path::replace_crate_path(code, path),
                None => code,
            }
        }
        Err(error) => with_error(item, &error),
    }
}

/// The item as it was written, without roles, beside the error.
fn with_error(item: &TokenStream, error: &syn::Error) -> TokenStream {
    let item = body::with_stub_body(body::strip_role_attributes(item.clone()));
    let error = error.to_compile_error();
    quote!(#item #error)
}

macro_rules! roles {
    ($($(#[$doc:meta])* $role:ident)*) => {$(
        $(#[$doc])*
        #[proc_macro_attribute]
        pub fn $role(
            _options: proc_macro::TokenStream,
            item: proc_macro::TokenStream,
        ) -> proc_macro::TokenStream {
            role_outside_scenario(stringify!($role), item.into()).into()
        }
    )*};
}

roles! {
    /// Declares a step inside a `#[scenario]` function.
    ///
    /// A step with a body builds its request: `fn browse(login: &Login) -> Request<Catalog> { .. }`;
    /// each parameter names an earlier step, a feed, a state, a setup or `vu`. A step without a body
    /// declares it: `#[step(get = "/products")] fn browse() -> Catalog;`; its parameters name earlier steps
    /// that it follows. An `async` one sends for itself:
    /// `async fn wait(buy: &Order, http: &mut Http) -> Result<Order, Error> { .. }`.
    ///
    /// Options:
    ///
    #[doc = include_str!("options/step.md")]
    step
    /// Declares a check inside a `#[scenario]` function: it looks at the responses its parameters
    /// name, and returns `bool` or `Result<(), impl Display>`.
    check
    /// Declares the data of a `#[scenario]` function: `fn user() -> Feed<User>`, of which each iteration
    /// has a row. Steps and checks take it as `user: &User`, templates as `{{user.name}}`.
    ///
    /// Options:
    ///
    #[doc = include_str!("options/feed.md")]
    feed
    /// Declares a value of each virtual user inside a `#[scenario]` function.
    state
    /// Declares a value made once per run, before the load, inside a `#[scenario]` function. An `async` one
    /// sends: `async fn items(http: &mut Http) -> Result<Vec<Item>, Error> { .. }`.
    setup
    /// Declares work done once per run, after the load, inside a `#[scenario]` function. An `async` one
    /// sends with `http: &mut Http`; an `Err` is a warning.
    teardown
}

fn role_outside_scenario(role: &str, item: TokenStream) -> TokenStream {
    let place = match role {
        "step" | "check" => "",
        _ => ", or beside the scenarios of a `#[scenarios]` module",
    };
    let error = syn::Error::new(
        Span::call_site(),
        format!("`#[{role}]` only has a meaning inside a `#[scenario]` function{place}"),
    )
    .into_compile_error();
    let item = body::with_stub_body(item);
    quote!(#error #item)
}

/// Derives `Deserialize`, `Debug` and `Clone` for the type of a response, so that a package of
/// scenarios needs no dependency on `serde`.
///
/// ```ignore
/// #[response]
/// struct Login { token: String }
/// ```
///
/// With `loadtest` under another name: `#[response(crate = acme::loadtest)]`.
#[proc_macro_attribute]
pub fn response(
    options: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    let item = TokenStream::from(item);
    if let Err(error) = body::check_response_item(&item) {
        let error = error.into_compile_error();
        return quote!(#item #error).into();
    }
    let (path, error) = match crate_path::parse_response_options(options.into()) {
        Ok(path) => (path, None),
        Err(error) => (None, Some(error.into_compile_error())),
    };
    let path = path.map_or_else(|| quote!(::loadtest), |path| quote!(#path));
    let (serde, alias) = crate_path::serde_path(&path, &item);
    quote! {
        #error
        #alias
        #[derive(
            ::core::fmt::Debug,
            ::core::clone::Clone,
            #path::__private::serde::Deserialize,
        )]
        #[serde(crate = #serde)]
        #item
    }
    .into()
}
