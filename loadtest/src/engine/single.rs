//! Runs a single iteration of a load, by a user that has no other.

use super::closed::iteration_number;
use super::iteration::{Arrival, InBox, IterationObserver, VirtualUser};
use super::scenario_seed;
use super::trace::WorkerTracing;
use super::worker_state::{WorkerState, closed_feed_index};
use crate::chain::{Scenario, Shared, Vu};
use crate::transport::Transport;
use loadtest_model::metrics::Number;
use loadtest_model::plan::Plan;
use loadtest_model::schedule::{Model, Schedule};
use loadtest_model::trace::RunIds;
use std::rc::Rc;
use std::sync::Arc;
use tokio::time::Instant;

/// The position of an iteration in a load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct IterationPosition {
    /// The number of the user.
    pub(crate) user: u64,
    /// The number of the iteration over all users.
    pub(crate) iteration: u64,
    /// Its place among the iterations of all users, which decides the rows of feeds.
    pub(crate) feed_index: u64,
}

impl IterationPosition {
    /// The place of the iteration that `number` names; the first one where nothing is named.
    ///
    /// # Errors
    /// The load has none of this number: in words.
    pub(crate) fn from_number(number: Option<Number>, plan: &Plan) -> Result<Self, String> {
        let schedule = Schedule::new(&plan.load);
        let all = match schedule.model() {
            Model::Open => schedule.arrivals(),
            Model::Iterations { count, .. } => count,
            Model::Closed => return Self::in_closed_load(number, plan),
        };
        let Number { user, iteration } = number.unwrap_or_default();
        if let Some(user) = user {
            return Err(format!(
                "there is no iteration {user}.{iteration}: the iterations of this load are numbered \
                 without their users, as in `{iteration}`"
            ));
        }
        if iteration >= all {
            return Err(format!(
                "there is no iteration {iteration}: this load has {all}, counted from 0"
            ));
        }
        let user = match schedule.model() {
            Model::Iterations {
                users,
                per_user: true,
                ..
            } => iteration % u64::from(users).max(1),
            _ => 0,
        };
        Ok(Self {
            user,
            iteration,
            feed_index: iteration,
        })
    }

    /// The number that names it.
    pub(crate) fn to_number(self, plan: &Plan) -> Number {
        match Schedule::new(&plan.load).model() {
            Model::Closed => Number {
                user: Some(self.user),
                iteration: self.iteration & u64::from(u32::MAX),
            },
            Model::Open | Model::Iterations { .. } => Number {
                user: None,
                iteration: self.iteration,
            },
        }
    }

    fn in_closed_load(number: Option<Number>, plan: &Plan) -> Result<Self, String> {
        let first = Number {
            user: Some(0),
            iteration: 0,
        };
        let Number { user, iteration } = number.unwrap_or(first);
        let users = u64::from(plan.max_users);
        let only = (users == 1).then_some(0);
        let Some(user) = user.or(only) else {
            return Err(format!(
                "there is no iteration {iteration}: each user of this load counts its own; `0.{iteration}` \
                 is the iteration of user 0"
            ));
        };
        if user >= users {
            return Err(format!(
                "there is no user {user}: this load has {users}, counted from 0"
            ));
        }
        if iteration > u64::from(u32::MAX) {
            return Err(format!("no user reaches iteration {iteration}"));
        }
        Ok(Self {
            user,
            iteration: iteration_number(user, iteration),
            feed_index: closed_feed_index(plan, user, iteration),
        })
    }
}

/// Goes through the steps of `scenario` once, as the iteration at `place` in a run by `plan` would, and
/// then through those that are the last of a user. With `ids`, its requests carry its trace.
///
/// # Errors
/// The panic of a `#[state]` or of a feed, in words; no step ran then.
pub(crate) async fn run_single_iteration<T: Transport, O: IterationObserver>(
    scenario: &'static Scenario,
    shared: &Shared,
    plan: &Plan,
    mut transport: T,
    place: IterationPosition,
    ids: Option<RunIds>,
    observer: &mut O,
) -> Result<(), String> {
    let definition = &scenario.definition;
    let start = Instant::now();
    let mut state = WorkerState::new(
        definition,
        plan.clone(),
        start,
        Arc::default(),
        Arc::default(),
        |_| ids.map(|ids| WorkerTracing::of_single_journey(ids, start)),
        None,
    );
    state.is_tried = true;
    let state = Rc::new(state);
    transport.share_connections(&|_| vec![0]);
    let vu = Vu::new(place.user, scenario_seed(plan, definition));
    let mut user = VirtualUser::new(scenario, Shared::clone(shared), vu, transport);
    let arrival = Arrival {
        iteration: place.iteration,
        feed_index: place.feed_index,
        due: start,
        ready_at: start,
        begun_at: None,
    };
    let ran = user
        .run_iteration::<InBox, _>(&arrival, &state, observer)
        .await;
    user.run_last_steps(&state, observer).await;
    ran
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadtest_model::definition::sample;
    use loadtest_model::definition::sample::step;
    use loadtest_model::definition::{Load, Rate};
    use loadtest_model::plan::{GradingDefaults, Overrides};
    use std::time::Duration;

    fn placed(load: Load, number: Option<&str>) -> Result<(u64, u64, u64), String> {
        let scenario = sample::scenario(Some(load), vec![step("a")]);
        let (overrides, grading) = (Overrides::default(), GradingDefaults::default());
        let plan = Plan::new(&scenario, &overrides, &grading, 0).unwrap();
        let number = number.map(|text| text.parse().unwrap());
        IterationPosition::from_number(number, &plan)
            .map(|place| (place.user, place.iteration, place.feed_index))
    }

    #[test]
    fn loads_without_users_of_their_own_number_their_iterations_through() {
        let rate = || Load::rate(Rate::per_second(5.0), Duration::from_secs(2));
        assert_eq!(placed(rate(), None), Ok((0, 0, 0)));
        assert_eq!(placed(rate(), Some("9")), Ok((0, 9, 9)));
        assert!(placed(rate(), Some("10")).unwrap_err().contains("has 10,"));
        assert!(
            placed(rate(), Some("0.3"))
                .unwrap_err()
                .contains("as in `3`")
        );
        let load = Load::iterations(7, 2);
        assert_eq!(placed(load.clone(), Some("6")), Ok((0, 6, 6)));
        assert!(placed(load, Some("7")).unwrap_err().contains("has 7,"));
        let of_users = Load::iterations_per_user(20, 10);
        assert_eq!(placed(of_users, Some("45")), Ok((5, 45, 45)));
    }

    #[test]
    fn users_number_their_own() {
        let users = || Load::users(4, Duration::from_secs(2));
        assert_eq!(placed(users(), None), Ok((0, 0, 0)));
        assert_eq!(placed(users(), Some("3.12")), Ok((3, (3 << 32) + 12, 51)));
        let alone = Load::users(1, Duration::from_secs(2));
        assert_eq!(placed(alone, Some("12")), Ok((0, 12, 12)));
        assert!(placed(users(), Some("12")).unwrap_err().contains("`0.12`"));
        assert!(
            placed(users(), Some("4.0"))
                .unwrap_err()
                .contains("no user 4")
        );
        assert!(placed(users(), Some("0.4294967296")).is_err());
    }
}
