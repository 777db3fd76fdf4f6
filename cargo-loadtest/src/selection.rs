//! Which scenarios an invocation is about, and what the user may have meant instead.

use crate::cli::SelectionArgs;
use crate::error::Error;
use crate::workspace::Binary;
use loadtest_model::definition::ScenarioDef;

/// A scenario and the program that holds it.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// What the scenario declares.
    pub(crate) definition: ScenarioDef,
    /// The program.
    pub(crate) binary: Binary,
    /// Further programs that hold it, which a library brings about.
    pub(crate) also_in: Vec<Binary>,
}

/// Keeps what `args` ask for, in the given order.
///
/// # Errors
/// [`Error::NothingMatches`] for the first filter or tag that nothing matches, and when all of them
/// together match nothing.
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
        Err(Error::NothingMatches {
            criterion,
            suggestion,
            known: known.to_vec(),
        })
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
            let suggestion = similar(tag, tags.iter().map(String::as_str)).map(str::to_owned);
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
/// [`Error::NothingMatches`].
pub(crate) fn matching(identities: &[String], filter: &str) -> Result<Vec<String>, Error> {
    let found: Vec<String> = identities
        .iter()
        .filter(|identity| identity.contains(filter))
        .cloned()
        .collect();
    if found.is_empty() {
        return Err(Error::NothingMatches {
            criterion: format!("`{filter}`"),
            suggestion: similar_identity(filter, identities),
            known: identities.to_vec(),
        });
    }
    Ok(found)
}

/// The one scenario that `word` names: by its whole identity, else by an end of it, else by a part.
///
/// # Errors
/// [`Error::NothingMatches`]; [`Error::SeveralMatch`].
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
                return Err(Error::SeveralMatch {
                    word: word.to_owned(),
                    candidates: candidates.map(|(identity, _)| identity.clone()).collect(),
                });
            }
        }
    }
    let known: Vec<_> = identified
        .into_iter()
        .map(|(identity, _)| identity)
        .collect();
    Err(Error::NothingMatches {
        criterion: format!("`{word}`"),
        suggestion: similar_identity(word, &known),
        known,
    })
}

/// The candidate that `word` is most likely a misspelling of.
pub(crate) fn similar<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| {
            *distance <= (word.chars().count().max(candidate.chars().count()) / 3).max(1)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The candidates in words: `a`, `b` or `c`.
pub(crate) fn one_of<S: AsRef<str>>(candidates: &[S]) -> String {
    let quoted: Vec<_> = candidates
        .iter()
        .map(|candidate| format!("`{}`", candidate.as_ref()))
        .collect();
    match quoted.as_slice() {
        [] => "none".to_owned(),
        [one] => one.clone(),
        [some @ .., last] => format!("{} and {last}", some.join(", ")),
    }
}

/// As [`similar`], by the whole identity or by any end of it: `chekout` is like `shop::load::checkout`.
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
    let best = similar(filter, ends.iter().map(|(end, _)| *end))?;
    ends.iter()
        .find(|(end, _)| *end == best)
        .map(|(_, identity)| (*identity).clone())
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert!(matches!(
            names(&args(&["checkout"], false, &["smoke"])),
            Err(Error::NothingMatches { .. })
        ));
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
            assert_eq!(error.exit_code(), 3);
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
        let error = name("check").unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let text = error.to_string();
        assert!(
            text.contains("load::checkout\n") && text.contains("checkout_twice"),
            "{text}"
        );
        assert!(!text.contains("browse"), "{text}");
        let error = name("brwose").unwrap_err();
        assert_eq!(error.exit_code(), 3);
        assert!(error.to_string().contains("did you mean"), "{error}");
    }

    #[test]
    fn an_unknown_tag_lists_the_tags() {
        let error = names(&args(&[], false, &["smokee"])).unwrap_err();
        assert!(error.to_string().contains("did you mean `smoke`?"));
        assert!(error.to_string().contains("critical\n  smoke"));
    }
}
