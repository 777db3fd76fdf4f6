//! Exporters: from a report card to bytes, one file per format; nothing here reads or writes.

pub(crate) mod json;
#[cfg(test)]
mod sample;

pub(crate) mod terminal;
