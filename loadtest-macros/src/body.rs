//! Splits the body of a scenario into its items, at the level of tokens.
//!
//! Function bodies are never parsed, so that a syntax error inside one - what an editor sees on every
//! key press - does not take the scenario down with it.

use crate::options::METHODS;
use crate::statement::{self, AttributeAt, attribute_at};
use crate::suggest::MacroErrors;
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Signature, Token, Visibility};

const ROLES: [(&str, Role); 6] = [
    ("step", Role::Step),
    ("check", Role::Check),
    ("feed", Role::Feed),
    ("state", Role::State),
    ("setup", Role::Setup),
    ("teardown", Role::Teardown),
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
}

impl Role {
    pub(crate) fn name(self) -> &'static str {
        ROLES
            .iter()
            .find(|(_, role)| *role == self)
            .map_or("", |(name, _)| name)
    }

    fn from_ident(name: &Ident) -> Option<Self> {
        ROLES
            .iter()
            .find(|(role, _)| name == role)
            .map(|(_, role)| *role)
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
}

impl RoleFn {
    /// `fn order() -> Order {}` in place of `fn order() -> Order;`: one mistake, and no other
    /// follows from it.
    fn refuse_empty_body(&mut self, errors: &mut MacroErrors) {
        let declares_request = || {
            let options: Vec<TokenTree> = self.options.clone().into_iter().collect();
            options.windows(2).any(|pair| match pair {
                [TokenTree::Ident(name), TokenTree::Punct(equals)] => {
                    equals.as_char() == '=' && METHODS.iter().any(|method| name == method)
                }
                _ => false,
            })
        };
        let is_empty = |body: &&Group| body.stream().is_empty();
        if let Some(body) = self.body.as_ref().filter(is_empty)
            && self.role == Role::Step
            && declares_request()
        {
            let name = &self.signature.ident;
            errors.add_on(
                body,
                format!(
                    "the attribute of `{name}` declares its request: end the function with `;`"
                ),
            );
            self.semicolon = Some(body.span());
            self.body = None;
        }
    }
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

    /// The name of a function with a role.
    pub(crate) fn ident(&self) -> Option<&Ident> {
        match self {
            Self::Plain(_) => None,
            Self::Function(function) => Some(&function.signature.ident),
            Self::Broken { name, .. } => name.as_ref(),
        }
    }
}

/// Splits `body` into items: each ends with a brace group, or with `;`.
pub(crate) fn split_items(body: TokenStream, errors: &mut MacroErrors) -> Vec<BodyItem> {
    let tokens: Vec<TokenTree> = body.into_iter().collect();
    let mut items = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let start = at;
        let mut role = None;
        while let Some(attribute) = attribute_at(&tokens, at) {
            if let Some(name) = attribute.name
                && let Some(found) = Role::from_ident(&name)
            {
                if let Some(value) = attribute.assigned {
                    errors.add_on(
                        value,
                        format!("options stand in parentheses: `#[{name}(option = ...)]`"),
                    );
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
        let all = || tokens[start..at].iter().cloned().collect::<TokenStream>();
        items.push(match role {
            None => BodyItem::Plain(all()),
            Some((role, _)) if let Some(word) = keyword_of_other_item(&tokens[head..at]) => {
                let role = role.name();
                errors.add_at(
                    word.span(),
                    format!("`#[{role}]` goes on a function: `#[{role}] fn name() ...`"),
                );
                BodyItem::Plain(tokens[head..at].iter().cloned().collect())
            }
            // rustc has parsed the scenario before, and has said so
            Some((role, _)) if has_untyped_parameter(&tokens[head..at]) => BodyItem::Broken {
                role,
                name: function_name(&tokens[head..at]),
                tokens: tokens[head..at].iter().cloned().collect(),
            },
            Some((role, options)) => match errors.parse_or_note(parse_function_item, all()) {
                Some(parsed) => {
                    let mut function = parsed.into_role(role, options);
                    function.refuse_empty_body(errors);
                    BodyItem::Function(Box::new(function))
                }
                None => BodyItem::Broken {
                    role,
                    name: function_name(&tokens[head..at]),
                    tokens: tokens[head..at].iter().cloned().collect(),
                },
            },
        });
    }
    items
}

struct ParsedFn {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    signature: Signature,
    body: Option<Group>,
    semicolon: Option<Span>,
}

impl ParsedFn {
    fn into_role(self, role: Role, options: TokenStream) -> RoleFn {
        RoleFn {
            role,
            options,
            attributes: self
                .attributes
                .into_iter()
                .filter(|attribute| {
                    let last = attribute.path().segments.last();
                    last.is_none_or(|segment| Role::from_ident(&segment.ident).is_none())
                })
                .collect(),
            visibility: self.visibility,
            signature: self.signature,
            body: self.body,
            semicolon: self.semicolon,
        }
    }
}

fn parse_function_item(input: ParseStream<'_>) -> syn::Result<ParsedFn> {
    let attributes = input.call(Attribute::parse_outer)?;
    let visibility = input.parse()?;
    let signature = input.parse()?;
    let semicolon = input.parse::<Option<Token![;]>>()?.map(|token| token.span);
    Ok(ParsedFn {
        attributes,
        visibility,
        signature,
        // a `;` that is missing is an error of rustc already
        body: match semicolon {
            None if !input.is_empty() => Some(input.parse()?),
            _ => None,
        },
        semicolon,
    })
}

/// The word that begins an item which is no function.
fn keyword_of_other_item(tokens: &[TokenTree]) -> Option<&Ident> {
    let words = [
        "struct", "enum", "union", "trait", "impl", "mod", "type", "use", "static", "let",
    ];
    let mut word = tokens.iter().filter_map(|token| match token {
        TokenTree::Ident(word) if word != "pub" => Some(word),
        _ => None,
    });
    word.next()
        .filter(|first| words.iter().any(|word| *first == word))
}

/// Returns true if a parameter ends after its `:`, without a type.
fn has_untyped_parameter(function: &[TokenTree]) -> bool {
    let is = |token: &TokenTree, wanted: char| matches!(token, TokenTree::Punct(p) if p.as_char() == wanted);
    function
        .iter()
        .find_map(|token| match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
                Some(group.stream().into_iter().collect::<Vec<_>>())
            }
            _ => None,
        })
        .is_some_and(|parameters| {
            parameters.last().is_some_and(|last| is(last, ':'))
                || parameters
                    .windows(2)
                    .any(|pair| is(&pair[0], ':') && is(&pair[1], ','))
        })
}

fn function_name(tokens: &[TokenTree]) -> Option<Ident> {
    tokens.windows(2).find_map(|pair| match pair {
        [TokenTree::Ident(word), TokenTree::Ident(name)] if word == "fn" => Some(name.clone()),
        _ => None,
    })
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
            && Role::from_ident(&name).is_some()
        {
            in_function = true;
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
    fn what_rustc_says_before_the_macro_is_not_said_again() {
        for text in [
            "fn b(x: ) -> T { }",
            "fn b(x: , y: u8) -> T;",
            "fn b() -> T",
        ] {
            let (items, errors) = split_text(&format!("#[step] {text} #[step] fn c();"));
            assert!(errors.is_empty(), "{text}");
            assert!(items[0].contains('b') && items[1] == "step c", "{items:?}");
        }
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
            "vec![1].len();",
            "assert!(x);",
            "todo! {}",
            "let x = 1;",
            "{ }",
            "m!(a)",
            "std::println!();",
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
