//! The parts of `loadtest.toml` that a run on another machine needs.

use loadtest_console::error::Error;
use std::path::Path;
use toml::{Table, Value};

/// Tables for the tool. Those about the machine (`store`, `build`), members and webhooks stay where they are.
const KEPT: [&str; 5] = ["targets", "grading", "run", "ci", "load"];
/// Keys that name files beside the source.
const FILES: [&str; 3] = ["baseline", "pdf_font", "export"];

/// Returns the configuration of the tool for a bundle, without comments.
///
/// # Errors
/// When `text`, of the file at `path`, is no TOML.
pub(super) fn select_config(text: &str, path: &Path) -> Result<String, Error> {
    let mut table = parse_config(text, path)?;
    table.retain(|name, _| KEPT.contains(&name));
    for section in ["run", "ci"] {
        if let Some(Value::Table(keys)) = table.get_mut(section) {
            keys.retain(|name, _| !FILES.contains(&name));
        }
    }
    print_config(&table)
}

/// Returns the part that a load test itself reads: its targets.
///
/// # Errors
/// When `text`, of the file at `path`, is no TOML.
pub(super) fn select_targets(text: &str, path: &Path) -> Result<String, Error> {
    let mut table = parse_config(text, path)?;
    table.retain(|name, _| name == "targets");
    print_config(&table)
}

fn parse_config(text: &str, path: &Path) -> Result<Table, Error> {
    text.parse()
        .map_err(|error| Error::usage(format!("{}: {error}", path.display())))
}

fn print_config(table: &Table) -> Result<String, Error> {
    toml::to_string(table)
        .map_err(|error| Error::failure(format!("could not write the configuration: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_of_the_machine_or_private_stays_there() {
        let text = r#"
# canary-comment
[store]
directory = "/canary/runs"

[run]
seed = 7 # canary-remark
baseline = "canary-main"
export = ["html=canary.html"]

[load.smoke]
rate = "5/s"

[[notify]]
url = "https://hooks.example.com/canary"

[organisation]
plan = "pro"

[[targets]]
host = "staging.example.com"
owner = "team"
"#;
        let kept = select_config(text, Path::new("loadtest.toml")).unwrap();
        assert!(!kept.contains("canary"), "{kept}");
        for part in ["seed = 7", "[load.smoke]", "[[targets]]"] {
            assert!(kept.contains(part), "{kept}");
        }
        let targets = select_targets(text, Path::new("loadtest.toml")).unwrap();
        assert_eq!(
            targets,
            "[[targets]]\nhost = \"staging.example.com\"\nowner = \"team\"\n"
        );
    }
}
