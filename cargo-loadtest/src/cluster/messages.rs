//! The messages between a controller and its agents. All come from another machine, so each is checked when it is read.

use super::signature::SignedBundle;
use loadtest_console::error::Error;
use loadtest_model::plan::{GradingDefaults, Overrides};
use loadtest_model::protocol::{RunRequest, SetupValues};
use loadtest_model::record::Environment;
use loadtest_model::shard::Shard;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// The version of these messages.
pub(super) const PROTOCOL: u32 = 2;

/// The subject on which all agents answer with their [`AgentInfo`].
pub(super) const AGENTS: &str = "lt.agents";

/// The subjects that the stream keeps.
pub(super) const ALL_PARCELS: &str = "lt.run.*.parcels.*";

/// The most bytes of the head of a parcel.
const MAX_HEAD: usize = 16 * 1024;

/// The most letters of a name within a subject.
const MAX_NAME: usize = 200;

/// Returns true if this can be a part of a subject, and is harmless on every screen.
pub(super) fn is_name(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    !text.is_empty() && text.len() <= MAX_NAME && text.chars().all(is_letter)
}

/// Returns the subject on which an agent takes questions.
pub(super) fn agent_subject(agent: &str) -> String {
    format!("lt.agent.{agent}")
}

/// Returns the subject of the [`Beat`]s for one agent of a run.
pub(super) fn control_subject(run: &str, place: usize) -> String {
    format!("lt.run.{run}.control.{place}")
}

/// Returns the subject of the parcels of one agent of a run; `*` for all.
pub(super) fn parcel_subject(run: &str, place: impl std::fmt::Display) -> String {
    format!("lt.run.{run}.parcels.{place}")
}

/// An agent as it presents itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct AgentInfo {
    /// The name, which an agent that comes back does not have again.
    pub(crate) agent: String,
    /// [`PROTOCOL`].
    pub(crate) protocol: u32,
    /// The version of the tool.
    pub(crate) tool_version: String,
    /// The name of the machine.
    pub(crate) host: String,
    /// The machine and the source.
    pub(crate) environment: Environment,
    /// Its share of a load, beside those of the others.
    pub(crate) weight: u32,
    /// The scenarios that it can run, each with the SHA-256 of its program.
    pub(crate) scenarios: BTreeMap<String, String>,
    /// The hash of its bundle, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bundle: Option<String>,
    /// The key of the bundles that it takes, if it takes any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) accepts: Option<String>,
    /// The run that it makes.
    pub(crate) run: Option<String>,
}

/// A question to one agent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Question {
    /// The time of its clock.
    Clock,
    /// Whether it takes a bundle; asked again until it has it.
    Take(SignedBundle),
    /// Whether it takes a part of a run.
    Prepare(Box<Order>),
}

/// A part of a run.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Order {
    /// The name of the run on the subjects.
    #[serde(deserialize_with = "read_name")]
    pub(super) run: String,
    /// The number of the part, from 0.
    pub(super) place: usize,
    /// The loads of the scenarios, which run at once.
    pub(super) loads: Vec<LoadOrder>,
    /// The values of their setups, in the order of the loads.
    pub(super) setup_values: Vec<SetupValues>,
    /// Seconds without a server after which the agent stops.
    pub(super) orphan_after_s: u64,
    /// The SHA-256 of the signed bundle, for agents that have their scenarios from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bundle: Option<String>,
}

/// The load of one scenario. It has no path, no file name and no program: an agent trusts whoever may order a load with
/// the load alone, and chooses itself what is written and where.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LoadOrder {
    /// The identity of the scenario: `package::module::function`.
    pub(super) scenario: String,
    /// The identifier of the run, which each request of the load carries.
    #[serde(deserialize_with = "read_name")]
    pub(super) run_id: String,
    /// The changes of the load, with the part that the agent makes of it.
    pub(super) overrides: Overrides,
    /// `--base-url`, which the agent checks against its own targets.
    pub(super) base_url: Option<String>,
    /// The grading policy of the controller's workspace.
    pub(super) grading: GradingDefaults,
    /// The seed.
    pub(super) seed: u64,
    /// SHA-256 of the program that has the scenario; another one is not run.
    pub(super) executable_hash: String,
    /// Whether the spans of sampled journeys are kept.
    pub(super) has_spans: bool,
}

