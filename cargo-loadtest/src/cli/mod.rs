//! The command line: clap types only, in cargo's words and style.

mod capacity;
mod curl;
mod import;
pub(crate) mod values;

use crate::units;
use crate::{console, process};
pub(crate) use capacity::{CapacityArgs, RateArgs, Slo};
use clap::builder::styling::Styles;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
pub(crate) use curl::CurlArgs;
pub(crate) use import::{ImportArgs, ImportCommand, ImportOutput};
use loadtest_model::definition::Letter;
use loadtest_model::metrics::Number;
use loadtest_model::plan::Overrides;
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
    /// Show what a run would send, and send nothing
    Plan(Box<PlanArgs>),
    /// Run scenarios one after another, and grade them
    Run(Box<RunArgs>),
    /// Run one journey of a scenario, and show every request and answer
    Debug(Box<DebugArgs>),
    /// Search for the highest arrival rate at which a scenario meets an SLO
    Capacity(Box<CapacityArgs>),
    /// Write a scenario from requests that were recorded elsewhere
    Import(ImportArgs),
    /// Write a scenario as data
    Export(ExportArgs),
    /// Copy the source of a scenario as a new version, right below the old one
    Duplicate(DuplicateArgs),
    /// Grade and export the record of an earlier run
    Report(ReportArgs),
    /// Say what changed between a baseline, or a run, and another run
    Compare(CompareArgs),
    /// Show the runs of each scenario, and the version and commit each belongs to
    History(HistoryArgs),
    /// Keep runs under a name that later runs are compared with
    Baseline(BaselineArgs),
    /// Show what is in force, and from where
    Config(ConfigArgs),
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
#[derive(Debug, Clone, Args)]
#[command(mut_args(curl::beside_filters))]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Write the report as FORMAT: `html`, `pdf`, `json`, `junit`, `markdown`, `csv` or `openmetrics`; without PATH into the folder of the run, with `-` to standard output in place of the card
    #[arg(long, value_name = "FORMAT[=PATH]")]
    pub(crate) export: Vec<Export>,
    #[command(flatten)]
    pub(crate) pdf: PdfArgs,
    /// Run all scenarios at once, not one after another; a given rate, number of users or of iterations is the total, split by `#[scenario(weight = ..)]`
    #[arg(long)]
    pub(crate) mix: bool,
    #[command(flatten)]
    pub(crate) curl: CurlArgs,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) gate: GateArgs,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// What must hold, besides the thresholds of the scenarios.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Gate")]
pub(crate) struct GateArgs {
    /// Fail below this overall grade: `A+` to `F`
    #[arg(long, value_name = "GRADE", allow_hyphen_values = true)]
    pub(crate) min_grade: Option<Letter>,
    /// Fail when something became worse than in this baseline, beyond margin and chance
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// Compare with no baseline, whatever `loadtest.toml` or the environment says
    #[arg(long, conflicts_with = "baseline")]
    pub(crate) no_baseline: bool,
    /// Run as on a build server: plain lines, reports for it, its summary, outputs and annotations
    #[arg(long)]
    pub(crate) ci: bool,
}

/// `cargo loadtest list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// For people, or as an array of definitions
    #[arg(long, value_enum, default_value_t, value_name = "FMT")]
    pub(crate) format: ResultFormat,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// How `list` and `plan` print.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultFormat {
    #[default]
    Human,
    Json,
}

/// `cargo loadtest plan`.
#[derive(Debug, Args)]
#[command(mut_args(curl::beside_filters))]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Plan all selected scenarios at once, in one process; the total of `--rate`, `--users` or `--iterations` is split by their weights
    #[arg(long)]
    pub(crate) mix: bool,
    /// For people, or as an array of plans
    #[arg(long, value_enum, default_value_t, value_name = "FMT")]
    pub(crate) format: ResultFormat,
    #[command(flatten)]
    pub(crate) curl: CurlArgs,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// `cargo loadtest debug`.
#[derive(Debug, Args)]
pub(crate) struct DebugArgs {
    /// The scenario: its identity (`package::module::function`), an end of it, or a part that no other one has
    #[arg(value_name = "SCENARIO", required_unless_present_any = ["file", "command"], conflicts_with_all = ["file", "command"])]
    pub(crate) scenario: Option<String>,
    /// The iteration of a run with this seed and load, counted from 0; `USER.N` in a load of users, each of whom counts its own
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) iteration: Option<Number>,
    #[command(flatten)]
    pub(crate) curl: CurlArgs,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// `cargo loadtest export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The scenario: its identity (`package::module::function`), an end of it, or a part that no other one has
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenario: String,
    /// Write to this file; `-` is standard output
    #[arg(short, long, value_name = "PATH", default_value = "-", value_parser = values::path())]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// `cargo loadtest duplicate`.
