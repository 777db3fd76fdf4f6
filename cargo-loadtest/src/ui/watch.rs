//! A run under way, read from its journals as they grow, however it was started.
//!
//! Nothing is read while nobody looks.

use crate::course::Course;
use crate::journal::Tail;
use crate::store::RunFolder;
use loadtest_console::error::Error;
use loadtest_model::capacity::Search;
use loadtest_model::display;
use loadtest_model::protocol::{JournalLine, SearchLine};
use std::time::Duration;

/// The most lines of a log.
const LOG: usize = 100;

/// A run under way.
#[derive(Debug)]
pub(super) struct Watched {
    /// The name of the folder of the run.
    pub(super) run: String,
    /// Its scenarios, in the order of their numbers.
    pub(super) scenarios: Vec<WatchedScenario>,
    /// The search for the capacity, if it is one: its trials are runs of the only scenario.
    search: Option<WatchedSearch>,
    /// What happened, oldest first: first errors, doubts, broken thresholds.
    pub(super) log: Vec<String>,
}

/// A scenario of a run under way.
#[derive(Debug)]
pub(super) struct WatchedScenario {
    pub(super) identity: String,
    pub(super) state: WatchedState,
    tail: Tail<JournalLine>,
}

/// A search for the capacity under way.
#[derive(Debug)]
struct WatchedSearch {
    search: Search,
    tail: Tail<SearchLine>,
    folder: RunFolder,
    /// The number of trials that have begun.
    begun: usize,
}

/// How far a scenario is.
#[derive(Debug)]
pub(super) enum WatchedState {
    /// Its load has not begun.
    Waiting,
    Running(Box<Course>),
    Ended(Box<Course>),
    /// Nothing ran.
    Failed(String),
}

impl Watched {
    /// Opens a run; nothing of its journals is read yet.
    ///
    /// # Errors
    /// When the run has written nothing.
    pub(super) fn open(folder: &RunFolder) -> Result<Self, Error> {
        let header = folder.read_header()?;
        let searched = header.capacity.iter().map(|search| search.scenario.clone());
        let expected = header.not_run.into_iter().map(|expected| expected.scenario);
        let scenario = |(number, identity)| WatchedScenario {
            identity,
            state: WatchedState::Waiting,
            tail: Tail::new(&folder.journal(number)),
        };
        let scenarios = (1..).zip(searched.chain(expected)).map(scenario).collect();
        let search = header.capacity.map(|search| WatchedSearch {
            search,
            tail: Tail::new(&folder.search()),
            folder: RunFolder::at(folder.path()),
            begun: 0,
        });
        Ok(Self {
            run: folder.identifier(),
            scenarios,
            search,
            log: Vec::new(),
        })
    }

    /// Reads what was written since the last call.
    pub(super) fn refresh(&mut self) {
        if let Some(search) = &mut self.search {
            self.log.extend(search.refresh(&mut self.scenarios));
        }
        let is_several = self.scenarios.len() > 1;
        for scenario in &mut self.scenarios {
            for line in scenario.tail.read() {
                for text in scenario.state.add(line) {
                    self.log.push(if is_several {
                        format!("{}: {text}", scenario.identity)
                    } else {
                        text
                    });
                }
            }
        }
        let excess = self.log.len().saturating_sub(LOG);
        self.log.drain(..excess);
    }

    /// Returns the search for the capacity as far as it is, if the run is one.
    pub(super) fn search(&self) -> Option<&Search> {
        self.search.as_ref().map(|watched| &watched.search)
    }

    /// Returns the course of the scenario called `identity`; without one the course to look at.
    pub(super) fn course(&self, identity: Option<&str>) -> Option<&Course> {
        let Some(identity) = identity else {
            return self.current();
        };
        let mut scenarios = self.scenarios.iter();
        let scenario = scenarios.find(|scenario| scenario.identity == identity)?;
        scenario.state.course()
    }

    /// Returns the course to look at: the newest that runs, else the last that ended.
    pub(super) fn current(&self) -> Option<&Course> {
        let courses = || self.scenarios.iter().rev();
        let running = courses().find_map(|scenario| match &scenario.state {
            WatchedState::Running(course) => Some(&**course),
            _ => None,
        });
        running.or_else(|| courses().find_map(|scenario| scenario.state.course()))
    }
}

