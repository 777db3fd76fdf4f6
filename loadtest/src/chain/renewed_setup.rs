//! Values of setups that are fetched again during the load, once for all users. No I/O here: the fetch is code of the
//! scenario, and the engine decides on which thread it runs.

#![expect(clippy::missing_errors_doc, reason = "only generated code calls this")]

use super::kept::{Shareable, call_setup, other_type, refuse_alias};
use super::setup_sender::send_setup;
use super::{Http, SetupContext, SetupError, Unmet};
use loadtest_model::definition::Renewal;
use loadtest_model::redacted::Redacted;
use std::any::Any;
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

/// The time limit of a fetch: one that hangs would keep all later ones from starting.
const FETCH_LIMIT: Duration = Duration::from_secs(60);
/// The shortest time between two fetches during the load: a target that refuses every value, or a service that gives
/// none, gets no storm of them.
const FETCH_PAUSE: Duration = Duration::from_secs(1);
/// A value is fetched again in the last tenth of its time, so that users have a new one before it expires; of a long
/// time, the limit of a fetch is enough.
const EARLY_SHARE: u32 = 10;

/// Runs the function of a setup.
type Fetch = Box<dyn Fn() -> Result<Arc<dyn Any + Send + Sync>, SetupError> + Send + Sync>;

/// The value of a setup that is fetched again, as one user has it.
#[derive(Debug)]
pub struct RenewedSetup<T> {
    used: UsedSetup,
    ty: PhantomData<fn() -> T>,
}

/// The same without its type.
#[derive(Clone)]
pub struct UsedSetup {
    renewal: Arc<SetupRenewal>,
    held: FetchedValue,
}

/// What all users of a setup share.
struct SetupRenewal {
    name: &'static str,
    rules: Renewal,
    fetch: Fetch,
    /// Prints a warning.
    warn: Box<dyn Fn(&str) + Send + Sync>,
    state: Mutex<FetchState>,
    fetch_ended: Notify,
}

struct FetchState {
    newest: FetchedValue,
    /// The start of the last fetch during the load.
    last_begun: Option<Instant>,
    is_fetching: bool,
    /// The reason why the last fetch failed.
    failure: Option<Redacted>,
}

#[derive(Clone)]
struct FetchedValue {
    value: Arc<dyn Any + Send + Sync>,
    /// Its number, from zero on.
    generation: u64,
    /// The start of its fetch.
    fetched_at: Instant,
}

impl FetchedValue {
    fn has_outlived(&self, limit: Option<Duration>) -> bool {
        limit.is_some_and(|limit| self.fetched_at.elapsed() >= limit)
    }
}

/// The only fetch of a value that is under way; ends when it is dropped.
pub(crate) struct SetupFetch {
    renewal: Arc<SetupRenewal>,
    begun: Instant,
}

impl<T: 'static> RenewedSetup<T> {
    /// Takes the newest value, for one user.
    #[must_use]
    pub fn hold(&self) -> Self {
        let renewal = Arc::clone(&self.used.renewal);
        let held = renewal.lock().newest.clone();
        Self {
            used: UsedSetup { renewal, held },
            ty: PhantomData,
        }
    }

    /// The value.
    pub fn get(&self) -> &T {
        let value = self.used.held.value.downcast_ref();
        value.unwrap_or_else(other_type)
    }

    /// Takes the newest value for a step, unless it has expired.
    pub fn renew(&mut self) -> Result<(), Unmet> {
        let UsedSetup { renewal, held } = &mut self.used;
        let state = renewal.lock();
        if state.newest.generation != held.generation {
            *held = state.newest.clone();
        }
        if !held.has_outlived(renewal.rules.after) {
            return Ok(());
        }
        let reason = state.failure.as_ref().map_or_else(
            || "there is no newer value yet".to_owned(),
            |reason| format!("the last fetch failed: {reason}"),
        );
        Err(Unmet::Expired {
            variable: renewal.name,
            reason,
        })
    }

    /// Returns the setup with this value, for the engine.
    pub fn used(&self) -> UsedSetup {
        self.used.clone()
    }
}

impl UsedSetup {
    /// Returns whether the newest value is of no use any more.
    pub(crate) fn has_expired(&self) -> bool {
        let state = self.renewal.lock();
        state.newest.has_outlived(self.renewal.rules.after)
    }

    /// Returns whether there is a newer value than this one.
    pub(crate) fn is_outdated(&self) -> bool {
        self.renewal.lock().newest.generation != self.held.generation
    }

    /// Returns whether this value is of no use any more for a step that is answered with `status`.
    pub(crate) fn refreshes_on(&self, status: u16) -> bool {
        self.renewal.rules.on.accepts(status)
    }

    /// Returns the fetch to run now, if the newest value expires soon.
    pub(crate) fn claim_if_due(&self) -> Option<SetupFetch> {
        let limit = self.renewal.rules.after.map(fetch_age);
        self.claim(|newest| newest.has_outlived(limit))
    }

