//! The scenarios of the load tests as their sources have them, before the compiler has seen them.

use super::check::SourceCheck;
use crate::source::{
    FileSource, OptionValue, Role, ScenarioSource, find_module_files, read_source,
};
use crate::ui::dashboard::Dashboard;
use crate::workspace::LoadTest;
use std::path::{Path, PathBuf};

/// The most files of a load test.
const FILES: usize = 500;

/// A scenario in its source.
#[derive(Debug)]
pub(in crate::ui) struct SourceScenario {
    /// The name that the compiled load test gives it.
    pub(in crate::ui) identity: String,
    pub(in crate::ui) path: PathBuf,
    pub(in crate::ui) scenario: ScenarioSource,
}

/// A file of a load test.
struct ModuleSource {
    path: PathBuf,
    /// The modules that lead to it.
    modules: Vec<String>,
    /// The folder of its modules without a path.
    folder: PathBuf,
}

impl SourceScenario {
    /// Returns the name in lists and reports.
    pub(in crate::ui) fn name(&self) -> &str {
        let mut options = self.scenario.options.iter();
        options
            .find_map(|option| match &option.value {
                Some(OptionValue::Text(name)) if option.key == "name" => Some(name.as_str()),
                _ => None,
            })
            .unwrap_or(&self.scenario.function)
    }

    pub(in crate::ui) fn tags(&self) -> &[String] {
        let mut options = self.scenario.options.iter();
        options
            .find_map(|option| match &option.value {
                Some(OptionValue::Texts(tags)) if option.key == "tags" => Some(tags.as_slice()),
                _ => None,
            })
            .unwrap_or_default()
    }

    /// Returns the load as it is written.
    pub(in crate::ui) fn load(&self) -> Option<&str> {
        let mut options = self.scenario.options.iter();
        let load = options.find(|option| option.key == "load")?;
        load.source.split_once('=').map(|(_, load)| load.trim())
    }

    /// Returns the names of its steps.
    pub(in crate::ui) fn steps(&self) -> impl Iterator<Item = &str> {
        let parts = self.scenario.parts.iter();
        let steps = parts.filter(|part| part.role == Role::Step);
        steps.map(|part| part.name.as_str())
    }

    /// Returns how many mistakes the compiler found in it, if it has looked.
    pub(in crate::ui) fn count_errors(&self, dashboard: &Dashboard) -> usize {
        let Some(SourceCheck::Ended(findings)) = dashboard.checks.get(&self.path) else {
            return 0;
        };
        let (first, last) = (self.scenario.first_line, self.scenario.last_line);
        let errors = findings.iter().filter(|finding| finding.is_error);
        errors
            .filter(|finding| finding.is_within(first, last))
            .count()
    }
}

/// Reads the scenarios of all load tests, in the order of their files. What cannot be read is left out.
pub(in crate::ui) fn list_sources(dashboard: &Dashboard) -> Vec<SourceScenario> {
    let tests = dashboard.workspace().load_tests(&[]).unwrap_or_default();
    tests.iter().flat_map(list_load_test).collect()
}

fn list_load_test(load_test: &LoadTest) -> Vec<SourceScenario> {
    let mut scenarios = Vec::new();
    let root = ModuleSource {
        path: load_test.path.clone(),
        modules: vec![load_test.package.clone(), load_test.name.clone()],
        folder: folder_of(&load_test.path),
    };
    let mut files = vec![root];
    let mut seen = 0;
    while let Some(file) = files.pop() {
        seen += 1;
        let Ok(text) = read_source(&file.path) else {
            continue;
        };
        if seen < FILES {
            files.extend(modules_of(&file, &text));
        }
        let source = FileSource::read(&text).map(|source| source.scenarios);
        for scenario in source.unwrap_or_default() {
            scenarios.push(SourceScenario {
                identity: format!("{}::{}", file.modules.join("::"), scenario.path),
                path: file.path.clone(),
                scenario,
            });
        }
    }
    scenarios
}

fn folder_of(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).to_path_buf()
}

/// The files of the modules that a file declares, where the compiler looks for them.
fn modules_of(file: &ModuleSource, text: &str) -> Vec<ModuleSource> {
    let modules = find_module_files(text).unwrap_or_default().into_iter();
    let files = modules.filter_map(|module| {
        let mut names = file.modules.clone();
        names.push(module.name.clone());
        let (path, folder) = if let Some(path) = &module.path {
            let path = folder_of(&file.path).join(path);
            (path.clone(), folder_of(&path))
        } else {
            let folder = file.folder.join(&module.name);
            let path = file.folder.join(format!("{}.rs", module.name));
            if path.is_file() {
                (path, folder)
            } else {
                (folder.join("mod.rs"), folder)
            }
        };
        path.is_file().then_some(ModuleSource {
            path,
            modules: names,
            folder,
        })
    });
    files.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn scenarios_are_found_in_all_files_of_a_load_test() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let scenario = |name: &str, options: &str| {
            format!("#[scenario({options})]\nfn {name}() {{ #[step(get = \"/\")] fn look(); }}\n")
        };
        write(
            "tests/load.rs",
            &format!(
                "#[path = \"load/orders.rs\"]\nmod orders;\nmod missing;\nmod plain;\n{}mod inner {{ {} }}",
                scenario(
                    "visit",
                    "name = \"A visit\", tags = [\"a\"], load = rate(5/s, for = 1m)"
                ),
                scenario("within", ""),
            ),
        );
        write(
            "tests/load/orders.rs",
            &format!("mod deep;\n{}", scenario("order", "")),
        );
        write("tests/load/deep.rs", &scenario("far", ""));
        write("tests/plain/mod.rs", &scenario("simple", "load = rate("));
        write("tests/other.rs", &scenario("other", ""));
        let test = LoadTest {
            required_features: Vec::new(),
            package: "shop".to_owned(),
            package_root: folder.path().to_path_buf(),
            package_id: String::new(),
            path: folder.path().join("tests/load.rs"),
            kind: "test",
            name: "load".to_owned(),
        };
        let found = list_load_test(&test);
        let names: Vec<_> = found.iter().map(|one| one.identity.as_str()).collect();
        assert_eq!(
            names,
            [
                "shop::load::visit",
                "shop::load::inner::within",
                "shop::load::orders::order",
                "shop::load::orders::deep::far",
            ]
        );
        let visit = &found[0];
        assert_eq!(visit.name(), "A visit");
        assert_eq!(visit.tags(), ["a"]);
        assert_eq!(visit.load(), Some("rate(5/s, for = 1m)"));
        assert_eq!(visit.steps().collect::<Vec<_>>(), ["look"]);
    }
}
