//! The mistakes that the macros would report, so that a form refuses them in the same words.

use super::attribute::Attribute;
use super::create::{NewScenario, add_scenario, check_names};
use super::edit::{Edit, EditRefusal, EditedSource, RefusedEdit, apply_edits};
use super::kinds::{Owner, REQUEST, form_key};
use super::read::SourceText;
use super::tokens::lex_text;
use super::value::check_and_print;
use proc_macro2::{TokenStream, extra};
use std::ops::Range;

/// A mistake and its place in the text.
struct SourceMistake {
    range: Range<usize>,
    message: String,
}

/// A field of a new scenario that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RefusedField {
    /// The key of an option; `name` for that of the function.
    pub(crate) key: String,
    pub(crate) message: String,
}

/// Applies the edits, and refuses those that the macros would find a mistake in. Mistakes that were there before stay.
///
/// # Errors
/// Every edit that is refused; the text is then as it was.
pub(crate) fn apply_checked_edits(
    text: &str,
    scenario: &str,
    edits: &[Edit],
) -> Result<EditedSource, Vec<RefusedEdit>> {
    let edited = apply_edits(text, scenario, edits)?;
    let mistakes = find_new_mistakes(text, &edited.text);
    if mistakes.is_empty() {
        return Ok(edited);
    }
    let after = SourceText::read(&edited.text).ok();
    let refused = mistakes.into_iter().map(|mistake| RefusedEdit {
        edit: after
            .as_ref()
            .and_then(|after| find_cause(after, scenario, edits, mistake.range.start))
            .unwrap_or(edits.len().saturating_sub(1)),
        reason: EditRefusal::Refused(mistake.message),
    });
    Err(refused.collect())
}

