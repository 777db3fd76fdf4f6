//! `cargo loadtest import`: the source of a scenario from requests that were recorded elsewhere.

use super::recorded::{self, Requests};
use crate::cli::{ImportArgs, ImportCommand, ImportOutput};
use crate::console;
use crate::error::Error;
use crate::files;
use crate::import::{
    HarOptions, Input, Linked, Mistake, NamedSecret, OpenApiOptions, PostmanOptions, Recording,
    correlate, format_source, read_environment, read_har, read_openapi, read_postman, write_source,
};
use std::fmt::Display;
use std::path::Path;

/// What a document may have at most, in bytes.
const LARGEST: u64 = 256 * 1024 * 1024;

/// Imports.
///
/// # Errors
/// Input that is refused; a file that is there already, or cannot be written.
pub(crate) fn import(args: &ImportArgs, quiet: bool) -> Result<u8, Error> {
    let told = Told { quiet };
    match &args.command {
        ImportCommand::Curl {
            file,
            allow_files,
            to,
            command,
        } => {
            may_be_written(to)?;
            let file = command.is_empty().then_some(file.as_path());
            // No value of a variable gets into the source.
            let requests = recorded::read(file, command, *allow_files, None)?;
            told.finish(requests, "curl", to)?;
        }
        ImportCommand::Har {
            file,
            host,
            keep_static,
            no_think,
            to,
        } => {
            may_be_written(to)?;
            let options = HarOptions {
                hosts: host.clone(),
                keeps_static: *keep_static,
                drops_pauses: *no_think,
            };
            told.document(file, "har", to, |input| read_har(input, &options))?;
        }
        ImportCommand::Openapi {
            file,
            tag,
            operation,
            base_url,
            to,
        } => {
            may_be_written(to)?;
            let options = OpenApiOptions {
                tags: tag.clone(),
                operations: operation.clone(),
                base: base_url.clone(),
            };
            told.document(file, "openapi", to, |input| read_openapi(input, &options))?;
        }
        ImportCommand::Postman {
            file,
            environment,
            folder,
            to,
        } => {
            may_be_written(to)?;
            let environment = environment.as_deref().map(|path| {
                let input = recorded::text(path, LARGEST)?.document();
                // A mistake in it is shown in it.
                read_environment(&input)
                    .map_err(|mistake| recorded::refused(&input, mistake, "postman"))
            });
            let options = PostmanOptions {
                folders: folder.clone(),
                environment: environment.transpose()?,
            };
            told.document(file, "postman", to, |input| read_postman(input, &options))?;
        }
    }
    Ok(0)
}

/// What the user is told beside warnings: nothing, where that is asked for.
#[derive(Debug, Clone, Copy)]
struct Told {
    quiet: bool,
}

impl Told {
    /// Reads a document, finds what its requests have from earlier answers, and writes the scenario.
    fn document(
        self,
        file: &Path,
        from: &str,
        to: &ImportOutput,
        read: impl FnOnce(&Input) -> Result<Recording, Mistake>,
    ) -> Result<(), Error> {
        let input = recorded::text(file, LARGEST)?.document();
        is_not_written(file, to)?;
        match read(&input) {
            Ok(mut recording) => {
                correlate(&mut recording);
                self.finish(Requests { input, recording }, from, to)
            }
            Err(mistake) => Err(recorded::refused(&input, mistake, from)),
        }
    }

    /// Writes the scenario, and tells all that the user should know.
    fn finish(self, mut requests: Requests, from: &str, to: &ImportOutput) -> Result<(), Error> {
        requests.hide_secrets();
        requests.tell();
        for dropped in &requests.recording.dropped {
            let (what, why) = (console::clean(&dropped.what), &dropped.why);
            self.status("Dropped", format_args!("{what} ({why})"));
        }
        let written = write_source(&requests.recording, &requests.input, from);
        self.put(to, &format_source(written.source))?;
        for Linked { step, value, why } in &written.linked {
            let (value, why) = (console::clean(value), console::clean(why));
            self.status("Linked", format_args!("{step}: {value} ({why})"));
        }
        for NamedSecret { name, what } in &written.secrets {
            self.status("Secret", format_args!("{name}: {}", console::clean(what)));
        }
        tell_target(to);
        Ok(())
    }

    fn put(self, to: &ImportOutput, source: &str) -> Result<(), Error> {
        if to.output == Path::new("-") {
            return console::print_file(source.as_bytes());
        }
        if let Some(folder) = to.output.parent() {
            std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        }
        files::write(&to.output, source.as_bytes())?;
        self.status("Wrote", to.output.display());
        Ok(())
    }

    fn status(self, verb: &str, object: impl Display) {
        if !self.quiet {
            console::print_status(verb, object);
        }
    }
}

/// Refuses to write the scenario over what it is made of.
fn is_not_written(file: &Path, to: &ImportOutput) -> Result<(), Error> {
    match (file.canonicalize(), to.output.canonicalize()) {
        (Ok(file), Ok(output)) if file == output => Err(Error::usage(format!(
            "`{}` is what is imported",
            to.output.display()
        ))
        .with_help("give another name for the scenario")),
        _ => Ok(()),
    }
}

/// Refuses to write over what is there, before anything is read.
fn may_be_written(to: &ImportOutput) -> Result<(), Error> {
    if to.output == Path::new("-") || to.force || !to.output.exists() {
        return Ok(());
    }
    Err(
        Error::usage(format!("`{}` is there already", to.output.display()))
            .with_help("give `--force` to write over it, or another name"),
    )
}

/// Says what is missing for the file to be a load test of its package.
fn tell_target(to: &ImportOutput) {
    let Ok(file) = to.output.canonicalize() else {
        return;
    };
    if file.extension().is_none_or(|end| end != "rs") {
        return;
    }
    let manifests = file.ancestors().skip(1).map(|folder| {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).ok();
        (folder, manifest.and_then(|text| text.parse().ok()))
    });
    let package = manifests
        .filter_map(|(folder, manifest): (&Path, Option<toml::Table>)| Some((folder, manifest?)))
        .find(|(_, manifest)| manifest.contains_key("package"));
    let Some((folder, manifest)) = package else {
        return;
    };
    let (Ok(path), Some(name)) = (file.strip_prefix(folder), file.file_stem()) else {
        return;
    };
    if is_load_test(&manifest, path) {
        return;
    }
    let (path, name) = (path.display(), name.display());
    console::print_warning(format_args!(
        "`{path}` is no load test yet: it needs these lines in `Cargo.toml`, and `loadtest` as a dev-dependency \
         (`cargo loadtest init` adds that)\n\n    [[test]]\n    name = \"{name}\"\n    path = \"{path}\"\n    \
         harness = false\n"
    ));
}

/// Whether a manifest has the file as a test without a harness of its own.
fn is_load_test(manifest: &toml::Table, path: &Path) -> bool {
    let tests = manifest.get("test").and_then(toml::Value::as_array);
    tests.into_iter().flatten().any(|test| {
        let has_harness = test.get("harness").and_then(toml::Value::as_bool);
        let word = |key| test.get(key).and_then(toml::Value::as_str);
        let is_here = match (word("path"), word("name")) {
            (Some(named), _) => Path::new(named) == path,
            (None, Some(name)) => Path::new("tests").join(name).with_extension("rs") == path,
            (None, None) => false,
        };
        is_here && has_harness == Some(false)
    })
}
