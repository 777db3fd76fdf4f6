//! `cargo loadtest duplicate`: the source of a scenario once more, as a new version of it.

use super::Project;
use crate::cli::{Cli, DuplicateArgs};
use crate::policy::Action;
use crate::selection::{Found, one};
use crate::source::{
    CopyRefusal, Duplicated, Original, copy_scenario, read_source, replace_source,
};
use crate::workspace::{Workspace, folder};
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_model::definition::ScenarioDef;
use loadtest_model::exit_code::ExitCode;
use std::path::{Path, PathBuf};
use syn::Ident;
use syn::ext::IdentExt as _;

/// Copies the source of the scenario right below itself.
///
/// # Errors
/// When it cannot be found or copied; the file is then as it was.
pub(crate) fn duplicate(args: &DuplicateArgs, cli: &Cli) -> Result<ExitCode, Error> {
    let name = parse_identifier(&args.name)
        .map_err(|reason| refuse_copy(&args.scenario, &reason, None))?;
    let project = Project::open(&args.project, cli)?;
    project.permits(Action::Duplicate, &project.config()?)?;
    let all = project.scenarios()?;
    let definition = &one(&all, &args.scenario)?.definition;
    let refused =
        |reason: String, help: Option<String>| refuse_copy(&definition.identity(), &reason, help);
    let short = name.unraw().to_string();
    if let Some(reason) = explain_taken(definition, &all, &short) {
        return Err(refused(reason, Some(ANOTHER_NAME.to_owned())));
    }
    let path = find_source(definition, &project.workspace).map_err(|reason| {
        let help = format!("copy it by hand: {}:{}", definition.file, definition.line);
        refused(reason, Some(help))
    })?;
    let text = read_source(&path)?;
    let original = Original {
        function: &definition.function,
        shown: &definition.name,
        line: definition.line as usize,
    };
    let new = copy_scenario(&text, &original, &name).map_err(|refusal| {
        let help = help_for(&refusal, definition);
        refused(refusal.to_string(), Some(help))
    })?;
    replace_source(&path, &text, &new.text)?;
    console::print_result(describe_refusal(definition, &short, &new))?;
    Ok(ExitCode::Passed)
}

fn refuse_copy(scenario: &str, reason: &str, help: Option<String>) -> Error {
    let error = Error::usage(format!("`{scenario}` cannot be duplicated: {reason}"));
    match help {
        Some(help) => error.with_help(help),
        None => error,
    }
}

const ANOTHER_NAME: &str = "give the copy another name";

fn describe_refusal(definition: &ScenarioDef, name: &str, new: &Duplicated) -> String {
    let mut copy = definition.clone();
    copy.function = name.to_owned().into();
    let identity = copy.identity();
    let mut text = format!(
        "Copied `{}` to `{identity}`\n  {}:{}\n",
        definition.identity(),
        definition.file,
        new.line
    );
    if let Some(version) = &new.version {
        text.push('\n');
        text.push_str(&console::clean(&format!(
            "The copy has `version = \"{version}\"` too: change it with what you change, or leave it out."
        )));
        text.push('\n');
    }
    text + "\nEarlier runs stay with the original. To run the copy:\n"
        + &format!("  cargo loadtest run {identity}")
}

/// `name` as the name of a function.
fn parse_identifier(name: &str) -> Result<Ident, String> {
    let bare = name.strip_prefix("r#").unwrap_or(name);
    // The parser passes over spaces and comments, and does not know the keyword of the newest edition.
    let parsed = syn::parse_str::<Ident>(name).ok();
    let parsed = parsed.filter(|ident| ident == name && name != "gen" && bare != "main");
    parsed.ok_or_else(|| {
        format!(
            "`{}` is not a valid name of a function; use letters, digits and `_`, and `r#` before a keyword",
            console::clean(name)
        )
    })
}

