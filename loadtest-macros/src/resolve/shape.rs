//! Checks the shape of a scenario's functions: qualifiers, generics, calls of other steps.

use super::names::{ArgumentSource, ScenarioNames};
use super::{Argument, ResolvedStep, without_raw_prefix};
use crate::body::{Role, RoleFn, ScenarioFn};
use crate::signature;
use crate::spelling::source_text;
use crate::suggest::MacroErrors;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{ReturnType, Signature};

pub(super) fn check_scenario(function: &ScenarioFn, errors: &mut MacroErrors) {
    let signature = &function.signature;
    if let Some(word) = &signature.asyncness {
        errors.add_on(
            word,
            "a scenario is not `async`: it declares steps, and the engine sends their requests",
        );
    }
    for attribute in &function.attributes {
        if attribute
            .path()
            .segments
            .last()
            .is_some_and(|last| last.ident == "test")
        {
            errors.add_on(
                attribute,
                "a scenario is a test already: `cargo test` runs it once; drop this attribute",
            );
        }
    }
    refuse_qualifiers(signature, "a scenario", errors);
    if let Some(syn::FnArg::Receiver(receiver)) = signature.inputs.first() {
        errors.add_on(receiver, "a scenario is a free function: it has no `self`");
    } else if !signature.inputs.is_empty() {
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
        errors.add_on(ty, "a scenario returns nothing");
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
            let instead = if role == Role::Step {
                "put it on the whole scenario, or give the step a `weight` constant"
            } else {
                "put it on the whole scenario"
            };
            errors.add_on(
                attribute,
                format!("`#[cfg]` cannot be used on a {word}: {instead}"),
            );
        }
    }
    refuse_qualifiers(signature, &format!("a {word}"), errors);
    if !signature.generics.params.is_empty() {
        let mut parameters = signature.generics.params.iter();
        errors.add_on(
            &signature.generics,
            if parameters.all(|parameter| matches!(parameter, syn::GenericParam::Lifetime(_))) {
                format!("a `#[{word}]` function needs no lifetime: what it borrows is written `&T`")
            } else {
                format!("a `#[{word}]` function cannot be generic")
            },
        );
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
            errors.add_at(name.span(), format!("{word} `{name}` has no body"));
        }
        if !function.options.is_empty() {
            errors.add_on(&function.options, format!("`#[{word}]` takes no options"));
        }
    }
}

