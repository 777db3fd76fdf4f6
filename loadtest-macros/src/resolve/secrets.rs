//! The secrets that a scenario is seen to need: those of its templates, and every `secret("NAME")` in it.

use super::{Resolved, Step, shape, unraw};
use crate::suggest::Errors;
use crate::template::{Path, Segment};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::BTreeSet;
use syn::LitStr;

/// What `{{secret.NAME}}` begins with, and the function for everything else.
pub(super) const ROOT: &str = "secret";

/// What is wrong with what cannot be the name of a secret.
const MISNAMED: &str =
    "a secret is named after the variable of the environment that holds it, such as `API_TOKEN`";

/// The name in `{{secret.NAME}}`.
pub(super) fn name(path: &Path) -> syn::Result<String> {
    let source = &path.source;
    let error = |message: String| Err(syn::Error::new(path.span, message));
    match path.segments.as_slice() {
        [(Segment::Field(name), _)] if is_variable(name) => Ok(name.clone()),
        // it may be the secret itself
        [_] => error(format!("`{{{{secret...}}}}`: {MISNAMED}")),
        _ => error(format!(
            "`{{{{{source}}}}}`: which secret? Write `{{{{secret.API_TOKEN}}}}`, by the name of the variable of \
             the environment that holds it"
        )),
    }
}

/// Whether a variable of the environment can have that name.
fn is_variable(name: &str) -> bool {
    let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_word && !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())
}

impl Resolved {
    /// The names of the secrets, each once; `body` is that of the scenario.
    pub(super) fn note_secrets(&mut self, body: &TokenStream, errors: &mut Errors) {
        let mut names = BTreeSet::new();
        let placeholders = self.steps.iter().flat_map(Step::placeholders);
        names.extend(placeholders.filter_map(|one| one.secret().map(str::to_owned)));
        // Another function of that name is not ours.
        if !shape::defines(body.clone(), ROOT) {
            let mut found = Vec::new();
            calls(body.clone(), &mut found);
            for name in found {
                if is_variable(&name.value()) {
                    names.insert(name.value());
                } else {
                    errors.at(name.span(), format!("`secret(..)`: {MISNAMED}"));
                }
            }
        }
        self.secrets = names.into_iter().collect();
    }
}

/// Finds `secret("NAME")`.
fn calls(tokens: TokenStream, found: &mut Vec<LitStr>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            calls(group.stream(), found);
        }
        let is_call = match (token, tokens.get(at + 1)) {
            (TokenTree::Ident(word), Some(TokenTree::Group(group))) => {
                unraw(word) == ROOT && group.delimiter() == Delimiter::Parenthesis
            }
            _ => false,
        };
        if is_call
            && !is_foreign(&tokens[..at])
            && let Some(TokenTree::Group(arguments)) = tokens.get(at + 1)
            && let Some(name) = literal(arguments.stream())
        {
            found.push(name);
        }
    }
}

/// Whether a name after `before` is something else: `x.secret()`, `vault::secret()`.
fn is_foreign(before: &[TokenTree]) -> bool {
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

fn literal(arguments: TokenStream) -> Option<LitStr> {
    let tokens: Vec<TokenTree> = arguments.into_iter().collect();
    let (TokenTree::Literal(literal), rest) = tokens.split_first()? else {
        return None;
    };
    let is_alone = match rest {
        [] => true,
        [TokenTree::Punct(comma)] => comma.as_char() == ',',
        _ => false,
    };
    let text: LitStr = syn::parse2(TokenTree::Literal(literal.clone()).into()).ok()?;
    is_alone.then_some(text)
}

#[cfg(test)]
mod tests {
    use crate::body::ScenarioFn;
    use crate::suggest::Errors;

    fn of(body: &str) -> Result<Vec<String>, String> {
        let text = format!("fn shop() {{ #[step(get = \"/\")] fn first(); {body} }}");
        let function: ScenarioFn = syn::parse_str(&text).unwrap();
        let mut errors = Errors::default();
        let options = proc_macro2::TokenStream::new();
        let resolved = crate::resolve::scenario(options, &function, &mut errors);
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
