//! The command line: clap types only, in the style of cargo.

mod capacity;
mod curl;
mod examples;
mod export;
mod import;
mod lacking;
pub(crate) mod values;

pub(crate) use capacity::{CapacityArgs, ObservedText, RateArgs, Slo};
use clap::builder::styling::Styles;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
pub(crate) use curl::CurlArgs;
pub(crate) use export::{ExportArgs, LauncherArgs, LauncherCommand};
pub(crate) use import::{ImportArgs, ImportCommand, ImportOutput};
use jiff::Timestamp;
pub(crate) use lacking::INSTALL_ALL;
use loadtest_console::suggestion::find_similar;
use loadtest_console::units;
use loadtest_console::{console, process};
use loadtest_model::definition::Letter;
use loadtest_model::metrics::Number;
use loadtest_model::plan::{IterationCount, Overrides};
use loadtest_model::shard::Shard;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
pub(crate) use values::Export;

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

/// A command of the tool.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add a load test to a package: the test target, an example scenario and `loadtest.toml`
    Init(InitArgs),
    /// List the scenarios of the workspace
    #[command(after_help = examples::LIST)]
    List(ListArgs),
    /// Print what a run would send, without sending it
    #[command(after_help = examples::PLAN)]
    Plan(Box<PlanArgs>),
    /// Run and grade scenarios, one after another
    #[command(after_help = examples::RUN)]
    Run(Box<RunArgs>),
    /// Run one journey of a scenario and print every request and response
    #[command(after_help = examples::DEBUG)]
    Debug(Box<DebugArgs>),
    /// Find the highest arrival rate at which a scenario meets an SLO
    #[command(after_help = examples::CAPACITY)]
    Capacity(Box<CapacityArgs>),
    /// Write a scenario from recorded requests: curl, HAR, OpenAPI, Postman, k6, JMeter
    #[command(after_help = examples::IMPORT)]
    Import(ImportArgs),
    /// Print the definition of a scenario as JSON, or write a launcher for several machines
    #[command(after_help = examples::EXPORT)]
    Export(Box<ExportArgs>),
    /// Copy the source of a scenario below itself, as a new version
    Duplicate(DuplicateArgs),
    /// Grade and export an earlier run
    #[command(after_help = examples::REPORT)]
    Report(ReportArgs),
    /// Send the figures of an earlier run to the sinks of `[telemetry]`
    #[command(after_help = examples::SEND)]
    Send(SendArgs),
    /// Join the runs of all shards of a load into one
    #[command(after_help = examples::MERGE)]
    Merge(MergeArgs),
    /// Run the setups of a scenario once, for the shards of its load
    #[command(after_help = examples::SETUP)]
    Setup(Box<SetupArgs>),
    /// Run the teardowns of a scenario whose setups ran with `setup`
    Teardown(Box<SetupArgs>),
    /// Run as an agent: generate a share of a controller's load
    #[cfg(feature = "cluster")]
    #[command(after_help = examples::AGENT)]
    Agent(Box<AgentArgs>),
    /// List the agents of a cluster
    #[cfg(feature = "cluster")]
    #[command(after_help = examples::AGENTS)]
    Agents(AgentsArgs),
    /// Pack scenarios into one file that runs without their source and a toolchain
    #[command(after_help = examples::BUNDLE, mut_arg("bundle", |bundle| bundle.hide(true)))]
    Bundle(Box<BundleArgs>),
    /// Compare a run with a baseline or with another run
    #[command(after_help = examples::COMPARE)]
    Compare(CompareArgs),
    /// List the runs of each scenario with their version and commit
    History(HistoryArgs),
    /// Open the dashboard: a local web page to start, watch and compare runs
    #[cfg(feature = "ui")]
    #[command(after_help = examples::UI)]
    Ui(UiArgs),
    /// Save, list and remove baselines
    #[command(after_help = examples::BASELINE)]
    Baseline(BaselineArgs),
    /// Print the effective configuration and where each value comes from
    Config(ConfigArgs),
    /// Print the completion script of a shell
    Completions(CompletionsArgs),
}