#[derive(Debug, Args)]
pub(crate) struct DuplicateArgs {
    /// The scenario: its identity (`package::module::function`), an end of it, or a part that no other one has
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenario: String,
    /// The name of the function that the copy becomes
    #[arg(value_name = "NEW_NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// `cargo loadtest report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The run: an identifier or its beginning, a path, or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    pub(crate) run: String,
    /// Tell the build server, and write reports for it: its summary, outputs and annotations
    #[arg(long)]
    pub(crate) ci: bool,
    /// Grade anew: by this target T for every step, in place of those that the run had
    #[arg(long, value_name = "TIME", value_parser = values::apdex, allow_hyphen_values = true)]
    pub(crate) apdex: Option<Duration>,
    /// Grade anew: by this error budget for every step
    #[arg(long, value_name = "SHARE", value_parser = units::share, allow_hyphen_values = true)]
    pub(crate) budget: Option<f64>,
    /// Compare anew: with this baseline, in place of the one that the run was compared with
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// Fail below this overall grade: `A+` to `F`
    #[arg(long, value_name = "GRADE", allow_hyphen_values = true)]
    pub(crate) min_grade: Option<Letter>,
    /// Write the report as FORMAT: `html`, `pdf`, `json`, `junit`, `markdown`, `csv` or `openmetrics`; without PATH into the folder of the run
    #[arg(long, value_name = "FORMAT[=PATH]")]
    pub(crate) export: Vec<Export>,
    #[command(flatten)]
    pub(crate) pdf: PdfArgs,
    #[command(flatten)]
    pub(crate) cargo: CargoArgs,
}

/// `cargo loadtest compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// A baseline, or a run: an identifier or its beginning, a path, or `latest`
    #[arg(value_name = "BASE")]
    pub(crate) base: String,
    /// The run to compare with it
    #[arg(value_name = "NEW", default_value = "latest")]
    pub(crate) new: String,
    /// For people, or as data
    #[arg(long, value_enum, default_value_t, value_name = "FMT")]
    pub(crate) format: ResultFormat,
    #[command(flatten)]
    pub(crate) cargo: CargoArgs,
}

/// `cargo loadtest history`.
#[derive(Debug, Args)]
#[command(
    after_help = "A trend is the change of p95 since the run before of the same version, load and target. It is \
                  arithmetic and no verdict: whether a difference is more than chance, `cargo loadtest compare` says."
)]
pub(crate) struct HistoryArgs {
    /// Only scenarios whose identity (`package::module::function`) contains this
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenario: Option<String>,
    /// Show this many runs of each scenario, the newest
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = values::at_least_one)]
    pub(crate) limit: usize,
    /// For people, or as data
    #[arg(long, value_enum, default_value_t, value_name = "FMT")]
    pub(crate) format: ResultFormat,
    #[command(flatten)]
    pub(crate) cargo: CargoArgs,
}

/// `cargo loadtest baseline`.
#[derive(Debug, Args)]
pub(crate) struct BaselineArgs {
    #[command(subcommand)]
    pub(crate) command: BaselineCommand,
}

/// What is done with baselines.
#[derive(Debug, Subcommand)]
pub(crate) enum BaselineCommand {
    /// Keep a run under a name, beside the runs that it already has
    Save {
        /// The name of the baseline
        #[arg(value_name = "NAME")]
        name: String,
        /// The run: an identifier or its beginning, a path, or `latest`
        #[arg(value_name = "RUN", default_value = "latest")]
        run: String,
        /// Keep this many runs of each scenario, the newest
        #[arg(long, value_name = "N", default_value_t = 5, value_parser = values::at_least_one)]
        keep: usize,
        /// Forget the runs that the baseline has
        #[arg(long)]
        replace: bool,
        #[command(flatten)]
        cargo: CargoArgs,
    },
    /// Show the baselines and their runs
    List {
        /// For people, or as data
        #[arg(long, value_enum, default_value_t, value_name = "FMT")]
        format: ResultFormat,
        #[command(flatten)]
        cargo: CargoArgs,
    },
    /// Forget a baseline
    Remove {
        /// The name of the baseline
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        cargo: CargoArgs,
    },
}

