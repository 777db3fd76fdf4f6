//! `cargo loadtest import`.

use super::values;
use clap::{Args, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// `cargo loadtest import`.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    pub(crate) command: ImportCommand,
}

/// What is imported.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// Curl commands, as they were copied for whatever shell
    Curl {
        /// A text with curl commands; `-` is standard input
        #[arg(value_name = "FILE", default_value = "-", conflicts_with = "command", value_parser = values::path())]
        file: PathBuf,
        /// Read the files that the commands name, such as `-d @body.json`
        #[arg(long)]
        allow_files: bool,
        #[command(flatten)]
        to: ImportOutput,
        /// A curl command
        #[arg(last = true, value_name = "curl .. URL")]
        command: Vec<OsString>,
    },
    /// Requests that a browser recorded: an archive of its network tools (HAR)
    Har {
        /// The archive; `-` is standard input
        #[arg(value_name = "FILE", default_value = "-", value_parser = values::path())]
        file: PathBuf,
        /// Keep the requests to this host (`host` or `host:port`), and no others; without it, those to the site of the first page
        #[arg(long, value_name = "HOST")]
        host: Vec<String>,
        /// Keep scripts, styles, pictures and fonts too
        #[arg(long)]
        keep_static: bool,
        /// Leave the pauses of the user out
        #[arg(long)]
        no_think: bool,
        #[command(flatten)]
        to: ImportOutput,
    },
    /// The operations of a service: an OpenAPI document, 3.1, 3.0 or 2.0, as JSON or YAML
    Openapi {
        /// The document; `-` is standard input
        #[arg(value_name = "FILE", default_value = "-", value_parser = values::path())]
        file: PathBuf,
        /// Take the operations with this tag, and no others
        #[arg(long, value_name = "TAG")]
        tag: Vec<String>,
        /// Take this operation, and no others: its `operationId`, or `'GET /path'`
        #[arg(long, value_name = "OPERATION")]
        operation: Vec<String>,
        /// Where the service is, if not where the document says
        #[arg(long, value_name = "URL")]
        base_url: Option<String>,
        #[command(flatten)]
        to: ImportOutput,
    },
    /// A collection of Postman, version 2.1 or 2.0
    Postman {
        /// The collection; `-` is standard input
        #[arg(value_name = "FILE", default_value = "-", value_parser = values::path())]
        file: PathBuf,
        /// An environment that was exported, or the globals, for the variables of the collection
        #[arg(long, value_name = "FILE", value_parser = values::path())]
        environment: Option<PathBuf>,
        /// Take this folder, with what it needs of others, and no others
        #[arg(long, value_name = "NAME")]
        folder: Vec<String>,
        #[command(flatten)]
        to: ImportOutput,
    },
}

/// Where an imported scenario goes.
#[derive(Debug, Args)]
pub(crate) struct ImportOutput {
    /// Write to this file; `-` is standard output
    #[arg(short, long, value_name = "PATH", default_value = "-", value_parser = values::path())]
    pub(crate) output: PathBuf,
    /// Write over a file that is there
    #[arg(long)]
    pub(crate) force: bool,
}
