//! The part of one run that an agent makes: its child, its journals, and when it ends by itself.

use super::agent::{AgentSetting, goes_on};
use super::forward::{Delivery, Forwarder};
use super::messages::{AgentEnd, Beat, FileKind, LoadOrder, Order, Phase, list_files};
use super::programs::Programs;
use crate::session::{self, ChildEnded, Group, Program};
use crate::store::{MeasuredRun, RunFolder};
use async_nats::Client;
use async_nats::connection::State;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::files;
use loadtest_console::interrupt::Interrupts;
use loadtest_model::display;
use loadtest_model::exit_code::ExitCode;
use loadtest_model::protocol::{Request, RunRequest};
use loadtest_model::record::RunRecord;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;
use tempfile::NamedTempFile;
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::Instant;

/// A controller that says nothing for so long is gone.
const SILENCE: Duration = Duration::from_secs(5);
/// An agent that looks so seldom stood still itself.
const STANDSTILL: Duration = Duration::from_secs(1);
/// The time for a child to end after `abort`.
const ABORT_LIMIT: Duration = Duration::from_secs(5);
/// The time for the journals to get to the controller after the end.
const DELIVERY_LIMIT: Duration = Duration::from_secs(60);
/// The lines of the child that the controller is told.
const LAST_LINES: usize = 20;

/// A part of a run under way.
pub(super) struct Work {
    run: String,
    orphan_after: Duration,
    /// What the child is asked, a scenario each.
    requests: Vec<RunRequest>,
    folder: RunFolder,
    /// The files with the values of setups, which go with this.
    _setup_values: Vec<NamedTempFile>,
    group: Group,
    delivery: Rc<RefCell<Delivery>>,
    forwarding: JoinHandle<()>,
    output: VecDeque<String>,
    phase: Phase,
    has_started: bool,
    stopped: Option<Phase>,
    aborted_at: Option<Instant>,
    gave_up: Option<String>,
    last_beat: Instant,
    last_look: Instant,
    disconnected_at: Option<Instant>,
    ended: Option<(ChildEnded, Instant)>,
}

impl Work {
    /// Starts the child, which prepares and waits.
    ///
    /// # Errors
    /// When it cannot be started, or has not the scenario.
    pub(super) fn begin(
        order: Order,
        setting: &AgentSetting<'_>,
        programs: &Programs,
        agent: &str,
        client: &Client,
    ) -> Result<Self, Error> {
        let mut binaries = order.loads.iter().map(|load| {
            let mut all = programs.scenarios.iter();
            let found = all.find(|found| found.definition.identity() == load.scenario);
            let found = found
                .ok_or_else(|| Error::failure(format!("it has no scenario `{}`", load.scenario)))?;
            if programs.hashes.get(&load.scenario) != Some(&load.executable_hash) {
                return Err(Error::failure(format!(
                    "it has another build of `{}`",
                    load.scenario
                )));
            }
            Ok(&found.binary)
        });
        let binary = binaries
            .next()
            .ok_or_else(|| Error::failure("the order has no scenario"))??;
        if let Some(wrong) = binaries.find_map(Result::err) {
            return Err(wrong);
        }
        let folder = setting.store.create()?;
        let header: RunRecord = folder.new_record(setting.environment.clone());
        folder.open(&header)?;
        if order.setup_values.len() != order.loads.len() {
            return Err(Error::failure(
                "the order has no setup values for each scenario",
            ));
        }
        let (mut requests, mut setup_values) = (Vec::new(), Vec::new());
        for (number, (load, values)) in (1..).zip(order.loads.into_iter().zip(&order.setup_values))
        {
            // Only we can read it: it may hold what a login returned.
            let file = NamedTempFile::new()
                .map_err(Error::io("create a file in", std::env::temp_dir()))?;
            files::write_json(file.path(), values)?;
            requests.push(to_request(load, &folder, number, file.path()));
            setup_values.push(file);
        }
        let asked = match requests.as_slice() {
            [one] => Request::Run(Box::new(one.clone())),
            all => Request::Mix {
                scenarios: all.to_vec(),
            },
        };
        let group =
            Program::from_binary(binary, setting.offline).ask(&asked, &folder.request(1))?;
        let delivery = Rc::new(RefCell::new(Delivery::default()));
        let forwarder = Forwarder {
            context: async_nats::jetstream::new(client.clone()),
            run: order.run.clone(),
            place: order.place,
            agent: agent.to_owned(),
            files: list_paths(&folder, requests.len()).collect(),
            delivery: Rc::clone(&delivery),
        };
        Ok(Self {
            run: order.run,
            orphan_after: Duration::from_secs(order.orphan_after_s),
            requests,
            folder,
            _setup_values: setup_values,
            group,
            delivery,
            forwarding: spawn_local(forwarder.forward()),
            output: VecDeque::new(),
            phase: Phase::Prepare,
            has_started: false,
            stopped: None,
            aborted_at: None,
            gave_up: None,
            last_beat: Instant::now(),
            last_look: Instant::now(),
            disconnected_at: None,
            ended: None,
        })
    }

