//! Scenarios in libraries, and `loadtest` under other names: through a facade, and renamed.

use crate::project::{Files, LOAD_TEST, Project, dependency, header};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::record::RunRecord;
use loadtest_tests::{Reply, Server};
use serde_json::Value;
use std::sync::OnceLock;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        scenarios_of_a_library_are_listed_once_and_found_by_tag,
        scenarios_of_a_library_are_smoked_by_each_package_that_names_it,
        scenarios_of_a_library_run_and_see_their_own_folder,
        scenarios_of_two_packages_mix_through_a_program_that_holds_both,
        the_package_that_runs_gives_the_permission_not_the_library,
    ]
}

/// A facade, a library over it, and two packages that link the library: one of them knows `loadtest`
/// under another name.
fn project() -> &'static Project {
    static PROJECT: OnceLock<Project> = OnceLock::new();
    PROJECT.get_or_init(|| {
        let workspace = "[workspace]\nresolver = \"3\"\nmembers = [\"acme\", \"acme-scenarios\", \
                         \"gate\", \"shop\"]\n\n[profile.dev]\ndebug = false\n";
        let acme = format!(
            "{}[dependencies]\nloadtest = {}\n",
            header("acme"),
            dependency()
        );
        let scenarios = format!(
            "{}[dependencies]\nacme = {{ path = \"../acme\" }}\n",
            header("acme-scenarios")
        );
        let shop = format!(
            "{}[dev-dependencies]\nacme-scenarios = {{ path = \"../acme-scenarios\" }}\n\
             loadtest = {}\n\n{LOAD_TEST}",
            header("shop"),
            dependency()
        );
        let path = dependency();
        let renamed = path.trim_start_matches('{').trim_end_matches('}');
        let gate = format!(
            "{}[dev-dependencies]\nacme-scenarios = {{ path = \"../acme-scenarios\" }}\n\
             strain = {{ package = \"loadtest\", {renamed} }}\n\n{LOAD_TEST}",
            header("gate"),
        );
        Files::new("libraries")
            .file("Cargo.toml", workspace)
            .file("acme/Cargo.toml", acme)
            .file(
                "acme/src/lib.rs",
                "//! What the company uses.\n\npub use loadtest;\n",
            )
            .file("acme-scenarios/Cargo.toml", scenarios)
            .file("acme-scenarios/src/lib.rs", SCENARIOS)
            .file("acme-scenarios/loadtest.toml", listed(443))
            .file("shop/Cargo.toml", shop)
            .file("shop/src/lib.rs", "//! Nothing.\n")
            .file("shop/loadtest.toml", listed(8443))
            .file("shop/tests/load.rs", SHOP)
            .file("gate/Cargo.toml", gate)
            .file("gate/src/lib.rs", "//! Nothing.\n")
            .file("gate/tests/load.rs", GATE)
            .create()
    })
}

/// A `loadtest.toml` that permits an address of no host (RFC 5737).
fn listed(port: u16) -> String {
    format!("[[targets]]\nhost = \"192.0.2.1\"\nport = {port}\nowner = \"ada\"\n")
}

const SCENARIOS: &str = r#"//! Scenarios for every service of the company.

use acme::loadtest::prelude::*;

#[response(crate = acme::loadtest)]
pub struct Login {
    pub token: String,
}

/// A customer buys.
#[scenario(crate = acme::loadtest, tags = ["acme"], load = iterations(4, users = 2))]
pub fn checkout() {
    #[state]
    fn turns() -> u32 {
        0
    }

    #[step(post = "/acme/login", json = { "user": "ada" }, check = |login| !login.token.is_empty())]
    fn login() -> Login;

    #[step(weight = 1.0, get = "/acme/{{login.response.token}}")]
    fn declared() -> Value;

    #[step]
    fn built(login: &Login, turns: &mut u32) -> Request {
        *turns += 1;
        Request::get("/acme/built").bearer_auth(&login.token).header("x-turn", *turns)
    }

    #[check]
    fn has_token(login: &Login) -> bool {
        !login.token.is_empty()
    }

    #[teardown]
    fn nothing_left() {}
}

pub mod deep {
    pub mod deeper {
        use acme::loadtest::prelude::*;

        /// Of the same name, elsewhere.
        #[scenario(crate = acme::loadtest, tags = ["acme", "deep"], load = iterations(2, users = 1))]
        pub fn checkout() {
            #[step]
            fn root() -> Request {
                Request::get("/acme/root").header("x-root", checkout().root)
            }
        }
    }
}
"#;

const SHOP: &str = r#"use acme_scenarios as _;
use loadtest::prelude::*;

/// Of the same name as two of the library.
#[scenario(tags = ["own"], load = iterations(3, users = 1))]
fn checkout() {
    #[step(get = "/shop")]
    fn ask();
}

loadtest::main!();
"#;

const GATE: &str = r#"use acme_scenarios as _;
use strain::prelude::*;

#[response(crate = strain)]
struct Pass {
    token: String,
}

