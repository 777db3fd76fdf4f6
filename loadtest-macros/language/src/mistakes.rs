//! The mistakes of a file, as its attributes report them to the compiler.

use crate::body::ScenarioFn;
use crate::group::{check_group, next_group, place_group};
use crate::module::check_module;
use crate::resolve::resolve_scenario;
use crate::statement::{self, AttributeAt, attribute_at};
use crate::suggest::MacroErrors;
use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::quote;
use std::collections::BTreeMap;

/// An item with an attribute of ours, without that attribute.
struct OwnItem {
    attribute: AttributeAt,
    name: Ident,
    item: TokenStream,
    end: usize,
}

/// The shared groups of a file, by their names: each with its attribute.
type Groups = BTreeMap<String, TokenStream>;

/// Finds the mistakes of all items of a file that have an attribute of ours.
pub(crate) fn check_file(file: TokenStream) -> MacroErrors {
    let mut groups = Groups::new();
    let file: Vec<TokenTree> = file.into_iter().collect();
    collect_groups(&file, &mut groups);
    let mut errors = MacroErrors::default();
    check_items(&file, &groups, &mut errors);
    errors
}

fn check_items(tokens: &[TokenTree], groups: &Groups, errors: &mut MacroErrors) {
    for_each_item(tokens, &mut |own| {
        let OwnItem {
            attribute: AttributeAt { options, .. },
            name,
            item,
            ..
        } = own;
        if name == "scenario" {
            check_scenario(options.clone(), item.clone(), groups, errors);
        } else if name == "scenarios" {
            let body = check_module(options, item, errors);
            let body: Vec<TokenTree> = body.into_iter().collect();
            check_items(&body, groups, errors);
        } else {
            check_group(options, item, errors);
        }
    });
}

