//! Exporters: from a report card to bytes, one module per format; nothing here reads or writes.

mod chart;
pub(crate) mod csv;
mod format;
#[cfg(test)]
mod golden;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod junit;
pub(crate) mod labels;
pub(crate) mod markdown;
pub(crate) mod markup;
pub(crate) mod openmetrics;
pub(crate) mod page;
#[cfg(feature = "pdf")]
pub(crate) mod pdf;
#[cfg(not(feature = "pdf"))]
#[path = "no_pdf.rs"]
pub(crate) mod pdf;
#[cfg(test)]
pub(crate) mod sample;
mod scene;
pub(crate) mod terminal;

pub(crate) use format::Format;

/// Reports of invented runs, each with its name.
#[cfg(test)]
pub(crate) fn samples() -> Vec<(&'static str, loadtest_model::card::Report)> {
    sample::all()
}
