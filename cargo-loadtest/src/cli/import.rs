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

/// A format to import.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// Curl commands, copied for any shell
    Curl {
        /// File with curl commands; `-` reads standard input
        #[arg(value_name = "FILE", default_value = "-", conflicts_with = "command", value_parser = values::path())]
        file: PathBuf,
        /// Read the files that the commands name, such as `-d @body.json`
        #[arg(long)]
        allow_files: bool,
        /// Base URL, instead of scheme, host and port of the first request
        #[arg(long, value_name = "URL", value_parser = values::base_url)]
        base_url: Option<String>,
        #[command(flatten)]
        to: ImportOutput,
        /// Curl command
        #[arg(last = true, value_name = "curl .. URL")]
        command: Vec<OsString>,
    },
    /// A recording of a browser: an HTTP archive (HAR)
    Har {
        /// HAR file; `-` reads standard input
        #[arg(value_name = "FILE", default_value = "-", value_parser = values::path())]
        file: PathBuf,
        /// Keep only requests to this host (`host` or `host:port`) [default: the site of the first page]
        #[arg(long, value_name = "HOST")]
        host: Vec<String>,
        /// Also keep scripts, styles, images and fonts
        #[arg(long)]
        keep_static: bool,
        /// Drop the think times between requests
        #[arg(long)]
        no_think: bool,
        #[command(flatten)]
        to: ImportOutput,
    },
    /// A JMeter plan; code is kept as comments
    Jmx {
        /// Plan (JMX); `-` reads standard input
        #[arg(value_name = "FILE", default_value = "-", value_parser = values::path())]
        file: PathBuf,
        #[command(flatten)]
        to: ImportOutput,
    },
    /// A k6 script; code is kept as comments
    K6 {
        /// Script of JavaScript or TypeScript; `-` reads standard input
        #[arg(value_name = "FILE", default_value = "-", value_parser = values::path())]
        file: PathBuf,
        #[command(flatten)]
        to: ImportOutput,
    },
    /// An OpenAPI document: 3.1, 3.0 or 2.0, JSON or YAML
    Openapi {
        /// OpenAPI file; `-` reads standard input
        #[arg(value_name = "FILE", default_value = "-", value_parser = values::path())]
        file: PathBuf,
        /// Only operations with this tag
        #[arg(long, value_name = "TAG")]
        tag: Vec<String>,
        /// Only this operation: its `operationId`, or `'GET /path'`
        #[arg(long, value_name = "OPERATION")]
        operation: Vec<String>,
        /// Only paths that match this pattern, in which `*` is any text: `'/orders/*'`
        #[arg(long, value_name = "PATTERN")]
        path: Vec<String>,
        /// Value of the path, query and header parameters with this name
        #[arg(long, value_name = "NAME=VALUE", value_parser = values::named_value)]
        param: Vec<(String, String)>,
        /// Base URL, instead of the URL in the document
        #[arg(long, value_name = "URL")]
        base_url: Option<String>,
        #[command(flatten)]
        to: ImportOutput,
    },
    /// A Postman collection, version 2.1 or 2.0
    Postman {
        /// Collection file; `-` reads standard input
        #[arg(value_name = "FILE", default_value = "-", value_parser = values::path())]
        file: PathBuf,
        /// Exported environment or globals with values for the variables of the collection
        #[arg(long, value_name = "FILE", value_parser = values::path())]
        environment: Option<PathBuf>,
        /// Only this folder, and requests of other folders that it depends on
        #[arg(long, value_name = "NAME")]
        folder: Vec<String>,
        #[command(flatten)]
        to: ImportOutput,
    },
}

/// Output of an import.
#[derive(Debug, Args)]
pub(crate) struct ImportOutput {
    /// Output file; `-` writes to standard output
    #[arg(short, long, value_name = "PATH", default_value = "-", value_parser = values::path())]
    pub(crate) output: PathBuf,
    /// Overwrite the output file if it exists
    #[arg(long)]
    pub(crate) force: bool,
    /// Run the scenarios once, and list steps whose answers differ from the recording
    #[arg(long)]
    pub(crate) verify: bool,
}
