//! The attributes of `loadtest`; use them through that crate. `loadtest-language` says what they mean.

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
#[doc = loadtest_language::scenario_options!()]
///
/// The function itself becomes a handle: it returns the `Scenario`.
#[proc_macro_attribute]
pub fn scenario(
    options: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    loadtest_language::expand_scenario(&options.into(), &item.into()).into()
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
    loadtest_language::expand_module(&options.into(), &item.into()).into()
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
    loadtest_language::expand_group(&options.into(), &item.into()).into()
}

/// The code of a scenario in which a shared group is placed; only the macro of such a group calls it.
#[doc(hidden)]
#[proc_macro]
pub fn place_group(tokens: proc_macro::TokenStream) -> proc_macro::TokenStream {
    loadtest_language::place_group(tokens.into()).into()
}

macro_rules! roles {
    ($($(#[$doc:meta])* $role:ident)*) => {$(
        $(#[$doc])*
        #[proc_macro_attribute]
        pub fn $role(
            _options: proc_macro::TokenStream,
            item: proc_macro::TokenStream,
        ) -> proc_macro::TokenStream {
            loadtest_language::expand_part(stringify!($role), item.into()).into()
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
    #[doc = loadtest_language::step_options!()]
    step
    /// Declares a check inside a `#[scenario]` function: it looks at the responses its parameters
    /// name, and returns `bool` or `Result<(), impl Display>`.
    check
    /// Declares the data of a `#[scenario]` function: `fn user() -> Feed<User>`, of which each iteration
    /// has a row. Steps and checks take it as `user: &User`, templates as `{{user.name}}`.
    ///
    /// Options:
    ///
    #[doc = loadtest_language::feed_options!()]
    feed
    /// Declares a value of each virtual user inside a `#[scenario]` function.
    state
    /// Declares a value made once per run, before the load, inside a `#[scenario]` function. An `async` one
    /// sends: `async fn items(http: &mut Http) -> Result<Vec<Item>, Error> { .. }`. With options its value is fetched
    /// again during the load, once for all users:
    ///
    #[doc = loadtest_language::setup_options!()]
    setup
    /// Declares work done once per run, after the load, inside a `#[scenario]` function. An `async` one
    /// sends with `http: &mut Http`; an `Err` is a warning.
    teardown
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
    loadtest_language::expand_response(options.into(), &item.into()).into()
}
