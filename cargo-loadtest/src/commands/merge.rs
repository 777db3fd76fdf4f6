//! `cargo loadtest merge`: the runs of all shards of a load as one run.

use super::publish;
use crate::baselines::{Against, Baselines};
use crate::cli::MergeArgs;
use crate::config::Config;
use crate::store::{self, MeasuredRun, Store};
use crate::workspace::Workspace;
use jiff::Timestamp;
use loadtest_console::error::Error;
use loadtest_model::card::Validity;
use loadtest_model::exit_code::ExitCode;
use loadtest_model::record::{RunRecord, ScenarioRecord, ShardRun, merge_shards};

/// Joins the records, grades the whole, and keeps it as a run of its own.
///
/// # Errors
/// When a run cannot be read, or they are not the shards of one load.
pub(crate) fn merge(args: &MergeArgs) -> Result<ExitCode, Error> {
    let mut exports = publish::Exports::check(&args.export, &args.reports)?;
    let workspace = Workspace::load_or_folder(&args.cargo)?;
    if args.ci {
        exports = exports.for_ci(workspace.root());
    }
    let config = Config::load(&workspace.start, workspace.root())?;
    let store = Store::in_workspace(&workspace, &config);
    let open_store = || Ok(store.clone());
    let opened = args.runs.iter().map(|run| store::open(run, open_store));
    let records = opened.map(|opened| opened.map(|(_, record)| record));
    let records: Vec<RunRecord> = records.collect::<Result<_, _>>()?;
    let mut scenarios = merge_shards(&records).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Error::usage(lines.join("\n"))
            .with_help("give the runs of all shards: `cargo loadtest merge RUN RUN ..`")
    })?;
    for scenario in &mut scenarios {
        note_starts(scenario);
        note_doubts(scenario, &records);
    }
    if args.min_grade.is_some() {
        for scenario in &mut scenarios {
            scenario.start.plan.min_grade = args.min_grade;
        }
    }
    let against = args.baseline.as_ref().map(|name| {
        let baseline = Baselines::from_config(&config).open(name)?;
        let identities = scenarios.iter();
        let identities = identities.map(|scenario| scenario.start.definition.identity());
        Against::read(&baseline, identities)
    });
    let against = against.transpose()?;
    // Nothing is kept of what cannot be merged.
    let folder = store.create()?;
    let first = records.first().map(|record| record.environment.clone());
    let mut record = RunRecord {
        scenarios,
        ..folder.new_record(first.unwrap_or_default())
    };
    let starts = records.iter().map(|record| &record.started_at);
    if let Some(earliest) = starts.min() {
        record.started_at.clone_from(earliest);
    }
    let comparison = against.map(|against| against.compare(&record));
    let result = MeasuredRun {
        record: &record,
        comparison: comparison.as_ref(),
    };
    publish::conclude(&store, &folder, result, record.scenarios.len(), &exports)
}

/// Notes what the process of each shard saw that speaks against its part.
fn note_doubts(scenario: &mut ScenarioRecord, records: &[RunRecord]) {
    let identity = scenario.start.definition.identity();
    for shard in &mut scenario.shards {
        let own = records
            .iter()
            .filter(|record| record.run_id == shard.run_id);
        let mut parts = own.flat_map(|record| &record.scenarios);
        let part = parts.find(|part| part.start.definition.identity() == identity);
        shard.doubts = part.map(Validity::list_doubts).unwrap_or_default();
    }
}

/// Notes how much later than the first each shard started.
fn note_starts(scenario: &mut ScenarioRecord) {
    let start = |shard: &ShardRun| shard.started_at.parse::<Timestamp>().ok();
    let Some(first) = scenario.shards.iter().filter_map(start).min() else {
        return;
    };
    for shard in &mut scenario.shards {
        let after = start(shard).map(|start| start.duration_since(first));
        let after = after.map(|after| after.as_micros());
        shard.began_after_us = after
            .and_then(|us| u64::try_from(us).ok())
            .unwrap_or_default();
    }
}
