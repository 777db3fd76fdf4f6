//! `cargo loadtest import`: the source of a scenario from requests that were recorded elsewhere.

mod verify;

use super::recorded::{self, ImportedRequests};
use crate::cli::{ImportArgs, ImportCommand, ImportOutput};
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::files;
use loadtest_import::{
    Dropped, HarOptions, Input, Linked, Mistake, NamedSecret, OpenApiOptions, PostmanOptions,
    Recording, WrittenScenario, correlate, find_left_values, format_source, read_environment,
    read_har, read_jmx, read_k6, read_openapi, read_postman, write_source,
};
use loadtest_model::exit_code::ExitCode;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use verify::WrittenTest;

/// The most dropped requests that are listed for a reason.
const MOST_DROPPED: usize = 5;
/// Largest document, in bytes.
const LARGEST: u64 = 256 * 1024 * 1024;

/// Imports.
///
/// # Errors
/// Input that is refused; a file that exists already, or cannot be written.
pub(crate) fn import(args: &ImportArgs, quiet: bool) -> Result<ExitCode, Error> {
    match &args.command {
        ImportCommand::Curl {
            file,
            allow_files,
            base_url,
            to,
            command,
        } => {
            let output = ScenarioOutput::new(to, quiet)?;
            let file = command.is_empty().then_some(file.as_path());
            // No value of a variable gets into the source, but for hosts.
            let base = base_url.as_deref();
            let values = recorded::VariableValues::OfHosts(base);
            let mut requests = recorded::read_commands(file, command, *allow_files, values)?;
            if let Some(base) = base {
                requests.recording.replace_base(base);
            }
            output.write_scenario(requests, "curl")
        }
        ImportCommand::Har {
            file,
            host,
            keep_static,
            no_think,
            to,
        } => {
            let options = HarOptions {
                hosts: host.clone(),
                keeps_static: *keep_static,
                drops_pauses: *no_think,
            };
            let output = ScenarioOutput::new(to, quiet)?;
            output.import_document(file, "har", |input| read_har(input, &options))
        }
        ImportCommand::Jmx { file, to } => {
            let output = ScenarioOutput::new(to, quiet)?;
            output.import_document(file, "jmx", read_jmx)
        }
        ImportCommand::K6 { file, to } => {
            let output = ScenarioOutput::new(to, quiet)?;
            output.import_document(file, "k6", read_k6)
        }
        ImportCommand::Openapi {
            file,
            tag,
            operation,
            path,
            param,
            base_url,
            to,
        } => {
            let options = OpenApiOptions {
                tags: tag.clone(),
                operations: operation.clone(),
                paths: path.clone(),
                parameters: param.clone(),
                base: base_url.clone(),
            };
            let output = ScenarioOutput::new(to, quiet)?;
            output.import_document(file, "openapi", |input| read_openapi(input, &options))
        }
        ImportCommand::Postman {
            file,
            environment,
            folder,
            to,
        } => {
            let output = ScenarioOutput::new(to, quiet)?;
            let environment = environment.as_deref().map(|path| {
                let input = recorded::read_input(path, LARGEST)?;
                let environment = read_environment(&input);
                environment.map_err(|mistake| recorded::explain_refusal(&input, mistake, "postman"))
            });
            let options = PostmanOptions {
                folders: folder.clone(),
                environment: environment.transpose()?,
            };
            output.import_document(file, "postman", |input| read_postman(input, &options))
        }
    }
}

/// The file for the scenario, and the messages about it.
#[derive(Debug, Clone, Copy)]
struct ScenarioOutput<'a> {
    to: &'a ImportOutput,
    quiet: bool,
}

impl<'a> ScenarioOutput<'a> {
    /// Refuses to overwrite a file, before anything is read.
    fn new(to: &'a ImportOutput, quiet: bool) -> Result<Self, Error> {
        if to.verify && to.output == Path::new("-") {
            let error = Error::usage("`--verify` runs what is written, and nothing is");
            return Err(error.with_help("give `-o tests/load.rs`"));
        }
        if to.output == Path::new("-") || to.force || !to.output.exists() {
            return Ok(Self { to, quiet });
        }
        let error = Error::usage(format!("`{}` exists already", to.output.display()));
        Err(error.with_help("give `--force` to overwrite it, or another name"))
    }

    /// Reads a document, links its requests to earlier answers, and writes the scenario.
    fn import_document(
        self,
        file: &Path,
        format: &str,
        read: impl FnOnce(&Input) -> Result<Recording, Mistake>,
    ) -> Result<ExitCode, Error> {
        let mut input = recorded::read_input(file, LARGEST)?;
        if format == "openapi" {
            input.set_described();
        }
        let output = &self.to.output;
        if let (Ok(input), Ok(output)) = (file.canonicalize(), output.canonicalize())
            && input == output
        {
            let error = Error::usage(format!("`{}` is the file to import", output.display()));
            return Err(error.with_help("give another name for the scenario"));
        }
        let mut recording =
            read(&input).map_err(|mistake| recorded::explain_refusal(&input, mistake, format))?;
        correlate(&mut recording);
        self.write_scenario(ImportedRequests { input, recording }, format)
    }

