//! Which scenarios an invocation is about, and what the user may have meant instead.

use crate::cli::SelectionArgs;
use crate::workspace::Binary;
use loadtest_console::error::Error;
use loadtest_console::suggestion::find_similar;
use loadtest_model::definition::ScenarioDef;
use std::fmt::Write as _;

/// A scenario and the program that holds it.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// The declared definition.
    pub(crate) definition: ScenarioDef,
    /// The program.
    pub(crate) binary: Binary,
    /// Further programs that hold it, which a library brings about.
    pub(crate) also_in: Vec<Binary>,
}

/// Keeps what `args` ask for, in the given order.
///
/// # Errors
/// When nothing matches a filter or a tag, or all of them together.
pub(crate) fn select(all: Vec<Found>, args: &SelectionArgs) -> Result<Vec<Found>, Error> {
    let identities: Vec<_> = all
        .iter()
        .map(|found| found.definition.identity())
        .collect();
    let matches = |identity: &str, filter: &str| {
        if args.exact {
            identity == filter
        } else {
            identity.contains(filter)
        }
    };
    let nothing = |criterion: String, suggestion: Option<String>, known: &[String]| {
        Err(no_match(&criterion, suggestion.as_deref(), known))
    };
    for filter in &args.filters {
        if !identities.iter().any(|identity| matches(identity, filter)) {
            let suggestion = similar_identity(filter, &identities);
            return nothing(format!("`{filter}`"), suggestion, &identities);
        }
    }
    let mut tags: Vec<String> = all
        .iter()
        .flat_map(|found| found.definition.tags.iter().map(ToString::to_string))
        .collect();
    tags.sort();
    tags.dedup();
    for tag in &args.tags {
        if !tags.contains(tag) {
            let suggestion = find_similar(tag, tags.iter().map(String::as_str)).map(str::to_owned);
            let known = if tags.is_empty() { &identities } else { &tags };
            return nothing(format!("the tag `{tag}`"), suggestion, known);
        }
    }
    let chosen: Vec<_> = all
        .into_iter()
        .zip(&identities)
        .filter(|(_, identity)| {
            args.filters.is_empty() || args.filters.iter().any(|filter| matches(identity, filter))
        })
        .map(|(found, _)| found)
        .filter(|found| {
            args.tags.is_empty()
                || found
                    .definition
                    .tags
                    .iter()
                    .any(|tag| args.tags.iter().any(|t| t == tag))
        })
        .collect();
    if chosen.is_empty() {
        return nothing("both filter and tag".to_owned(), None, &identities);
    }
    Ok(chosen)
}

/// The identities of which `filter` is a part.
///
/// # Errors
/// When there is none.
pub(crate) fn matching(identities: &[String], filter: &str) -> Result<Vec<String>, Error> {
    let found: Vec<String> = identities
        .iter()
        .filter(|identity| identity.contains(filter))
        .cloned()
        .collect();
    if found.is_empty() {
        let suggestion = similar_identity(filter, identities);
        return Err(no_match(
            &format!("`{filter}`"),
            suggestion.as_deref(),
            identities,
        ));
    }
    Ok(found)
}

/// The one scenario that `word` names: by its whole identity, else by an end of it, else by a part.
///
/// # Errors
/// When nothing or several scenarios match.
pub(crate) fn one<'a>(all: &'a [Found], word: &str) -> Result<&'a Found, Error> {
    let identified: Vec<_> = all
        .iter()
        .map(|found| (found.definition.identity(), found))
        .collect();
    let end = format!("::{word}");
    let ways: [&dyn Fn(&str) -> bool; 3] = [
        &|identity| identity == word,
        &|identity| identity.ends_with(&end),
        &|identity| identity.contains(word),
    ];
    for matches in ways {
        let mut matching = identified.iter().filter(|(identity, _)| matches(identity));
        match (matching.next(), matching.next()) {
            (None, _) => {}
            (Some((_, found)), None) => return Ok(found),
            (Some(first), Some(second)) => {
                let candidates = [first, second].into_iter().chain(matching);
                let candidates: Vec<_> = candidates.map(|(identity, _)| identity.clone()).collect();
                let message = format!(
                    "`{word}` matches several scenarios{}",
                    list_known(None, &candidates)
                );
                return Err(Error::usage(message).with_help("give the full name of one"));
            }
        }
    }
    Err(not_found(all, word))
}

/// The scenario with this identity.
///
/// # Errors
/// When there is none.
pub(crate) fn identified<'a>(all: &'a [Found], identity: &str) -> Result<&'a Found, Error> {
    let mut all_found = all.iter();
    let found = all_found.find(|found| found.definition.identity() == identity);
    found.ok_or_else(|| not_found(all, identity))
}

fn not_found(all: &[Found], word: &str) -> Error {
    let known: Vec<_> = all
        .iter()
        .map(|found| found.definition.identity())
        .collect();
    let suggestion = similar_identity(word, &known);
    no_match(&format!("`{word}`"), suggestion.as_deref(), &known)
}

fn no_match(criterion: &str, suggestion: Option<&str>, known: &[String]) -> Error {
    let known = list_known(suggestion, known);
    Error::nothing_found(format!("no scenario matches {criterion}{known}"))
}

/// Lists the suggestion first, then some of all known names, a line each.
fn list_known(suggestion: Option<&str>, known: &[String]) -> String {
    const SHOWN: usize = 10;
    let mut text = String::new();
    if let Some(name) = suggestion {
        let _ = write!(text, "\ndid you mean `{name}`?");
    }
    text.push_str("\navailable:");
    for name in known.iter().take(SHOWN) {
        let _ = write!(text, "\n  {name}");
    }
    if let Some(more @ 1..) = known.len().checked_sub(SHOWN) {
        let _ = write!(text, "\n  and {more} more; see `cargo loadtest list`");
    }
    text
}

