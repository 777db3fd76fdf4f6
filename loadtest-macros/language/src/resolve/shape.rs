//! Checks the shape of a scenario's functions: qualifiers, generics, calls of other steps.

use super::names::{ArgumentSource, ScenarioNames};
use super::{Argument, ResolvedStep, without_raw_prefix};
use crate::body::{Role, RoleFn, ScenarioFn};
use crate::options::{METHODS, OPEN_OPTION, SOCKET_OPTIONS, STREAM_OPTIONS};
use crate::signature;
use crate::spelling::source_text;
use crate::suggest::MacroErrors;
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::fmt;
use syn::{ReturnType, Signature};

pub(super) fn check_scenario(function: &ScenarioFn, errors: &mut MacroErrors) {
    let signature = &function.signature;
    for attribute in &function.attributes {
        let last = attribute.path().segments.last();
        if last.is_some_and(|last| last.ident == "test") {
            errors.add_on(
                attribute,
                "a scenario is a test already: `cargo test` runs it once; drop this attribute",
            );
        }
    }
    refuse_qualifiers(signature, "a scenario", errors);
    if let Some(word) = &signature.asyncness {
        errors.add_on(word, "a scenario is a plain function, not `async`");
    }
    if !signature.inputs.is_empty() {
        errors.add_on(
            &signature.inputs,
            "a scenario takes no parameters: declare data with `#[feed] fn user() -> Feed<User>` in \
             its body, and values with `#[state] fn name() -> T` or `#[setup] fn name() -> T`",
        );
    }
    if !signature.generics.params.is_empty() {
        errors.add_on(&signature.generics, "a scenario cannot be generic");
    }
    if let ReturnType::Type(_, ty) = &signature.output {
        errors.add_on(ty, "a scenario returns nothing: leave the return type out");
    }
}

/// `const`, `unsafe` and `extern`, which would be errors in generated code.
fn refuse_qualifiers(signature: &Signature, what: &str, errors: &mut MacroErrors) {
    let qualifiers = [
        signature
            .constness
            .as_ref()
            .map(|word| (word.to_token_stream(), "const")),
        match &signature.safety {
            syn::Safety::Unsafe(word) => Some((word.to_token_stream(), "unsafe")),
            _ => None,
        },
        signature
            .abi
            .as_ref()
            .map(|abi| (abi.to_token_stream(), "extern")),
    ];
    for (tokens, word) in qualifiers.into_iter().flatten() {
        errors.add_on(tokens, format!("{what} is a plain function, not `{word}`"));
    }
}

/// Checks the rules for functions of every role.
pub(super) fn check_function(function: &RoleFn, errors: &mut MacroErrors) {
    let role = function.role;
    let word = role.name();
    let signature = &function.signature;
    for attribute in &function.attributes {
        let path = attribute.path();
        if path.is_ident("cfg") || path.is_ident("cfg_attr") {
            errors.add_on(
                attribute,
                format!("`#[cfg]` cannot be used on a {word}: put it on the whole scenario"),
            );
        }
    }
    refuse_qualifiers(signature, &format!("a {word}"), errors);
    if !signature.generics.params.is_empty() {
        errors.add_on(
            &signature.generics,
            format!("a `#[{word}]` function cannot be generic: what it borrows is written `&T`"),
        );
    }
    if signature::returns_unnamed_type(function) {
        let message = format!(
            "the value of a {word} has a type with a name: for a trait write `Box<dyn Trait>`"
        );
        errors.add_on(&signature.output, message);
    }
    if let Some(asyncness) = &signature.asyncness {
        if !matches!(role, Role::Step | Role::Setup | Role::Teardown) {
            errors.add_on(asyncness, format!("a `#[{word}]` function is not `async`"));
        } else if role == Role::Step && function.body.is_none() {
            let name = &signature.ident;
            errors.add_at(
                name.span(),
                format!(
                    "step `{name}` is `async`, so it sends for itself: give it a body, or drop \
                     `async`"
                ),
            );
        }
    }
    if role != Role::Step {
        if function.body.is_none() {
            let name = &signature.ident;
            let sample = match role {
                Role::Feed => "Feed::csv(\"data/users.csv\")",
                _ => "..",
            };
            errors.add_at(
                name.span(),
                format!("{word} `{name}` has no body: write `{{ {sample} }}` for the `;`"),
            );
        }
        if !matches!(role, Role::Feed | Role::Group | Role::Setup) && !function.options.is_empty() {
            errors.add_on(&function.options, format!("`#[{word}]` takes no options"));
        }
    }
}

