//! What changed between two versions of a scenario: pure, and in words.

use super::facts::{Fact, GRADING, IN_FORCE, of_run, of_scenario, of_step};
use loadtest_model::definition::{ScenarioDef, StepDef};
use loadtest_model::record::ScenarioRecord;
use serde::Serialize;

/// What changed between two versions of a scenario.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct ScenarioChange {
    /// The identity of the older one.
    pub(super) base: String,
    /// That of the newer one.
    pub(super) new: String,
    pub(super) base_fingerprint: String,
    pub(super) new_fingerprint: String,
    /// The version's own words.
    pub(super) base_version: Option<String>,
    pub(super) new_version: Option<String>,
    /// Whether the source is the same.
    pub(super) same_version: bool,
    /// Only code changed that belongs to no step: a check, a setup, a feed, a type.
    pub(super) code_changed: bool,
    /// What the scenario declares otherwise.
    pub(super) fields: Vec<FieldChange>,
    /// The steps that changed, in the new order, then those that are gone.
    pub(super) steps: Vec<StepChange>,
    /// What the run did otherwise, and not since the scenario declares it so.
    pub(super) run: Vec<FieldChange>,
}

/// A field that changed; one that is not declared is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct FieldChange {
    pub(super) field: String,
    pub(super) base: Option<String>,
    pub(super) new: Option<String>,
}

/// What became of a step.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct StepChange {
    pub(super) step: String,
    /// Its number in the older version, from one.
    pub(super) base_number: Option<usize>,
    /// The same in the newer one.
    pub(super) new_number: Option<usize>,
    /// Whether it comes before or after other steps than it did.
    pub(super) moved: bool,
    /// Only its code changed, which shows in no field.
    pub(super) code_changed: bool,
    /// What it declares otherwise.
    pub(super) fields: Vec<FieldChange>,
}

impl ScenarioChange {
    /// From `base` to `new`; what the runs did is of interest where `runs` were named.
    pub(super) fn between(base: &ScenarioRecord, new: &ScenarioRecord, runs: bool) -> Self {
        let (old, young) = (&base.definition, &new.definition);
        let fields = fields(&of_scenario(old), &of_scenario(young));
        let steps = steps(old, young);
        let same_version = old.fingerprint == young.fingerprint;
        let shown = fields.is_empty() && steps.is_empty();
        let words = |definition: &ScenarioDef| definition.version.as_deref().map(str::to_owned);
        let run = if runs {
            self::fields(&of_run(base), &of_run(new))
        } else {
            Vec::new()
        };
        let by_load = run.iter().any(|change| change.field == "load");
        let told = |change: &FieldChange| {
            follows(change, &fields, &steps) || by_load && change.field == "max_users"
        };
        let run: Vec<_> = run.into_iter().filter(|change| !told(change)).collect();
        Self {
            base: old.identity(),
            new: young.identity(),
            base_fingerprint: old.fingerprint.to_string(),
            new_fingerprint: young.fingerprint.to_string(),
            base_version: words(old),
            new_version: words(young),
            same_version,
            code_changed: !same_version && shown,
            fields,
            steps,
            run,
        }
    }
}

/// Whether what the run did otherwise follows from what the scenario declares otherwise, and is told there.
fn follows(change: &FieldChange, fields: &[FieldChange], steps: &[StepChange]) -> bool {
    let of_steps = steps.iter().flat_map(|step| &step.fields);
    let declared: Vec<&str> = fields
        .iter()
        .chain(of_steps)
        .map(|change| change.field.as_str())
        .collect();
    let any = |names: &[&str]| names.iter().any(|name| declared.contains(name));
    let is_same = |known: &FieldChange| known.base == change.base && known.new == change.new;
    match change.field.as_str() {
        "load" => fields
            .iter()
            .any(|known| known.field == "load" && is_same(known)),
        "max_users" => any(&["think", "timeout"]),
        field if field.starts_with(GRADING) => {
            let of_one = change.base.is_none() || change.new.is_none();
            of_one || any(&["apdex", "budget", "grade_weight", "weight", "thresholds"])
        }
        field if field.starts_with(IN_FORCE) => any(&["thresholds"]),
        _ => false,
    }
}

