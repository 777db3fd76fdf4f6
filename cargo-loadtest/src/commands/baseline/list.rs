//! The baselines there are, for people and as data.

use super::report_strange_files;
use crate::baselines::{Baseline, BaselineRun, Baselines, Contents};
use crate::cli::ResultFormat;
use loadtest_console::console::{self, clean};
use loadtest_console::error::Error;
use loadtest_model::comparison::Side;
use loadtest_model::display;
use loadtest_model::exit_code::ExitCode;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The number of shown digits of a commit.
const SHORT: usize = 10;

pub(super) fn list(baselines: &Baselines, format: ResultFormat) -> Result<ExitCode, Error> {
    let (mut all, mut damaged) = (Vec::new(), Vec::new());
    for name in baselines.names()? {
        let baseline = baselines.open(&name)?;
        match baseline.contents() {
            Ok(contents) => all.push((baseline, contents)),
            Err(error) => damaged.push(error),
        }
    }
    match format {
        ResultFormat::Human if all.is_empty() && damaged.is_empty() => console::print_result(
            "there is no baseline yet; `cargo loadtest baseline save main` keeps the latest run as one",
        )?,
        ResultFormat::Human => console::print_result(render_table(&all).trim_end())?,
        ResultFormat::Json => {
            let baselines = all.iter();
            let baselines = baselines.map(|(baseline, contents)| list_json(baseline, contents));
            console::print_json(format_args!("{:#}", baselines.collect::<Value>()))?;
        }
    }
    for (_, contents) in &all {
        report_strange_files(&contents.strange);
    }
    for error in &damaged {
        console::print_error(error);
    }
    Ok(ExitCode::worst_of(damaged.iter().map(Error::exit_code)))
}

fn render_table(all: &[(Baseline, Contents)]) -> String {
    let mut text = String::new();
    for (baseline, contents) in all {
        let _ = writeln!(text, "{}", baseline.name());
        for runs in &contents.scenarios {
            let newest = &runs[runs.len() - 1];
            let Side { scenario, .. } = newest.side();
            let _ = writeln!(text, "  {}", clean(&newest.identity()));
            let about = format!(
                "version {}, {}, {}",
                shorten_commit(scenario.start.definition.revision()),
                display::format_load(&scenario.start.plan.load),
                format_target(newest)
            );
            let _ = writeln!(text, "    {}", clean(&about));
            for run in runs {
                let _ = writeln!(text, "    {}", clean(&render_line(run)));
            }
        }
        for (run, differs) in &contents.outdated {
            let line = format!(
                "{} {} no longer counts: it has {differs}",
                run.identity(),
                run.record.run_id
            );
            let _ = writeln!(text, "  {}", clean(&line));
        }
        text.push('\n');
    }
    text
}

/// `20261121-143005-k3f9  2026-11-21T14:30:05Z  commit 1f3a0c22d1 with changes  84.1 KB`
fn render_line(run: &BaselineRun) -> String {
    let record = &run.record;
    let mut line = format!("{}  {}", record.run_id, record.started_at);
    if let Some(commit) = &record.environment.git_commit {
        let _ = write!(line, "  commit {}", shorten_commit(commit));
        if record.environment.git_dirty == Some(true) {
            line.push_str(" with changes");
        }
    }
    let _ = write!(line, "  {}", display::format_bytes(file_size(run)));
    line
}

fn shorten_commit(text: &str) -> String {
    text.chars().take(SHORT).collect()
}

fn file_size(run: &BaselineRun) -> u64 {
    std::fs::metadata(&run.path).map_or(0, |file| file.len())
}

fn format_target(run: &BaselineRun) -> String {
    let scenario = run.scenario();
    if scenario.start.own_target || scenario.start.target_in_process {
        return "its own target".to_owned();
    }
    scenario
        .start
        .base_url
        .clone()
        .unwrap_or_else(|| "absolute URLs".to_owned())
}

fn list_json(baseline: &Baseline, contents: &Contents) -> Value {
    let run = |run: &BaselineRun| {
        let environment = &run.record.environment;
        json!({
            "run_id": run.record.run_id,
            "started_at": run.record.started_at,
            "tool_version": run.record.tool_version,
            "git_commit": environment.git_commit,
            "git_dirty": environment.git_dirty,
            "os": environment.os,
            "arch": environment.arch,
            "cpus": environment.cpus,
            "file": run.path,
            "bytes": file_size(run),
        })
    };
    let scenario = |runs: &Vec<BaselineRun>| {
        let newest = &runs[runs.len() - 1];
        json!({
            "scenario": newest.identity(),
            "version": newest.scenario().start.definition.revision(),
            "load": newest.scenario().start.plan.load,
            "target": format_target(newest),
            "runs": runs.iter().map(run).collect::<Vec<_>>(),
        })
    };
    let outdated = contents.outdated.iter().map(|(run, differs)| {
        json!({ "scenario": run.identity(), "run_id": run.record.run_id, "file": run.path, "differs": differs.to_string() })
    });
    json!({
        "name": baseline.name(),
        "folder": baseline.folder(),
        "scenarios": contents.scenarios.iter().map(scenario).collect::<Vec<_>>(),
        "outdated": outdated.collect::<Vec<_>>(),
        "strange": contents.strange,
    })
}