/// `cargo loadtest config`.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// For people, or as data
    #[arg(long, value_enum, default_value_t, value_name = "FMT")]
    pub(crate) format: ResultFormat,
    #[command(flatten)]
    pub(crate) cargo: CargoArgs,
}

/// How a report is written as a PDF document.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PdfArgs {
    /// Take characters that the font of the PDF lacks from this TrueType or OpenType file; given several times, from the first that has them
    #[arg(long = "pdf-font", value_name = "FILE", value_parser = values::path())]
    pub(crate) fonts: Vec<PathBuf>,
}

/// `cargo loadtest init`.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The folder of the package
    #[arg(long, value_name = "DIR", conflicts_with = "package", value_parser = values::path())]
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
}

/// Which packages hold the scenarios, and how cargo builds their load tests.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ProjectArgs {
    /// Only scenarios of these packages
    #[arg(
        short = 'p',
        long = "package",
        value_name = "SPEC",
        help_heading = "Package Selection"
    )]
    pub(crate) packages: Vec<String>,
    #[command(flatten)]
    pub(crate) cargo: CargoArgs,
    #[command(flatten)]
    pub(crate) compilation: CompilationArgs,
}

/// How much load, where it differs from what the scenario declares.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct LoadArgs {
    /// Take the load from `[load.NAME]` in `loadtest.toml`; other flags change it further
    #[arg(long = "load", value_name = "NAME")]
    pub(crate) preset: Option<String>,
    /// Take the load that each scenario declares, whatever `loadtest.toml` or the environment says; other flags change it further
    #[arg(long, conflicts_with = "preset")]
    pub(crate) declared_load: bool,
    /// Start iterations at this rate, whatever the target does
    #[arg(long, value_name = "N/s", value_parser = values::rate, allow_hyphen_values = true, conflicts_with_all = ["users", "iterations"])]
    pub(crate) rate: Option<f64>,
    /// Run this many virtual users
    #[arg(long, value_name = "N", value_parser = values::users, allow_hyphen_values = true)]
    pub(crate) users: Option<u32>,
    /// Run this many iterations in total, shared by the users
    #[arg(long, value_name = "N", value_parser = values::iterations, allow_hyphen_values = true)]
    pub(crate) iterations: Option<u64>,
    /// Rise from nothing to the full load over this time, which is part of the duration
    #[arg(long, value_name = "TIME", value_parser = values::ramp_up, allow_hyphen_values = true)]
    pub(crate) ramp_up: Option<Duration>,
    /// Run for this long
    #[arg(long, value_name = "TIME", value_parser = values::duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<Duration>,
    /// Draw weights, think times and data by this seed
    #[arg(long, value_name = "SEED", value_parser = values::seed, allow_hyphen_values = true)]
    pub(crate) seed: Option<u64>,
    /// Join paths to this URL, whatever the scenario declares
    #[arg(long, value_name = "URL", value_parser = values::base_url)]
    pub(crate) base_url: Option<String>,
}

impl LoadArgs {
    /// What the flags change of a load, without the preset.
    pub(crate) fn overrides(&self) -> Overrides {
        Overrides {
            rate_per_second: self.rate,
            users: self.users,
            iterations: self.iterations,
            ramp_up: self.ramp_up,
            duration: self.duration,
        }
    }
}

/// What every call of cargo gets.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Manifest Options")]
pub(crate) struct CargoArgs {
    /// Path to Cargo.toml
    #[arg(long, value_name = "PATH", value_parser = values::path())]
    pub(crate) manifest_path: Option<PathBuf>,
    /// Assert that `Cargo.lock` will remain unchanged
    #[arg(long)]
    pub(crate) locked: bool,
    /// Build without accessing the network; what `run`, `debug` and `capacity` start then has a network of its own, in which nothing but loopback can be reached
    #[arg(long)]
    pub(crate) offline: bool,
    /// Build with `--locked` and without accessing the network
    #[arg(long)]
    pub(crate) frozen: bool,
    /// Directory for all generated artifacts
    #[arg(long, value_name = "DIRECTORY", help_heading = "Compilation Options", value_parser = values::path())]
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
    /// Build with the profile `release`, which is the default
    #[arg(
        short,
        long,
        conflicts_with = "profile",
        help_heading = "Compilation Options"
    )]
    pub(crate) release: bool,
    #[command(flatten, next_help_heading = "Feature Selection")]
    pub(crate) features: clap_cargo::Features,
}

