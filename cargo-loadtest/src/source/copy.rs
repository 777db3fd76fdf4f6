//! The copy of a scenario within the text of its file: pure, from text to text.
//!
//! The item is copied byte for byte, but for its name; plain comments above it stay with the original.

use proc_macro2::{TokenStream, TokenTree};
use std::ops::Range;
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Attribute, Ident, Item, ItemFn, LitStr, Meta};

/// The source to copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Original<'a> {
    /// The name of the function, without `r#`.
    pub(crate) function: &'a str,
    /// The name shown to people.
    pub(crate) shown: &'a str,
    /// The line of the function's name.
    pub(crate) line: usize,
}

/// A file with the copy in it.
#[derive(Debug)]
pub(crate) struct Duplicated {
    /// The new text of the file.
    pub(crate) text: String,
    /// The line of the copy's name.
    pub(crate) line: usize,
    /// `version = ".."`, which the copy has too.
    pub(crate) version: Option<String>,
}

/// The reason why there is no copy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CopyRefusal {
    #[error("its file cannot be read as Rust: {message}, on line {line}")]
    Unreadable { message: String, line: usize },
    #[error(
        "`fn {function}` is not a function of a module on line {line}: a macro generated it, or the file has changed since \
         the program was built"
    )]
    Missing { function: String, line: usize },
    #[error("the name `{name}` is taken on line {line}")]
    Taken { name: String, line: usize },
    #[error("its name \"{shown}\" is not a plain string in its attribute")]
    Unnamed { shown: String },
    #[error("the copy could not be found in the file")]
    Lost,
}

/// Copies the function below itself under the name `name`.
///
/// # Errors
/// A [`CopyRefusal`].
pub(crate) fn copy_scenario(
    text: &str,
    original: &Original<'_>,
    name: &Ident,
) -> Result<Duplicated, CopyRefusal> {
    let file = parse_source(text)?;
    let found = find_function(&file.items, original.function, original.line);
    let (module, function) = found.ok_or_else(|| CopyRefusal::Missing {
        function: original.function.to_owned(),
        line: original.line,
    })?;
    let functions = module.iter().filter_map(|item| match item {
        Item::Fn(function) => Some(&function.sig.ident),
        _ => None,
    });
    // The compiler says so of all other names.
    if let Some(taken) = functions
        .into_iter()
        .find(|ident| ident.unraw() == name.unraw())
    {
        return Err(CopyRefusal::Taken {
            name: name.to_string(),
            line: taken.span().start().line,
        });
    }
    let ident = function.sig.ident.span().byte_range();
    let mut edits = vec![(ident, name.to_string())];
    match value_of(&function.attrs, "name").filter(|value| value.value() == original.shown) {
        Some(shown) => edits.push((shown.span().byte_range(), format!("\"{}\"", name.unraw()))),
        None if original.shown == original.function => {}
        None => {
            return Err(CopyRefusal::Unnamed {
                shown: original.shown.to_owned(),
            });
        }
    }
    let item = function.span().byte_range();
    let (new, at) = insert_copy(text, &item, edits);
    let lines = |text: &str| text.matches('\n').count();
    let line = original.line + lines(&new[..at]) - lines(&text[..item.start]);
    // A file is only written when the copy is found in it again.
    let again = parse_source(&new).map_err(|_| CopyRefusal::Lost)?;
    find_function(&again.items, &name.unraw().to_string(), line).ok_or(CopyRefusal::Lost)?;
    Ok(Duplicated {
        text: new,
        line,
        version: value_of(&function.attrs, "version").map(|version| version.value()),
    })
}

fn parse_source(text: &str) -> Result<syn::File, CopyRefusal> {
    syn::parse_str(text).map_err(|error| CopyRefusal::Unreadable {
        message: error.to_string(),
        line: error.span().start().line,
    })
}

