//! What a run is expected to send: pure arithmetic on a plan, where no request fails.

use crate::commands::weights::{effective_weights, round_weight};
use loadtest_model::definition::{Load, ScenarioDef, Shape, StepDef};
use loadtest_model::plan::{Plan, StepGrading};
use loadtest_model::schedule::{Schedule, Window};
use serde::Serialize;
use std::time::Duration;

/// The expected traffic of a run of one scenario.
#[derive(Debug, Serialize)]
pub(super) struct Outlook {
    /// The pieces of the load, one after another; none for a fixed number of iterations.
    pub(super) phases: Vec<Phase>,
    pub(super) iterations: Iterations,
    /// The requests of all steps together.
    pub(super) requests: RequestOutlook,
    pub(super) steps: Vec<StepOutlook>,
}

/// A piece of the load with a linear course.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Phase {
    /// The use of the results.
    pub(super) kind: Window,
    pub(super) start_us: u64,
    pub(super) duration_us: u64,
    /// The target at its start: iterations per second, or users.
    pub(super) from: f64,
    /// The target at its end.
    pub(super) to: f64,
    /// Iterations that start in it; only the target knows where users go on at their own pace.
    pub(super) iterations: Option<f64>,
}

/// The expected number of iterations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Iterations {
    pub(super) total: Option<u64>,
    /// The rate of the steady part.
    pub(super) per_second: Option<f64>,
    /// The highest rate that think times and pace permit, on an infinitely fast target.
    pub(super) most_per_second: Option<f64>,
}

/// The expected number of requests, where it is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct RequestOutlook {
    pub(super) per_iteration: Option<f64>,
    /// The rate of the steady part.
    pub(super) per_second: Option<f64>,
    /// The number per user, of a step that runs once: in the first iteration, or after the last.
    pub(super) per_user: Option<f64>,
    pub(super) total: Option<f64>,
    pub(super) bound: Bound,
}

/// The meaning of a number of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Bound {
    /// So many on average.
    Expected,
    /// There may be more: repetitions, redirects, a step that sends for itself.
    AtLeast,
    /// There may be fewer: not every user need come about.
    AtMost,
}

/// The expected traffic of a step.
#[derive(Debug, Serialize)]
pub(super) struct StepOutlook {
    pub(super) name: String,
    pub(super) weight: f64,
    pub(super) effective_weight: f64,
    pub(super) requests: RequestOutlook,
    pub(super) grading: StepGrading,
}

impl Outlook {
    /// Returns the outlook of `plan` for `scenario`.
    pub(super) fn from_plan(scenario: &ScenarioDef, plan: &Plan) -> Self {
        let weights = effective_weights(&scenario.steps);
        let phases = split_phases(&plan.load);
        let iterations = count_iterations(scenario, plan, &phases, &weights);
        let steps: Vec<_> = scenario
            .steps
            .iter()
            .zip(&weights)
            .zip(&plan.grading)
            .map(|((step, &weight), grading)| StepOutlook {
                name: step.name.to_string(),
                weight: step.weight,
                effective_weight: round_weight(weight),
                requests: count_requests(step, weight, iterations, plan.max_users),
                grading: *grading,
            })
            .collect();
        Self {
            phases,
            iterations,
            requests: sum_requests(&steps),
            steps,
        }
    }
}

/// Returns the pieces of a load, as it runs.
fn split_phases(load: &Load) -> Vec<Phase> {
    let schedule = Schedule::new(load);
    let to_micros = |seconds: f64| (seconds * 1e6).round() as u64;
    let phases = schedule.segments().iter().map(|segment| {
        let middle = Duration::from_secs_f64(segment.start + segment.length / 2.0);
        Phase {
            kind: schedule.window(middle),
            start_us: to_micros(segment.start),
            duration_us: to_micros(segment.length),
            from: segment.from,
            to: segment.to,
            iterations: load.is_open().then(|| round_weight(segment.area())),
        }
    });
    phases.collect()
}

fn count_iterations(
    scenario: &ScenarioDef,
    plan: &Plan,
    phases: &[Phase],
    weights: &[f64],
) -> Iterations {
    if plan.load.is_open() {
        let steady = phases.iter().filter(|phase| phase.kind == Window::Steady);
        let (area, time) = steady.fold((0.0, 0.0), |(area, time), phase| {
            let seconds = phase.duration_us as f64 / 1e6;
            let mean = f64::midpoint(phase.from, phase.to);
            (area + mean * seconds, time + seconds)
        });
        return Iterations {
            total: Some(Schedule::new(&plan.load).arrivals()),
            per_second: (time > 0.0).then(|| round_weight(area / time)),
            most_per_second: None,
        };
    }
    let think: f64 = scenario
        .steps
        .iter()
        .zip(weights)
        .filter(|(step, _)| !step.once)
        .filter_map(|(step, weight)| Some(weight * step.think?.mean().as_secs_f64()))
        .sum();
    let shortest = think.max(plan.load.pace.map_or(0.0, |pace| pace.as_secs_f64()));
    Iterations {
        total: match plan.load.shape {
            Shape::Iterations { count, .. } => Some(count),
            _ => None,
        },
        per_second: None,
        most_per_second: (shortest > 0.0).then(|| round_weight(plan.load.peak() / shortest)),
    }
}