/// Reaction of a run to a lost agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgentLoss {
    /// Stop the run.
    #[default]
    Fail,
    /// Continue without the load of this agent.
    Continue,
}

/// The values of `--color`, the same as in cargo.
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
    /// Write a report: `html`, `pdf`, `json`, `junit`, `markdown`, `csv` or `openmetrics`. PATH defaults to the folder of the run; `-` replaces the card on standard output
    #[arg(long, value_name = "FORMAT[=PATH]")]
    pub(crate) export: Vec<Export>,
    #[command(flatten)]
    pub(crate) reports: ReportOptions,
    /// Run all scenarios at once. `--rate`, `--users` and `--iterations` are totals, split by `#[scenario(weight = ..)]`
    #[arg(long)]
    pub(crate) mix: bool,
    #[command(flatten)]
    pub(crate) part: ShardArgs,
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Read `stop` and `abort` from standard input, whose end means `stop`; print the name of the run first
    #[arg(long, hide = true)]
    pub(crate) watched: bool,
    #[command(flatten)]
    pub(crate) curl: CurlArgs,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) telemetry: TelemetryArgs,
    #[command(flatten)]
    pub(crate) trace: TraceArgs,
    #[command(flatten)]
    pub(crate) samples: SamplesArgs,
    #[command(flatten)]
    pub(crate) gate: GateArgs,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// Sinks for figures during a run, in addition to `[[telemetry.to]]` of `loadtest.toml`.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Telemetry")]
pub(crate) struct TelemetryArgs {
    /// Send figures each second: `prometheus=ADDRESS` to be scraped, `remote-write=URL`, `otlp=URL`, `influx=URL`, `statsd=ADDRESS`, `json=PATH`; repeatable
    // Not parsed here: a message about it would repeat what may be a secret.
    #[arg(long, value_name = "FORMAT=WHERE")]
    pub(crate) send: Vec<String>,
    /// Send nothing to the sinks of `loadtest.toml`
    #[arg(long)]
    pub(crate) no_telemetry: bool,
}

/// The traces of one run, instead of `[traces]` in `loadtest.toml`.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Telemetry")]
pub(crate) struct TraceArgs {
    /// Send `traceparent` with every request, and sample this share of journeys
    #[arg(id = "trace", long = "trace", value_name = "SHARE", value_parser = loadtest_console::units::share, allow_hyphen_values = true)]
    pub(crate) share: Option<f64>,
}

/// The raw samples of a run.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Raw samples")]
pub(crate) struct SamplesArgs {
    /// Write a line for each execution of a step, each request of an async step and each journey: `.jsonl`, `.csv`, `.jsonl.gz` or `.csv.gz`; `{run}` stands for the identifier. `-` replaces the card on standard output
    #[arg(long, value_name = "PATH")]
    pub(crate) samples: Option<String>,
    /// Keep samples of this share of journeys, such as `10%` [default: 100%]
    #[arg(long, value_name = "SHARE", requires = "samples", value_parser = units::share)]
    pub(crate) samples_share: Option<f64>,
}

/// `cargo loadtest send`.
#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// Run identifier or its beginning, path, or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    pub(crate) run: String,
    /// Send only to this `[[telemetry.to]]`, counted from 1
    #[arg(long, value_name = "N", value_parser = values::at_least_one, conflicts_with_all = ["send", "no_telemetry"])]
    pub(crate) to: Option<usize>,
    #[command(flatten)]
    pub(crate) telemetry: TelemetryArgs,
    #[command(flatten)]
    pub(crate) cargo: CargoArgs,
}

/// The part of a load that this process generates.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Several machines")]
pub(crate) struct ShardArgs {
    /// Generate only this part of the load, such as `2/8`; `merge` joins the runs of all parts. The seed is 0 unless given
    #[arg(long, value_name = "K/N")]
    pub(crate) shard: Option<Shard>,
    /// Values of setups, from `cargo loadtest setup`; a shard runs no setup and no teardown
    #[arg(long, value_name = "FILE", requires = "shard", value_parser = values::absolute_path())]
    pub(crate) setup_values: Vec<PathBuf>,
    /// Start the load at this time, such as `2026-01-31T12:00:00Z`
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub(crate) start_at: Option<Timestamp>,
}

