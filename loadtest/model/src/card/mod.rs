//! The report card: a pure function of the record, so that an old record can always be graded again.
//!
//! Headline numbers, grades and thresholds are of the steady part; accounts are of ramp and steady part.

mod accounts;
mod bottleneck;
mod capacity;
mod correlation;
mod dependency_failure;
mod error;
mod generator;
pub mod grade;
mod group;
mod headline;
mod inner;
mod loss;
mod observed;
mod own;
mod own_delay;
mod remark;
#[cfg(any(test, feature = "fixtures"))]
#[doc(hidden)]
pub mod sample;
mod setting;
mod slowest;
mod spectrum;
mod step;
mod stream;
mod summary;
#[cfg(test)]
mod tests;
mod threshold;
mod timeline;
mod trace;
mod trial;
mod validity;
mod verdict;
mod websockets;
mod weight;

use crate::exit_code::ExitCode;
pub use crate::record::Trust;
pub use accounts::Accounts;
pub use bottleneck::{Bottleneck, TailBottleneck};
pub use capacity::{Capacity, CapacityVerdict, Remark, Tone};
pub use correlation::{Correlation, Correlations};
pub use dependency_failure::DependencyFailure;
pub use error::ErrorRow;
pub use generator::Generator;
pub use grade::{Grade, JourneyBudget, StepGrade};
pub use group::GroupRow;
pub use headline::Headline;
pub use inner::InnerRow;
use inner::RowTally;
pub use loss::{Loss, LossKind};
pub use observed::ObservedRow;
pub use own::{CounterRow, GaugeRow, TimingRow};
pub use setting::Setting;
pub use slowest::{SlowRow, SlowStepRow};
pub use spectrum::SpectrumPoint;
pub use step::{Phases, Quantiles, StepRow};
pub use stream::StreamRow;
pub use threshold::{ThresholdRow, describe_broken};
pub use timeline::{GeneratorCourse, Point, SocketPoint, StepCourse, Timeline};
pub use trace::{TraceRow, TraceSubject};
pub use trial::judge_trial;
pub use validity::{Validity, ValidityCause};
pub(crate) use validity::{judge_busy_workers, judge_throttling};
pub use verdict::{Reason, ReasonKind, Verdict};
pub use websockets::WebSockets;
pub use weight::WeightRow;

use crate::comparison::{BaselineComparison, RunComparison};
use crate::definition::{Letter, Shape};
use crate::display;
use crate::metrics::{
    EndedStep, ErrorKind, Panicked, StepTally, Tally, Windows, journey_error_rate,
};
use crate::plan::GradingDefaults;
use crate::record::{EndReason, Environment, NotRun, RunRecord, ScenarioRecord, ShardRun};
use crate::redacted::Redacted;

use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// The graded result of an invocation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The identifier of the run.
    pub run_id: String,
    /// The time the run began, RFC 3339 in UTC.
    pub started_at: String,
    /// The version of the tool that ran it.
    pub tool_version: String,
    /// The machine and the source.
    pub environment: Environment,
    /// A card per scenario, in the order they ran.
    pub cards: Vec<Card>,
    /// The selected scenarios that did not run.
    pub not_run: Vec<NotRun>,
    /// The search for the capacity, where the run was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
}

