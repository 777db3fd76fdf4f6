//! How likely a step runs, its upstream steps considered.

use loadtest_model::definition::StepDef;
use std::collections::BTreeSet;

/// The probability that each step runs in an iteration without failures: its own weight and that of
/// every step it cannot do without, each once, since each is drawn once.
pub(super) fn effective_weights(steps: &[StepDef]) -> Vec<f64> {
    let mut needed: Vec<BTreeSet<usize>> = Vec::with_capacity(steps.len());
    for (i, step) in steps.iter().enumerate() {
        let mut all = BTreeSet::from([i]);
        for dependency in step.dependencies.iter().filter(|one| !one.optional) {
            if let Some(theirs) = needed.get(dependency.step) {
                all.extend(theirs);
            }
        }
        needed.push(all);
    }
    needed
        .iter()
        .map(|all| joint_probability(all, steps))
        .collect()
}

/// The probability that all of them run: never two of a group, else each by a draw of its own.
fn joint_probability(all: &BTreeSet<usize>, steps: &[StepDef]) -> f64 {
    let mut groups: Vec<_> = all
        .iter()
        .filter_map(|&i| steps[i].one_of.as_ref())
        .collect();
    let members = groups.len();
    groups.sort();
    groups.dedup();
    if groups.len() < members {
        return 0.0;
    }
    all.iter().map(|&i| steps[i].weight).product()
}

/// A weight as people read it: at most four decimals.
pub(super) fn round_weight(weight: f64) -> f64 {
    (weight * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;
    use loadtest_model::definition::Dependency;

    #[test]
    fn a_mandatory_upstream_multiplies_the_weight_once() {
        let mut definition = sample::definition("visit", &[]);
        let steps = definition.steps.to_mut();
        let mut third = steps[1].clone();
        third.weight = 0.25;
        let needs = |step, optional| Dependency { step, optional };
        third.dependencies = vec![needs(0, false), needs(1, false)].into();
        steps.push(third.clone());
        third.dependencies = vec![needs(2, true)].into();
        steps.push(third);
        let weights = effective_weights(&definition.steps);
        for (found, expected) in weights.iter().zip([0.8, 0.4, 0.1, 0.25]) {
            assert!((found - expected).abs() < 1e-9, "{weights:?}");
        }
    }

    #[test]
    fn one_of_a_group_excludes_the_others() {
        let definition = sample::definition("visit", &[]);
        let step = |weight, one_of: Option<&'static str>, needs: &[usize]| {
            let mut step = definition.steps[0].clone();
            step.weight = weight;
            step.one_of = one_of.map(Into::into);
            let needs = needs.iter().map(|&step| Dependency {
                step,
                optional: false,
            });
            step.dependencies = needs.collect();
            step
        };
        let view = Some("view");
        let steps = [
            step(0.75, view, &[]),
            step(0.25, view, &[]),
            step(0.5, Some("zoom"), &[0]),
            step(0.5, None, &[0, 2]),
            step(0.5, Some("zoom"), &[1]),
            step(1.0, None, &[1, 3]),
            step(1.0, None, &[2, 4]),
        ];
        let expected = [0.75, 0.25, 0.375, 0.1875, 0.125, 0.0, 0.0];
        for (found, expected) in effective_weights(&steps).iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found} for {expected}");
        }
    }
}