/// Returns the owner of the name among all scenarios.
fn explain_taken(definition: &ScenarioDef, all: &[Found], name: &str) -> Option<String> {
    let others = all.iter().map(|found| &found.definition);
    let mut same_package = others.filter(|other| other.package == definition.package);
    let other = same_package.find(|other| {
        other.name == name || (other.module == definition.module && other.function == name)
    })?;
    Some(format!(
        "the name `{name}` is taken by `{}`, {}:{}",
        other.identity(),
        other.file,
        other.line
    ))
}

/// Returns the file that holds the scenario, if it is one to be changed from here.
///
/// # Errors
/// The reason why it is none.
pub(crate) fn find_source(
    definition: &ScenarioDef,
    workspace: &Workspace,
) -> Result<PathBuf, String> {
    let members = workspace.packages();
    if !members
        .iter()
        .any(|member| member.name.as_str() == definition.package)
    {
        return Err(format!(
            "its package `{}` is not a member of this workspace",
            definition.package
        ));
    }
    let path = workspace.root().join(&*definition.file);
    let within = |folder: &Path| {
        let folder = folder.canonicalize();
        folder.is_ok_and(|folder| {
            path.canonicalize()
                .is_ok_and(|path| path.starts_with(folder))
        })
    };
    let is_source = within(workspace.root()) || members.iter().any(|one| within(&folder(one)));
    if is_source && !within(&workspace.target_directory) {
        return Ok(path);
    }
    Err(format!(
        "its file `{}` is not a source of this workspace",
        definition.file
    ))
}

fn help_for(refusal: &CopyRefusal, definition: &ScenarioDef) -> String {
    let place = format!("{}:{}", definition.file, definition.line);
    match refusal {
        CopyRefusal::Taken { .. } => ANOTHER_NAME.to_owned(),
        CopyRefusal::Unnamed { .. } => {
            format!("write `name = \"..\"` in the attribute, or copy it by hand: {place}")
        }
        _ => format!("copy it by hand: {place}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;
    use crate::workspace::Binary;

    #[test]
    fn only_the_name_of_a_function_is_taken() {
        for name in ["visit", "visit_2", "_x", "größe", "r#type"] {
            assert_eq!(parse_identifier(name).unwrap().to_string(), name);
        }
        for name in [
            "type",
            "async",
            "gen",
            "",
            " ",
            "a b",
            " a",
            "a ",
            "a/**/",
            "a-b",
            "1a",
            "a::b",
            "_",
            "self",
            "r#self",
            "crate",
            "main",
            "r#main",
            "a\u{1b}",
            "fn x() {}",
            "r#",
            "'a",
        ] {
            assert!(parse_identifier(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_name_is_taken_by_function_in_the_module_and_by_shown_name_in_the_package() {
        let found = |function: &str, module: &str, shown: &str| {
            let mut definition = sample::definition(function, &[]);
            definition.module = module.to_owned().into();
            definition.name = shown.to_owned().into();
            Found {
                definition,
                binary: Binary {
                    package: "shop".to_owned(),
                    package_root: PathBuf::new(),
                    target: "test `load`".to_owned(),
                    executable: PathBuf::new(),
                    script: None,
                    packages: None,
                },
                also_in: Vec::new(),
            }
        };
        let all = [
            found("visit", "load", "visit"),
            found("buy", "load", "A purchase"),
            found("sell", "load::inner", "A sale"),
            found("look", "load", "twin"),
        ];
        let taken = |name| explain_taken(&all[0].definition, &all, name);
        assert!(taken("buy").unwrap().contains("shop::load::buy"));
        assert!(taken("twin").unwrap().contains("shop::load::look"));
        assert_eq!(taken("sell"), None, "in another module");
        assert_eq!(taken("third"), None);
    }

    #[test]
    fn a_copied_version_is_told_in_a_paragraph_of_its_own() {
        let new = Duplicated {
            text: String::new(),
            line: 7,
            version: Some("3\u{1b}".to_owned()),
        };
        let text = describe_refusal(&sample::definition("visit", &[]), "visit_2", &new);
        assert!(
            text.contains(":7\n\nThe copy has `version = \"3␛\"` too: "),
            "{text}"
        );
    }
}
