//! The secrets that a scenario is seen to need: those of its templates, and every `secret("NAME")` in it.

use super::{ResolvedScenario, ResolvedStep, shape, source, without_raw_prefix};
use crate::suggest::MacroErrors;
use crate::template::{PathSegment, PlaceholderPath};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::BTreeSet;
use syn::LitStr;

/// The first segment of `{{secret.NAME}}`, and the name of the function.
pub(super) const SECRET_ROOT: &str = "secret";

/// The error for an invalid name of a secret.
const MISNAMED: &str =
    "a secret is named after the variable of the environment that holds it, such as `API_TOKEN`";

/// The name in `{{secret.NAME}}`.
pub(super) fn secret_name(path: &PlaceholderPath) -> syn::Result<String> {
    let source = &path.source;
    let error = |message: String| Err(syn::Error::new(path.span, message));
    match path.segments.as_slice() {
        [(PathSegment::Field(name), _)] if is_variable_name(name) => Ok(name.clone()),
        // it may be the secret itself
        [_] => error(format!("`{{{{secret...}}}}`: {MISNAMED}")),
        _ => error(format!(
            "`{{{{{source}}}}}`: which secret? Write `{{{{secret.API_TOKEN}}}}`, by the name of the variable of \
             the environment that holds it"
        )),
    }
}

/// Returns true if an environment variable can have this name.
fn is_variable_name(name: &str) -> bool {
    let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_word && !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())
}

impl ResolvedScenario {
    /// The names of the secrets, each once; `body` is that of the scenario.
    pub(super) fn note_secrets(&mut self, body: &TokenStream, errors: &mut MacroErrors) {
        let mut names = BTreeSet::new();
        let placeholders = self.steps.iter().flat_map(ResolvedStep::placeholders);
        names.extend(placeholders.filter_map(|one| one.secret_name().map(str::to_owned)));
        // Another function of that name is not ours.
        if !shape::defines_name(body.clone(), SECRET_ROOT) {
            let mut found = Vec::new();
            find_secret_calls(body.clone(), &mut found);
            for name in found {
                if is_variable_name(&name.value()) {
                    names.insert(name.value());
                } else {
                    errors.add_at(name.span(), format!("`secret(..)`: {MISNAMED}"));
                }
            }
        }
        self.secrets = names.into_iter().collect();
    }
}

/// Finds `secret("NAME")`.
fn find_secret_calls(tokens: TokenStream, found: &mut Vec<LitStr>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            find_secret_calls(group.stream(), found);
        }
        if let (TokenTree::Ident(word), Some(TokenTree::Group(arguments))) =
            (token, tokens.get(at + 1))
            && without_raw_prefix(word) == SECRET_ROOT
            && arguments.delimiter() == Delimiter::Parenthesis
            && !is_other_function(&tokens[..at])
        {
            found.extend(source::single_literal(arguments.stream()));
        }
    }
}

/// Returns true if the name after `before` is something else: `x.secret()`, `vault::secret()`.
fn is_other_function(before: &[TokenTree]) -> bool {
    match before {
        [
            ..,
            TokenTree::Ident(path),
            TokenTree::Punct(first),
            TokenTree::Punct(second),
        ] if first.as_char() == ':' && second.as_char() == ':' => {
            path != "loadtest" && path != "prelude"
        }
        [.., TokenTree::Punct(punct)] => punct.as_char() == '.',
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::body::ScenarioFn;
    use crate::suggest::MacroErrors;

    fn of(body: &str) -> Result<Vec<String>, String> {
        let text = format!("fn shop() {{ #[step(get = \"/\")] fn first(); {body} }}");
        let function: ScenarioFn = syn::parse_str(&text).unwrap();
        let mut errors = MacroErrors::default();
        let options = proc_macro2::TokenStream::new();
        let resolved = crate::resolve::resolve_scenario(options, &function, &mut errors);
        if errors.is_empty() {
            return Ok(resolved.secrets);
        }
        let errors = errors.into_compile_errors();
        Err(errors.to_string())
    }

    #[test]
    fn templates_and_calls_tell_what_is_needed() {
        let body = r#"
            #[step(post = "/{{secret.IN_URL}}", header("x", "a {{secret.IN_HEADER}}"),
                json = { "a": {{secret.IN_JSON}}, "b": (secret("IN_RUST").expose()) })]
            fn second();
            #[step] fn third() -> Request {
                let token = loadtest::secret("IN_CODE");
                Request::get("/").bearer_auth(secret("IN_URL",)).header("a", token)
            }
        "#;
        assert_eq!(
            of(body).unwrap(),
            ["IN_CODE", "IN_HEADER", "IN_JSON", "IN_RUST", "IN_URL"]
        );
    }

    #[test]
    fn what_only_looks_like_a_call_is_none() {
        for code in [
            r#"x.secret("A")"#,
            r#"vault::secret("A")"#,
            "secret(NAME)",
            r#"secret("A", 7)"#,
            r#"secret!("A")"#,
            r#"{ fn secret(a: &str) {} secret("A") }"#,
        ] {
            let body = format!("#[step] fn second() -> Request {{ {code}; Request::get(\"/\") }}");
            assert_eq!(of(&body).unwrap(), Vec::<String>::new(), "{code}");
        }
    }

    #[test]
    fn what_is_no_name_is_refused_and_not_repeated() {
        let error = of(r#"#[step(get = "/", header("x", "{{secret.sk-live-77}}"))] fn second();"#);
        let error = error.unwrap_err();
        assert!(
            error.contains("named after") && !error.contains("77"),
            "{error}"
        );
        let error = of(r#"#[step] fn second() -> Request { secret("sk-live-77") }"#);
        let error = error.unwrap_err();
        assert!(
            error.contains("named after") && !error.contains("77"),
            "{error}"
        );
        let error = of(r#"#[step(get = "/{{secret}}")] fn second();"#).unwrap_err();
        assert!(error.contains("which secret?"), "{error}");
    }
}
