//! The page of the documentation and the file of `init`, which have every key.

use super::*;

const PAGE: &str = include_str!("../../../../docs/configuration.md");
const TEMPLATE: &str = include_str!("../../commands/init/templates/loadtest.toml");

/// The section of the page under `title`.
fn section(title: &str) -> &str {
    let (_, rest) = PAGE.split_once(&format!("\n## {title}\n")).expect(title);
    rest.split("\n## ").next().unwrap_or_default()
}

fn example(title: &str) -> &str {
    let (_, rest) = section(title).split_once("```toml\n").expect(title);
    rest.split("```").next().unwrap_or_default()
}

#[test]
fn the_examples_of_the_page_are_what_is_read() {
    let config = parse(example("A whole example")).unwrap();
    for known in layered().iter().filter(|known| known.section != "run") {
        let Key { section, name, .. } = *known;
        let is_set = config.setting(section, name).is_some();
        assert_eq!(
            is_set,
            ![
                "seed",
                "pdf_font",
                "ca",
                "credentials",
                "basic_env",
                "identity"
            ]
            .contains(&name),
            "{section}.{name}"
        );
    }
    assert_eq!((config.presets.len(), config.notify.len()), (2, 1));
    assert_eq!(config.organisation.unwrap().members.len(), 3);
    let telemetry = include_str!("../../../../docs/telemetry.md");
    let (_, example_of_sinks) = telemetry.split_once("```toml\n").unwrap();
    let sinks = parse(example_of_sinks.split("```").next().unwrap()).unwrap();
    assert_eq!(sinks.telemetry.sinks.len(), 6);
    let observe = include_str!("../../../../docs/observe.md");
    let (_, example_of_sources) = observe.split_once("```toml\n").unwrap();
    let sources = parse(example_of_sources.split("```").next().unwrap()).unwrap();
    assert_eq!(sources.observe.len(), 3);
    let config = parse(example("`[[targets]]`")).unwrap();
    assert!(config.targets[0].to_string().contains(" in flight"));
}

/// The keys of `[[targets]]`, which the library reads.
fn target_keys() -> Vec<String> {
    let refusal = parse("[[targets]]\nzzz = 1\n").unwrap_err();
    let (_, known) = refusal.split_once("a target has `").unwrap();
    let known = known.lines().next().unwrap().trim_end_matches('`');
    known.split("`, `").map(str::to_owned).collect()
}

#[test]
fn the_file_of_init_has_every_key_with_its_default() {
    // What looks like an example is enabled, the prose stays.
    let is_example = |line: &&str| line.starts_with('[') || line.contains(" = ");
    let lines = TEMPLATE.lines();
    let enabled: Vec<&str> = lines
        .map(|line| line.strip_prefix("# ").filter(is_example).unwrap_or(line))
        .collect();
    let enabled = enabled.join("\n");
    let config = parse(&enabled).unwrap();
    let tables: toml::Table = enabled.parse().unwrap();
    // All values of a key, in whatever tables of this name.
    let values = |section: &str, name: &str| -> Vec<toml::Value> {
        let mut tables = vec![toml::Value::Table(tables.clone())];
        for part in section.split('.') {
            let parts = tables.iter().filter_map(|table| table.get(part).cloned());
            tables = parts
                .flat_map(|part| match part {
                    toml::Value::Array(all) => all,
                    toml::Value::Table(named) if section == "load" => {
                        named.into_iter().map(|(_, table)| table).collect()
                    }
                    table => vec![table],
                })
                .collect();
        }
        tables
            .iter()
            .filter_map(|table| table.get(name).cloned())
            .collect()
    };
    for key in key::all_keys().chain(layered()) {
        let Key {
            section,
            name,
            built_in,
            ..
        } = key;
        let found = values(section, name);
        assert!(!found.is_empty(), "`{name}` of `{section}` is missing");
        if let BuiltIn::Value(default) = built_in {
            let written: Vec<String> = found
                .iter()
                .map(|value| match value {
                    toml::Value::Array(all) => {
                        let texts: Vec<&str> = all.iter().filter_map(toml::Value::as_str).collect();
                        texts.join(", ")
                    }
                    toml::Value::String(text) => text.clone(),
                    other => other.to_string(),
                })
                .collect();
            // A page is asked more often than a server.
            let is_default = written.iter().any(|text| text == default)
                || (section, name) == ("observe", "interval");
            assert!(
                is_default,
                "`{name}` of `{section}` is {default}, not {written:?}"
            );
        }
    }
    for name in target_keys() {
        assert_eq!(values("targets", &name).len(), 1, "{name}");
    }
    assert_eq!(config.organisation.unwrap().members.len(), 2);
}

#[test]
fn the_page_has_every_key_with_its_variable() {
    for Key {
        section: table,
        name,
        ..
    } in layered()
    {
        let title = match table {
            "run" | "ci" => "`[run]` and `[ci]`".to_owned(),
            table => format!("`[{table}]`"),
        };
        let text = section(&title);
        assert!(text.contains(&format!("\n| `{name}` | ")), "{table}.{name}");
        assert!(
            text.contains(&format!("`{}`", variable(table, name))),
            "{table}.{name}"
        );
    }
    let keys = |title, names: Vec<&str>| {
        for name in names {
            assert!(
                section(title).contains(&format!("\n| `{name}` | ")),
                "{title} {name}"
            );
        }
    };
    keys(
        "`[load.NAME]`",
        keys_of("load").map(|key| key.name).collect(),
    );
    keys(
        "`[telemetry]`",
        keys_of("telemetry.to").map(|key| key.name).collect(),
    );
    for table in ["observe", "observe.metrics"] {
        keys(
            "`[[observe]]`",
            keys_of(table).map(|key| key.name).collect(),
        );
    }
    keys(
        "`[[notify]]`",
        keys_of("notify").map(|key| key.name).collect(),
    );
    let known = target_keys();
    keys("`[[targets]]`", known.iter().map(String::as_str).collect());
    keys("`[organisation]`", vec!["plan", "members"]);
}
