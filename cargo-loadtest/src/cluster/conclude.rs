//! The record of a run of agents, of the journals that they sent.

use super::clock::AgentClock;
use super::course::RunCourse;
use crate::journal;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::files;
use loadtest_model::card::{Accounts, Validity, describe_broken};
use loadtest_model::definition::Shape;
use loadtest_model::display;
use loadtest_model::protocol::JournalLine;
use loadtest_model::record::{
    AgentRun, EndReason, RunRecord, ScenarioRecord, from_json, merge_shards,
};
use loadtest_model::redacted::Redacted;
use loadtest_model::schedule::Schedule;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// The time of a run in which its agents were to make load, until the controller stopped them; `None` where it did not.
pub(super) type StoppedAfter = Option<Duration>;

/// What all agents measured of one scenario.
struct Parts {
    /// In the order of the agents; of one that is not believed, nothing but its place.
    parts: Vec<RunRecord>,
    /// The agents that are not believed only now, and why.
    accused: Vec<(usize, String)>,
}

/// What is not known of a load.
struct Missing {
    /// The agents, and how much of their parts.
    reason: Redacted,
    /// The share of the load that is known; `None` of a load whose length in iterations nobody knows.
    share: Option<f64>,
}

/// Checks that what an agent tells of its end is what it told before.
fn check_totals(record: &ScenarioRecord) -> Result<(), String> {
    record.check().map_err(|wrong| wrong.to_string())?;
    let accounts = Accounts::from_record(record);
    match accounts.mismatch(record) {
        Some(mismatch) if accounts.balanced == Some(false) => Err(mismatch),
        _ => Ok(()),
    }
}

impl Missing {
    /// Returns the reason, and how much of the share that is enough there is, where that is less.
    fn describe(self, enough: Option<f64>) -> Redacted {
        match self.share.zip(enough) {
            Some((share, enough)) if share < enough => {
                let share = display::format_percent(share);
                let enough = display::format_exact_percent(enough);
                let reason = self.reason;
                Redacted::assume(format!(
                    "{reason}; only {share} of the load is known to have run; {enough} is required"
                ))
            }
            _ => self.reason,
        }
    }
}

impl RunCourse<'_> {
    /// Joins the journals of all agents into the record of each scenario; `enough` is the share of the load without
    /// which a lost agent makes it INVALID.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(super) fn conclude(
        &self,
        clocks: &[AgentClock],
        enough: Option<f64>,
        stopped: StoppedAfter,
    ) -> Result<Vec<Result<ScenarioRecord, Error>>, Error> {
        let numbers = 0..self.scenarios.len();
        let results = numbers.map(|number| self.conclude_one(number, clocks, enough, stopped));
        let results = results.collect::<Result<_, _>>()?;
        for agent in self.agents.iter().filter(|agent| agent.is_complete()) {
            agent.remove_files();
        }
        Ok(results)
    }

    fn conclude_one(
        &self,
        number: usize,
        clocks: &[AgentClock],
        enough: Option<f64>,
        stopped: StoppedAfter,
    ) -> Result<Result<ScenarioRecord, Error>, Error> {
        let scenario = &self.scenarios[number];
        let identity = &self.run.requests[number].scenario;
        let Parts { parts, accused } = match self.collect_parts(number)? {
            Ok(parts) => parts,
            Err(failure) => return Ok(Err(failure)),
        };
        let merged = if let [only] = parts.as_slice() {
            only.scenarios.clone()
        } else {
            merge_shards(&parts).map_err(|errors| {
                let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
                Error::failure(lines.join("\n"))
            })?
        };
        let Some(mut record) = merged.into_iter().next() else {
            return Ok(Err(Error::failure(format!(
                "no agent sent anything of `{identity}`"
            ))));
        };
        let parts = parts.iter().flat_map(|part| &part.scenarios);
        let first_us = clocks.iter().map(AgentClock::began_late_us).min();
        let agents = self.agents.iter().zip(clocks).zip(parts).enumerate();
        for (shard, (place, ((agent, clock), part))) in record.shards.iter_mut().zip(agents) {
            shard.doubts = Validity::list_doubts(part);
            let after_us = clock.began_late_us() - first_us.unwrap_or_default();
            shard.began_after_us = after_us.unsigned_abs();
            shard.agent = Some(AgentRun {
                host: agent.info.host.clone(),
                clock_offset_us: clock.at_start().offset_us,
                clock_error_us: clock.at_start().error_us,
                clock_drift_us: clock.drift_us(),
                lost: (accused.iter().find(|(liar, _)| *liar == place))
                    .map(|(_, reason)| reason.clone())
                    .or_else(|| self.describe_loss_of(place))
                    .map(Redacted::assume),
                not_run: 0,
            });
        }
        if let Some(missing) = find_missing_parts(&mut record, stopped) {
            let is_enough = enough.is_some_and(|enough| missing.share >= Some(enough));
            record.end.ending = EndReason::AgentLost {
                reason: missing.describe(enough),
                is_enough,
            };
        } else if let Some(broken) = &scenario.broken
            && record.end.ending == EndReason::Interrupted
        {
            record.end.ending = EndReason::ThresholdBroken {
                threshold: broken.threshold,
                after_us: u64::try_from(broken.after.as_micros()).unwrap_or(u64::MAX),
                reason: Redacted::assume(describe_broken(
                    broken,
                    &record.start.plan,
                    &record.start.definition,
                )),
            };
        }
        // The journal of the whole ends as the record does, for who reads it without that.
        scenario.keep(&JournalLine::End(record.end.clone()))?;
        Ok(Ok(record))
    }

    /// Returns what each agent measured of a scenario; the inner error is about the scenario.
    fn collect_parts(&self, number: usize) -> Result<Result<Parts, Error>, Error> {
        let scenario = &self.scenarios[number];
        let identity = &self.run.requests[number].scenario;
        let mut parts = Vec::new();
        let mut unheard = Vec::new();
        let mut accused = Vec::new();
        for (place, agent) in self.agents.iter().enumerate() {
            if agent.is_distrusted {
                unheard.push(place);
                continue;
            }
            let mut take = |record: Result<ScenarioRecord, String>| {
                let part = record.and_then(|record| self.take_part(place, number, record));
                match part {
                    Ok(part) => parts.push(part),
                    Err(wrong) => {
                        let name = self.name(place);
                        accused.push((
                            place,
                            format!("agent {name} sends impossible data: {wrong}"),
                        ));
                        unheard.push(place);
                    }
                }
            };
            if let Some(path) = agent.record(number) {
                take(read_record(path).and_then(|record| {
                    scenario.compare(place, &record)?;
                    Ok(record)
                }));
                continue;
            }
            let path = agent.journal(number);
            let folded = journal::fold(path).map_err(Error::io("read", path))?;
            if let Some(failure) = &folded.failure {
                return Ok(Err(Error::refused(identity, failure)));
            }
            let reason = agent.lost.clone().unwrap_or_else(|| {
                let status = agent.end.as_ref().map_or("no end", |end| &end.status);
                format!(
                    "agent {} did not deliver all of its results ({})",
                    self.name(place),
                    console::clean(status)
                )
            });
            let died = EndReason::Died {
                reason: Redacted::assume(reason),
            };
            match folded.into_record(died) {
                Some(record) => take(Ok(record)),
                None => unheard.push(place),
            }
        }
        // One that was lost before it told anything has made nothing.
        for place in unheard {
            let Some(start) = scenario.starts.iter().flatten().next() else {
                let name = self.name(place);
                let message = format!("agent {name} sent nothing of `{identity}`");
                return Ok(Err(Error::failure(message)));
            };
            let mut record = ScenarioRecord::new(start.clone());
            record.start.plan.shard = self.shards[place];
            record.mark_died(Redacted::default());
            let part = self.take_part(place, number, record);
            parts.insert(place.min(parts.len()), part.map_err(Error::failure)?);
        }
        Ok(Ok(Parts { parts, accused }))
    }

    /// Takes what an agent measured of a scenario, if that can be.
    fn take_part(
        &self,
        place: usize,
        number: usize,
        mut record: ScenarioRecord,
    ) -> Result<RunRecord, String> {
        check_totals(&record)?;
        self.scenarios[number].correct_time(&mut record.start);
        let info = &self.agents[place].info;
        Ok(RunRecord {
            run_id: info.agent.clone(),
            environment: info.environment.clone(),
            scenarios: vec![record],
            not_run: Vec::new(),
            ..self.run.header.clone()
        })
    }

    /// Returns why an agent did not make its part, or why not all of it is here.
    fn describe_loss_of(&self, place: usize) -> Option<String> {
        let agent = &self.agents[place];
        match &agent.lost {
            Some(reason) => Some(reason.clone()),
            None if agent.has_figures() => None,
            None => Some(format!(
                "agent {} did not deliver all of its results",
                self.name(place)
            )),
        }
    }
}

