//! The series of one scenario as they grow.

use super::HistogramWeight;
use super::bounds::SeriesBudget;
use super::family::{Family, FamilyKind};
use super::histogram::GrowingTimes;
use super::interval::{Exemplar, FamilySeries, Labels, Series, SeriesValue, Times};
use loadtest_model::metrics::Histogram;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// All series of a scenario, by family.
#[derive(Debug)]
pub(super) struct SeriesTable {
    families: Vec<FamilyRows>,
    boundaries: Arc<[Duration]>,
    weight: HistogramWeight,
    budget: Arc<SeriesBudget>,
}

#[derive(Debug, Default)]
struct FamilyRows {
    places: HashMap<Labels, usize>,
    rows: Vec<(Labels, GrowingValue)>,
    left_out: HashSet<Labels>,
}

#[derive(Debug)]
enum GrowingValue {
    Counter {
        total: f64,
        own: f64,
    },
    Gauge(f64),
    Times {
        growing: Box<GrowingTimes>,
        /// As of the interval before.
        last: Arc<Times>,
    },
}

impl SeriesTable {
    pub(super) fn new(
        boundaries: Arc<[Duration]>,
        weight: HistogramWeight,
        budget: Arc<SeriesBudget>,
    ) -> Self {
        Self {
            families: Family::all()
                .iter()
                .map(|_| FamilyRows::default())
                .collect(),
            boundaries,
            weight,
            budget,
        }
    }

    /// Adds to a counter, which begins with 0.
    pub(super) fn count(&mut self, family: &str, labels: &[(&'static str, &str)], number: f64) {
        if let Some(GrowingValue::Counter { total, own }) = self.row(family, labels) {
            *total += number;
            *own += number;
        }
    }

    /// Sets a gauge.
    pub(super) fn set(&mut self, family: &str, labels: &[(&'static str, &str)], number: f64) {
        if let Some(GrowingValue::Gauge(value)) = self.row(family, labels) {
            *value = number;
        }
    }

    /// Adds to a histogram.
    pub(super) fn time(
        &mut self,
        family: &str,
        labels: &[(&'static str, &str)],
        times: &Histogram,
    ) {
        if let Some(GrowingValue::Times { growing, .. }) = self.row(family, labels) {
            growing.add(times);
        }
    }

    /// Adds to a histogram what succeeded; its quantiles are no better for what `failed`.
    pub(super) fn time_with_failures(
        &mut self,
        family: &str,
        labels: &[(&'static str, &str)],
        good: &Histogram,
        failed: &Histogram,
    ) {
        if let Some(GrowingValue::Times { growing, .. }) = self.row(family, labels) {
            growing.add(good);
            growing.add_failed(failed);
        }
    }

    /// Takes an example of a time of a histogram.
    pub(super) fn exemplify(
        &mut self,
        family: &str,
        labels: &[(&'static str, &str)],
        exemplar: Exemplar,
    ) {
        if let Some(GrowingValue::Times { growing, .. }) = self.row(family, labels) {
            growing.set_exemplar(exemplar);
        }
    }

    fn row(&mut self, family: &str, labels: &[(&'static str, &str)]) -> Option<&mut GrowingValue> {
        let family = Family::find(family);
        let owned = labels
            .iter()
            .map(|(name, text)| (*name, (*text).to_owned()));
        let labels: Labels = owned.collect();
        let rows = &mut self.families[family.place];
        if let Some(place) = rows.places.get(&labels) {
            return Some(&mut rows.rows[*place].1);
        }
        if rows.left_out.contains(&labels) {
            return None;
        }
        let series = match family.kind {
            FamilyKind::Histogram => self.weight.series(self.boundaries.len()),
            _ => 1,
        };
        if !self.budget.take(series) {
            rows.left_out.insert(labels);
            return None;
        }
        let value = match family.kind {
            FamilyKind::Counter => GrowingValue::Counter {
                total: 0.0,
                own: 0.0,
            },
            FamilyKind::Gauge | FamilyKind::Info => GrowingValue::Gauge(0.0),
            FamilyKind::Histogram => {
                let mut growing = Box::new(GrowingTimes::new(Arc::clone(&self.boundaries)));
                let last = Arc::new(growing.take());
                GrowingValue::Times { growing, last }
            }
        };
        rows.places.insert(Arc::clone(&labels), rows.rows.len());
        rows.rows.push((labels, value));
        rows.rows.last_mut().map(|(_, value)| value)
    }

    /// Returns all series, and begins the next interval.
    pub(super) fn take(&mut self) -> Vec<FamilySeries> {
        let families = Family::all().iter().zip(&mut self.families);
        let families = families.filter(|(_, rows)| !rows.rows.is_empty());
        families
            .map(|(family, rows)| FamilySeries {
                family,
                series: rows.rows.iter_mut().map(take_series).collect(),
            })
            .collect()
    }
}

fn take_series((labels, value): &mut (Labels, GrowingValue)) -> Series {
    let value = match value {
        GrowingValue::Counter { total, own } => SeriesValue::Counter {
            total: *total,
            own: std::mem::take(own),
        },
        GrowingValue::Gauge(value) => SeriesValue::Gauge(*value),
        GrowingValue::Times { growing, last } => {
            if !growing.is_unchanged() || last.own.count > 0 {
                *last = Arc::new(growing.take());
            }
            SeriesValue::Histogram(Arc::clone(last))
        }
    };
    Series {
        labels: Arc::clone(labels),
        value,
    }
}