/// Returns the identity that `filter` is likely a misspelling of, or of an end of it: `chekout` for
/// `shop::load::checkout`.
fn similar_identity(filter: &str, identities: &[String]) -> Option<String> {
    let ends = identities.iter().flat_map(|identity| {
        std::iter::once(identity.as_str())
            .chain(
                identity
                    .match_indices("::")
                    .map(|(at, _)| &identity[at + 2..]),
            )
            .map(move |end| (end, identity))
    });
    let ends: Vec<_> = ends.collect();
    let best = find_similar(filter, ends.iter().map(|(end, _)| *end))?;
    ends.iter()
        .find(|(end, _)| *end == best)
        .map(|(_, identity)| (*identity).clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadtest_model::exit_code::ExitCode;
    use std::path::PathBuf;

    fn found(function: &str, tags: &[&str]) -> Found {
        let tags: Vec<_> = tags.iter().map(|tag| (*tag).to_owned()).collect();
        Found {
            definition: crate::session::sample::definition(function, &tags),
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
    }

    fn names(args: &SelectionArgs) -> Result<Vec<String>, Error> {
        let all = vec![
            found("checkout", &["critical"]),
            found("check", &["smoke", "critical"]),
            found("browse", &["smoke"]),
        ];
        Ok(select(all, args)?
            .iter()
            .map(|found| found.definition.function.to_string())
            .collect())
    }

    fn args(filters: &[&str], exact: bool, tags: &[&str]) -> SelectionArgs {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        SelectionArgs {
            filters: owned(filters),
            exact,
            tags: owned(tags),
        }
    }

    #[test]
    fn filters_are_substrings_and_several_are_an_or() {
        assert_eq!(names(&args(&[], false, &[])).unwrap().len(), 3);
        assert_eq!(
            names(&args(&["check"], false, &[])).unwrap(),
            ["checkout", "check"]
        );
        assert_eq!(
            names(&args(&["checkout", "brow"], false, &[])).unwrap(),
            ["checkout", "browse"]
        );
        assert_eq!(
            names(&args(&["shop::load::check"], true, &[])).unwrap(),
            ["check"]
        );
    }

    #[test]
    fn tags_narrow_what_filters_left() {
        assert_eq!(
            names(&args(&["check"], false, &["smoke"])).unwrap(),
            ["check"]
        );
        let error = names(&args(&["checkout"], false, &["smoke"])).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("no scenario matches both filter and tag")
        );
    }

    #[test]
    fn an_unknown_filter_is_corrected_by_any_end_of_an_identity() {
        for filter in ["chekout", "load::chekout", "shop::laod::checkout"] {
            let error = names(&args(&[filter], false, &[])).unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains("did you mean `shop::load::checkout`?"),
                "{text}"
            );
            assert_eq!(error.exit_code(), ExitCode::NothingFound);
            assert!(error.to_string().contains("shop::load::browse"));
        }
    }

    #[test]
    fn one_unknown_filter_among_known_ones_is_an_error() {
        let error = names(&args(&["check", "zzz"], false, &[])).unwrap_err();
        assert!(error.to_string().starts_with("no scenario matches `zzz`"));
        assert!(!error.to_string().contains("did you mean"));
    }

    #[test]
    fn one_scenario_is_meant_by_identity_by_end_or_by_a_part_of_its_own() {
        let all = [
            found("checkout", &[]),
            found("checkout_twice", &[]),
            found("browse", &[]),
        ];
        let name = |word: &str| one(&all, word).map(|found| found.definition.function.to_string());
        for (word, function) in [
            ("shop::load::checkout", "checkout"),
            ("checkout", "checkout"),
            ("load::browse", "browse"),
            ("twice", "checkout_twice"),
        ] {
            assert_eq!(name(word).unwrap(), function, "{word}");
        }
        let exact = |word: &str| identified(&all, word).map(|found| &found.definition.function);
        assert_eq!(exact("shop::load::checkout").unwrap(), "checkout");
        for part in ["checkout", "load::browse", "twice"] {
            let error = exact(part).unwrap_err();
            assert_eq!(error.exit_code(), ExitCode::NothingFound, "{part}");
            assert!(
                error
                    .to_string()
                    .starts_with(&format!("no scenario matches `{part}`")),
                "{error}"
            );
        }
        let error = name("check").unwrap_err();
        assert_eq!(error.exit_code(), ExitCode::Usage);
        let text = error.to_string();
        assert!(
            text.contains("load::checkout\n") && text.contains("checkout_twice"),
            "{text}"
        );
        assert!(!text.contains("browse"), "{text}");
        let error = name("brwose").unwrap_err();
        assert_eq!(error.exit_code(), ExitCode::NothingFound);
        assert!(error.to_string().contains("did you mean"), "{error}");
    }

    #[test]
    fn an_unknown_tag_lists_the_tags() {
        let error = names(&args(&[], false, &["smokee"])).unwrap_err();
        assert!(error.to_string().contains("did you mean `smoke`?"));
        assert!(error.to_string().contains("critical\n  smoke"));
    }

    #[test]
    fn ten_of_many_scenarios_are_listed() {
        let error = |count: usize| {
            let known: Vec<_> = (0..count).map(|i| format!("n{i}")).collect();
            no_match("`x`", Some("n1"), &known).to_string()
        };
        let text = error(53);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[1], "did you mean `n1`?");
        assert_eq!(lines.len(), 14);
        assert_eq!(lines[13], "  and 43 more; see `cargo loadtest list`");
        assert!(!error(10).contains("more"));
    }
}