fn steps(base: &ScenarioDef, new: &ScenarioDef) -> Vec<StepChange> {
    let place = |steps: &[StepDef], name: &str| steps.iter().position(|step| step.name == name);
    let kept: Vec<(usize, usize)> = new
        .steps
        .iter()
        .enumerate()
        .filter_map(|(at, step)| Some((place(&base.steps, &step.name)?, at)))
        .collect();
    let in_order = longest_rise(&kept);
    let mut changes: Vec<StepChange> = new
        .steps
        .iter()
        .enumerate()
        .map(|(at, step)| {
            let before = place(&base.steps, &step.name);
            let (fields, code_changed) = before.map_or_else(Default::default, |before| {
                let old = &base.steps[before];
                let fields = fields(&of_step(old, &base.steps), &of_step(step, &new.steps));
                let code_changed = old.fingerprint != step.fingerprint && fields.is_empty();
                (fields, code_changed)
            });
            StepChange {
                step: step.name.to_string(),
                base_number: before.map(|before| before + 1),
                new_number: Some(at + 1),
                moved: before.is_some() && !in_order.contains(&at),
                code_changed,
                fields,
            }
        })
        .filter(StepChange::is_one)
        .collect();
    let gone = base.steps.iter().enumerate();
    let gone = gone.filter(|(_, step)| place(&new.steps, &step.name).is_none());
    changes.extend(gone.map(|(at, step)| StepChange {
        step: step.name.to_string(),
        base_number: Some(at + 1),
        new_number: None,
        moved: false,
        code_changed: false,
        fields: Vec::new(),
    }));
    changes
}

impl StepChange {
    fn is_one(&self) -> bool {
        self.base_number.is_none() || self.moved || self.code_changed || !self.fields.is_empty()
    }
}

/// Of pairs (old place, new place) in the new order, the new places of the most that also stand in the old
/// order: the others moved.
fn longest_rise(pairs: &[(usize, usize)]) -> Vec<usize> {
    // The longest rise that ends with each pair, and the pair before it there.
    let mut best: Vec<(usize, Option<usize>)> = Vec::with_capacity(pairs.len());
    for (i, (old, _)) in pairs.iter().enumerate() {
        let before = (0..i)
            .filter(|j| pairs[*j].0 < *old)
            .max_by_key(|j| best[*j].0);
        best.push((before.map_or(1, |j| best[j].0 + 1), before));
    }
    let mut at = (0..best.len()).max_by_key(|i| best[*i].0);
    let mut rise = Vec::new();
    while let Some(i) = at {
        rise.push(pairs[i].1);
        at = best[i].1;
    }
    rise
}

