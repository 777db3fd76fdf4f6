//! Exporters: from a report card to bytes, one file per format; nothing here reads or writes.

pub(crate) mod beside;
mod chart;
pub(crate) mod csv;
mod facts;
#[cfg(test)]
mod golden;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod junit;
pub(crate) mod markdown;
pub(crate) mod openmetrics;
pub(crate) mod pdf;
#[cfg(test)]
pub(crate) mod sample;
mod scene;
pub(crate) mod terminal;
