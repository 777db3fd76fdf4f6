//! New scenarios, which stand before the call of `loadtest::main!`, else at the end of the file.

use super::blocks::comments_start;
use super::edit::{EditRefusal, EditedSource, NewStep};
use super::head::print_docs;
use super::kinds::Owner;
use super::layout::write_attribute;
use super::parts::{is_function_name, print_options, print_step, refuse};
use super::proof::prove_new_scenario;
use super::read::SourceText;
use super::splice::{Lines, Splice, apply_splices};
use super::tokens::{Token, Unreadable, lex_text};
use super::value::OptionValue;
use serde::{Deserialize, Serialize};

/// A scenario of steps without bodies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NewScenario {
    pub(crate) name: String,
    /// The doc comment.
    #[serde(default)]
    pub(crate) description: String,
    /// Keys and values, in the order of the source.
    pub(crate) options: Vec<(String, OptionValue)>,
    pub(crate) steps: Vec<NewStep>,
}

/// Adds a scenario to the text of a file.
///
/// # Errors
/// A name that is taken, and values that an option cannot have.
pub(crate) fn add_scenario(text: &str, new: &NewScenario) -> Result<EditedSource, EditRefusal> {
    let unreadable = |error: Unreadable| EditRefusal::Unreadable(error.to_string());
    let source = SourceText::read(text).map_err(unreadable)?;
    let tokens = lex_text(text).map_err(unreadable)?;
    check_names(text, &tokens, new)?;
    let lines = Lines(text);
    let line_end = lines.line_end();
    let written = print_scenario(new, line_end)?;
    let splice = if let Some(main) = find_main(text, &tokens) {
        let at = lines.start(comments_start(&source, main));
        Splice::insert(at, format!("{written}{line_end}"))
    } else {
        let is_ended = text.is_empty() || text.ends_with('\n');
        let gap = if is_ended { "" } else { line_end };
        let blank = if text.trim().is_empty() { "" } else { line_end };
        Splice::insert(text.len(), format!("{gap}{blank}{written}"))
    };
    let splices = vec![splice];
    let changed = apply_splices(text, &splices);
    let after = SourceText::read(&changed).map_err(|_| EditRefusal::Unproven)?;
    if !prove_new_scenario(&source, &after, new) {
        return Err(EditRefusal::Unproven);
    }
    Ok(EditedSource {
        text: changed,
        splices,
    })
}

/// Adds a module to the text of a load test; `file` is its path from the folder of that.
///
/// A plain `mod` would make cargo take a file beside the load test for another test.
///
/// # Errors
/// A name that is taken, or is none; a text without `loadtest::main!`.
pub(crate) fn add_module(text: &str, name: &str, file: &str) -> Result<EditedSource, EditRefusal> {
    let unreadable = |error: Unreadable| EditRefusal::Unreadable(error.to_string());
    let source = SourceText::read(text).map_err(unreadable)?;
    let tokens = lex_text(text).map_err(unreadable)?;
    if !is_function_name(name) {
        return refuse(format!(
            "`{name}` is not a valid name of a module; use letters, digits and `_`, and no keyword of Rust"
        ));
    }
    let is_taken = |pair: &[Token]| pair[0].is_word(text, "mod") && pair[1].is_word(text, name);
    if tokens.windows(2).any(is_taken) {
        return refuse(format!("there is a module `{name}` already"));
    }
    let Some(main) = find_main(text, &tokens) else {
        return refuse("the file has no `loadtest::main!`");
    };
    let lines = Lines(text);
    let line_end = lines.line_end();
    let at = lines.start(comments_start(&source, main));
    let written = format!("#[path = {file:?}]{line_end}mod {name};{line_end}{line_end}");
    let splices = vec![Splice::insert(at, written)];
    let changed = apply_splices(text, &splices);
    let after = SourceText::read(&changed).map_err(|_| EditRefusal::Unproven)?;
    if after.scenarios.len() != source.scenarios.len() {
        return Err(EditRefusal::Unproven);
    }
    Ok(EditedSource {
        text: changed,
        splices,
    })
}

fn print_scenario(new: &NewScenario, line_end: &str) -> Result<String, EditRefusal> {
    let options = print_options(Owner::Scenario, &new.options)?;
    let mut lines = print_docs(&new.description)?;
    lines.push(write_attribute("scenario", &options, "", line_end));
    lines.push(format!("fn {}() {{", new.name));
    for (number, step) in new.steps.iter().enumerate() {
        if number > 0 {
            lines.push(String::new());
        }
        lines.push(format!("    {}", print_step(step, "    ", line_end)?));
    }
    lines.push(format!("}}{line_end}"));
    Ok(lines.join(line_end))
}

pub(super) fn check_names(
    text: &str,
    tokens: &[Token],
    new: &NewScenario,
) -> Result<(), EditRefusal> {
    let steps = new.steps.iter().map(|step| &step.name);
    for name in [&new.name].into_iter().chain(steps) {
        if !is_function_name(name) || name.starts_with("r#") || name == "main" {
            return refuse(format!(
                "`{name}` is not a valid name of a function; use letters, digits and `_`, and no keyword of Rust"
            ));
        }
        if new.steps.iter().filter(|step| step.name == *name).count() > 1 {
            return refuse(format!("two steps are called `{name}`"));
        }
    }
    let is_taken = |pair: &[Token]| {
        pair[0].is_word(text, "fn")
            && pair[1]
                .word(text)
                .is_some_and(|word| word.trim_start_matches("r#") == new.name)
    };
    if tokens.windows(2).any(is_taken) {
        return refuse(format!("the file has a function `{}`", new.name));
    }
    if new.steps.is_empty() {
        return refuse("a scenario has at least one step");
    }
    Ok(())
}

/// The start of `loadtest::main!()`, with its attributes.
fn find_main(text: &str, tokens: &[Token]) -> Option<usize> {
    let is_call = |three: &[Token]| three[0].is_word(text, "main") && three[1].is_punct('!');
    let call = tokens.windows(2).position(is_call)?;
    let is_of_path = |token: &&Token| token.is_punct(':') || token.word(text).is_some();
    let path = tokens[..call].iter().rev().take_while(is_of_path).count();
    Some(tokens[call - path].range.start)
}