/// What of two lists of facts differs: in the order of the newer one, then what is gone.
fn fields(base: &[Fact], new: &[Fact]) -> Vec<FieldChange> {
    let value = |facts: &[Fact], field: &str| {
        let fact = facts.iter().find(|fact| fact.field == field);
        fact.map(|fact| fact.value.clone())
    };
    let gone = base.iter().filter(|fact| value(new, &fact.field).is_none());
    new.iter()
        .chain(gone)
        .map(|fact| FieldChange {
            field: fact.field.clone(),
            base: value(base, &fact.field),
            new: value(new, &fact.field),
        })
        .filter(|change| change.base != change.new)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;
    use loadtest_model::definition::{HeaderDef, Load, Shape};
    use std::time::Duration;

    fn record(names: &[&str]) -> ScenarioRecord {
        let mut record = sample::scenario_record();
        let step = |name: &&str| StepDef {
            fingerprint: format!("{name}1").into(),
            method: Some("GET".into()),
            url: Some(format!("/{name}").into()),
            ..StepDef::new((*name).to_owned())
        };
        record.definition.steps = names.iter().map(step).collect::<Vec<_>>().into();
        record
    }

    fn changed(record: &ScenarioRecord, change: impl FnOnce(&mut ScenarioDef)) -> ScenarioRecord {
        let mut record = record.clone();
        record.definition.fingerprint = "f2".into();
        change(&mut record.definition);
        record
    }

    fn words(change: &StepChange) -> String {
        let fields = change.fields.iter().map(|field| {
            let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
            format!(
                " {}:{}>{}",
                field.field,
                value(&field.base),
                value(&field.new)
            )
        });
        format!(
            "{} {:?}>{:?}{}{}{}",
            change.step,
            change.base_number.unwrap_or(0),
            change.new_number.unwrap_or(0),
            if change.moved { " moved" } else { "" },
            if change.code_changed { " code" } else { "" },
            fields.collect::<String>()
        )
    }

    fn between(base: &ScenarioRecord, new: &ScenarioRecord) -> Vec<String> {
        let change = ScenarioChange::between(base, new, false);
        change.steps.iter().map(words).collect()
    }

    #[test]
    fn the_same_version_changes_nothing() {
        let base = record(&["login", "buy"]);
        let mut new = base.clone();
        // A line above the scenario.
        new.definition.line += 1;
        new.definition.steps.to_mut()[0].line += 1;
        let change = ScenarioChange::between(&base, &new, true);
        assert!(change.same_version && !change.code_changed);
        assert!(change.fields.is_empty() && change.steps.is_empty() && change.run.is_empty());
    }

    #[test]
    fn steps_are_added_removed_and_moved() {
        let base = record(&["a", "b", "c", "d"]);
        let order = |names: &[&str]| changed(&record(names), |_| {});
        assert_eq!(
            between(&base, &order(&["a", "x", "b", "c", "d"])),
            ["x 0>2"],
            "what only makes room is not moved"
        );
        assert_eq!(between(&base, &order(&["a", "c", "d"])), ["b 2>0"]);
        assert_eq!(
            between(&base, &order(&["b", "c", "d", "a"])),
            ["a 1>4 moved"]
        );
        assert_eq!(
            between(&base, &order(&["d", "y", "a", "c"])),
            ["d 4>1 moved", "y 0>2", "b 2>0"]
        );
    }

    #[test]
    fn of_a_changed_step_the_fields_are_told_or_that_its_code_changed() {
        let base = record(&["login", "buy"]);
        let fields = changed(&base, |definition| {
            let step = &mut definition.steps.to_mut()[0];
            step.fingerprint = "other".into();
            step.method = Some("POST".into());
            step.weight = 0.5;
            step.headers = vec![HeaderDef {
                name: "x-api".into(),
                value: "2".into(),
            }]
            .into();
        });
        assert_eq!(
            between(&base, &fields),
            ["login 1>1 method:GET>POST header x-api:->2 weight:1>0.5"]
        );
        let code = changed(&base, |definition| {
            definition.steps.to_mut()[1].fingerprint = "other".into();
        });
        assert_eq!(between(&base, &code), ["buy 2>2 code"]);
        assert!(!ScenarioChange::between(&base, &code, false).code_changed);
        // A check, say.
        let elsewhere = changed(&base, |_| {});
        assert!(between(&base, &elsewhere).is_empty());
        assert!(ScenarioChange::between(&base, &elsewhere, false).code_changed);
    }

    #[test]
    fn a_step_that_uses_another_one_does_not_change_when_that_gets_another_number() {
        use loadtest_model::definition::Dependency;
        let uses = |record: &mut ScenarioRecord, step: usize, on: usize| {
            record.definition.steps.to_mut()[step].dependencies = vec![Dependency {
                step: on,
                optional: false,
            }]
            .into();
        };
        let mut base = record(&["login", "buy"]);
        uses(&mut base, 1, 0);
        let mut new = changed(&record(&["first", "login", "buy"]), |_| {});
        uses(&mut new, 2, 1);
        assert_eq!(between(&base, &new), ["first 0>1"]);
        uses(&mut new, 2, 0);
        assert_eq!(
            between(&base, &new),
            ["first 0>1", "buy 2>3 uses:login>first"]
        );
    }

    #[test]
    fn a_load_that_was_declared_is_told_once_and_one_of_the_command_line_as_that_of_the_run() {
        let base = record(&["login"]);
        let load = Load::new(Shape::Users {
            users: 9,
            ramp_up: Duration::ZERO,
            duration: Duration::from_secs(5),
        });
        let mut new = changed(&base, |definition| definition.load = Some(load.clone()));
        new.plan.load = load.clone();
        let change = ScenarioChange::between(&base, &new, true);
        assert_eq!((change.fields.len(), change.run.len()), (1, 0));
        assert_eq!(change.fields[0].field, "load");
        let mut new = base.clone();
        new.plan.load = load;
        new.base_url = Some("http://127.0.0.1:1".to_owned());
        let change = ScenarioChange::between(&base, &new, true);
        assert!(change.same_version && change.fields.is_empty());
        let fields: Vec<_> = change.run.iter().map(|one| one.field.as_str()).collect();
        assert_eq!(fields, ["load", "target"]);
        assert!(ScenarioChange::between(&base, &new, false).run.is_empty());
    }
}