/// The graded result of one scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Card {
    /// The identity of the scenario: `package::module::function`.
    pub identity: String,
    /// The name shown to people.
    pub name: String,
    /// The doc comment.
    pub description: String,
    /// Free labels.
    pub tags: Vec<String>,
    /// The place of the scenario in its source: `tests/load.rs:12`.
    pub source: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, the decisive reasons first; empty when it passed.
    pub reasons: Vec<Reason>,
    /// Remarks that do not decide the verdict.
    pub remarks: Vec<String>,
    /// The overall grade.
    pub grade: Grade,
    /// The least grade with which the run passes, where one is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_grade: Option<Letter>,
    /// The policy that the run was graded by anew, where it was; the verdict is by that one too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regraded: Option<GradingDefaults>,
    /// The points that the overall grade lost, largest loss first.
    pub losses: Vec<Loss>,
    /// The figures in large type.
    pub headline: Headline,
    /// A row per group of steps, in the order of the scenario.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupRow>,
    /// A row per step, in the order of the scenario.
    pub steps: Vec<StepRow>,
    /// The step with the largest share of the time.
    pub bottleneck: Option<Bottleneck>,
    /// The step that dominates the slowest 5 % of journeys, where it is another one.
    pub tail: Option<TailBottleneck>,
    /// The slowest journeys, ok or not, the slowest first.
    pub slowest: Vec<SlowRow>,
    /// The traces of slow and failed journeys that are sampled, with their addresses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<TraceRow>,
    /// The distribution of the times in large type.
    pub spectrum: Vec<SpectrumPoint>,
    /// Steps that could not run since an upstream value was missing.
    pub dependency_failures: Vec<DependencyFailure>,
    /// Steps that did not run since an upstream step was not drawn, or since they or an upstream step left
    /// themselves out; no failure.
    pub not_drawn: Vec<DependencyFailure>,
    /// Weights, configured and observed, of the steps that do not always run.
    pub weights: Vec<WeightRow>,
    /// Failures by step, kind and status, the most frequent first.
    pub errors: Vec<ErrorRow>,
    /// Requests that the guard did not let out, of steps that send for themselves and went on without.
    #[serde(skip)]
    pub unheeded: Vec<ErrorRow>,
    /// Answers by status, of all steps.
    pub statuses: BTreeMap<u16, u64>,
    /// The WebSockets, where there were some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub websockets: Option<WebSockets>,
    /// The custom counters of the scenario (`vu.count(..)`), by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<CounterRow>,
    /// The custom times of the scenario (`vu.time(..)`), by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timings: Vec<TimingRow>,
    /// The gauges of the scenario (`vu.gauge(..)`), by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gauges: Vec<GaugeRow>,
    /// The panics of steps.
    pub panics: Vec<Panicked>,
    /// The end of the target that the scenario started, if it did not survive the run.
    pub target_death: Option<Redacted>,
    /// The thresholds and their results.
    pub thresholds: Vec<ThresholdRow>,
    /// The comparison with a baseline, if the run was compared with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<BaselineComparison>,
    /// The accounts of all iterations.
    pub accounts: Accounts,
    /// The validity of the measurement.
    pub validity: Validity,
    /// The generator's own figures.
    pub generator: Generator,
    /// The shards, where several processes made the load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub generators: Vec<ShardRun>,
    /// The target's own side.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub observed: Vec<ObservedRow>,
    /// The figures of the target's side that move together with latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlations: Option<Correlations>,
    /// The settings of the run.
    pub setting: Setting,
    /// Notes that a reader needs to understand the figures.
    pub notes: Vec<String>,
    /// The course over time.
    pub course: Timeline,
}

impl Report {
    /// Grades a record by the policy stored in it, and by its comparison with a baseline if there is one.
    pub fn grade(record: &RunRecord, comparison: Option<&RunComparison>) -> Self {
        let compared = |scenario: &ScenarioRecord| {
            let identity = scenario.start.definition.identity();
            comparison?.scenarios.get(&identity)
        };
        let cards = record.scenarios.iter();
        let cards = cards.map(|scenario| Card::grade(scenario, compared(scenario)));
        Self {
            run_id: record.run_id.clone(),
            started_at: record.started_at.clone(),
            tool_version: record.tool_version.clone(),
            environment: record.environment.clone(),
            cards: cards.collect(),
            not_run: record.not_run.clone(),
            capacity: record.capacity.as_ref().map(Capacity::from_search),
        }
    }

