//! `cargo loadtest send`: sends the figures of an earlier run to sinks, with the times of the run.

use crate::cli::{Cli, SendArgs};
use crate::config::Config;
use crate::course::Course;
use crate::journal;
use crate::store::{self, RunFolder, Store};
use crate::telemetry::{IntervalFeed, RunFacts, Telemetry};
use crate::workspace::Workspace;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::interrupt::Interrupts;
use loadtest_model::exit_code::ExitCode;
use loadtest_model::protocol::JournalLine;
use loadtest_model::record::{RunRecord, TelemetryDelivery};
use std::path::Path;
use std::time::Duration;

/// Sends a run again.
///
/// # Errors
/// When there is no such run, no journal of it, or no sink; when a sink did not get all.
pub(crate) fn send(args: &SendArgs, cli: &Cli) -> Result<ExitCode, Error> {
    let interrupts = Interrupts::install()?;
    let workspace = Workspace::load_or_folder(&args.cargo)?;
    let config = Config::load(&workspace.start, workspace.root())?;
    let telemetry = Telemetry::prepare_replay(&config.telemetry, &args.telemetry, args.to)?;
    let (folder, record) = store::open(&args.run, || Ok(Store::in_workspace(&workspace, &config)))?;
    let journals = find_journals(&folder, &record);
    if journals.is_empty() {
        let message = format!("the run {} has no journal to send", folder.identifier());
        return Err(Error::nothing_found(message));
    }
    let scenarios = record.scenarios.iter();
    let definitions: Vec<_> = scenarios.map(|one| &one.start.definition).collect();
    let hub = telemetry.start(RunFacts::from(&record), &definitions, Some(&interrupts));
    for (scenario, number) in journals {
        let Some(feed) = hub.feed(scenario) else {
            break;
        };
        let feed = feed.with_spans([folder.spans(number)]);
        send_journal(&folder.journal(number), &feed, &interrupts);
        feed.finish();
        for line in feed.take_news() {
            console::print_warning(line);
        }
    }
    let deliveries = hub.finish(cli.quiet, &interrupts);
    interrupts.check()?;
    if deliveries.iter().all(TelemetryDelivery::is_complete) {
        Ok(ExitCode::Passed)
    } else {
        Err(Error::failure("not everything was delivered"))
    }
}

/// Returns the zero-based numbers of the scenarios of a run, each with the number of a journal of it.
fn find_journals(folder: &RunFolder, record: &RunRecord) -> Vec<(usize, usize)> {
    let search = record.capacity.as_ref();
    // Of the last trial there may be no more than its journal.
    let trials = search.map_or(0, |search| search.trials.len() + 1);
    let most = (record.scenarios.len() + record.not_run.len()).max(trials);
    let journals = (0..most).map(|at| {
        // All trials are of one scenario.
        let scenario = if search.is_some() { 0 } else { at };
        (scenario, at + 1)
    });
    let is_there = |(_, number): &(_, usize)| journal::exists(&folder.journal(*number));
    journals.filter(is_there).collect()
}

/// Sends one journal. What cannot be read of it is left out, as in a record made of it.
fn send_journal(path: &Path, feed: &IntervalFeed, interrupts: &Interrupts) {
    let mut course: Option<Course> = None;
    for line in journal::read_lines(path) {
        if interrupts.count() > 0 {
            return;
        }
        match (line, &mut course) {
            (JournalLine::Start(start), _) => {
                let begun = Course::new(*start, Duration::ZERO);
                if begun.record.check().is_ok() {
                    feed.start(0, &begun);
                    course = Some(begun);
                }
            }
            (JournalLine::Frame(frame), Some(course)) => {
                let steps = course.record.start.definition.steps.len();
                if frame.check(steps).is_ok() {
                    course.add((*frame).clone());
                    feed.frame(0, &frame, course);
                }
            }
            (JournalLine::End(_), _) => feed.end(0),
            _ => {}
        }
    }
    feed.end(0);
}
