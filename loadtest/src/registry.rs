//! The scenarios linked into this program.

use crate::chain::Scenario;
use loadtest_model::definition::ScenarioDef;

/// A registered scenario, submitted by `#[scenario]`.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Entry(pub fn() -> &'static Scenario);

inventory::collect!(Entry);

/// The linked scenarios, sorted by package, file and line, and their conflicts.
#[derive(Debug)]
pub struct Registry {
    /// All scenarios that can be listed; also others named in `problems`.
    pub scenarios: Vec<&'static Scenario>,
    /// Conflicts that forbid a run, such as a duplicate name. Each names both places.
    pub(crate) problems: Vec<String>,
}

impl Registry {
    /// Collects the linked scenarios.
    pub fn collect() -> Self {
        Self::new(
            inventory::iter::<Entry>
                .into_iter()
                .map(|entry| (entry.0)())
                .collect(),
        )
    }

    /// Sorts scenarios, and finds those with the same name.
    fn new(mut scenarios: Vec<&'static Scenario>) -> Self {
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
        scenarios.retain(|scenario| {
            let problem = describe_invalid_load(&scenario.definition);
            let is_valid = problem.is_none();
            problems.extend(problem);
            is_valid
        });
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

/// The problem of a load whose curve gives numbers that are none, which no listing can hold.
fn describe_invalid_load(definition: &ScenarioDef) -> Option<String> {
    let (at, target) = definition.load.as_ref()?.first_invalid_target()?;
    let (identity, file, line) = (definition.identity(), &definition.file, definition.line);
    Some(format!(
        "the load of the scenario `{identity}` is {target} at {}s: {file}:{line}; its curve has to give numbers of at \
         least 0",
        at.as_secs_f64()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{Prepared, SetupError};
    use loadtest_model::definition::{Load, sample};
    use std::time::Duration;

    fn scenario(function: &'static str, name: &'static str, line: u32) -> &'static Scenario {
        with_load(None, function, name, line)
    }

    fn with_load(
        load: Option<Load>,
        function: &'static str,
        name: &'static str,
        line: u32,
    ) -> &'static Scenario {
        let definition = sample::scenario(load, Vec::new());
        Box::leak(Box::new(Scenario {
            root: "",
            definition: ScenarioDef {
                function: function.into(),
                name: name.into(),
                line,
                ..definition
            },
            prepare: |_| -> Result<Prepared, SetupError> { unreachable!("nothing runs") },
            chain: |_, _| unreachable!("nothing runs"),
            teardown: |_, _| Ok(()),
        }))
    }

    #[test]
    fn scenarios_are_in_the_order_of_the_source() {
        let registry = Registry::new(vec![
            scenario("b", "b", 9),
            scenario("a", "a", 20),
            scenario("c", "c", 3),
        ]);
        let names: Vec<&str> = registry
            .scenarios
            .iter()
            .map(|scenario| &*scenario.definition.name)
            .collect();
        assert_eq!(names, ["c", "b", "a"]);
        assert!(registry.problems.is_empty());
    }

    #[test]
    fn a_curve_that_leaves_the_numbers_is_a_problem_with_its_time_and_place() {
        let curve = |at: Duration| 5.0 - at.as_secs_f64();
        let load = Load::rate_curve(curve, Duration::from_secs(9));
        let registry = Registry::new(vec![
            with_load(Some(load), "a", "a", 4),
            scenario("b", "b", 8),
        ]);
        assert_eq!(registry.scenarios.len(), 1);
        assert_eq!(
            registry.problems,
            [
                "the load of the scenario `shop::load::a` is -1 at 6s: tests/load.rs:4; its curve has to give \
                 numbers of at least 0"
            ]
        );
    }

    #[test]
    fn a_name_given_twice_names_both_places() {
        let registry = Registry::new(vec![
            scenario("a", "checkout", 4),
            scenario("checkout", "checkout", 8),
        ]);
        assert_eq!(
            registry.problems,
            [
                "the scenario name `checkout` exists twice: tests/load.rs:4 and tests/load.rs:8; \
              give one of them another name"
            ]
        );
        let same = Registry::new(vec![scenario("a", "a", 4), scenario("a", "a", 8)]);
        assert!(same.problems[0].starts_with("the scenario `shop::load::a` exists twice"));
    }
}
