//! The data files of a scenario: those that its definition names, those in its source, and those of `--include`.

use super::check_path;
use crate::selection::Found;
use crate::source::{FileSource, Role, read_source};
use crate::workspace::{self, Workspace};
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_model::definition::{BodyKind, ScenarioDef};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// The constructors of feeds that read a file.
const FEEDS: [&str; 3] = ["csv", "json", "json_lines"];

/// The files of a bundle by their paths in it.
pub(super) type DataFiles = BTreeMap<String, PathBuf>;

/// A file that a scenario reads.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NamedFile {
    /// The path, as it is written.
    path: String,
    /// The part of the scenario that names it.
    by: String,
}

/// A package whose files are bundled.
#[derive(Debug)]
struct DataPackage<'a> {
    name: &'a str,
    folder: PathBuf,
}

/// Finds the data files of `chosen`; `included` are paths that the user names.
///
/// # Errors
/// A file that is missing, outside of its package, or secret; a path that the source does not show.
pub(super) fn find_data_files(
    chosen: &[Found],
    included: &[PathBuf],
    workspace: &Workspace,
) -> Result<DataFiles, Error> {
    let mut files = DataFiles::new();
    let mut packages: Vec<DataPackage<'_>> = Vec::new();
    for found in chosen {
        let name = &*found.definition.package;
        if packages.iter().any(|known| known.name == name) {
            continue;
        }
        let folder = find_folder(found, workspace);
        packages.extend(folder.map(|folder| DataPackage { name, folder }));
    }
    for path in included {
        include_path(path, &packages, &mut files)?;
    }
    for found in chosen {
        let definition = &found.definition;
        let package = packages
            .iter()
            .find(|package| package.name == definition.package);
        if let Some(package) = package {
            package.add_declared(definition, &mut files)?;
            let source = workspace.root().join(&*definition.file);
            package.add_written(definition, &source, !included.is_empty(), &mut files)?;
        } else if !list_declared_files(definition).is_empty() || !definition.feeds.is_empty() {
            return Err(Error::usage(format!(
                "`{}` reads files of the package `{}`, which is not a member of this workspace",
                definition.identity(),
                definition.package
            ))
            .with_help("bundle it in the workspace of that package"));
        }
    }
    Ok(files)
}

fn unseen_path(identity: &str, by: &str) -> Error {
    Error::usage(format!(
        "`{identity}` reads a file whose path its source does not show ({by})"
    ))
    .with_help("name the files that it reads: `--include data/users.csv`, or `--include data`")
}

/// The folder of the package that holds a scenario, where it is known.
fn find_folder(found: &Found, workspace: &Workspace) -> Option<PathBuf> {
    let name = &*found.definition.package;
    if found.binary.package == name {
        return Some(found.binary.package_root.clone());
    }
    let package = workspace.package(name).ok()?;
    Some(workspace::folder(package))
}

/// Lists the files that a definition names, except the private key of the client.
fn list_declared_files(definition: &ScenarioDef) -> Vec<NamedFile> {
    let authorities = definition.client.ca.iter();
    let mut files: Vec<_> = authorities
        .map(|path| NamedFile::new(path, "`ca`"))
        .collect();
    for step in definition.steps.iter() {
        let Some(body) = &step.body else { continue };
        let by = format!("step `{}`", step.name);
        match body.kind {
            BodyKind::Bytes => files.push(NamedFile::new(&body.template, &by)),
            BodyKind::Multipart => {
                let fields = serde_json::from_str::<Value>(&body.template);
                let fields = fields.ok().and_then(|fields| fields.as_object().cloned());
                let values = fields.iter().flat_map(|fields| fields.values());
                let parts = values.flat_map(|value| match value {
                    Value::Array(several) => several.iter().collect(),
                    one => vec![one],
                });
                let paths = parts.filter_map(|part| part.get("file")?.as_str());
                files.extend(paths.map(|path| NamedFile::new(path, &by)));
            }
            _ => {}
        }
    }
    files
}