    /// The exit code of the run: the worst of its cards and of what did not run; 3 without any. A search
    /// has its own: its card is of one trial.
    pub fn exit_code(&self) -> ExitCode {
        if let Some(capacity) = self.capacity.as_ref().filter(|_| self.not_run.is_empty()) {
            return capacity.exit_code();
        }
        if self.cards.is_empty() && self.not_run.is_empty() {
            return Verdict::Empty.exit_code();
        }
        let cards = self.cards.iter().map(|card| card.verdict.exit_code());
        ExitCode::worst_of(cards.chain(self.not_run.iter().map(|scenario| scenario.exit_code)))
    }
}

impl Card {
    /// Grades one scenario, and its comparison with a baseline if there is one.
    pub fn grade(record: &ScenarioRecord, comparison: Option<&BaselineComparison>) -> Self {
        let definition = &record.start.definition;
        // A tally in which nothing happened has no steps.
        let mut tally = record.windows.steady.clone();
        tally.merge(&Tally::new(definition.steps.len()));
        tally.steps.truncate(definition.steps.len());
        let is_measured = record.windows.have_measured_steps();
        if !is_measured {
            tally.journey.forget_measurements();
        }
        let names: Vec<&str> = definition.steps.iter().map(|step| &*step.name).collect();
        let seconds = steady_seconds(record);
        let accounts = Accounts::from_record(record);
        let generator = Generator::from_record(record);
        let validity = Validity::from_record(record, &accounts, &generator);
        let withheld = validity.trust == Trust::Invalid;
        let (steps, grade, losses) = grade_steps(record, &tally, &names, seconds, withheld);
        let (dependency_failures, not_drawn) = DependencyFailure::all(&record.windows, &names);
        let bottleneck = Bottleneck::find(&steps, &tally.steps, definition.client.http);
        let tail = TailBottleneck::find(&tally.journey.shares, &steps).filter(|tail| {
            bottleneck
                .as_ref()
                .is_some_and(|bottleneck| bottleneck.step != tail.step)
        });
        let mut course = Timeline::from_record(record);
        if !is_measured {
            course.forget_journeys();
        }
        let slowest = SlowRow::all(&tally.journey.slowest, &names, &record.start.plan.load);
        let observed = ObservedRow::all(record, &course);
        let mut card = Self {
            identity: definition.identity(),
            name: definition.name.to_string(),
            description: definition.description.to_string(),
            tags: definition.tags.iter().map(ToString::to_string).collect(),
            source: format!("{}:{}", definition.file, definition.line),
            verdict: Verdict::Passed,
            reasons: Vec::new(),
            remarks: Vec::new(),
            grade,
            min_grade: record.start.plan.min_grade,
            regraded: record.regraded.clone(),
            losses,
            headline: Headline::from_record(record, &tally, seconds.filter(|_| is_measured)),
            bottleneck,
            tail,
            traces: TraceRow::all(record, &slowest, &names),
            slowest,
            spectrum: SpectrumPoint::all(&tally.times()),
            dependency_failures,
            not_drawn,
            weights: definition
                .steps
                .iter()
                .zip(&tally.steps)
                .filter(|(step, tally)| step.weight < 1.0 || tally.not_drawn > 0)
                .map(|(step, tally)| WeightRow::from_step(step, tally))
                .collect(),
            errors: ErrorRow::all(&record.windows, &names),
            unheeded: ErrorRow::unheeded(&record.windows, &names),
            statuses: sum_statuses(&tally.steps),
            websockets: WebSockets::from_record(record),
            counters: CounterRow::all(&tally.own, seconds),
            timings: TimingRow::all(&tally.own),
            gauges: GaugeRow::all(&tally.own),
            panics: record.end.panics.clone(),
            target_death: record.end.target_death.clone(),
            thresholds: ThresholdRow::all(record, &tally, seconds),
            comparison: comparison.cloned(),
            accounts,
            validity,
            generator,
            // The delays over time are in the course.
            generators: (record.shards.iter().cloned())
                .map(|shard| ShardRun {
                    latest_us: Vec::new(),
                    ..shard
                })
                .collect(),
            setting: Setting::from_record(record),
            notes: Vec::new(),
            correlations: Correlations::find(record, &observed, &course),
            observed,
            course,
            groups: GroupRow::all(&definition.groups, &tally, &steps, seconds),
            steps,
        };
        (card.verdict, card.reasons) = verdict::judge_card(&card, record, seconds);
        card.remarks = remark::collect_remarks(&card, record);
        card.notes = collect_notes(&card, record);
        card
    }
}