impl WatchedSearch {
    /// Reads what was written since the last call, and turns to the trial that runs; returns lines for the log.
    fn refresh(&mut self, scenarios: &mut [WatchedScenario]) -> Vec<String> {
        let mut lines = Vec::new();
        let begun = self.begun;
        for line in self.tail.read() {
            match line {
                SearchLine::Begin { .. } => self.begun += 1,
                SearchLine::Trial(trial) => {
                    let rate = display::format_rate(trial.attempt.per_second);
                    lines.push(format!("trial at {rate}: {}", trial.describe()));
                    self.search.trials.push(*trial);
                }
                SearchLine::End(ending) => self.search.ending = Some(ending),
                SearchLine::Failed(failure) => lines.push(failure.message.to_string()),
            }
        }
        if let Some(scenario) = scenarios.first_mut().filter(|_| self.begun > begun) {
            scenario.tail = Tail::new(&self.folder.journal(self.begun));
            scenario.state = WatchedState::Waiting;
        }
        lines
    }
}

impl WatchedState {
    /// Returns what is known of the load, once it has begun.
    pub(super) fn course(&self) -> Option<&Course> {
        match self {
            Self::Running(course) | Self::Ended(course) => Some(course),
            Self::Waiting | Self::Failed(_) => None,
        }
    }

    /// Adds a line of the journal; returns lines for the log.
    fn add(&mut self, line: JournalLine) -> Vec<String> {
        match (line, &mut *self) {
            (JournalLine::Start(start), _) => {
                *self = Self::Running(Box::new(Course::new(*start, Duration::ZERO)));
                Vec::new()
            }
            (JournalLine::Frame(frame), Self::Running(course)) => {
                let mut lines = course.first_errors(&frame);
                let broken = course.broken(&frame);
                course.add(*frame);
                lines.extend(course.first_doubts());
                lines.extend(broken);
                lines
            }
            (JournalLine::End(_), Self::Running(_)) => {
                if let Self::Running(course) = std::mem::replace(self, Self::Waiting) {
                    *self = Self::Ended(course);
                }
                Vec::new()
            }
            (JournalLine::Failed(failure), _) => {
                let message = failure.message.to_string();
                *self = Self::Failed(message.clone());
                vec![message]
            }
            (JournalLine::Ready | JournalLine::Frame(_) | JournalLine::End(_), _) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;
    use crate::store::Store;
    use loadtest_model::record::{Environment, NotRun, RunRecord};
    use std::io::Write as _;

    fn append(folder: &RunFolder, number: usize, lines: &[JournalLine]) {
        let file = std::fs::File::options()
            .create(true)
            .append(true)
            .open(folder.journal(number));
        file.unwrap()
            .write_all(sample::journal(lines).as_bytes())
            .unwrap();
    }

    #[test]
    fn a_run_is_followed_from_its_first_line_to_its_end() {
        let guard = tempfile::tempdir().unwrap();
        let folder = Store::at(guard.path().join("runs")).create().unwrap();
        let expected = |scenario: &str| NotRun {
            scenario: scenario.to_owned(),
            ..NotRun::default()
        };
        let header = RunRecord {
            not_run: vec![expected("shop::load::visit"), expected("shop::load::buy")],
            ..folder.new_record(Environment::default())
        };
        folder.open(&header).unwrap();
        let mut watched = Watched::open(&folder).unwrap();
        watched.refresh();
        assert!(watched.current().is_none());
        append(&folder, 1, &[JournalLine::Start(Box::new(sample::start()))]);
        for second in 0..3 {
            append(
                &folder,
                1,
                &[JournalLine::Frame(Box::new(sample::frame(second, 10)))],
            );
        }
        watched.refresh();
        assert_eq!(watched.current().unwrap().second(), 2);
        append(&folder, 1, &[JournalLine::End(sample::end())]);
        watched.refresh();
        assert!(matches!(watched.scenarios[0].state, WatchedState::Ended(_)));
        assert!(matches!(watched.scenarios[1].state, WatchedState::Waiting));
        assert_eq!(watched.current().unwrap().second(), 2);
    }
}
