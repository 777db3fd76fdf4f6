//! The project of scenarios that try to send where they may not.

use crate::project::{Files, Project, built_load_test};
use std::fmt::Write as _;
use std::sync::OnceLock;

/// Holes of guards: where each leads, and by how many of the four ways if that is listed: the engine takes no other
/// letters and no credentials, which a step that sends for itself puts into a header.
pub(crate) const HOLES: [(&str, &str, u64); 16] = [
    ("literal", "http://10.99.0.2:8111", 4),
    ("decimal", "http://174260226:8111", 4),
    ("hexadecimal", "http://0xa.0x63.0.0x2:8111", 4),
    ("octal", "http://012.0143.0.2:8111", 4),
    ("short", "http://10.99.2:8111", 4),
    ("dotted", "http://10.99.0.2.:8111", 4),
    ("mapped", "http://[::ffff:10.99.0.2]:8111", 4),
    ("translated", "http://[64:ff9b::10.99.0.2]:8111", 4),
    ("wide", "http://１０.９９.０.２:8111", 3),
    ("named", "http://elsewhere.test.:8111", 0),
    ("user", "http://10.99.0.1:8101@10.99.0.2:8111", 3),
    ("unspecified", "http://0.0.0.0:8111", 0),
    ("unspecified6", "http://[::]:8111", 0),
    ("metadata", "http://169.254.169.254:8111", 0),
    ("metadata6", "http://[::ffff:a9fe:a9fe]:8111", 0),
    ("redirect", "", 4),
];

const LISTED: &str = r#"
[[targets]]
host = "10.99.0.1"
scheme = "http"
port = 8121
owner = "ada@shop.test"
max_rate = "1/m"

[[targets]]
host = "10.99.0.1"
scheme = "http"
port = 8122
owner = "ada@shop.test"
proof = "well-known"
"#;

/// The project, built when it is asked for first.
pub(crate) fn project() -> &'static Project {
    static PROJECT: OnceLock<Project> = OnceLock::new();
    PROJECT.get_or_init(|| {
        let project = Files::single("guard", &load())
            .file("loadtest.toml", LISTED)
            .create();
        built_load_test(project.root());
        project
    })
}

/// The scenarios, and one with a step of the engine's for each hole.
fn load() -> String {
    let mut text = include_str!("../fixtures/guard/load.rs").to_owned();
    text.push_str(
        "\n/// By the engine.\n#[scenario(load = iterations(1), redirects = 2)]\nfn engine() {\n",
    );
    for (name, ..) in HOLES {
        // Not in the source, where the guard would find it before the run.
        let _ = writeln!(
            text,
            "    #[step]\n    fn {name}() -> Request {{ Request::get(hole(\"{name}\")) }}\n"
        );
    }
    text.push_str("}\n\nloadtest::main!();\n");
    text
}
