//! To be written.

use loadtest::card::Report;

pub(crate) fn render(_report: &Report) -> Vec<u8> {
    todo!()
}