impl NamedFile {
    fn new(path: &str, by: &str) -> Self {
        Self {
            path: path.to_owned(),
            by: by.to_owned(),
        }
    }
}

impl DataPackage<'_> {
    /// Adds the files that the definition of a scenario names.
    fn add_declared(&self, definition: &ScenarioDef, files: &mut DataFiles) -> Result<(), Error> {
        let identity = definition.identity();
        for file in &list_declared_files(definition) {
            self.add(&identity, file, files)?;
        }
        let Some(key) = &definition.client.identity else {
            return Ok(());
        };
        let path = self.locate(&identity, &NamedFile::new(key, "`identity`"))?;
        if files.contains_key(&path) {
            return Ok(());
        }
        Err(Error::usage(format!(
            "`{identity}` reads the private key in `{key}` (`identity`), which is not bundled automatically"
        ))
        .with_help(format!("to bundle it, write `--include {key}`")))
    }

    /// Adds the files that the `source` of a scenario shows; it need not show all where the user `has_included` some.
    fn add_written(
        &self,
        definition: &ScenarioDef,
        source: &Path,
        has_included: bool,
        files: &mut DataFiles,
    ) -> Result<(), Error> {
        let identity = definition.identity();
        let Ok(text) = read_source(source) else {
            if definition.feeds.is_empty() || has_included {
                return Ok(());
            }
            return Err(unseen_path(&identity, "its feeds"));
        };
        let written = SourceFiles::of_scenario(&text, definition);
        if let Some(by) = written.computed.first().filter(|_| !has_included) {
            return Err(unseen_path(&identity, by));
        }
        for file in &written.feeds {
            let path = self.locate(&identity, file)?;
            if self.folder.join(&file.path).exists() {
                self.add(&identity, file, files)?;
            } else if !files.contains_key(&path) {
                console::print_warning(format_args!(
                    "`{identity}` reads `{}` ({}), which does not exist; the bundle is without it",
                    file.path, file.by
                ));
            }
        }
        for file in written
            .others
            .iter()
            .filter(|file| self.is_data(&file.path))
        {
            self.add(&identity, file, files)?;
        }
        Ok(())
    }

    /// Returns the path in the bundle of a file that a scenario names.
    ///
    /// # Errors
    /// When it is outside of the package.
    fn locate(&self, identity: &str, file: &NamedFile) -> Result<String, Error> {
        let path = self.folder.join(&file.path);
        let outside = || {
            Error::usage(format!(
                "`{identity}` reads `{}` ({}), which is outside of its package `{}`",
                file.path, file.by, self.name
            ))
            .with_help(format!(
                "a bundle contains only files of the package: move it below `{}`, and use its path there",
                self.folder.display()
            ))
        };
        let normal = normalize(Path::new(&file.path)).ok_or_else(outside)?;
        // A link may lead elsewhere.
        if let (Ok(real), Ok(folder)) = (path.canonicalize(), self.folder.canonicalize())
            && !real.starts_with(folder)
        {
            return Err(outside());
        }
        self.bundle_path(&normal)
    }

    /// Returns the path in the bundle of a path in the package.
    fn bundle_path(&self, inside: &Path) -> Result<String, Error> {
        let parts = inside.components().map(|part| part.as_os_str().to_str());
        let parts: Option<Vec<&str>> = parts.collect();
        let parts = parts
            .ok_or_else(|| Error::usage(format!("the path `{}` is not UTF-8", inside.display())))?;
        let path = format!("{}/{}/{}", super::PACKAGES, self.name, parts.join("/"));
        check_path(&path)?;
        Ok(path)
    }

    fn add(&self, identity: &str, file: &NamedFile, files: &mut DataFiles) -> Result<(), Error> {
        let bundled = self.locate(identity, file)?;
        let path = self.folder.join(&file.path);
        let problem = match std::fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => {
                files.insert(bundled, path);
                return Ok(());
            }
            Ok(_) => "it is not a regular file".to_owned(),
            Err(error) => error.to_string(),
        };
        Err(Error::usage(format!(
            "`{identity}` reads `{}` ({}), which cannot be bundled: {problem}",
            file.path, file.by
        )))
    }

    /// Returns true if a text names a file of the package that is no source.
    fn is_data(&self, text: &str) -> bool {
        let Some(inside) = normalize(Path::new(text)).filter(|_| check_path(text).is_ok()) else {
            return false;
        };
        !is_source(&inside) && self.folder.join(inside).is_file()
    }
}

