//! Everything that can go wrong in the tool: what is wrong, what to do instead, the exit code.

use crate::selection::{one_of, similar};
use crate::workspace::NO_MANIFEST;
use loadtest_model::comparison::Refusal;
use loadtest_model::failure::RunFailure;
use loadtest_model::mix::MixError;
use loadtest_model::plan::PlanError;
use std::fmt::Write as _;
use std::path::PathBuf;

/// An error of the tool.
///
/// Messages are lower-case fragments; [`help`](Self::help) says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    #[error("{text}")]
    Metadata { text: String },
    #[error("could not run `{program}`")]
    Spawn {
        program: String,
        source: std::io::Error,
    },
    #[error("could not {action} `{}`", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("could not write to standard output")]
    Output { source: std::io::Error },
    #[error("{what}")]
    Internal { what: String },
    #[error("interrupted")]
    Interrupted,

    #[error("the load tests do not compile; nothing was run")]
    Build,
    #[error("there is no package `{name}` in the workspace")]
    UnknownPackage { name: String, known: Vec<String> },
    #[error("there is no load test in {place}")]
    NoLoadTest { place: String },
    #[error(
        "the {target} of package `{package}` is no load test, though its source calls `loadtest::main!`"
    )]
    NotALoadTest { target: String, package: String },
    #[error(
        "the {target} of package `{package}` speaks version {theirs} of the protocol, \
         this tool version {ours}"
    )]
    Protocol {
        target: String,
        package: String,
        theirs: u32,
        ours: u32,
    },
    #[error("the {target} of package `{package}` did not answer: {reason}")]
    NoAnswer {
        target: String,
        package: String,
        reason: String,
        help: Option<&'static str>,
    },

    #[error("the scenarios cannot be told apart or are mistaken\n  {}", problems.join("\n  "))]
    Problems { problems: Vec<String> },
    #[error("no scenario is linked into the load tests of {place}")]
    NoScenario { place: String },
    #[error("no scenario matches {criterion}{}", instead(suggestion.as_deref(), known))]
    NothingMatches {
        criterion: String,
        suggestion: Option<String>,
        known: Vec<String>,
    },
    #[error("`{word}` is part of several scenarios{}", instead(None, candidates))]
    SeveralMatch {
        word: String,
        candidates: Vec<String>,
    },
    #[error("{}", numbered(mistakes))]
    Plan { mistakes: Vec<(String, PlanError)> },
    #[error("{}", told(mistakes))]
    Split { mistakes: Vec<MixError> },
    #[error("the SLO is mistaken\n{}", mistakes.join("\n"))]
    Slo { mistakes: Vec<String> },
    #[error("`{scenario}` declares no threshold on a time that a rate could be measured by")]
    NoSlo { scenario: String },
    #[error("`{flag} {rate}` is above the highest rate that is tried, {max}")]
    Rates {
        flag: &'static str,
        rate: String,
        max: String,
    },
    #[error("a mix runs in one program, and these are in {}:{}", programs.len(), listed(programs))]
    SeveralPrograms {
        programs: Vec<(String, Vec<String>)>,
    },
    #[error("{}", mistakes.join("\n"))]
    Config { mistakes: Vec<String> },
    #[error("{0}")]
    Permissions(String),
    #[error("there is no load `{name}`; {}", presets(suggestion.as_deref(), known))]
    UnknownPreset {
        name: String,
        suggestion: Option<String>,
        known: Vec<String>,
    },
    #[error("{refusal}")]
    Policy { refusal: String, help: String },

    #[error("{}", mistakes.join("\n"))]
    Notify { mistakes: Vec<String> },

    #[error(
        "nothing can be written to `{}`: its folder does not exist, or it is a folder itself",
        path.display()
    )]
    ExportPath { path: PathBuf },

    #[error("`--pdf-font`: no font can be read from `{}`: {why}", path.display())]
    NoFont { path: PathBuf, why: String },

    #[error("two formats cannot both be written to `{}`", path.display())]
    SameExport { path: PathBuf },

    #[error("`{}` is what a run measured, which no report replaces", path.display())]
    ExportOverRecord { path: PathBuf },

    #[error("only one report can go to standard output")]
    SeveralResults,

    #[error("`{scenario}` did not run: {}", failure.message)]
    Refused {
        scenario: String,
        failure: RunFailure,
    },
    #[error("`{scenario}` ended without a result: {reason}")]
    Lost { scenario: String, reason: String },

    #[error("there is no run `{name}` in `{}`", directory.display())]
    UnknownRun {
        name: String,
        directory: PathBuf,
        suggestion: Option<String>,
    },
    #[error("the run {run} is still under way")]
    UnderWay { run: String },
    #[error("`{name}` is a baseline, and what is compared with one is a run")]
    BaselineAsRun { name: String, base: String },
    #[error("several runs begin with `{name}`: {}", some(candidates))]
    SeveralRuns {
        name: String,
        candidates: Vec<String>,
    },
    #[error("`{}` is no run: it holds neither a record nor the beginning of one", path.display())]
    NotARun { path: PathBuf },
    #[error("several versions begin with `{name}`: {}", some(candidates))]
    SeveralVersions {
        name: String,
        candidates: Vec<String>,
    },
    #[error("no scenario of the run `{run}` began, so that none has a version")]
    NoVersion { run: String },
    #[error(
        "`{base}` and `{new}` have no scenario in common: {} and {}",
        one_of(theirs),
        one_of(ours)
    )]
    NothingInCommon {
        base: String,
        new: String,
        theirs: Vec<String>,
        ours: Vec<String>,
    },
    #[error("there is no run in `{}` yet", directory.display())]
    NoRun { directory: PathBuf },
    #[error("nothing was measured in the run in `{}`", directory.display())]
    EmptyRun { directory: PathBuf },
    #[error(
        "the record `{}` has schema version {theirs}; this tool reads up to version {ours}",
        path.display()
    )]
    NewerRecord {
        path: PathBuf,
        theirs: u64,
        ours: u32,
    },
    #[error("the record `{}` cannot be read: {reason}", path.display())]
    DamagedRecord { path: PathBuf, reason: String },

    #[error("`{name}` is no name of a baseline: it {why}")]
    BaselineName {
        name: String,
        why: String,
        /// A name that could be meant, and is one.
        instead: String,
    },
    #[error("there is no baseline `{name}`")]
    UnknownBaseline {
        name: String,
        suggestion: Option<String>,
        known: Vec<String>,
    },
    #[error("`{}` is no folder, where baselines have one: move it away", path.display())]
    BaselinePlace { path: PathBuf },
    #[error("`{}`, a run in a baseline, cannot be read: {reason}", path.display())]
    DamagedBaseline { path: PathBuf, reason: String },
    #[error("the run {run_id} cannot be kept as a baseline{}", against(reasons))]
    NotSaved {
        run_id: String,
        /// Scenarios, and what speaks against each.
        reasons: Vec<(String, String)>,
        help: String,
    },
    #[error(
        "nothing was sent, since the run could not be compared with the baseline `{baseline}`{}",
        refused(refusals)
    )]
    NotComparable {
        baseline: String,
        /// Scenarios, and what speaks against each.
        refusals: Vec<(String, Refusal)>,
    },

    #[error("{message}")]
    Init { message: String, help: String },

    #[error("{words}\n{excerpt}")]
    Import {
        words: String,
        /// Where in the input.
        excerpt: String,
        help: Option<String>,
    },
    #[error("{words}")]
    NoImport { words: String, help: String },

    #[error("`{scenario}` cannot be duplicated: {reason}")]
    Duplicate {
        scenario: String,
        reason: String,
        help: Option<String>,
    },
}

