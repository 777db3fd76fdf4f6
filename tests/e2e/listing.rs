//! What there is to run, and how it is chosen.

use crate::call::Call;
use crate::project::{Files, LOAD_TEST, Project, STANDS_ALONE, header};
use crate::site::Sandbox;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        people_see_what_each_scenario_does,
        programs_see_everything_that_is_declared,
        filters_choose_by_substring_or_by_whole_identity,
        tags_choose_and_narrow,
        every_package_of_a_workspace_is_searched,
        packages_are_chosen_by_name,
        a_folder_of_a_member_stands_for_it_and_the_root_for_all,
        the_root_of_a_workspace_stands_for_its_default_members,
        a_load_test_whose_features_are_off_is_left_out,
        a_run_takes_what_a_list_shows,
        a_program_that_is_no_load_test_is_never_started,
        a_foreign_macro_of_the_same_name_is_refused_unseen,
        a_built_load_test_runs_where_there_is_no_cargo,
        a_program_that_cannot_be_run_is_refused,
    ]
}

/// The identities that a list shows.
fn identities(stdout: &str) -> Vec<String> {
    let all: Vec<Value> =
        serde_json::from_str(stdout).unwrap_or_else(|error| panic!("{error}\n{stdout}"));
    all.iter()
        .filter_map(|scenario| scenario["identity"].as_str())
        .map(str::to_owned)
        .collect()
}

#[track_caller]
fn chosen(line: &str) -> Vec<String> {
    let line = format!("--format json {line}");
    identities(&Sandbox::new().tool("list", &line).run().exits(0).stdout)
}

fn people_see_what_each_scenario_does() {
    Sandbox::new()
        .tool("list", "journey")
        .run()
        .exits(0)
        .prints(&[
            "site::load::journey [quick]",
            "Each step needs the one before.",
            "8 iterations",
            "2 users",
            "tests/load.rs:",
            "login",
            "/orders/{{order.response.id}}",
            "uses order",
        ]);
}

fn programs_see_everything_that_is_declared() {
    let output = Sandbox::new()
        .tool("list", "--format json causes")
        .run()
        .exits(0);
    let all: Vec<Value> = serde_json::from_str(&output.stdout).expect("JSON and nothing else");
    let [causes] = all.as_slice() else {
        panic!("one scenario\n{output}");
    };
    assert_eq!(causes["name"], "causes");
    assert_eq!(causes["package"], "site");
    assert_eq!(causes["file"], "tests/load.rs");
    assert_eq!(
        causes["description"],
        "Every way in which a step can be kept from running."
    );
    let steps = causes["steps"].as_array().expect("steps");
    assert_eq!(steps.len(), 13);
    assert_eq!(steps[4]["url"], "/second/{{source.response.items[1].id}}");
    assert_eq!(steps[4]["dependencies"][0]["step"], 0);
    assert_eq!(steps[10]["weight"], 0.5);
    assert_eq!(steps[11]["effective_weight"], 0.5);
    assert_eq!(steps[12]["dependencies"][0]["optional"], true);
    let fingerprints: Vec<_> = steps
        .iter()
        .map(|step| step["fingerprint"].as_str())
        .collect();
    assert!(
        fingerprints
            .iter()
            .all(|one| one.is_some_and(|one| !one.is_empty()))
    );
}

fn filters_choose_by_substring_or_by_whole_identity() {
    assert_eq!(chosen("singl"), ["site::load::single"]);
    assert_eq!(
        chosen("load::single journey"),
        ["site::load::single", "site::load::journey"]
    );
    let own = [
        "site::load::own",
        "site::load::own_then_panic",
        "site::load::own_dies",
        "site::load::own_deaf",
    ];
    assert_eq!(chosen("load::own"), own);
    assert_eq!(chosen("--exact site::load::own"), ["site::load::own"]);
    let all = chosen("");
    assert!(all.len() > 12, "{all:?}");
    assert_eq!(
        all[..2],
        ["site::load::single", "site::load::journey"],
        "in the order of the source"
    );
}

fn tags_choose_and_narrow() {
    assert_eq!(
        chosen("--tag quick"),
        ["site::load::single", "site::load::journey"]
    );
    assert_eq!(
        chosen("--tag language"),
        ["site::load::builder", "site::load::declarative"]
    );
    assert_eq!(chosen("--tag quick --tag language").len(), 4);
    assert_eq!(chosen("journey --tag quick"), ["site::load::journey"]);
    let output = Sandbox::new().tool("list", "journey --tag language").run();
    output.exits(3).has_one_error();
}

