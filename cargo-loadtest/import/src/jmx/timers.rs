//! Timers: pauses, and the throughput of a group.

use super::element::Element;
use super::plan::{Around, PlanReader};
use super::variables::Variables;
use crate::migration::round;
use loadtest_model::definition::{Load, Rate, Shape, Think, ThinkLaw};
use std::f64::consts::PI;
use std::time::Duration;

impl<'e> PlanReader<'e> {
    /// Adds the pauses before a sampler; that of a request is the next one.
    pub(super) fn run_timers(&mut self, around: &Around<'e>, is_request: bool) {
        for timer in &around.timers {
            if timer.class().ends_with("ThroughputTimer") {
                continue;
            }
            match self.read_timer(timer, &around.variables) {
                Some(think) => self.pause(think, is_request),
                None => self.leave_element(timer),
            }
        }
    }

    /// Adds a pause: before the next request, or in the part of the plan that is being read.
    pub(super) fn pause(&mut self, think: Think, is_of_next: bool) {
        let next = self.migration.recording.exchanges.len();
        if is_of_next || next == self.part {
            self.migration.pause(next, true, think);
        } else {
            self.migration.pause(next - 1, false, think);
        }
    }

    fn read_timer(&mut self, timer: &Element, variables: &Variables) -> Option<Think> {
        let mut millis = |name: &str| {
            if timer.text_of(name).trim().is_empty() {
                return Some(0.0);
            }
            let millis = self.scope(variables).number_of(timer, name);
            millis.filter(|millis| (0.0..1e9).contains(millis))
        };
        let delay = millis("ConstantTimer.delay")?;
        let range = millis("RandomTimer.range")?;
        let time = |millis: f64| Duration::from_secs_f64(millis / 1e3);
        let uniform = |min: f64, max: f64| Think::Uniform {
            min: time(min),
            max: time(max),
        };
        let normal = |mean: f64, deviation: f64| {
            if deviation < 1.0 {
                return uniform(mean, mean);
            }
            Think::Random {
                law: ThinkLaw::Normal,
                mean: time(mean),
                deviation: time(deviation),
            }
        };
        Some(match timer.class() {
            "ConstantTimer" => uniform(delay, delay),
            "UniformRandomTimer" => uniform(delay, delay + range),
            "GaussianRandomTimer" if delay > 0.0 => normal(delay, range),
            // Without a mean, the plan takes absolute values.
            "GaussianRandomTimer" => {
                normal(range * (2.0 / PI).sqrt(), range * (1.0 - 2.0 / PI).sqrt())
            }
            "PoissonRandomTimer" => normal(delay + range, range.sqrt()),
            _ => return None,
        })
    }

    /// Makes the load a rate, where a timer sets the throughput of all threads, and paces users where it is that of one.
    pub(super) fn set_throughput(&mut self, around: &Around<'e>, load: Option<&mut Load>) {
        let is_throughput = |timer: &&&Element| timer.class().ends_with("ThroughputTimer");
        let Some(timer) = around.timers.iter().find(is_throughput) else {
            return;
        };
        let requests = self.migration.scenario_mut().len().max(1) as f64;
        let mut scope = self.scope(&around.variables);
        let [rate, period] =
            ["throughput", "throughputPeriod"].map(|name| scope.number_of(timer, name));
        let seconds = match timer.class() {
            "ConstantThroughputTimer" => 60.0,
            _ => period.unwrap_or(3600.0),
        };
        let is_of_one =
            timer.class() == "ConstantThroughputTimer" && timer.text_of("calcMode").trim() == "0";
        let per_second = rate.map(|rate| round(rate / seconds / requests));
        let words = match (per_second.filter(|rate| *rate > 0.0), load) {
            (Some(per_second), Some(load)) => match load.shape {
                Shape::Users { .. } if is_of_one => {
                    load.pace = Some(Duration::from_secs_f64(1.0 / per_second));
                    return;
                }
                Shape::Users {
                    users,
                    ramp_up,
                    duration,
                } => {
                    let rate = Load::rate(Rate::per_second(per_second), duration);
                    *load = rate.ramp_up(ramp_up).max_users(users);
                    return;
                }
                _ => "a throughput without a duration is not imported",
            },
            _ => "this throughput is not imported: write a rate as the load",
        };
        self.migration.note(&timer.span, words);
    }
}
