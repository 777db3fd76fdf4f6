//! A chart for the page: its drawing, and its figures for the script that reads them off.

use crate::export::chart::{Chart, Figures};
use minijinja::Value;
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Drawing {
    title: String,
    svg: Value,
    /// Where the first and the last point lie, in the units of the drawing; `None` of a drawing that says
    /// its figures itself.
    ends: Option<(f64, f64)>,
    /// What each point is of, where it is no time of the run.
    at: Option<Value>,
    legend: Vec<Key>,
}

/// What says which colour is what.
#[derive(Serialize)]
struct Key {
    name: String,
    role: String,
    dashed: bool,
    words: Value,
}

impl Drawing {
    /// A chart of a card whose points over time are of `at`.
    pub(super) fn of(chart: Chart, at: &[String]) -> Self {
        let svg = Value::from_safe_string(chart.scene.svg(&chart.label));
        let readout = chart.readout.as_ref();
        let own = readout.filter(|readout| readout.at != at);
        let series = readout.map_or(&[][..], |readout| &readout.series);
        Self {
            svg,
            ends: readout.map(|readout| (round(readout.from), round(readout.to))),
            at: own.map(|readout| list(&readout.at)),
            legend: series.iter().map(Key::of).collect(),
            title: chart.title,
        }
    }
}

impl Key {
    fn of(figures: &Figures) -> Self {
        Self {
            name: figures.name.clone(),
            role: figures.paint.role(),
            dashed: figures.dashed,
            words: list(&figures.words),
        }
    }
}

/// Words as the value of an attribute. They are our own; what would end the attribute is escaped all the
/// same, and nothing else, since there are many.
pub(super) fn list(words: &[String]) -> Value {
    let words = words.join("|");
    let escaped = words.replace('&', "&amp;").replace('"', "&quot;");
    Value::from_safe_string(escaped.replace('<', "&lt;"))
}

/// To a thousandth: the script counts points with it.
fn round(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}
