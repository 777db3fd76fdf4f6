//! `cargo loadtest` from a fresh clone: the alias, and what it must not compile again.

use crate::call::Call;
use crate::project::{adopt_lock, all_files, header, kept, workspace, write};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub(crate) fn trials() -> Vec<Trial> {
    trials![the_alias_runs_from_a_clone_and_compiles_nothing_twice,]
}

const SCENARIO: &str = "use loadtest::prelude::*;\n\n#[scenario]\nfn health() {\n    \
                        #[step(get = \"/health\")]\n    fn ask();\n}\n\nloadtest::main!();\n";

fn the_alias_runs_from_a_clone_and_compiles_nothing_twice() {
    let root = clone();
    let artifacts = kept("clone-target");
    let server = Server::start(|_| Reply::text("ok"));
    let url = server.url();
    let line = [
        "run",
        "--package",
        "gate",
        "--iterations",
        "1",
        "--base-url",
        &url,
    ];
    // In the profile of the alias, without its optimisation, which would take minutes.
    let cheap = |call: Call| {
        call.env("CARGO_TARGET_DIR", &artifacts)
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
    };
    let alias = |folder: &Path| cheap(Call::cargo(folder).arg("loadtest").args(line));
    let direct = || {
        let tool = artifacts.join("release/cargo-loadtest");
        cheap(Call::program(tool, &root).arg("loadtest").args(line))
    };
    alias(&root).run().comes_to(0);
    let before = compilations(&artifacts);
    assert!(before.len() > 50, "{before:?}");
    for call in [direct(), alias(&root), alias(&root.join("gate")), direct()] {
        call.run().comes_to(0).says_no("Compiling");
        let after = compilations(&artifacts);
        let anew: Vec<_> = after
            .iter()
            .filter(|(unit, time)| before.get(*unit) != Some(time))
            .collect();
        assert!(anew.is_empty(), "compiled again: {anew:#?}");
    }
    assert_eq!(server.requests(), 5);
}

/// When each unit was compiled, also where cargo was told to be quiet about it.
fn compilations(artifacts: &Path) -> BTreeMap<PathBuf, SystemTime> {
    let units = artifacts.join("release/.fingerprint");
    all_files(&units)
        .into_iter()
        .filter(|file| file.ends_with("invoked.timestamp"))
        .filter_map(|file| {
            let time = fs::metadata(units.join(&file)).and_then(|data| data.modified());
            Some((file, time.ok()?))
        })
        .collect()
}

/// A copy of this workspace with one more member, `gate`, that needs no more than the library.
fn clone() -> PathBuf {
    let root = kept("projects").join("clone");
    for folder in [
        "loadtest",
        "loadtest-macros",
        "cargo-loadtest",
        "examples",
        "tests",
        ".cargo",
    ] {
        let files = all_files(&workspace().join(folder));
        // The clone is kept from run to run.
        for gone in all_files(&root.join(folder)) {
            if !files.contains(&gone) {
                fs::remove_file(root.join(folder).join(&gone)).expect("a file of the clone");
            }
        }
        for file in files {
            copy(&root, &Path::new(folder).join(file));
        }
    }
    let manifest = fs::read_to_string(workspace().join("Cargo.toml")).expect("the manifest");
    let more = manifest.replacen("members = [", "members = [\"gate\", ", 1);
    assert_ne!(manifest, more, "the members stand in the manifest");
    write(&root.join("Cargo.toml"), &more);
    let gate = format!(
        "{}[dev-dependencies]\nloadtest.workspace = true\n\n[[test]]\nname = \"load\"\nharness = false\n",
        header("gate")
    );
    write(&root.join("gate/Cargo.toml"), &gate);
    write(&root.join("gate/src/lib.rs"), "");
    write(&root.join("gate/tests/load.rs"), SCENARIO);
    adopt_lock(&root);
    root
}

fn copy(root: &Path, path: &Path) {
    // What is no text is nothing that is compiled.
    if let Ok(text) = fs::read_to_string(workspace().join(path)) {
        write(&root.join(path), &text);
    }
}
