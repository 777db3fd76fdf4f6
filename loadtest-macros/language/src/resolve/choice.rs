//! Steps of which one runs at most: `one_of = view`.

use super::{ResolvedScenario, ResolvedStep, without_raw_prefix};
use crate::options::{ROUNDING, WeightOption};
use crate::signature;
use crate::suggest::{MacroErrors, did_you_mean};
use proc_macro2::Span;

/// The steps that share a draw, in the order of the source.
pub(crate) struct StepChoice {
    name: String,
    pub(crate) members: Vec<usize>,
}

impl StepChoice {
    /// The words for weights whose sum is not known here.
    pub(crate) fn weights_exceed_one(&self) -> String {
        format!(
            "the weights of `one_of = {}` add up to more than 1, but at most one of its steps runs",
            self.name
        )
    }
}

/// The choices of a scenario, in the order of their first steps.
pub(crate) fn collect_choices(steps: &[ResolvedStep]) -> Vec<StepChoice> {
    let mut choices: Vec<StepChoice> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let Some(name) = step.options.one_of.as_ref().map(without_raw_prefix) else {
            continue;
        };
        match choices.iter_mut().find(|choice| choice.name == name) {
            Some(choice) => choice.members.push(at),
            None => choices.push(StepChoice {
                name,
                members: vec![at],
            }),
        }
    }
    choices
}

/// Turns the weights of choices that have only whole numbers into shares of their sum. Elsewhere a number above 1
/// is no weight.
pub(super) fn settle_weights(steps: &mut [ResolvedStep], errors: &mut MacroErrors) {
    for choice in collect_choices(steps) {
        let weights = choice.members.iter().map(|&at| whole_weight(&steps[at]));
        let sum: f64 = weights.clone().map(Option::unwrap_or_default).sum();
        let weights: Option<Vec<f64>> = weights.collect();
        let weights = weights.filter(|_| sum > 1.0).unwrap_or_default();
        for (&at, weight) in choice.members.iter().zip(weights) {
            steps[at].options.weight = WeightOption::Literal(weight / sum);
        }
    }
    for step in steps {
        let WeightOption::Relative(_, error) = &step.options.weight else {
            continue;
        };
        match &step.options.one_of {
            Some(name) => errors.add_at(
                error.span(),
                format!(
                    "another weight of `one_of = {name}` is not a whole number: give all of its steps whole \
                     numbers, of which each is a share of the sum, or all of them shares of one"
                ),
            ),
            None => errors.add(error.clone()),
        }
        step.options.weight = WeightOption::Always;
    }
}

/// Returns the weight of a step that is a whole number.
fn whole_weight(step: &ResolvedStep) -> Option<f64> {
    match step.options.weight {
        WeightOption::Relative(weight, _) => Some(weight),
        WeightOption::Literal(weight) => Some(weight).filter(|weight| *weight >= 1.0),
        _ => None,
    }
}

/// Notes choices that are none, and what could never run for them.
pub(super) fn check_choices(resolved: &ResolvedScenario, errors: &mut MacroErrors) {
    let steps = &resolved.steps;
    let choices = collect_choices(steps);
    if choices.is_empty() {
        return;
    }
    for choice in &choices {
        check_weights(choice, steps, errors);
    }
    // one that does not parse may be the other member
    let is_broken = |step: &ResolvedStep| {
        step.options.one_of.is_none() && step.options.find_key("one_of").is_some()
    };
    if !resolved.is_incomplete && !steps.iter().any(is_broken) {
        refuse_single_step_choices(&choices, steps, errors);
    }
    refuse_unreachable(resolved, errors);
}

fn check_weights(choice: &StepChoice, steps: &[ResolvedStep], errors: &mut MacroErrors) {
    let name = &choice.name;
    let mut sum = 0.0;
    let mut over = None;
    for &at in &choice.members {
        let step = &steps[at];
        match (step.options.find_key("weight"), &step.options.weight) {
            (None, _) => errors.add_on(
                &step.options.one_of,
                format!(
                    "how likely is `{}`? add `weight = 0.3`: the weights of `one_of = {name}` add up to \
                     at most 1",
                    step.name
                ),
            ),
            (Some(key), WeightOption::Literal(weight)) => {
                sum += weight;
                if sum > 1.0 + ROUNDING {
                    over = over.or(Some(key.span()));
                }
            }
            // a broken one is noted, and rustc looks at constants
            (Some(_), _) => {}
        }
    }
    if let Some(span) = over {
        let weights: Vec<_> = choice
            .members
            .iter()
            .filter_map(|&at| match steps[at].options.weight {
                WeightOption::Literal(weight) => Some(round_for_message(weight).to_string()),
                _ => None,
            })
            .collect();
        errors.add_at(
            span,
            format!(
                "the weights of `one_of = {name}` add up to {} ({}), more than 1, but at most one of its \
                 steps runs",
                round_for_message(sum),
                weights.join(" + "),
            ),
        );
    }
}

/// Without what adding floats leaves behind.
fn round_for_message(weight: f64) -> f64 {
    (weight * 1e9).round() / 1e9
}

fn refuse_single_step_choices(
    choices: &[StepChoice],
    steps: &[ResolvedStep],
    errors: &mut MacroErrors,
) {
    for choice in choices {
        let (name, [only]) = (&choice.name, choice.members.as_slice()) else {
            continue;
        };
        let step = &steps[*only];
        let others = choices.iter().map(|other| other.name.as_str());
        let near = did_you_mean(name, others.filter(|other| other != name));
        let hint = if near.is_empty() {
            "; give it to another step too, or drop it"
        } else {
            &near
        };
        errors.add_on(
            &step.options.one_of,
            format!(
                "`{}` is the only step with `one_of = {name}`, so there is no choice{hint}",
                step.name
            ),
        );
    }
}

/// Refuses steps and checks that need two steps of one choice.
fn refuse_unreachable(resolved: &ResolvedScenario, errors: &mut MacroErrors) {
    let steps = &resolved.steps;
    let of_steps = steps.iter().enumerate().map(|(at, step)| {
        let needed = step.dependencies.iter().filter(|one| !one.optional);
        let needed = needed.map(|one| (one.step, one.span));
        (
            &step.name,
            [(at, step.ident.span())]
                .into_iter()
                .chain(needed)
                .collect(),
        )
    });
    let of_checks = resolved.checks.iter().map(|check| {
        let needed = check
            .arguments
            .iter()
            .filter(|one| !signature::is_option(&one.ty));
        let needed = needed.filter_map(|one| Some((one.source.step_index()?, one.span)));
        (&check.name, needed.collect())
    });
    let choice = |at: usize| steps[at].options.one_of.as_ref().map(without_raw_prefix);
    for (name, needed) in of_steps.chain(of_checks) {
        let needed: Vec<(usize, Span)> = needed;
        for (i, (step, span)) in needed.iter().enumerate() {
            let is_other =
                |other: &&(usize, Span)| other.0 != *step && choice(other.0) == choice(*step);
            if let Some(choice) = choice(*step)
                && let Some((other, _)) = needed[..i].iter().find(is_other)
            {
                let (first, second) = (&steps[*other].name, &steps[*step].name);
                errors.add_at(
                    *span,
                    format!(
                        "`{name}` could never run: at most one of `{first}` and `{second}` runs \
                         (`one_of = {choice}`); a parameter of the type `Option<&T>` does without"
                    ),
                );
            }
        }
    }
}
