//! The command line: clap types only, in cargo's words and style.

mod values;

use clap::builder::styling::Styles;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
pub(crate) use values::{Export, Format};

const STYLES: Styles = clap_cargo::style::CLAP_STYLING;

/// Discover, run, grade and export the load tests of a workspace
#[derive(Debug, Parser)]
#[command(
    name = "cargo-loadtest",
    bin_name = "cargo loadtest",
    version,
    styles = STYLES,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 passed, 1 internal error, 2 usage, 3 nothing selected, 99 gate failed, \
                  100 setup failed, 101 build failed, 102 run invalid, 103 target not permitted, \
                  105 interrupted"
)]
pub(crate) struct Cli {
    /// Coloring
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Color,
    /// Do not print progress
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add a load test to a package: the test target, an example scenario and `loadtest.toml`
    Init(InitArgs),
    /// Show the scenarios of the workspace
    List(ListArgs),
    /// Run scenarios one after another, and grade them
    Run(Box<RunArgs>),
    /// Grade and export the record of an earlier run
    Report(ReportArgs),
}

/// When to use colour, in cargo's words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

/// `cargo loadtest run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Write the report as FORMAT: `json` or `html`; without PATH into the folder of the run
    #[arg(long, value_name = "FORMAT[=PATH]")]
    pub(crate) export: Vec<Export>,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) cargo: CargoArgs,
    #[command(flatten)]
    pub(crate) compilation: CompilationArgs,
}

/// `cargo loadtest list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// For people, or as an array of definitions
    #[arg(long, value_enum, default_value_t, value_name = "FMT")]
    pub(crate) format: ListFormat,
    #[command(flatten)]
    pub(crate) cargo: CargoArgs,
    #[command(flatten)]
    pub(crate) compilation: CompilationArgs,
}

/// How `list` prints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    #[default]
    Human,
    Json,
}

/// `cargo loadtest report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The run: an identifier, a path, or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    pub(crate) run: String,
    /// Write the report as FORMAT: `json` or `html`; without PATH into the folder of the run
    #[arg(long, value_name = "FORMAT[=PATH]")]
    pub(crate) export: Vec<Export>,
    #[command(flatten)]
    pub(crate) cargo: CargoArgs,
}

/// `cargo loadtest init`.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The folder of the package
    #[arg(long, value_name = "DIR", conflicts_with = "package")]
    pub(crate) path: Option<PathBuf>,
    /// The package
    #[arg(short, long, value_name = "SPEC", help_heading = "Package Selection")]
    pub(crate) package: Option<String>,
    /// Depend on `loadtest` from this git repository
    #[arg(long, value_name = "URL")]
    pub(crate) git: Option<String>,
    /// The revision to use of the git repository
    #[arg(long, value_name = "SHA", requires = "git")]
    pub(crate) rev: Option<String>,
}

/// Which scenarios.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SelectionArgs {
    /// Only scenarios whose identity (`package::module::function`) contains one of these
    #[arg(value_name = "FILTER")]
    pub(crate) filters: Vec<String>,
    /// The filters are whole identities
    #[arg(long, requires = "filters")]
    pub(crate) exact: bool,
    /// Only scenarios with one of these tags
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// Only scenarios of these packages
    #[arg(
        short = 'p',
        long = "package",
        value_name = "SPEC",
        help_heading = "Package Selection"
    )]
    pub(crate) packages: Vec<String>,
}