impl Error {
    /// The exit code that says so; `SPEC`'s list.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Spawn { .. }
            | Self::Io { .. }
            | Self::Output { .. }
            | Self::Internal { .. }
            | Self::NoAnswer { .. }
            | Self::Lost { .. }
            | Self::DamagedRecord { .. }
            | Self::DamagedBaseline { .. } => 1,
            Self::UnknownPackage { .. }
            | Self::NotALoadTest { .. }
            | Self::Protocol { .. }
            | Self::Problems { .. }
            | Self::Plan { .. }
            | Self::Split { .. }
            | Self::SeveralPrograms { .. }
            | Self::Slo { .. }
            | Self::NoSlo { .. }
            | Self::Rates { .. }
            | Self::Config { .. }
            | Self::Notify { .. }
            | Self::UnknownPreset { .. }
            // 103 is about where traffic goes; this is settled in the configuration.
            | Self::Policy { .. }
            | Self::Permissions(_)
            | Self::ExportPath { .. }
            | Self::SameExport { .. }
            | Self::ExportOverRecord { .. }
            | Self::NoFont { .. }
            | Self::SeveralResults
            | Self::Metadata { .. }
            | Self::NewerRecord { .. }
            | Self::SeveralMatch { .. }
            | Self::SeveralRuns { .. }
            | Self::BaselineAsRun { .. }
            | Self::SeveralVersions { .. }
            | Self::Duplicate { .. }
            | Self::BaselineName { .. }
            | Self::UnknownBaseline { .. }
            | Self::BaselinePlace { .. }
            | Self::NotSaved { .. }
            | Self::NotComparable { .. }
            | Self::Import { .. }
            | Self::NoImport { .. }
            | Self::Init { .. } => 2,
            Self::NoLoadTest { .. }
            | Self::NoScenario { .. }
            | Self::NothingMatches { .. }
            | Self::UnknownRun { .. }
            | Self::UnderWay { .. }
            | Self::NotARun { .. }
            | Self::NoVersion { .. }
            | Self::NothingInCommon { .. }
            | Self::NoRun { .. }
            | Self::EmptyRun { .. } => 3,
            Self::Build => 101,
            Self::Interrupted => 105,
            Self::Refused { failure, .. } => failure.kind.exit_code(),
        }
    }

    /// What to do instead, where that is known.
    pub(crate) fn help(&self) -> Option<String> {
        match self {
            Self::Metadata { text } if text.contains(NO_MANIFEST) => Some(
                "run this in the folder of a package, or name one with `--manifest-path`"
                    .to_owned(),
            ),
            Self::UnknownPackage { name, known } => {
                Some(similar(name, known.iter().map(String::as_str)).map_or_else(
                    || format!("there is {}", one_of(known)),
                    |name| format!("did you mean `{name}`?"),
                ))
            }
            Self::NoLoadTest { .. } => Some(
                "`cargo loadtest init` adds one; or put `loadtest::main!();` at the end of \
                 `tests/load.rs` and these lines into `Cargo.toml`:\n\n    \
                 [[test]]\n    name = \"load\"\n    path = \"tests/load.rs\"\n    harness = false"
                    .to_owned(),
            ),
            Self::NotALoadTest { .. } => Some(
                "is the macro of this `loadtest`, and not of another crate of that name, called?"
                    .to_owned(),
            ),
            Self::Protocol { theirs, ours, .. } => Some(if theirs > ours {
                "update this tool, `cargo-loadtest`, to the version of the library".to_owned()
            } else {
                "update the dependency `loadtest` of the package to the version of this tool"
                    .to_owned()
            }),
            Self::NoAnswer { help, .. } => help.map(str::to_owned),
            Self::NoScenario { .. } => Some(
                "a scenario is a function with `#[scenario]`; if they live in a library, add \
                 `use my_crate as _;` beside `loadtest::main!();`"
                    .to_owned(),
            ),
            Self::UnknownRun { suggestion, .. } => suggestion
                .as_ref()
                .map(|name| format!("did you mean `{name}`?")),
            Self::UnderWay { .. } => {
                Some("`cargo loadtest history` shows when it is over".to_owned())
            }
            Self::BaselineAsRun { name, base } => {
                Some(format!("write `cargo loadtest compare {name} {base}`"))
            }
            Self::NotARun { .. } => Some(
                "name the folder of a run, its `record.json`, an identifier or `latest`".to_owned(),
            ),
            Self::Refused { failure, .. } => failure.help.clone(),
            Self::SeveralPrograms { .. } => Some(
                "select those of one program, with a filter, `--tag` or `--package`; scenarios of \
                 several packages come into one program through a library: `use my_crate as _;`"
                    .to_owned(),
            ),
            Self::Notify { .. } => Some(
                "put it into the environment of the run, or change `[[notify]]` in `loadtest.toml`"
                    .to_owned(),
            ),
            Self::NoSlo { .. } => Some("give `--slo 'p95 < 300ms, errors < 1%'`".to_owned()),
            Self::Rates { .. } => Some("give a higher `--max`, or a lower rate".to_owned()),
            Self::NoRun { .. } => Some("`cargo loadtest run` makes one".to_owned()),
            Self::NewerRecord { .. } => {
                Some("update `cargo-loadtest` to the version that wrote it".to_owned())
            }
            Self::SeveralRuns { .. } | Self::SeveralVersions { .. } => {
                Some("give more of the one you mean".to_owned())
            }
            Self::Init { help, .. } | Self::Policy { help, .. } | Self::NotSaved { help, .. } => {
                Some(help.clone())
            }
            Self::SeveralMatch { .. } => {
                Some("give the whole identity of the one you mean".to_owned())
            }
            Self::Duplicate { help, .. } | Self::Import { help, .. } => help.clone(),
            Self::NoImport { help, .. } => Some(help.clone()),
            Self::BaselineName { instead, .. } => Some(format!("write for example `{instead}`")),
            Self::UnknownBaseline {
                name,
                suggestion,
                known,
            } => Some(if let Some(name) = suggestion {
                format!("did you mean `{name}`?")
            } else if known.is_empty() {
                format!(
                    "there is none yet; `cargo loadtest baseline save {name}` keeps the latest run as one"
                )
            } else {
                format!(
                    "there is {}; `cargo loadtest baseline save {name}` makes it of the latest run",
                    one_of(known)
                )
            }),
            Self::DamagedBaseline { .. } => Some(
                "restore it from version control, or delete it and save a run again".to_owned(),
            ),
            Self::NotComparable { refusals, .. } => {
                let mut helps: Vec<_> =
                    refusals.iter().map(|(_, refusal)| refusal.help()).collect();
                helps.dedup();
                Some(helps.join("\n"))
            }
            _ => None,
        }
    }

    /// For `map_err`: an I/O error of `action` (an infinitive) at `path`.
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}

