//! `cargo loadtest capacity`: the highest arrival rate at which a scenario meets an SLO.

use super::run::{self, mistaken_plan};
use super::{Project, publish, recorded, warn_of_unjudged_gate};
use crate::cli::{CapacityArgs, Cli, ObservedText, RateArgs, Slo};
use crate::config::{Config, FigureConfig, WrittenLimit, list_figures};
use crate::export::Format;
use crate::notify::{Planned, Run};
use crate::observe::Observer;
use crate::policy::{self, Action};
use crate::selection::Found;
use crate::session::{self, Program, SearchView};
use crate::store::{MeasuredRun, RunFolder, Store};
use crate::telemetry::RunFacts;
use crate::workspace;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::suggestion::find_similar;
use loadtest_model::capacity::{Goal, ObservedCondition, Purpose, Search, Trial, TrialOutcome};
use loadtest_model::definition::{Bound, Load, Metric, Part, ScenarioDef, Subject, Threshold};
use loadtest_model::display;
use loadtest_model::exit_code::ExitCode;
use loadtest_model::plan::{PlanError, ScopedThreshold, declared_thresholds, with_error_limit};
use loadtest_model::protocol::CapacityRequest;
use loadtest_model::record::RunRecord;
use loadtest_model::threshold::ThresholdMistake;
use loadtest_model::trace::Tracing;
use std::time::Duration;

/// The first rate where the scenario declares none.
const FIRST: f64 = 10.0;
/// The highest rate that one machine can start.
const HIGHEST: f64 = 1_000_000.0;

/// Searches for the capacity of a scenario.
///
/// # Errors
/// What prevents the search as a whole.
pub(crate) fn capacity(args: &CapacityArgs, cli: &Cli) -> Result<ExitCode, Error> {
    warn_of_unjudged_gate(args.ci.then_some("--ci"))?;
    let mut exports = publish::Exports::check(&args.export, &args.reports)?;
    let given = recorded::read_requests(&args.curl)?;
    let measures_itself = given.is_some();
    let project = Project::open_for(given.as_ref(), &args.project, cli)?;
    let config = project.config()?;
    let webhooks = project.webhooks(&config)?;
    let telemetry = project.telemetry(&config, &args.telemetry)?;
    let observation = project.observation(&config)?;
    exports = exports.without_card(telemetry.takes_output());
    if args.ci {
        exports = exports.for_ci(project.workspace.root());
    }
    let store = Store::in_workspace(&project.workspace, &config);
    project.permits(Action::Capacity, &config)?;
    let RateArgs { from, min, max, .. } = args.rates;
    check_rates(from, min, max.unwrap_or(HIGHEST))?;
    let found = &project.one(args.scenario.as_deref(), given)?;
    if measures_itself {
        recorded::warn_of_debug_build(cli.quiet);
    }
    policy::permits_tests(&config, std::slice::from_ref(found))?;
    let seed = args.trials.seed.unwrap_or_else(run::random_seed);
    let figures = list_figures(&config.observe);
    let goal = parse_goal(args, &found.definition, &figures)?;
    let highest = Purpose::Search;
    goal.plan(
        &found.definition,
        &config.grading,
        seed,
        goal.max_per_second,
        highest,
    )
    .map_err(|mistakes| mistaken_plan_error(found, &mistakes))?;

    let hash = workspace::hash(&found.binary.executable)?;
    observation.check(&goal.observed)?;
    let folder = store.create()?;
    let environment = workspace::environment(project.workspace.root(), &store.outputs());
    let mut record = RunRecord {
        capacity: Some(Search::new(&found.definition, goal.clone())),
        ..folder.new_record(environment)
    };
    folder.open(&record)?;
    let planned = Planned::new(&found.definition, describe_search(&goal, &record));
    let told = webhooks.started(Run::new(&record, vec![planned]));
    let hub = telemetry.start(RunFacts::from(&record), &[&found.definition], None);
    let request = build_request(args, found, &config, &folder, goal, (seed, hash));
    if !cli.quiet {
        announce_search(&request, &record);
    }
    let mut view = SearchView {
        quiet: cli.quiet,
        feed: hub.feed(0),
        folder: &folder,
        observation: &observation,
        observers: Vec::new(),
    };
    let made = session::capacity(
        Program::from_binary(&found.binary, project.offline),
        &request,
        &folder.request(1),
        &project.interrupts,
        &mut view,
        |trial| {
            if !cli.quiet {
                print_trial(trial, &request);
            }
        },
    );
    wait_for_observers(&view.observers);
    let read = made.and_then(|()| folder.fold_search(&mut record));
    if let Err(error) = read {
        console::print_error(&error);
        record.not_run.push(super::series::not_run(found, &error));
        record.capacity = None;
    }
    record.telemetry = hub.finish(cli.quiet, &project.interrupts);
    let trials = record
        .capacity
        .as_ref()
        .map_or(0, |search| search.trials.len());
    // One more may have begun.
    let result = MeasuredRun {
        record: &record,
        comparison: None,
    };
    let concluded = publish::conclude(&store, &folder, result, trials + 1, &exports);
    let page = folder.file(Format::Html.file_name());
    told.ended(
        result,
        &concluded,
        &page,
        project.workspace.root(),
        &project.interrupts,
    );
    concluded
}

