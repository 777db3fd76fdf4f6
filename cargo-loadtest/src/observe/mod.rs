//! The target's own side: what its processes on this machine use while a load goes on, and what `[[observe]]` names.
//!
//! Each source has a thread of its own. What it does or does not answer costs its own figures, and nothing else.

mod figures;
mod file;
mod page;
mod prepare;
mod process;
mod prometheus;
mod series;
mod source;
#[cfg(test)]
mod tests;

use crate::config::{FigureConfig, PER_REQUEST};
use figures::StandsFor;
pub(crate) use file::read_observed;
use loadtest_model::metrics::Frame;
use loadtest_model::record::{ObservedSeries, RunStart};
pub(crate) use prepare::Observation;
use process::{ProcessGroup, ProcessReading};
pub(crate) use series::BrokenLimit;
use series::{ObservedScenario, SeriesHead};
use source::{Reading, SETTLING, Source};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant, SystemTime};

/// The interval between two looks at the processes of this machine.
const INTERVAL: Duration = Duration::from_secs(1);

/// Reads the target's side of scenarios that run at once.
#[derive(Clone)]
pub(crate) struct Observer {
    shared: Arc<Shared>,
}

struct Shared {
    observation: Observation,
    /// The file of each scenario.
    files: Vec<PathBuf>,
    state: Mutex<ObserverState>,
    /// Wakes the thread at the end.
    ended: Condvar,
}

#[derive(Default)]
struct ObserverState {
    scenarios: Vec<Option<ObservedScenario>>,
    /// The one that reads processes, if there is one.
    process_thread: Option<JoinHandle<()>>,
    source_threads: Option<Vec<JoinHandle<()>>>,
    /// Lines for the user.
    news: Vec<String>,
    broken: Option<BrokenLimit>,
    is_broken_told: bool,
    is_over: bool,
}

impl fmt::Debug for Observer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Observer").finish_non_exhaustive()
    }
}

impl Observer {
    /// Prepares for scenarios, of each of which a file keeps what is read.
    pub(crate) fn new(files: Vec<PathBuf>, observation: &Observation) -> Self {
        let state = ObserverState {
            scenarios: files.iter().map(|_| None).collect(),
            ..ObserverState::default()
        };
        Self {
            shared: Arc::new(Shared {
                observation: observation.clone(),
                files,
                state: Mutex::new(state),
                ended: Condvar::new(),
            }),
        }
    }

    /// The load of a scenario begins.
    pub(crate) fn start(&self, at: usize, start: &RunStart) {
        let mut state = self.shared.state();
        let mut begun = ObservedScenario::new(start, now());
        let observation = &self.shared.observation;
        if let Some(file) = self.shared.files.get(at)
            && (begun.port.is_some() || !observation.is_empty())
        {
            begun.keep_in(file);
        }
        observation.announce(&mut begun);
        if let Some(scenario) = state.scenarios.get_mut(at) {
            *scenario = Some(begun);
        }
        // Without a thread nothing is observed.
        if state.source_threads.is_none() {
            let sources = 0..self.shared.observation.sources.len();
            let threads = sources.filter_map(|source| {
                let shared = Arc::clone(&self.shared);
                let thread = std::thread::Builder::new().name("observe source".to_owned());
                thread.spawn(move || shared.watch_source(source)).ok()
            });
            state.source_threads = Some(threads.collect());
        }
        let is_here = (state.scenarios.iter().flatten()).any(|scenario| scenario.port.is_some());
        if is_here && state.process_thread.is_none() {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new().name("observe processes".to_owned());
            state.process_thread = thread.spawn(move || shared.watch_processes()).ok();
        }
    }

    /// A second of the load of a scenario passed.
    pub(crate) fn count_requests(&self, at: usize, frame: &Frame) {
        if !self.shared.observation.divides_by_requests() {
            return;
        }
        let windows = &frame.windows;
        let windows = [&windows.warm_up, &windows.ramp, &windows.steady];
        let steps = windows.into_iter().flat_map(|tally| &tally.steps);
        let requests = steps.map(|step| step.requests).sum();
        if let Some(Some(scenario)) = self.shared.state().scenarios.get_mut(at) {
            scenario.add_requests(frame.second, requests);
        }
    }

