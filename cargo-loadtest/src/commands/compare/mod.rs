//! `cargo loadtest compare`: what changed between a baseline, or a run, and another run.

mod data;
#[cfg(test)]
mod tests;

use super::baseline;
use crate::baselines::{Baselines, compared};
use crate::cli::{CompareArgs, ResultFormat};
use crate::export::page::Section;
use crate::export::page::comparison::{self, ComparisonBase};
use crate::export::terminal;
use crate::store::{self, Store};
use loadtest_console::console;
use loadtest_console::error::{Error, Kind};
use loadtest_model::card::Validity;
use loadtest_model::comparison::{ComparisonOutcome, Side};
use loadtest_model::exit_code::ExitCode;
use loadtest_model::record::{RunRecord, ScenarioRecord};

/// The result of a comparison.
#[derive(Debug)]
pub(crate) struct RunComparison {
    /// The name of a baseline, or the identifier of a run.
    base: String,
    is_baseline: bool,
    /// The identifier of the run.
    new: String,
    /// The outcome of each scenario, by name.
    scenarios: Vec<(String, ComparisonOutcome)>,
    /// The scenarios that only the base has.
    missing: Vec<String>,
}

/// Compares, and says what regressed in the exit code.
///
/// # Errors
/// When there is no such baseline or run, or it cannot be read.
pub(crate) fn compare(args: &CompareArgs) -> Result<ExitCode, Error> {
    let baselines = baseline::baselines(&args.cargo)?;
    let open_store = || Store::of_workspace(&args.cargo);
    let compared = compare_by_name(&args.base, &args.new, &baselines, &open_store)?;
    match args.format {
        ResultFormat::Human => {
            let text = compared.words(console::result_width(), console::colours_results());
            console::print_result(text.trim_end())?;
        }
        ResultFormat::Json => console::print_json(data::render(&compared)?)?,
    }
    Ok(compared.exit_code())
}

/// Compares the run `new` with the baseline or run `base`.
///
/// # Errors
/// When there is no such baseline or run, or it cannot be read.
pub(crate) fn compare_by_name(
    base: &str,
    new: &str,
    baselines: &Baselines,
    open_store: &dyn Fn() -> Result<Store, Error>,
) -> Result<RunComparison, Error> {
    let opened = store::open(new, open_store);
    let (_, record) = match opened {
        Err(error)
            if matches!(error.kind(), Kind::UnknownRun { .. })
                && matches!(baselines.find(new), Ok(Some(_))) =>
        {
            let message = format!("`{new}` is a baseline; the second argument must be a run");
            return Err(Error::usage(message)
                .with_help(format!("write `cargo loadtest compare {new} {base}`")));
        }
        opened => opened?,
    };
    Ok(if let Some(baseline) = baselines.find(base)? {
        let contents = baseline.contents()?;
        let sides = |identity: &str| {
            let mut all = contents.scenarios.iter();
            let runs = all.find(|runs| runs[0].identity() == identity);
            runs.into_iter().flatten().map(|kept| kept.side()).collect()
        };
        let known = contents.scenarios.iter().map(|runs| runs[0].identity());
        RunComparison::compare_runs(base, true, &record, known.collect(), &sides)
    } else {
        let base = open_base(base, baselines, open_store)?;
        let sides = |identity: &str| {
            let all = base.scenarios.iter();
            let same = all.filter(|scenario| scenario.start.definition.identity() == identity);
            same.map(|scenario| comparison_side(&base, scenario))
                .collect()
        };
        let known = base.scenarios.iter();
        let known = known.map(|scenario| scenario.start.definition.identity());
        RunComparison::compare_runs(&base.run_id, false, &record, known.collect(), &sides)
    })
}

/// The run that is compared with; what is none may be the name of a baseline that there is not.
fn open_base(
    base: &str,
    baselines: &Baselines,
    open_store: &dyn Fn() -> Result<Store, Error>,
) -> Result<RunRecord, Error> {
    match store::open(base, open_store) {
        Ok((_, record)) => Ok(record),
        Err(error) if *error.kind() == (Kind::UnknownRun { has_similar: false }) => {
            Err(baselines.unknown(base))
        }
        Err(error) => Err(error),
    }
}

fn comparison_side<'a>(record: &'a RunRecord, scenario: &'a ScenarioRecord) -> Side<'a> {
    Side {
        run_id: &record.run_id,
        environment: &record.environment,
        scenario,
        trust: Validity::so_far(scenario).trust,
    }
}

impl RunComparison {
    fn compare_runs<'a>(
        base: &str,
        is_baseline: bool,
        new: &RunRecord,
        known: Vec<String>,
        sides: &dyn Fn(&str) -> Vec<Side<'a>>,
    ) -> Self {
        let scenario = |scenario| {
            let new = comparison_side(new, scenario);
            let identity = new.scenario.start.definition.identity();
            let outcome = compared(&sides(&identity), &new);
            (identity, outcome)
        };
        let scenarios: Vec<_> = new.scenarios.iter().map(scenario).collect();
        let has = |identity: &String| scenarios.iter().any(|(known, _)| known == identity);
        Self {
            base: base.to_owned(),
            is_baseline,
            new: new.run_id.clone(),
            missing: known
                .into_iter()
                .filter(|identity| !has(identity))
                .collect(),
            scenarios,
        }
    }

    /// The comparison for people.
    fn words(&self, width: usize, colour: bool) -> String {
        if self.scenarios.is_empty() {
            return "nothing to compare: none of the run's scenarios ran".to_owned();
        }
        terminal::render_sections(&self.build_sections(), width, colour)
    }

    /// Builds a section for each scenario, by its identity.
    pub(crate) fn build_sections(&self) -> Vec<(String, Section)> {
        let base = if self.is_baseline {
            ComparisonBase::Baseline(&self.base)
        } else {
            ComparisonBase::Run(&self.base)
        };
        let scenarios = self.scenarios.iter();
        let compared = scenarios.map(|(identity, outcome)| {
            (
                identity.clone(),
                comparison::build_complete_section(base, outcome),
            )
        });
        let missing = self.missing.iter();
        let missing =
            missing.map(|identity| (identity.clone(), comparison::build_missing_section(base)));
        let mut sections: Vec<_> = compared.chain(missing).collect();
        for (_, section) in &mut sections {
            section.title = format!("The run {} against {base}", self.new);
        }
        sections
    }

    /// 0 where nothing regressed, 99 where something did, 2 where nothing could be compared.
    fn exit_code(&self) -> ExitCode {
        let comparisons = || {
            self.scenarios
                .iter()
                .filter_map(|(_, outcome)| match outcome {
                    ComparisonOutcome::Compared(comparison) => Some(comparison),
                    _ => None,
                })
        };
        if comparisons().any(|comparison| comparison.regressions().next().is_some()) {
            ExitCode::GateFailed
        } else if comparisons().next().is_some() {
            ExitCode::Passed
        } else {
            ExitCode::Usage
        }
    }
}