    /// Returns the fetch to run now that this value was refused, unless there is a newer one.
    pub(crate) fn claim_refused(&self) -> Option<SetupFetch> {
        self.claim(|newest| newest.generation == self.held.generation)
    }

    /// Returns a fetch where one `is_wanted`, unless one is under way, or began a moment ago.
    fn claim(&self, is_wanted: impl FnOnce(&FetchedValue) -> bool) -> Option<SetupFetch> {
        let (renewal, begun) = (Arc::clone(&self.renewal), Instant::now());
        let age = renewal.rules.after.map(fetch_age);
        let pause = age.unwrap_or(FETCH_PAUSE).min(FETCH_PAUSE);
        let mut state = self.renewal.lock();
        let is_early = (state.last_begun).is_some_and(|last| begun.duration_since(last) < pause);
        if state.is_fetching || is_early || !is_wanted(&state.newest) {
            return None;
        }
        state.is_fetching = true;
        state.last_begun = Some(begun);
        Some(SetupFetch { renewal, begun })
    }

    /// Waits for the end of the fetch that is under way, if there is one.
    pub(crate) async fn wait_for_fetch(&self) {
        loop {
            let ended = self.renewal.fetch_ended.notified();
            if !self.renewal.lock().is_fetching {
                return;
            }
            ended.await;
        }
    }
}

impl SetupRenewal {
    fn lock(&self) -> MutexGuard<'_, FetchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the age at which a value is fetched again that is of use for so long.
fn fetch_age(after: Duration) -> Duration {
    after.saturating_sub((after / EARLY_SHARE).min(FETCH_LIMIT))
}

impl SetupFetch {
    /// Runs the function of the setup, and blocks until it has returned. Users keep the old value until then; also after
    /// a failure, of which the first in a row is printed.
    pub(crate) fn run(self) {
        let renewal = &self.renewal;
        let fetched = (renewal.fetch)();
        let mut state = renewal.lock();
        match fetched {
            Ok(value) => {
                state.failure = None;
                state.newest = FetchedValue {
                    value,
                    generation: state.newest.generation + 1,
                    fetched_at: self.begun,
                };
            }
            Err(error) => {
                let reason = crate::redact::redact_message(&error.to_string());
                if state.failure.is_none() {
                    (renewal.warn)(&format!("{reason}; it is tried again during the load"));
                }
                state.failure = Some(reason);
            }
        }
    }
}

impl Drop for SetupFetch {
    fn drop(&mut self) {
        // Also where it did not run, since its thread ended first.
        self.renewal.lock().is_fetching = false;
        self.renewal.fetch_ended.notify_waiters();
    }
}

impl fmt::Debug for UsedSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UsedSetup")
            .field("name", &self.renewal.name)
            .finish_non_exhaustive()
    }
}

/// Runs the setup `name`, whose value is fetched again by `rules`; `own` is the URL of the target that a setup above it
/// started. Each process of a load runs it, since each fetches again by itself.
pub fn run_renewed_setup<T: Shareable, E: Display>(
    name: &'static str,
    context: &SetupContext,
    own: Option<&str>,
    redirects: u32,
    rules: Renewal,
    setup: impl AsyncFn(&mut Http) -> Result<T, E> + Send + Sync + 'static,
) -> Result<RenewedSetup<T>, SetupError> {
    refuse_alias::<T>(name)?;
    let sender = context.sender.clone();
    let (context, own) = (context.clone(), own.map(str::to_owned));
    let send = async move |http: &mut Http| {
        let fetched = timeout(FETCH_LIMIT, setup(http)).await;
        let fetched = fetched.map_err(|_| format!("no value within {FETCH_LIMIT:?}"))?;
        fetched.map_err(|error| error.to_string())
    };
    let fetch: Fetch = Box::new(move || {
        let value = call_setup(name, || {
            send_setup(&context, own.as_deref(), redirects, &send)
        });
        Ok(Arc::new(value?))
    });
    let fetched_at = Instant::now();
    let held = FetchedValue {
        value: fetch()?,
        generation: 0,
        fetched_at,
    };
    let renewal = Arc::new(SetupRenewal {
        name,
        rules,
        fetch,
        warn: Box::new(move |message| {
            if let Some(sender) = &sender {
                sender.warn(message);
            }
        }),
        state: Mutex::new(FetchState {
            newest: held.clone(),
            last_begun: None,
            is_fetching: false,
            failure: None,
        }),
        fetch_ended: Notify::new(),
    });
    Ok(RenewedSetup {
        used: UsedSetup { renewal, held },
        ty: PhantomData,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_fetched_again_in_the_last_tenth_of_its_time_and_at_most_in_its_last_minute() {
        let ages = [1, 50, 600, 3000].map(|seconds| fetch_age(Duration::from_secs(seconds)));
        assert_eq!(
            ages.map(|age| age.as_millis()),
            [900, 45_000, 540_000, 2_940_000]
        );
    }
}