    /// A scenario is over.
    pub(crate) fn end(&self, at: usize) {
        if let Some(Some(scenario)) = self.shared.state().scenarios.get_mut(at) {
            scenario.end(now());
        }
    }

    /// Returns what the user has to know, once.
    pub(crate) fn take_news(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.state().news)
    }

    /// Returns the limit that ends the run, once.
    pub(crate) fn take_broken_limit(&self) -> Option<BrokenLimit> {
        let mut state = self.shared.state();
        let broken = state.broken.clone();
        let is_told = std::mem::replace(&mut state.is_broken_told, broken.is_some());
        broken.filter(|_| !is_told)
    }

    /// Returns the limit that ended the run.
    pub(crate) fn broken_limit(&self) -> Option<BrokenLimit> {
        self.shared.state().broken.clone()
    }

    /// All is over: what is yet to come are last answers.
    pub(crate) fn stop(&self) {
        let mut state = self.shared.state();
        state.is_over = true;
        for scenario in state.scenarios.iter_mut().flatten() {
            scenario.end(now());
        }
        self.shared.ended.notify_all();
    }

    /// Waits for the last answers, unless another call does. Returns the figures of each scenario, in their order.
    pub(crate) fn conclude(&self) -> Vec<Vec<ObservedSeries>> {
        self.stop();
        let threads: Vec<_> = {
            let mut state = self.shared.state();
            let sources = state.source_threads.take();
            let processes = state.process_thread.take();
            sources.into_iter().flatten().chain(processes).collect()
        };
        for thread in threads {
            // One that panicked leaves what it read before.
            let _ = thread.join();
        }
        let state = self.shared.state();
        let scenarios = state.scenarios.iter();
        let series = scenarios.map(|scenario| scenario.as_ref().map(ObservedScenario::list_series));
        series.map(Option::unwrap_or_default).collect()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, ObserverState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks a source again and again, and once more at the end for what came late.
    fn watch_source(&self, number: usize) {
        let source = &self.observation.sources[number];
        let mut asking = source.begin();
        asking.start_from(now());
        let mut is_gap_told = false;
        let mut due = now();
        let mut is_last = false;
        loop {
            let asked = now();
            match asking.ask(asked) {
                Ok(readings) => self.add_readings(source, &readings),
                Err(why) => {
                    self.note_gap(source, &why, asked);
                    if !std::mem::replace(&mut is_gap_told, true) {
                        let words = format!("{why}; values are missing meanwhile");
                        self.state().news.push(source.tell(&words));
                    }
                }
            }
            let news = asking.take_news().into_iter();
            self.state()
                .news
                .extend(news.map(|words| source.tell(&words)));
            if is_last {
                return;
            }
            while due <= now() {
                due += source.interval;
            }
            if !self.wait(due.duration_since(now()).unwrap_or_default()) {
                if !source.comes_late() {
                    return;
                }
                is_last = true;
                sleep(SETTLING);
            }
        }
    }

    fn add_readings(&self, source: &Source, readings: &[Reading]) {
        let mut state = self.state();
        let state = &mut *state;
        for reading in readings {
            let figure = &source.figures[reading.figure];
            let group = reading.group.as_ref();
            let name = group.map(|group| format!("{} {group}", figure.name));
            let head = source.head(figure, name.as_deref().unwrap_or(&figure.name));
            for scenario in state.scenarios.iter_mut().flatten() {
                let broken = scenario.add(head, (reading.time, reading.span), reading.value);
                state.broken = state.broken.take().or(broken);
            }
        }
    }

    /// Notes that a source did not answer what it was asked at a time.
    fn note_gap(&self, source: &Source, why: &str, asked: SystemTime) {
        for scenario in self.state().scenarios.iter_mut().flatten() {
            if scenario.has_ended_before(asked) && !source.comes_late() {
                continue;
            }
            scenario.note_gap(why, |name| source.has_series(name));
        }
    }

    /// Waits for so long; returns false once all is over.
    fn wait(&self, time: Duration) -> bool {
        let state = self.state();
        let waited = self
            .ended
            .wait_timeout_while(state, time, |state| !state.is_over);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !state.is_over
    }

    /// Reads the processes of all targets on this machine, again and again.
    fn watch_processes(&self) {
        let count = self.state().scenarios.len();
        let mut groups: Vec<_> = (0..count).map(|_| ProcessGroup::default()).collect();
        loop {
            for (at, group) in groups.iter_mut().enumerate() {
                let port = self.with_running(at, |scenario| scenario.port);
                // Without the lock: it reads many files.
                let read = port.flatten().and_then(|port| group.read(port));
                if let Some(reading) = read {
                    self.add_figures(at, &reading);
                }
            }
            if !self.wait(INTERVAL) {
                return;
            }
        }
    }

    fn add_figures(&self, at: usize, reading: &ProcessReading) {
        let when = (now(), reading.span);
        let broken = self.with_running(at, |scenario| {
            let mut broken = None;
            for figure in &reading.figures {
                let configured = self.observation.process.iter();
                let limit = configured
                    .clone()
                    .find(|limited| limited.name == figure.name);
                let head = SeriesHead {
                    name: figure.name,
                    unit: figure.unit,
                    source: &reading.name,
                    limit: limit.and_then(|limited| limited.limit.as_ref()),
                    is_per_request: false,
                    width: 1,
                };
                broken = broken.or(scenario.add(head, when, figure.value));
                let is_same =
                    |one: &&FigureConfig| one.name.strip_suffix(PER_REQUEST) == Some(figure.name);
                for divided in configured.filter(is_same) {
                    let head = SeriesHead {
                        source: &reading.name,
                        ..process_head(divided)
                    };
                    scenario.add(head, when, figure.value);
                }
            }
            broken
        });
        let mut state = self.state();
        state.broken = state.broken.take().or(broken.flatten());
    }

    /// Uses a scenario whose load goes on.
    fn with_running<T>(
        &self,
        at: usize,
        use_it: impl FnOnce(&mut ObservedScenario) -> T,
    ) -> Option<T> {
        let mut state = self.state();
        let scenario = state.scenarios.get_mut(at)?.as_mut()?;
        (!scenario.has_ended()).then(|| use_it(scenario))
    }
}

