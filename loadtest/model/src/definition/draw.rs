//! What chance decides: which part of a draw lets a step run.

use super::StepDef;

/// The error of adding floats: weights of a choice this close to 1 count as 1.
const ROUNDING: f64 = 1e-9;

/// The part of a number drawn evenly from `0.0..1.0` for which a step runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draw {
    /// The step whose draw it is: its own, or that of the first step of its choice.
    pub key: usize,
    from: f64,
    to: f64,
}

impl Draw {
    /// The draw of each step; those of a choice share one, and lie side by side in it.
    pub fn from_steps(steps: &[StepDef]) -> Vec<Self> {
        let mut draws: Vec<Self> = Vec::with_capacity(steps.len());
        for (i, step) in steps.iter().enumerate() {
            let is_beside = |other: &StepDef| step.one_of.is_some() && other.one_of == step.one_of;
            let before = steps[..i].iter().rposition(is_beside);
            let (key, from) = before.map_or((i, 0.0), |at| (draws[at].key, draws[at].to));
            let mut to = from + step.weight;
            if to >= 1.0 - ROUNDING && !steps[i + 1..].iter().any(is_beside) {
                to = 1.0;
            }
            draws.push(Self { key, from, to });
        }
        draws
    }

    /// Returns true if the step always runs.
    pub fn is_certain(&self) -> bool {
        self.from <= 0.0 && self.to >= 1.0
    }

    /// Returns true if the step runs when `drawn` is the number.
    pub fn contains(&self, drawn: f64) -> bool {
        (self.from..self.to).contains(&drawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn steps(weights: &[(f64, Option<&'static str>)]) -> Vec<StepDef> {
        let step = |(weight, one_of): &(f64, Option<&'static str>)| StepDef {
            weight: *weight,
            one_of: one_of.map(Into::into),
            ..StepDef::new("a")
        };
        weights.iter().map(step).collect()
    }

    #[test]
    fn steps_of_a_choice_share_the_draw_of_its_first() {
        let view = Some("view");
        let draws = Draw::from_steps(&steps(&[
            (0.5, None),
            (0.25, view),
            (1.0, None),
            (0.5, Some("pay")),
            (0.5, view),
            (0.5, None),
        ]));
        let keys: Vec<_> = draws.iter().map(|draw| draw.key).collect();
        assert_eq!(keys, [0, 1, 2, 3, 1, 5]);
        let running = |drawn| -> Vec<_> {
            let all = draws.iter().enumerate();
            all.filter_map(|(i, draw)| draw.contains(drawn).then_some(i))
                .collect()
        };
        assert_eq!(running(0.0), [0, 1, 2, 3, 5]);
        assert_eq!(running(0.25), [0, 2, 3, 4, 5]);
        assert_eq!(running(0.5), [2, 4]);
        assert_eq!(running(0.75), [2], "what is left of the weights is none");
        let certain: Vec<_> = draws.iter().map(Draw::is_certain).collect();
        assert_eq!(certain, [false, false, true, false, false, false]);
    }

    #[test]
    fn the_last_of_a_choice_has_what_rounding_leaves() {
        let sum: f64 = [0.7, 0.2, 0.1].iter().sum();
        assert!(sum < 1.0, "which is why this matters");
        let view = Some("view");
        let draws = Draw::from_steps(&steps(&[(0.7, view), (0.2, view), (0.1, view)]));
        let highest = 1.0 - f64::EPSILON / 2.0;
        assert!(highest >= sum && draws[2].contains(highest));
    }

    proptest! {
        #[test]
        fn never_two_of_a_choice_run(
            weights in prop::collection::vec(0.01..1.0_f64, 2..6),
            drawn in 0.0..1.0_f64,
        ) {
            let sum: f64 = weights.iter().sum();
            let members: Vec<_> = weights.iter().map(|one| (one / sum, Some("a"))).collect();
            let draws = Draw::from_steps(&steps(&members));
            let running = draws.iter().filter(|draw| draw.contains(drawn)).count();
            prop_assert_eq!(running, 1);
        }
    }
}
