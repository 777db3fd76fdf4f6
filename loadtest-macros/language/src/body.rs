//! Splits the body of a scenario into its items, at the level of tokens.
//!
//! Function bodies are never parsed, so that a syntax error inside one - what an editor sees on every
//! key press - does not take the scenario down with it.

use crate::statement::{self, AttributeAt, attribute_at};
use crate::suggest::{MacroErrors, closest_word};
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Signature, Token, Visibility};

const ROLES: [(&str, Role); 7] = [
    ("step", Role::Step),
    ("check", Role::Check),
    ("feed", Role::Feed),
    ("state", Role::State),
    ("setup", Role::Setup),
    ("teardown", Role::Teardown),
    ("group", Role::Group),
];

/// The role of a function in the body of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Step,
    Check,
    Feed,
    State,
    Setup,
    Teardown,
    /// Holds other functions, which stand after it among the items.
    Group,
}

impl Role {
    pub(crate) fn name(self) -> &'static str {
        ROLES
            .iter()
            .find(|(_, role)| *role == self)
            .map_or("", |(name, _)| name)
    }

    /// The role that an attribute gives, also a misspelt one.
    fn closest(name: &Ident) -> Option<Self> {
        let near = closest_word(&name.to_string(), ROLES.iter().map(|(role, _)| *role))?;
        let mut roles = ROLES.iter();
        roles.find(|(role, _)| near == *role).map(|(_, role)| *role)
    }
}

/// The function under `#[scenario]`.
pub(crate) struct ScenarioFn {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) signature: Signature,
    pub(crate) body: Group,
}

impl Parse for ScenarioFn {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        let signature = input.parse().map_err(|error: syn::Error| {
            syn::Error::new(
                error.span(),
                format!(
                    "`#[scenario]` goes on a function: `#[scenario] fn name() {{ ... }}` ({error})"
                ),
            )
        })?;
        let body = input.parse().map_err(|error: syn::Error| {
            syn::Error::new(
                error.span(),
                "a scenario has a body, and its steps are in it: `fn name() { #[step] ... }`",
            )
        })?;
        Ok(Self {
            attributes,
            visibility,
            signature,
            body,
        })
    }
}

/// A function with a role.
pub(crate) struct RoleFn {
    pub(crate) role: Role,
    pub(crate) options: TokenStream,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) signature: Signature,
    /// `None` for `fn order() -> Order;`.
    pub(crate) body: Option<Group>,
    /// The place of that `;`.
    pub(crate) semicolon: Option<Span>,
    /// The zero-based number of the group that it is in.
    pub(crate) group: Option<usize>,
}

/// An item in the body of a scenario.
pub(crate) enum BodyItem {
    /// Anything without a role.
    Plain(TokenStream),
    Function(Box<RoleFn>),
    /// A function with a role whose signature cannot be parsed; its name counts as known.
    Broken {
        role: Role,
        name: Option<Ident>,
        tokens: TokenStream,
    },
}

impl BodyItem {
    pub(crate) fn role(&self) -> Option<Role> {
        match self {
            Self::Plain(_) => None,
            Self::Function(function) => Some(function.role),
            Self::Broken { role, .. } => Some(*role),
        }
    }

    /// The name of a function without a role.
    pub(crate) fn plain_function(&self) -> Option<Ident> {
        let Self::Plain(tokens) = self else {
            return None;
        };
        let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
        function_name(&tokens)
    }

    /// The name of a function with a role.
    pub(crate) fn ident(&self) -> Option<&Ident> {
        match self {
            Self::Plain(_) => None,
            Self::Function(function) => Some(&function.signature.ident),
            Self::Broken { name, .. } => name.as_ref(),
        }
    }
}

/// Splits `body` into items: each ends with a brace group, or with `;`. The items of a group follow it.
pub(crate) fn split_items(body: TokenStream, errors: &mut MacroErrors) -> Vec<BodyItem> {
    let tokens: Vec<TokenTree> = body.into_iter().collect();
    let mut items = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let start = at;
        let mut role = None;
        while let Some(attribute) = attribute_at(&tokens, at) {
            if let Some(name) = attribute.name
                && let Some(found) = Role::closest(&name)
            {
                if name != found.name() {
                    let found = found.name();
                    let message = format!("unknown attribute `{name}`; did you mean `#[{found}]`?");
                    errors.add_at(name.span(), message);
                }
                if let Some((first, _)) = role {
                    let first = Role::name(first);
                    errors.add_at(
                        name.span(),
                        format!("this function already has the role `#[{first}]`; it has one role"),
                    );
                } else {
                    role = Some((found, attribute.options));
                }
            }
            at = attribute.end;
        }
        let head = at;
        if role.is_none() && !statement::starts_item(&tokens[head..]) {
            at = statement::end_of_statement(&tokens, head);
            let statement: TokenStream = tokens[head..at].iter().cloned().collect();
            if !statement::is_stray_semicolon(&tokens[head..at]) {
                errors.add_on(statement, statement::STATEMENT_REFUSED);
            }
            continue;
        }
        at = statement::end_of_item(&tokens, at);
        if role.is_some()
            && let Some(next) = (head + 1..at).find(|&i| attribute_at(&tokens, i).is_some())
        {
            // the function before this attribute lacks its end
            at = next;
        }
        let all: TokenStream = tokens[start..at].iter().cloned().collect();
        let Some((role, options)) = role else {
            items.push(BodyItem::Plain(all));
            continue;
        };
        let parse = |input: ParseStream<'_>| parse_role_function(role, options, input);
        items.push(match errors.parse_or_note(parse, all) {
            Some(group) if role == Role::Group => {
                add_group(group, &mut items, errors);
                continue;
            }
            Some(function) => BodyItem::Function(Box::new(function)),
            None => BodyItem::Broken {
                role,
                name: function_name(&tokens[head..at]),
                tokens: tokens[head..at].iter().cloned().collect(),
            },
        });
    }
    items
}

