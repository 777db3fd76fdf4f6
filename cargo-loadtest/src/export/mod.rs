//! Exporters: from a report card to bytes, one file per format; nothing here reads or writes.

mod chart;
mod facts;
pub(crate) mod html;
pub(crate) mod json;
#[cfg(test)]
pub(crate) mod sample;
mod scene;
pub(crate) mod terminal;