/// The machines that generate a load together.
#[cfg(feature = "cluster")]
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Several machines")]
pub(crate) struct ClusterArgs {
    /// Let agents generate the load: the address of their NATS server, such as `tls://nats.example.com:4222`
    #[arg(long, value_name = "URL", conflicts_with_all = ["shard", "start_at"])]
    pub(crate) cluster: Option<String>,
    /// Number of agents that generate the load, on `--cluster` or on the `url` in `[cluster]` of `loadtest.toml`
    #[arg(long, value_name = "N", conflicts_with_all = ["shard", "start_at"], value_parser = values::agents)]
    pub(crate) agents: Option<usize>,
    /// How long to wait for agents [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    pub(crate) wait: Option<Duration>,
    /// End the run when an agent is lost, or continue without its load [default: fail]
    #[arg(long, value_name = "WHAT", value_enum)]
    pub(crate) on_agent_loss: Option<AgentLoss>,
    /// With `--on-agent-loss continue`: rate a run as DEGRADED instead of INVALID if at least this share of the load was started
    #[arg(long, value_name = "SHARE", value_parser = units::share)]
    pub(crate) min_share: Option<f64>,
    /// Sign the bundle with the secret key in this file, from `bundle --new-key`, and send it to agents that accept it
    #[arg(long, value_name = "FILE", requires = "bundle", value_parser = values::path())]
    pub(crate) sign: Option<PathBuf>,
}

/// `cargo loadtest agent`.
#[cfg(feature = "cluster")]
#[derive(Debug, Args)]
pub(crate) struct AgentArgs {
    /// Address of the NATS server [default: `url` in `[cluster]` of `loadtest.toml`]
    #[arg(long, value_name = "URL")]
    pub(crate) cluster: Option<String>,
    /// End after one run
    #[arg(long)]
    pub(crate) once: bool,
    /// Weight of this agent's share of a load, relative to the other agents
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) weight: u32,
    /// Run the load tests of bundles signed with this key instead of a project; `bundle --new-key` prints the public key
    #[arg(
        long,
        value_name = "KEY",
        conflicts_with_all = ["packages", "workspace", "binaries", "bundle", "profile", "release", "features", "all_features", "no_default_features"]
    )]
    pub(crate) accept_bundles: Option<String>,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// `cargo loadtest agents`.
#[cfg(feature = "cluster")]
#[derive(Debug, Args)]
pub(crate) struct AgentsArgs {
    /// Address of the NATS server [default: `url` in `[cluster]` of `loadtest.toml`]
    #[arg(long, value_name = "URL")]
    pub(crate) cluster: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t, value_name = "FMT")]
    pub(crate) format: ResultFormat,
    #[command(flatten)]
    pub(crate) cargo: CargoArgs,
}

/// Conditions of the gate, in addition to the thresholds of the scenarios.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Gate")]
pub(crate) struct GateArgs {
    /// Fail if the overall grade is below this one: `A+` to `F`
    #[arg(long, value_name = "GRADE", allow_hyphen_values = true)]
    pub(crate) min_grade: Option<Letter>,
    /// Fail if a figure is significantly worse than in this baseline
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// Do not compare with the baseline of `loadtest.toml` or the environment
    #[arg(long, conflicts_with = "baseline")]
    pub(crate) no_baseline: bool,
    /// Run for CI: plain lines, reports, job summary, outputs and annotations
    #[arg(long)]
    pub(crate) ci: bool,
}

