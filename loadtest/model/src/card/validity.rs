//! The validity of a measurement: of the target, or of the generator itself. Every cause has its remedy.

use super::accounts::Accounts;
use super::generator::{BUSY, Generator, STOLEN};
use super::own_delay::OwnDelays;
use super::step::share_of;
use crate::display;
use crate::metrics::{Health, TOO_LATE};
use crate::protocol::VALIDITY_VARIABLE;
use crate::record::{EndReason, ScenarioRecord, ShardDoubt, Trust};
use serde::Serialize;
use std::time::Duration;

/// A start lateness of which the 99th percentile is above this matters.
const LATE: Duration = Duration::from_millis(1);
/// Fewer late starts than this are chance: of less than a hundred, p99 is the single latest.
pub(super) const LATE_STARTS: u64 = 2;
/// The share of the median journey from which lateness spoils the measurement.
const TOO_LATE_SHARE: f64 = 0.1;
/// The share of requests that may fail by the generator's own fault.
const OWN_ERRORS: f64 = 0.001;
/// The share of the seconds in which a worker may be busy, or the host may steal.
const BUSY_SECONDS: f64 = 0.05;
/// The share of the seconds in which a worker may stall.
const STALLED_SECONDS: f64 = 0.01;
/// Shards of a load that start further apart put less load on the target than planned. Starts are known to the second.
const START_SPREAD: Duration = Duration::from_secs(1);
/// A single stalled second is chance: of a short run it is more than that share.
const STALLS: u64 = 2;

/// The trust in a measurement, with its causes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Validity {
    /// The worst of all causes.
    pub trust: Trust,
    /// The causes against the measurement, the worst first.
    pub causes: Vec<ValidityCause>,
}

/// Something that speaks against a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ValidityCause {
    /// The severity.
    pub trust: Trust,
    /// The observation.
    pub what: String,
    /// The remedy.
    pub remedy: String,
}

impl Validity {
    /// Judges a run that is still under way.
    pub fn so_far(record: &ScenarioRecord) -> Self {
        Self::from_record(
            record,
            &Accounts::from_record(record),
            &Generator::from_record(record),
        )
    }

    /// Judges the process that made a shard of a load, for [`ShardRun::doubts`](crate::record::ShardRun).
    pub fn list_doubts(shard: &ScenarioRecord) -> Vec<ShardDoubt> {
        if shard.start.validity_off {
            return Vec::new();
        }
        let mut causes = judge_health(shard, &Generator::from_record(shard));
        causes.sort_by_key(|cause| std::cmp::Reverse(cause.trust));
        let doubts = causes.into_iter().map(|cause| ShardDoubt {
            trust: cause.trust,
            what: cause.what,
            remedy: cause.remedy,
        });
        doubts.collect()
    }

    pub(super) fn from_record(
        record: &ScenarioRecord,
        accounts: &Accounts,
        generator: &Generator,
    ) -> Self {
        let known = [
            judge_lost_part(record),
            judge_accounts(record, accounts),
            own_errors(record),
            target_death(record),
            in_process(record),
            judge_waits(record),
        ];
        let mut causes: Vec<ValidityCause> = known.into_iter().flatten().collect();
        if record.start.validity_off {
            causes.push(switched_off());
        } else {
            causes.extend(judge_start_spread(record));
            let named = name_shards(record);
            // All shards together see what one of them saw.
            causes.extend(if named.is_empty() {
                judge_health(record, generator)
            } else {
                named
            });
        }
        causes.sort_by_key(|cause| std::cmp::Reverse(cause.trust));
        Self {
            trust: causes.first().map_or(Trust::Valid, |cause| cause.trust),
            causes,
        }
    }
}

/// Judges what a busy machine can cause, whatever is tested.
fn judge_health(record: &ScenarioRecord, generator: &Generator) -> Vec<ValidityCause> {
    let stalls = judge_stalls(generator);
    let tail = || OwnDelays::from_record(record, generator).judge_tail(record);
    let lateness = judge_lateness(record);
    let is_told = lateness.is_some() || stalls.is_some();
    let seen = [
        lateness,
        stalls,
        if is_told { None } else { tail() },
        judge_busy_workers(generator),
        judge_throttling(generator),
        judge_stolen_time(generator),
    ];
    seen.into_iter().flatten().collect()
}

/// Returns what the shards saw of themselves, each with its name.
fn name_shards(record: &ScenarioRecord) -> Vec<ValidityCause> {
    let shards = record.shards.iter();
    let doubts = shards.flat_map(|run| run.doubts.iter().map(move |doubt| (run, doubt)));
    let named = doubts.map(|(run, doubt)| ValidityCause {
        trust: doubt.trust,
        what: match run.agent {
            Some(_) => format!("agent {}, {}: {}", run.run_id, run.shard, doubt.what),
            None => format!("{}: {}", run.shard, doubt.what),
        },
        remedy: doubt.remedy.clone(),
    });
    named.collect()
}

