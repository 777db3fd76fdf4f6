//! Faults on purpose: paths that are slow, or fail, by count and not by chance.
//!
//! With a `fail_ratio` of 0.1 exactly every tenth request below the path fails, so that a test can
//! say beforehand how many will.

use serde::{Deserialize, Serialize};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What goes wrong below a path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fault {
    /// `/orders` is also `/orders/1`; `/` is every path.
    pub(crate) path: String,
    /// How long each request is held before it is answered.
    #[serde(default)]
    pub(crate) delay_ms: u64,
    /// The share of requests that fail, from 0 to 1, to six digits.
    #[serde(default)]
    pub(crate) fail_ratio: f64,
    /// What those are answered.
    #[serde(default = "unavailable")]
    pub(crate) status: u16,
}

fn unavailable() -> u16 {
    503
}

impl Fault {
    /// Says what is wrong with a fault that makes no sense.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !self.path.starts_with('/') {
            return Err(format!("the path `{}` does not start with `/`", self.path));
        }
        if !(0.0..=1.0).contains(&self.fail_ratio) {
            return Err(format!(
                "a fail_ratio is a share from 0 to 1, not {}",
                self.fail_ratio
            ));
        }
        if !(400..=599).contains(&self.status) {
            return Err(format!("{} is not a status of an error", self.status));
        }
        Ok(())
    }

    fn covers(&self, path: &str) -> bool {
        path.strip_prefix(self.path.trim_end_matches('/'))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// A fault in force, and how often it has struck.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Active {
    #[serde(flatten)]
    fault: Fault,
    requests: u64,
    failed: u64,
}

impl Active {
    fn new(fault: Fault) -> Self {
        Self {
            fault,
            requests: 0,
            failed: 0,
        }
    }

    /// Counts a request and says what happens to it.
    fn strike(&mut self) -> Strike {
        /// Whole millionths, because `0.1 + 0.2` would miss a request now and then.
        const WHOLE: u128 = 1_000_000;
        let share = (self.fault.fail_ratio * WHOLE as f64).round() as u128;
        self.requests += 1;
        let due = (u128::from(self.requests) * share / WHOLE) as u64;
        let fails = due > self.failed;
        self.failed = due;
        Strike {
            delay: Duration::from_millis(self.fault.delay_ms),
            status: fails.then_some(self.fault.status),
        }
    }
}

/// What happens to one request.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Strike {
    pub(crate) delay: Duration,
    /// The status of the failure, if it fails.
    pub(crate) status: Option<u16>,
}

/// The faults in force, at most one for each path.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<Vec<Active>>);

impl Faults {
    pub(crate) fn new(faults: Vec<Fault>) -> Self {
        let all = Self::default();
        for fault in faults {
            all.set(fault);
        }
        all
    }

    /// Puts a fault in force, in place of the one of the same path.
    pub(crate) fn set(&self, fault: Fault) {
        self.with(|all| {
            all.retain(|active| active.fault.path != fault.path);
            all.push(Active::new(fault));
        });
    }

    pub(crate) fn clear(&self) {
        self.with(Vec::clear);
    }

    pub(crate) fn list(&self) -> Vec<Active> {
        self.with(|all| all.clone())
    }

    /// What happens to a request to `path`: the fault with the longest path that covers it decides.
    pub(crate) fn strike(&self, path: &str) -> Strike {
        self.with(|all| {
            all.iter_mut()
                .filter(|active| active.fault.covers(path))
                .max_by_key(|active| active.fault.path.len())
                .map(Active::strike)
                .unwrap_or_default()
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut Vec<Active>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(path: &str, fail_ratio: f64) -> Fault {
        Fault {
            path: path.into(),
            delay_ms: 0,
            fail_ratio,
            status: 503,
        }
    }

    #[test]
    fn a_tenth_is_every_tenth() {
        let faults = Faults::new(vec![fault("/orders", 0.1)]);
        let failed: Vec<_> = (1..=100_000)
            .filter(|_| faults.strike("/orders").status == Some(503))
            .collect();
        assert_eq!(failed.len(), 10_000);
        assert!(failed.iter().all(|request| request % 10 == 0));
    }

    #[test]
    fn every_share_is_kept_at_every_point() {
        for (ratio, requests, failed) in [
            (0.0, 1000, 0),
            (1.0, 1000, 1000),
            (0.29, 100, 29),
            (0.7, 10, 7),
            (1.0 / 3.0, 3000, 999),
        ] {
            let faults = Faults::new(vec![fault("/", ratio)]);
            let struck = (0..requests)
                .filter(|_| faults.strike("/anything").status.is_some())
                .count();
            assert_eq!(struck, failed, "{ratio}");
        }
    }

    #[test]
    fn a_path_covers_what_is_below_it() {
        let orders = fault("/orders", 1.0);
        assert!(orders.covers("/orders") && orders.covers("/orders/1"));
        assert!(!orders.covers("/ordersheet") && !orders.covers("/"));
        assert!(fault("/", 1.0).covers("/orders") && fault("/", 1.0).covers("/"));
    }

    #[test]
    fn the_closest_path_decides() {
        let faults = Faults::new(vec![fault("/orders", 1.0), fault("/", 0.0)]);
        assert!(faults.strike("/orders/1").status.is_some());
        assert!(faults.strike("/products").status.is_none());
    }
}
