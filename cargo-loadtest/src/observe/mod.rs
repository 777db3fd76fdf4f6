//! The target's own side: figures read while a load goes on, of its process on this machine and of monitoring.
//!
//! Every source has a thread of its own, and none is a target: what does not answer leaves a gap.

mod process;
mod series;

use loadtest_model::record::{ObservedSeries, RunStart};
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
    /// Wakes the threads at the end.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    scenarios: Vec<Option<ObservedScenario>>,
    threads: Vec<JoinHandle<()>>,
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
        if state.threads.is_empty() {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new().name("observe processes".to_owned());
            // Without a thread nothing is observed.
            let thread = thread.spawn(move || shared.watch_processes());
            state.threads.extend(thread);
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
        let threads = {
            let mut state = self.shared.state();
            state.is_over = true;
            self.shared.ended.notify_all();
            std::mem::take(&mut state.threads)
        };
        for thread in threads {
            // One that panicked leaves what it read before.
            let _ = thread.join();
        }
        let mut state = self.shared.state();
        let scenarios = state.scenarios.drain(..);
        scenarios
            .map(|scenario| {
                scenario
                    .map(|scenario| scenario.collector.series)
                    .unwrap_or_default()
            })
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

    fn watch_processes(&self) {
        loop {
            self.look_at_processes();
            if !self.wait(INTERVAL) {
                return;
            }
        }
    }

    /// Reads the processes of all targets on this machine.
    fn look_at_processes(&self) {
        let ports: Vec<Option<u16>> = {
            let state = self.state();
            let ports = state.scenarios.iter().map(|scenario| {
                let running = scenario.as_ref().filter(|scenario| !scenario.has_ended)?;
                running.port
            });
            ports.collect()
        };
        for (at, port) in ports.into_iter().enumerate() {
            let Some(port) = port else { continue };
            let mut group = match self.state().scenarios.get_mut(at) {
                Some(Some(scenario)) => std::mem::take(&mut scenario.processes),
                _ => continue,
            };
            // Without the lock: it reads many files.
            let figures = group.read(port);
            if let Some(Some(scenario)) = self.state().scenarios.get_mut(at) {
                let second = scenario.second_of(now());
                if let (Some(second), Some((name, figures))) = (second, figures) {
                    for figure in figures {
                        scenario.collector.add(&figure, &name, second);
                    }
                }
                scenario.processes = group;
            }
        }
    }
}

fn now() -> SystemTime {
    SystemTime::now()
}
