//! `#[scenarios(..)]` on a module: options and functions with a role that hold for each scenario in it.
//!
//! Each scenario gets their tokens as if it had written them, so that `#[scenario]` checks and reports as always.

use crate::body::{self, Role};
use crate::options::{ScenarioOptions, split_at_commas};
use crate::spelling::source_text;
use crate::statement::{self, attribute_at};
use crate::suggest::MacroErrors;
use proc_macro2::{Delimiter, Group, Ident, Punct, Spacing, TokenStream, TokenTree};
use quote::{ToTokens as _, quote};
use std::ops::Range;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Token, Visibility};

/// Options that no two scenarios share.
const OF_ONE_SCENARIO: [&str; 3] = ["name", "version", "weight"];

/// The module under `#[scenarios]`.
struct ScenarioModule {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    name: Ident,
    body: Group,
}

impl Parse for ScenarioModule {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        let wanted = |error: syn::Error| {
            let message =
                "`#[scenarios]` goes on a module with its scenarios in braces: `mod shop { .. }`";
            syn::Error::new(error.span(), message)
        };
        input.parse::<Token![mod]>().map_err(wanted)?;
        Ok(Self {
            attributes,
            visibility,
            name: input.parse()?,
            body: input.parse().map_err(wanted)?,
        })
    }
}

/// An item of the module.
enum ModuleItem {
    /// Its attribute `#[scenario]`, within its tokens, and the options of that.
    Scenario(Range<usize>, TokenStream),
    /// A function of a role that holds for all scenarios.
    Shared,
    Other,
}