fn switched_off() -> ValidityCause {
    ValidityCause {
        trust: Trust::Degraded,
        what: format!("validity was not judged, because `{VALIDITY_VARIABLE}` was `off`"),
        remedy: "for figures that count, run without it".to_owned(),
    }
}

fn judge_lost_part(record: &ScenarioRecord) -> Option<ValidityCause> {
    let (trust, reason, remedy) = match &record.end.ending {
        EndReason::Stuck { reason } => (
            Trust::Invalid,
            reason,
            "a step must not block: use no endless loop, no blocking call; the engine sends",
        ),
        EndReason::AgentLost { reason, is_enough } => (
            if *is_enough {
                Trust::Degraded
            } else {
                Trust::Invalid
            },
            reason,
            "read the output of the agent; its measurements are in its own store",
        ),
        _ => return None,
    };
    Some(ValidityCause {
        trust,
        what: reason.to_string(),
        remedy: remedy.to_owned(),
    })
}

fn target_death(record: &ScenarioRecord) -> Option<ValidityCause> {
    record.end.target_death.as_ref().map(|death| ValidityCause {
        trust: Trust::Degraded,
        what: format!("the target did not survive the run: {death}"),
        remedy: "find out why it ended; all later figures are without a target".to_owned(),
    })
}

fn in_process(record: &ScenarioRecord) -> Option<ValidityCause> {
    record.start.target_in_process.then(|| ValidityCause {
        trust: Trust::Degraded,
        what: "the target runs inside the generator's process".to_owned(),
        remedy: "for figures that count, start it as a process of its own: \
                 `Target::binary(env!(\"CARGO_BIN_EXE_name\"))`"
            .to_owned(),
    })
}

fn judge_accounts(record: &ScenarioRecord, accounts: &Accounts) -> Option<ValidityCause> {
    accounts.mismatch(record).map(|mismatch| ValidityCause {
        trust: Trust::Invalid,
        what: format!("internal error: the accounts do not balance: {mismatch}"),
        remedy: "this is a bug of the generator, not of the target: keep the record and report it"
            .to_owned(),
    })
}

fn own_errors(record: &ScenarioRecord) -> Option<ValidityCause> {
    let steps = || record.windows.steady.steps.iter();
    let mut own: Vec<_> = steps()
        .flat_map(|step| &step.errors)
        .filter(|error| {
            let name = error.kind.name();
            name.starts_with("local.") || name.starts_with("generator.")
        })
        .collect();
    let count: u64 = own.iter().map(|error| error.count).sum();
    // Requests that never reached a connection are attempts all the same.
    let requests: u64 = steps().map(|step| step.requests.max(step.executed)).sum();
    let share = share_of(count, requests)?;
    own.sort_by_key(|error| std::cmp::Reverse(error.count));
    let worst = own.first()?;
    (share > OWN_ERRORS).then(|| ValidityCause {
        trust: Trust::Invalid,
        what: format!(
            "{} of requests failed in the generator itself, most as {}: {}",
            display::format_percent(share),
            worst.kind,
            worst.example
        ),
        remedy: match worst.kind.name() {
            "local.fds" => "raise the limit of open files (`ulimit -n`)",
            "local.ports" => {
                "keep connections open, use fewer users, or widen the range of local ports: each rests for 60 s \
                 after its connection was closed, so the usual 28,232 allow 470 new connections a second to an address"
            }
            "local.memory" => "use fewer users, smaller bodies, or a machine with more memory",
            "local.disk" => "make room on the disk that holds the target directory",
            _ => "use a machine with more processors, or a lower rate",
        }
        .to_owned(),
    })
}

fn judge_lateness(record: &ScenarioRecord) -> Option<ValidityCause> {
    let journey = &record.windows.steady.journey;
    let late = journey
        .lateness
        .quantile(0.99)
        .filter(|late| *late > LATE)?;
    let started = journey.lateness.count();
    let above = |limit| started.saturating_sub(journey.lateness.count_at_most(limit));
    let median = journey.time.quantile(0.5);
    let spoils = late > TOO_LATE
        && above(TOO_LATE) >= LATE_STARTS
        && median.is_none_or(|median| late.as_secs_f64() > TOO_LATE_SHARE * median.as_secs_f64());
    if !spoils && above(LATE) < LATE_STARTS {
        return None;
    }
    let limit = if above(TOO_LATE) >= LATE_STARTS {
        TOO_LATE
    } else {
        LATE
    };
    let latest = if started < 100 { "latest" } else { "p99" };
    let compared = median
        .filter(|_| spoils)
        .map_or_else(String::new, |median| {
            format!(
                "; the median journey takes {}",
                display::format_duration(median)
            )
        });
    Some(ValidityCause {
        trust: if spoils {
            Trust::Invalid
        } else {
            Trust::Degraded
        },
        what: format!(
            "the generator fell behind: {} of {} iterations started over {} late ({latest} \
             {}{compared})",
            display::format_count(above(limit)),
            display::format_count(started),
            display::format_span(limit),
            display::format_duration(late)
        ),
        remedy: "use a machine with more or idle processors, a release build, or a lower rate"
            .to_owned(),
    })
}

