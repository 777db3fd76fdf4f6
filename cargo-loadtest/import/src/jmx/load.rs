//! Thread groups as loads.

use super::element::Element;
use super::variables::VariableScope;
use crate::migration::load_of_stages;
use loadtest_model::definition::Load;
use std::time::Duration;

/// The time of a load that ends when it is stopped.
const UNTIL_STOPPED: Duration = Duration::from_secs(600);

/// Returns the load of a thread group, and what of it is not as in the plan.
pub(super) fn read_load(
    group: &Element,
    scope: &mut VariableScope<'_>,
) -> (Option<Load>, Vec<String>) {
    let mut notes = Vec::new();
    let mut read = |name: &str| {
        let number = scope.number_of(group, name);
        if number.is_none() && !group.text_of(name).trim().is_empty() {
            notes.push(format!("`{name}` is not known"));
        }
        number
    };
    match group.class() {
        "ThreadGroup" | "SetupThreadGroup" | "PostThreadGroup" => {
            let users = read("ThreadGroup.num_threads");
            let ramp = read("ThreadGroup.ramp_time").unwrap_or(0.0);
            let duration =
                read("ThreadGroup.duration").filter(|_| group.is_set("ThreadGroup.scheduler"));
            let controller = group.property("ThreadGroup.main_controller");
            let is_endless = controller
                .is_some_and(|controller| controller.is_set("LoopController.continue_forever"));
            let loops =
                controller.and_then(|element| scope.number_of(element, "LoopController.loops"));
            if controller.is_some() && loops.is_none() && !is_endless {
                notes.push("its number of loops is not known".to_owned());
            }
            let loops = loops.filter(|loops| *loops >= 0.0 && !is_endless);
            if let (Some(loops), Some(_)) = (loops, duration) {
                notes.push(format!(
                    "its end after {loops} loops is left out: the load has a duration"
                ));
            }
            let load = read_threads(users, ramp, duration, loops, &mut notes);
            (load, notes)
        }
        "ConcurrencyThreadGroup" | "ArrivalsThreadGroup" => {
            let unit = if group.text_of("Unit").trim() == "S" {
                1.0
            } else {
                60.0
            };
            let is_rate = group.class() == "ArrivalsThreadGroup";
            let target = read("TargetLevel");
            let [ramp, hold] = ["RampUp", "Hold"].map(|name| read(name).unwrap_or(0.0) * unit);
            let Some(target) = target.filter(|target| *target > 0.0) else {
                return unknown(group);
            };
            let target = if is_rate { target / unit } else { target };
            let course = [(0.0, target, ramp), (target, target, hold)];
            (load_of_stages(&course, is_rate), notes)
        }
        "UltimateThreadGroup" => {
            let rows = group.list("ultimatethreadgroupdata");
            let [row] = rows else { return unknown(group) };
            let cells = row
                .children
                .iter()
                .map(|cell| cell.text().trim().parse::<f64>().ok());
            let cells: Option<Vec<f64>> = cells.collect();
            match cells.as_deref() {
                Some([users, delay, ramp, hold, end, ..]) => {
                    let course = [
                        (0.0, 0.0, *delay),
                        (0.0, *users, *ramp),
                        (*users, *users, *hold),
                        (*users, 0.0, *end),
                    ];
                    (load_of_stages(&course, false), Vec::new())
                }
                _ => unknown(group),
            }
        }
        _ => unknown(group),
    }
}

fn unknown(group: &Element) -> (Option<Load>, Vec<String>) {
    let class = group.class();
    let words = format!("the load of this `{class}` is not known: write it");
    (None, vec![words])
}

fn read_threads(
    users: Option<f64>,
    ramp: f64,
    duration: Option<f64>,
    loops: Option<f64>,
    notes: &mut Vec<String>,
) -> Option<Load> {
    let users = if let Some(users) = users.filter(|users| (1.0..=1e6).contains(users)) {
        users as u32
    } else {
        notes.push("the number of threads is not known: 1 here".to_owned());
        1
    };
    if let (Some(loops), None) = (loops, duration) {
        if ramp > users.into() {
            notes.push(format!(
                "the ramp-up of {ramp} s is left out: a number of iterations has none"
            ));
        }
        let count = loops.clamp(1.0, 1e9) as u64;
        return Some(Load::iterations_per_user(count, users));
    }
    let duration =
        if let Some(duration) = duration.filter(|duration| (0.001..1e8).contains(duration)) {
            Duration::from_secs_f64(duration)
        } else {
            notes.push("it runs until it is stopped: ten minutes here".to_owned());
            UNTIL_STOPPED
        };
    let ramp_up = Duration::from_secs_f64(ramp.clamp(0.0, 1e8));
    if ramp_up >= duration {
        let ramp = duration.as_secs_f64();
        return load_of_stages(&[(0.0, users.into(), ramp)], false);
    }
    Some(Load::users(users, duration).ramp_up(ramp_up))
}