    /// Does what the controller wants.
    pub(super) fn obey(&mut self, beat: &Beat) {
        self.last_beat = Instant::now();
        self.phase = self.phase.max(beat.phase);
        if !beat.received.is_empty() {
            let mut delivery = self.delivery.borrow_mut();
            delivery.received.clone_from(&beat.received);
        }
        match self.phase {
            Phase::Run if !self.has_started => {
                if let Some(start) = beat.start_us {
                    self.group.say(&format!("start {start}"));
                    self.has_started = true;
                }
            }
            phase if !goes_on(phase) => self.stop(phase.min(Phase::Abort)),
            _ => {}
        }
    }

    /// Stops or aborts the load, once each.
    fn stop(&mut self, how: Phase) {
        if self.ended.is_some() || self.stopped.is_some_and(|before| before >= how) {
            return;
        }
        self.stopped = Some(how);
        if how == Phase::Abort {
            self.group.say("abort");
            self.aborted_at = Some(Instant::now());
        } else {
            self.group.say("stop");
        }
    }

    /// Looks at the child and the connection; returns true once everything is over.
    ///
    /// # Errors
    /// When the child cannot be waited for.
    pub(super) fn look(&mut self, client: &Client, interrupts: &Interrupts) -> Result<bool, Error> {
        let is_alone = self.is_alone(client);
        if let Some((_, at)) = self.ended {
            let is_over = self.phase == Phase::Done
                // Whoever comes back has it from the server.
                || is_alone && self.delivery.borrow().is_sent
                || at.elapsed() > DELIVERY_LIMIT
                || interrupts.count() > 1;
            return Ok(is_over);
        }
        for line in self.group.output() {
            self.keep_output(line);
        }
        let status = self.group.poll().map_err(|error| {
            Error::failure(format!("could not wait for the load test: {error}"))
        })?;
        if let Some(status) = status {
            for line in self.group.last_output() {
                self.keep_output(line);
            }
            let lengths = list_paths(&self.folder, self.requests.len())
                .map(|path| std::fs::metadata(path).map_or(0, |file| file.len()));
            self.delivery.borrow_mut().end = Some(AgentEnd {
                lengths: lengths.collect(),
                status: session::in_words(status),
                gave_up: self.gave_up.clone(),
                output: self.output.iter().cloned().collect(),
            });
            let aborted = self.aborted_at.is_some();
            self.ended = Some((ChildEnded { status, aborted }, Instant::now()));
            return Ok(false);
        }
        if self.aborted_at.is_some_and(|at| at.elapsed() > ABORT_LIMIT) {
            self.group.kill();
        }
        if let Some(reason) = self.find_reason_to_give_up(is_alone, interrupts)
            && self.gave_up.is_none()
        {
            console::print_warning(format_args!("the load is stopped: {reason}"));
            self.gave_up = Some(reason);
            self.stop(Phase::Stop);
        }
        if interrupts.count() > 1 {
            self.stop(Phase::Abort);
        }
        Ok(false)
    }

