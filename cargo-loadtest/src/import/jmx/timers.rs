//! Timers: pauses, and the throughput of a group.

use super::element::Element;
use super::plan::{Around, PlanReader};
use super::variables::{Variables, read_number};
use loadtest_model::definition::{Load, Shape, Think, ThinkLaw};
use std::time::Duration;

impl PlanReader {
    /// Adds the pause of a timer after the request before.
    pub(super) fn run_timer(&mut self, timer: &Element, variables: &Variables) {
        let mut millis = |name: &str| {
            let millis = read_number(timer, name, variables, &mut self.migration);
            millis.filter(|millis| (0.0..1e9).contains(millis))
        };
        let time = |millis: f64| Duration::from_secs_f64(millis / 1e3);
        let delay = millis("ConstantTimer.delay");
        let range = millis("RandomTimer.range");
        let think = match (timer.class(), delay, range) {
            ("ConstantTimer", Some(delay), _) => Some(Think::Uniform {
                min: time(delay),
                max: time(delay),
            }),
            ("UniformRandomTimer", delay, Some(range)) => Some(Think::Uniform {
                min: time(delay.unwrap_or(0.0)),
                max: time(delay.unwrap_or(0.0) + range),
            }),
            ("GaussianRandomTimer", Some(delay), Some(range)) if delay > 0.0 => {
                Some(Think::Random {
                    law: ThinkLaw::Normal,
                    mean: time(delay),
                    deviation: time(range),
                })
            }
            ("ConstantThroughputTimer" | "PreciseThroughputTimer", ..) => return,
            _ => None,
        };
        match think {
            Some(think) => self.think(&think),
            None => self.leave_element(timer),
        }
    }

    /// Adds a pause after the last request; before the first one there is none.
    pub(super) fn think(&mut self, think: &Think) {
        let Some(last) = self.migration.scenario_mut().last_mut() else {
            return;
        };
        let sum = match (last.settings.think, *think) {
            (
                Some(Think::Uniform { min, max }),
                Think::Uniform {
                    min: low,
                    max: high,
                },
            ) => Think::Uniform {
                min: min + low,
                max: max + high,
            },
            (_, think) => think,
        };
        let is_pause = sum
            != Think::Uniform {
                min: Duration::ZERO,
                max: Duration::ZERO,
            };
        last.settings.think = is_pause.then_some(sum);
    }

    /// Makes the load a rate, where a timer sets the throughput of all threads.
    pub(super) fn set_throughput(&mut self, around: &Around<'_>, load: Option<&mut Load>) {
        let requests = self.migration.scenario_mut().len();
        for timer in &around.timers {
            let number = |name: &str| timer.text_of(name).trim().parse::<f64>().ok();
            let value = |name: &str| {
                let children = timer.children.iter();
                let mut found = children.filter(|child| {
                    child
                        .children
                        .first()
                        .is_some_and(|child| child.text == name)
                });
                found
                    .next()
                    .and_then(|child| child.children.get(1)?.text.trim().parse::<f64>().ok())
            };
            let per_second = match timer.class() {
                "ConstantThroughputTimer" if timer.text_of("calcMode").trim() != "0" => {
                    number("throughput")
                        .or_else(|| value("throughput"))
                        .map(|rate| rate / 60.0)
                }
                "PreciseThroughputTimer" => {
                    let period = number("throughputPeriod").unwrap_or(3600.0);
                    let rate = number("throughput").or_else(|| value("throughput"));
                    rate.map(|rate| rate / period)
                }
                "ConstantThroughputTimer" => None,
                _ => continue,
            };
            let rate = per_second.map(|rate| rate / requests.max(1) as f64);
            let rate = rate
                .map(|rate| (rate * 1e4).round() / 1e4)
                .filter(|rate| *rate > 0.0);
            match (rate, load) {
                (Some(rate), Some(load)) => {
                    if let Shape::Users {
                        users,
                        ramp_up,
                        duration,
                    } = load.shape
                    {
                        *load = Load::new(Shape::Rate {
                            per_second: rate,
                            ramp_up,
                            duration,
                        });
                        load.max_users = Some(users);
                        return;
                    }
                    self.migration.note(
                        &timer.span,
                        "a throughput without a duration is not imported",
                    );
                }
                _ => self.migration.note(
                    &timer.span,
                    "this throughput is not imported: write a rate as the load",
                ),
            }
            return;
        }
    }
}