/// Adds a scenario, unless the macros would find a mistake in it.
///
/// # Errors
/// Every field that is refused.
pub(crate) fn add_checked_scenario(
    text: &str,
    new: &NewScenario,
) -> Result<EditedSource, Vec<RefusedField>> {
    let own = new.options.iter().map(|option| (Owner::Scenario, option));
    let steps = new.steps.iter().flat_map(|step| &step.options);
    let all = own.chain(steps.map(|option| (Owner::Step, option)));
    let refuse = |key: &str, message: String| RefusedField {
        key: key.to_owned(),
        message,
    };
    let mut refused: Vec<RefusedField> = all
        .filter_map(|(owner, (key, value))| {
            let message = match check_and_print(owner, key, value) {
                Ok(printed) => explain_option(owner, key, &printed),
                Err(message) => Some(message),
            };
            message.map(|message| refuse(key, message))
        })
        .collect();
    if let Ok(tokens) = lex_text(text)
        && let Err(refusal) = check_names(text, &tokens, new)
    {
        refused.push(refuse("name", refusal.to_string()));
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    let edited =
        add_scenario(text, new).map_err(|refusal| vec![refuse("name", refusal.to_string())])?;
    let after = SourceText::read(&edited.text).ok();
    for mistake in find_new_mistakes(text, &edited.text) {
        let found = after
            .as_ref()
            .and_then(|after| find_option(after, &new.name, mistake.range.start));
        let key = found.and_then(|place| place.option).map(|(key, _)| key);
        refused.push(refuse(key.as_deref().unwrap_or("name"), mistake.message));
    }
    if refused.is_empty() {
        Ok(edited)
    } else {
        Err(refused)
    }
}

/// Returns what a macro says of an option, if it finds a mistake in it.
pub(super) fn explain_option(owner: Owner, key: &str, printed: &str) -> Option<String> {
    let (before, after) = match owner {
        Owner::Scenario => ("#[scenario(", ")] fn s() { #[step(get = \"/\")] fn a(); }"),
        Owner::Step if key == REQUEST => ("#[scenario] fn s() { #[step(", ")] fn a(); }"),
        Owner::Step => ("#[scenario] fn s() { #[step(post = \"/\", ", ")] fn a(); }"),
        Owner::Group => (
            "#[scenario] fn s() { #[group(",
            ")] fn g() { #[step(get = \"/\")] fn a(); } }",
        ),
        Owner::Feed => (
            "#[scenario] fn s() { #[feed(",
            ")] fn f() -> Feed<u8> {} #[step(get = \"/\")] fn a(); }",
        ),
    };
    let place = before.len()..before.len() + printed.len();
    let mistakes = find_mistakes(&format!("{before}{printed}{after}"));
    // Of the names of steps nothing is known here.
    let is_about_it = |mistake: &SourceMistake| place.contains(&mistake.range.start);
    mistakes
        .into_iter()
        .find(is_about_it)
        .map(|mistake| mistake.message)
}

fn find_mistakes(text: &str) -> Vec<SourceMistake> {
    let mistakes = text.parse::<TokenStream>().map_or_else(
        |_| Vec::new(),
        |tokens| {
            let errors = loadtest_language::find_mistakes(tokens);
            let mistakes = errors.iter().map(|error| SourceMistake {
                range: error.span().byte_range(),
                message: error.to_string(),
            });
            mistakes.collect()
        },
    );
    extra::invalidate_current_thread_spans();
    mistakes
}

/// The mistakes of `after` that `before` does not have.
fn find_new_mistakes(before: &str, after: &str) -> Vec<SourceMistake> {
    let mut known: Vec<String> = find_mistakes(before)
        .into_iter()
        .map(|mistake| mistake.message)
        .collect();
    let mut mistakes = find_mistakes(after);
    mistakes.retain(|mistake| {
        let same = known.iter().position(|known| *known == mistake.message);
        same.map(|at| known.swap_remove(at)).is_none()
    });
    mistakes
}

/// What stands at a place of a scenario.
struct OptionPlace {
    /// The part; none for the scenario itself.
    part: Option<String>,
    /// Key and number of the option.
    option: Option<(String, usize)>,
}

fn find_option(source: &SourceText, path: &str, at: usize) -> Option<OptionPlace> {
    let (owner, holder) = source.find_holder(path).ok()?;
    if holder.attribute.range.contains(&at) {
        return Some(OptionPlace {
            part: None,
            option: option_at(owner, &holder.attribute, at),
        });
    }
    // The members of a group follow it, and lie within it.
    let mut parts = holder.parts.iter().rev();
    let part = parts.find(|part| part.item.range.contains(&at))?;
    let attribute = part.attribute.as_ref();
    Some(OptionPlace {
        part: Some(part.item.name.clone()),
        option: attribute.and_then(|attribute| option_at(Owner::of_role(part.role), attribute, at)),
    })
}

fn option_at(owner: Owner, attribute: &Attribute, at: usize) -> Option<(String, usize)> {
    let mut options = attribute.options.iter();
    let option = options.find(|option| option.range.contains(&at))?;
    let key = form_key(owner, &option.key);
    let same = attribute.options.iter();
    let same = same.filter(|other| form_key(owner, &other.key) == key);
    let number = same
        .take_while(|other| other.range.start <= option.range.start)
        .count();
    Some((key.to_owned(), number))
}

/// The number of the edit that is about this place of the changed text.
fn find_cause(after: &SourceText, path: &str, edits: &[Edit], at: usize) -> Option<usize> {
    let place = find_option(after, path, at)?;
    let nearness = |edit: &Edit| match edit {
        Edit::Option(edit) if edit.step == place.part => match &place.option {
            Some((key, number)) if *key == edit.option && *number == edit.number => 3,
            Some((key, _)) if *key == edit.option => 2,
            _ => 1,
        },
        Edit::Describe { step, .. } if *step == place.part => 1,
        Edit::AddStep { step, .. } => usize::from(place.part.as_ref() == Some(&step.name)) * 3,
        Edit::DuplicateStep { name: step, .. }
        | Edit::RenameStep { to: step, .. }
        | Edit::Returns { step, .. }
        | Edit::RemoveStep { step, .. }
        | Edit::MoveStep { step, .. } => usize::from(place.part.as_ref() == Some(step)) * 2,
        Edit::Option(_) | Edit::Describe { .. } | Edit::AddField { .. } => 0,
    };
    let numbered = edits.iter().map(nearness).enumerate();
    let nearest = numbered.filter(|(_, nearness)| *nearness > 0);
    nearest
        .max_by_key(|(_, nearness)| *nearness)
        .map(|(number, _)| number)
}
