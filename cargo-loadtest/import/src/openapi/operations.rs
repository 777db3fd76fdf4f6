//! Finds the operations of a document, and selects those that the user asks for.

use super::OpenApiOptions;
use super::document::{ApiDocument, shorten};
use crate::document::{Field, Node};
use crate::naming::field_name;
use crate::source::{Mistake, Span};
use crate::text::singular;
use loadtest_console::suggestion::{find_similar, join_names};
use std::collections::BTreeSet;

/// Most names that a message lists.
const MOST_NAMES: usize = 12;
/// Fields of a path that are operations.
pub(super) const METHODS: [&str; 9] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace", "query",
];
/// Other fields of a path.
const PATH_FIELDS: [&str; 5] = ["$ref", "summary", "description", "servers", "parameters"];

/// Signs between a tag and the rest of an identifier.
const SIGNS: [char; 6] = ['/', '.', ':', '_', '-', '#'];

/// An operation.
#[derive(Debug, Clone)]
pub(super) struct Operation<'a> {
    /// Template of the path, which begins with `/`.
    pub(super) path: String,
    /// Method in capitals.
    pub(super) method: String,
    /// Place of its name.
    pub(super) span: Span,
    pub(super) node: &'a Node<'a>,
    pub(super) path_item: &'a Node<'a>,
    pub(super) id: Option<&'a str>,
    pub(super) tags: Vec<&'a str>,
}

/// Returns the operations to import.
pub(super) fn select_operations<'a>(
    document: &ApiDocument<'a>,
    options: &OpenApiOptions,
) -> Result<Vec<Operation<'a>>, Mistake> {
    let mut all = Vec::new();
    for path in document.fields(document.root, "paths") {
        if !path.name.starts_with("x-") {
            read_path(document, path, &mut all);
        }
    }
    let Some(first) = all.first() else {
        return Err(refuse_without_operations(document));
    };
    let first = first.span.clone();
    let tags = all.iter().flat_map(|one| &one.tags);
    let tags: Vec<String> = tags.map(|tag| (*tag).to_owned()).collect();
    check_names(&all, "tag", &tags, &options.tags, |one, tag| {
        one.has_tag(tag)
    })?;
    let names: Vec<String> = all.iter().map(Operation::name).collect();
    check_names(&all, "name", &names, &options.operations, |one, name| {
        one.has_name(name)
    })?;
    check_patterns(&all, &options.paths)?;
    let is_chosen = |names: &[String], is_named: &dyn Fn(&str) -> bool| {
        names.is_empty() || names.iter().any(|name| is_named(name))
    };
    let selected: Vec<_> = all
        .into_iter()
        .filter(|one| is_chosen(&options.tags, &|tag| one.has_tag(tag)))
        .filter(|one| is_chosen(&options.operations, &|name| one.has_name(name)))
        .filter(|one| is_chosen(&options.paths, &|pattern| matches_path(pattern, &one.path)))
        .collect();
    if selected.is_empty() {
        let words = "no operation has all of this tag, name and path";
        return Err(Mistake::new(first, words).help(
            "give one of `--tag`, `--operation` and `--path`, or a combination that matches",
        ));
    }
    Ok(selected)
}

fn refuse_without_operations(document: &ApiDocument<'_>) -> Mistake {
    if let Some(mistake) = document.refuse_other_file() {
        return mistake;
    }
    let place = document.root.name("paths");
    let place = place.unwrap_or_else(|| document.start());
    Mistake::new(place, "there is no operation in this document")
        .help("the operations are in `paths`: `{\"/users\": {\"get\": {..}}}`")
}

/// Reads the operations of a path.
fn read_path<'a>(document: &ApiDocument<'a>, path: &'a Field<'a>, all: &mut Vec<Operation<'a>>) {
    let Some(item) = document.object(&path.node, &path.name) else {
        return;
    };
    let template = format!("/{}", path.name.trim().trim_start_matches('/'));
    for field in item.fields() {
        let name = &*field.name;
        if METHODS.contains(&name) {
            all.extend(read_operation(document, &template, field, item));
        } else if !name.starts_with("x-") && !PATH_FIELDS.contains(&name) {
            let words = format!("`{}` is not a method: it is left out", shorten(name));
            document.warn(&field.span, words);
        }
    }
}

fn read_operation<'a>(
    document: &ApiDocument<'a>,
    path: &str,
    field: &'a Field<'a>,
    path_item: &'a Node<'a>,
) -> Option<Operation<'a>> {
    let node = document.object(&field.node, &field.name)?;
    let tags = document.items(node, "tags").iter();
    let id = node.text_of("operationId").map(str::trim);
    Some(Operation {
        path: path.to_owned(),
        method: field.name.to_ascii_uppercase(),
        span: field.span.clone(),
        node,
        path_item,
        id: id.filter(|id| !id.is_empty()),
        tags: tags.filter_map(Node::text).collect(),
    })
}

/// Returns the help for a name that is not there: a similar one, else those that there are.
pub(super) fn suggest_known(name: &str, known: &BTreeSet<&str>) -> String {
    if let Some(similar) = find_similar(name, known.iter().copied()) {
        return format!("did you mean `{}`?", shorten(similar));
    }
    let names: Vec<&str> = known.iter().copied().take(MOST_NAMES).collect();
    format!("there is {}", join_names(&names))
}

