//! A scenario as data, in its published shape.

use crate::call::Call;
use crate::project::workspace;
use crate::site::Sandbox;
use crate::trials;
use jsonschema::Validator;
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::path::Path;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        what_every_fixture_declares_has_the_published_shape,
        what_the_shop_declares_has_the_published_shape,
        an_export_names_what_a_step_uses,
        one_scenario_is_exported_and_the_candidates_are_named,
        an_export_goes_to_a_file_whole_or_not_at_all,
    ]
}

fn validator() -> Validator {
    let text = fs::read_to_string(workspace().join("docs/scenario.schema.json")).expect("a schema");
    let schema: Value = serde_json::from_str(&text).expect("JSON");
    jsonschema::meta::validate(&schema).expect("a valid schema");
    jsonschema::draft202012::new(&schema).expect("a schema that can be used")
}

/// Exports each scenario that is listed, and holds each against the schema; `call` makes the calls of a command.
#[track_caller]
fn all_are_valid(call: impl Fn(&str) -> Call) -> usize {
    let listed = call("list").line("--format json").run().exits(0);
    let listed: Vec<Value> = serde_json::from_str(&listed.stdout).expect("a list");
    let validator = validator();
    for scenario in &listed {
        let identity = scenario["identity"].as_str().expect("an identity");
        let output = call("export").arg(identity).run().exits(0);
        let value: Value = serde_json::from_str(&output.stdout).expect("JSON and nothing else");
        assert_eq!(value["identity"], identity);
        let mistakes: Vec<_> = validator
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(mistakes.is_empty(), "{mistakes:#?}\n{output}");
    }
    listed.len()
}

fn what_every_fixture_declares_has_the_published_shape() {
    let sandbox = Sandbox::new();
    assert!(all_are_valid(|command| sandbox.tool(command, "")) > 12);
}

fn what_the_shop_declares_has_the_published_shape() {
    let shop = workspace().join("examples/shop");
    // As the tests of the whole workspace are built: with the features of the shop alone, all of it would be compiled
    // once more.
    let built = Call::cargo_here();
    let flags =
        "test --no-run --quiet --workspace --test load --message-format json-render-diagnostics";
    let binary = built.line(flags).run().exits(0).executable("load");
    let call = |command: &str| Call::tool(&shop).args([command, "--binary"]).arg(&binary);
    assert_eq!(all_are_valid(call), 3);
}

fn an_export_names_what_a_step_uses() {
    let sandbox = Sandbox::new();
    let output = sandbox.tool("export", "causes").run().exits(0);
    let value: Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(value["schema_version"], 1);
    assert_eq!(value["steps"][4]["uses"][0]["step"], "source");
    assert_eq!(value["steps"][4]["uses"][0]["optional"], false);
    assert_eq!(value["steps"][12]["uses"][0]["optional"], true);
    assert_eq!(value["steps"][4]["timeout_ms"], 30_000.0);
    assert_eq!(value["steps"][4]["expected_status"][0]["from"], 200);
}

fn one_scenario_is_exported_and_the_candidates_are_named() {
    let sandbox = Sandbox::new();
    sandbox
        .tool("export", "own_")
        .run()
        .exits(2)
        .has_one_error()
        .says(&[
            "`own_` matches several scenarios",
            "site::load::own_dies",
            "site::load::own_deaf",
            "give the full name of one",
        ])
        .says_no("site::load::single");
    // An end of an identity is meant before a part of others.
    let output = sandbox.tool("export", "own").run().exits(0);
    assert!(output.stdout.contains("\"site::load::own\""), "{output}");
    sandbox
        .tool("export", "jurney")
        .run()
        .exits(3)
        .says(&["did you mean `site::load::journey`?"]);
    sandbox.tool("export", "").run().exits(2).has_one_error();
}

fn an_export_goes_to_a_file_whole_or_not_at_all() {
    let sandbox = Sandbox::new();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("visit.json");
    let export = |path: &Path| sandbox.tool("export", "single --output").arg(path);
    let output = export(&path)
        .run()
        .exits(0)
        .says(&["Exported", "visit.json"]);
    assert_eq!(output.stdout, "");
    let text = fs::read_to_string(&path).expect("the export");
    assert_eq!(
        text,
        sandbox.tool("export", "single -o -").run().exits(0).stdout
    );

    export(&folder.path().join("missing/visit.json"))
        .run()
        .exits(2)
        .has_one_error()
        .says(&["nothing can be written to"]);
    export(folder.path()).run().exits(2).has_one_error();
    let full = Path::new("/dev/full");
    // Where it is the device and not somebody's file.
    if fs::metadata(full).is_ok_and(|there| !there.is_file()) {
        export(full)
            .run()
            .exits(1)
            .has_one_error()
            .says(&["/dev/full"]);
        assert!(!fs::metadata(full).expect("still there").is_file());
    }
    #[cfg(unix)]
    sandbox
        .tool("export", "single")
        .output_without_room()
        .exits(1)
        .has_one_error();
    let names: Vec<_> = fs::read_dir(folder.path())
        .expect("a folder")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(names, ["visit.json"], "nothing else is left there");
}