/// A workspace of three packages: two have load tests, and one has programs that are none.
fn scenario(name: &str) -> String {
    format!(
        "use loadtest::prelude::*;\n\n#[scenario(tags = [\"shared\"])]\nfn {name}() {{\n    \
         #[step(get = \"/{name}\")]\n    fn ask();\n}}\n\nloadtest::main!();\n"
    )
}

fn workspace() -> &'static Project {
    static WORKSPACE: OnceLock<Project> = OnceLock::new();
    let traitor = |call: &str| {
        format!(
            "{call}\nfn main() {{\n    std::fs::write(concat!(env!(\"CARGO_MANIFEST_DIR\"), \
             \"/started\"), \"\").unwrap();\n}}\n"
        )
    };
    let foreign = format!(
        "{}[[test]]\nname = \"foreign\"\nharness = false\n\n[[test]]\nname = \"load\"\nharness = false\n",
        header("gamma")
    );
    WORKSPACE.get_or_init(|| {
        let manifest = "[workspace]\nresolver = \"3\"\nmembers = [\"alpha\", \"crates/beta\", \"gamma\"]\n\n\
                        [profile.dev]\ndebug = false\n";
        Files::new("workspace")
            .file("Cargo.toml", manifest)
            .package("alpha", "alpha", "")
            .file("alpha/tests/load.rs", scenario("first"))
            .package("crates/beta", "beta", "")
            .file("crates/beta/tests/load.rs", scenario("second"))
            .file("gamma/Cargo.toml", foreign)
            .file("gamma/src/lib.rs", "")
            .file("gamma/tests/foreign.rs", traitor("// loadtest::main!();"))
            .file("gamma/tests/load.rs", traitor("const TEXT: &str = \"\nloadtest::main!();\n\";"))
            .create()
    })
}

fn every_package_of_a_workspace_is_searched() {
    let output = workspace().tool("list", "--format json").run().exits(0);
    assert_eq!(
        identities(&output.stdout),
        ["alpha::load::first", "beta::load::second"]
    );
}

fn packages_are_chosen_by_name() {
    let project = workspace();
    let list = |line: &str| {
        let line = format!("--format json {line}");
        identities(&project.tool("list", &line).run().exits(0).stdout)
    };
    assert_eq!(list("-p beta"), ["beta::load::second"]);
    assert_eq!(list("-p beta -p alpha").len(), 2);
    project
        .tool("list", "-p gamma")
        .run()
        .exits(3)
        .says(&["`gamma`"]);
    project
        .tool("list", "-p delta")
        .run()
        .exits(2)
        .has_one_error()
        .says(&["alpha", "beta"]);
}

fn a_folder_of_a_member_stands_for_it_and_the_root_for_all() {
    let project = workspace();
    let list = |folder: &Path, more: &str| {
        let call = Call::tool(folder).line("list --profile test --format json");
        identities(&call.line(more).run().exits(0).stdout)
    };
    let inside = project.path("alpha/tests");
    let both = ["alpha::load::first", "beta::load::second"];
    assert_eq!(list(project.root(), ""), both);
    assert_eq!(list(&inside, ""), both[..1]);
    assert_eq!(list(&inside, "-p beta"), both[1..]);
    assert_eq!(list(&inside, "--workspace"), both);
    let elsewhere = tempfile::tempdir().expect("a folder");
    // Cargo reads profiles above the folder it is called in: with others it would compile every library again.
    fs::create_dir(elsewhere.path().join(".cargo")).expect("our own folder");
    let profiles = crate::project::workspace().join(".cargo/config.toml");
    fs::copy(profiles, elsewhere.path().join(".cargo/config.toml")).expect("our own folder");
    let manifest = project.path("crates/beta/Cargo.toml");
    let from_afar = format!("--manifest-path {}", manifest.display());
    assert_eq!(list(elsewhere.path(), &from_afar), both[1..]);
    let call = Call::tool(elsewhere.path()).line("list");
    call.run().exits(2).says(&["Cargo.toml"]);
}