/// Builds the request to the load test, which names its files in the folder of the run.
fn build_request(
    args: &CapacityArgs,
    found: &Found,
    config: &Config,
    folder: &RunFolder,
    goal: Goal,
    (seed, executable_hash): (u64, String),
) -> CapacityRequest {
    let (trials, confirmations) = goal.most();
    let tracing = config.traces.tracing(args.trace.share);
    let has_spans = tracing.as_ref().is_some_and(Tracing::has_spans);
    CapacityRequest {
        scenario: found.definition.identity(),
        run_id: folder.identifier(),
        base_url: args.trials.base_url.clone(),
        grading: config.grading.clone(),
        tracing,
        seed,
        executable_hash,
        goal,
        search: folder.search(),
        trials: (1..=trials + confirmations)
            .map(|number| folder.trial(number, has_spans))
            .collect(),
    }
}

/// Waits for the last answers about the target's side, which are in the folder then.
fn wait_for_observers(observers: &[Observer]) {
    for observer in observers {
        observer.conclude();
        for line in observer.take_news() {
            console::print_warning(line);
        }
    }
}

/// Returns the goal of the command line.
///
/// # Errors
/// An invalid or missing SLO; rates that contradict one another.
fn parse_goal(
    args: &CapacityArgs,
    definition: &ScenarioDef,
    figures: &[FigureConfig],
) -> Result<Goal, Error> {
    let RateArgs {
        from,
        max,
        min,
        tolerance,
    } = args.rates;
    let max = max.unwrap_or(HIGHEST);
    let declared = definition.load.as_ref().filter(|load| load.is_open());
    let first = from.unwrap_or_else(|| declared.map_or(FIRST, Load::peak).min(max));
    check_rates(Some(first), min, max)?;
    let (slo, observed) = match &args.slo {
        Some(slo) => resolve_conditions(slo, definition, figures)?,
        None => (declared_slo(definition)?, Vec::new()),
    };
    Ok(Goal {
        slo: with_error_limit(slo),
        observed,
        from_per_second: first,
        max_per_second: max,
        min_per_second: min,
        tolerance,
        window: args.trials.window,
        confirm: args.trials.confirm,
        ramp_up: args.trials.ramp_up,
        rest: args.trials.rest,
        max_users: args.trials.max_users,
    })
}

/// Refuses rates above the highest one.
///
/// # Errors
/// When there is one.
fn check_rates(from: Option<f64>, min: Option<f64>, max: f64) -> Result<(), Error> {
    for (flag, rate) in [("--from", from), ("--min", min)] {
        if let Some(rate) = rate.filter(|rate| *rate > max) {
            let (rate, max) = (
                display::format_exact_rate(rate),
                display::format_exact_rate(max),
            );
            return Err(
                Error::usage(format!("`{flag} {rate}` is above the highest rate, {max}"))
                    .with_help("give a higher `--max`, or a lower rate"),
            );
        }
    }
    Ok(())
}