/// Returns true for files that are compiled or say how.
fn is_source(path: &Path) -> bool {
    let has_name = |name: &&str| path.file_name().is_some_and(|own| own == *name);
    path.extension().is_some_and(|extension| extension == "rs")
        || ["Cargo.toml", "Cargo.lock", crate::config::FILE_NAME]
            .iter()
            .any(has_name)
}

/// Returns a relative path without `.` and `..`; none where it leads out.
fn normalize(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(part) => normal.push(part),
            Component::ParentDir if normal.pop() => {}
            _ => return None,
        }
    }
    (normal != Path::new("")).then_some(normal)
}

/// Adds a file, or all files of a folder, that the user names.
fn include_path(
    path: &Path,
    packages: &[DataPackage<'_>],
    files: &mut DataFiles,
) -> Result<(), Error> {
    let unread = |error| Error::io("read", path)(error);
    let real = path.canonicalize().map_err(unread)?;
    let package = packages.iter().find_map(|package| {
        let folder = package.folder.canonicalize().ok()?;
        Some((package, real.strip_prefix(&folder).ok()?.to_path_buf()))
    });
    let Some((package, inside)) = package else {
        let names: Vec<_> = packages.iter().map(|package| package.name).collect();
        return Err(Error::usage(format!(
            "`{}` is outside of the package of the scenarios ({})",
            path.display(),
            names.join(", ")
        ))
        .with_help("move it into the package, and name it by its path there"));
    };
    if real.is_file() {
        files.insert(package.bundle_path(&inside)?, real);
        return Ok(());
    }
    let mut folders = vec![inside];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(real_path(package, &folder)?);
        for entry in entries.map_err(Error::io("read", path))? {
            let entry = entry.map_err(Error::io("read", path))?;
            let inside = folder.join(entry.file_name());
            let kind = entry.file_type().map_err(Error::io("read", entry.path()))?;
            if kind.is_dir() {
                folders.push(inside);
            } else if kind.is_file() && !is_source(&inside) {
                files.insert(package.bundle_path(&inside)?, entry.path());
            }
            if files.len() > super::MOST_FILES {
                return Err(Error::usage(format!(
                    "`{}` holds more than {} files",
                    path.display(),
                    super::MOST_FILES
                )));
            }
        }
    }
    Ok(())
}

fn real_path(package: &DataPackage<'_>, inside: &Path) -> Result<PathBuf, Error> {
    let folder = package.folder.canonicalize();
    let folder = folder.map_err(Error::io("read", &package.folder))?;
    Ok(folder.join(inside))
}

/// The paths in the source of a scenario.
#[derive(Debug, Default, PartialEq, Eq)]
struct SourceFiles {
    /// Files of feeds.
    feeds: Vec<NamedFile>,
    /// Texts in setups, feeds and states that may be paths.
    others: Vec<NamedFile>,
    /// The feeds whose path is no text.
    computed: Vec<String>,
}

