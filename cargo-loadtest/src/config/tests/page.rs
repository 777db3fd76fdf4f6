//! The page of the documentation, which has every key.

use super::*;

const PAGE: &str = include_str!("../../../../docs/configuration.md");

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
    let refusal = parse("[[targets]]\nzzz = 1\n").unwrap_err();
    let (_, known) = refusal.split_once("a target has `").unwrap();
    let (known, _) = known.split_once("`\n").unwrap_or((known, ""));
    keys(
        "`[[targets]]`",
        known.trim_end_matches('`').split("`, `").collect(),
    );
    keys("`[organisation]`", vec!["plan", "members"]);
}