/// Judges whether the shards of a load ran at the same time.
fn judge_start_spread(record: &ScenarioRecord) -> Option<ValidityCause> {
    let spread_us = record
        .shards
        .iter()
        .map(|shard| shard.began_after_us)
        .max()?;
    let spread = Duration::from_micros(spread_us);
    (spread > START_SPREAD).then(|| ValidityCause {
        trust: if spread_us >= record.end.elapsed_us {
            Trust::Invalid
        } else {
            Trust::Degraded
        },
        what: format!(
            "the shards started {} apart, so the target never had the whole load",
            display::format_span(spread)
        ),
        remedy: "start them together with `--start-at`".to_owned(),
    })
}

fn judge_waits(record: &ScenarioRecord) -> Option<ValidityCause> {
    let journey = &record.windows.steady.journey;
    let waits = journey.waits.count() + journey.dropped;
    (waits > 0).then(|| {
        let mut what = format!(
            "{} waited because {} busy",
            display::format_counted(waits, "arrival"),
            match record.start.plan.max_users {
                1 => "the only virtual user was".to_owned(),
                users => format!(
                    "all {} virtual users were",
                    display::format_count(u64::from(users))
                ),
            }
        );
        if let Some(longest) = journey.waits.max() {
            what.push_str(", the longest ");
            what.push_str(&display::format_duration(longest));
        }
        if journey.dropped > 0 {
            what.push_str("; ");
            what.push_str(&display::format_count(journey.dropped));
            what.push_str(" never started");
        }
        ValidityCause {
            trust: Trust::Degraded,
            what,
            remedy: "raise `max_users` if the target should be able to serve them at once; \
                     the wait is part of their response time"
                .to_owned(),
        }
    })
}

fn judge_stalls(generator: &Generator) -> Option<ValidityCause> {
    let stalled = generator.stalled_seconds;
    let many = stalled as f64 > STALLED_SECONDS * generator.seconds as f64;
    let by = generator.kept_by.as_ref();
    let by = by.map_or_else(String::new, |step| {
        format!("; the code of {} blocked it", display::quote_name(step))
    });
    many.then(|| ValidityCause {
        trust: if stalled >= STALLS {
            Trust::Invalid
        } else {
            Trust::Degraded
        },
        what: format!(
            "a worker thread stalled in {} of {}: it did not return for {} or longer, up to {}{by}",
            display::format_count(stalled),
            display::format_counted(generator.seconds, "second"),
            display::format_span(Health::STALL),
            display::format_duration(generator.longest_stall)
        ),
        remedy: "a step must not block: avoid `std::thread::sleep`, blocking calls and long \
                 computations; if no step blocks, use a machine with idle processors that is not suspended"
            .to_owned(),
    })
}

pub(crate) fn judge_busy_workers(generator: &Generator) -> Option<ValidityCause> {
    let seconds = generator.busy_seconds;
    (seconds as f64 > BUSY_SECONDS * generator.seconds as f64).then(|| ValidityCause {
        trust: Trust::Degraded,
        what: format!(
            "a worker thread used over {} of its core in {} of {}, up to {}",
            display::format_whole_percent(BUSY),
            display::format_count(seconds),
            display::format_counted(generator.seconds, "second"),
            display::format_whole_percent(generator.busiest_worker.min(1.0))
        ),
        remedy: "use a machine with more processors, a release build, or a lower load".to_owned(),
    })
}

pub(crate) fn judge_throttling(generator: &Generator) -> Option<ValidityCause> {
    (!generator.throttled.is_zero()).then(|| ValidityCause {
        trust: Trust::Degraded,
        what: format!(
            "the system throttled the generator for {} in {}: its control group had used up its quota of \
             processor time",
            display::format_duration(generator.throttled),
            display::format_counted(generator.seconds, "second")
        ),
        remedy: "raise the processor limit of the container (`--cpus`, `resources.limits.cpu`), keep the \
                 target out of it, or lower the load"
            .to_owned(),
    })
}

fn judge_stolen_time(generator: &Generator) -> Option<ValidityCause> {
    let seconds = generator.stolen_seconds;
    (seconds as f64 > BUSY_SECONDS * generator.seconds as f64).then(|| ValidityCause {
        trust: Trust::Degraded,
        what: format!(
            "the host took more than {} of this virtual machine's CPU time (steal) in {} of {}, \
             up to {}",
            display::format_whole_percent(STOLEN),
            display::format_count(seconds),
            display::format_counted(generator.seconds, "second"),
            display::format_whole_percent(generator.stolen)
        ),
        remedy: "use a machine with dedicated processors, or measure when its neighbours are quiet"
            .to_owned(),
    })
}