impl SourceFiles {
    fn of_scenario(text: &str, definition: &ScenarioDef) -> Self {
        let mut files = Self::default();
        let Ok(source) = FileSource::read(text) else {
            return files;
        };
        let line = definition.line as usize;
        let scenarios = source.scenarios.iter();
        let Some(scenario) = scenarios.clone().find(|scenario| scenario.line == line) else {
            return files;
        };
        let shared = source.modules.iter();
        let shared = shared.filter(|module| Some(&module.path) == scenario.module.as_ref());
        for part in shared
            .flat_map(|module| &module.parts)
            .chain(&scenario.parts)
        {
            let by = match part.role {
                Role::Feed => format!("feed `{}`", part.name),
                Role::Setup => format!("setup `{}`", part.name),
                Role::State => format!("state `{}`", part.name),
                Role::Rust => "a constant".to_owned(),
                _ => continue,
            };
            if let Ok(tokens) = part.source.parse() {
                files.read_tokens(tokens, &by);
            }
        }
        files
    }

    fn read_tokens(&mut self, tokens: TokenStream, by: &str) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, tree) in trees.iter().enumerate() {
            match tree {
                TokenTree::Group(group) => {
                    let is_call = group.delimiter() == Delimiter::Parenthesis;
                    match &trees[..at] {
                        [.., TokenTree::Punct(colon), TokenTree::Ident(name)]
                            if is_call
                                && colon.as_char() == ':'
                                && FEEDS.iter().any(|feed| name == feed) =>
                        {
                            self.read_feed(group.stream(), by);
                        }
                        _ => self.read_tokens(group.stream(), by),
                    }
                }
                TokenTree::Literal(_) => {
                    let text = read_text(tree.clone().into());
                    self.others
                        .extend(text.map(|text| NamedFile::new(&text, by)));
                }
                _ => {}
            }
        }
    }

    fn read_feed(&mut self, arguments: TokenStream, by: &str) {
        if let Some(path) = read_text(arguments.clone()) {
            self.feeds.push(NamedFile::new(&path, by));
        } else {
            self.computed.push(by.to_owned());
            self.read_tokens(arguments, by);
        }
    }
}

/// The value of a text literal.
fn read_text(tokens: TokenStream) -> Option<String> {
    let text: syn::LitStr = syn::parse2(tokens).ok()?;
    Some(text.value())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"
        #[scenario]
        fn visit() {
            const TEAMS: &str = "data/teams.csv";

            #[setup]
            fn photo() -> File {
                File::read("data/me.png").unwrap()
            }

            #[feed]
            fn user() -> Feed<User> {
                Feed::csv("data/users.csv").shuffle()
            }

            #[feed]
            fn team() -> Feed<Team> {
                Feed::json_lines(TEAMS)
            }

            #[step(post = "/users", json = { "name": "{{user.name}}" })]
            fn send();
        }
    "#;

    #[test]
    fn the_source_shows_the_files_of_feeds_and_setups() {
        let mut definition = crate::session::sample::definition("visit", &[]);
        definition.line = 3;
        let files = SourceFiles::of_scenario(SOURCE, &definition);
        assert_eq!(
            files.feeds,
            [NamedFile::new("data/users.csv", "feed `user`")]
        );
        let others: Vec<_> = files.others.iter().map(|file| &*file.path).collect();
        assert_eq!(others, ["data/teams.csv", "data/me.png"]);
        assert_eq!(files.computed, ["feed `team`"]);
    }

    #[test]
    fn a_path_that_leads_out_is_found() {
        for path in ["../a.csv", "data/../../a.csv", "/etc/passwd", "", "."] {
            assert_eq!(normalize(Path::new(path)), None, "{path}");
        }
        assert_eq!(
            normalize(Path::new("./data/../a.csv")).unwrap(),
            Path::new("a.csv")
        );
    }

    #[test]
    fn source_is_no_data() {
        for path in ["tests/load.rs", "Cargo.toml", "a/loadtest.toml"] {
            assert!(is_source(Path::new(path)), "{path}");
        }
        assert!(!is_source(Path::new("data/users.csv")));
    }
}