fn add_group(group: RoleFn, items: &mut Vec<BodyItem>, errors: &mut MacroErrors) {
    let is_group = |item: &&BodyItem| item.role() == Some(Role::Group);
    let number = items.iter().filter(is_group).count();
    let inside = group.body.as_ref().map(Group::stream).unwrap_or_default();
    let inside = split_items(inside, errors);
    if let Some(inner) = inside.iter().find(is_group).and_then(BodyItem::ident) {
        errors.add_at(inner.span(), "a group holds steps, but not another group");
    }
    items.push(BodyItem::Function(Box::new(group)));
    items.extend(inside.into_iter().map(|mut item| {
        if let BodyItem::Function(function) = &mut item {
            function.group = Some(number);
        }
        item
    }));
}

/// Parses a function with the role that an attribute with these options gave it.
pub(crate) fn parse_role_function(
    role: Role,
    options: TokenStream,
    input: ParseStream<'_>,
) -> syn::Result<RoleFn> {
    let mut attributes = input.call(Attribute::parse_outer)?;
    attributes.retain(|attribute| {
        let last = attribute.path().segments.last();
        last.is_none_or(|segment| Role::closest(&segment.ident).is_none())
    });
    let visibility = input.parse()?;
    let signature = input.parse().map_err(|error: syn::Error| {
        let role = role.name();
        match error.to_string().as_str() {
            "expected `fn`" if role == "group" => {
                let message = "a group is a function, `#[group] fn name() { steps }`, or one that is declared \
                               elsewhere: `#[group] use path::to::name;`, without options";
                syn::Error::new(error.span(), message)
            }
            "expected `fn`" => {
                let message = format!("`#[{role}]` goes on a function: `#[{role}] fn name() ..`");
                syn::Error::new(error.span(), message)
            }
            _ => error,
        }
    })?;
    let semicolon = input.parse::<Option<Token![;]>>()?.map(|token| token.span);
    Ok(RoleFn {
        role,
        options,
        attributes,
        visibility,
        signature,
        // a `;` that is missing is an error of rustc already
        body: match semicolon {
            None if !input.is_empty() => Some(input.parse()?),
            _ => None,
        },
        semicolon,
        group: None,
    })
}

/// The name of the first function in `tokens`.
pub(crate) fn function_name(tokens: &[TokenTree]) -> Option<Ident> {
    tokens.windows(2).find_map(|pair| match pair {
        [TokenTree::Ident(word), TokenTree::Ident(name)] if word == "fn" => Some(name.clone()),
        _ => None,
    })
}

/// Refuses what `#[response]` cannot be on, and what it derives itself.
pub(crate) fn check_response_item(item: &TokenStream) -> syn::Result<()> {
    let tokens: Vec<TokenTree> = item.clone().into_iter().collect();
    let mut at = 0;
    while let Some(attribute) = attribute_at(&tokens, at) {
        let derived = attribute.name.filter(|name| name == "derive");
        for token in derived.iter().flat_map(|_| attribute.options.clone()) {
            if let TokenTree::Ident(name) = &token
                && ["Debug", "Clone", "Deserialize"]
                    .iter()
                    .any(|own| name == own)
            {
                let message = format!("`#[response]` derives `{name}` already: leave it out here");
                return Err(syn::Error::new(name.span(), message));
            }
        }
        at = attribute.end;
    }
    let is_type = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "struct" || word == "enum");
    match tokens.get(at) {
        Some(first) if !tokens[at..].iter().any(is_type) => {
            let message = "`#[response]` goes on a `struct` or an `enum`";
            Err(syn::Error::new(first.span(), message))
        }
        _ => Ok(()),
    }
}