fn the_root_of_a_workspace_stands_for_its_default_members() {
    let more = "[workspace]\nmembers = [\"alpha\", \"beta\"]\ndefault-members = [\".\", \"beta\"]\n\n\
                [profile.dev]\ndebug = false\n";
    let project = Files::new("defaults")
        .package("", "root", more)
        .file("tests/load.rs", scenario("third"))
        .package("alpha", "alpha", "")
        .file("alpha/tests/load.rs", scenario("first"))
        .package("beta", "beta", "")
        .file("beta/tests/load.rs", scenario("second"))
        .create();
    let list = |more: &str| {
        let call = project.tool("list", "--format json").line(more);
        identities(&call.run().exits(0).stdout)
    };
    let all = [
        "alpha::load::first",
        "beta::load::second",
        "root::load::third",
    ];
    assert_eq!(list(""), all[1..]);
    assert_eq!(list("--workspace"), all);
}

fn a_load_test_whose_features_are_off_is_left_out() {
    let more = format!(
        "[[test]]\nname = \"edge\"\nharness = false\nrequired-features = [\"quic\"]\n\n\
         [features]\nall = [\"quic\"]\nquic = []\n\n{STANDS_ALONE}"
    );
    let project = Files::new("featured")
        .package("", "featured", &more)
        .file("tests/load.rs", scenario("first"))
        .file("tests/edge.rs", scenario("second"))
        .create();
    let list = |more: &str| {
        let call = project.tool("list", "--format json").line(more);
        identities(&call.run().exits(0).stdout)
    };
    assert_eq!(list(""), ["featured::load::first"]);
    let both = ["featured::edge::second", "featured::load::first"];
    assert_eq!(list("--features all"), both);
    let none = Files::new("featured_alone")
        .package("", "featured_alone", &more)
        .file("tests/load.rs", "#[test]\nfn nothing() {}\n")
        .file("tests/edge.rs", scenario("second"))
        .create();
    none.tool("list", "").run().exits(3).says(&[
        "the load test `edge` of package `featured_alone` needs the feature `quic`",
        "`--features quic`",
    ]);
}

fn a_run_takes_what_a_list_shows() {
    let server = Server::start(|_| Reply::text("ok"));
    workspace()
        .tool("run", "--tag shared --iterations 3")
        .args(["--base-url", &server.url()])
        .run()
        .exits(0);
    assert_eq!(
        (server.requests_to("/first"), server.requests_to("/second")),
        (3, 3)
    );
    workspace()
        .tool("run", "-p beta --iterations 3")
        .args(["--base-url", &server.url()])
        .run()
        .exits(0);
    assert_eq!(
        (server.requests_to("/first"), server.requests_to("/second")),
        (3, 6)
    );
}

fn a_program_that_is_no_load_test_is_never_started() {
    let project = workspace();
    project.tool("list", "").run().exits(0);
    assert!(
        !project.path("gamma/started").exists(),
        "a foreign program was started"
    );
}

fn a_foreign_macro_of_the_same_name_is_refused_unseen() {
    let load = "mod loadtest {\n    macro_rules! main {\n        () => {\n            fn main() {\n                \
                std::fs::write(\n                    concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/started\"),\n                    \
                \"\",\n                )\n                .unwrap();\n            }\n        };\n    }\n    \
                pub(crate) use main;\n}\n\nloadtest::main!();\n";
    let manifest = format!("{}{LOAD_TEST}\n{STANDS_ALONE}", header("impostor"));
    let project = Files::new("impostor")
        .file("Cargo.toml", manifest)
        .file("src/lib.rs", "")
        .file("tests/load.rs", load)
        .create();
    project
        .tool("run", "")
        .run()
        .exits(2)
        .has_one_error()
        .says(&["is not a load test", "`impostor`"]);
    assert!(
        !project.path("started").exists(),
        "a foreign program was started"
    );
}

fn a_built_load_test_runs_where_there_is_no_cargo() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let run = sandbox.run("single --iterations 5", &server);
    run.env("PATH", "").run().exits(0);
    assert_eq!(server.requests(), 5);
    let record = sandbox.only_run().record();
    assert_eq!(
        record.scenarios[0].start.definition.identity(),
        "site::load::single"
    );
}

fn a_program_that_cannot_be_run_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let call = |line: &str| Call::tool(folder.path()).line(line).run();
    call("list --binary load-1a2b")
        .exits(2)
        .has_one_error()
        .says(&["could not open `load-1a2b`"]);
    fs::write(folder.path().join("load"), "no marker").expect("our own folder");
    call("list --binary load").exits(2).has_one_error().says(&[
        "`load` is not a load test",
        "`cargo test --no-run` prints the path",
    ]);
    for other in ["--package shop", "--release", "--features fast"] {
        call(&format!("run --binary load {other}"))
            .exits(2)
            .says(&["cannot be used with"]);
    }
}
