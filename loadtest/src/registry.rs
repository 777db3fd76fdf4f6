//! The scenarios that are linked into this program.

use crate::chain::Scenario;

/// A registered scenario: what `#[scenario]` submits.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Entry(pub fn() -> &'static Scenario);

inventory::collect!(Entry);

/// The linked scenarios, in the order (package, file, line), and what is wrong with them.
#[derive(Debug)]
pub struct Registry {
    /// All scenarios; also those named in `problems`.
    pub scenarios: Vec<&'static Scenario>,
    /// Mistakes that forbid a run, such as a name given twice; each names both places.
    pub problems: Vec<String>,
}

impl Registry {
    /// Collects what is linked.
    pub fn collect() -> Self {
        Self::of(
            inventory::iter::<Entry>
                .into_iter()
                .map(|entry| (entry.0)())
                .collect(),
        )
    }

    fn of(mut scenarios: Vec<&'static Scenario>) -> Self {
        let place = |scenario: &Scenario| {
            let definition = &scenario.definition;
            (
                definition.package.to_string(),
                definition.file.to_string(),
                definition.line,
            )
        };
        scenarios.sort_by_key(|scenario| place(scenario));
        let mut problems = Vec::new();
        for (i, scenario) in scenarios.iter().enumerate() {
            let one = &scenario.definition;
            for earlier in &scenarios[..i] {
                let other = &earlier.definition;
                let what = if one.identity() == other.identity() {
                    format!("the scenario `{}`", one.identity())
                } else if one.package == other.package
                    && one.name == other.name
                    && (one.name != one.function || other.name != other.function)
                {
                    format!("the scenario name `{}`", one.name)
                } else {
                    continue;
                };
                problems.push(format!(
                    "{what} exists twice: {}:{} and {}:{}; give one of them another name",
                    other.file, other.line, one.file, one.line
                ));
            }
        }
        Self {
            scenarios,
            problems,
        }
    }
}