    /// Returns why nobody would notice what this load does, or that it is not wanted here.
    fn find_reason_to_give_up(&self, is_alone: bool, interrupts: &Interrupts) -> Option<String> {
        if interrupts.count() > 0 {
            return Some("the agent was stopped".to_owned());
        }
        if !goes_on(self.phase) {
            return None;
        }
        if is_alone {
            let silence = display::format_span(SILENCE);
            return Some(format!("the controller was silent for {silence}"));
        }
        let is_orphan =
            (self.disconnected_at).is_some_and(|since| since.elapsed() > self.orphan_after);
        let limit = display::format_span(self.orphan_after);
        is_orphan.then(|| format!("no NATS server answered for {limit}"))
    }

    /// Returns true if the controller said nothing for too long while we could have heard it.
    fn is_alone(&mut self, client: &Client) -> bool {
        let standstill = self.last_look.elapsed();
        self.last_look = Instant::now();
        if client.connection_state() != State::Connected {
            self.disconnected_at.get_or_insert_with(Instant::now);
            return false;
        }
        if self.disconnected_at.take().is_some() {
            // Nothing could come before.
            self.last_beat = Instant::now();
        } else if standstill > STANDSTILL {
            // What came meanwhile is heard after this.
            self.last_beat += standstill;
        }
        self.last_beat.elapsed() > SILENCE
    }

    fn keep_output(&mut self, line: String) {
        console::print_progress(&line);
        if self.output.len() == LAST_LINES {
            self.output.pop_front();
        }
        self.output.push_back(line);
    }

    /// Keeps the part as a run of its own, which `merge` takes too.
    ///
    /// # Errors
    /// When nothing was measured, or the record cannot be written.
    pub(super) fn finish(self, setting: &AgentSetting<'_>) -> Result<ExitCode, Error> {
        self.forwarding.abort();
        let Some((ended, _)) = self.ended else {
            return Ok(ExitCode::Passed);
        };
        let mut record = self.folder.new_record(setting.environment.clone());
        for request in &self.requests {
            record
                .scenarios
                .push(ended.result(request, setting.interrupts)?);
        }
        let result = MeasuredRun {
            record: &record,
            comparison: None,
        };
        self.folder.close(result, record.scenarios.len())?;
        self.folder.compress_journals(record.scenarios.len());
        setting.store.mark_latest(&self.folder)?;
        console::print_status("Finished", format_args!("its shard of {}", self.run));
        match self.gave_up {
            Some(reason) => Err(Error::with_exit_code(ExitCode::Invalid, reason)),
            None => Ok(ExitCode::Passed),
        }
    }
}

/// Returns the files that the controller gets.
fn list_paths(folder: &RunFolder, scenarios: usize) -> impl Iterator<Item = PathBuf> {
    list_files(scenarios).map(|(kind, scenario)| match kind {
        FileKind::Journal => folder.journal(scenario),
        FileKind::Record => folder.scenario_record(scenario),
        FileKind::Spans => folder.spans(scenario),
    })
}

/// Returns what the child is asked for a load: with files of this machine, in the folder of the run.
fn to_request(
    load: LoadOrder,
    folder: &RunFolder,
    number: usize,
    setup_values: &Path,
) -> RunRequest {
    RunRequest {
        scenario: load.scenario,
        run_id: load.run_id,
        overrides: load.overrides,
        base_url: load.base_url,
        grading: load.grading,
        seed: load.seed,
        executable_hash: load.executable_hash,
        journal: folder.journal(number),
        record: folder.scenario_record(number),
        spare_record: None,
        spans: load.has_spans.then(|| folder.spans(number)),
        setup_values: Some(setup_values.to_path_buf()),
        start_at_us: None,
        has_controller: true,
        samples: None,
    }
}
