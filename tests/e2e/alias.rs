//! `cargo loadtest` in this workspace: the alias, and what it must not compile again.

use crate::call::Call;
use crate::project::{all_files, ours, workspace};
use crate::trials;
use libtest_mimic::{Completion, Trial};
use loadtest_tests::{Reply, Server};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub(crate) fn trials() -> Vec<Trial> {
    let mut all = trials![the_scenario_of_the_readme_is_that_of_the_example,];
    all.push(Trial::ignorable_test(
        "alias::the_alias_runs_in_every_folder_and_compiles_nothing_twice",
        || {
            // It takes minutes to compile, which is done where a run was stored.
            if !ours().join("loadtest").exists() {
                return Ok(Completion::ignored_with(
                    "the alias was not compiled yet: `cargo loadtest run` does it",
                ));
            }
            the_alias_runs_in_every_folder_and_compiles_nothing_twice();
            Ok(Completion::Completed)
        },
    ));
    all
}

/// The code of the page is the begin of the file that the command below it runs.
fn the_scenario_of_the_readme_is_that_of_the_example() {
    let read = |path: &str| fs::read_to_string(workspace().join(path)).expect(path);
    let (readme, example) = (read("README.md"), read("examples/shop/tests/load.rs"));
    let (_, code) = readme.split_once("```rust\n").expect("a block of code");
    let (code, _) = code
        .split_once("\n\nloadtest::main!();\n```")
        .expect("its end");
    let begin = example.find("use loadtest").expect("the imports");
    assert!(example[begin..].starts_with(code), "{code}");
}

fn the_alias_runs_in_every_folder_and_compiles_nothing_twice() {
    let server = Server::start(|_| Reply::text("ok"));
    let url = server.url();
    let runs = tempfile::tempdir().expect("a folder");
    let here = |call: Call| {
        call.here()
            .env("LOADTEST_STORE_DIRECTORY", runs.path())
            .line("run --package shop --iterations 1 shop::load::health --base-url")
            .arg(&url)
    };
    let alias = |folder: &Path| here(Call::cargo(folder).arg("loadtest"));
    let direct = || here(Call::tool(workspace()));
    let root = workspace();
    alias(root).run().exits(0);
    let before = compilations();
    assert!(before.len() > 50, "{before:?}");
    let member = root.join("examples/shop");
    for call in [direct(), alias(root), alias(&member), direct()] {
        call.run().exits(0).says_no("Compiling");
        let after = compilations();
        let anew: Vec<_> = before
            .iter()
            .filter(|(unit, time)| after.get(*unit) != Some(time))
            .collect();
        assert!(anew.is_empty(), "compiled again: {anew:#?}");
    }
    assert_eq!(server.requests(), 5);
    alias(root).line("ui --help").run().exits(0);
    // The tool of the alias leaves out what takes long to compile, and says so before anything runs.
    alias(root).line("--export pdf").run().exits(2).says(&[
        "writes no PDF",
        "cargo run -p cargo-loadtest -- report latest --export pdf",
    ]);
    assert_eq!(server.requests(), 5);
}

/// When each library of others was compiled, whether cargo said so or not. Of ours it says so; and other
/// tests, and editors, may compile their own in this folder at the same time.
fn compilations() -> BTreeMap<PathBuf, SystemTime> {
    let lock = fs::read_to_string(workspace().join("Cargo.lock")).expect("the lock");
    let others: BTreeSet<String> = lock
        .split("[[package]]")
        .filter(|package| package.contains("\nsource = "))
        .filter_map(|package| package.split('"').nth(1))
        .map(|name| format!("lib{}", name.replace('-', "_")))
        .collect();
    let folder = ours().join("debug/deps");
    all_files(&folder)
        .into_iter()
        .filter(|file| {
            let name = file.to_str().and_then(|name| name.strip_suffix(".rlib"));
            let name = name.and_then(|name| name.rsplit_once('-'));
            name.is_some_and(|(name, _)| others.contains(name))
        })
        .filter_map(|file| {
            let time = fs::metadata(folder.join(&file)).and_then(|data| data.modified());
            Some((file, time.ok()?))
        })
        .collect()
}
