//! Runs each scenario as a test: one virtual user, one iteration, every failure shown.

use super::permission::{permit_and_reach, permit_known_hosts};
use super::print_error;
use super::run::{
    NO_TARGET_HELP, base_url, declared_base_url, given_base_url, missing_secrets, set_up,
    setup_context, tear_down,
};
use super::run_identity::RunIdentity;
use super::setup_client::SetupClient;
use crate::chain::{Scenario, SetupContext};
use crate::engine;
use crate::redact;
use crate::registry::Registry;
use crate::secrets::{self, MissingSecret};
use crate::targets::offline::{self, OfflineDenied};
use crate::transport::HttpTransport;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use loadtest_model::exit_code::ExitCode;
use loadtest_model::plan::{GradingDefaults, Overrides, Plan};
use loadtest_model::redacted::replace_controls;
use std::process;
use std::sync::Arc;
use tokio::runtime;
use tokio::task::LocalSet;

/// The `main` of the binary under `cargo test` and `cargo nextest`.
pub(super) fn run_smoke_tests(registry: &Registry) -> process::ExitCode {
    let CommandLine { arguments, filters } = parse_command_line(std::env::args());
    if registry.scenarios.is_empty() {
        print_error(
            "error: no scenario is linked into this binary\n\
             help: write one with `#[scenario]`; if they live in a library, add `use my_crate as _;`",
        );
        return ExitCode::NothingFound.into();
    }
    if !registry.problems.is_empty() {
        for problem in &registry.problems {
            print_error(&format!("error: {problem}"));
        }
        return ExitCode::Usage.into();
    }
    if !arguments.list {
        offline::enter();
        if let Some(OfflineDenied { message, help }) = offline::denied() {
            print_error(&format!("error: {message}"));
            if let Some(help) = help {
                print_error(&format!("help: {help}"));
            }
            return ExitCode::Usage.into();
        }
    }
    let trials = test_names(&registry.scenarios)
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
        .map(|(name, &scenario)| Trial::ignorable_test(name, move || smoke_trial(scenario)))
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The names of the tests: those within the crate, and where a library has the same one, with the crate.
fn test_names(scenarios: &[&Scenario]) -> Vec<String> {
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

/// The parsed command line.
struct CommandLine {
    arguments: Arguments,
    /// Several filters, as libtest takes them; the crate itself takes one.
    filters: Vec<String>,
}

fn parse_command_line(all: impl Iterator<Item = String>) -> CommandLine {
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
    CommandLine {
        arguments: Arguments::from_iter(flags),
        filters,
    }
}

fn smoke_trial(scenario: &'static Scenario) -> Result<Completion, Failed> {
    let definition = &scenario.definition;
    let given = given_base_url();
    if given.is_none()
        && definition.base.is_none()
        && !definition.starts_target
        && definition.needs_base()
    {
        return Ok(Completion::ignored_with(format!(
            "no target: {NO_TARGET_HELP}"
        )));
    }
    let (absent, wrong): (Vec<_>, Vec<_>) =
        missing_secrets(definition).partition(MissingSecret::is_absent);
    if let Some(wrong) = wrong.first() {
        return Err(Failed::from(format!("{wrong}; {}", wrong.help())));
    }
    if let Some(absent) = absent.first() {
        return Ok(ignore_for_missing_secret(absent));
    }
    secrets::forget_missing();
    let ended = run_smoke_test(scenario, given).map_err(|failed| {
        let shown = failed.message().unwrap_or_default();
        Failed::from(replace_controls(shown))
    });
    match secrets::missing_here() {
        // What was sent until then proves nothing.
        Some(absent) if absent.is_absent() => Ok(ignore_for_missing_secret(&absent)),
        _ => ended,
    }
}

/// A scenario without one of its secrets.
fn ignore_for_missing_secret(absent: &MissingSecret) -> Completion {
    Completion::ignored_with(format!("no secret: {absent}; {}", absent.help()))
}

pub(super) fn run_smoke_test(
    scenario: &'static Scenario,
    given: Option<String>,
) -> Result<Completion, Failed> {
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
    let known = declared_base_url(given.as_deref(), definition);
    let sender = RunIdentity::for_side_task("smoke");
    runtime.block_on(permit_known_hosts(scenario, known.as_deref(), &sender))?;
    let mut context = SetupContext {
        first_rows: true,
        ..setup_context(
            scenario,
            given.clone(),
            &plan,
            SetupClient::new(scenario, &sender)?,
        )
    };
    let withdrawn = || {
        let reason = sender.withdrawn_reason()?;
        Some(redact::redact(&format!(
            "the permission to test has ended: {reason}"
        )))
    };
    let prepared = set_up(scenario, &context).map_err(|message| withdrawn().unwrap_or(message))?;
    let base = base_url(given, &prepared, definition);
    context.base_url.clone_from(&base);
    let result = LocalSet::new().block_on(&runtime, async {
        if let Some(withdrawn) = withdrawn() {
            return Err(Failed::from(withdrawn));
        }
        let network = permit_and_reach(scenario, base.as_deref(), &sender).await?;
        let transport = HttpTransport::new(Arc::new(network), 0);
        let ran = engine::smoke::run_smoke_test(scenario, &prepared.shared, &plan, transport);
        let untested = ran.await.map_err(Failed::from)?;
        withdrawn().map_or(Ok(untested), |withdrawn| Err(Failed::from(withdrawn)))
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
        (result, _) => {
            let untested = result?;
            Ok(untested.map_or(Completion::Completed, Completion::ignored_with))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadtest_model::definition::ScenarioDef;

    fn of(arguments: &[&str]) -> (Option<String>, Vec<String>) {
        let all = ["load"].iter().chain(arguments).map(ToString::to_string);
        let CommandLine { arguments, filters } = parse_command_line(all);
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
            test_names(&all.each_ref()),
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
