//! `cargo loadtest import`: the source of a scenario from requests that were recorded elsewhere.

use super::recorded;
use crate::cli::{ImportArgs, ImportCommand, ImportOutput};
use crate::error::Error;
use crate::files;
use crate::import::{Mistake, Named, write};
use crate::shell;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;

/// Imports.
///
/// # Errors
/// [`Error::Import`]; a file that is there already, or cannot be written.
pub(crate) fn import(args: &ImportArgs) -> Result<u8, Error> {
    match &args.command {
        ImportCommand::Curl {
            file,
            allow_files,
            to,
            command,
        } => {
            may_be_written(to)?;
            let file = command.is_empty().then_some(file.as_path());
            // No value of a variable gets into the source: what stands for it is like nothing else.
            let random = RandomState::new().hash_one("variable");
            let mut known = HashMap::new();
            let mut lookup = |name: &str| {
                let number = known.len();
                let value = known
                    .entry(name.to_owned())
                    .or_insert_with(|| format!("lt{random:016x}n{number}e"));
                Some(value.clone())
            };
            let requests = recorded::read(file, command, *allow_files, &mut lookup)?;
            let variables = &requests.recording.secrets;
            for exchange in &requests.recording.exchanges {
                if variables
                    .iter()
                    .any(|variable| exchange.origin.contains(&variable.value))
                {
                    let mistake = Mistake::new(
                        exchange.span.clone(),
                        "the host comes from a variable, and a scenario names its host",
                    );
                    let help = "write the host itself; `--base-url` sends the requests elsewhere";
                    return Err(recorded::refused(&requests.input, mistake.help(help)));
                }
            }
            requests.tell();
            let written = write(&requests.recording, &requests.input, "curl");
            put(to, &written.source)?;
            tell(&written.secrets);
        }
    }
    Ok(0)
}

/// Refuses to write over what is there, before anything is read.
fn may_be_written(to: &ImportOutput) -> Result<(), Error> {
    if to.output == Path::new("-") || to.force || !to.output.exists() {
        return Ok(());
    }
    Err(Error::NoImport {
        words: format!("`{}` is there already", to.output.display()),
        help: "give `--force` to write over it, or another name".to_owned(),
    })
}

fn put(to: &ImportOutput, source: &str) -> Result<(), Error> {
    if to.output == Path::new("-") {
        return shell::file(source.as_bytes());
    }
    files::write(&to.output, source.as_bytes())?;
    shell::status("Wrote", to.output.display());
    Ok(())
}

/// What has to be in the environment of its runs.
fn tell(secrets: &[Named]) {
    for Named { name, what } in secrets {
        shell::status("Secret", format_args!("{name}: {}", shell::clean(what)));
    }
}
