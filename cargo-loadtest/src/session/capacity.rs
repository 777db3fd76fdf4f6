//! A search in a child process, followed trial by trial.

use super::{ABORT_LIMIT, KILLED, POLL, Program, in_words, lost, now, poll};
use crate::journal::Tail;
use crate::live::Live;
use crate::observe::{Observation, Observer};
use crate::store::RunFolder;
use crate::telemetry::IntervalFeed;
use loadtest_console::error::Error;
use loadtest_console::files;
use loadtest_console::interrupt::Interrupts;
use loadtest_model::capacity::Trial;
use loadtest_model::protocol::{CapacityRequest, JournalLine, Request, SearchLine};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The trial that runs.
struct Running {
    tail: Tail<JournalLine>,
    live: Live,
    begin: Instant,
    observer: Observer,
    /// Gets what was observed, if the search waits for it.
    observed: Option<PathBuf>,
}

/// The output of a search on the way, and what its target's side is asked.
pub(crate) struct SearchView<'a> {
    pub(crate) quiet: bool,
    pub(crate) feed: Option<IntervalFeed>,
    pub(crate) folder: &'a RunFolder,
    pub(crate) observation: &'a Observation,
    /// The observer of each trial that began, in their order.
    pub(crate) observers: Vec<Observer>,
}

/// Makes the search of `program`, and shows the course of each trial; `tell` gets what it came to. What
/// the search found is in the files that the request names.
///
/// # Errors
/// When it left no trace.
pub(crate) fn capacity(
    program: Program,
    request: &CapacityRequest,
    request_path: &Path,
    interrupts: &Interrupts,
    search: &mut SearchView<'_>,
    mut tell: impl FnMut(&Trial),
) -> Result<(), Error> {
    let asked = Request::Capacity(Box::new(request.clone()));
    let mut group = program.ask(&asked, request_path)?;
    let mut course = Tail::<SearchLine>::new(&request.search);
    let mut begun = 0;
    let mut has_said = false;
    let mut running: Option<Running> = None;
    let silent = Live::of_trial(search.quiet);
    let mut asked = 0;
    let mut aborted: Option<Instant> = None;
    let mut is_killed = false;
    loop {
        let status = poll(&mut group)?;
        let output = match status {
            Some(_) => group.last_output(),
            None => group.output(),
        };
        let view = running.as_ref().map_or(&silent, |trial| &trial.live);
        for line in output {
            view.print(&line);
        }
        // Before the line that ends the trial, so that its last seconds are shown.
        if let Some(trial) = &mut running {
            trial.follow();
        }
        for line in course.read() {
            has_said = true;
            if let Some(trial) = running.take() {
                trial.finish();
            }
            match line {
                SearchLine::Begin { .. } => {
                    running = request.trials.get(begun).map(|files| {
                        let file = search.folder.observed(begun + 1);
                        let observer = Observer::new(vec![file], search.observation);
                        search.observers.push(observer.clone());
                        let feed = search.feed.clone();
                        let feed = feed.map(|feed| feed.with_spans(files.spans.clone()));
                        let live = Live::of_trial(search.quiet).with_feed(feed);
                        Running {
                            tail: Tail::new(&files.journal),
                            live: live.with_observer(observer.clone()),
                            begin: now(),
                            observer,
                            observed: (!request.goal.observed.is_empty())
                                .then(|| request.trials.get(begun))
                                .flatten()
                                .map(|files| files.observed.clone()),
                        }
                    });
                    begun += 1;
                }
                SearchLine::Trial(trial) => tell(&trial),
                SearchLine::End(_) | SearchLine::Failed(_) => {}
            }
        }
        if let Some(status) = status {
            if let Some(trial) = running {
                trial.finish();
            }
            return match has_said {
                true => Ok(()),
                false if interrupts.count() > 0 => Err(Error::interrupted()),
                false => Err(lost(&request.scenario, &in_words(status))),
            };
        }
        let wanted = interrupts.count();
        if wanted > asked {
            let view = running.as_ref().map_or(&silent, |trial| &trial.live);
            if asked == 0 {
                group.say("stop");
                view.print("stopping: waiting for requests in flight (Ctrl-C again to abort)");
            }
            if wanted > 1 && aborted.is_none() {
                group.say("abort");
                view.print("aborting");
                aborted = Some(now());
            }
            asked = wanted;
            if let Some(trial) = &mut running {
                trial.live.end();
            }
        }
        let is_overdue = aborted.is_some_and(|since| since.elapsed() > ABORT_LIMIT);
        if !is_killed && (wanted > 2 || is_overdue) {
            let view = running.as_ref().map_or(&silent, |trial| &trial.live);
            view.print(KILLED);
            group.kill();
            is_killed = true;
        }
        std::thread::sleep(POLL);
    }
}

impl Running {
    /// The trial is over; the last answers about it may come later.
    fn finish(mut self) {
        // Its last lines may have come since the last look.
        self.follow();
        self.live.finish();
        self.observer.stop();
    }

    /// Shows what happened since the last call.
    fn follow(&mut self) {
        let elapsed: Duration = self.begin.elapsed();
        for line in self.tail.read() {
            match line {
                JournalLine::Start(start) => self.live.start(0, *start, elapsed),
                JournalLine::Frame(frame) => self.live.frame(0, *frame),
                JournalLine::End(_) | JournalLine::Failed(_) => {
                    self.live.end_one(0);
                    if let Some(file) = self.observed.take() {
                        hand_over_observed(self.observer.clone(), file);
                    }
                }
                JournalLine::Ready => {}
            }
        }
        self.live.tick(elapsed);
    }
}

/// Writes what was observed in a trial for the search, which waits for it. A file that cannot be written is a search in
/// which nothing was observed.
fn hand_over_observed(observer: Observer, file: PathBuf) {
    let write = move || {
        let series = observer.conclude().into_iter().next().unwrap_or_default();
        let _ = files::write_json(&file, &series);
    };
    let _ = std::thread::Builder::new()
        .name("observe trial".to_owned())
        .spawn(write);
}