/// The loads that there are: the likeliest first.
fn presets(suggestion: Option<&str>, known: &[String]) -> String {
    match (suggestion, known) {
        (_, []) => "`loadtest.toml` has no `[load.NAME]`".to_owned(),
        (None, known) => format!("there is {}", one_of(known)),
        (Some(name), [_]) => format!("did you mean `{name}`?"),
        (Some(name), known) => format!("did you mean `{name}`? There is {}", one_of(known)),
    }
}

/// Scenarios, and what speaks against each, a line each.
fn against(reasons: &[(String, String)]) -> String {
    let mut text = String::new();
    for (scenario, reason) in reasons {
        let _ = match scenario.as_str() {
            "" => write!(text, ": {reason}"),
            scenario => write!(text, "\n  `{scenario}`: {reason}"),
        };
    }
    text
}

fn refused(refusals: &[(String, Refusal)]) -> String {
    let words: Vec<_> = refusals
        .iter()
        .map(|(scenario, refusal)| (scenario.clone(), refusal.to_string()))
        .collect();
    against(&words)
}

/// The first of them.
pub(crate) fn some(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let mut text = names[..names.len().min(SHOWN)].join(", ");
    if let Some(more @ 1..) = names.len().checked_sub(SHOWN) {
        let _ = write!(text, " and {more} more");
    }
    text
}