/// `cargo loadtest list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Output format; `json` prints an array of definitions
    #[arg(long, value_enum, default_value_t, value_name = "FMT")]
    pub(crate) format: ResultFormat,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// The output format of a command that prints data.
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
    /// Plan all selected scenarios at once. `--rate`, `--users` and `--iterations` are totals, split by their weights
    #[arg(long)]
    pub(crate) mix: bool,
    /// Output format; `json` prints an array of plans
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
    /// Scenario name (`package::module::function`), its end, or any unique part
    #[arg(value_name = "SCENARIO", required_unless_present_any = ["file", "command"], conflicts_with_all = ["file", "command"])]
    pub(crate) scenario: Option<String>,
    /// Match the scenario name exactly instead of by its end or a part
    #[arg(long, requires = "scenario")]
    pub(crate) exact: bool,
    /// Run this iteration of a run with the same seed and load, counted from 0; `USER.N` if the load is a number of users
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) iteration: Option<Number>,
    /// Output format; `json` prints an event per line
    #[arg(long, value_enum, default_value_t, value_name = "FMT")]
    pub(crate) format: ResultFormat,
    /// Send `traceparent` with every request, and sample the journey
    #[arg(long)]
    pub(crate) trace: bool,
    #[command(flatten)]
    pub(crate) curl: CurlArgs,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// `cargo loadtest setup` and `cargo loadtest teardown`.
#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    /// Scenario name (`package::module::function`), its end, or any unique part
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenario: String,
    /// File of the values: `setup` writes it, `teardown` reads it
    #[arg(long, value_name = "FILE", default_value = "setup-values.json", value_parser = values::path())]
    pub(crate) values: PathBuf,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// `cargo loadtest bundle`.
#[derive(Debug, Args)]
pub(crate) struct BundleArgs {
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Output file
    #[arg(short, long, value_name = "PATH", default_value = "loadtest.bundle", value_parser = values::path())]
    pub(crate) output: PathBuf,
    /// Add a data file of the package, or all files of a folder, that the source does not show; repeatable
    #[arg(long, value_name = "PATH", value_parser = values::path())]
    pub(crate) include: Vec<PathBuf>,
    /// Bundle nothing: write a new secret key for `run --sign` to this file, and print its public key
    #[cfg(feature = "cluster")]
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["filters", "exact", "tags", "output", "include", "packages", "workspace", "binaries", "bundle"],
        value_parser = values::path()
    )]
    pub(crate) new_key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// `cargo loadtest merge`.
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Runs of all shards: identifiers or their beginnings, or paths
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<String>,
    /// Fail if the overall grade is below this one: `A+` to `F`
    #[arg(long, value_name = "GRADE", allow_hyphen_values = true)]
    pub(crate) min_grade: Option<Letter>,
    /// Fail if a figure is significantly worse than in this baseline
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// Report to CI: job summary, outputs, annotations and reports
    #[arg(long)]
    pub(crate) ci: bool,
    /// Write a report: `html`, `pdf`, `json`, `junit`, `markdown`, `csv` or `openmetrics`. PATH defaults to the folder of the run
    #[arg(long, value_name = "FORMAT[=PATH]")]
    pub(crate) export: Vec<Export>,
    #[command(flatten)]
    pub(crate) reports: ReportOptions,
    #[command(flatten)]
    pub(crate) cargo: CargoArgs,
}

/// `cargo loadtest duplicate`.
#[derive(Debug, Args)]
pub(crate) struct DuplicateArgs {
    /// Scenario name (`package::module::function`), its end, or any unique part
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenario: String,
    /// Function name of the copy
    #[arg(value_name = "NEW_NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// `cargo loadtest report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Run identifier or its beginning, path, or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    pub(crate) run: String,
    /// Report to CI: job summary, outputs, annotations and reports
    #[arg(long)]
    pub(crate) ci: bool,
    /// Re-grade with this Apdex target for every step
    #[arg(long, value_name = "TIME", value_parser = values::apdex, allow_hyphen_values = true)]
    pub(crate) apdex: Option<Duration>,
    /// Re-grade with this error budget for every step
    #[arg(long, value_name = "SHARE", value_parser = units::share, allow_hyphen_values = true)]
    pub(crate) budget: Option<f64>,
    /// Compare with this baseline instead of the one of the run
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// Fail if the overall grade is below this one: `A+` to `F`
    #[arg(long, value_name = "GRADE", allow_hyphen_values = true)]
    pub(crate) min_grade: Option<Letter>,
    /// Write a report: `html`, `pdf`, `json`, `junit`, `markdown`, `csv` or `openmetrics`. PATH defaults to the folder of the run
    #[arg(long, value_name = "FORMAT[=PATH]")]
    pub(crate) export: Vec<Export>,
    #[command(flatten)]
    pub(crate) reports: ReportOptions,
    #[command(flatten)]
    pub(crate) cargo: CargoArgs,
}

