//! Changes to a `Cargo.toml` that leave everything else as its authors wrote it.

use super::source::DependencySource;
use loadtest_console::error::Error;
use loadtest_console::files;
use std::path::{Path, PathBuf};
use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Table, value};

const DEPENDENCIES: [&str; 3] = ["dependencies", "dev-dependencies", "dev_dependencies"];

/// The source of a dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadtestOrigin {
    /// The package registry, where the name belongs to somebody else.
    Registry,
    /// Inherited from the workspace.
    Workspace,
    /// A folder, a repository or another place that is named.
    Named,
}

/// A `Cargo.toml`.
#[derive(Debug)]
pub(super) struct Manifest {
    path: PathBuf,
    document: DocumentMut,
}

impl Manifest {
    /// Reads the file.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
        Self::parse(path, &text)
    }

    fn parse(path: &Path, text: &str) -> Result<Self, Error> {
        Ok(Self {
            path: path.to_path_buf(),
            document: text.parse().map_err(|error| {
                Error::usage(format!("`{}` cannot be read\n{error}", path.display()))
                    .with_help("correct it first")
            })?,
        })
    }

    /// Writes the file.
    pub(super) fn write(&self) -> Result<(), Error> {
        files::write(&self.path, self.document.to_string().as_bytes())
    }

    /// The dependency of the package on a `loadtest`.
    pub(super) fn dependency(&self) -> Option<LoadtestOrigin> {
        DEPENDENCIES
            .iter()
            .find_map(|table| origin(self.document.get(table)?))
    }

    /// The `loadtest` that members of this workspace can inherit.
    pub(super) fn shared_dependency(&self) -> Option<LoadtestOrigin> {
        origin(self.document.get("workspace")?.get("dependencies")?)
    }

    /// Returns true if there is a test target called `name`.
    pub(super) fn has_test(&self, name: &str) -> bool {
        let is_meant = |test: &Table| test.get("name").and_then(Item::as_str) == Some(name);
        self.tests().iter().any(is_meant)
    }

    /// Returns the test targets, however they are written.
    fn tests(&self) -> ArrayOfTables {
        let tests = self.document.get("test").cloned();
        let tests = tests.and_then(|tests| tests.into_array_of_tables().ok());
        tests.unwrap_or_default()
    }

    /// Adds `loadtest.workspace = true`.
    pub(super) fn inherit_dependency(&mut self) {
        let mut inherited = Table::new();
        inherited.set_dotted(true);
        inherited.insert("workspace", value(true));
        self.add("loadtest", Item::Table(inherited));
    }

    /// Adds a dependency on `source`.
    pub(super) fn add_dependency(&mut self, source: &DependencySource) {
        self.add("loadtest", value(table_of(source)));
    }

    /// Adds the test target `load`.
    pub(super) fn add_test(&mut self) {
        let mut test = Table::new();
        test.insert("name", value("load"));
        test.insert("harness", value(false));
        let mut tests = self.tests();
        tests.push(test);
        self.document.insert("test", Item::ArrayOfTables(tests));
    }

    fn add(&mut self, name: &str, dependency: Item) {
        let dependencies = self
            .document
            .entry("dev-dependencies")
            .or_insert_with(|| Item::Table(Table::new()));
        if let Some(table) = dependencies.as_table_like_mut() {
            table.insert(name, dependency);
        }
    }
}

/// A dependency on `source` as it stands in a `Cargo.toml`, after the equals sign.
pub(super) fn entry(source: &DependencySource) -> String {
    table_of(source).to_string()
}

fn table_of(source: &DependencySource) -> InlineTable {
    let mut table = InlineTable::new();
    match source {
        DependencySource::Path(path) => {
            table.insert("path", path.to_string_lossy().as_ref().into());
        }
        DependencySource::Git { url, rev } => {
            table.insert("git", url.as_str().into());
            if let Some(rev) = rev {
                table.insert("rev", rev.as_str().into());
            }
        }
        DependencySource::Registry { package, version } => {
            table.insert("package", package.as_str().into());
            table.insert("version", version.as_str().into());
        }
    }
    table
}