/// The conditions with the numbers of their steps, and those on the target's own side; all that is wrong with them at
/// once.
fn resolve_conditions(
    slo: &Slo,
    definition: &ScenarioDef,
    figures: &[FigureConfig],
) -> Result<(Vec<ScopedThreshold>, Vec<ObservedCondition>), Error> {
    let (mut resolved, mut mistakes) = (Vec::new(), Vec::new());
    for condition in &slo.conditions {
        let mut wrong = |message: String| {
            let place = condition.place.clone();
            mistakes.push(ThresholdMistake { place, message }.render_below(&slo.text));
        };
        if is_rate(&condition.threshold) {
            wrong("the rate is what is searched for: `--min 500/s` asks for one".to_owned());
            continue;
        }
        let groups = || definition.groups.iter().map(|group| &*group.name);
        let mut group = None;
        let step = match &condition.step {
            None => None,
            Some(name) => {
                let mut names = definition.steps.iter().map(|step| &*step.name);
                let found = names.position(|step| step == name);
                group = groups().position(|group| group == name);
                if found.is_none() && group.is_none() {
                    let names: Vec<_> = definition
                        .steps
                        .iter()
                        .map(|step| &*step.name)
                        .chain(groups())
                        .collect();
                    let hint = if Part::NAMED.iter().any(|part| part.name() == name) {
                        format!("`{name}` is a metric of a step: `{}.{name}.p95`", names[0])
                    } else if let Some(name) = find_similar(name, names.iter().copied()) {
                        format!("did you mean `{name}`?")
                    } else {
                        format!("there is `{}`", names.join("`, `"))
                    };
                    wrong(format!("there is no step `{name}`; {hint}"));
                    continue;
                }
                found
            }
        };
        let mut scoped = ScopedThreshold::new(definition, step, condition.threshold.clone());
        scoped.group = group.filter(|_| step.is_none());
        if let Subject::Tag(tag) = &scoped.threshold.subject
            && scoped.tagged.is_empty()
        {
            wrong(format!("no step has the tag `{tag}`"));
        }
        resolved.push(scoped);
    }
    let mut observed = Vec::new();
    for condition in &slo.observed {
        match resolve_observed(condition, figures) {
            Ok(condition) => observed.push(condition),
            Err(message) => {
                let place = condition.place.clone();
                mistakes.push(ThresholdMistake { place, message }.render_below(&slo.text));
            }
        }
    }
    if mistakes.is_empty() {
        Ok((resolved, observed))
    } else {
        Err(Error::usage(format!(
            "invalid SLO\n{}",
            mistakes.join("\n")
        )))
    }
}

/// Returns a condition on one of the figures of the target's own side.
///
/// # Errors
/// What is wrong with it.
fn resolve_observed(
    condition: &ObservedText,
    figures: &[FigureConfig],
) -> Result<ObservedCondition, String> {
    let name = &*condition.name;
    let mut found = figures.iter().filter(|figure| figure.has_series(name));
    let names = || figures.iter().map(|figure| &*figure.name);
    let figure = found.next().ok_or_else(|| {
        let all: Vec<_> = names().collect();
        let hint = find_similar(name, names()).map_or_else(
            || format!("there is `{}`", all.join("`, `")),
            |name| format!("did you mean `{name}`?"),
        );
        format!("no observed figure has the name `{name}`; {hint}")
    })?;
    if let Some(by) = figure.by.as_ref().filter(|_| figure.name == name) {
        return Err(format!(
            "`{name}` has a series for each `{by}`; write the value of one behind the name"
        ));
    }
    let limit = WrittenLimit::parse(&condition.limit).map_err(|mistake| {
        let limit = &condition.limit;
        format!("`{limit}` {mistake}")
    })?;
    if limit.ends_run() {
        return Err("a search continues after it; leave `or abort` out".to_owned());
    }
    Ok(ObservedCondition {
        name: name.to_owned(),
        unit: figure.unit.clone(),
        limit: limit.in_unit(&figure.unit)?,
    })
}

/// Returns true for conditions on the rate itself, or on counts that grow with it.
fn is_rate(threshold: &Threshold) -> bool {
    let grows = matches!(
        threshold.metric,
        Metric::Throughput | Metric::Rate(_) | Metric::Count(_) | Metric::GoodRate | Metric::Units
    );
    threshold.metric == Metric::Rps || grows && threshold.comparison.is_floor()
}

/// The thresholds of the scenario, but for those on the rate.
fn declared_slo(definition: &ScenarioDef) -> Result<Vec<ScopedThreshold>, Error> {
    let slo = declared_thresholds(definition).filter(|scoped| !is_rate(&scoped.threshold));
    let slo: Vec<_> = slo
        .map(|scoped| ScopedThreshold {
            // A search goes on after a broken condition.
            threshold: scoped.threshold.without_abort(),
            ..scoped
        })
        .collect();
    let is_time = |scoped: &ScopedThreshold| matches!(scoped.threshold.bound, Bound::Time(_));
    if !slo.iter().any(is_time) {
        let message = format!(
            "`{}` has no latency threshold to search against",
            definition.identity()
        );
        return Err(Error::usage(message).with_help("give `--slo 'p95 < 300ms, errors < 1%'`"));
    }
    Ok(slo)
}