/// `cargo loadtest compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Baseline name, or a run: identifier or its beginning, path, or `latest`
    #[arg(value_name = "BASE")]
    pub(crate) base: String,
    /// Run to compare with it
    #[arg(value_name = "NEW", default_value = "latest")]
    pub(crate) new: String,
    /// Output format
    #[arg(long, value_enum, default_value_t, value_name = "FMT")]
    pub(crate) format: ResultFormat,
    #[command(flatten)]
    pub(crate) cargo: CargoArgs,
}

/// `cargo loadtest history`.
#[derive(Debug, Args)]
#[command(
    after_help = "The trend is the change of p95 since the previous run of the same version, load and target. \
                  It is not a verdict: `cargo loadtest compare` tests whether a change is significant."
)]
pub(crate) struct HistoryArgs {
    /// Only scenarios whose name (`package::module::function`) contains this
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenario: Option<String>,
    /// Print at most this many runs of each scenario, newest first
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = values::at_least_one)]
    pub(crate) limit: usize,
    /// Output format
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

/// A subcommand of `cargo loadtest baseline`.
#[derive(Debug, Subcommand)]
pub(crate) enum BaselineCommand {
    /// Add a run to a baseline
    Save {
        /// Baseline name
        #[arg(value_name = "NAME")]
        name: String,
        /// Run identifier or its beginning, path, or `latest`: the newest run that can be a baseline
        #[arg(value_name = "RUN", default_value = "latest")]
        run: String,
        /// Keep at most this many runs of each scenario, the newest
        #[arg(long, value_name = "N", default_value_t = 5, value_parser = values::at_least_one)]
        keep: usize,
        /// Replace the runs already in the baseline
        #[arg(long)]
        replace: bool,
        #[command(flatten)]
        cargo: CargoArgs,
    },
    /// List the baselines and their runs
    List {
        /// Output format
        #[arg(long, value_enum, default_value_t, value_name = "FMT")]
        format: ResultFormat,
        #[command(flatten)]
        cargo: CargoArgs,
    },
    /// Remove a baseline
    Remove {
        /// Baseline name
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        cargo: CargoArgs,
    },
}

/// `cargo loadtest config`.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t, value_name = "FMT")]
    pub(crate) format: ResultFormat,
    #[command(flatten)]
    pub(crate) cargo: CargoArgs,
}

/// `cargo loadtest completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to complete in
    #[arg(value_name = "SHELL", value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Options of the card and of PDF reports.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ReportOptions {
    /// Print every section of the card
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Open the HTML report in the browser at the end
    #[arg(long)]
    pub(crate) open: bool,
    /// Fallback font (TrueType or OpenType) for characters missing from the built-in PDF font; repeatable, first match wins
    #[arg(long = "pdf-font", value_name = "FILE", value_parser = values::path())]
    pub(crate) fonts: Vec<PathBuf>,
}