/// Finds what is missing of agents that did not make their part, or of which not all is here, and notes it beside
/// what they made.
fn find_missing_parts(record: &mut ScenarioRecord, stopped: StoppedAfter) -> Option<Missing> {
    let plan = &record.start.plan;
    let due = match plan.load.shape {
        Shape::Iterations { count, .. } => Some(count),
        _ => Schedule::new(&plan.load).arrivals_until(stopped.unwrap_or(Duration::MAX)),
    };
    let rows = plan.rows.as_ref().map_or(u64::MAX, |limit| limit.rows);
    let due = due.map(|due| due.min(rows));
    let mut words = Vec::new();
    let mut not_run = due.map(|_| 0);
    for part in &mut record.shards {
        let Some(agent) = &mut part.agent else {
            continue;
        };
        let Some(mut reason) = agent.lost.as_deref().map(str::to_owned) else {
            continue;
        };
        let known = part.started + part.dropped;
        let own = due.map(|due| part.shard.count_of(due).saturating_sub(known));
        not_run = not_run.zip(own).map(|(sum, own)| sum + own);
        if let Some(count) = own.filter(|count| *count > 0) {
            agent.not_run = count;
            part.planned = known + count;
            let verb = if count == 1 { "is" } else { "are" };
            let count = display::format_counted(count, "iteration");
            write!(reason, "; {count} of its part {verb} not known to have run").expect("a string");
        }
        words.push(reason);
    }
    (!words.is_empty()).then(|| Missing {
        reason: Redacted::assume(words.join("; ")),
        share: (due.zip(not_run)).map(|(due, not_run)| 1.0 - not_run as f64 / due.max(1) as f64),
    })
}

/// Reads the record that the process of an agent wrote.
fn read_record(path: &Path) -> Result<ScenarioRecord, String> {
    let bytes = files::read(path).map_err(|error| error.to_string())?;
    from_json(&bytes).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_that_is_too_small_is_told_with_the_one_asked_for() {
        let describe = |enough| {
            let missing = Missing {
                reason: Redacted::assume("agent a-1 was lost".to_owned()),
                share: Some(0.857),
            };
            missing.describe(enough).to_string()
        };
        assert_eq!(
            describe(Some(0.99)),
            "agent a-1 was lost; only 85.7 % of the load is known to have run; 99 % is required"
        );
        assert_eq!(describe(Some(0.8)), "agent a-1 was lost");
        assert_eq!(describe(None), "agent a-1 was lost");
    }
}