/// The function called `name` on `line`, and the module that holds it.
fn find_function<'a>(
    items: &'a [Item],
    name: &str,
    line: usize,
) -> Option<(&'a [Item], &'a ItemFn)> {
    items.iter().find_map(|item| match item {
        Item::Fn(function) => {
            let ident = &function.sig.ident;
            (ident.unraw() == name && ident.span().start().line == line)
                .then_some((items, function))
        }
        Item::Mod(module) => find_function(&module.content.as_ref()?.1, name, line),
        _ => None,
    })
}

/// The string of `key = ".."` in one of the attributes.
fn value_of(attributes: &[Attribute], key: &str) -> Option<LitStr> {
    attributes
        .iter()
        .find_map(|attribute| match &attribute.meta {
            Meta::List(list) => value_in(list.tokens.clone(), key),
            _ => None,
        })
}

/// The same in the options of an attribute, also behind `cfg_attr(..)`.
fn value_in(options: TokenStream, key: &str) -> Option<LitStr> {
    let tokens: Vec<TokenTree> = options.into_iter().collect();
    for (i, token) in tokens.iter().enumerate() {
        match (token, tokens.get(i + 1), tokens.get(i + 2)) {
            (
                TokenTree::Ident(ident),
                Some(TokenTree::Punct(equals)),
                Some(value @ TokenTree::Literal(_)),
            ) if ident == key && equals.as_char() == '=' => {
                if let Ok(value) = syn::parse2(value.clone().into()) {
                    return Some(value);
                }
            }
            (TokenTree::Group(group), ..) => {
                if let Some(value) = value_in(group.stream(), key) {
                    return Some(value);
                }
            }
            _ => {}
        }
    }
    None
}

