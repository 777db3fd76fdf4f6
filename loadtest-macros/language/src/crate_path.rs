//! `crate = path`: where the generated code finds `loadtest`, for a package that has it under another
//! name or through a facade.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens as _, format_ident, quote};
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::{Path, Token};

/// The path of the option.
pub(crate) fn parse_crate_path(input: ParseStream<'_>) -> syn::Result<Path> {
    let wanted = "expected the path of `loadtest`, such as `crate = acme::loadtest`";
    let path = input
        .call(Path::parse_mod_style)
        .map_err(|error| syn::Error::new(error.span(), wanted))?;
    if !input.is_empty() && !input.peek(Token![,]) {
        return Err(input.error(wanted));
    }
    Ok(path)
}

/// The options of `#[response(..)]`: nothing, or `crate = path`.
pub(crate) fn parse_response_options(options: TokenStream) -> syn::Result<Option<Path>> {
    let parse = |input: ParseStream<'_>| {
        if input.is_empty() {
            return Ok(None);
        }
        if !input.peek(Token![crate]) {
            return Err(input.error(
                "unknown option; `#[response]` takes `crate = path` only, and options of serde go into an \
                 attribute below it: `#[serde(rename_all = \"camelCase\")]`",
            ));
        }
        input.parse::<Token![crate]>()?;
        input.parse::<Token![=]>()?;
        let path = parse_crate_path(input)?;
        input.parse::<Option<Token![,]>>()?;
        Ok(Some(path))
    };
    parse.parse2(options)
}

/// The path of serde as serde wants it for a type, which is text, and an item that this path needs.
///
/// Text cannot name the crate of a `macro_rules!` that wrote the path, `$crate::..`, so it then names an
/// import beside the type, whose path is made of the tokens.
pub(crate) fn serde_path(path: &TokenStream, item: &TokenStream) -> (String, TokenStream) {
    let written = path.to_string().replace(' ', "");
    if !written.starts_with('$') {
        return (format!("{written}::__private::serde"), TokenStream::new());
    }
    let mut words = item.clone().into_iter().filter_map(|token| match token {
        TokenTree::Ident(word) => Some(word.unraw()),
        _ => None,
    });
    let is_before_name = |word: &Ident| word == "struct" || word == "enum";
    let name = words.find(is_before_name).and_then(|_| words.next());
    let alias = name.map_or_else(
        || format_ident!("__serde"),
        |name| format_ident!("__serde_of_{name}"),
    );
    let import = quote! {
        #[doc(hidden)]
        #[allow(non_snake_case)]
        use #path::__private::serde as #alias;
    };
    (alias.to_string(), import)
}

/// Replaces every `::loadtest::__private` in generated code by `path`. Only the macros write that path,
/// so the user's own paths stay.
pub(crate) fn replace_crate_path(code: TokenStream, path: &Path) -> TokenStream {
    let path = path.to_token_stream();
    replace_root_tokens(code, &path)
}

fn replace_root_tokens(code: TokenStream, path: &TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = code.into_iter().collect();
    let mut result = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        if is_private_path(&tokens[at..]) {
            result.extend(path.clone());
            at += ROOT_TOKENS;
            continue;
        }
        result.push(match &tokens[at] {
            TokenTree::Group(group) => {
                let mut inner =
                    Group::new(group.delimiter(), replace_root_tokens(group.stream(), path));
                inner.set_span(group.span());
                inner.into()
            }
            token => token.clone(),
        });
        at += 1;
    }
    result.into_iter().collect()
}

/// The tokens of `::loadtest`.
const ROOT_TOKENS: usize = 3;

fn is_private_path(tokens: &[TokenTree]) -> bool {
    let [a, b, root, c, d, private, ..] = tokens else {
        return false;
    };
    let colon =
        |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':');
    let word =
        |token: &TokenTree, text: &str| matches!(token, TokenTree::Ident(word) if word == text);
    [a, b, c, d].into_iter().all(colon) && word(root, "loadtest") && word(private, "__private")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(code: &str) -> String {
        let path: Path = syn::parse_str("acme::tools").unwrap();
        replace_crate_path(code.parse().unwrap(), &path).to_string()
    }

    #[test]
    fn every_generated_path_goes_there_however_deep() {
        let code = applied(
            "fn f() -> &'static ::loadtest::__private::Vu { [(::loadtest::__private::X)] }",
        );
        assert!(!code.contains("loadtest"), "{code}");
        assert_eq!(code.matches("acme :: tools :: __private").count(), 2);
    }

    #[test]
    fn the_user_s_own_paths_stay() {
        let code = applied("::loadtest::prelude::Vu; loadtest::__private; a::loadtest::__other");
        assert!(!code.contains("acme"), "{code}");
    }

    #[test]
    fn a_response_takes_nothing_else() {
        let options = |text: &str| parse_response_options(text.parse().unwrap());
        assert!(options("").unwrap().is_none());
        assert!(options("crate = acme::tools,").unwrap().is_some());
        for (text, words) in [
            ("krate = acme", "takes `crate = path` only"),
            ("crate = \"acme\"", "expected the path of `loadtest`"),
            ("crate = acme acme", "expected the path of `loadtest`"),
        ] {
            let error = options(text).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
