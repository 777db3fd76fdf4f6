//! What is read, and what is said of what cannot be.

mod file;
mod layers;
mod observe;
mod page;
mod tables;

use super::*;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3600);

const FILE: &str = "/home/ada/loadtest.toml";

fn parse(text: &str) -> Result<Config, String> {
    layers(text, &[]).map(|(config, _)| config)
}

/// Reads file and variables as if called in `/tmp/here`; returns the doubts too.
fn layers(text: &str, variables: &[(&str, &str)]) -> Result<(Config, Vec<String>), String> {
    let variables = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let environment = ConfigEnvironment::new(variables, Path::new("/tmp/here"));
    Config::decode(Some(text.as_bytes()), Path::new(FILE), environment)
        .map_err(|error| error.to_string())
}