/// The tokens without the attributes of roles at any depth, which would only add errors of their own;
/// so would a function that ends with `;`, which gets a body.
pub(crate) fn strip_role_attributes(tokens: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut kept = Vec::new();
    let mut in_function = false;
    let mut at = 0;
    while at < tokens.len() {
        if let Some(AttributeAt {
            end,
            name: Some(name),
            ..
        }) = attribute_at(&tokens, at)
            && Role::closest(&name).is_some()
        {
            let is_import =
                matches!(tokens.get(end), Some(TokenTree::Ident(word)) if word == "use");
            in_function = !is_import;
            at = end;
            continue;
        }
        kept.push(match &tokens[at] {
            TokenTree::Group(group) => {
                in_function &= group.delimiter() != Delimiter::Brace;
                let mut inner =
                    Group::new(group.delimiter(), strip_role_attributes(group.stream()));
                inner.set_span(group.span());
                TokenTree::Group(inner)
            }
            TokenTree::Punct(punct) if punct.as_char() == ';' && in_function => {
                in_function = false;
                stub_body(punct.span()).into()
            }
            other => other.clone(),
        });
        at += 1;
    }
    kept.into_iter().collect()
}

/// A body in place of the `;` at `semicolon`, for hover, go-to, rename and rustc's own errors.
pub(crate) fn stub_body(semicolon: Span) -> Group {
    let mut stub = Group::new(Delimiter::Brace, quote!(::core::unreachable!()));
    stub.set_span(semicolon);
    stub
}

/// A function with a body, since `fn f() -> T;` alone would be an error of its own.
pub(crate) fn with_stub_body(item: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = item.clone().into_iter().collect();
    let is_fn = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "fn");
    match tokens.split_last() {
        Some((TokenTree::Punct(punct), head))
            if punct.as_char() == ';' && head.iter().any(is_fn) =>
        {
            let head: TokenStream = head.iter().cloned().collect();
            let body = stub_body(punct.span());
            quote!(#head #body)
        }
        _ => item,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split_text(text: &str) -> (Vec<String>, MacroErrors) {
        let mut errors = MacroErrors::default();
        let items = split_items(text.parse().unwrap(), &mut errors)
            .into_iter()
            .map(|item| match item {
                BodyItem::Plain(tokens) => format!("plain {tokens}"),
                BodyItem::Function(function) => {
                    format!("{} {}", function.role.name(), function.signature.ident)
                }
                BodyItem::Broken { role, name, .. } => format!("broken {} {name:?}", role.name()),
            })
            .collect();
        (items, errors)
    }

    #[test]
    fn items_end_at_braces_or_semicolons() {
        let (items, errors) = split_text(
            "use a::{b, c}; const N: T = T { n: 1 }; const fn f() {} struct S; struct P(u8);
             #[derive(Debug)] struct R { a: u8 } #[step] fn one(); #[loadtest::check(x)] fn two() { } macro_rules! m { () => {} }",
        );
        assert!(errors.is_empty());
        assert_eq!(items.len(), 9, "{items:#?}");
        assert_eq!(items[6..8], ["step one", "check two"]);
    }

    #[test]
    fn a_broken_signature_keeps_its_name_and_the_items_around_it() {
        let (items, errors) =
            split_text("#[step] fn a() {} #[step] fn b(x y) -> T { } #[step] fn c() {}");
        assert_eq!(errors.len(), 1);
        assert_eq!(items[0], "step a");
        assert!(items[1].starts_with("broken step Some(Ident"), "{items:?}");
        assert_eq!(items[2], "step c");
    }

    #[test]
    fn statements_are_refused_and_item_macros_are_not() {
        for text in [
            "login();",
            "if true {}",
            "return",
            "5",
            "x",
            "unsafe { a() }",
            "let x = 1;",
            "m!(a)",
            "vec![1].len();",
            "{ }",
        ] {
            let (items, errors) = split_text(&format!("{text} #[step] fn a();"));
            assert_eq!(errors.len(), 1, "{text}");
            assert_eq!(items, ["step a"], "{text}");
        }
        for text in [
            "m!(a);",
            "my::m! { a }",
            "unsafe fn f() {}",
            "const fn f() {}",
            ";",
        ] {
            let (_, errors) = split_text(&format!("{text} #[step] fn a();"));
            assert!(errors.is_empty(), "{text}");
        }
    }

    #[test]
    fn a_scenario_that_makes_the_macro_fail_has_bodies_all_the_same() {
        let item = "fn s() { #[step(get = \"/\")] fn a() -> T; struct S; #[check] fn c() { x; } }";
        assert_eq!(
            strip_role_attributes(item.parse().unwrap()).to_string(),
            "fn s () { fn a () -> T { :: core :: unreachable ! () } struct S ; fn c () { x ; } }"
        );
    }

    #[test]
    fn a_body_that_does_not_parse_is_no_error_here() {
        let (items, errors) = split_text("#[step] fn a() { login. }");
        assert!(errors.is_empty());
        assert_eq!(items, ["step a"]);
    }
}
