//! Where the library is that belongs to this tool: the repository it was built from, or the package registry.
//!
//! The name `loadtest` there is another crate's.

use crate::cli::InitArgs;
use loadtest_console::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

/// Stands in for all that is found out here: a path or a URL, the latter with `#REV` at will.
const VARIABLE: &str = "LOADTEST_SOURCE";
/// The folder of this tool when it was built.
const BUILT_IN: &str = env!("CARGO_MANIFEST_DIR");
/// The name of the library on the package registry. `.ci/publish` sets it in the packages it makes.
const PUBLISHED_AS: Option<&str> = None;

/// The source of the library for a dependency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DependencySource {
    /// Its folder.
    Path(PathBuf),
    /// Its repository.
    Git {
        /// The URL.
        url: String,
        /// The revision; `None` is the newest.
        rev: Option<String>,
    },
    /// The package registry.
    Registry {
        /// The name of the package, which is not that of the crate.
        package: String,
        /// The version.
        version: String,
    },
}

impl DependencySource {
    /// Asks in this order: the command line, the environment, cargo's list of installed programs,
    /// the folder the tool was built in, the registry.
    ///
    /// # Errors
    /// When the folder is gone and no repository is known.
    pub(super) fn find(args: &InitArgs) -> Result<Self, Error> {
        if let Some(url) = &args.git {
            return Ok(Self::Git {
                url: url.clone(),
                rev: args.rev.clone(),
            });
        }
        let given = loadtest_console::process::variable(VARIABLE);
        if let Some(given) = given.as_deref().or(option_env!("LOADTEST_SOURCE")) {
            return Self::parse(given);
        }
        find_installed()
            .or_else(|| built_in(Path::new(BUILT_IN)))
            .or_else(|| published(PUBLISHED_AS))
            .ok_or_else(|| {
                Error::usage("the source that this tool was built from is no longer known")
                    .with_help(format!(
                        "give the location of `loadtest` with `--git URL [--rev SHA]` or in {VARIABLE}, or \
                     write by hand into `Cargo.toml`:\n\n    \
                     [dev-dependencies]\n    \
                     loadtest = {{ git = \"https://..\", rev = \"..\" }}"
                    ))
            })
    }

    fn parse(given: &str) -> Result<Self, Error> {
        if given.contains("://") || given.starts_with("git@") {
            let (url, rev) = match given.rsplit_once('#') {
                Some((url, rev)) => (url, Some(rev.to_owned())),
                None => (given, None),
            };
            return Ok(Self::Git {
                url: url.to_owned(),
                rev,
            });
        }
        let path = Path::new(given);
        [path.to_path_buf(), path.join("loadtest")]
            .iter()
            .find_map(|path| find_library(path))
            .ok_or_else(|| {
                Error::usage(format!(
                    "there is no `loadtest` in `{given}`, which {VARIABLE} names"
                ))
                .with_help("name the folder of the library, or the URL of its repository")
            })
    }
}

impl fmt::Display for DependencySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Git { url, rev: None } => f.write_str(url),
            Self::Git {
                url,
                rev: Some(rev),
            } => write!(f, "{url} at {}", rev.get(..10).unwrap_or(rev)),
            Self::Registry { package, version } => {
                write!(f, "the package registry: {package} {version}")
            }
        }
    }
}

/// The folder of the library, if `path` is one.
fn find_library(path: &Path) -> Option<DependencySource> {
    let manifest = std::fs::read_to_string(path.join("Cargo.toml")).ok()?;
    let manifest: toml_edit::DocumentMut = manifest.parse().ok()?;
    let name = manifest.get("package")?.get("name")?.as_str()?;
    (name == "loadtest")
        .then(|| path.canonicalize().ok().map(DependencySource::Path))
        .flatten()
}

/// Returns the source that `cargo install` noted beside this program.
fn find_installed() -> Option<DependencySource> {
    let program = std::env::current_exe().ok()?;
    let notes = program.parent()?.parent()?.join(".crates2.json");
    parse_notes(&std::fs::read_to_string(notes).ok()?)
}

/// Keys are such as `cargo-loadtest 0.1.0 (git+https://host/path?branch=main#0123abc)`.
fn parse_notes(notes: &str) -> Option<DependencySource> {
    let notes: serde_json::Value = serde_json::from_str(notes).ok()?;
    notes.get("installs")?.as_object()?.keys().find_map(|key| {
        let source = key.strip_prefix("cargo-loadtest ")?.split_once(" (git+")?.1;
        let (url, rev) = source.strip_suffix(')')?.split_once('#')?;
        Some(DependencySource::Git {
            url: url.split_once('?').map_or(url, |(url, _)| url).to_owned(),
            rev: Some(rev.to_owned()),
        })
    })
}

/// The library beside the folder of the tool; a checkout of cargo's own is none, since cargo removes those.
fn built_in(tool: &Path) -> Option<DependencySource> {
    let is_cargos = tool.iter().any(|part| part == "checkouts");
    find_library(&tool.parent()?.join("loadtest")).filter(|_| !is_cargos)
}

/// The library of this version on the package registry.
fn published(name: Option<&str>) -> Option<DependencySource> {
    Some(DependencySource::Registry {
        package: name?.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(url: &str, rev: &str) -> DependencySource {
        DependencySource::Git {
            url: url.to_owned(),
            rev: Some(rev.to_owned()),
        }
    }

    #[test]
    fn an_installed_tool_knows_its_repository() {
        let notes = r#"{"installs":{
            "other 1.0.0 (git+https://example.com/other#ff)": {},
            "cargo-loadtest 0.1.0 (git+ssh://git@example.com/x?branch=main#0123abc)": {}
        }}"#;
        assert_eq!(
            parse_notes(notes),
            Some(git("ssh://git@example.com/x", "0123abc"))
        );
        let from_path = r#"{"installs":{"cargo-loadtest 0.1.0 (path+file:///x)": {}}}"#;
        assert_eq!(parse_notes(from_path), None);
        assert_eq!(parse_notes("broken"), None);
    }

    #[test]
    fn a_tool_built_from_a_folder_uses_the_library_beside_it() {
        let Some(DependencySource::Path(path)) = built_in(Path::new(BUILT_IN)) else {
            panic!("the library is beside the tool");
        };
        assert!(path.ends_with("loadtest"));
        assert_eq!(built_in(Path::new("/nowhere/cargo-loadtest")), None);
    }

    #[test]
    fn a_tool_from_the_registry_names_the_package_there() {
        assert_eq!(published(None), None);
        let source = published(Some("acme-loadtest")).unwrap();
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            crate::commands::init::manifest::entry(&source),
            format!("{{ package = \"acme-loadtest\", version = \"{version}\" }}")
        );
    }

    #[test]
    fn a_source_may_be_given_as_url_or_path() {
        let url = DependencySource::parse("https://example.com/x#ff").unwrap();
        assert_eq!(url, git("https://example.com/x", "ff"));
        assert!(DependencySource::parse("/nowhere").is_err());
        let repository = Path::new(BUILT_IN).parent().unwrap();
        assert!(matches!(
            DependencySource::parse(&repository.to_string_lossy()),
            Ok(DependencySource::Path(_))
        ));
    }
}