/// Parameters of a step that has no code to use them: they say which steps it follows.
pub(super) fn check_dependency_parameters(arguments: &[Argument], errors: &mut MacroErrors) {
    for argument in arguments {
        let name = &argument.variable;
        let instead = match argument.source {
            ArgumentSource::Step { .. } if !signature::is_option(&argument.ty) => continue,
            ArgumentSource::Step { .. } => "write it without `Option`, or drop it".to_owned(),
            ArgumentSource::Feed(_) => format!("write `{{{{{name}.field}}}}` in its attribute"),
            _ => format!("give it a body to use `{name}`"),
        };
        errors.add_at(
            argument.span,
            format!(
                "a parameter of a step without a body is an earlier step that it follows: {instead}"
            ),
        );
    }
}

/// Refuses options that describe a request on a step whose code makes it, and on an `async` one those that say how
/// the engine sends it.
pub(super) fn refuse_request_options(step: &ResolvedStep, errors: &mut MacroErrors) {
    let name = &step.name;
    for key in &step.options.keys {
        let option = key.to_string();
        let instead = match option.as_str() {
            "header" | "bearer" | "basic" | "query" | "json" | "form" | "body" | "multipart"
            | "graphql" | "variables" => {
                "leave it to the body, or end the function with `;` instead"
            }
            method if METHODS.contains(&method) || method == OPEN_OPTION => {
                "leave it to the body, or end the function with `;` instead"
            }
            "expect" if step.is_async => {
                "look at the status of each answer, or use `error_for_status()`"
            }
            "retry" | "until" | "every" | "within" if step.is_async => {
                "write a loop with `http.pause(..)`"
            }
            _ => continue,
        };
        errors.add_at(
            key.span(),
            format!(
                "the body of `{name}` makes its requests, so `{option}` has no effect: {instead}"
            ),
        );
    }
}

/// Refuses options of WebSockets on a step that opens none, and another request on one that does.
pub(super) fn check_websocket_options(step: &ResolvedStep, errors: &mut MacroErrors) {
    let opens = step.opens_websocket();
    let call = step.options.call.as_ref().filter(|_| !step.is_async);
    match call {
        Some(call) if call.opens_websocket() && !opens => {
            let instead = if step.response.is_unit {
                "and the answer of this step is not read: write `-> Socket<Value>`".to_owned()
            } else {
                let answer = source_text(&step.response.ty);
                format!("and this step answers `{answer}`: write `-> Socket<{answer}>`")
            };
            let message = format!("`ws` opens a `Socket<T>`, {instead}");
            errors.add_at(call.method.span(), message);
            return;
        }
        Some(call) if !call.opens_websocket() && opens => {
            let method = &call.method;
            let message = format!(
                "a `Socket<T>` is opened by `ws`: write `ws = \"{}\"` for `{method} = ..`",
                call.literal.value()
            );
            errors.add_at(method.span(), message);
        }
        _ => {}
    }
    let name = &step.name;
    for key in &step.options.keys {
        let option = key.to_string();
        let message = match option.as_str() {
            "json" | "form" | "body" | "multipart" | "graphql" if opens && call.is_some() => {
                format!("a WebSocket is opened by a GET without a body, so `{option}` has no place")
            }
            "until" | "every" | "within" if opens => {
                format!(
                    "a WebSocket is opened once: wait for messages in an `async` step, not with `{option}`"
                )
            }
            option if SOCKET_OPTIONS.contains(&option) && step.is_async => format!(
                "the body of `{name}` makes its requests, so `{option}` has no effect: it is an option of the \
                 step that answers `Socket<T>`"
            ),
            option if SOCKET_OPTIONS.contains(&option) && !opens => {
                format!("`{option}` needs `Socket<T>`: a step with `ws = \"/path\"`")
            }
            _ => continue,
        };
        errors.add_at(key.span(), message);
    }
}

