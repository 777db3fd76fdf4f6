//! What was run, and how.

use super::view;
use crate::record::ScenarioRecord;
use serde::Serialize;

/// What was run, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Setting {
    /// The hash of the scenario's source.
    pub fingerprint: String,
    /// The version that the scenario declares.
    pub version: Option<String>,
    /// The load in words.
    pub load: String,
    /// Nobody gave a load, so that the default applied.
    pub default_load: bool,
    /// Iterations arrive at a rate, whatever the target does.
    pub open_model: bool,
    /// The most virtual users that the load could use.
    pub max_users: u32,
    /// The seed.
    pub seed: u64,
    /// The base URL the paths were joined to.
    pub base_url: Option<String>,
    /// Whether the scenario started the target itself.
    pub own_target: bool,
    /// The certificate of the target was not checked, as the scenario asked for.
    pub insecure: bool,
    /// SHA-256 of the executable that ran it.
    pub executable_hash: String,
    /// Worker threads.
    pub workers: u32,
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    /// From the start of the load to the end of the last iteration, warm-up included.
    pub elapsed_us: u64,
    /// How long the measured part was.
    pub steady_us: u64,
}

impl Setting {
    pub(super) fn of(record: &ScenarioRecord) -> Self {
        Self {
            fingerprint: record.definition.fingerprint.to_string(),
            version: record.definition.version.as_deref().map(str::to_owned),
            load: view::load(&record.plan.load),
            default_load: record.plan.default_load,
            open_model: record.plan.load.is_open(),
            max_users: record.plan.max_users,
            seed: record.plan.seed,
            base_url: record.base_url.clone(),
            own_target: record.own_target,
            insecure: record.definition.client.insecure,
            executable_hash: record.executable_hash.clone(),
            workers: record.workers,
            started_at: record.started_at.clone(),
            elapsed_us: record.elapsed_us,
            steady_us: record.steady_us,
        }
    }
}
