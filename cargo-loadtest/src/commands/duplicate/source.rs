//! The copy of a scenario within the text of its file: pure, from text to text.
//!
//! What is copied is copied byte for byte, but for the name.

use proc_macro2::{TokenStream, TokenTree};
use std::borrow::Cow;
use std::ops::Range;
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Attribute, ForeignItem, Ident, Item, ItemFn, LitStr, Meta, UseTree};

/// The source to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Original<'a> {
    /// The name of the function, without `r#`.
    pub(super) function: &'a str,
    /// The name shown to people.
    pub(super) shown: &'a str,
    /// The line of the function's name.
    pub(super) line: usize,
}

/// A file with the copy in it.
#[derive(Debug)]
pub(super) struct Duplicated {
    /// The new text of the file.
    pub(super) text: String,
    /// The line of the copy's name.
    pub(super) line: usize,
    /// `version = ".."`, which the copy has too.
    pub(super) version: Option<String>,
}

/// The reason why there is no copy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum CopyRefusal {
    #[error("its file cannot be read as Rust: {message}, on line {line}")]
    Unreadable { message: String, line: usize },
    #[error(
        "`fn {function}` does not stand on line {line}, where it was when the program was built"
    )]
    Moved { function: String, line: usize },
    #[error("it is made by a macro, or stands within another function, on line {line}")]
    Made { line: usize },
    #[error("the name `{name}` is taken on line {line}")]
    Taken { name: String, line: usize },
    #[error("its name \"{shown}\" does not stand in its attribute as a plain string")]
    Unnamed { shown: String },
    #[error("the copy could not be told from the rest of the file")]
    Lost,
}

/// Copies the function below itself under the name `name`.
///
/// # Errors
/// A [`CopyRefusal`].
pub(super) fn duplicate(
    text: &str,
    original: &Original<'_>,
    name: &Ident,
) -> Result<Duplicated, CopyRefusal> {
    let file = parse_source(text)?;
    let Some((module, function)) = find_function(&file.items, original.function, original.line)
    else {
        return Err(explain_missing(text, original));
    };
    if let Some(line) = module.iter().find_map(|item| has_name(item, name)) {
        return Err(CopyRefusal::Taken {
            name: name.to_string(),
            line,
        });
    }
    let mut edits = vec![(
        byte_range(text, function.sig.ident.span()),
        name.to_string(),
    )];
    match value_of(&function.attrs, "name").filter(|value| value.value() == original.shown) {
        Some(shown) => edits.push((
            byte_range(text, shown.span()),
            format!("\"{}\"", name.unraw()),
        )),
        None if original.shown == original.function => {}
        None => {
            return Err(CopyRefusal::Unnamed {
                shown: original.shown.to_owned(),
            });
        }
    }
    let item = byte_range(text, function.span());
    let whole = with_comments(text, item.start)..item.end;
    let new = insert_copy(text, &whole, edits);
    let lines = |text: &str| text.matches('\n').count();
    let line = original.line + lines(&new.text[..new.at]) - lines(&text[..whole.start]);
    // A file is only written when the copy is found in it again.
    let again = parse_source(&new.text).map_err(|_| CopyRefusal::Lost)?;
    find_function(&again.items, &name.unraw().to_string(), line).ok_or(CopyRefusal::Lost)?;
    Ok(Duplicated {
        text: new.text,
        line,
        version: value_of(&function.attrs, "version").map(|version| version.value()),
    })
}

const BYTE_ORDER_MARK: char = '\u{feff}';

fn parse_source(text: &str) -> Result<syn::File, CopyRefusal> {
    let code = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    // Spaces in place of a line for the shell, so that all else stays where it is.
    let is_for_shell = |line: &str| {
        line.strip_prefix("#!")
            .is_some_and(|rest| !rest.trim_start().starts_with('['))
    };
    let code = match code.lines().next() {
        Some(line) if is_for_shell(line) => {
            Cow::Owned(" ".repeat(line.len()) + &code[line.len()..])
        }
        _ => Cow::Borrowed(code),
    };
    syn::parse_str(&code).map_err(|error| CopyRefusal::Unreadable {
        message: error.to_string(),
        line: error.span().start().line,
    })
}