/// The module with what its scenarios share written in each of them.
pub(crate) fn expand_module(options: &TokenStream, item: &TokenStream) -> TokenStream {
    let module: ScenarioModule = match syn::parse2(item.clone()) {
        Ok(module) => module,
        Err(error) => {
            let error = error.into_compile_error();
            return quote!(#item #error);
        }
    };
    let mut errors = MacroErrors::default();
    let body = module.share(options, &mut errors);
    let ScenarioModule {
        attributes,
        visibility,
        name,
        body: braces,
    } = &module;
    let body = with_stream(braces, body);
    let errors = errors.into_compile_errors();
    quote!(#(#attributes)* #visibility mod #name #body #errors)
}

/// Notes the mistakes of the module itself, and returns its body with what the scenarios share in each of them.
pub(crate) fn check_module(
    options: &TokenStream,
    item: &TokenStream,
    errors: &mut MacroErrors,
) -> TokenStream {
    let module = errors.ok_or_note(syn::parse2::<ScenarioModule>(item.clone()));
    module.map_or_else(TokenStream::new, |module| module.share(options, errors))
}

impl ScenarioModule {
    /// The body with what the scenarios share in each of them.
    fn share(&self, options: &TokenStream, errors: &mut MacroErrors) -> TokenStream {
        let options = check_options(options.clone(), errors);
        let items = split_module(self.body.stream());
        let shared: Vec<&[TokenTree]> = items
            .iter()
            .filter(|(item, _)| matches!(item, ModuleItem::Shared))
            .map(|(_, tokens)| &**tokens)
            .collect();
        let has_scenario = |(item, _): &(ModuleItem, _)| matches!(item, ModuleItem::Scenario(..));
        if items.iter().any(has_scenario) {
            let items = items.iter().map(|(item, tokens)| match item {
                ModuleItem::Scenario(attribute, own) => {
                    let own = merge_options(&options, own.clone());
                    write_scenario(tokens, attribute, own, &shared)
                }
                ModuleItem::Shared => TokenStream::new(),
                ModuleItem::Other => tokens.iter().cloned().collect(),
            });
            items.collect()
        } else {
            let name = &self.name;
            errors.add_at(
                name.span(),
                format!("module `{name}` has no scenario: add `#[scenario] fn name() {{ ... }}`"),
            );
            body::strip_role_attributes(self.body.stream())
        }
    }
}

/// The options of the module; none of them where one is wrong, so that it is noted once.
fn check_options(options: TokenStream, errors: &mut MacroErrors) -> Vec<TokenStream> {
    ScenarioOptions::parse(options.clone(), errors);
    let options = split_at_commas(options);
    for option in &options {
        if let Some(TokenTree::Ident(name)) = option.clone().into_iter().next()
            && OF_ONE_SCENARIO.iter().any(|word| name == word)
        {
            let message =
                format!("`{name}` is of one scenario: give it there, `#[scenario({name} = ..)]`");
            errors.add_at(name.span(), message);
        }
    }
    if errors.is_empty() {
        options
    } else {
        Vec::new()
    }
}

/// Splits the body of a module into items.
fn split_module(body: TokenStream) -> Vec<(ModuleItem, Vec<TokenTree>)> {
    let tokens: Vec<TokenTree> = body.into_iter().collect();
    let mut items = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let start = at;
        let mut item = ModuleItem::Other;
        while let Some(attribute) = attribute_at(&tokens, at) {
            match attribute.name {
                Some(name) if name == "scenario" => {
                    let place = at - start..attribute.end - start;
                    item = ModuleItem::Scenario(place, attribute.options);
                }
                Some(name) if is_shared_role(&name) => item = ModuleItem::Shared,
                _ => {}
            }
            at = attribute.end;
        }
        at = if is_inner_attribute(&tokens[at..]) {
            at + 3
        } else {
            statement::end_of_item(&tokens, at)
        };
        items.push((item, tokens[start..at].to_vec()));
    }
    items
}

fn is_shared_role(name: &Ident) -> bool {
    [Role::Setup, Role::Feed, Role::State, Role::Teardown]
        .iter()
        .any(|role| name == role.name())
}

/// Returns true for `#![..]`.
fn is_inner_attribute(tokens: &[TokenTree]) -> bool {
    let is =
        |token: &TokenTree, mark| matches!(token, TokenTree::Punct(one) if one.as_char() == mark);
    matches!(tokens, [hash, bang, TokenTree::Group(_), ..] if is(hash, '#') && is(bang, '!'))
}

/// The tokens of a scenario with these options, and with the `shared` functions at the start of its body. One of the
/// same name in the body takes the place of a shared one.
fn write_scenario(
    tokens: &[TokenTree],
    attribute: &Range<usize>,
    options: TokenStream,
    shared: &[&[TokenTree]],
) -> TokenStream {
    let mut tokens = tokens.to_vec();
    if let TokenTree::Group(brackets) = &tokens[attribute.end - 1] {
        let mut inside: Vec<TokenTree> = brackets.stream().into_iter().collect();
        match inside.last_mut() {
            Some(TokenTree::Group(parentheses)) => *parentheses = with_stream(parentheses, options),
            _ => inside.push(Group::new(Delimiter::Parenthesis, options).into()),
        }
        let brackets = with_stream(brackets, inside.into_iter().collect());
        tokens[attribute.end - 1] = brackets.into();
    }
    if let Some(TokenTree::Group(body)) = tokens.last_mut()
        && body.delimiter() == Delimiter::Brace
    {
        // its mistakes are for `#[scenario]` to find
        let own = body::split_items(body.stream(), &mut MacroErrors::default());
        let is_own = |name: &Ident| own.iter().any(|item| item.ident() == Some(name));
        let shared = shared
            .iter()
            .filter(|function| !body::function_name(function).is_some_and(|name| is_own(&name)));
        let mut inside: TokenStream = shared.copied().flatten().cloned().collect();
        inside.extend(body.stream());
        *body = with_stream(body, inside);
    }
    tokens.into_iter().collect()
}

/// The options of a scenario: those of its module that it does not give itself, and its own. Checks, tags and
/// thresholds add up; a threshold takes the place of those on the same metric.
fn merge_options(of_module: &[TokenStream], own: TokenStream) -> TokenStream {
    let mut own = split_at_commas(own);
    let mut merged = Vec::new();
    for option in of_module {
        let key = option_key(option);
        match own.iter_mut().find(|own| option_key(own) == key) {
            Some(own) if key == "tags" || key == "thresholds" => *own = merge_lists(option, own),
            Some(_) if key != "check" => {}
            _ => merged.push(option.clone()),
        }
    }
    merged.append(&mut own);
    quote!(#(#merged),*)
}

/// The name of an option, and of a header its name too.
fn option_key(option: &TokenStream) -> String {
    let mut tokens = option.clone().into_iter();
    let name = tokens
        .next()
        .map_or_else(String::new, |name| name.to_string());
    match (name.as_str(), tokens.next()) {
        ("bearer" | "basic", _) => "header \"authorization\"".to_owned(),
        ("header", Some(TokenTree::Group(parts))) => {
            let header = parts.stream().into_iter().next();
            let header = header.map_or_else(String::new, |header| header.to_string());
            format!("header {}", header.to_lowercase())
        }
        _ => name,
    }
}

/// The option `own` with the elements of the list of `of_module` before its own. Two are the same if they are on the
/// same metric.
fn merge_lists(of_module: &TokenStream, own: &TokenStream) -> TokenStream {
    let mut tokens: Vec<TokenTree> = own.clone().into_iter().collect();
    let Some(TokenTree::Group(list)) = tokens.last_mut() else {
        return own.clone();
    };
    let is_before_bound =
        |token: &TokenTree| !matches!(token, TokenTree::Punct(one) if "<>".contains(one.as_char()));
    let subject = |element: &TokenStream| {
        let tokens = element.clone().into_iter().take_while(is_before_bound);
        source_text(tokens.collect::<TokenStream>())
    };
    let inherited = of_module.clone().into_iter().last();
    let inherited = match inherited {
        Some(TokenTree::Group(list)) => split_at_commas(list.stream()),
        _ => Vec::new(),
    };
    let elements = split_at_commas(list.stream());
    let is_own = |one: &TokenStream| elements.iter().any(|own| subject(own) == subject(one));
    let inherited = inherited.into_iter().filter(|one| !is_own(one));
    let mut inside = TokenStream::new();
    for element in inherited.chain(elements.iter().cloned()) {
        inside.extend(element);
        Punct::new(',', Spacing::Alone).to_tokens(&mut inside);
    }
    *list = with_stream(list, inside);
    tokens.into_iter().collect()
}

/// A group with other tokens at the same place.
fn with_stream(group: &Group, tokens: TokenStream) -> Group {
    let mut changed = Group::new(group.delimiter(), tokens);
    changed.set_span(group.span());
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(of_module: &str, own: &str) -> String {
        let of_module = split_at_commas(of_module.parse().unwrap());
        let merged = merge_options(&of_module, own.parse().unwrap());
        source_text(merged.to_string().parse::<TokenStream>().unwrap())
    }

    fn expanded(options: &str, module: &str) -> String {
        let code = expand_module(&options.parse().unwrap(), &module.parse().unwrap());
        code.to_string()
    }

    #[test]
    fn an_option_of_the_scenario_wins_and_lists_add_up() {
        for (of_module, own, all) in [
            ("timeout = 2s", "", "timeout = 2s"),
            (
                "timeout = 2s, think = 1s",
                "timeout = 5s",
                "think = 1s , timeout = 5s",
            ),
            (
                "check = |a| a",
                "check = |b| b",
                "check = | a | a , check = | b | b",
            ),
            (
                "header(\"A\", \"1\"), header(\"b\", \"2\")",
                "header(\"a\", \"3\")",
                "header (\"b\" , \"2\") , header (\"a\" , \"3\")",
            ),
            (
                "bearer = \"t\"",
                "basic = (\"a\", \"b\")",
                "basic = (\"a\" , \"b\")",
            ),
            (
                "bearer = \"t\"",
                "header(\"Authorization\", \"x\")",
                "header (\"Authorization\" , \"x\")",
            ),
            (
                "tags = [\"shop\", \"all\"]",
                "tags = [\"all\", \"new\"]",
                "tags = [\"shop\" , \"all\" , \"new\" ,]",
            ),
            (
                "thresholds(p95 < 1s, errors < 1%)",
                "thresholds(p95 < 2s or abort, rps > 5/s)",
                "thresholds (errors < 1 % , p95 < 2s or abort , rps > 5 / s ,)",
            ),
        ] {
            assert_eq!(merged(of_module, own), all, "{of_module} | {own}");
        }
    }

    #[test]
    fn a_shared_function_stands_in_each_scenario_unless_it_has_its_own() {
        let code = expanded(
            "timeout = 2s",
            "pub mod shop { //! Of the shop.
                use a::{b}; #[setup] fn server() -> T { t() } struct Helper;
                #[scenario] fn one() { #[step] fn a(); }
                #[a::scenario(timeout = 5s)] fn two() { #[setup] fn server() -> T { u() } }
                #[feed] fn user() -> F { f() }
            }",
        );
        let user = "# [feed] fn user () -> F { f () }";
        assert_eq!(
            code,
            format!(
                "pub mod shop {{ # ! [doc = \" Of the shop.\"] use a :: {{ b }} ; struct Helper ; \
                 # [scenario (timeout = 2s)] fn one () {{ # [setup] fn server () -> T {{ t () }} {user} \
                 # [step] fn a () ; }} \
                 # [a :: scenario (timeout = 5s)] fn two () {{ {user} # [setup] fn server () -> T {{ u () }} }} }}"
            )
        );
    }

    #[test]
    fn a_mistake_is_noted_once_and_given_to_no_scenario() {
        let two = "mod shop { #[scenario] fn one() {} #[scenario] fn two() {} }";
        for (options, words) in [
            ("timeout = 2", "has no unit"),
            ("timout = 2s", "did you mean `timeout`?"),
            ("name = \"shop\"", "`name` is of one scenario"),
            ("weight = 2", "`weight` is of one scenario"),
        ] {
            let code = expanded(options, two);
            assert_eq!(code.matches(words).count(), 1, "{code}");
            assert!(code.contains("# [scenario ()] fn two () { }"), "{code}");
        }
    }

    #[test]
    fn what_is_no_module_of_scenarios_says_so() {
        for (item, words) in [
            ("mod shop;", "goes on a module with its scenarios in braces"),
            (
                "fn shop() {}",
                "goes on a module with its scenarios in braces",
            ),
            (
                "mod shop { #[setup] fn s() {} }",
                "module `shop` has no scenario",
            ),
        ] {
            let code = expanded("", item);
            assert!(code.contains(words) && !code.contains("setup"), "{code}");
        }
    }
}