fn collect_groups(tokens: &[TokenTree], groups: &mut Groups) {
    for_each_item(tokens, &mut |own| {
        let OwnItem {
            attribute: AttributeAt { options, .. },
            item,
            ..
        } = own;
        if own.name == "scenarios" {
            let inside = item.clone().into_iter().last();
            if let Some(TokenTree::Group(body)) = inside {
                let body: Vec<TokenTree> = body.stream().into_iter().collect();
                collect_groups(&body, groups);
            }
        } else if own.name == "group"
            && let Some(name) = function_name(item)
        {
            groups.insert(name, quote!(#[group(#options)] #item));
        }
    });
}

/// Checks a scenario, with its groups placed. One with a group of another file is not looked at.
fn check_scenario(
    mut options: TokenStream,
    mut item: TokenStream,
    groups: &Groups,
    errors: &mut MacroErrors,
) {
    loop {
        let Some(scenario) = errors.ok_or_note(syn::parse2::<ScenarioFn>(item.clone())) else {
            return;
        };
        let Some(path) = next_group(&scenario) else {
            resolve_scenario(options, &scenario, errors);
            return;
        };
        let name = path.into_iter().last().map(|name| name.to_string());
        let Some(group) = name.and_then(|name| groups.get(&name)) else {
            return;
        };
        let placed = place_group(quote!({ #group } { #options } #item));
        let Some(placed) = errors.ok_or_note(placed) else {
            return;
        };
        (options, item) = placed;
    }
}

/// Calls `visit` with each item that has an attribute of ours, also in modules and in functions.
fn for_each_item(tokens: &[TokenTree], visit: &mut impl FnMut(&OwnItem)) {
    let mut at = 0;
    while at < tokens.len() {
        if let Some(own) = own_item_at(tokens, at) {
            at = own.end.max(at + 1);
            visit(&own);
            continue;
        }
        // What a macro is made of is no item yet.
        let is_of_macro = |before: usize| matches!(at.checked_sub(before).map(|at| &tokens[at]), Some(TokenTree::Punct(bang)) if bang.as_char() == '!');
        if let TokenTree::Group(group) = &tokens[at]
            && group.delimiter() == Delimiter::Brace
            && !is_of_macro(1)
            && !is_of_macro(2)
        {
            let inside: Vec<TokenTree> = group.stream().into_iter().collect();
            for_each_item(&inside, visit);
        }
        at += 1;
    }
}

fn own_item_at(tokens: &[TokenTree], start: usize) -> Option<OwnItem> {
    let mut item = Vec::new();
    let mut own = None;
    let mut at = start;
    while let Some(attribute) = attribute_at(tokens, at) {
        let end = attribute.end;
        let name = attribute.name.clone();
        let is_own = |name: &Ident| {
            ["scenario", "scenarios", "group"]
                .iter()
                .any(|own| name == own)
        };
        match name.filter(is_own) {
            Some(name) if own.is_none() => own = Some((name, attribute)),
            _ => item.extend(tokens[at..end].iter().cloned()),
        }
        at = end;
    }
    let (name, attribute) = own?;
    let end = statement::end_of_item(tokens, at);
    item.extend(tokens[at..end].iter().cloned());
    Some(OwnItem {
        attribute,
        name,
        item: item.into_iter().collect(),
        end,
    })
}

/// The word behind `fn`.
fn function_name(item: &TokenStream) -> Option<String> {
    let mut tokens = item.clone().into_iter();
    tokens.find(|token| matches!(token, TokenTree::Ident(word) if word == "fn"))?;
    tokens.next().map(|name| name.to_string())
}

#[cfg(test)]
mod tests {
    fn mistakes(text: &str) -> Vec<String> {
        let errors = crate::find_mistakes(text.parse().unwrap());
        let told = errors.iter().map(|error| {
            let place = error.span().byte_range();
            format!("{}: {error}", &text[place])
        });
        told.collect()
    }

    #[test]
    fn each_mistake_of_a_file_has_its_place() {
        let found = mistakes(
            r#"
            use loadtest::prelude::*;
            #[derive(Clone)]
            struct Other { a: u8 }
            mod inner {
                #[loadtest::scenario(load = users(0, for = 10s))]
                #[ignore]
                fn nobody() { #[step(get = "/")] fn look(); }
            }
            #[scenario]
            fn visit() {
                #[step(get = "/{{logn.response.id}}", weight = 2.5)]
                fn look();
            }
            #[scenario(load = rate(5/s, ramp_up = 10s, for = 5s))]
            fn good_but_for_its_ramp() { #[step(get = "/a b")] fn look(); }
            "#,
        );
        assert_eq!(
            found
                .iter()
                .map(|told| told.split_once(": ").unwrap().0)
                .collect::<Vec<_>>(),
            [
                "users",
                "2.5",
                "\"/{{logn.response.id}}\"",
                "rate",
                "\"/a b\""
            ],
            "{found:?}"
        );
    }

    #[test]
    fn what_scenarios_share_is_known_in_each() {
        let text = |feed: &str| {
            format!(
                "#[scenarios(base = \"http://localhost\")] mod shop {{
                    #[feed] fn {feed}() -> Feed<User> {{ users() }}
                    #[scenario] fn visit() {{ #[step(get = \"/{{{{user.name}}}}\")] fn look(); }}
                }}"
            )
        };
        assert_eq!(mistakes(&text("user")), [""; 0]);
        assert_eq!(mistakes(&text("owner")).len(), 1);
    }

    #[test]
    fn a_shared_group_is_placed_and_one_of_another_file_is_not_guessed_at() {
        let scenario = "#[scenario] fn visit() {
            #[group] use other::sign_in;
            #[step(get = \"/{{login.response.id}}\")] fn look();
        }";
        let group = "#[group] fn sign_in() { #[step(post = \"/login\")] fn login() -> Value; }";
        assert_eq!(mistakes(&format!("{group} {scenario}")), [""; 0]);
        let renamed = group.replace("fn login", "fn enter");
        assert_eq!(mistakes(&format!("{renamed} {scenario}")).len(), 1);
        assert_eq!(mistakes(scenario), [""; 0]);
    }
}