/// Reads the command line.
///
/// # Errors
/// What is wrong with it, or the help that it asks for.
pub(crate) fn parse(all: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let all = arguments(all);
    if let Some(words) = curl::misplaced(&all) {
        return Err(Cli::command().error(ErrorKind::UnknownArgument, words));
    }
    let cli = Cli::try_parse_from(all)?;
    if let Command::Run(args) = &cli.command
        && args.curl.allow_files
        && !args.curl.are_given()
    {
        let words = "`--allow-files` is about the files that a curl command names: give one with `--curl FILE`, \
                     or after `--`";
        return Err(Cli::command().error(ErrorKind::MissingRequiredArgument, words));
    }
    Ok(cli)
}

/// The arguments without the `loadtest` that cargo puts first.
fn arguments(all: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut all: Vec<_> = all.into_iter().collect();
    if all.get(1).is_some_and(|first| first == "loadtest") {
        all.remove(1);
    }
    all
}

impl Command {
    /// Whether a build server is to be told of it.
    pub(crate) fn is_for_ci(&self) -> bool {
        match self {
            Self::Run(args) => args.gate.ci,
            Self::Capacity(args) => args.ci,
            Self::Report(args) => args.ci,
            _ => false,
        }
    }
}

impl Color {
    /// What goes without saying on a build server.
    fn decided(self) -> Self {
        match self {
            Self::Auto if console::is_ci() => Self::Never,
            color => color,
        }
    }

    /// Decides for the whole program.
    pub(crate) fn apply(self) {
        if process::is_replaced() {
            return;
        }
        match self.decided() {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }

    /// The word that cargo takes.
    pub(crate) fn word(self) -> &'static str {
        match self.decided() {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        super::parse(line.split_whitespace().map(OsString::from))
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
            assert_eq!(error.kind(), ErrorKind::ArgumentConflict);
        }
    }

    #[test]
    fn a_misspelt_flag_is_a_usage_error_with_a_suggestion() {
        let error = run("--durations 5s").unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("'--duration'"), "{error}");
    }

    #[test]
    fn a_curl_command_comes_in_the_place_of_scenarios() {
        let args = run("--rate 5/s -- curl -X PUT http://127.0.0.1 --rate 9/s").unwrap();
        assert_eq!(args.curl.command.len(), 6);
        assert_eq!(args.load.rate, Some(5.0));
        assert!(run("--curl - --allow-files").unwrap().curl.are_given());
        for line in [
            "--curl a -- curl h",
            "checkout --curl a",
            "checkout -- curl h",
            "--mix -- curl h",
            "--allow-files",
        ] {
            assert_eq!(run(line).unwrap_err().exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn an_slo_is_read_with_the_command_line() {
        let parse = |slo: &str| {
            let words = ["cargo-loadtest", "capacity", "visit", "--slo", slo];
            super::parse(words.into_iter().map(OsString::from))
        };
        let Command::Capacity(args) = parse("p95 < 300ms, login.errors < 1%").unwrap().command
        else {
            panic!("no search");
        };
        assert_eq!(args.slo.unwrap().conditions.len(), 2);
        assert_eq!(args.trials.confirm, Duration::from_secs(60));
        let error = parse("p95 < 300, errors < 1").unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let text = error.to_string();
        let places = "  p95 < 300, errors < 1\n        ^^^ `300` has no unit: write `300ms`";
        assert!(
            text.contains(places) && text.contains("write `1%`"),
            "{text}"
        );
    }

    #[test]
    fn a_negative_value_is_refused_in_words_about_the_value() {
        for line in [
            "--rate -5/s",
            "--users -1",
            "--iterations -1",
            "--duration -5s",
            "--ramp-up -5s",
            "--seed -1",
        ] {
            let text = run(line).unwrap_err().to_string();
            assert!(
                text.contains("invalid value") && !text.contains("tip:"),
                "{text}"
            );
        }
    }

    #[test]
    fn the_profile_that_is_the_default_may_be_asked_for() {
        assert!(run("-r").unwrap().project.compilation.release);
        assert!(run("--release").unwrap().project.compilation.release);
        assert!(run("--release --profile dev").is_err());
    }

    #[test]
    fn cargo_words_are_taken() {
        let args =
            run("checkout -p shop -F a,b --no-default-features --profile dev --locked").unwrap();
        assert_eq!(args.selection.filters, ["checkout"]);
        assert_eq!(args.project.packages, ["shop"]);
        assert_eq!(args.project.compilation.profile, "dev");
        assert_eq!(args.project.compilation.features.features, ["a,b"]);
        assert!(args.project.cargo.locked);
    }
}
