//! Changes to a `Cargo.toml` that leave everything else as its authors wrote it.

use super::source::Source;
use crate::error::Error;
use crate::store;
use std::path::{Path, PathBuf};
use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Table, value};

const DEPENDENCIES: [&str; 3] = ["dependencies", "dev-dependencies", "dev_dependencies"];

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
            document: text.parse().map_err(|error| Error::Init {
                message: format!("`{}` cannot be read\n{error}", path.display()),
                help: "correct it first".to_owned(),
            })?,
        })
    }

    /// Writes the file.
    pub(super) fn write(&self) -> Result<(), Error> {
        store::write(&self.path, self.document.to_string().as_bytes())
    }

    /// Whether the package depends on a `loadtest` of whatever source.
    pub(super) fn depends_on_loadtest(&self) -> bool {
        DEPENDENCIES
            .iter()
            .any(|table| contains(self.document.get(table), "loadtest"))
    }

    /// Whether members of this workspace can inherit a `loadtest`.
    pub(super) fn shares_loadtest(&self) -> bool {
        let dependencies = self
            .document
            .get("workspace")
            .and_then(|workspace| workspace.get("dependencies"));
        contains(dependencies, "loadtest")
    }

    /// Whether there is a test target called `name`.
    pub(super) fn has_test(&self, name: &str) -> bool {
        let Some(tests) = self.document.get("test") else {
            return false;
        };
        let named = |table: &dyn toml_edit::TableLike| {
            table.get("name").and_then(Item::as_str) == Some(name)
        };
        match (tests.as_array_of_tables(), tests.as_array()) {
            (Some(tables), _) => tables.iter().any(|table| named(table)),
            (_, Some(array)) => array
                .iter()
                .filter_map(toml_edit::Value::as_inline_table)
                .any(|table| named(table)),
            _ => false,
        }
    }

    /// Adds `loadtest.workspace = true`.
    pub(super) fn inherit_dependency(&mut self) {
        let mut inherited = Table::new();
        inherited.set_dotted(true);
        inherited.insert("workspace", value(true));
        self.add("loadtest", Item::Table(inherited));
    }

    /// Adds a dependency on `source`.
    pub(super) fn add_dependency(&mut self, source: &Source) {
        let mut table = InlineTable::new();
        match source {
            Source::Path(path) => {
                table.insert("path", path.to_string_lossy().as_ref().into());
            }
            Source::Git { url, rev } => {
                table.insert("git", url.as_str().into());
                if let Some(rev) = rev {
                    table.insert("rev", rev.as_str().into());
                }
            }
        }
        self.add("loadtest", value(table));
    }

    /// Adds the test target `load`.
    pub(super) fn add_test(&mut self) {
        let mut test = Table::new();
        test.insert("name", value("load"));
        test.insert("harness", value(false));
        match self.document.get_mut("test") {
            Some(Item::ArrayOfTables(tests)) => tests.push(test),
            Some(Item::Value(toml_edit::Value::Array(tests))) => {
                tests.push(test.into_inline_table());
            }
            _ => {
                let mut tests = ArrayOfTables::new();
                tests.push(test);
                self.document.insert("test", Item::ArrayOfTables(tests));
            }
        }
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

fn contains(table: Option<&Item>, name: &str) -> bool {
    table
        .and_then(Item::as_table_like)
        .is_some_and(|table| table.contains_key(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Manifest {
        Manifest::parse(Path::new("Cargo.toml"), text).unwrap()
    }

    fn git() -> Source {
        Source::Git {
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
        assert!(!manifest.depends_on_loadtest() && !manifest.has_test("load"));
        manifest.inherit_dependency();
        manifest.add_test();
        let after = manifest.document.to_string();
        assert!(after.contains("loadtest.workspace = true"), "{after}");
        let manifest = parse(&after);
        assert!(manifest.depends_on_loadtest() && manifest.has_test("load"));
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
        assert!(parse("[workspace.dependencies]\nloadtest = \"1\"\n").shares_loadtest());
        assert!(!parse("[workspace]\nmembers = []\n").shares_loadtest());
        assert!(parse("[dependencies.loadtest]\npath = \"x\"\n").depends_on_loadtest());
    }
}
