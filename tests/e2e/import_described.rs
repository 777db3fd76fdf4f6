//! Scenarios of OpenAPI documents, ours and those that public services have published: they compile as they are
//! written, and pass against a service that is made of the document alone and takes nothing else.

use crate::call::Call;
use crate::import_openapi::{DOCUMENTS, fixture};
use crate::project::{Files, Project, STANDS_ALONE, dependency, header};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::Described;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        what_is_imported_passes_against_what_the_document_says,
        what_public_services_publish_passes_against_what_they_say,
    ]
}

/// Descriptions that others have published, in a package that only tests depend on.
const PUBLISHED: [(&str, &str); 5] = [
    ("docker", "fixtures/docker.yaml"),
    ("fitbit", "fixtures/fitbit.json"),
    ("advisor", "fixtures/azure_advisor.yaml"),
    ("polygon", "fixtures/polygon.json"),
    ("xkcd", "fixtures/xkcd.json"),
];

/// What nobody can do right, since a document contradicts itself: load test, operation, and why.
const CONTRADICTIONS: [(&str, &str, &str); 6] = [
    (
        "faulty",
        "GET things/",
        "`styled` in the query: 1 is less than the minimum of 5",
    ),
    (
        "faulty",
        "POST things/",
        "nothing fits; the body: \"self\" is a required property",
    ),
    // Their examples are not of their own types.
    (
        "fitbit",
        "POST /oauth/token",
        "an example; the body: \"oauth/token\" is not one of \"token\"",
    ),
    (
        "fitbit",
        "POST /group",
        "an example; the body: \"id\" is a required property",
    ),
    (
        "fitbit",
        "POST /action",
        "an example; the body: \"id\" is a required property",
    ),
    (
        "advisor",
        "GET /subscriptions/",
        "an example; `operationId` in the path: \"operationGUID\" is not a \"uuid\"",
    ),
];

/// The folder of a package that tests depend on.
pub(crate) fn package(name: &str) -> PathBuf {
    // Of other systems nothing is downloaded.
    let rustc = Command::new("rustc")
        .arg("-vV")
        .output()
        .expect("rustc runs");
    let rustc = String::from_utf8(rustc.stdout).expect("text");
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: "));
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--filter-platform"])
        .arg(host.expect("a host"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("metadata");
    let mut packages = metadata["packages"].as_array().expect("packages").iter();
    let package = packages.find(|package| package["name"] == name);
    let manifest = package.and_then(|package| package["manifest_path"].as_str());
    Path::new(manifest.expect("a package of ours depends on it")).with_file_name("")
}

/// The base URL of all that is imported.
const BASE: &str = "http://127.0.0.1:8080";

/// A load test of a document, and the secrets that it asks for.
struct Imported {
    name: &'static str,
    document: String,
    source: String,
    secrets: Vec<String>,
}

fn imported(name: &'static str, document: &Path) -> Imported {
    let folder = tempfile::tempdir().expect("a folder of the system");
    let text = fs::read_to_string(document).expect("a document");
    // An operation with a server of its own goes there, whatever the base is; one server answers all here.
    let text = text.replace("https://media.library.example", BASE);
    // No text is made that matches a pattern: the document gets the example that the warning asks for.
    let pattern = r"pattern: '^[A-Z]{2}-\d{4}$'";
    let text = text.replace(pattern, &format!("{pattern}, example: AB-1234"));
    let file_name = document.file_name().expect("the name of a file");
    let document = &folder.path().join(file_name);
    fs::write(document, &text).expect("a file");
    let output = Call::tool(folder.path())
        .line("import openapi --base-url")
        .arg(BASE)
        .arg(document)
        .run()
        .exits(0);
    let lines = output.stderr.lines().map(str::trim_start);
    let secrets = lines.filter_map(|line| line.strip_prefix("Secret ")?.split_once(':'));
    Imported {
        name,
        document: text,
        secrets: secrets.map(|(name, _)| name.to_owned()).collect(),
        source: output.stdout,
    }
}

/// A package with all of the load tests.
fn project(name: &'static str, all: &[Imported]) -> Project {
    let mut manifest = format!(
        "{}[dev-dependencies]\nloadtest = {}\n\n",
        header(name),
        dependency()
    );
    let mut files = Files::new(name).file("src/lib.rs", "");
    for one in all {
        let _ = writeln!(
            manifest,
            "[[test]]\nname = \"{}\"\nharness = false\n",
            one.name
        );
        files = files.file(&format!("tests/{}.rs", one.name), one.source.clone());
    }
    manifest.push_str(STANDS_ALONE);
    files.file("Cargo.toml", manifest).create()
}

/// Each of the load tests asks for every operation as its document has it, and expects what is answered.
fn pass(project: &Project, all: &[Imported]) {
    let output = project.cargo("test --no-run").run().exits(0);
    assert!(!output.stderr.contains("warning"), "{output}");
    for one in all {
        let service = Described::new(&one.document).start();
        let mut call = project
            .cargo(&format!("test --quiet --test {}", one.name))
            .env("LOADTEST_BASE_URL", service.server.url());
        for secret in &one.secrets {
            call = call.env(secret, format!("{}-value", secret.to_lowercase()));
        }
        let output = call.run();
        let refused = service.refusals.told();
        let passes = output.status.success();
        assert!(passes, "{}: {refused:#?}\n{output}", one.name);
        assert_eq!(refused, Vec::<String>::new(), "{}", one.name);
        assert_eq!(service.unasked(), Vec::<&str>::new(), "{}", one.name);
        let known = |told: &String| {
            let mut known = CONTRADICTIONS.iter();
            known.any(|(name, operation, why)| {
                *name == one.name && told.starts_with(operation) && told.contains(why)
            })
        };
        let unjudged = service.unjudged.told();
        let unjudged: Vec<_> = unjudged.iter().filter(|told| !known(told)).collect();
        assert_eq!(unjudged, Vec::<&String>::new(), "{}", one.name);
    }
}

fn what_is_imported_passes_against_what_the_document_says() {
    let folder = fixture("README.md").with_file_name("");
    let files = fs::read_dir(folder).expect("a folder").flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    for name in names.filter(|name| name != "README.md") {
        let is_known = DOCUMENTS.iter().any(|(_, document)| *document == name);
        assert!(is_known, "nothing tries the document {name}");
    }
    let all = DOCUMENTS.map(|(name, document)| imported(name, &fixture(document)));
    let project = project("described", &all);
    pass(&project, &all);
    // As rustfmt would have written it.
    for (name, _) in DOCUMENTS {
        let mut rustfmt = Command::new("rustfmt");
        rustfmt.args(["--check", "--edition", "2024"]);
        let output = rustfmt
            .arg(project.path(&format!("tests/{name}.rs")))
            .output()
            .expect("rustfmt");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );
    }
}

fn what_public_services_publish_passes_against_what_they_say() {
    let package = package("openapiv3");
    let all = PUBLISHED.map(|(name, document)| imported(name, &package.join(document)));
    pass(&project("described_published", &all), &all);
}