/// How much load, where it differs from what the scenario declares.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct LoadArgs {
    /// Start iterations at this rate, whatever the target does
    #[arg(long, value_name = "N/s", value_parser = values::rate, conflicts_with_all = ["users", "iterations"])]
    pub(crate) rate: Option<f64>,
    /// Run this many virtual users
    #[arg(long, value_name = "N", value_parser = values::users)]
    pub(crate) users: Option<u32>,
    /// Run this many iterations in total, shared by the users
    #[arg(long, value_name = "N", value_parser = values::iterations)]
    pub(crate) iterations: Option<u64>,
    /// Rise from nothing to the full load over this time, which is part of the duration
    #[arg(long, value_name = "TIME", value_parser = values::ramp_up)]
    pub(crate) ramp_up: Option<Duration>,
    /// Run for this long
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) duration: Option<Duration>,
    /// Draw weights, think times and data by this seed
    #[arg(long, value_name = "SEED")]
    pub(crate) seed: Option<u64>,
    /// Join paths to this URL, whatever the scenario declares
    #[arg(long, value_name = "URL", value_parser = values::base_url)]
    pub(crate) base_url: Option<String>,
}

/// What every call of cargo gets.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Manifest Options")]
pub(crate) struct CargoArgs {
    /// Path to Cargo.toml
    #[arg(long, value_name = "PATH")]
    pub(crate) manifest_path: Option<PathBuf>,
    /// Assert that `Cargo.lock` will remain unchanged
    #[arg(long)]
    pub(crate) locked: bool,
    /// Run without accessing the network
    #[arg(long)]
    pub(crate) offline: bool,
    /// Equivalent to specifying both --locked and --offline
    #[arg(long)]
    pub(crate) frozen: bool,
    /// Directory for all generated artifacts
    #[arg(long, value_name = "DIRECTORY", help_heading = "Compilation Options")]
    pub(crate) target_dir: Option<PathBuf>,
}

/// What a build gets.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct CompilationArgs {
    /// Build with the specified profile
    #[arg(
        long,
        value_name = "PROFILE-NAME",
        default_value = "release",
        help_heading = "Compilation Options"
    )]
    pub(crate) profile: String,
    #[command(flatten, next_help_heading = "Feature Selection")]
    pub(crate) features: clap_cargo::Features,
}

/// The arguments without the `loadtest` that cargo puts first.
pub(crate) fn arguments(all: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut all: Vec<_> = all.into_iter().collect();
    if all.get(1).is_some_and(|first| first == "loadtest") {
        all.remove(1);
    }
    all
}

impl Color {
    /// Decides for the whole program.
    pub(crate) fn apply(self) {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }

    /// The word that cargo takes.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        let words = line.split_whitespace().map(OsString::from);
        Cli::try_parse_from(arguments(words))
    }

    fn run(line: &str) -> Result<RunArgs, clap::Error> {
        match parse(&format!("cargo-loadtest loadtest run {line}"))?.command {
            Command::Run(args) => Ok(*args),
            other => panic!("not a run: {other:?}"),
        }
    }

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_word_that_cargo_passes_is_optional() {
        for line in ["cargo-loadtest loadtest list", "cargo-loadtest list"] {
            assert!(matches!(parse(line).unwrap().command, Command::List(_)));
        }
    }

    #[test]
    fn users_share_iterations_but_a_rate_stands_alone() {
        let args = run("--users 5 --iterations 100").unwrap();
        assert_eq!(
            (args.load.users, args.load.iterations),
            (Some(5), Some(100))
        );
        for both in ["--rate 5/s --users 5", "--rate 5/s --iterations 5"] {
            let error = run(both).unwrap_err();
            assert_eq!(error.kind(), clap::error::ErrorKind::ArgumentConflict);
        }
    }

    #[test]
    fn a_misspelt_flag_is_a_usage_error_with_a_suggestion() {
        let error = run("--durations 5s").unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("'--duration'"), "{error}");
    }

    #[test]
    fn cargo_words_are_taken() {
        let args =
            run("checkout -p shop -F a,b --no-default-features --profile dev --locked").unwrap();
        assert_eq!(args.selection.filters, ["checkout"]);
        assert_eq!(args.selection.packages, ["shop"]);
        assert_eq!(args.compilation.profile, "dev");
        assert_eq!(args.compilation.features.features, ["a,b"]);
        assert!(args.cargo.locked);
    }
}