fn mistaken_plan_error(found: &Found, mistakes: &[PlanError]) -> Error {
    Error::usage(mistaken_plan(&found.definition, mistakes))
}

/// The load of a search, in words.
fn describe_search(goal: &Goal, record: &RunRecord) -> String {
    format!(
        "up to {}, the highest rate that meets {}",
        display::format_exact_rate(goal.max_per_second),
        join_conditions(record)
    )
}

fn join_conditions(record: &RunRecord) -> String {
    let conditions = record.capacity.iter().flat_map(|search| &search.conditions);
    let conditions: Vec<_> = conditions.map(ToString::to_string).collect();
    conditions.join(", ")
}

/// Says what is searched for, and how long that takes at most.
fn announce_search(request: &CapacityRequest, record: &RunRecord) {
    let goal = &request.goal;
    console::print_status(
        "Searching",
        format_args!(
            "the highest rate at which {} meets {}, seed {}",
            request.scenario,
            join_conditions(record),
            request.seed
        ),
    );
    let (trials, confirmations) = goal.most();
    let longest = Duration::from_secs(goal.longest().as_secs());
    console::print_status(
        "At most",
        format_args!(
            "{} ({trials} trials and {confirmations} confirmations), and up to 30 s for the last answers \
             of each",
            display::format_span(longest)
        ),
    );
}

/// Prints the result of a trial in one line.
fn print_trial(trial: &Trial, request: &CapacityRequest) {
    let verb = match (trial.attempt.outcome, trial.attempt.purpose) {
        (TrialOutcome::Met, Purpose::Search) => "Met",
        (TrialOutcome::Met, Purpose::Confirmation) => "Confirmed",
        (TrialOutcome::Missed, _) => "Missed",
        (TrialOutcome::GeneratorLimited, _) => "Generator",
    };
    let time = |time: Option<Duration>| {
        time.map_or_else(|| display::NO_VALUE.to_owned(), display::format_duration)
    };
    let errors = |rate: Option<f64>| {
        rate.map_or_else(|| display::NO_VALUE.to_owned(), display::format_percent)
    };
    let mut line = format!(
        "{:>9}  p95 {:>7}  errors {}",
        display::format_rate(trial.attempt.per_second),
        time(trial.p95),
        errors(trial.error_rate)
    );
    if trial.attempt.purpose == Purpose::Confirmation {
        line = format!(
            "{line}  over {}",
            display::format_span(request.goal.confirm)
        );
    }
    for reason in trial.reasons.iter().take(1) {
        line = format!("{line}: {}", console::clean(reason));
    }
    console::print_verdict(trial.attempt.outcome == TrialOutcome::Met, verb, line);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;
    use loadtest_model::plan::GradingDefaults;

    #[test]
    fn streams_are_searched_by_their_first_event_with_users_for_their_length() {
        let slo = "login.first_event.p95 < 800ms, login.per_unit.p95 < 50ms, errors < 1%";
        let users = |definition: &ScenarioDef| {
            let slo: Slo = slo.parse().unwrap();
            let (conditions, observed) = resolve_conditions(&slo, definition, &[]).unwrap();
            assert_eq!(conditions.len(), 3);
            assert_eq!(conditions[1].step, Some(0));
            let goal = Goal {
                slo: conditions,
                observed,
                from_per_second: 10.0,
                max_per_second: 1e6,
                min_per_second: None,
                tolerance: 0.05,
                window: Duration::from_secs(10),
                confirm: Duration::from_secs(60),
                ramp_up: Duration::from_secs(2),
                rest: Duration::from_secs(2),
                max_users: None,
            };
            let grading = GradingDefaults::default();
            let plan = goal.plan(definition, &grading, 1, 10.0, Purpose::Search);
            plan.unwrap().max_users
        };
        let mut definition = sample::definition("assistant", &[]);
        let steps = definition.steps.to_mut();
        steps[0] = sample::streamed(steps[0].clone());
        // A stream may last a minute, and twice that is kept free.
        assert_eq!(users(&definition), 1_200);
        definition.steps.to_mut()[0].stream = None;
        assert!(users(&definition) < 1_200);
    }
}
