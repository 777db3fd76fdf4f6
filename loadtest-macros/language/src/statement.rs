//! Finds the boundaries of items in a scenario's body, and the statements that are refused.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

pub(crate) const STATEMENT_REFUSED: &str = "a scenario body holds functions and items, not statements: per-user \
     values go in `#[state] fn name() -> T`, values made once in `#[setup] fn name() -> T`";

/// The words that items begin with.
const ITEM_WORDS: &str =
    "fn async const enum extern impl macro_rules mod pub static struct trait type union unsafe use";

/// Returns true if an item begins here: with an item keyword, or with a macro call that may expand
/// to items.
pub(crate) fn starts_item(tokens: &[TokenTree]) -> bool {
    match tokens {
        // nothing, or half an attribute: rustc says what is wrong
        [] => true,
        [TokenTree::Punct(punct), ..] if punct.as_char() == '#' => true,
        // what `macro_rules!` leaves of `$item` or `$vis`
        [TokenTree::Group(group), ..] => group.delimiter() == Delimiter::None,
        // a block such as `unsafe { .. }` is none
        [TokenTree::Ident(_), TokenTree::Group(block), ..]
            if block.delimiter() == Delimiter::Brace =>
        {
            false
        }
        [TokenTree::Ident(word), ..] if ITEM_WORDS.split(' ').any(|item| word == item) => true,
        _ => is_macro_call(tokens),
    }
}

/// Returns true for `path::to::name!(..);`.
fn is_macro_call(tokens: &[TokenTree]) -> bool {
    let is_of_path = |token: &&TokenTree| match token {
        TokenTree::Ident(_) => true,
        TokenTree::Punct(punct) => punct.as_char() == ':',
        _ => false,
    };
    let path = tokens.iter().take_while(is_of_path).count();
    match &tokens[path..] {
        [TokenTree::Punct(bang), TokenTree::Group(group), rest @ ..] if bang.as_char() == '!' => {
            let is_closed = matches!(rest, [TokenTree::Punct(end), ..] if end.as_char() == ';');
            path > 0 && (is_closed || group.delimiter() == Delimiter::Brace)
        }
        _ => false,
    }
}

/// Up to `;`, or to the attribute or the word that an item begins with.
pub(crate) fn end_of_statement(tokens: &[TokenTree], start: usize) -> usize {
    let mut at = start;
    while let Some(token) = tokens.get(at) {
        let ends = matches!(token, TokenTree::Punct(punct) if punct.as_char() == ';');
        if at > start
            && (attribute_at(tokens, at).is_some()
                || matches!(token, TokenTree::Ident(word) if word == "fn" || word == "pub"))
        {
            return at;
        }
        at += 1;
        if ends {
            break;
        }
    }
    at
}

pub(crate) fn is_stray_semicolon(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [TokenTree::Punct(punct)] if punct.as_char() == ';')
}

pub(crate) fn end_of_item(tokens: &[TokenTree], start: usize) -> usize {
    let word = |at: usize| match tokens.get(at) {
        Some(TokenTree::Ident(word)) => word.to_string(),
        _ => String::new(),
    };
    let (first, second) = (word(start), word(start + 1));
    let braces_may_be_inside = match first.as_str() {
        "use" | "static" | "type" => true,
        "const" => !matches!(second.as_str(), "fn" | "async" | "unsafe" | "extern"),
        _ => false,
    };
    if let Some(TokenTree::Group(group)) = tokens.get(start)
        && group.delimiter() == Delimiter::None
        && matches!(group.stream().into_iter().last(), Some(last) if ends_item(&last))
    {
        return start + 1;
    }
    let mut at = start;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ';' => break,
            TokenTree::Group(group)
                if group.delimiter() == Delimiter::Brace && !braces_may_be_inside =>
            {
                break;
            }
            _ => {}
        }
    }
    at
}

fn ends_item(token: &TokenTree) -> bool {
    match token {
        TokenTree::Punct(punct) => punct.as_char() == ';',
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        _ => false,
    }
}

pub(crate) struct AttributeAt {
    pub(crate) end: usize,
    /// The last segment of its path.
    pub(crate) name: Option<Ident>,
    pub(crate) options: TokenStream,
}

/// The attribute `#[path(options)]` that starts at `at`.
pub(crate) fn attribute_at(tokens: &[TokenTree], at: usize) -> Option<AttributeAt> {
    let (Some(TokenTree::Punct(hash)), Some(TokenTree::Group(group))) =
        (tokens.get(at), tokens.get(at + 1))
    else {
        return None;
    };
    if hash.as_char() != '#' || group.delimiter() != Delimiter::Bracket {
        return None;
    }
    let inside: Vec<TokenTree> = group.stream().into_iter().collect();
    let (name, options) = match inside.as_slice() {
        [.., TokenTree::Ident(name), TokenTree::Group(options)] => {
            (Some(name.clone()), options.stream())
        }
        [TokenTree::Ident(name), TokenTree::Punct(sign), ..] if sign.as_char() == '=' => {
            (Some(name.clone()), inside[1..].iter().cloned().collect())
        }
        [.., TokenTree::Ident(name)] => (Some(name.clone()), TokenStream::new()),
        _ => (None, TokenStream::new()),
    };
    Some(AttributeAt {
        end: at + 2,
        name,
        options,
    })
}