/// Refuses a tag or a name that no operation has, and suggests a similar one.
fn check_names(
    all: &[Operation<'_>],
    what: &str,
    known: &[String],
    asked: &[String],
    is_named: impl Fn(&Operation<'_>, &str) -> bool,
) -> Result<(), Mistake> {
    let find = |name: &str| all.iter().find(|one| is_named(one, name));
    let Some(name) = asked.iter().find(|name| find(name).is_none()) else {
        return Ok(());
    };
    let similar = find_similar(name, known.iter().map(String::as_str));
    let place = similar.and_then(find).or(all.first());
    let help = suggest_known(name, &known.iter().map(String::as_str).collect());
    let words = format!("no operation has the {what} `{name}`");
    Err(Mistake::new(place.map_or(0..0, |one| one.span.clone()), words).help(help))
}

/// Refuses a pattern that no path matches, and suggests one.
fn check_patterns(all: &[Operation<'_>], patterns: &[String]) -> Result<(), Mistake> {
    let has_match = |pattern: &str| all.iter().any(|one| matches_path(pattern, &one.path));
    let Some(pattern) = patterns.iter().find(|pattern| !has_match(pattern)) else {
        return Ok(());
    };
    let below = format!("{}/*", pattern.trim_end_matches('/'));
    let paths: Vec<&str> = all.iter().map(|one| one.path.as_str()).collect();
    let similar = find_similar(pattern.trim_end_matches(['*', '/']), paths.iter().copied());
    let help = if has_match(&below) {
        format!("did you mean `{}`?", shorten(&below))
    } else {
        let of_similar = similar.map(|similar| format!("{similar}/*"));
        match of_similar.filter(|below| pattern.ends_with('*') && has_match(below)) {
            Some(below) => format!("did you mean `{}`?", shorten(&below)),
            None => suggest_known(
                pattern.trim_end_matches(['*', '/']),
                &paths.into_iter().collect(),
            ),
        }
    };
    let named = all.iter().find(|one| Some(one.path.as_str()) == similar);
    let place = named.or(all.first()).map_or(0..0, |one| one.span.clone());
    let words = format!("no path matches `{}`", shorten(pattern));
    Err(Mistake::new(place, words).help(help))
}

/// Returns true for a path of this pattern, in which `*` is any text, also across segments.
fn matches_path(pattern: &str, path: &str) -> bool {
    let parts: Vec<String> = pattern.trim().split('*').map(regex::escape).collect();
    let pattern = regex::Regex::new(&format!("^(?s:{})$", parts.join(".*")));
    pattern.is_ok_and(|pattern| pattern.is_match(path))
}

impl Operation<'_> {
    /// Returns the identifier, or else method and path.
    pub(super) fn name(&self) -> String {
        self.id.map_or_else(|| self.title(), str::to_owned)
    }

    /// Returns method and path.
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Returns the summary, else the description.
    pub(super) fn description(&self) -> Option<String> {
        let texts = ["summary", "description"].iter();
        let mut texts = texts.filter_map(|key| Some(self.node.text_of(key)?.trim()));
        texts.find(|text| !text.is_empty()).map(str::to_owned)
    }

    fn has_tag(&self, tag: &str) -> bool {
        let mut tags = self.tags.iter();
        tags.any(|known| known.eq_ignore_ascii_case(tag))
    }

    /// Returns whether this is the identifier, or method and path.
    fn has_name(&self, name: &str) -> bool {
        let name = name.trim();
        let title = name.split_once(char::is_whitespace);
        let is_title = title.is_some_and(|(method, path)| {
            method.eq_ignore_ascii_case(&self.method) && path.trim() == self.path
        });
        is_title || self.id == Some(name)
    }
}

/// Returns the identifier without the words that its tag, its path and its method say anyway.
pub(super) fn step_name(operation: &Operation<'_>) -> Option<String> {
    let id = operation.id?;
    let id = id.strip_suffix(&generated_suffix(operation)).unwrap_or(id);
    let tags = operation.tags.iter().map(|tag| topic(tag));
    let tags: Vec<String> = tags.collect();
    let mut splits = id.match_indices(SIGNS).filter_map(|(at, sign)| {
        let rest = id[at + sign.len()..].trim_start_matches(SIGNS);
        let is_said = tags.contains(&topic(&id[..at]));
        (is_said && rest.contains(char::is_alphabetic)).then_some(rest)
    });
    let rest = splits.next_back().unwrap_or(id);
    let is_word = !rest.starts_with('/') && !rest.contains("://") && !rest.contains(' ');
    Some(if is_word {
        rest.replace('/', " ")
    } else {
        rest.to_owned()
    })
}

/// Returns what `FastAPI` appends to the name of a function: `_items__id__get`.
fn generated_suffix(operation: &Operation<'_>) -> String {
    let is_sign = |letter: char| !letter.is_alphanumeric() && letter != '_';
    let path = operation.path.replace(is_sign, "_");
    format!("{path}_{}", operation.method.to_lowercase())
}

/// Returns a tag in the form in which it may begin an identifier.
fn topic(tag: &str) -> String {
    let word = field_name(tag);
    let word = word.strip_suffix("_controller").unwrap_or(&word);
    singular(word)
}

#[cfg(test)]
mod tests {
    use super::matches_path;

    #[test]
    fn a_star_is_any_text_of_a_path() {
        for (pattern, path, is_match) in [
            ("/a", "/a", true),
            ("/a", "/a/b", false),
            ("/a", "/ab", false),
            ("/a/*", "/a/{id}/b", true),
            ("/a/*", "/a", false),
            ("/a*", "/ab", true),
            ("/a/*/b", "/a/{id}/{x}/b", true),
            ("/a/*/b", "/a/{id}/bc", false),
            ("*/b", "/a/b", true),
            ("*b*d", "/abcd", true),
            ("*bd*d", "/abd", false),
            ("/a*a", "/a", false),
            ("*", "/a", true),
        ] {
            assert_eq!(matches_path(pattern, path), is_match, "{pattern} {path}");
        }
    }
}
