//! Steps of which one runs at most: `one_of = view`.

use super::{ResolvedScenario, ResolvedStep, without_raw_prefix};
use crate::options::{ROUNDING, WeightOption};
use crate::signature;
use crate::suggest::{MacroErrors, did_you_mean};
use proc_macro2::Span;
use std::collections::BTreeSet;

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
                    "another weight of `one_of = {name}` is no whole number: give all of its steps whole \
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
        step.options.one_of.is_none() && step.option_ident("one_of").is_some()
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
        match (step.option_ident("weight"), &step.options.weight) {
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
        let others = choices.iter().map(|other| other.name.as_str());
        let hint = did_you_mean(name, others.filter(|other| other != name));
        let hint = if hint.is_empty() {
            format!("; give `one_of = {name}` to another step too, or drop it")
        } else {
            hint
        };
        let step = &steps[*only];
        errors.add_on(
            &step.options.one_of,
            format!(
                "`{}` is the only step with `one_of = {name}`, so there is no choice{hint}",
                step.name
            ),
        );
    }
}

/// Steps and checks that need two steps of one choice.
fn refuse_unreachable(resolved: &ResolvedScenario, errors: &mut MacroErrors) {
    let steps = &resolved.steps;
    let mut all: Vec<StepNeeds<'_>> = Vec::with_capacity(steps.len());
    for (at, step) in steps.iter().enumerate() {
        let mut needs = StepNeeds::new(&step.name, steps);
        needs.steps.insert(at);
        let mandatory = step.dependencies.iter().filter(|one| !one.optional);
        for dependency in mandatory {
            needs.add_step(dependency.step, &all, dependency.span, errors);
        }
        all.push(needs);
    }
    for check in &resolved.checks {
        let mut needs = StepNeeds::new(&check.name, steps);
        for argument in &check.arguments {
            if let Some(step) = argument.source.step_index()
                && !signature::is_option(&argument.ty)
            {
                needs.add_step(step, &all, argument.span, errors);
            }
        }
    }
}

/// The steps that a function requires.
struct StepNeeds<'a> {
    name: &'a str,
    all: &'a [ResolvedStep],
    /// Never two of one choice, so that a mistake is noted once and not for all that follows from it.
    steps: BTreeSet<usize>,
}

impl<'a> StepNeeds<'a> {
    fn new(name: &'a str, all: &'a [ResolvedStep]) -> Self {
        Self {
            name,
            all,
            steps: BTreeSet::new(),
        }
    }

    /// Adds an earlier step and all that it needs, or notes that they never come together.
    fn add_step(&mut self, step: usize, needs: &[Self], span: Span, errors: &mut MacroErrors) {
        let Some(theirs) = needs.get(step) else {
            return;
        };
        let Some((mine, other)) = self.conflicting_steps(theirs) else {
            self.steps.extend(&theirs.steps);
            return;
        };
        let name = self.name;
        let [first, second] = [mine, other].map(|at| &self.all[at].name);
        let choice = self.all[mine]
            .options
            .one_of
            .as_ref()
            .map(without_raw_prefix);
        let choice = choice.unwrap_or_default();
        let second = if other == step {
            format!("`{second}`")
        } else {
            format!("`{second}` (for `{}`)", self.all[step].name)
        };
        errors.add_at(
            span,
            if first == name {
                format!(
                    "`{name}` could never run: it needs {second}, and at most one of the two runs \
                     (`one_of = {choice}`)"
                )
            } else {
                format!(
                    "`{name}` could never run: it needs `{first}` and {second}, of which at most one \
                     runs (`one_of = {choice}`); a parameter of the type `Option<&T>` does without"
                )
            },
        );
    }

    /// Two steps of one choice, the second of which is needed by `other`.
    fn conflicting_steps(&self, other: &Self) -> Option<(usize, usize)> {
        let choice = |at: usize| self.all[at].options.one_of.as_ref().map(without_raw_prefix);
        other.steps.iter().find_map(|&theirs| {
            let name = choice(theirs)?;
            let is_other =
                |mine: &&usize| **mine != theirs && choice(**mine).as_ref() == Some(&name);
            let mine = self.steps.iter().find(is_other)?;
            Some((*mine, theirs))
        })
    }
}