/// `cargo loadtest ui`.
#[cfg(feature = "ui")]
#[derive(Debug, Args)]
pub(crate) struct UiArgs {
    /// Port to listen on [default: a port that depends on the workspace]
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Print the address and open no browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Show runs and reports only: nothing can be started or changed
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Create a new secret: pages of an earlier dashboard must be opened again
    #[arg(long)]
    pub(crate) fresh: bool,
    #[command(flatten)]
    pub(crate) shared: SharedUiArgs,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// A dashboard for several people.
#[cfg(feature = "ui")]
#[derive(Debug, Args)]
#[command(next_help_heading = "Shared Use")]
pub(crate) struct SharedUiArgs {
    /// Public URL of the authenticating proxy in front of the dashboard
    #[arg(long, value_name = "URL", requires = "user_header")]
    pub(crate) public_url: Option<String>,
    /// Header in which the proxy sends the name of the user
    #[arg(long, value_name = "NAME", requires = "public_url")]
    pub(crate) user_header: Option<String>,
    /// Listen on this Unix socket instead of a port
    #[cfg(unix)]
    #[arg(long, value_name = "PATH", requires = "public_url", conflicts_with = "port", value_parser = values::path())]
    pub(crate) socket: Option<PathBuf>,
    /// Let testers edit sources: each of them can then run any program on this machine
    #[arg(long, requires = "public_url")]
    pub(crate) allow_edit: bool,
}

/// `cargo loadtest init`.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Folder of the package
    #[arg(long, value_name = "DIR", conflicts_with = "package", value_parser = values::path())]
    pub(crate) path: Option<PathBuf>,
    /// Package to add the load test to
    #[arg(short, long, value_name = "SPEC", help_heading = "Package Selection")]
    pub(crate) package: Option<String>,
    /// Depend on `loadtest` from this git repository
    #[arg(long, value_name = "URL")]
    pub(crate) git: Option<String>,
    /// Use this revision of the git repository
    #[arg(long, value_name = "SHA", requires = "git")]
    pub(crate) rev: Option<String>,
}

/// Selects scenarios.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SelectionArgs {
    /// Only scenarios whose name (`package::module::function`) contains one of these
    #[arg(value_name = "FILTER")]
    pub(crate) filters: Vec<String>,
    /// Match scenario names exactly instead of by substring
    #[arg(long, requires = "filters")]
    pub(crate) exact: bool,
    /// Only scenarios with one of these tags
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
}

/// Selects packages, and the build of their load tests.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ProjectArgs {
    /// Only scenarios of these packages [default: the package of the current folder, else all]
    #[arg(
        short = 'p',
        long = "package",
        value_name = "SPEC",
        help_heading = "Package Selection"
    )]
    pub(crate) packages: Vec<String>,
    /// Scenarios of all packages, even in the folder of a package
    #[arg(
        long,
        help_heading = "Package Selection",
        conflicts_with_all = ["packages", "binaries"]
    )]
    pub(crate) workspace: bool,
    /// Use this compiled load test, and build nothing; repeatable
    #[arg(
        long = "binary",
        value_name = "PATH",
        help_heading = "Package Selection",
        conflicts_with_all = ["packages", "profile", "release", "features", "all_features", "no_default_features"],
        value_parser = values::path()
    )]
    pub(crate) binaries: Vec<PathBuf>,
    /// Use the load tests of this bundle, from `cargo loadtest bundle`, and build nothing
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Package Selection",
        conflicts_with_all = ["packages", "workspace", "binaries", "profile", "release", "features", "all_features", "no_default_features"],
        value_parser = values::path()
    )]
    pub(crate) bundle: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) cargo: CargoArgs,
    #[command(flatten)]
    pub(crate) compilation: CompilationArgs,
}

/// Overrides the load that scenarios declare.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct LoadArgs {
    /// Use the load preset `[load.NAME]` of `loadtest.toml`; other flags override it
    #[arg(long = "load", value_name = "NAME")]
    pub(crate) preset: Option<String>,
    /// Ignore the load preset of `loadtest.toml` and the environment; other flags still apply
    #[arg(long, conflicts_with = "preset")]
    pub(crate) declared_load: bool,
    /// Arrival rate: start this many iterations per second
    #[arg(long, value_name = "N/s", value_parser = values::rate, allow_hyphen_values = true, conflicts_with_all = ["users", "iterations"])]
    pub(crate) rate: Option<f64>,
    /// Number of virtual users
    #[arg(long, value_name = "N", value_parser = values::users, allow_hyphen_values = true)]
    pub(crate) users: Option<u32>,
    /// Total number of iterations, shared by the users; or for each user, as in `20/user`
    #[arg(long, value_name = "N", value_parser = values::iterations, allow_hyphen_values = true)]
    pub(crate) iterations: Option<IterationCount>,
    /// Ramp-up time; counts towards `--duration`
    #[arg(long, value_name = "TIME", value_parser = values::bounded_duration, allow_hyphen_values = true)]
    pub(crate) ramp_up: Option<Duration>,
    /// Duration of the run
    #[arg(long, value_name = "TIME", value_parser = values::duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<Duration>,
    /// Seed for weights, think times and data
    #[arg(long, value_name = "SEED", value_parser = values::seed, allow_hyphen_values = true)]
    pub(crate) seed: Option<u64>,
    /// Base URL, instead of the URL that the scenario declares
    #[arg(long, value_name = "URL", value_parser = values::base_url)]
    pub(crate) base_url: Option<String>,
}

