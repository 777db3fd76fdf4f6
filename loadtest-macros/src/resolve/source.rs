//! Method and URL of a step that builds its request, as far as the source shows them.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::LitStr;

const METHODS: [&str; 7] = ["get", "post", "put", "patch", "delete", "head", "options"];

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

/// `::get(url)`, also after a turbofish.
fn parse_constructor(tokens: &[TokenTree]) -> Option<(String, Option<String>)> {
    let rest = skip_colons(tokens)?;
    let rest = match rest.first() {
        Some(TokenTree::Punct(open)) if open.as_char() == '<' => skip_colons(skip_angles(rest)?)?,
        _ => rest,
    };
    let [TokenTree::Ident(method), TokenTree::Group(arguments), ..] = rest else {
        return None;
    };
    let method = method.to_string();
    (METHODS.contains(&method.as_str()) && arguments.delimiter() == Delimiter::Parenthesis)
        .then(|| (method.to_uppercase(), literal_url(arguments.stream())))
}

fn skip_colons(tokens: &[TokenTree]) -> Option<&[TokenTree]> {
    match tokens {
        [TokenTree::Punct(a), TokenTree::Punct(b), rest @ ..]
            if a.as_char() == ':' && b.as_char() == ':' =>
        {
            Some(rest)
        }
        _ => None,
    }
}

fn skip_angles(tokens: &[TokenTree]) -> Option<&[TokenTree]> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        if let TokenTree::Punct(punct) = token {
            match punct.as_char() {
                '<' => depth += 1,
                '>' => depth = depth.checked_sub(1)?,
                _ => {}
            }
        }
        if depth == 0 {
            return Some(&tokens[at + 1..]);
        }
    }
    None
}

fn literal_url(arguments: TokenStream) -> Option<String> {
    let tokens: Vec<TokenTree> = arguments.into_iter().collect();
    match tokens.as_slice() {
        [TokenTree::Literal(literal)] => string_literal_text(literal),
        [TokenTree::Literal(literal), TokenTree::Punct(comma)] if comma.as_char() == ',' => {
            string_literal_text(literal)
        }
        [
            TokenTree::Ident(word),
            TokenTree::Punct(_),
            TokenTree::Group(inside),
            rest @ ..,
        ] if word == "format" && rest.len() <= 1 => match inside.stream().into_iter().next()? {
            TokenTree::Literal(literal) => string_literal_text(&literal),
            _ => None,
        },
        _ => None,
    }
}

fn string_literal_text(literal: &proc_macro2::Literal) -> Option<String> {
    let text: LitStr = syn::parse2(TokenTree::Literal(literal.clone()).into()).ok()?;
    Some(text.value())
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
            ("Request::<Vec<u8>>::post(\"/a\",)", "POST /a"),
        ];
        for (body, expected) in found {
            assert_eq!(of(body).as_deref(), Some(expected), "{body}");
        }
    }

    #[test]
    fn anything_else_is_not_guessed() {
        for body in [
            "Request::get(path)",
            "if a { Request::get(\"/a\") } else { Request::get(\"/b\") }",
            "if a { Request::get(\"/a\") } else { Request::get(b) }",
            "auth::login()",
            "Request::get(\"/a\".to_owned() + x)",
        ] {
            assert_eq!(of(body), None, "{body}");
        }
    }
}
