//! The targets of a bundle that came from elsewhere, limited to those of this machine.

use super::OpenedBundle;
use crate::config::FILE_NAME;
use loadtest::targets::ListedTarget;
use loadtest_console::error::Error;
use loadtest_console::files;
use serde_json::Value as Json;
use std::path::Path;
use toml::{Table, Value};

/// Figures of which the smaller one holds, with their names as JSON.
const CAPS: [(&str, &str); 3] = [
    ("max_rate", "max_rate_per_second"),
    ("max_in_flight", "max_in_flight"),
    ("max_duration", "max_duration_us"),
];

/// An entry of `[[targets]]`: as it is written, and as it is understood.
struct TargetEntry {
    written: Table,
    known: Json,
}

impl OpenedBundle {
    /// Limits the targets of its load tests to those that the file `own` lists as well, on the terms of both. A file
    /// that lists none limits nothing.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub(crate) fn limit_targets(&self, own: &Path) -> Result<(), Error> {
        let own = read_entries(own)?;
        if own.is_empty() {
            return Ok(());
        }
        for binary in &self.binaries {
            let path = binary.package_root.join(FILE_NAME);
            let theirs = if path.exists() {
                read_entries(&path)?
            } else {
                Vec::new()
            };
            let both = theirs.into_iter().filter_map(|entry| entry.limit(&own));
            let both: Vec<Value> = both.map(Value::Table).collect();
            let mut table = Table::new();
            if !both.is_empty() {
                table.insert("targets".to_owned(), Value::Array(both));
            }
            files::write(&path, table.to_string().as_bytes())?;
        }
        Ok(())
    }
}

fn read_entries(path: &Path) -> Result<Vec<TargetEntry>, Error> {
    let text = files::read(path).map_err(Error::io("read", path))?;
    let text = String::from_utf8_lossy(&text);
    let wrong = |what: String| Error::usage(format!("{}: {what}", path.display()));
    let table: Table = text
        .parse()
        .map_err(|error: toml::de::Error| wrong(error.to_string()))?;
    let known = ListedTarget::read(&text).map_err(|mistakes| {
        let lines = mistakes
            .iter()
            .map(|one| format!("line {}: {}", one.line, one.message));
        wrong(lines.collect::<Vec<_>>().join("\n"))
    })?;
    let written = table.get("targets").and_then(Value::as_array);
    let written = written.into_iter().flatten().filter_map(Value::as_table);
    let entries = written.zip(known).map(|(written, known)| {
        let known = serde_json::to_value(known).map_err(Error::encode("a target"))?;
        Ok(TargetEntry {
            written: written.clone(),
            known,
        })
    });
    entries.collect()
}

impl TargetEntry {
    /// Returns what this entry and the one in `own` for the same target permit together; `None` where that is nothing.
    fn limit(mut self, own: &[Self]) -> Option<Table> {
        let is_same = |other: &&Self| {
            ["host", "scheme", "port"]
                .iter()
                .all(|key| self.known[key] == other.known[key])
        };
        let own = own.iter().find(is_same)?;
        for (key, figure) in CAPS {
            let (theirs, ours) = (&self.known[figure], &own.known[figure]);
            let is_lower = match (theirs.as_f64(), ours.as_f64()) {
                (Some(theirs), Some(ours)) => ours < theirs,
                (None, ours) => ours.is_some(),
                (Some(_), None) => false,
            };
            if is_lower {
                self.written
                    .insert(key.to_owned(), own.written[key].clone());
            }
        }
        let addresses = |entry: &Self| entry.known["addresses"].as_array().cloned();
        let (theirs, ours) = (addresses(&self)?, addresses(own)?);
        let both: Vec<Json> = match (theirs.is_empty(), ours.is_empty()) {
            (_, true) => theirs,
            (true, false) => ours,
            (false, false) => {
                let both = theirs.into_iter().filter(|one| ours.contains(one));
                let both: Vec<Json> = both.collect();
                (!both.is_empty()).then_some(both)?
            }
        };
        if !both.is_empty() {
            let both = both.iter().filter_map(Json::as_str).map(Value::from);
            self.written
                .insert("addresses".to_owned(), Value::Array(both.collect()));
        }
        if let Some(proof) = own.written.get("proof") {
            self.written.insert("proof".to_owned(), proof.clone());
        }
        Some(self.written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Binary;
    use std::fs;

    const THEIRS: &str = r#"
[[targets]]
host = "a.test"
owner = "ada"
max_rate = "200/s"
max_in_flight = 5

[[targets]]
host = "b.test"
owner = "ada"
addresses = ["10.0.0.1", "10.0.0.2"]

[[targets]]
host = "c.test"
owner = "ada"

[[targets]]
host = "d.test"
owner = "ada"
addresses = ["10.0.0.1"]
"#;

    /// Returns the targets that are left of a bundle on a machine with this configuration.
    fn limited(theirs: Option<&str>, own: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let (root, file) = (folder.path().join("shop"), folder.path().join("own.toml"));
        fs::create_dir(&root).unwrap();
        fs::write(&file, own).unwrap();
        if let Some(theirs) = theirs {
            fs::write(root.join(FILE_NAME), theirs).unwrap();
        }
        let binary = Binary {
            package: "shop".to_owned(),
            package_root: root.clone(),
            target: "test `load`".to_owned(),
            executable: root.join("load"),
            script: None,
            packages: None,
        };
        let bundle = OpenedBundle {
            root: root.clone(),
            scenarios: Vec::new(),
            binaries: vec![binary],
            hash: String::new(),
        };
        bundle.limit_targets(&file).unwrap();
        let left = fs::read_to_string(root.join(FILE_NAME)).unwrap_or_default();
        let left = ListedTarget::read(&left).unwrap();
        left.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn only_targets_that_both_list_are_left_on_the_terms_of_both() {
        let own = r#"
[[targets]]
host = "a.test"
owner = "grace"
max_rate = "50/s"
max_in_flight = 9
max_duration = "5m"
proof = "well-known"

[[targets]]
host = "b.test"
owner = "grace"
addresses = ["10.0.0.2", "10.0.0.3"]

[[targets]]
host = "c.test"
port = 8443
owner = "grace"

[[targets]]
host = "d.test"
owner = "grace"
addresses = ["10.0.0.2"]
"#;
        assert_eq!(
            limited(Some(THEIRS), own),
            [
                "https://a.test of ada, at most 50/s, 5 in flight, for 5m, if it says so itself",
                "https://b.test of ada, at 10.0.0.2/32",
            ]
        );
        assert!(limited(None, own).is_empty());
        let one = "[[targets]]\nhost = \"d.test\"\nowner = \"grace\"\n";
        assert_eq!(
            limited(Some(THEIRS), one),
            ["https://d.test of ada, at 10.0.0.1/32"]
        );
    }

    #[test]
    fn a_machine_that_lists_no_target_limits_nothing() {
        let all = limited(Some(THEIRS), "[cluster]\nagents = 2\n");
        assert_eq!(all.len(), 4, "{all:?}");
    }
}
