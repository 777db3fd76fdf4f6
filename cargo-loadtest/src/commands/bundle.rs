//! `cargo loadtest bundle`: one file that runs scenarios where neither their source nor a toolchain is.

use super::Project;
use crate::bundle::write_bundle;
use crate::cli::{BundleArgs, Cli};
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_model::exit_code::ExitCode;

use crate::policy::{self, Action};
use loadtest_model::display::format_bytes;

/// Bundles the selected scenarios.
///
/// # Errors
/// When they cannot be found or built; a file that may not be bundled, or cannot be read or written.
pub(crate) fn bundle(args: &BundleArgs, cli: &Cli) -> Result<ExitCode, Error> {
    #[cfg(feature = "cluster")]
    if let Some(path) = &args.new_key {
        let key = crate::cluster::create_key(path)?;
        console::print_result(key.as_str())?;
        return Ok(ExitCode::Passed);
    }
    if args.project.bundle.is_some() {
        return Err(Error::usage("a bundle cannot contain another bundle"));
    }
    super::publish::check_path(&args.output)?;
    let project = Project::open(&args.project, cli)?;
    let config = project.config()?;
    // A bundle carries no members: who may run it is asked here.
    project.permits(Action::Run, &config)?;
    let chosen = project.selected(&args.selection)?;
    policy::permits_tests(&config, &chosen)?;
    let file = config
        .is_file
        .then(|| config.folder.join(crate::config::FILE_NAME));
    let written = write_bundle(
        &args.output,
        &chosen,
        file.as_deref(),
        &args.include,
        &project.workspace,
    )?;
    if !cli.quiet {
        for path in &written.paths {
            console::print_status("Added", path);
        }
        let scenarios = match chosen.len() {
            1 => "1 scenario".to_owned(),
            several => format!("{several} scenarios"),
        };
        let (size, to) = (format_bytes(written.bytes), args.output.display());
        console::print_status("Bundled", format_args!("{scenarios} to {to} ({size})"));
    }
    Ok(ExitCode::Passed)
}