#[scenario(crate = strain, tags = ["own"], load = iterations(3, users = 1))]
fn enter() {
    #[step(post = "/acme/login")]
    fn login() -> Pass;

    #[step(get = "/gate/{{login.response.token}}")]
    fn ask();
}

strain::main!();
"#;

fn company() -> Server {
    Server::recording(|request| match &*request.path {
        "/acme/login" => Reply::json(r#"{"token":"t"}"#),
        "/acme/t" => Reply::json("{}"),
        _ => Reply::text("ok"),
    })
}

fn identities(json: &str) -> Vec<String> {
    let list: Value = serde_json::from_str(json).expect("a list in JSON");
    let list = list.as_array().expect("a list");
    list.iter()
        .map(|scenario| {
            scenario["identity"]
                .as_str()
                .expect("an identity")
                .to_owned()
        })
        .collect()
}

fn scenarios_of_a_library_are_listed_once_and_found_by_tag() {
    let listed = |line: &str| {
        let output = project().tool("list", line).run().exits(0);
        identities(&output.stdout)
    };
    let library = [
        "acme-scenarios::checkout",
        "acme-scenarios::deep::deeper::checkout",
    ];
    assert_eq!(listed("--format json --tag acme"), library);
    assert_eq!(listed("--format json --tag deep"), library[1..]);
    assert_eq!(
        listed("--format json"),
        [
            library[0],
            library[1],
            "gate::load::enter",
            "shop::load::checkout"
        ]
    );
    assert_eq!(
        listed("--format json -p shop"),
        [library[0], library[1], "shop::load::checkout"]
    );
}

fn scenarios_of_a_library_are_smoked_by_each_package_that_names_it() {
    let server = company();
    for package in ["shop", "gate"] {
        project()
            .cargo(&format!("test -p {package} --test load"))
            .env("LOADTEST_BASE_URL", server.url())
            .run()
            .exits(0)
            .prints(&["3 passed", "deep::deeper::checkout"]);
    }
    // Of the same name in two crates: each can be picked.
    project()
        .cargo("test -p shop --test load -- --exact acme_scenarios::checkout")
        .env("LOADTEST_BASE_URL", server.url())
        .run()
        .exits(0)
        .prints(&["1 passed"]);
    assert_eq!(server.requests_to("/acme/built"), 3);
    assert_eq!(server.requests_to("/gate/t"), 1);
}

fn run(line: &str, server: &Server) -> RunRecord {
    let output = project()
        .tool("run", line)
        .args(["--base-url", &server.url(), "--export", "json=-"])
        .run()
        .exits(0);
    let report: Value = serde_json::from_str(&output.stdout).expect("a report");
    let run = report["run_id"].as_str().expect("an identifier");
    // The folder for the runs of this workspace: others have the same target directory.
    let stores = std::fs::read_dir(crate::project::kept("target").join("loadtest"));
    let stores = stores.expect("a store").map(|one| one.expect("a folder"));
    let mut records = stores.map(|store| store.path().join(run).join("record.json"));
    let record = records.find(|record| record.is_file()).expect("the record");
    let text = std::fs::read_to_string(record).expect("the record");
    serde_json::from_str(&text).expect("a record")
}

fn scenarios_of_a_library_run_and_see_their_own_folder() {
    let server = company();
    let record = run("-p shop --tag acme", &server);
    let names: Vec<_> = record
        .scenarios
        .iter()
        .map(|scenario| scenario.start.definition.identity())
        .collect();
    let library = [
        "acme-scenarios::checkout",
        "acme-scenarios::deep::deeper::checkout",
    ];
    assert_eq!(names, library);
    assert_eq!(server.requests_to("/acme/built"), 4);
    let recorded = server.recorded();
    let asked = recorded.iter().find(|request| request.path == "/acme/root");
    let root = asked.and_then(|request| request.header("x-root"));
    let own = project().path("acme-scenarios");
    assert_eq!(root, Some(&*own.display().to_string()));
    let text = serde_json::to_string(&record).expect("the record");
    assert!(
        !text.contains(&own.display().to_string()),
        "no folder of this machine is kept"
    );
}

fn scenarios_of_two_packages_mix_through_a_program_that_holds_both() {
    let server = company();
    // The library's are known through `gate` first, but only `shop` has all three.
    let record = run(
        "--mix acme-scenarios::checkout shop::load::checkout --iterations 6 --users 2",
        &server,
    );
    assert_eq!(record.scenarios.len(), 2);
    assert_eq!(server.requests_to("/acme/built"), 3);
    assert_eq!(server.requests_to("/shop"), 3);
}

fn the_package_that_runs_gives_the_permission_not_the_library() {
    let call = |package: &str| {
        project()
            .tool("run", &format!("-p {package} --tag deep"))
            .args(["--base-url", "https://192.0.2.1"])
            .run()
            .exits(103)
    };
    call("shop").says(&["shop/loadtest.toml` lists https://192.0.2.1:8443"]);
    call("gate").says(&[
        "`https://192.0.2.1` is not a permitted target",
        "`[[targets]]`",
    ]);
}
