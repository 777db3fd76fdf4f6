//! `cargo loadtest compare`: what changed between a baseline, or a run, and another run.

mod data;
#[cfg(test)]
mod tests;

use super::baseline;
use crate::baselines::{Baselines, compared};
use crate::cli::{CompareArgs, ResultFormat};
use crate::console;
use crate::error::{Error, Kind};
use crate::export::page::comparison::{self, ComparisonBase};
use crate::export::terminal;
use crate::store::{self, Store};
use loadtest_model::card::{Validity, Verdict};
use loadtest_model::comparison::{ComparisonOutcome, Side};
use loadtest_model::record::{RunRecord, ScenarioRecord};

/// The result of a comparison.
#[derive(Debug)]
struct RunComparison {
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
pub(crate) fn compare(args: &CompareArgs) -> Result<u8, Error> {
    let baselines = baseline::baselines(&args.cargo)?;
    let opened = store::open(&args.new, || Store::of_workspace(&args.cargo));
    let (_, new) = match opened {
        Err(error)
            if matches!(error.kind(), Kind::UnknownRun { .. })
                && matches!(baselines.find(&args.new), Ok(Some(_))) =>
        {
            let (name, base) = (&args.new, &args.base);
            let message = format!("`{name}` is a baseline; the second argument must be a run");
            return Err(Error::usage(message)
                .with_help(format!("write `cargo loadtest compare {name} {base}`")));
        }
        opened => opened?,
    };
    let compared = if let Some(baseline) = baselines.find(&args.base)? {
        let contents = baseline.contents()?;
        let base = |identity: &str| {
            let mut all = contents.scenarios.iter();
            let runs = all.find(|runs| runs[0].identity() == identity);
            runs.into_iter().flatten().map(|kept| kept.side()).collect()
        };
        let known = contents.scenarios.iter().map(|runs| runs[0].identity());
        RunComparison::compare_runs(&args.base, true, &new, known.collect(), &base)
    } else {
        let base = open_base(args, &baselines)?;
        let sides = |identity: &str| {
            let all = base.scenarios.iter();
            let same = all.filter(|scenario| scenario.start.definition.identity() == identity);
            same.map(|scenario| comparison_side(&base, scenario))
                .collect()
        };
        let known = base.scenarios.iter();
        let known = known.map(|scenario| scenario.start.definition.identity());
        RunComparison::compare_runs(&base.run_id, false, &new, known.collect(), &sides)
    };
    match args.format {
        ResultFormat::Human => {
            let text = compared.words(console::result_width(), console::colours_results());
            console::print_result(text.trim_end())?;
        }
        ResultFormat::Json => console::print_json(data::render(&compared)?)?,
    }
    Ok(compared.exit_code())
}

/// The run that is compared with; what is none may be the name of a baseline that there is not.
fn open_base(args: &CompareArgs, baselines: &Baselines) -> Result<RunRecord, Error> {
    match store::open(&args.base, || Store::of_workspace(&args.cargo)) {
        Ok((_, record)) => Ok(record),
        Err(error) if *error.kind() == (Kind::UnknownRun { has_similar: false }) => {
            Err(baselines.unknown(&args.base))
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
        terminal::render_sections(&sections, width, colour)
    }

    /// 0 where nothing regressed, 99 where something did, 2 where nothing could be compared.
    fn exit_code(&self) -> u8 {
        let comparisons = || {
            self.scenarios
                .iter()
                .filter_map(|(_, outcome)| match outcome {
                    ComparisonOutcome::Compared(comparison) => Some(comparison),
                    _ => None,
                })
        };
        if comparisons().any(|comparison| comparison.regressions().next().is_some()) {
            Verdict::Failed.exit_code()
        } else if comparisons().next().is_some() {
            0
        } else {
            2
        }
    }
}
