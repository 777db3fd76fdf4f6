//! The modules of a file that stand in files of their own.

use super::grammar::Rest;
use super::tokens::{Token, TokenKind, Unreadable, lex_text};

/// `mod shop;`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModuleFile {
    pub(crate) name: String,
    /// The text of `#[path = ".."]`.
    pub(crate) path: Option<String>,
}

/// Reads the modules of a text that stand in files of their own; those within other modules are left out.
///
/// # Errors
/// A text that is no Rust.
pub(crate) fn find_module_files(text: &str) -> Result<Vec<ModuleFile>, Unreadable> {
    let tokens = lex_text(text)?;
    let modules = tokens.windows(3).enumerate().filter_map(|(at, three)| {
        let name = three[1].word(text)?;
        let is_module = three[0].is_word(text, "mod") && three[2].is_punct(';');
        is_module.then(|| ModuleFile {
            name: name.strip_prefix("r#").unwrap_or(name).to_owned(),
            path: path_before(text, &tokens[..at]),
        })
    });
    Ok(modules.collect())
}

/// The text of `#[path = ".."]` among the attributes at the end of these tokens.
fn path_before(text: &str, mut tokens: &[Token]) -> Option<String> {
    loop {
        tokens = match tokens {
            [rest @ .., hash, attribute] if hash.is_punct('#') => {
                if let [name, equals, value @ ..] = attribute.group('[')?
                    && name.is_word(text, "path")
                    && equals.is_punct('=')
                {
                    return Rest::new(text, value).take_string();
                }
                rest
            }
            [rest @ .., last]
                if last.kind == TokenKind::Doc
                    || last.is_word(text, "pub")
                    || last.group('(').is_some() =>
            {
                rest
            }
            _ => return None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_in_files_of_their_own_are_found_with_their_paths() {
        let text = "//! Load tests.\n#[path = \"load/a.rs\"]\nmod a;\nuse x::mod_b;\n/// B.\npub(crate) mod b;\n\
                    #[path = \"c.rs\"]\n#[cfg(test)]\npub mod r#c;\nmod inner { mod d; }\nfn e() { f(\"mod g;\"); }\n";
        let found = find_module_files(text).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|module| (module.name.as_str(), module.path.as_deref()))
            .collect();
        assert_eq!(
            found,
            [("a", Some("load/a.rs")), ("b", None), ("c", Some("c.rs"))]
        );
    }
}
