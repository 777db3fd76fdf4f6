//! Each scenario a test: one virtual user, one iteration, everything shown that goes wrong.

use super::complain;
use super::errands::Errands;
use super::permission::{permitted, reach};
use super::run::{
    NO_TARGET, base_url, context, given_base_url, known_base, missing_secrets, needs_base, set_up,
    tear_down,
};
use super::sender::Sender;
use crate::chain::{Scenario, SetupContext};
use crate::engine;
use crate::registry::Registry;
use crate::secrets::{self, Missing};
use crate::targets::offline::{self, Denied};
use crate::transport::HttpTransport;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use loadtest_model::plan::{GradingDefaults, Overrides, Plan};
use std::process::ExitCode;
use std::sync::Arc;
use tokio::runtime;
use tokio::task::LocalSet;

/// What an empty list of scenarios exits with: nothing selected.
const NOTHING: u8 = 3;
/// What a mistake in the scenarios exits with.
const USAGE: u8 = 2;

/// The `main` of the binary under `cargo test` and `cargo nextest`.
pub(super) fn main(registry: &Registry) -> ExitCode {
    let Asked { arguments, filters } = asked(std::env::args());
    if registry.scenarios.is_empty() {
        complain(
            "error: no scenario is linked into this binary\n\
             help: write one with `#[scenario]`; if they live in a library, add `use my_crate as _;`",
        );
        return ExitCode::from(NOTHING);
    }
    if !registry.problems.is_empty() {
        for problem in &registry.problems {
            complain(&format!("error: {problem}"));
        }
        return ExitCode::from(USAGE);
    }
    if !arguments.list {
        offline::enter();
        if let Some(Denied { message, help }) = offline::denied() {
            complain(&format!("error: {message}"));
            if let Some(help) = help {
                complain(&format!("help: {help}"));
            }
            return ExitCode::from(USAGE);
        }
    }
    let trials = names(&registry.scenarios)
        .into_iter()
        .zip(&registry.scenarios)
        .filter(|(name, _)| {
            let chosen = |filter: &String| {
                if arguments.exact {
                    name == filter
                } else {
                    name.contains(filter)
                }
            };
            filters.is_empty() || filters.iter().any(chosen)
        })
        .map(|(name, &scenario)| Trial::ignorable_test(name, move || trial(scenario)))
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The names of the tests: those within the crate, and where a library has the same one, with the crate.
fn names(scenarios: &[&Scenario]) -> Vec<String> {
    let short: Vec<String> = scenarios
        .iter()
        .map(|scenario| scenario.definition.test_name())
        .collect();
    scenarios
        .iter()
        .zip(&short)
        .map(|(scenario, name)| {
            let definition = &scenario.definition;
            if short.iter().filter(|other| *other == name).count() > 1 {
                format!("{}::{}", definition.module, definition.function)
            } else {
                name.clone()
            }
        })
        .collect()
}

/// What the command line asks for.
struct Asked {
    arguments: Arguments,
    /// Several filters, as libtest takes them; the crate itself takes one.
    filters: Vec<String>,
}

fn asked(all: impl Iterator<Item = String>) -> Asked {
    const WITH_VALUE: [&str; 6] = [
        "--test-threads",
        "--logfile",
        "--skip",
        "--color",
        "--format",
        "-Z",
    ];
    let (mut flags, mut filters) = (Vec::new(), Vec::new());
    let mut value = true; // the name of the program
    for argument in all {
        if value || argument.starts_with('-') {
            value = !value && WITH_VALUE.contains(&&*argument);
            flags.push(argument);
        } else {
            filters.push(argument);
        }
    }
    if filters.len() == 1 {
        flags.append(&mut filters);
    }
    Asked {
        arguments: Arguments::from_iter(flags),
        filters,
    }
}

fn trial(scenario: &'static Scenario) -> Result<Completion, Failed> {
    let definition = &scenario.definition;
    let given = given_base_url();
    if given.is_none()
        && definition.base.is_none()
        && !definition.starts_target
        && needs_base(scenario)
    {
        return Ok(Completion::ignored_with(format!("no target: {NO_TARGET}")));
    }
    let (absent, wrong): (Vec<_>, Vec<_>) =
        missing_secrets(definition).partition(Missing::is_absent);
    if let Some(wrong) = wrong.first() {
        return Err(Failed::from(format!("{wrong}; {}", wrong.help())));
    }
    if let Some(absent) = absent.first() {
        return Ok(unknown(absent));
    }
    secrets::forget_missing();
    let ended = smoke(scenario, given);
    match secrets::missing_here() {
        // What was sent until then proves nothing.
        Some(absent) if absent.is_absent() => Ok(unknown(&absent)),
        _ => ended,
    }
}

/// A scenario without one of its secrets.
fn unknown(absent: &Missing) -> Completion {
    Completion::ignored_with(format!("no secret: {absent}; {}", absent.help()))
}

fn smoke(scenario: &'static Scenario, given: Option<String>) -> Result<Completion, Failed> {
    let definition = &scenario.definition;
    let plan = Plan::new(
        definition,
        &Overrides::default(),
        &GradingDefaults::default(),
        0,
    )
    .map_err(|errors| {
        errors
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    })?;
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let known = known_base(given.as_deref(), definition);
    let sender = Sender::of_errand("smoke");
    runtime.block_on(permitted(scenario, known.as_deref(), &sender))?;
    let mut context = SetupContext {
        first_rows: true,
        ..context(
            scenario,
            given.clone(),
            &plan,
            Errands::new(scenario, &sender)?,
        )
    };
    let withdrawn = || {
        let reason = sender.withdrawn()?;
        Some(format!("the permission to test has ended: {reason}"))
    };
    let prepared = set_up(scenario, &context).map_err(|message| withdrawn().unwrap_or(message))?;
    let base = base_url(given, &prepared, definition);
    context.base_url.clone_from(&base);
    let result = LocalSet::new().block_on(&runtime, async {
        if let Some(withdrawn) = withdrawn() {
            return Err(Failed::from(withdrawn));
        }
        let network = reach(scenario, base.as_deref(), &sender).await?;
        let transport = HttpTransport::new(Arc::new(network), 0);
        engine::smoke::smoke(scenario, &prepared.shared, &plan, transport)
            .await
            .map_err(Failed::from)?;
        withdrawn().map_or(Ok(()), |withdrawn| Err(Failed::from(withdrawn)))
    });
    let died = prepared.target.as_ref().map(crate::targets::Target::check);
    tear_down(scenario, &prepared, &context);
    match (result, died) {
        (Err(failed), Some(Err(died))) => {
            let shown = failed.message().unwrap_or_default();
            Err(Failed::from(format!(
                "{shown}\nthe target did not survive: {died}"
            )))
        }
        (result, _) => result.map(|()| Completion::Completed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadtest_model::definition::ScenarioDef;

    fn of(arguments: &[&str]) -> (Option<String>, Vec<String>) {
        let all = ["load"].iter().chain(arguments).map(ToString::to_string);
        let Asked { arguments, filters } = asked(all);
        (arguments.filter, filters)
    }

    #[test]
    fn a_name_that_a_library_has_too_says_whose_it_is() {
        let scenario = |module: &'static str| Scenario {
            definition: ScenarioDef {
                module: module.into(),
                ..ScenarioDef::new("checkout", Vec::new())
            },
            root: "",
            prepare: |_| unreachable!("nothing runs"),
            chain: |_, _| unreachable!("nothing runs"),
            teardown: |_, _| Ok(()),
        };
        let all = ["load", "acme_scenarios", "acme_scenarios::deep"].map(scenario);
        assert_eq!(
            names(&all.each_ref()),
            [
                "load::checkout",
                "acme_scenarios::checkout",
                "deep::checkout"
            ]
        );
    }

    #[test]
    fn several_filters_are_ours_and_one_is_the_harness_s() {
        assert_eq!(of(&["--skip", "a", "--exact"]), (None, vec![]));
        assert_eq!(
            of(&["checkout", "--exact"]),
            (Some("checkout".to_owned()), vec![])
        );
        let both = vec!["checkout".to_owned(), "health".to_owned()];
        assert_eq!(
            of(&["checkout", "--test-threads", "1", "health"]),
            (None, both)
        );
    }
}
