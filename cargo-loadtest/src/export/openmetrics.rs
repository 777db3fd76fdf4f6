//! To be written.

use loadtest::card::Report;

pub(crate) fn render(_report: &Report) -> String {
    todo!()
}
