//! The target's own side: what its processes on this machine use while a load goes on.

mod process;
mod series;

use loadtest_model::record::{ObservedSeries, RunStart};
use process::ProcessGroup;
use series::ObservedScenario;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

/// The interval between two looks at the processes of this machine.
const INTERVAL: Duration = Duration::from_secs(1);

/// Reads the target's side of scenarios that run at once.
#[derive(Clone)]
pub(crate) struct Observer {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// Wakes the thread at the end.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    scenarios: Vec<Option<ObservedScenario>>,
    thread: Option<JoinHandle<()>>,
    is_over: bool,
}

impl fmt::Debug for Observer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Observer").finish_non_exhaustive()
    }
}

impl Observer {
    /// Prepares for so many scenarios.
    pub(crate) fn new(scenarios: usize) -> Self {
        let state = State {
            scenarios: (0..scenarios).map(|_| None).collect(),
            ..State::default()
        };
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(state),
                ended: Condvar::new(),
            }),
        }
    }

    /// The load of a scenario begins.
    pub(crate) fn start(&self, at: usize, start: &RunStart) {
        let mut state = self.shared.state();
        if let Some(scenario) = state.scenarios.get_mut(at) {
            *scenario = Some(ObservedScenario::new(start, now()));
        }
        let is_here = (state.scenarios.iter().flatten()).any(|scenario| scenario.port.is_some());
        if is_here && state.thread.is_none() {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new().name("observe processes".to_owned());
            // Without a thread nothing is observed.
            state.thread = thread.spawn(move || shared.watch_processes()).ok();
        }
    }

    /// A scenario is over.
    pub(crate) fn end(&self, at: usize) {
        if let Some(Some(scenario)) = self.shared.state().scenarios.get_mut(at) {
            scenario.has_ended = true;
        }
    }

    /// Returns the figures of each scenario, in their order.
    pub(crate) fn conclude(&self) -> Vec<Vec<ObservedSeries>> {
        let thread = {
            let mut state = self.shared.state();
            state.is_over = true;
            self.shared.ended.notify_all();
            state.thread.take()
        };
        if let Some(thread) = thread {
            // One that panicked leaves what it read before.
            let _ = thread.join();
        }
        let mut state = self.shared.state();
        let scenarios = state.scenarios.drain(..);
        scenarios
            .map(|scenario| scenario.map(|scenario| scenario.series))
            .map(Option::unwrap_or_default)
            .collect()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
                if let Some((name, figures)) = read {
                    self.with_running(at, |scenario| scenario.add(&name, &figures, now()));
                }
            }
            if !self.wait(INTERVAL) {
                return;
            }
        }
    }

    /// Uses a scenario whose load goes on.
    fn with_running<T>(
        &self,
        at: usize,
        use_it: impl FnOnce(&mut ObservedScenario) -> T,
    ) -> Option<T> {
        let mut state = self.state();
        let scenario = state.scenarios.get_mut(at)?.as_mut()?;
        (!scenario.has_ended).then(|| use_it(scenario))
    }
}

fn now() -> SystemTime {
    SystemTime::now()
}
