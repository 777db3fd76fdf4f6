//! `cargo loadtest baseline`: runs kept under a name.

mod list;

use crate::baselines::{Baselines, SaveOptions, SaveResult};
use crate::cli::{BaselineArgs, BaselineCommand, CargoArgs};
use crate::config::Config;
use crate::policy::{self, Action};
use crate::store::{self, LATEST, RunFolder, Store};
use crate::workspace::Workspace;
use loadtest_console::console::{self, clean};
use loadtest_console::error::Error;
use loadtest_model::display;
use loadtest_model::exit_code::ExitCode;
use loadtest_model::record::RunRecord;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Saves, lists or removes.
///
/// # Errors
/// A name that is invalid or unknown; a run that cannot be saved; files that cannot be read or
/// written.
pub(crate) fn baseline(args: &BaselineArgs) -> Result<ExitCode, Error> {
    match &args.command {
        BaselineCommand::Save {
            name,
            run,
            keep,
            replace,
            cargo,
        } => {
            let keeping = SaveOptions {
                keep: *keep,
                replace: *replace,
            };
            save_baseline(name, run, keeping, cargo)
        }
        BaselineCommand::List { format, cargo } => list::list(&baselines(cargo)?, *format),
        BaselineCommand::Remove { name, cargo } => remove_baseline(&open_changeable(cargo)?, name),
    }
}

/// The baselines of the workspace.
pub(super) fn baselines(cargo: &CargoArgs) -> Result<Baselines, Error> {
    let workspace = Workspace::load_or_folder(cargo)?;
    let config = Config::load(&workspace.start, workspace.root())?;
    Ok(Baselines::from_config(&config))
}

/// The same, for those who may change them.
fn open_changeable(cargo: &CargoArgs) -> Result<Baselines, Error> {
    let workspace = Workspace::load_or_folder(cargo)?;
    let config = Config::load(&workspace.start, workspace.root())?;
    policy::permits(Action::Baseline, &config, &workspace.start)?;
    Ok(Baselines::from_config(&config))
}

fn save_baseline(
    name: &str,
    run: &str,
    keeping: SaveOptions,
    cargo: &CargoArgs,
) -> Result<ExitCode, Error> {
    let baseline = open_changeable(cargo)?.new_or_not(name)?;
    let (folder, record) = store::open(run, || Store::of_workspace(cargo))?;
    let save = |folder: &RunFolder, record: &RunRecord| {
        let comparison = folder.read_comparison(record)?;
        baseline.save(record, comparison.as_ref(), keeping)
    };
    let mut saved = save(&folder, &record)?;
    if !has_saved(&saved) {
        let refused = not_saved(&record.run_id, &saved);
        if run != LATEST {
            return Err(refused);
        }
        let mut runs = Store::of_workspace(cargo)?.runs()?;
        runs.retain(|earlier| earlier.path() < folder.path());
        let mut earlier = runs.iter().rev();
        saved = loop {
            let Some(folder) = earlier.next() else {
                return Err(refused);
            };
            if let Ok(record) = folder.read()
                && let saved = save(folder, &record)?
                && has_saved(&saved)
            {
                let identifier = folder.identifier();
                console::print_status(
                    "Skipped",
                    format_args!("newer runs than {identifier}: {refused}"),
                );
                break saved;
            }
        };
    }
    for SaveResult { scenario, outcome } in saved {
        let scenario = clean(&scenario);
        match outcome {
            Ok(place) => {
                let runs = display::format_counted(place.runs as u64, "run");
                console::print_status(
                    "Saved",
                    format_args!("`{scenario}` in the baseline `{name}`, which has {runs} of it"),
                );
                for left in place.left {
                    console::print_status(
                        "Removed",
                        format_args!("{left} of `{scenario}` left the baseline"),
                    );
                }
                for reason in place.failed {
                    let reason = clean(&reason);
                    console::print_verdict(
                        false,
                        "Warning",
                        format_args!(
                            "`{scenario}` failed its gate, but is saved as a baseline: {reason}"
                        ),
                    );
                }
            }
            Err(refused) => console::print_verdict(
                false,
                "Not saved",
                format_args!(
                    "`{scenario}`: {}; {}",
                    clean(&refused.why),
                    clean(&refused.help)
                ),
            ),
        }
    }
    console::print_result(clean(&baseline.folder().display().to_string()))?;
    Ok(ExitCode::Passed)
}

fn has_saved(saved: &[SaveResult]) -> bool {
    saved.iter().any(|saved| saved.outcome.is_ok())
}

fn not_saved(run_id: &str, saved: &[SaveResult]) -> Error {
    let mut message = format!("the run {} cannot be saved as a baseline", clean(run_id));
    let mut helps = Vec::new();
    for SaveResult { scenario, outcome } in saved {
        if let Err(refused) = outcome {
            let _ = write!(
                message,
                "\n  `{}`: {}",
                clean(scenario),
                clean(&refused.why)
            );
            helps.push(clean(&refused.help));
        }
    }
    if helps.is_empty() {
        message.push_str(": none of its scenarios ran");
        helps.push("save a run that measured something".to_owned());
    }
    helps.dedup();
    Error::usage(message).with_help(helps.join("; "))
}

fn remove_baseline(baselines: &Baselines, name: &str) -> Result<ExitCode, Error> {
    let baseline = baselines.open(name)?;
    let (count, strange) = baseline.remove()?;
    let files = display::format_counted(count as u64, "file");
    console::print_status("Removed", format_args!("the baseline `{name}`: {files}"));
    report_strange_files(&strange);
    Ok(ExitCode::Passed)
}

/// Tells of what is no part of a baseline.
fn report_strange_files(strange: &[PathBuf]) {
    for path in strange {
        let path = clean(&path.display().to_string());
        console::print_verdict(
            false,
            "Left alone",
            format_args!("`{path}`, which is not a run of a baseline"),
        );
    }
}