    /// Writes the scenario, and prints warnings, references and secrets. Returns the exit code.
    fn write_scenario(
        self,
        mut requests: ImportedRequests,
        format: &str,
    ) -> Result<ExitCode, Error> {
        requests.hide_secrets();
        requests.print_warnings();
        self.print_dropped(&requests.recording.dropped);
        let written = write_source(&requests.recording, &requests.input, format);
        self.write_file(&format_source(written.source))?;
        for Linked { step, value, why } in &written.linked {
            let (value, why) = (console::clean(value), console::clean(why));
            self.print_status("Linked", format_args!("{step}: {value} ({why})"));
        }
        if let Some(words) = requests.recording.describe_code() {
            self.print_status("Code", words);
        }
        for NamedSecret { name, what } in &written.secrets {
            self.print_status("Secret", format_args!("{name}: {}", console::clean(what)));
        }
        if self.to.verify {
            return self.verify(&requests.recording, &written.scenarios);
        }
        if let Some(OutputTarget {
            lines: Some(lines), ..
        }) = OutputTarget::find(&self.to.output)
        {
            console::print_warning(lines);
        }
        Ok(ExitCode::Passed)
    }

    /// Prints the requests that are left out: one by one, or as many as fit in a line where there are more for a reason.
    fn print_dropped(self, dropped: &[Dropped]) {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for Dropped { what, why, .. } in dropped {
            match reasons.iter_mut().find(|(known, _)| known == why) {
                Some((_, all)) => all.push(what),
                None => reasons.push((why, vec![what])),
            }
        }
        for (why, all) in reasons {
            if all.len() > MOST_DROPPED {
                let (count, first) = (all.len(), console::clean(all[0]));
                let words = format!("{count} requests ({why}), starting with {first}");
                self.print_status("Dropped", words);
                continue;
            }
            for what in all {
                self.print_status("Dropped", format_args!("{} ({why})", console::clean(what)));
            }
        }
    }

    /// Runs what was written once.
    fn verify(
        self,
        recording: &Recording,
        scenarios: &[WrittenScenario],
    ) -> Result<ExitCode, Error> {
        let target = OutputTarget::find(&self.to.output).ok_or_else(|| {
            let output = self.to.output.display();
            let error = Error::usage(format!(
                "`{output}` is in no package, so that it cannot be run"
            ));
            error.with_help("give `-o tests/load.rs` in the folder of a package")
        })?;
        if let Some(lines) = target.lines {
            return Err(Error::usage(lines));
        }
        let test = WrittenTest {
            folder: &target.folder,
            package: &target.package,
            target: &target.name,
            scenarios,
        };
        let left = find_left_values(recording);
        let is_same = verify::verify(&test, recording, &left)?;
        Ok(if is_same {
            ExitCode::Passed
        } else {
            ExitCode::GateFailed
        })
    }

    fn write_file(self, source: &str) -> Result<(), Error> {
        let output = &self.to.output;
        if output == Path::new("-") {
            return console::print_file(source.as_bytes());
        }
        if let Some(folder) = output.parent() {
            std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        }
        files::write(output, source.as_bytes())?;
        self.print_status("Wrote", output.display());
        Ok(())
    }

    fn print_status(self, verb: &str, object: impl Display) {
        if !self.quiet {
            console::print_status(verb, object);
        }
    }
}

/// The file that was written, as a test of its package.
#[derive(Debug)]
struct OutputTarget {
    folder: PathBuf,
    package: String,
    name: String,
    /// The lines that its manifest lacks, with what to do.
    lines: Option<String>,
}

impl OutputTarget {
    /// Finds the package of a file.
    fn find(output: &Path) -> Option<Self> {
        let file = output.canonicalize().ok()?;
        if file.extension().is_none_or(|end| end != "rs") {
            return None;
        }
        let (folder, manifest) = file.ancestors().skip(1).find_map(|folder| {
            let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).ok()?;
            let manifest: toml::Table = manifest.parse().ok()?;
            manifest
                .contains_key("package")
                .then_some((folder, manifest))
        })?;
        let path = file.strip_prefix(folder).ok()?;
        let name = file.file_stem()?.to_string_lossy().into_owned();
        let shown = path.display();
        let lines = format!(
            "`{shown}` is not a load test yet: it needs these lines in `Cargo.toml`, and `loadtest` as a dev-dependency \
             (`cargo loadtest init` adds that)\n\n    [[test]]\n    name = \"{name}\"\n    path = \"{shown}\"\n    \
             harness = false\n"
        );
        let package = manifest.get("package")?.get("name")?.as_str()?;
        Some(Self {
            package: package.to_owned(),
            lines: (!is_load_test(&manifest, path)).then_some(lines),
            folder: folder.to_path_buf(),
            name,
        })
    }
}

/// Returns true where a manifest has the file as a test without a harness of its own.
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
