//! Lists of names in messages, and suggestions for misspelt ones.

/// Returns the candidate that `word` is most likely a misspelling of.
pub fn find_similar<'a>(
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

/// Quotes and joins names: `a`, `b` and `c`.
pub fn join_names<S: AsRef<str>>(names: &[S]) -> String {
    let quoted: Vec<_> = names
        .iter()
        .map(|name| format!("`{}`", name.as_ref()))
        .collect();
    match quoted.as_slice() {
        [] => "none".to_owned(),
        [one] => one.clone(),
        [some @ .., last] => format!("{} and {last}", some.join(", ")),
    }
}

/// Joins the first five names, and counts the others.
pub fn join_some(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let text = names[..names.len().min(SHOWN)].join(", ");
    match names.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{text} and {more} more"),
        _ => text,
    }
}

/// Returns the help for an unknown name: the likeliest known one, else all of them.
pub fn suggest_name(name: &str, known: &[String], what: &str) -> String {
    match find_similar(name, known.iter().map(String::as_str)) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("known {what}: {}", join_names(known)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_corrected_or_all_are_listed() {
        let known = ["shop".to_owned(), "gate".to_owned()];
        assert_eq!(
            suggest_name("shpo", &known, "packages"),
            "did you mean `shop`?"
        );
        assert_eq!(
            suggest_name("other", &known, "packages"),
            "known packages: `shop` and `gate`"
        );
    }

    #[test]
    fn the_likeliest_name_is_suggested() {
        assert_eq!(
            find_similar("durations", ["duration", "seed"]),
            Some("duration")
        );
        assert_eq!(find_similar("x", ["duration", "seed"]), None);
    }
}