/// Refuses the WebSocket of another step as a parameter of a step that is not `async`.
pub(super) fn check_lent_sockets(
    function: &RoleFn,
    arguments: &[Argument],
    steps: &[ResolvedStep],
    errors: &mut MacroErrors,
) {
    if function.signature.asyncness.is_some() || function.body.is_none() {
        return;
    }
    for argument in arguments {
        let opener = argument.source.step_index().and_then(|at| steps.get(at));
        if let Some(opener) = opener.filter(|opener| opener.response.is_socket()) {
            errors.add_at(
                argument.span,
                format!(
                    "`{}` is read by a step that is not `async`: a connection cannot be part of a request",
                    opener.name
                ),
            );
        }
    }
}

/// Refuses options of streams on a step that reads none.
pub(super) fn check_stream_options(step: &ResolvedStep, errors: &mut MacroErrors) {
    let name = &step.name;
    let is_stream = step.response.is_stream() && !step.is_async;
    let mut keys = step.options.keys.iter();
    let Some(key) = keys.find(|key| STREAM_OPTIONS.contains(&&*key.to_string())) else {
        return;
    };
    if is_stream {
        return;
    }
    let message = if step.is_async {
        format!(
            "the body of `{name}` makes its requests, so `{key}` has no effect: look at each event of \
             `http.get(..).events::<T>()`"
        )
    } else {
        explain_missing_events(key, step)
    };
    errors.add_at(key.span(), message);
}

/// Says why a step that is not `async` cannot have `what`: its answer is read as a whole, or not at all.
pub(super) fn explain_missing_events(what: impl fmt::Display, step: &ResolvedStep) -> String {
    if step.response.is_unit {
        return format!(
            "`{what}` needs `Events<T>`, and the answer of this step is not read: write `-> Events<Value>`"
        );
    }
    let answer = source_text(&step.response.ty);
    format!("`{what}` needs `Events<T>`, and this step answers `{answer}`")
}

/// Returns true if `body` defines an item or a variable with that name.
pub(super) fn defines_name(body: TokenStream, name: &str) -> bool {
    let mut before = None;
    for token in body {
        match &token {
            TokenTree::Group(group) if defines_name(group.stream(), name) => return true,
            TokenTree::Ident(word)
                if without_raw_prefix(word) == name
                    && matches!(&before, Some(TokenTree::Ident(word)) if word == "fn" || word == "let" || word == "mut") =>
            {
                return true;
            }
            _ => {}
        }
        before = Some(token);
    }
    false
}

/// Refuses a template in a string of a function body, which would be sent unchanged.
pub(super) fn refuse_templates(body: TokenStream, names: &ScenarioNames, errors: &mut MacroErrors) {
    for token in body {
        match token {
            TokenTree::Group(group) => refuse_templates(group.stream(), names, errors),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let root = text.split("{{").skip(1).find_map(|rest| {
                    let (root, _) = rest.split_once('.')?;
                    let root = root.trim();
                    let is_step = names.steps.iter().any(|step| step == root);
                    (is_step || root == "secret" || names.find_value(root).is_some())
                        .then_some(root)
                });
                let instead = root.map(|root| match root {
                    "secret" => "`secret(\"NAME\")`".to_owned(),
                    _ => format!("the parameter `{root}`"),
                });
                if let Some(instead) = instead {
                    errors.add_at(
                        literal.span(),
                        format!("templates work in `#[step(...)]`; here use {instead}"),
                    );
                }
            }
            _ => {}
        }
    }
}