/// Returns the note that a grade is not the one that the run had.
fn graded_anew(policy: &GradingDefaults) -> String {
    let target = policy
        .apdex
        .map(|target| format!("T = {}", display::format_span(target)));
    let budget = policy
        .budget
        .map(|budget| format!("an error budget of {}", display::format_percent(budget)));
    let weight = policy
        .grade_weight
        .map(|weight| format!("a weight of {weight}"));
    let parts: Vec<_> = target.into_iter().chain(budget).chain(weight).collect();
    let mut all = Vec::new();
    if !parts.is_empty() {
        all.push(format!("with {} for every step", parts.join(" and ")));
    }
    let least = policy.min_grade;
    all.extend(least.map(|least| format!("with at least {least} required")));
    let mut words = format!("Graded again, {}.", all.join(", and "));
    if policy.apdex.is_some() {
        words.push_str(
            " Where the run had another T, times within 0.1 % of T or 4 T may be counted on the other side.",
        );
    }
    words
}

/// The rows of the steps with their grades, the overall grade, and where its points went.
fn grade_steps(
    record: &ScenarioRecord,
    tally: &Tally,
    names: &[&str],
    seconds: Option<f64>,
    withheld: bool,
) -> (Vec<StepRow>, Grade, Vec<Loss>) {
    let plan = &record.start.plan;
    let regraded = record.regraded.as_ref();
    let is_regraded = regraded.is_some_and(|policy| policy.apdex.is_some());
    let repeated = record.start.definition.steps.iter().zip(&tally.steps);
    let repeated = repeated.filter(|(step, _)| !step.runs_once_per_user());
    let all_time: Duration = repeated.map(|(_, counts)| counts.time_spent()).sum();
    let mut rows = Vec::new();
    let (ended, nothing) = (tally.ended(), EndedStep::default());
    for (i, (step, counts)) in record
        .start
        .definition
        .steps
        .iter()
        .zip(&tally.steps)
        .enumerate()
    {
        let windows = record.windows.all().into_iter();
        let everywhere = windows.filter_map(|window| window.steps.get(i));
        let connections = everywhere.map(|step| step.connections).sum();
        let ended = ended.steps.get(i).unwrap_or(&nothing);
        let inner = RowTally::all(counts, ended, plan, i);
        let mut row = StepRow::new(
            step,
            (counts, &inner),
            (ended, seconds),
            (all_time, connections),
        );
        let policy = plan.grading.get(i);
        row.grade = policy.and_then(|policy| StepGrade::from_tally(counts, policy));
        for (inner, RowTally { tally, .. }) in row.inner.iter_mut().zip(&inner) {
            let by_response =
                (step.stream.as_ref()).is_some_and(|stream| stream.graded_by_response);
            inner.grade(tally, plan, i, (is_regraded, by_response));
        }
        if let Some(grade) = &row.grade {
            row.losses = loss::losses_of_step(
                (i, row.graded_part()),
                names,
                counts,
                grade,
                &tally.dependencies,
            );
        }
        rows.push(row);
    }
    let grades: Vec<Option<StepGrade>> = rows.iter().map(|row| row.grade).collect();
    let mean = Grade::from_steps(&grades);
    let budgets = plan.grading.iter().map(|policy| policy.budget);
    let mut grade = match (journey_error_rate(tally), budgets.reduce(f64::max)) {
        (Some(errors), Some(budget)) => mean.clone().limit_by_journeys(errors, budget),
        _ => mean.clone(),
    };
    grade.partial = record.end.ending != EndReason::Completed;
    grade.ungraded = rows
        .iter()
        .filter(|row| row.grade.is_none())
        .map(|row| row.name.clone())
        .collect();
    let parts: Vec<_> = rows
        .iter()
        .map(|row| (row.name.as_str(), row.grade.as_ref(), row.losses.as_slice()))
        .collect();
    let mut losses = loss::losses_overall(&parts);
    losses.extend(loss::loss_by_journeys(&mean, &grade, tally));
    losses.sort_by(|a, b| b.points.total_cmp(&a.points));
    if withheld {
        grade = Grade {
            score: None,
            letter: None,
            interval: None,
            withheld,
            ..grade
        };
        losses.clear();
        for row in &mut rows {
            row.grade = None;
            row.losses.clear();
            row.inner.iter_mut().for_each(|inner| inner.grade = None);
        }
    }
    (rows, grade, losses)
}

