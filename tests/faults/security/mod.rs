//! Traffic that is not permitted, text that drives a terminal, and secrets.

mod guard;
mod text;

use crate::row::Row;

pub(crate) fn rows() -> Vec<Row> {
    let parts = [text::rows(), guard::rows()];
    parts.into_iter().flatten().collect()
}