impl Observation {
    fn is_empty(&self) -> bool {
        self.sources.is_empty() && self.process.is_empty()
    }

    fn divides_by_requests(&self) -> bool {
        let sources = self.sources.iter().flat_map(|source| &source.figures);
        let mut figures = sources.chain(&*self.process);
        figures.any(|figure| figure.is_per_request)
    }

    /// Adds a series for each figure of the file, so that none is forgotten of which nothing comes.
    fn announce(&self, scenario: &mut ObservedScenario) {
        for source in self.sources.iter() {
            for figure in &source.figures {
                let labels = figure.by.as_ref().map(|_| StandsFor::Labels);
                scenario.announce(source.head(figure, &figure.name), labels);
            }
        }
        for figure in self.process.iter() {
            scenario.announce(process_head(figure), Some(StandsFor::Itself));
        }
    }
}

/// Returns what is known of a figure of the target's process before its process is.
fn process_head(figure: &FigureConfig) -> SeriesHead<'_> {
    SeriesHead {
        name: &figure.name,
        unit: &figure.unit,
        source: "the target's process",
        limit: figure.limit.as_ref(),
        is_per_request: figure.is_per_request,
        width: 1,
    }
}

/// A clock that shows the time of the day and that no one sets: after a step of the wall clock, readings would be outside
/// of the load, and dropped.
struct SteadyClock {
    wall: SystemTime,
    begin: Instant,
}

impl SteadyClock {
    fn time_at(&self, instant: Instant) -> SystemTime {
        self.wall + instant.saturating_duration_since(self.begin)
    }
}

fn now() -> SystemTime {
    static CLOCK: LazyLock<SteadyClock> = LazyLock::new(|| SteadyClock {
        wall: SystemTime::now(),
        begin: process::now(),
    });
    CLOCK.time_at(process::now())
}
