//! Method and URL of a step that builds its request, as far as the source shows them.

use super::graphql::built_request;
use crate::options::{METHODS, opening_url};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::{ExprMacro, LitStr, Token};

/// The one `Request::get("..")` or `Request::get(format!(".."))` in a body; `None` where there are
/// several, or none whose URL is a literal.
pub(super) fn find_request(body: TokenStream) -> Option<(String, String)> {
    let mut found = Vec::new();
    collect_requests(body, &mut found);
    match found.as_mut_slice() {
        [(method, url)] => Some((std::mem::take(method), url.take()?)),
        _ => None,
    }
}

fn collect_requests(tokens: TokenStream, found: &mut Vec<(String, Option<String>)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(word) if word == "Request" => {
                found.extend(parse_constructor(&tokens[at + 1..]));
            }
            TokenTree::Group(group) => collect_requests(group.stream(), found),
            _ => {}
        }
    }
}

/// Parses `::get(url)`.
fn parse_constructor(tokens: &[TokenTree]) -> Option<(String, Option<String>)> {
    let [
        TokenTree::Punct(_),
        TokenTree::Punct(_),
        TokenTree::Ident(method),
        TokenTree::Group(arguments),
        ..,
    ] = tokens
    else {
        return None;
    };
    let method = method.to_string();
    if arguments.delimiter() != Delimiter::Parenthesis {
        return None;
    }
    if method == "graphql" {
        return built_request(tokens);
    }
    if method == "websocket" {
        let url = literal_url(arguments.stream());
        return Some(("GET".to_owned(), url.map(|url| opening_url(&url))));
    }
    METHODS
        .contains(&method.as_str())
        .then(|| (method.to_uppercase(), literal_url(arguments.stream())))
}

fn literal_url(arguments: TokenStream) -> Option<String> {
    if let Some(literal) = single_literal(arguments.clone()) {
        return Some(literal.value());
    }
    let call: ExprMacro = syn::parse2(arguments).ok()?;
    let format = call
        .mac
        .path
        .is_ident("format")
        .then_some(call.mac.tokens)?;
    single_literal(format.into_iter().take(1).collect()).map(|literal| literal.value())
}

/// The literal that is the only argument of a call.
pub(super) fn single_literal(arguments: TokenStream) -> Option<LitStr> {
    let literals = Punctuated::<LitStr, Token![,]>::parse_terminated
        .parse2(arguments)
        .ok()?;
    let mut literals = literals.into_iter();
    literals.next().filter(|_| literals.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str) -> Option<String> {
        find_request(body.parse().unwrap()).map(|(method, url)| format!("{method} {url}"))
    }

    #[test]
    fn one_literal_request_is_found() {
        let found = [
            ("Request::get(\"/a\").json(&x)", "GET /a"),
            (
                "let p = 1; Some(loadtest::Request::put(format!(\"/a/{p}?q={}\", 2)))",
                "PUT /a/{p}?q={}",
            ),
            ("Request::options(\"/a\")", "OPTIONS /a"),
            ("Request::post(\"/a\",)", "POST /a"),
            ("Request::graphql(QUERY)", "POST /graphql"),
            (
                "Request::graphql(\"{ a }\").bearer_auth(x).url(\"/api\")",
                "POST /api",
            ),
            (
                "Request::graphql(\"{ a }\").by_get().variables(&x)",
                "GET /graphql",
            ),
        ];
        for (body, expected) in found {
            assert_eq!(of(body).as_deref(), Some(expected), "{body}");
        }
    }

    #[test]
    fn anything_else_is_not_guessed() {
        for body in [
            "Request::get(path)",
            "Request::graphql(\"{ a }\").url(path)",
            "if a { Request::get(\"/a\") } else { Request::get(\"/b\") }",
            "if a { Request::get(\"/a\") } else { Request::get(b) }",
            "auth::login()",
            "Request::get(\"/a\".to_owned() + x)",
        ] {
            assert_eq!(of(body), None, "{body}");
        }
    }
}