/// Returns the source of `loadtest` among these dependencies.
fn origin(dependencies: &Item) -> Option<LoadtestOrigin> {
    let dependency = dependencies.as_table_like()?.get("loadtest")?;
    let Some(table) = dependency.as_table_like() else {
        return Some(LoadtestOrigin::Registry);
    };
    let named = ["path", "git", "registry", "registry-index", "package"];
    Some(if table.contains_key("workspace") {
        LoadtestOrigin::Workspace
    } else if named.iter().any(|key| table.contains_key(key)) {
        LoadtestOrigin::Named
    } else {
        LoadtestOrigin::Registry
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Manifest {
        Manifest::parse(Path::new("Cargo.toml"), text).unwrap()
    }

    fn git() -> DependencySource {
        DependencySource::Git {
            url: "https://example.com/loadtest".to_owned(),
            rev: Some("0123abc".to_owned()),
        }
    }

    #[test]
    fn what_stands_in_the_file_stays_as_it_is() {
        let before = "# ours\n[package]\nname   = 'shop' # quoted\n\n[dependencies]\nserde = \"1\"\n\n\
                      [dev-dependencies]\ninsta = {version=\"1\"} # snapshots\n\n[features]\na = []\n";
        let mut manifest = parse(before);
        manifest.add_dependency(&git());
        manifest.add_test();
        let after = manifest.document.to_string();
        for line in before.lines() {
            assert!(after.contains(line), "{line}\n{after}");
        }
        insta::assert_snapshot!(after, @r#"
        # ours
        [package]
        name   = 'shop' # quoted

        [dependencies]
        serde = "1"

        [dev-dependencies]
        insta = {version="1"} # snapshots
        loadtest = { git = "https://example.com/loadtest", rev = "0123abc" }

        [features]
        a = []

        [[test]]
        name = "load"
        harness = false
        "#);
    }

    #[test]
    fn what_was_added_is_known_the_next_time() {
        let mut manifest = parse("[package]\nname = \"shop\"\n");
        assert!(manifest.dependency().is_none() && !manifest.has_test("load"));
        manifest.inherit_dependency();
        manifest.add_test();
        let after = manifest.document.to_string();
        assert!(after.contains("loadtest.workspace = true"), "{after}");
        let manifest = parse(&after);
        assert_eq!(manifest.dependency(), Some(LoadtestOrigin::Workspace));
        assert!(manifest.has_test("load"));
    }

    #[test]
    fn a_second_test_target_joins_the_first() {
        for before in [
            "[[test]]\nname = \"api\"\n",
            "test = [{ name = \"api\" }]\n[package]\nname = \"shop\"\n",
        ] {
            let mut manifest = parse(before);
            manifest.add_test();
            let manifest = parse(&manifest.document.to_string());
            assert!(manifest.has_test("api") && manifest.has_test("load"));
        }
    }

    #[test]
    fn a_workspace_may_share_the_dependency() {
        let shared = |text| parse(text).shared_dependency();
        assert_eq!(
            shared("[workspace.dependencies]\nloadtest = { git = \"x\" }\n"),
            Some(LoadtestOrigin::Named)
        );
        assert_eq!(shared("[workspace]\nmembers = []\n"), None);
    }

    #[test]
    fn a_dependency_from_the_registry_is_told_from_others() {
        let origin = |text| parse(text).dependency().unwrap();
        for text in [
            "[dependencies]\nloadtest = \"0.9\"\n",
            "[dev-dependencies]\nloadtest = { version = \"0.9\", features = [] }\n",
            "[dependencies.loadtest]\nversion = \"0.9\"\n",
        ] {
            assert_eq!(origin(text), LoadtestOrigin::Registry, "{text}");
        }
        for text in [
            "[dependencies.loadtest]\npath = \"x\"\n",
            "[dev-dependencies]\nloadtest = { git = \"x\", version = \"1\" }\n",
            "[dev-dependencies]\nloadtest = { registry = \"ours\", version = \"1\" }\n",
        ] {
            assert_eq!(origin(text), LoadtestOrigin::Named, "{text}");
        }
    }
}