#[cfg(feature = "ui")]
impl ProjectArgs {
    /// Returns the flags as they would be typed.
    pub(crate) fn flags(&self) -> Vec<String> {
        let Self {
            packages,
            workspace,
            binaries,
            bundle,
            cargo,
            compilation,
        } = self;
        let features = &compilation.features;
        let switches = [
            ("--workspace", *workspace),
            ("--release", compilation.release),
            ("--all-features", features.all_features),
            ("--no-default-features", features.no_default_features),
        ];
        let switches = switches.into_iter().filter(|(_, is_on)| *is_on);
        let mut flags: Vec<String> = switches.map(|(flag, _)| flag.to_owned()).collect();
        flags.extend(packages.iter().map(|name| format!("--package={name}")));
        let paths = binaries.iter();
        flags.extend(paths.map(|path| format!("--binary={}", path.display())));
        let bundle = bundle.iter();
        flags.extend(bundle.map(|path| format!("--bundle={}", path.display())));
        flags.extend(
            compilation
                .profile
                .iter()
                .map(|name| format!("--profile={name}")),
        );
        flags.extend(
            features
                .features
                .iter()
                .map(|name| format!("--features={name}")),
        );
        flags.extend(cargo.flags());
        flags
    }
}

#[cfg(feature = "ui")]
impl CargoArgs {
    /// Returns the flags as they would be typed.
    pub(crate) fn flags(&self) -> Vec<String> {
        let switches = [
            ("--locked", self.locked),
            ("--offline", self.offline),
            ("--frozen", self.frozen),
        ];
        let switches = switches.into_iter().filter(|(_, is_on)| *is_on);
        let mut flags: Vec<String> = switches.map(|(flag, _)| flag.to_owned()).collect();
        let paths = [
            ("--manifest-path", &self.manifest_path),
            ("--target-dir", &self.target_dir),
        ];
        for (flag, path) in paths {
            flags.extend(path.iter().map(|path| format!("{flag}={}", path.display())));
        }
        flags
    }
}

impl LoadArgs {
    /// Returns the overrides of the flags, without the preset.
    pub(crate) fn overrides(&self) -> Overrides {
        Overrides {
            rate_per_second: self.rate,
            users: self.users,
            iterations: self.iterations,
            ramp_up: self.ramp_up,
            duration: self.duration,
            ..Overrides::default()
        }
    }
}

/// Options passed to every call of cargo.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Manifest Options")]
pub(crate) struct CargoArgs {
    /// Path to Cargo.toml
    #[arg(long, value_name = "PATH", value_parser = values::path())]
    pub(crate) manifest_path: Option<PathBuf>,
    /// Assert that `Cargo.lock` will remain unchanged
    #[arg(long)]
    pub(crate) locked: bool,
    /// Build without network access; `run`, `debug` and `capacity` then reach only loopback addresses
    #[arg(long)]
    pub(crate) offline: bool,
    /// Build with `--locked` and without accessing the network
    #[arg(long)]
    pub(crate) frozen: bool,
    /// Directory for all generated artifacts
    #[arg(long, value_name = "DIRECTORY", help_heading = "Compilation Options", value_parser = values::path())]
    pub(crate) target_dir: Option<PathBuf>,
}

