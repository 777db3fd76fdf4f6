//! `--verify`: runs what was written once, and compares the answers with those of the recording.

use crate::session;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::suggestion::join_some;
use loadtest_import::{LeftValue, Recording, WrittenScenario};
use loadtest_model::protocol::{DebugAnswer, DebugEvent, DebugOutcome};
use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// The load test that was written.
#[derive(Debug)]
pub(super) struct WrittenTest<'a> {
    /// The folder of its package.
    pub(super) folder: &'a Path,
    pub(super) package: &'a str,
    /// The name of the test target.
    pub(super) target: &'a str,
    pub(super) scenarios: &'a [WrittenScenario],
}

/// What a journey came to.
#[derive(Debug, Default)]
struct VerifiedJourney {
    /// The last answer of each step, by its number.
    answers: HashMap<usize, DebugAnswer>,
    /// The steps that were not answered as they expect, with the reason.
    problems: HashMap<usize, String>,
    /// The reason why there was no journey.
    failure: Option<String>,
}

/// Runs each scenario once. Returns true if all was answered as in the recording, and nothing of it is left that the
/// target does not know.
///
/// # Errors
/// When a scenario could not be run.
pub(super) fn verify(
    test: &WrittenTest<'_>,
    recording: &Recording,
    left: &[LeftValue],
) -> Result<bool, Error> {
    let (mut same, mut all) = (0, 0);
    let mut stale = 0;
    for scenario in test.scenarios {
        let journey = run_journey(test, scenario)?;
        if let Some(reason) = &journey.failure {
            let words = format!("`{}` did not run: {reason}", scenario.name);
            return Err(Error::usage(words));
        }
        for (number, (step, exchange)) in scenario.steps.iter().enumerate() {
            all += 1;
            match describe_difference(recording, *exchange, &journey, number) {
                None => same += 1,
                Some(words) => console::print_status("Differs", format_args!("{step}: {words}")),
            }
        }
        for value in left {
            if let Some(words) = describe_stale(value, scenario, &journey) {
                stale += 1;
                console::print_status("Recorded", words);
            }
        }
    }
    let words = format!("{same} of {all} steps have the same answer as in the recording");
    console::print_status("Verified", words);
    Ok(same == all && stale == 0)
}

fn run_journey(
    test: &WrittenTest<'_>,
    scenario: &WrittenScenario,
) -> Result<VerifiedJourney, Error> {
    let module = test.target.replace('-', "_");
    let identity = format!("{}::{module}::{}", test.package, scenario.name);
    let mut command = Command::new(session::own_program()?);
    command.args(["debug", "--format", "json", "--package", test.package]);
    command.arg(identity).current_dir(test.folder);
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().map_err(Error::io("run", test.folder))?;
    let mut journey = VerifiedJourney::default();
    let printed = String::from_utf8_lossy(&output.stdout);
    let events = printed.lines();
    let events = events.filter_map(|line| serde_json::from_str(line).ok());
    let mut events = events.peekable();
    if events.peek().is_none() {
        journey.failure = Some("the message is above".to_owned());
    }
    for event in events {
        journey.add(event);
    }
    Ok(journey)
}

impl VerifiedJourney {
    fn add(&mut self, event: DebugEvent) {
        match event {
            DebugEvent::Exchange(exchange) => {
                let last = exchange.hops.into_iter().next_back();
                if let Some(answer) = last.and_then(|hop| hop.answer) {
                    self.answers.insert(exchange.step, answer);
                }
            }
            DebugEvent::Step(step) => {
                let problem = match step.outcome {
                    DebugOutcome::Failed(problem) => Some(problem.message.to_string()),
                    DebugOutcome::Skipped { reason, .. } => {
                        Some(format!("it was not sent: {reason}"))
                    }
                    _ => None,
                };
                self.problems
                    .extend(problem.map(|problem| (step.step, problem)));
            }
            DebugEvent::Failed(failure) => self.failure = Some(failure.message.to_string()),
            DebugEvent::Start(_)
            | DebugEvent::Operation(_)
            | DebugEvent::Messages(_)
            | DebugEvent::Call(_)
            | DebugEvent::Think { .. }
            | DebugEvent::End(_) => {}
        }
    }
}

/// Describes how an answer differs from the recorded one; by its problem, its status, its type, or the fields that it
/// lacks.
fn describe_difference(
    recording: &Recording,
    exchange: usize,
    journey: &VerifiedJourney,
    step: usize,
) -> Option<String> {
    if let Some(problem) = journey.problems.get(&step) {
        return Some(problem.clone());
    }
    let recorded = recording.exchanges[exchange].answer.as_ref()?;
    let Some(answer) = journey.answers.get(&step) else {
        return Some("it was not sent".to_owned());
    };
    let status = answer.status.split(' ').next().unwrap_or_default();
    if !recorded.is_example && status != recorded.status.to_string() {
        return Some(format!("{} instead of {}", answer.status, recorded.status));
    }
    let own = recorded.headers.iter().map(|header| {
        let value = header.value.as_literal().unwrap_or_default();
        (&*header.name, value)
    });
    let theirs = answer.headers.iter();
    let theirs = theirs.map(|(name, value)| (&**name, &**value));
    if let (Some(own), Some(theirs)) = (content_type(own), content_type(theirs))
        && own != theirs
    {
        return Some(format!("`{theirs}` instead of `{own}`"));
    }
    let body = answer.body.as_ref().filter(|body| !body.is_cut)?;
    let theirs: serde_json::Value = serde_json::from_str(&body.text.as_ref()?.to_string()).ok()?;
    let own: serde_json::Value = serde_json::from_slice(&recorded.body).ok()?;
    let (own, theirs) = (own.as_object()?, theirs.as_object()?);
    let missing = own.keys().filter(|key| !theirs.contains_key(*key));
    let missing: Vec<String> = missing.map(|key| format!("`{key}`")).collect();
    (!missing.is_empty()).then(|| format!("without {}", join_some(&missing)))
}

fn content_type<'h>(mut headers: impl Iterator<Item = (&'h str, &'h str)>) -> Option<String> {
    let (_, value) = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-type"))?;
    let essence = value.split(';').next().unwrap_or_default();
    Some(essence.trim().to_ascii_lowercase())
}

/// Describes a value of the recording that the answer which had it does not have any more.
fn describe_stale(
    value: &LeftValue,
    scenario: &WrittenScenario,
    journey: &VerifiedJourney,
) -> Option<String> {
    let step_of = |exchange: usize| {
        let mut steps = scenario.steps.iter();
        steps.position(|(_, known)| *known == exchange)
    };
    let (step, from) = (step_of(value.exchange)?, step_of(value.from)?);
    let body = journey.answers.get(&from)?.body.as_ref()?;
    let text = body.text.as_ref()?.to_string();
    if body.is_cut || text.contains(&value.value) {
        return None;
    }
    let name = |at: usize| &scenario.steps[at].0;
    Some(format!(
        "{}: {} is sent as recorded, but the answer of `{}` no longer has that value",
        name(step),
        value.place,
        name(from)
    ))
}