/// Parameters of a step that has no code to use them: they say which steps it follows.
pub(super) fn check_dependency_parameters(arguments: &[Argument], errors: &mut MacroErrors) {
    for argument in arguments {
        let name = &argument.variable;
        let instead = match argument.source {
            ArgumentSource::Step(_) => {
                if let Some(lent) = signature::option_argument(&argument.ty) {
                    let lent = source_text(lent);
                    errors.add_on(
                        &argument.ty,
                        format!(
                            "a step without a body follows `{name}` or does not: write \
                             `{name}: {lent}`, or drop it"
                        ),
                    );
                }
                continue;
            }
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

/// Options of a declared request on a step that builds its own.
pub(super) fn refuse_request_options(step: &ResolvedStep, errors: &mut MacroErrors) {
    let method = step.options.call.iter().map(|call| &call.method);
    for key in method.chain(&step.options.request_keys) {
        let name = &step.name;
        let option = if key == "header" {
            "header(...)".to_owned()
        } else {
            format!("{key} = ...")
        };
        errors.add_at(
            key.span(),
            format!(
                "`{name}` has a body that builds its request, so `{option}` has no effect: end the \
                 function with `;` instead, or drop it"
            ),
        );
    }
}

/// The options that an `async` step may have. All others describe a request that the engine sends.
const ASYNC_STEP_OPTIONS: [&str; 13] = [
    "name",
    "weight",
    "one_of",
    "think",
    "timeout",
    "apdex",
    "budget",
    "grade_weight",
    "check",
    "once",
    "last",
    "redirects",
    "stop_on_failure",
];

/// Options without a meaning on a step that sends for itself.
pub(super) fn refuse_options_of_requests(step: &ResolvedStep, errors: &mut MacroErrors) {
    for key in &step.options.keys {
        let option = key.to_string();
        if ASYNC_STEP_OPTIONS.contains(&option.as_str()) {
            continue;
        }
        let instead = match option.as_str() {
            "expect" => "look at the status of each answer, or use `error_for_status()`",
            "retry" | "until" => "write a loop with `http.pause(..)`",
            _ => "build its requests with `http`",
        };
        errors.add_at(
            key.span(),
            format!(
                "`{}` is `async` and sends for itself, so `{option}` has no effect: {instead}",
                step.name
            ),
        );
    }
}

/// Calls of steps: the function of a declared one has nothing to return.
pub(super) fn refuse_calls(
    body: TokenStream,
    is_step: &dyn Fn(&str) -> bool,
    instead: &dyn Fn(&str) -> String,
    errors: &mut MacroErrors,
) {
    let tokens: Vec<TokenTree> = body.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match (token, tokens.get(at + 1)) {
            (TokenTree::Ident(word), Some(TokenTree::Group(arguments)))
                if arguments.delimiter() == Delimiter::Parenthesis =>
            {
                let name = without_raw_prefix(word);
                if !follows_path(&tokens[..at]) && is_step(&name) {
                    let instead = instead(&name);
                    errors.add_at(word.span(), format!("`{name}` is a step: {instead}"));
                }
            }
            (TokenTree::Group(group), _) => {
                refuse_calls(group.stream(), is_step, instead, errors);
            }
            _ => {}
        }
    }
}

/// Returns true if the name after `before` is something else: `other::login()`, `x.login()`, `fn
/// login()`.
fn follows_path(before: &[TokenTree]) -> bool {
    match before.last() {
        Some(TokenTree::Punct(punct)) => matches!(punct.as_char(), '.' | ':'),
        Some(TokenTree::Ident(before)) => before == "fn",
        _ => false,
    }
}

/// `login().await`, where the function of a step only builds a request.
pub(super) fn refuse_awaited_steps(
    body: TokenStream,
    is_step: &dyn Fn(&str) -> bool,
    instead: &dyn Fn(&str) -> String,
    errors: &mut MacroErrors,
) {
    let tokens: Vec<TokenTree> = body.into_iter().collect();
    for token in &tokens {
        if let TokenTree::Group(group) = token {
            refuse_awaited_steps(group.stream(), is_step, instead, errors);
        }
    }
    for (at, call) in tokens.windows(4).enumerate() {
        if let [
            TokenTree::Ident(word),
            TokenTree::Group(arguments),
            TokenTree::Punct(dot),
            TokenTree::Ident(wait),
        ] = call
            && !follows_path(&tokens[..at])
            && arguments.delimiter() == Delimiter::Parenthesis
            && dot.as_char() == '.'
            && wait == "await"
            && is_step(&without_raw_prefix(word))
        {
            let name = without_raw_prefix(word);
            let instead = instead(&name);
            errors.add_at(
                word.span(),
                format!("`{name}` is a step that the engine sends before this one: {instead}"),
            );
        }
    }
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
                if text
                    .split("{{")
                    .skip(1)
                    .any(|rest| rest.trim_start().starts_with("secret."))
                {
                    errors.add_at(
                        literal.span(),
                        "templates work in `#[step(...)]`; here use `secret(\"NAME\")`",
                    );
                }
                let root = text.split("{{").skip(1).find_map(|rest| {
                    let (root, rest) = rest.split_once('.')?;
                    let is_answer = rest.starts_with("response") || rest.starts_with("headers");
                    let root = root.trim();
                    let is_step = || names.steps.iter().any(|step| step == root);
                    (is_answer && is_step() || names.feed_index(root).is_some()).then_some(root)
                });
                if let Some(root) = root {
                    errors.add_at(
                        literal.span(),
                        format!(
                            "templates work in `#[step(...)]`; here use the parameter `{root}`"
                        ),
                    );
                }
            }
            _ => {}
        }
    }
}
