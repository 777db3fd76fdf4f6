//! Lists of names that mark traffic of the browser itself.

/// Sections of names, one a line.
const LISTS: &str = include_str!("browser.txt");

/// Returns whether a name fits a pattern of this list.
pub(super) fn is_listed(list: &str, name: &str) -> bool {
    list_patterns(list).any(|pattern| {
        if let Some(beginning) = pattern.strip_suffix('*') {
            name.starts_with(beginning)
        } else if let Some(end) = pattern.strip_prefix('*') {
            name.ends_with(end)
        } else {
            name == pattern
        }
    })
}

/// Returns the patterns of a list.
pub(super) fn list_patterns(list: &str) -> impl Iterator<Item = &'static str> {
    let heading = format!("[{list}]");
    let lines = LISTS.lines().skip_while(move |line| *line != heading);
    lines
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.is_empty())
}
