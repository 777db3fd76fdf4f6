//! The pages of the documentation: their links, the dependencies that they name, and what they say is not supported.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The one page of what is not supported.
const LIMITS: &str = "docs/not-supported.md";

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns each page with its path in the workspace.
fn pages() -> Vec<(String, String)> {
    let mut paths = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        .map(str::to_owned)
        .to_vec();
    for entry in fs::read_dir(workspace().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "md") {
            let name = path.file_name().unwrap().to_str().unwrap();
            paths.push(format!("docs/{name}"));
        }
    }
    paths.sort();
    let read = |path: String| {
        let text = fs::read_to_string(workspace().join(&path)).unwrap();
        (path, text)
    };
    paths.into_iter().map(read).collect()
}

/// Returns the lines outside of blocks of code, counted from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(i, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((i + 1, line))
    })
}

/// Removes the text between backticks, which is code.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("``")
}

/// Returns the targets of the links of a line: `[text](target)` and `<https://..>`.
fn link_targets(line: &str) -> Vec<String> {
    let inline = line.split("](").skip(1);
    let inline = inline.filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()));
    let automatic = line.split("<http").skip(1);
    let automatic = automatic.filter_map(|rest| Some(format!("http{}", rest.split_once('>')?.0)));
    inline.chain(automatic).collect()
}

/// Returns the anchors of a page, as GitHub makes them of its headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter(|(_, line)| line.starts_with('#'));
    let anchor = |(_, line): (usize, &str)| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        title
            .chars()
            .filter(kept)
            .collect::<String>()
            .replace(' ', "-")
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_within_the_documentation_leads_somewhere() {
    let mut broken = Vec::new();
    for (path, text) in pages() {
        for (number, line) in prose(&text) {
            for target in link_targets(line) {
                if target.starts_with("http") {
                    continue;
                }
                let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
                let from = workspace().join(&path);
                let to = match file {
                    "" => from,
                    file => from.with_file_name(file),
                };
                let is_there = to.exists()
                    && (anchor.is_empty()
                        || anchors(&fs::read_to_string(&to).unwrap()).contains(anchor));
                if !is_there {
                    broken.push(format!("{path}:{number}: {target}"));
                }
            }
        }
    }
    assert_eq!(broken, [""; 0]);
}

/// `loadtest` is the name of another project on crates.io and docs.rs.
#[test]
fn no_outward_link_leads_to_the_other_project() {
    let mut links = 0;
    for (path, text) in pages() {
        for (number, line) in prose(&text) {
            for url in link_targets(line)
                .into_iter()
                .filter(|target| target.starts_with("http"))
            {
                links += 1;
                let (_, rest) = url.split_once("://").unwrap();
                let is_foreign = rest.split(['/', '#', '?']).any(|part| part == "loadtest");
                let is_local = rest.starts_with("127.0.0.1");
                assert!(
                    !is_foreign && (is_local || url.starts_with("https://")),
                    "{path}:{number}: {url}"
                );
            }
        }
    }
    assert!(links > 10, "{links}");
}

#[test]
fn every_dependency_on_the_library_says_where_it_comes_from() {
    let mut dependencies = 0;
    for (path, text) in pages() {
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            let is_dependency = [
                "loadtest = {",
                "loadtest = \"",
                "loadtest.workspace",
                "cargo add loadtest",
            ]
            .iter()
            .any(|start| line.starts_with(start));
            if is_dependency {
                dependencies += 1;
                let is_ours = [
                    "git = ",
                    "path = ",
                    "package = ",
                    "workspace = true",
                    "--git",
                    "--path",
                ]
                .iter()
                .any(|source| line.contains(source));
                assert!(is_ours, "{path}:{}: {line} is the other project", i + 1);
            }
        }
    }
    assert!(dependencies > 2, "{dependencies}");
}

#[test]
fn one_page_says_what_is_not_supported_and_names_nothing_that_has_a_page() {
    let mut titles = Vec::new();
    for (path, text) in pages() {
        titles.extend(
            text.lines()
                .next()
                .and_then(|line| line.strip_prefix("# "))
                .map(str::to_lowercase),
        );
        for (number, line) in prose(&text) {
            let words = without_code(line).to_lowercase();
            let is_claim = words.contains("not supported") || words.contains("unsupported");
            assert!(
                !is_claim || path == LIMITS || line.contains("not-supported.md"),
                "{path}:{number}: {line}\nsay it in {LIMITS} and link there"
            );
        }
    }
    let limits = fs::read_to_string(workspace().join(LIMITS)).unwrap();
    let rows = limits
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    for limit in rows.flat_map(|cell| cell.split([',', ';'])) {
        assert!(
            !titles.contains(&limit.trim().to_lowercase()),
            "{limit} has a page"
        );
    }
}