impl LoadOrder {
    /// Orders the part `shard` of what is asked of a whole load.
    pub(super) fn new(request: &RunRequest, shard: Shard) -> Self {
        Self {
            scenario: request.scenario.clone(),
            run_id: request.run_id.clone(),
            overrides: Overrides {
                shard,
                ..request.overrides.clone()
            },
            base_url: request.base_url.clone(),
            grading: request.grading.clone(),
            seed: request.seed,
            executable_hash: request.executable_hash.clone(),
            has_spans: request.spans.is_some(),
        }
    }
}

/// Reads a name that may stand in a header, a subject or a file.
fn read_name<'de, D: Deserializer<'de>>(input: D) -> Result<String, D::Error> {
    let name = String::deserialize(input)?;
    if is_name(&name) {
        Ok(name)
    } else {
        Err(D::Error::custom(
            "a name is of letters, digits and hyphens, and at most 200 of them",
        ))
    }
}

/// An answer of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    /// Its clock, in microseconds after 1970.
    Clock {
        /// The time.
        now_us: u64,
    },
    /// It prepares.
    Accepted,
    /// The bundle is on its way.
    Fetching,
    /// It makes another run.
    Busy,
    /// It does not.
    Refused {
        /// Why.
        message: String,
    },
}

impl Answer {
    /// Returns a refusal, with the remedy.
    pub(super) fn refuse(error: &Error) -> Self {
        let help = error.help().map(|help| format!("; {help}"));
        Self::Refused {
            message: format!("{error}{}", help.unwrap_or_default()),
        }
    }
}

/// What the controller wants of one agent, said again and again: a message that is lost does no harm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Beat {
    /// What it is to do.
    pub(super) phase: Phase,
    /// The start of the load by its clock, in microseconds after 1970, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) start_us: Option<u64>,
    /// How many bytes of each of its files the controller has.
    pub(super) received: Vec<u64>,
}

impl Beat {
    /// Returns one that says what to do, and nothing else.
    pub(super) const fn of(phase: Phase) -> Self {
        Self {
            phase,
            start_us: None,
            received: Vec::new(),
        }
    }
}

/// What agents are to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Phase {
    /// Prepare, and wait.
    Prepare,
    /// Begin at the time given, and run to the end.
    Run,
    /// Start nothing more.
    Stop,
    /// End everything at once.
    Abort,
    /// The run is over for the controller.
    Done,
}

/// What a file of a part holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Journal,
    Record,
    Spans,
}

/// Returns the files of so many scenarios in the order of their numbers in parcels, each with the number of its scenario
/// from 1: the journals, then the records, then the spans.
pub(super) fn list_files(scenarios: usize) -> impl Iterator<Item = (FileKind, usize)> {
    [FileKind::Journal, FileKind::Record, FileKind::Spans]
        .into_iter()
        .flat_map(move |kind| (1..=scenarios).map(move |scenario| (kind, scenario)))
}

/// The head of a parcel: a line of JSON before bytes of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ParcelHead {
    /// The agent.
    pub(super) agent: String,
    /// The number of the file, from 0, in the order of [`list_files`].
    pub(super) file: usize,
    /// The place of the first byte in it.
    pub(super) offset: u64,
    /// Set once the child has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) end: Option<AgentEnd>,
}

/// The end of an agent's part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct AgentEnd {
    /// The length of each file.
    pub(super) lengths: Vec<u64>,
    /// How the child ended: `exit code 0`.
    pub(super) status: String,
    /// Why the agent ended it by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) gave_up: Option<String>,
    /// The last lines that the child printed.
    pub(super) output: Vec<String>,
}

/// Joins a head and bytes of a file.
pub(super) fn encode_parcel(head: &ParcelHead, bytes: &[u8]) -> serde_json::Result<Vec<u8>> {
    let mut parcel = serde_json::to_vec(head)?;
    parcel.push(b'\n');
    parcel.extend_from_slice(bytes);
    Ok(parcel)
}