/// Options passed to `cargo build`.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct CompilationArgs {
    /// Build with the specified profile [default: the profile in `loadtest.toml`, else `release`]
    #[arg(
        long,
        value_name = "PROFILE-NAME",
        help_heading = "Compilation Options"
    )]
    pub(crate) profile: Option<String>,
    /// Build with the profile `release`
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

/// Parses the command line.
///
/// # Errors
/// Mistakes, or a request for help.
pub(crate) fn parse(all: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let all = strip_subcommand(all);
    if let Some(words) = curl::misplaced(&all) {
        return Err(Cli::command().error(ErrorKind::UnknownArgument, words));
    }
    let cli = Cli::try_parse_from(all)
        .map_err(lacking::explain)
        .map_err(suggest_command)?;
    if let Command::Run(args) = &cli.command
        && args.curl.allow_files
        && !args.curl.are_given()
    {
        let words =
            "`--allow-files` needs a curl command: give one with `--curl FILE`, or after `--`";
        return Err(Cli::command().error(ErrorKind::MissingRequiredArgument, words));
    }
    Ok(cli)
}

/// Adds the command that was meant where clap finds none: it takes no `rnu` for `run`.
fn suggest_command(mut error: clap::Error) -> clap::Error {
    let word = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) => word.clone(),
        _ => return error,
    };
    let command = Cli::command();
    let mut names: Vec<_> = command
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect();
    names.retain(|name| name.len().abs_diff(word.len()) <= 1);
    if error.get(ContextKind::SuggestedSubcommand).is_none()
        && let Some(name) = find_similar(&word, names)
    {
        let names = ContextValue::Strings(vec![name.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, names);
    }
    error
}

/// Removes the `loadtest` that cargo puts first.
fn strip_subcommand(all: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut all: Vec<_> = all.into_iter().collect();
    if all.get(1).is_some_and(|first| first == "loadtest") {
        all.remove(1);
    }
    all
}

impl Command {
    /// Returns true when the command reports to CI.
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
    /// Returns the choice; on CI, the default is without colour.
    fn decided(self) -> Self {
        match self {
            Self::Auto if console::is_ci() => Self::Never,
            color => color,
        }
    }

    /// Applies the choice to the whole program.
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

    /// Returns the value of cargo's `--color`.
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
            (Some(5), Some(IterationCount::Total(100)))
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
    fn a_misspelt_command_is_a_usage_error_with_a_suggestion() {
        for (word, meant) in [("rnu", "run"), ("histroy", "history"), ("cofnig", "config")] {
            let error = parse(&format!("cargo-loadtest loadtest {word}")).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            let text = error.to_string();
            assert!(
                text.contains("similar") && text.contains(&format!("'{meant}'")),
                "{text}"
            );
        }
        let error = parse("cargo-loadtest loadtest zzzz").unwrap_err();
        assert!(!error.to_string().contains("similar"), "{error}");
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
        let Command::Capacity(args) =
            parse("observed(db cpu).max < 3.5, p95 < 300ms , observed(\"a, (b)\") .mean<80%")
                .unwrap()
                .command
        else {
            panic!("no search");
        };
        let slo = args.slo.unwrap();
        assert_eq!(slo.conditions.len(), 1);
        let observed = slo.observed.iter();
        let observed: Vec<_> = observed.map(|one| (&*one.name, &*one.limit)).collect();
        assert_eq!(observed, [("db cpu", "max < 3.5"), ("a, (b)", "mean<80%")]);
        for (slo, told) in [
            ("observed(db cpu)", "^^^ write `observed(db cpu).max < 3.5`"),
            (
                "p95 < 1s observed(a).max < 1",
                "expected a comma before `observed(..)`",
            ),
            ("p95 < 300, observed(a).max < 1", "`300` has no unit"),
            ("observed(", "write `observed(db cpu).max < 3.5`"),
        ] {
            let text = parse(slo).unwrap_err().to_string();
            assert!(text.contains(told), "{text}");
        }
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
        assert_eq!(args.project.compilation.profile.as_deref(), Some("dev"));
        assert_eq!(args.project.compilation.features.features, ["a,b"]);
        assert!(args.project.cargo.locked);
    }
}