fn count_requests(
    step: &StepDef,
    weight: f64,
    iterations: Iterations,
    users: u32,
) -> RequestOutlook {
    let more = step.retry.is_some()
        || step.until.is_some()
        || step.sends_itself
        || step.redirects > 0
        || step.renewal.is_some();
    if step.once || step.last {
        return RequestOutlook {
            per_iteration: None,
            per_second: None,
            per_user: Some(round_weight(weight)),
            // Neither bound holds where both the users and the requests of each are open.
            total: (!more).then(|| round_weight(weight * f64::from(users))),
            bound: if more { Bound::AtLeast } else { Bound::AtMost },
        };
    }
    RequestOutlook {
        per_iteration: Some(round_weight(weight)),
        per_second: iterations
            .per_second
            .map(|rate| round_weight(rate * weight)),
        per_user: None,
        total: iterations
            .total
            .map(|total| round_weight(total as f64 * weight)),
        bound: if more {
            Bound::AtLeast
        } else {
            Bound::Expected
        },
    }
}

/// The sum over all steps; those that run once per user come on top.
fn sum_requests(steps: &[StepOutlook]) -> RequestOutlook {
    let sum = |figure: fn(&RequestOutlook) -> Option<f64>| {
        let figures: Vec<f64> = steps
            .iter()
            .filter_map(|step| figure(&step.requests))
            .collect();
        (!figures.is_empty()).then(|| round_weight(figures.iter().sum()))
    };
    let repeated = |step: &StepOutlook| step.requests.per_user.is_none();
    let exact = steps
        .iter()
        .all(|step| repeated(step) && step.requests.bound == Bound::Expected);
    RequestOutlook {
        per_iteration: sum(|requests| requests.per_iteration),
        per_second: sum(|requests| requests.per_second),
        per_user: sum(|requests| requests.per_user),
        total: sum(|requests| requests.total.filter(|_| requests.per_user.is_none())),
        bound: if exact {
            Bound::Expected
        } else {
            Bound::AtLeast
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;
    use loadtest_model::definition::Stage;
    use loadtest_model::definition::{Dependency, Retry, Think};
    use loadtest_model::plan::{GradingDefaults, Overrides};

    fn outlook(scenario: &ScenarioDef) -> Outlook {
        let plan = Plan::new(
            scenario,
            &Overrides::default(),
            &GradingDefaults::default(),
            1,
        );
        Outlook::from_plan(scenario, &plan.unwrap())
    }

    /// Two steps of weights 0.8 and 0.5, the second with the first; 20/s for 60 s, ramp 2 s.
    fn scenario() -> ScenarioDef {
        sample::definition("visit", &[])
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn an_open_load_tells_iterations_and_requests() {
        let outlook = outlook(&scenario());
        // A ramp of 2 s starts 20, the 58 s after it 1,160.
        assert_eq!(outlook.iterations.total, Some(1_180));
        assert_eq!(outlook.iterations.per_second, Some(20.0));
        let phases: Vec<_> = outlook
            .phases
            .iter()
            .map(|phase| (phase.kind, phase.iterations))
            .collect();
        assert_eq!(
            phases,
            [(Window::Ramp, Some(20.0)), (Window::Steady, Some(1_160.0))]
        );
        let second = &outlook.steps[1];
        assert_eq!((second.weight, second.effective_weight), (0.5, 0.4));
        assert_eq!(second.requests.per_second, Some(8.0));
        assert_eq!(second.requests.total, Some(472.0));
        assert_eq!(outlook.requests.per_iteration, Some(1.2));
        assert_eq!(outlook.requests.total, Some(1_416.0));
        assert_eq!(outlook.requests.bound, Bound::Expected);
    }

    #[test]
    fn of_a_closed_load_no_rate_is_claimed() {
        let mut scenario = scenario();
        scenario.load = Some(Load::new(Shape::Users {
            users: 30,
            ramp_up: seconds(1),
            duration: seconds(10),
        }));
        let none = outlook(&scenario);
        assert_eq!(none.iterations.total, None);
        assert_eq!(none.iterations.per_second, None);
        assert_eq!(none.iterations.most_per_second, None);
        assert_eq!(none.steps[0].requests.total, None);
        assert_eq!(none.steps[0].requests.per_iteration, Some(0.8));
        scenario.steps.to_mut()[0].think = Some(Think::Uniform {
            min: seconds(1),
            max: seconds(2),
        });
        // 0.8 x 1.5 s of thinking: no more than 25 iterations a second of 30 users.
        assert_eq!(outlook(&scenario).iterations.most_per_second, Some(25.0));
        let load = scenario.load.take().unwrap();
        scenario.load = Some(load.pace(seconds(5)));
        assert_eq!(outlook(&scenario).iterations.most_per_second, Some(6.0));
        scenario.load = Some(Load::iterations(100, 3));
        let fixed = outlook(&scenario);
        assert_eq!(fixed.iterations.total, Some(100));
        assert_eq!(fixed.steps[1].requests.total, Some(40.0));
        assert!(fixed.phases.is_empty());
    }

    #[test]
    fn a_step_that_runs_once_is_counted_by_users() {
        let mut scenario = scenario();
        let steps = scenario.steps.to_mut();
        steps[0].once = true;
        steps[0].weight = 1.0;
        let plan = outlook(&scenario);
        let requests = plan.steps[0].requests;
        assert_eq!(requests.per_iteration, None);
        assert_eq!(requests.per_user, Some(1.0));
        // ceil(20/s x 2 s) users at most.
        assert_eq!(
            (requests.total, requests.bound),
            (Some(40.0), Bound::AtMost)
        );
        assert_eq!(plan.requests.per_iteration, Some(0.5));
        assert_eq!(plan.requests.bound, Bound::AtLeast);
        scenario.steps.to_mut()[0].sends_itself = true;
        let requests = outlook(&scenario).steps[0].requests;
        assert_eq!((requests.total, requests.bound), (None, Bound::AtLeast));
    }

    #[test]
    fn a_step_that_runs_last_is_counted_by_users_too() {
        let mut scenario = scenario();
        let mut log_out = scenario.steps[0].clone();
        log_out.last = true;
        log_out.weight = 1.0;
        scenario.steps.to_mut().push(log_out);
        scenario.load = Some(Load::new(Shape::Users {
            users: 30,
            ramp_up: seconds(1),
            duration: seconds(10),
        }));
        let plan = outlook(&scenario);
        let requests = plan.steps[2].requests;
        assert_eq!((requests.per_iteration, requests.per_second), (None, None));
        assert_eq!(
            (requests.per_user, requests.total, requests.bound),
            (Some(1.0), Some(30.0), Bound::AtMost)
        );
        assert_eq!(plan.requests.per_iteration, Some(1.2));
        assert_eq!(plan.requests.per_user, Some(1.0));
    }

    #[test]
    fn what_may_send_more_is_a_lower_bound() {
        let mut steps = [0; 4].map(|_| scenario());
        steps[0].steps.to_mut()[1].sends_itself = true;
        steps[1].steps.to_mut()[1].redirects = 1;
        steps[2].steps.to_mut()[1].retry = Some(Retry {
            times: 1,
            backoff: Retry::BACKOFF,
            on: Retry::ON.into(),
        });
        for scenario in &steps[..3] {
            let outlook = outlook(scenario);
            assert_eq!(outlook.steps[0].requests.bound, Bound::Expected);
            assert_eq!(outlook.steps[1].requests.bound, Bound::AtLeast);
            assert_eq!(outlook.requests.bound, Bound::AtLeast);
        }
    }

    #[test]
    fn warm_up_and_stages_are_told_apart() {
        let stage = |from, to, time| Stage {
            from,
            to,
            duration: seconds(time),
        };
        let stages = vec![
            stage(0.0, 10.0, 2),
            stage(10.0, 10.0, 5),
            stage(10.0, 0.0, 2),
        ];
        let mut scenario = scenario();
        scenario.load = Some(Load {
            warm_up: seconds(3),
            ..Load::new(Shape::RateStages {
                stages: stages.into(),
            })
        });
        let outlook = outlook(&scenario);
        let seen: Vec<_> = outlook
            .phases
            .iter()
            .map(|phase| (phase.kind, phase.start_us / 1_000_000, phase.iterations))
            .collect();
        assert_eq!(
            seen,
            [
                (Window::WarmUp, 0, Some(30.0)),
                (Window::Ramp, 3, Some(10.0)),
                (Window::Steady, 5, Some(50.0)),
                (Window::Ramp, 10, Some(10.0)),
            ]
        );
        assert_eq!(outlook.iterations.total, Some(100));
        assert_eq!(outlook.iterations.per_second, Some(10.0));
    }

    #[test]
    fn an_optional_upstream_costs_nothing() {
        let mut scenario = scenario();
        let needs = Dependency {
            step: 0,
            optional: true,
        };
        scenario.steps.to_mut()[1].dependencies = vec![needs].into();
        let outlook = outlook(&scenario);
        let weight = outlook.steps.last().map(|step| step.effective_weight);
        assert_eq!(weight, Some(0.5));
    }
}