/// Returns the seconds that rates are divided by. A journal without an end does not know them; the elapsed time
/// replaces them.
fn steady_seconds(record: &ScenarioRecord) -> Option<f64> {
    let micros = if record.end.steady_us > 0 {
        record.end.steady_us
    } else {
        let ramp = match record.start.plan.load.shape {
            Shape::Rate { ramp_up, .. } | Shape::Users { ramp_up, .. } => ramp_up,
            _ => Duration::ZERO,
        };
        let before = (record.start.plan.load.warm_up + ramp).as_micros() as u64;
        record.end.elapsed_us.saturating_sub(before)
    };
    (micros > 0).then(|| micros as f64 / 1e6)
}

fn sum_statuses(steps: &[StepTally]) -> BTreeMap<u16, u64> {
    let mut all = BTreeMap::new();
    for (status, count) in steps.iter().flat_map(|step| &step.statuses) {
        *all.entry(*status).or_default() += count;
    }
    all
}

/// The steps without a grade: those that never ran, and those that ran before the measured part only.
fn note_ungraded(card: &Card, record: &ScenarioRecord) -> Vec<String> {
    let windows = &record.windows;
    let ran = |window: &Tally, i: usize| {
        let step = window.steps.get(i);
        step.is_some_and(|step| step.executed + step.skipped > 0)
    };
    let [
        mut untimed,
        mut cut_off_sessions,
        mut sessions,
        mut warm_up,
        mut ramp,
        mut cut_off,
        mut never,
    ] = [const { Vec::new() }; 7];
    for (i, row) in card.steps.iter().enumerate() {
        let names = match row.grade {
            Some(_) => continue,
            None if ran(&windows.steady, i) => &mut untimed,
            None if verdict::has_measured_rows(row) => {
                if windows.is_cut_off(i) {
                    &mut cut_off_sessions
                } else {
                    &mut sessions
                }
            }
            None if ran(&windows.ramp, i) => &mut ramp,
            None if ran(&windows.warm_up, i) => &mut warm_up,
            None if windows.is_cut_off(i) => &mut cut_off,
            None => &mut never,
        };
        names.push(row.name.as_str());
    }
    let advice = verdict::advise_on_streams(record);
    let advice = advice.map_or_else(String::new, |advice| format!(" To change that, {advice}."));
    let note = |why: &str, names: Vec<&str>, then: &str| {
        (!names.is_empty())
            .then(|| format!("Not graded, because {why}: {}.{then}", names.join(", ")))
    };
    [
        note(
            "they measured nothing",
            untimed,
            " An `async` step is measured by what it sends with `http`, and by what it gives to `vu.measure(..)`.",
        ),
        note(
            "the end of the load cut off their executions",
            cut_off_sessions,
            " Their work until then is counted in their rows. A step is graded if executions of it end before \
             the load does.",
        ),
        note(
            "each of their executions started before the measured part",
            sessions,
            " Their work in it is counted in their rows. A step is graded if other executions start after it ended, or \
             if the load has neither ramp nor warm-up.",
        ),
        note(
            "attempted in the warm-up only",
            warm_up,
            " Results of the warm-up are discarded.",
        ),
        note(
            "attempted during the ramp only",
            ramp,
            " The accounts cover the ramp; figures and grades do not.",
        ),
        note(
            "the end of the run cut off each of their executions",
            cut_off,
            &advice,
        ),
        note("never attempted", never, ""),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The most names of failures that steps did not return.
const NOTED_ROWS: usize = 5;

/// Notes why requests and operations failed whose step did not return the failure. A status may be what it waits for.
fn note_unreturned<'a>(
    card: &'a Card,
    windows: &'a Windows,
) -> impl Iterator<Item = String> + use<'a> {
    let steps = card.steps.iter().zip(&windows.steady.steps).enumerate();
    steps.flat_map(move |(i, (row, step))| {
        // A step that began in the ramp returns the failure there.
        let returned = move |kind| {
            let steps = windows
                .all()
                .into_iter()
                .filter_map(|window| window.steps.get(i));
            let mut errors = steps.flat_map(|step| &step.errors);
            errors.any(|error| error.kind == kind)
        };
        let all = step.inner.iter().flat_map(|inner| {
            let errors = inner.errors.iter();
            errors.map(|error| (&inner.name, error))
        });
        let unreturned = all.filter(move |(_, error)| {
            !matches!(error.kind, ErrorKind::Status | ErrorKind::GuardBlocked)
                && !returned(error.kind)
        });
        unreturned.map(|(name, error)| {
            format!(
                "`{}` did not return {} of {}, {}: {}",
                row.name,
                display::format_counted(error.count, "failure"),
                display::quote_name(name),
                error.kind,
                error.example,
            )
        })
    })
}

