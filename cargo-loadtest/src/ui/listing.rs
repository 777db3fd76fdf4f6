//! The scenarios as the compiler knows them: the load tests are built, and asked.

use super::command::{CommandOutput, follow_command};
use super::dashboard::{Dashboard, Flags};
use loadtest_console::error::Error;
use loadtest_model::definition::ScenarioDef;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How far the scenarios are listed, and those that were listed last.
#[derive(Debug, Default)]
pub(super) struct ListedScenarios {
    listing: Mutex<Listing>,
    /// Also while they are listed again.
    known: Mutex<Vec<ScenarioDef>>,
}

/// How far the scenarios are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Listing {
    #[default]
    Unknown,
    Building {
        /// True if the source changed meanwhile.
        is_outdated: bool,
        /// What cargo says of the build: `building shop, 41 of 130 crates`.
        progress: Option<String>,
    },
    Known,
    /// The load tests do not build, or there are none.
    Failed {
        reason: String,
        /// True once the compiler has looked for the mistakes in their sources.
        is_checked: bool,
    },
}

impl Listing {
    const BEGUN: Self = Self::Building {
        is_outdated: false,
        progress: None,
    };

    fn failed(reason: String) -> Self {
        Self::Failed {
            reason,
            is_checked: false,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ListedScenarios {
    fn note_progress(&self, words: String) {
        if let Listing::Building { progress, .. } = &mut *lock(&self.listing) {
            *progress = Some(words);
        }
    }

    fn note_check(&self) {
        if let Listing::Failed { is_checked, .. } = &mut *lock(&self.listing) {
            *is_checked = true;
        }
    }
}

impl Dashboard {
    /// Returns how far the scenarios are listed.
    pub(super) fn listing(&self) -> Listing {
        lock(&self.scenarios.listing).clone()
    }

    /// Returns the scenarios as they were listed last.
    pub(super) fn known_scenarios(&self) -> Vec<ScenarioDef> {
        lock(&self.scenarios.known).clone()
    }

    /// Returns the declaration of a scenario, once it is known.
    pub(super) fn definition(&self, identity: &str) -> Option<ScenarioDef> {
        let known = lock(&self.scenarios.known);
        known.iter().find(|one| one.identity() == identity).cloned()
    }

    /// Builds the load tests and lists their scenarios, on a thread of its own; where that is under way, once more
    /// after it. The compiler looks for the mistakes of what does not build.
    pub(super) fn refresh_listing(self: &Arc<Self>) {
        let mut listing = lock(&self.scenarios.listing);
        if let Listing::Building { is_outdated, .. } = &mut *listing {
            *is_outdated = true;
            return;
        }
        *listing = Listing::BEGUN;
        drop(listing);
        let dashboard = Arc::clone(self);
        let list = move || {
            loop {
                let listed = dashboard.list_scenarios();
                let mut listing = lock(&dashboard.scenarios.listing);
                if matches!(
                    *listing,
                    Listing::Building {
                        is_outdated: true,
                        ..
                    }
                ) {
                    *listing = Listing::BEGUN;
                    continue;
                }
                match listed {
                    Ok(scenarios) => {
                        *lock(&dashboard.scenarios.known) = scenarios;
                        *listing = Listing::Known;
                    }
                    Err(reason) => {
                        *listing = Listing::failed(reason);
                        drop(listing);
                        dashboard.look_for_mistakes();
                        dashboard.scenarios.note_check();
                    }
                }
                return;
            }
        };
        let thread = std::thread::Builder::new().name("list".to_owned());
        if let Err(error) = thread.spawn(list) {
            *lock(&self.scenarios.listing) =
                Listing::failed(format!("no thread for the build: {error}"));
        }
    }

    /// Builds the load tests and lists their scenarios, or returns what prevents it.
    fn list_scenarios(&self) -> Result<Vec<ScenarioDef>, String> {
        self.reload_workspace();
        let arguments = self.arguments(&["list", "--format", "json"], Flags::Project);
        let listed: Result<CommandOutput, Error> =
            follow_command(&self.folder, &arguments, self.visitor(), |line| {
                if let Some(words) = describe_progress(line) {
                    self.scenarios.note_progress(words);
                }
            });
        let output = listed.map_err(|error| error.to_string())?;
        if !output.is_ok {
            return Err(output.explanation());
        }
        serde_json::from_str(&output.stdout).map_err(|error| error.to_string())
    }

    /// Checks the load tests with the compiler, unless it would disturb a run.
    fn look_for_mistakes(self: &Arc<Self>) {
        if self.run_under_way().is_some() {
            return;
        }
        let tests = self.workspace().load_tests(&[]).unwrap_or_default();
        let packages: BTreeSet<String> = tests.into_iter().map(|test| test.package).collect();
        for package in packages {
            self.checks.check_package(self, &package);
        }
    }
}

/// Reads what cargo says of a build: `Building [=====>   ] 41/130: shop, serde`.
fn describe_progress(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("Building [")?;
    let (counts, names) = rest.split_once("] ")?.1.split_once(": ")?;
    let (done, all) = counts.trim().split_once('/')?;
    let (done, all): (usize, usize) = (done.parse().ok()?, all.parse().ok()?);
    let name = names.split(['(', ',', ' ']).next()?.trim();
    let what = if name.is_empty() { "" } else { " " };
    Some(format!("building{what}{name}, {done} of {all} crates"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_progress_of_a_build_is_read() {
        for (line, words) in [
            (
                "    Building [=======>         ] 41/130: shop(test), serde",
                Some("building shop, 41 of 130 crates"),
            ),
            (
                "\u{1b}[1m\u{1b}[96m    Building\u{1b}[0m [=> ] 1/9: syn...",
                None,
            ),
            ("    Building [ ] 0/2: ", Some("building, 0 of 2 crates")),
            ("   Compiling shop v0.1.0 (/shop)", None),
            ("    Blocking waiting for file lock", None),
        ] {
            assert_eq!(describe_progress(line).as_deref(), words, "{line}");
        }
    }
}