/// Puts a copy of `item` behind it, with the `edits`, whose places are those of the original; returns the text
/// and the start of the copy.
fn insert_copy(
    text: &str,
    item: &Range<usize>,
    edits: Vec<(Range<usize>, String)>,
) -> (String, usize) {
    let mut copy = text[item.clone()].to_owned();
    // From the end, so that the places before stay what they are.
    let mut edits = edits;
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    for (range, replacement) in edits {
        copy.replace_range(
            range.start - item.start..range.end - item.start,
            &replacement,
        );
    }
    // A comment behind the item stays there.
    let rest = text[item.end..].lines().next().unwrap_or_default();
    let behind = rest.trim_start();
    let belongs = behind.is_empty() || behind.starts_with("//");
    let end = item.end + if belongs { rest.len() } else { 0 };
    let before = text[..item.start].rsplit('\n').next().unwrap_or_default();
    let indent = &before[..before.len() - before.trim_start().len()];
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let lead = format!("{line_end}{line_end}{indent}");
    let whole = [&text[..end], &lead, &copy, &text[end..]].concat();
    (whole, end + lead.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_of(text: &str, part: &str) -> usize {
        text[..text.find(part).unwrap()].matches('\n').count() + 1
    }

    fn copy(text: &str, line: usize, shown: &str, name: &str) -> Result<Duplicated, CopyRefusal> {
        let original = Original {
            function: "visit",
            shown,
            line,
        };
        copy_scenario(text, &original, &syn::parse_str(name).unwrap())
    }

    fn copied(text: &str, name: &str) -> Duplicated {
        copy(text, line_of(text, "fn visit"), "visit", name).unwrap()
    }

    const FULL: &str = r##"use loadtest::prelude::*;

const TEXT: &str = "fn visit() {}"; // fn visit() {

// Why this load: see the contract.
/// A customer with a quirk: `}`.
#[scenario(
    tags = ["a"], // the first
    load = rate(5/s,   for = 8s),
)]
// Kept.
pub(crate) fn visit() { // opens
    /* } */
    #[step(get = "/a{{x}}")]
    fn visit();

    #[step]
    fn second(visit: &Response) -> Request {
        let _ = (r#"}" fn visit"#, '}', '"', b'}');
        Request::get("/ü")
    }
} // closes

fn after() {}
"##;

    #[test]
    fn the_copy_is_the_original_but_for_its_name() {
        let line = line_of(FULL, "pub(crate) fn visit");
        let new = copy(FULL, line, "visit", "visit_twice").unwrap();
        let begin = FULL.find("/// A customer").unwrap();
        let end = FULL.find(" // closes").unwrap();
        let original = &FULL[begin..end];
        let twin = original.replacen("crate) fn visit()", "crate) fn visit_twice()", 1);
        let expected = [
            &FULL[..end],
            " // closes\n\n",
            &twin,
            &FULL[end + " // closes".len()..],
        ]
        .concat();
        assert_eq!(new.text, expected);
        let name = new.text.lines().nth(new.line - 1).unwrap();
        assert_eq!(name, "pub(crate) fn visit_twice() { // opens");
    }

    #[test]
    fn line_ends_stay() {
        let line = line_of(FULL, "pub(crate) fn visit");
        let windows = FULL.replace('\n', "\r\n");
        let new = copy(&windows, line, "visit", "visit_twice").unwrap().text;
        assert_eq!(new.matches('\n').count(), new.matches("\r\n").count());
        let unix = copy(FULL, line, "visit", "visit_twice").unwrap();
        assert_eq!(new.replace("\r\n", "\n"), unix.text);
    }

    #[test]
    fn a_scenario_in_a_module_stays_in_it() {
        let text = "mod inner {\n    use super::*;\n    #[scenario]\n    fn visit() {\n        a();\n    }\n}\nfn twin() {}\n";
        let new = copied(text, "twin");
        assert_eq!(
            new.text,
            "mod inner {\n    use super::*;\n    #[scenario]\n    fn visit() {\n        a();\n    }\n\n    \
             #[scenario]\n    fn twin() {\n        a();\n    }\n}\nfn twin() {}\n"
        );
        assert_eq!(new.line, 9);
    }

    #[test]
    fn what_follows_on_the_same_line_stays_behind() {
        let new = copied("#[scenario] fn visit() {} fn other() {}", "twin");
        assert_eq!(
            new.text,
            "#[scenario] fn visit() {}\n\n#[scenario] fn twin() {} fn other() {}"
        );
    }

    #[test]
    fn a_name_of_its_own_is_given_to_the_copy_alone() {
        let text =
            "#[cfg_attr(all(), scenario(version = \"3\", name = r#\"A visit\"#))]\nfn visit() {}\n";
        let new = copy(text, 2, "A visit", "r#match").unwrap();
        assert!(
            new.text
                .ends_with("scenario(version = \"3\", name = \"match\"))]\nfn r#match() {}\n"),
            "{}",
            new.text
        );
        assert_eq!(new.version.as_deref(), Some("3"));
        let same = "#[scenario(name = \"visit\")]\nfn visit() {}\n";
        assert!(
            copy(same, 2, "visit", "twin")
                .unwrap()
                .text
                .contains("name = \"twin\"")
        );
        let made = "#[scenario(name = concat!(\"a\"))]\nfn visit() {}\n";
        assert!(matches!(
            copy(made, 2, "a", "twin"),
            Err(CopyRefusal::Unnamed { .. })
        ));
    }

    #[test]
    fn a_taken_name_and_what_no_function_of_a_module_is_are_refused() {
        let refusal = copy("fn visit() {}\nfn r#twin() {}\n", 1, "visit", "twin");
        let name = "twin".to_owned();
        assert_eq!(refusal.unwrap_err(), CopyRefusal::Taken { name, line: 2 });
        for (text, line) in [
            ("scenarios! {\n    fn visit() {}\n}\n", 2),
            ("\nfn visits() {}\nfn visit() {}\n", 2),
            ("fn visit() {}", 9),
        ] {
            let refusal = copy(text, line, "visit", "twin").unwrap_err();
            assert!(matches!(refusal, CopyRefusal::Missing { .. }), "{text}");
        }
        assert!(matches!(
            copy("fn visit() {\n", 1, "visit", "twin"),
            Err(CopyRefusal::Unreadable { .. })
        ));
    }
}