fn collect_notes(card: &Card, record: &ScenarioRecord) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(record.regraded.as_ref().map(graded_anew));
    if card.setting.default_load {
        notes.push(
            "The scenario declares no load, so the default applied: one user for 10 s. \
             Declare `load = ..`, or give `--rate` or `--users`."
                .to_owned(),
        );
    }
    if !card.setting.open_model {
        notes.push(
            "Latencies come from a closed loop: each user waits for its answers, so a slow target \
             gets fewer requests, and users who arrive at a rate would wait longer."
                .to_owned(),
        );
    }
    if card.setting.insecure {
        notes.push(
            "Certificates were not checked (`insecure = true`): any server that answered was \
             accepted as the target."
                .to_owned(),
        );
    }
    if card.headline.dropped > 0 {
        notes.push(format!(
            "{} never started: each is a failed journey, in the error rate and in no percentile.",
            display::format_counted(card.headline.dropped, "iteration")
        ));
    }
    if card.grade.partial && card.grade.score.is_some() {
        notes.push("The grade is partial: the run ended early.".to_owned());
    }
    if matches!(record.end.ending, EndReason::Died { .. }) {
        notes.push("Requests in flight when the process died are in no figure.".to_owned());
    }
    if matches!(record.end.ending, EndReason::Stuck { .. }) {
        notes.push("The last work of the blocked worker is in no figure.".to_owned());
    }
    notes.extend(note_unreturned(card, &record.windows).take(NOTED_ROWS));
    if !card.grade.withheld && card.verdict != Verdict::Empty {
        notes.extend(note_ungraded(card, record));
    }
    if card.grade.interval.is_some() {
        notes.push(format!(
            "* Fewer than {} attempts: the score lies in the interval shown, with a confidence of 95 %.",
            grade::SMALL_SAMPLE
        ));
    }
    notes
}