/// What there is: the likeliest first, then some of all.
fn instead(suggestion: Option<&str>, known: &[String]) -> String {
    const SHOWN: usize = 10;
    let mut text = String::new();
    if let Some(name) = suggestion {
        let _ = write!(text, "\ndid you mean `{name}`?");
    }
    text.push_str("\nthere is:");
    for name in known.iter().take(SHOWN) {
        let _ = write!(text, "\n  {name}");
    }
    if let Some(more @ 1..) = known.len().checked_sub(SHOWN) {
        let _ = write!(text, "\n  and {more} more; see `cargo loadtest list`");
    }
    text
}

fn told(mistakes: &[MixError]) -> String {
    let lines: Vec<_> = mistakes.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

fn listed(programs: &[(String, Vec<String>)]) -> String {
    let mut text = String::new();
    for (program, scenarios) in programs {
        let _ = write!(text, "\n  {program}: {}", scenarios.join(", "));
    }
    text
}

fn numbered(mistakes: &[(String, PlanError)]) -> String {
    let lines: Vec<_> = mistakes
        .iter()
        .map(|(scenario, mistake)| format!("`{scenario}`: {mistake}"))
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outdated_side_is_named() {
        let mismatch = |theirs, ours| Error::Protocol {
            target: "test `load`".to_owned(),
            package: "shop".to_owned(),
            theirs,
            ours,
        };
        assert!(mismatch(2, 1).help().unwrap().contains("update this tool"));
        assert!(
            mismatch(1, 2)
                .help()
                .unwrap()
                .contains("update the dependency")
        );
    }

    #[test]
    fn of_many_scenarios_some_are_named() {
        let error = |count: usize| Error::NothingMatches {
            criterion: "`x`".to_owned(),
            suggestion: Some("n1".to_owned()),
            known: (0..count).map(|i| format!("n{i}")).collect(),
        };
        let text = error(53).to_string();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[1], "did you mean `n1`?");
        assert_eq!(lines.len(), 14);
        assert_eq!(lines[13], "  and 43 more; see `cargo loadtest list`");
        assert!(!error(10).to_string().contains("more"));
    }

    #[test]
    fn an_unknown_package_is_corrected() {
        let error = Error::UnknownPackage {
            name: "shpo".to_owned(),
            known: vec!["shop".to_owned(), "gate".to_owned()],
        };
        assert_eq!(error.help().unwrap(), "did you mean `shop`?");
        assert_eq!(error.exit_code(), 2);
    }
}