/// Takes a parcel apart.
///
/// # Errors
/// What is wrong with it.
pub(super) fn decode_parcel(parcel: &[u8]) -> Result<(ParcelHead, &[u8]), String> {
    let searched = &parcel[..parcel.len().min(MAX_HEAD)];
    let end = searched.iter().position(|byte| *byte == b'\n');
    let end = end.ok_or("a parcel without a head")?;
    Ok((decode(&parcel[..end])?, &parcel[end + 1..]))
}

/// Reads a message.
///
/// # Errors
/// What is wrong with it.
pub(super) fn decode<T: DeserializeOwned>(message: &[u8]) -> Result<T, String> {
    serde_json::from_slice(message).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> ParcelHead {
        ParcelHead {
            agent: "a-1".to_owned(),
            file: 0,
            offset: 7,
            end: None,
        }
    }

    #[test]
    fn a_parcel_keeps_its_bytes_whatever_they_are() {
        let bytes = b"{\"frame\":1}\n\0\xff\n";
        let parcel = encode_parcel(&head(), bytes).unwrap();
        assert_eq!(decode_parcel(&parcel).unwrap(), (head(), &bytes[..]));
    }

    /// An order as a controller sends it.
    fn order() -> serde_json::Value {
        let load = serde_json::json!({
            "scenario": "shop::load::visit",
            "run_id": "20261128-120000-abcd",
            "overrides": {"rate_per_second": 5.0},
            "base_url": "http://127.0.0.1:1",
            "grading": {},
            "seed": 1,
            "executable_hash": "00",
            "has_spans": false,
        });
        serde_json::json!({"prepare": {
            "run": "r-1",
            "place": 0,
            "loads": [load],
            "setup_values": [],
            "orphan_after_s": 15,
        }})
    }

    fn read(order: &serde_json::Value) -> Result<Question, String> {
        decode(order.to_string().as_bytes())
    }

    #[test]
    fn an_order_cannot_name_a_file() {
        assert!(matches!(read(&order()), Ok(Question::Prepare(_))));
        let path = serde_json::json!("/tmp/file");
        let samples = serde_json::json!({"path": path, "share": 1.0});
        for (field, value) in [
            ("samples", &samples),
            ("journal", &path),
            ("record", &path),
            ("spare_record", &path),
            ("spans", &path),
            ("setup_values", &path),
        ] {
            let mut order = order();
            order["prepare"]["loads"][0][field] = value.clone();
            let wrong = read(&order).unwrap_err();
            assert!(
                wrong.contains(&format!("unknown field `{field}`")),
                "{wrong}"
            );
        }
    }

    #[test]
    fn names_of_runs_are_names() {
        for name in [
            "",
            "$(id > x)",
            "../up",
            "a b",
            "a\nb",
            &"a".repeat(MAX_NAME + 1),
        ] {
            for of in [
                |order: &mut serde_json::Value| &mut order["prepare"]["run"],
                |order: &mut serde_json::Value| &mut order["prepare"]["loads"][0]["run_id"],
            ] as [fn(&mut serde_json::Value) -> &mut serde_json::Value; 2]
            {
                let mut order = order();
                *of(&mut order) = name.into();
                let wrong = read(&order).unwrap_err();
                assert!(wrong.contains("a name is of letters"), "{wrong}");
            }
        }
    }

    #[test]
    fn a_parcel_is_never_too_strange() {
        let parcel = encode_parcel(&head(), b"{}\n").unwrap();
        let text = String::from_utf8(parcel).unwrap();
        loadtest_tests::fuzz::fuzz_texts([text.as_str(), "{}\n", "\n"], |text| {
            let _ = decode_parcel(text.as_bytes());
            let _ = decode::<Beat>(text.as_bytes());
            let _ = decode::<Question>(text.as_bytes());
            let _ = decode::<AgentInfo>(text.as_bytes());
        });
        let long = vec![b'x'; MAX_HEAD + 1];
        assert_eq!(decode_parcel(&long).unwrap_err(), "a parcel without a head");
    }
}
