//! Checks the limits on rows of `async` steps and on tags of steps.

use super::ResolvedScenario;
use super::shape::explain_missing_events;
use crate::suggest::{MacroErrors, closest_word, list_names};
use loadtest_model::threshold::{Metric, Part, Subject};
use syn::LitStr;

/// Notes limits on rows and streams of a step that has none, and limits on tags that no step has.
pub(super) fn check_limits(scenario: &ResolvedScenario, errors: &mut MacroErrors) {
    for step in scenario.steps.iter().filter(|step| !step.is_async) {
        for limit in &step.options.thresholds {
            let metric = &limit.threshold.metric;
            if matches!(limit.threshold.subject, Subject::Row(_)) {
                let name = &step.name;
                let message = format!(
                    "a row is one of the requests of an `async` step, and `{name}` sends one request: \
                     write the limit without `row(..)`"
                );
                errors.add_on(&limit.written, message);
            } else if is_of_streams(metric) && !step.response.is_stream() {
                errors.add_on(&limit.written, explain_missing_events(metric, step));
            } else if matches!(metric, Metric::Time(Part::Done, _))
                && step.options.repeat.until.is_none()
            {
                let message = format!(
                    "`done` is the time until `until` holds, and `{}` has no `until`: write the limit without `done.`",
                    step.name
                );
                errors.add_on(&limit.written, message);
            }
        }
    }
    for limit in &scenario.options.thresholds {
        let Subject::Tag(tag) = &limit.threshold.subject else {
            continue;
        };
        let has_tag = |tags: &[LitStr]| tags.iter().any(|one| one.value() == **tag);
        let mut tagged = scenario
            .steps
            .iter()
            .filter(|step| has_tag(&step.options.tags));
        let rare = tagged
            .clone()
            .find(|step| step.options.repeat.once || step.runs_last());
        if tagged.next().is_none() {
            errors.add_on(&limit.written, explain_unknown_tag(tag, scenario));
        } else if let Some(rare) = rare.filter(|_| limit.is_rate()) {
            let message = format!(
                "`{}` has the tag `{tag}` and runs once for each user, so it has no rate: drop its tag or \
                 this limit",
                rare.name
            );
            errors.add_on(&limit.written, message);
        }
    }
}

fn is_of_streams(metric: &Metric) -> bool {
    matches!(
        metric,
        Metric::Units | Metric::Time(Part::FirstEvent | Part::Gap | Part::PerUnit, _)
    )
}

fn explain_unknown_tag(tag: &str, scenario: &ResolvedScenario) -> String {
    let tags = scenario.steps.iter().flat_map(|step| &step.options.tags);
    let mut tags: Vec<String> = tags.map(LitStr::value).collect();
    tags.sort();
    tags.dedup();
    let known = || tags.iter().map(String::as_str);
    let hint = match closest_word(tag, known()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if tags.is_empty() => format!("give it to steps: `#[step(tags = [\"{tag}\"])]`"),
        None => format!("there is {}", list_names(known())),
    };
    format!("no step has the tag `{tag}`; {hint}")
}
