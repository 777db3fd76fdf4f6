//! The command line of `cargo loadtest export`.

use super::{ProjectArgs, values};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

/// `cargo loadtest export`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct ExportArgs {
    #[command(subcommand)]
    pub(crate) launcher: Option<LauncherCommand>,
    /// Scenario name (`package::module::function`), its end, or any unique part
    #[arg(value_name = "SCENARIO", required = true)]
    pub(crate) scenario: Option<String>,
    /// Output file; `-` writes to standard output
    #[arg(short, long, value_name = "PATH", default_value = "-", value_parser = values::path())]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// A launcher: a file that starts a load on several machines, to review and commit.
#[derive(Debug, Subcommand)]
pub(crate) enum LauncherCommand {
    /// Write an array job for Slurm, with setup, merge and teardown
    Slurm {
        /// Number of processes that generate the load
        #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        shards: u32,
        /// Longest time that each job may take; by default half an hour more than the load, or 1h for a number of iterations
        #[arg(long, value_name = "TIME", value_parser = values::limit)]
        limit: Option<Duration>,
        #[command(flatten)]
        args: LauncherArgs,
    },
    /// Write jobs for Kubernetes: agents and a controller
    Kubernetes {
        /// Number of processes that generate the load
        #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        agents: u32,
        /// Image with `cargo-loadtest` in its PATH and the bundle in `/bundle`, named by its digest
        #[arg(long, value_name = "IMAGE", value_parser = values::image)]
        image: String,
        /// Memory of each container
        #[arg(long, value_name = "SIZE", default_value = "1Gi", value_parser = values::memory_of_pod)]
        memory: String,
        /// Address of the NATS server
        #[arg(long, value_name = "URL", default_value = "tls://nats:4222", value_parser = values::encrypted_server)]
        cluster: String,
        /// Longest time that the jobs may take; by default half an hour more than the load, or 1h for a number of iterations
        #[arg(long, value_name = "TIME", value_parser = values::limit)]
        limit: Option<Duration>,
        #[command(flatten)]
        args: LauncherArgs,
    },
    /// Write services for Docker Compose: a NATS server, agents and a controller, on one host
    Compose {
        /// Number of processes that generate the load
        #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        agents: u32,
        /// Image with `cargo-loadtest` in its PATH
        #[arg(long, value_name = "IMAGE", value_parser = values::image)]
        image: String,
        /// Memory of each agent
        #[arg(long, value_name = "SIZE", default_value = "1g", value_parser = values::memory_of_service)]
        memory: String,
        #[command(flatten)]
        args: LauncherArgs,
    },
}

/// Options of all launchers.
#[derive(Debug, Args)]
pub(crate) struct LauncherArgs {
    /// Scenario name (`package::module::function`), its end, or any unique part
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenario: String,
    /// Output file; `-` writes to standard output
    #[arg(short, long, value_name = "PATH", default_value = "-", value_parser = values::path())]
    pub(crate) output: PathBuf,
    /// Processors of each process
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) cpus: u32,
    /// Base URL, instead of the URL that the scenario declares
    #[arg(long, value_name = "URL", value_parser = values::base_url)]
    pub(crate) base_url: Option<String>,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}