/// The place of `span` in `text`, whose byte order mark the parser has not seen.
fn byte_range(text: &str, span: proc_macro2::Span) -> Range<usize> {
    let mark = if text.starts_with(BYTE_ORDER_MARK) {
        BYTE_ORDER_MARK.len_utf8()
    } else {
        0
    };
    let range = span.byte_range();
    range.start + mark..range.end + mark
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

/// Returns the reason why the function is missing.
fn explain_missing(text: &str, original: &Original<'_>) -> CopyRefusal {
    let line = text.lines().nth(original.line.saturating_sub(1));
    let stands_there = line.is_some_and(|line| {
        line.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
            .any(|word| word == original.function)
    });
    if stands_there {
        CopyRefusal::Made {
            line: original.line,
        }
    } else {
        CopyRefusal::Moved {
            function: original.function.to_owned(),
            line: original.line,
        }
    }
}

/// The line where `item` gives something the name `name`.
fn has_name(item: &Item, name: &Ident) -> Option<usize> {
    let one = |ident: &Ident| (ident.unraw() == name.unraw()).then(|| ident.span().start().line);
    match item {
        Item::Const(item) => one(&item.ident),
        Item::Enum(item) => one(&item.ident),
        Item::ExternCrate(item) => one(item.rename.as_ref().map_or(&item.ident, |(_, name)| name)),
        Item::Fn(item) => one(&item.sig.ident),
        Item::ForeignMod(block) => block.items.iter().find_map(|item| match item {
            ForeignItem::Fn(item) => one(&item.sig.ident),
            ForeignItem::Static(item) => one(&item.ident),
            ForeignItem::Type(item) => one(&item.ident),
            _ => None,
        }),
        Item::Mod(item) => one(&item.ident),
        Item::Static(item) => one(&item.ident),
        Item::Struct(item) => one(&item.ident),
        Item::Trait(item) => one(&item.ident),
        Item::TraitAlias(item) => one(&item.ident),
        Item::Type(item) => one(&item.ident),
        Item::Union(item) => one(&item.ident),
        Item::Use(item) => find_import(&item.tree, &one),
        _ => None,
    }
}

fn find_import(tree: &UseTree, one: &impl Fn(&Ident) -> Option<usize>) -> Option<usize> {
    match tree {
        UseTree::Path(path) => find_import(&path.tree, one),
        UseTree::Name(name) => one(&name.ident),
        UseTree::Rename(rename) => one(&rename.rename),
        UseTree::Group(group) => group.items.iter().find_map(|tree| find_import(tree, one)),
        UseTree::Glob(_) => None,
    }
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

/// Returns the start of an item, including the comment lines right above it.
fn with_comments(text: &str, start: usize) -> usize {
    let mut begin = start;
    let line = |end: usize| text[..end].rfind('\n').map_or(0, |at| at + 1);
    if !text[line(start)..start].trim().is_empty() {
        return start;
    }
    while let Some(end) = line(begin).checked_sub(1) {
        let above = &text[line(end)..end];
        if !above.trim_start().starts_with("//") || above.trim_start().starts_with("//!") {
            break;
        }
        begin = line(end) + (above.len() - above.trim_start().len());
    }
    begin
}

/// A text with something new in it.
struct Inserted {
    text: String,
    /// The start of the new part.
    at: usize,
}

/// Puts a copy of `item` behind it, with the `edits`, whose places are those of the original.
fn insert_copy(
    text: &str,
    item: &Range<usize>,
    mut edits: Vec<(Range<usize>, String)>,
) -> Inserted {
    edits.sort_by_key(|(range, _)| range.start);
    let mut copy = String::new();
    let mut copied = item.start;
    for (range, replacement) in edits {
        copy.push_str(&text[copied..range.start]);
        copy.push_str(&replacement);
        copied = range.end;
    }
    copy.push_str(&text[copied..item.end]);

    let line_end = text[item.end..]
        .find('\n')
        .map_or(text.len(), |at| item.end + at);
    let rest = text[item.end..line_end].trim_end_matches('\r');
    let behind = rest.trim();
    let belongs = behind.is_empty() || behind.starts_with("//");
    let end = item.end + if belongs { rest.len() } else { 0 };
    let windows = if line_end < text.len() {
        text[..line_end].ends_with('\r')
    } else {
        text.contains("\r\n")
    };
    let new_line = if windows { "\r\n" } else { "\n" };
    let first = &text[text[..item.start].rfind('\n').map_or(0, |at| at + 1)..item.start];
    let indent = &first[..first.len() - first.trim_start().len()];
    let lead = format!("{new_line}{new_line}{indent}");
    Inserted {
        text: [&text[..end], &lead, &copy, &text[end..]].concat(),
        at: end + lead.len(),
    }
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
        duplicate(text, &original, &syn::parse_str(name).unwrap())
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
        let begin = FULL.find("// Why this load").unwrap();
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
    fn line_ends_and_a_byte_order_mark_stay() {
        let text = format!("\u{feff}{}", FULL.replace('\n', "\r\n"));
        let original = Original {
            function: "visit",
            shown: "visit",
            line: line_of(FULL, "pub(crate) fn visit"),
        };
        let name = syn::parse_str("visit_twice").unwrap();
        let new = duplicate(&text, &original, &name).unwrap();
        let plain = new.text.strip_prefix('\u{feff}').unwrap();
        assert_eq!(plain.matches('\n').count(), plain.matches("\r\n").count());
        let line = line_of(FULL, "pub(crate) fn visit");
        let unix = copy(FULL, line, "visit", "visit_twice").unwrap();
        assert_eq!(plain.replace("\r\n", "\n"), unix.text);
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
        let new = copied("#!/usr/bin/env x\nfn visit() {}", "r#type");
        assert_eq!(
            new.text,
            "#!/usr/bin/env x\nfn visit() {}\n\nfn r#type() {}"
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
    fn a_taken_name_is_found_wherever_it_comes_from() {
        for item in [
            "fn twin() {}",
            "struct twin;",
            "const twin: u8 = 1;",
            "static twin: u8 = 1;",
            "mod twin {}",
            "use a::{b, c::twin};",
            "use a::b as twin;",
            "unsafe extern \"C\" { fn twin(); }",
            "extern crate a as twin;",
            "fn r#twin() {}",
        ] {
            let text = format!("fn visit() {{}}\n{item}\n");
            let refusal = copy(&text, 1, "visit", "twin").unwrap_err();
            let name = "twin".to_owned();
            assert_eq!(refusal, CopyRefusal::Taken { name, line: 2 }, "{item}");
        }
        assert!(copy("fn visit() {}\nuse twin::x;\n", 1, "visit", "twin").is_ok());
    }

    #[test]
    fn what_no_function_of_a_module_is_is_refused() {
        let made = "scenarios! {\n    fn visit() {}\n}\n";
        assert_eq!(
            copy(made, 2, "visit", "twin").unwrap_err(),
            CopyRefusal::Made { line: 2 }
        );
        let moved = "\nfn visits() {}\nfn visit() {}\n";
        assert!(matches!(
            copy(moved, 2, "visit", "twin"),
            Err(CopyRefusal::Moved { .. })
        ));
        assert!(matches!(
            copy("fn visit() {}", 9, "visit", "twin"),
            Err(CopyRefusal::Moved { .. })
        ));
        assert!(matches!(
            copy("fn visit() {\n", 1, "visit", "twin"),
            Err(CopyRefusal::Unreadable { .. })
        ));
    }
}
