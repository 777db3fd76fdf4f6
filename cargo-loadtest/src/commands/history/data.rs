//! The history as data.

use crate::archive::{Archive, Outcome, ScenarioHistory, VersionHistory};
use serde_json::{Value, json};

/// The runs as JSON, at most `limit` of each scenario.
pub(super) fn render(histories: &[ScenarioHistory<'_>], archive: &Archive, limit: usize) -> String {
    let scenarios: Vec<Value> = histories
        .iter()
        .map(|history| {
            let versions = history.versions.iter();
            json!({
                "scenario": history.scenario,
                "versions": versions.map(|one| version_json(one, limit)).collect::<Vec<_>>(),
            })
        })
        .collect();
    let unreadable: Vec<Value> = archive
        .unreadable
        .iter()
        .map(|run| json!({ "run_id": run.run, "reason": run.reason }))
        .collect();
    let all = json!({
        "schema_version": 1,
        "store": archive.directory,
        "scenarios": scenarios,
        "unreadable": unreadable,
    });
    format!("{all:#}")
}

fn version_json(history: &VersionHistory<'_>, limit: usize) -> Value {
    let rows = history.settings.iter().flat_map(|setting| &setting.rows);
    let mut rows: Vec<_> = rows.filter(|row| row.place < limit).collect();
    rows.sort_by_key(|row| row.place);
    let runs: Vec<Value> = rows
        .into_iter()
        .map(|row| {
            let entry = row.entry;
            let figures = entry.figures();
            let per_second = match &entry.outcome {
                Outcome::Searched { per_second, .. } => *per_second,
                _ => None,
            };
            json!({
                "run_id": entry.run,
                "started_at": entry.started_at,
                "commit": entry.commit,
                "uncommitted_changes": entry.dirty,
                "load": entry.load.as_ref().map(|setting| &setting.load),
                "target": entry.load.as_ref().and_then(|setting| setting.target.as_ref()),
                "verdict": entry.verdict().to_lowercase().replace(' ', "_"),
                "exit_code": entry.exit_code(),
                "reason": entry.reason(),
                "grade": figures.and_then(|figures| figures.grade),
                "score": figures.and_then(|figures| figures.score),
                "p95_us": figures.and_then(|figures| figures.p95).map(|time| (time.as_nanos() + 500) / 1_000),
                "error_rate": figures.and_then(|figures| figures.error_rate),
                "capacity_per_second": per_second,
                "trend": row.trend.map(|trend| json!({ "p95_change": trend.change, "against": trend.against })),
            })
        })
        .collect();
    json!({
        "fingerprint": history.version.map(|version| &version.fingerprint),
        "version": history.version.and_then(|version| version.words.as_ref()),
        "count": history.count,
        "first_seen": history.first_seen,
        "last_seen": history.last_seen,
        "runs": runs,
    })
}
