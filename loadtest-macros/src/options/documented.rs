//! The names and the documentation of the options: a Markdown table for each attribute.
//!
//! rustdoc shows the tables, an editor shows their rows, and the parser takes the names from them.

/// The options of `#[scenario(..)]`.
pub(crate) const SCENARIO_TABLE: &str = include_str!("scenario.md");
/// The options of `#[step(..)]`.
pub(crate) const STEP_TABLE: &str = include_str!("step.md");
/// The options of `#[feed(..)]`.
pub(crate) const FEED_TABLE: &str = include_str!("feed.md");

/// Returns the options of a table with their documentation. A row may describe several.
pub(crate) fn documented_options(table: &str) -> impl Iterator<Item = (&str, String)> {
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    rows.flat_map(|line| {
        let row = line
            .strip_prefix("| ")
            .and_then(|row| row.strip_suffix(" |"));
        let (samples, text) = row
            .and_then(|row| row.split_once(" | "))
            .unwrap_or_default();
        let text = format!("{samples}: {text}").replace("\\|", "|");
        let names = samples
            .split('`')
            .skip(1)
            .step_by(2)
            .filter_map(option_name);
        names.map(move |name| (name, text.clone()))
    })
}

/// Returns the names of the options in a table.
pub(crate) fn option_names(table: &'static str) -> Vec<&'static str> {
    documented_options(table).map(|(name, _)| name).collect()
}

/// Returns the word before `=` or `(`, or the only one.
fn option_name(sample: &str) -> Option<&str> {
    let is_of_word = |c: char| c == '_' || c.is_ascii_lowercase();
    let end = sample.find(|c| !is_of_word(c)).unwrap_or(sample.len());
    let (name, rest) = sample.split_at(end);
    let rest = rest.trim_start();
    (!name.is_empty() && (rest.is_empty() || rest.starts_with(['=', '(']))).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_pages_of_the_documentation_list_the_same_options() {
        let pages = [
            (
                SCENARIO_TABLE,
                include_str!("../../../docs/language.md"),
                "## Scenario options",
            ),
            (
                STEP_TABLE,
                include_str!("../../../docs/steps.md"),
                "## Options",
            ),
            (
                FEED_TABLE,
                include_str!("../../../docs/language.md"),
                "### Several rows for a journey",
            ),
        ];
        for (table, page, title) in pages {
            let (_, section) = page.split_once(title).unwrap();
            let section = section.split("\n## ").next().unwrap();
            let names =
                |text| -> BTreeSet<_> { documented_options(text).map(|(name, _)| name).collect() };
            assert_eq!(names(section), names(table), "{title}");
        }
    }

    #[test]
    fn a_row_describes_each_of_its_options() {
        let row = "| `get = \"/a\"`, `post`, `80%`, `p95 < 1s` | a \\| b |";
        let text = "`get = \"/a\"`, `post`, `80%`, `p95 < 1s`: a | b".to_owned();
        let found: Vec<_> = documented_options(row).collect();
        assert_eq!(found, [("get", text.clone()), ("post", text)]);
    }
}
