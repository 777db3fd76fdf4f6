//! Figures of the target's own side beside those of a baseline. No verdict depends on them.

use super::Side;
use super::words::format_change;
use crate::display;
use crate::record::ObservedPoint;
use crate::schedule::Schedule;
use serde::{Deserialize, Serialize};

/// A figure of the target's own side beside that of a baseline, over the steady parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObservedCompared {
    /// The name: `db cpu`.
    pub name: String,
    /// The unit: `cores`; empty where it has none.
    pub unit: String,
    /// The mean in the runs of the baseline, their mean; `None` where none has a value. So are the others.
    pub base_mean: Option<f64>,
    /// The mean in the new run.
    pub new_mean: Option<f64>,
    /// The highest value of each run of the baseline, their mean.
    pub base_max: Option<f64>,
    /// The highest value in the new run.
    pub new_max: Option<f64>,
}

impl ObservedCompared {
    /// Compares all figures: those of the new run in their order, then those that only a baseline has.
    pub(super) fn all(base: &[Side<'_>], new: &Side<'_>) -> Vec<Self> {
        let (base, new): (Vec<ObservedFigures<'_>>, _) = (
            base.iter().map(ObservedFigures::of).collect(),
            ObservedFigures::of(new),
        );
        let mut names: Vec<(&str, &str)> = Vec::new();
        for (name, unit, _) in new.0.iter().chain(base.iter().flat_map(|run| &run.0)) {
            if !names.contains(&(*name, *unit)) {
                names.push((*name, *unit));
            }
        }
        let compared = names.into_iter().map(|(name, unit)| {
            let was: Vec<_> = base.iter().filter_map(|run| run.find(name, unit)).collect();
            let is = new.find(name, unit);
            let mean = |of: fn(&ObservedPoint) -> f64| {
                let values = was.iter().map(of);
                (!was.is_empty()).then(|| values.sum::<f64>() / was.len() as f64)
            };
            Self {
                name: name.to_owned(),
                unit: unit.to_owned(),
                base_mean: mean(|values| values.mean),
                new_mean: is.map(|values| values.mean),
                base_max: mean(|values| values.max),
                new_max: is.map(|values| values.max),
            }
        });
        compared.collect()
    }

    /// Returns the figures by name, before and now: `mean` and `max`.
    pub fn figures(&self) -> [(&'static str, Option<f64>, Option<f64>); 2] {
        [
            ("mean", self.base_mean, self.new_mean),
            ("max", self.base_max, self.new_max),
        ]
    }

    /// Formats a value in the unit: `1.9 cores`.
    pub fn format_value(&self, value: Option<f64>) -> String {
        value.map_or_else(
            || display::NO_VALUE.to_owned(),
            |value| display::format_observed(value, &self.unit),
        )
    }

    /// Returns a change as a share of what was before; `None` where there is none.
    pub fn change(base: Option<f64>, new: Option<f64>) -> Option<f64> {
        let (base, new) = (base?, new?);
        (base > 0.0).then(|| new / base - 1.0)
    }

    /// Formats a change: `+12 %`.
    pub fn format_change(base: Option<f64>, new: Option<f64>) -> String {
        Self::change(base, new).map_or_else(|| display::NO_VALUE.to_owned(), format_change)
    }
}

/// The figures of a run: name, unit, and the values of the steady part.
struct ObservedFigures<'a>(Vec<(&'a str, &'a str, Option<ObservedPoint>)>);

impl<'a> ObservedFigures<'a> {
    fn of(side: &Side<'a>) -> Self {
        let record = side.scenario;
        let schedule = Schedule::new(&record.start.plan.load);
        let until = record.end.elapsed_us.div_ceil(1_000_000) as u32;
        let series = record.observed.iter();
        let figures = series.map(|series| {
            let values = series.sum_steady(&schedule, until);
            (&*series.name, &*series.unit, values)
        });
        Self(figures.collect())
    }

    fn find(&self, name: &str, unit: &str) -> Option<ObservedPoint> {
        let mut figures = self.0.iter();
        figures.find(|one| (one.0, one.1) == (name, unit))?.2
    }
}
